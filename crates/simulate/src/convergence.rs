//! How many updates a training needs, and what stale parameters cost.
//!
//! The model is the simplest that recorded trainings support: with parameters that
//! lag `s` clocks on average, a training needs `N·(1 + c·s)` updates to reach the
//! loss that it reaches after `N` fresh ones. For asynchronous SGD the analyses of
//! bounded delay give a penalty of this first order (Lian et al., "Asynchronous
//! parallel stochastic gradient for nonconvex optimization", NIPS 2015); what `c` is
//! for a model and its data, only runs tell.

use thiserror::Error;

/// Updates to a loss, by staleness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Updates that are needed with fresh parameters.
    pub updates: f64,
    /// The share by which one more clock of mean staleness lengthens that.
    pub staleness_cost: f64,
}

/// A training that reached the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// Mean staleness, in clocks.
    pub staleness: f64,
    /// Updates until the loss was reached.
    pub updates: f64,
}

/// Why trainings say nothing about what staleness costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConvergenceError {
    /// There are none, or one whose staleness is not zero.
    #[error("no training shows how many updates are needed")]
    TooFew,
    /// All have the same staleness, so that nothing tells them apart.
    #[error("all trainings have the same staleness")]
    OneStaleness,
    /// A line through them needs no updates without staleness.
    #[error(
        "the trainings contradict the model: they need the fewest updates where parameters are most stale"
    )]
    Contradicted,
}

impl Convergence {
    /// The least-squares line of updates over staleness. A cost below zero, which
    /// noise may give, is taken as none.
    ///
    /// # Errors
    /// If the trainings do not determine it.
    pub fn fit(observed: &[Observed]) -> Result<Self, ConvergenceError> {
        if observed.is_empty() {
            return Err(ConvergenceError::TooFew);
        }
        let count = observed.len() as f64;
        let mean_s = observed.iter().map(|o| o.staleness).sum::<f64>() / count;
        let mean_n = observed.iter().map(|o| o.updates).sum::<f64>() / count;
        let spread: f64 = observed
            .iter()
            .map(|o| (o.staleness - mean_s).powi(2))
            .sum();
        if spread <= 1e-12 {
            return match mean_s.abs() < 1e-9 {
                true => Ok(Self {
                    updates: mean_n,
                    staleness_cost: 0.0,
                }),
                false => Err(ConvergenceError::OneStaleness),
            };
        }
        let both: f64 = observed
            .iter()
            .map(|o| (o.staleness - mean_s) * (o.updates - mean_n))
            .sum();
        let slope = both / spread;
        if slope <= 0.0 {
            return Ok(Self {
                updates: mean_n,
                staleness_cost: 0.0,
            });
        }
        let updates = mean_n - slope * mean_s;
        match updates > 0.0 {
            true => Ok(Self {
                updates,
                staleness_cost: slope / updates,
            }),
            false => Err(ConvergenceError::Contradicted),
        }
    }

    /// Updates that are needed with this mean staleness.
    #[must_use]
    pub fn needed(&self, staleness: f64) -> f64 {
        self.updates * (1.0 + self.staleness_cost * staleness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(points: &[(f64, f64)]) -> Vec<Observed> {
        points
            .iter()
            .map(|(staleness, updates)| Observed {
                staleness: *staleness,
                updates: *updates,
            })
            .collect()
    }

    #[test]
    fn a_line_is_found_again() {
        let line = Convergence::fit(&seen(&[(0.0, 1000.0), (2.0, 1200.0), (5.0, 1500.0)])).unwrap();
        assert!((line.updates - 1000.0).abs() < 1e-9);
        assert!((line.staleness_cost - 0.1).abs() < 1e-12);
        assert!((line.needed(10.0) - 2000.0).abs() < 1e-6);
    }

    #[test]
    fn what_the_runs_do_not_show_is_not_claimed() {
        assert_eq!(Convergence::fit(&[]), Err(ConvergenceError::TooFew));
        let one = seen(&[(3.0, 900.0), (3.0, 950.0)]);
        assert_eq!(Convergence::fit(&one), Err(ConvergenceError::OneStaleness));
        let fresh = Convergence::fit(&seen(&[(0.0, 900.0), (0.0, 1100.0)])).unwrap();
        assert_eq!((fresh.updates, fresh.staleness_cost), (1000.0, 0.0));
        let absurd = seen(&[(9.0, 10.0), (10.0, 100.0)]);
        assert_eq!(
            Convergence::fit(&absurd),
            Err(ConvergenceError::Contradicted)
        );
        let falling = Convergence::fit(&seen(&[(0.0, 1000.0), (4.0, 990.0)])).unwrap();
        assert_eq!(falling.staleness_cost, 0.0);
    }
}
