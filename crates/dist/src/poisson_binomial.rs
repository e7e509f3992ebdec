//! How many of several events happen that differ in their probabilities.

use crate::parameter::ParameterError;

/// The number of independent events that happen, each with a probability of its
/// own: the binomial distribution where they are all equal.
#[derive(Debug, Clone, PartialEq)]
pub struct PoissonBinomial {
    /// The probability of each count, from none to all.
    weights: Vec<f64>,
    mean: f64,
}

impl PoissonBinomial {
    /// Events with these probabilities, of which there may be none. It takes the
    /// square of their number in time.
    ///
    /// # Errors
    ///
    /// If one is not within zero and one.
    pub fn new(probabilities: &[f64]) -> Result<Self, ParameterError> {
        let mut weights = vec![1.0];
        for &probability in probabilities {
            if !(0.0..=1.0).contains(&probability) {
                return Err(ParameterError::NotAProbability { value: probability });
            }
            // Everything added is positive, so that no digits cancel in the tails.
            weights.push(0.0);
            for count in (1..weights.len()).rev() {
                weights[count] =
                    weights[count] * (1.0 - probability) + weights[count - 1] * probability;
            }
            weights[0] *= 1.0 - probability;
        }
        Ok(Self {
            weights,
            mean: probabilities.iter().sum(),
        })
    }

    /// How many are expected to happen.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The probability that at most `count` happen.
    pub fn cdf(&self, count: usize) -> f64 {
        let end = self.weights.len().min(count.saturating_add(1));
        self.weights[..end].iter().sum::<f64>().min(1.0)
    }

    /// The probability that more than `count` happen.
    pub fn sf(&self, count: usize) -> f64 {
        let start = self.weights.len().min(count.saturating_add(1));
        self.weights[start..].iter().rev().sum::<f64>().min(1.0)
    }
}
