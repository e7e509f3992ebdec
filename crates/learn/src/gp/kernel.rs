//! The Matérn 5/2 kernel.

use crate::ParameterError;
use crate::parameter::require;

/// A Matérn 5/2 kernel with noise, in the units of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// The variance of the function around its mean.
    pub variance: f64,
    /// The distance over which the function changes: one for all features, or
    /// one per feature (automatic relevance determination).
    pub length_scales: Vec<f64>,
    /// The variance of independent noise on each observation.
    pub noise: f64,
}

impl Kernel {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        require("variance", self.variance, self.variance > 0.0, "above 0")?;
        require("noise", self.noise, self.noise >= 0.0, "at least 0")?;
        require(
            "length_scales",
            self.length_scales.len() as f64,
            !self.length_scales.is_empty(),
            "one number or one per feature",
        )?;
        for &scale in &self.length_scales {
            require("length_scales", scale, scale > 0.0, "above 0")?;
        }
        Ok(())
    }

    /// The covariance of the function at two points, without noise.
    ///
    /// `σ² (1 + √5 r + 5/3 r²) exp(−√5 r)`, where `r` is the distance in length
    /// scales (Rasmussen and Williams, Gaussian Processes for Machine Learning,
    /// 2006, equation 4.17).
    pub(super) fn covariance(&self, a: &[f64], b: &[f64]) -> f64 {
        let root = 5.0_f64.sqrt() * self.squared_distance(a, b).sqrt();
        self.variance * (1.0 + root + root * root / 3.0) * (-root).exp()
    }

    /// The squared distance in length scales.
    pub(super) fn squared_distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        match self.length_scales.as_slice() {
            [scale] => differences.map(|d| d * d).sum::<f64>() / (scale * scale),
            scales => differences
                .zip(scales)
                .map(|(d, s)| (d / s) * (d / s))
                .sum(),
        }
    }
}
