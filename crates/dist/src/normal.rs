//! The standard normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The normal distribution with mean zero and variance one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Normal;

impl Normal {
    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
    }

    /// The probability of a value up to `x`.
    pub fn cdf(self, x: f64) -> f64 {
        self.sf(-x)
    }

    /// The probability of a value above `x`.
    pub fn sf(self, x: f64) -> f64 {
        0.5 * libm::erfc(x * FRAC_1_SQRT_2)
    }

    /// The logarithm of `sf(x)`, finite for every finite `x`.
    pub fn ln_sf(self, x: f64) -> f64 {
        if x < 0.0 {
            (-self.sf(-x)).ln_1p()
        } else if x < 30.0 {
            self.sf(x).ln()
        } else {
            // The asymptotic series of Mills' ratio, DLMF 7.12.1. The terms left
            // out are below 2e-12, of a logarithm beyond -450.
            let u = 1.0 / (x * x);
            let series = -u * (1.0 - u * (3.0 - u * (15.0 - u * 105.0)));
            -0.5 * x * x - x.ln() - 0.5 * (2.0 * PI).ln() + series.ln_1p()
        }
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        -self.upper_quantile(p)
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        if !(0.0..=1.0).contains(&p) {
            f64::NAN
        } else if p == 0.0 {
            f64::INFINITY
        } else if p > 0.75 {
            -self.far_quantile(1.0 - p)
        } else if p < 0.25 {
            self.far_quantile(p)
        } else {
            self.central_quantile(0.5 - p)
        }
    }

    /// Solves `sf(x) = p` for `p` at most one quarter. Newton's iteration on
    /// `ln sf`, which is concave, so no start can make it diverge.
    fn far_quantile(self, p: f64) -> f64 {
        if p == 0.0 {
            return f64::INFINITY;
        }
        let target = p.ln();
        let mut x = (-2.0 * target).sqrt() - 0.5;
        for _ in 0..20 {
            let tail = self.sf(x);
            let step = (tail.ln() - target) * tail / self.pdf(x);
            x += step;
            if step.abs() <= 1e-9 * x {
                // Convergence is quadratic: the next step would change the
                // eighteenth digit.
                break;
            }
        }
        x
    }

    /// Solves `Φ(x) - 1/2 = excess` for an excess of at most one quarter in
    /// absolute value, with relative accuracy also near zero.
    fn central_quantile(self, excess: f64) -> f64 {
        let mut x = excess * (2.0 * PI).sqrt();
        for _ in 0..20 {
            let step = (0.5 * libm::erf(x * FRAC_1_SQRT_2) - excess) / self.pdf(x);
            x -= step;
            if step.abs() <= 1e-9 * x.abs() {
                break;
            }
        }
        x
    }
}
