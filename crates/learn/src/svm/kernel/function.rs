//! The kernel functions.

use super::exponential::exp_of_negative;
use crate::ParameterError;
use crate::parameter::require;

/// How alike two rows are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SvmKernel {
    /// The inner product `x·z`.
    Linear,
    /// `exp(−gamma·‖x − z‖²)`.
    Rbf {
        /// The inverse square of the distance at which likeness fades.
        gamma: f64,
    },
    /// `(gamma·x·z + constant)^degree`.
    Polynomial {
        /// The factor of the inner product.
        gamma: f64,
        /// What is added to it.
        constant: f64,
        /// The power; at least one.
        degree: u32,
    },
}

impl SvmKernel {
    pub(super) fn check(self) -> Result<(), ParameterError> {
        let positive = |gamma| require("gamma", gamma, gamma > 0.0, "above 0");
        match self {
            Self::Linear => Ok(()),
            Self::Rbf { gamma } => positive(gamma),
            Self::Polynomial {
                gamma,
                constant,
                degree,
            } => {
                positive(gamma)?;
                require("constant", constant, constant >= 0.0, "at least 0")?;
                let power = f64::from(degree);
                let holds = (1..=32).contains(&degree);
                require("degree", power, holds, "between 1 and 32")
            }
        }
    }

    /// Turns the inner products of one row with many others into kernel values.
    #[inline(always)]
    pub(super) fn apply(
        self,
        products: &mut [f32],
        square: f32,
        squares: impl Iterator<Item = f32>,
    ) {
        match self {
            Self::Linear => {}
            Self::Rbf { gamma } => {
                let gamma = gamma as f32;
                for (value, other) in products.iter_mut().zip(squares) {
                    // Rounding may carry the distance of equal rows below zero.
                    let distance = (square + other - 2.0 * *value).max(0.0);
                    *value = exp_of_negative(-gamma * distance);
                }
            }
            Self::Polynomial {
                gamma,
                constant,
                degree,
            } => {
                let (gamma, constant) = (gamma as f32, constant as f32);
                for value in products {
                    *value = (gamma * *value + constant).powi(degree as i32);
                }
            }
        }
    }
}
