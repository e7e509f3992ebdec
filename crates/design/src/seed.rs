//! What the random draws of a plan are for.

use paceline_numeric::Chance;

/// What a stream of random numbers is for. The numbers are part of the meaning
/// of a seed and never change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    RunOrder = 1,
    LatinHypercube = 2,
    Optimal = 3,
}

impl Purpose {
    /// The stream of a seed for this purpose. Streams are independent, so a
    /// longer search in one part of a plan does not change another part.
    pub(crate) fn chance(self, seed: u64) -> Chance {
        Chance::new(seed, self as u64)
    }
}
