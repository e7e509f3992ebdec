//! What the random draws of data are for.

use paceline_numeric::Chance;

/// What a stream is for. The numbers are part of the meaning of a seed and
/// never change. Streams with a running number keep it in their low bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    EpochOrder(u64),
    Holdout,
    Folds,
    Coefficients,
    TrainRows(u64),
    TestRows(u64),
}

impl Purpose {
    /// The stream of a seed for this purpose.
    pub(crate) fn chance(self, seed: u64) -> Chance {
        Chance::of_rows(seed, self.stream())
    }

    fn stream(self) -> u64 {
        let (family, number) = match self {
            Self::EpochOrder(epoch) => (0, epoch),
            Self::Holdout => (1, 0),
            Self::Folds => (1, 1),
            Self::Coefficients => (1, 2),
            Self::TrainRows(block) => (2, block),
            Self::TestRows(block) => (3, block),
        };
        (family << 60) | (number & ((1 << 60) - 1))
    }
}
