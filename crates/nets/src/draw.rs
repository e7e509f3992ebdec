use paceline_numeric::Chance;

use crate::Segment;

/// Starting values that depend on a seed alone, on every machine.
pub(crate) struct Draw(Chance);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Chance::of_learner(seed, 0))
    }

    /// Even between -`bound` and `bound`.
    pub(crate) fn even(&mut self, bound: f32) -> f32 {
        bound * (2.0 * self.0.unit_f32() - 1.0)
    }

    /// Fills the meaningful values of a segment of `parameters` evenly between
    /// -`bound` and `bound`; padding stays as it is.
    pub(crate) fn fill(&mut self, segment: &Segment, bound: f32, parameters: &mut [f32]) {
        for row in 0..segment.rows {
            let start = segment.offset + row * segment.stride;
            for value in &mut parameters[start..start + segment.columns] {
                *value = self.even(bound);
            }
        }
    }
}

/// The bound that keeps the variance of activations through a ReLU layer with
/// `inputs` inputs (He et al., "Delving deep into rectifiers", 2015, eq. 10;
/// an even distribution's variance is a third of its squared bound).
pub(crate) fn he_bound(inputs: usize) -> f32 {
    (6.0 / inputs as f32).sqrt()
}

/// The bound that balances the variances of activations and gradients through
/// a layer without ReLU (Glorot and Bengio, "Understanding the difficulty of
/// training deep feedforward neural networks", 2010, eq. 16).
pub(crate) fn glorot_bound(inputs: usize, outputs: usize) -> f32 {
    (6.0 / (inputs + outputs) as f32).sqrt()
}
