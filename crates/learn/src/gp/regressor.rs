//! Fitting a Gaussian process and predicting from it.

use super::ascent::{Summit, climb};
use super::kernel::Kernel;
use super::likelihood::Posterior;
use crate::learner::{check_row, require_moderate, require_rows};
use crate::{Dataset, Features, FitError, Learner, Model, ParameterError, PredictError, Threads};
use paceline_numeric::{Chance, dot};

/// Where the kernel's hyper-parameters come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Hyperparameters {
    /// They are given.
    Fixed(Kernel),
    /// They maximise the marginal likelihood.
    Fitted {
        /// Whether each feature has its own length scale.
        per_feature: bool,
        /// How many random starts are climbed besides the customary one.
        restarts: usize,
    },
}

/// Hyper-parameters of [`GaussianProcess`] as typed.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianProcessParams {
    /// Where the kernel comes from.
    pub hyperparameters: Hyperparameters,
    /// Whether the prior mean is the mean of the targets rather than zero.
    pub centre: bool,
}

impl Default for GaussianProcessParams {
    fn default() -> Self {
        Self {
            hyperparameters: Hyperparameters::Fitted {
                per_feature: true,
                restarts: 4,
            },
            centre: true,
        }
    }
}

impl GaussianProcessParams {
    /// Accepts a kernel with variance and length scales above zero and noise of
    /// at least zero.
    pub fn check(self) -> Result<GaussianProcess, ParameterError> {
        if let Hyperparameters::Fixed(kernel) = &self.hyperparameters {
            kernel.check()?;
        }
        Ok(GaussianProcess(self))
    }
}

/// Gaussian-process regression (Rasmussen and Williams 2006, chapter 2).
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianProcess(GaussianProcessParams);

/// A Gaussian process given the data.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianProcessModel {
    kernel: Kernel,
    features: Features,
    prior_mean: f64,
    posterior: Posterior,
}

/// A normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpPrediction {
    /// The mean of the function.
    pub mean: f64,
    /// The variance of the function. An observation's variance is this plus the
    /// kernel's noise.
    pub variance: f64,
}

/// Noise is between these fractions of the targets' variance. The lower one
/// keeps the kernel matrix well conditioned.
const NOISE: (f64, f64) = (1e-8, 1.0);
/// The function's variance is between these multiples of the targets' variance.
const VARIANCE: (f64, f64) = (1e-3, 1e3);
/// Length scales are between these multiples of a feature's range.
const LENGTH: (f64, f64) = (1e-2, 1e2);

impl GaussianProcess {
    /// Conditions the process on data, with fitted hyper-parameters if asked.
    pub fn fit(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<GaussianProcessModel, FitError> {
        require_moderate(data.target())?;
        require_moderate(data.features().as_flat())?;
        let prior_mean = if self.0.centre && data.rows() > 0 {
            data.target().iter().sum::<f64>() / data.rows() as f64
        } else {
            0.0
        };
        let target: Vec<f64> = data.target().iter().map(|y| y - prior_mean).collect();
        let kernel = match &self.0.hyperparameters {
            Hyperparameters::Fixed(kernel) => {
                require_rows(data.rows(), 1)?;
                kernel.clone()
            }
            Hyperparameters::Fitted {
                per_feature,
                restarts,
            } => {
                require_rows(data.rows(), 2)?;
                let search = Search::new(data.features(), &target, *per_feature);
                search.best(*restarts, seed, threads)?
            }
        };
        let scales = kernel.length_scales.len();
        if scales != 1 && scales != data.columns() {
            return Err(FitError::WrongLength {
                parameter: "length_scales",
                columns: data.columns(),
                found: scales,
            });
        }
        Ok(GaussianProcessModel {
            posterior: Posterior::new(&kernel, data.features(), &target)?,
            kernel,
            features: data.features().clone(),
            prior_mean,
        })
    }
}

/// The search for the kernel of the greatest marginal likelihood. Targets are
/// scaled to unit variance, so that the bounds mean the same for all data.
struct Search<'a> {
    features: &'a Features,
    scaled: Vec<f64>,
    target_variance: f64,
    /// Of the logarithms of variance, noise and length scales.
    bounds: Vec<(f64, f64)>,
}

impl<'a> Search<'a> {
    fn new(features: &'a Features, target: &[f64], per_feature: bool) -> Self {
        let square = target.iter().map(|y| y * y).sum::<f64>() / target.len() as f64;
        // A constant target has nothing to scale by.
        let target_variance = if square > 0.0 { square } else { 1.0 };
        let deviation = target_variance.sqrt();
        let ranges: Vec<f64> = (0..features.columns())
            .map(|column| {
                let low = features.column(column).fold(f64::INFINITY, f64::min);
                let high = features.column(column).fold(f64::NEG_INFINITY, f64::max);
                if high > low { high - low } else { 1.0 }
            })
            .collect();
        let logs = |(low, high): (f64, f64), unit: f64| ((low * unit).ln(), (high * unit).ln());
        let mut bounds = vec![logs(VARIANCE, 1.0), logs(NOISE, 1.0)];
        if per_feature {
            bounds.extend(ranges.iter().map(|&range| logs(LENGTH, range)));
        } else {
            let widest = ranges.iter().copied().fold(0.0, f64::max);
            bounds.push(logs(LENGTH, widest));
        }
        Self {
            features,
            scaled: target.iter().map(|y| y / deviation).collect(),
            target_variance,
            bounds,
        }
    }

    fn best(&self, restarts: usize, seed: u64, threads: Threads) -> Result<Kernel, FitError> {
        let summits = threads.map(restarts + 1, |start| {
            let start = self.start(start, seed);
            climb(&start, &self.bounds, |logs| {
                let kernel = kernel_of(logs);
                let posterior = Posterior::new(&kernel, self.features, &self.scaled).ok()?;
                let value = posterior.log_likelihood;
                Some((value, move || posterior.gradient(&kernel, self.features)))
            })
        });
        let best = summits.into_iter().flatten().reduce(|best: Summit, other| {
            if other.value > best.value {
                other
            } else {
                best
            }
        });
        let best = best.ok_or(FitError::SingularKernel {
            rows: self.features.rows(),
        })?;
        let scaled = kernel_of(&best.point);
        Ok(Kernel {
            variance: scaled.variance * self.target_variance,
            noise: scaled.noise * self.target_variance,
            length_scales: scaled.length_scales,
        })
    }

    /// The first start is half a feature's range, unit variance and a hundredth
    /// of noise; the others are uniform within the bounds.
    fn start(&self, index: usize, seed: u64) -> Vec<f64> {
        if index == 0 {
            let lengths = self.bounds[2..]
                .iter()
                .map(|&(low, _)| low - LENGTH.0.ln() + 0.5_f64.ln());
            return [0.0, 0.01_f64.ln()].into_iter().chain(lengths).collect();
        }
        let mut draws = Chance::of_learner(seed, index as u64);
        let bounds = self.bounds.iter();
        bounds
            .map(|(low, high)| low + draws.unit() * (high - low))
            .collect()
    }
}

fn kernel_of(logs: &[f64]) -> Kernel {
    Kernel {
        variance: logs[0].exp(),
        noise: logs[1].exp(),
        length_scales: logs[2..].iter().map(|log| log.exp()).collect(),
    }
}

impl GaussianProcessModel {
    /// The kernel, as given or as fitted.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The logarithm of the probability density of the targets.
    pub fn log_marginal_likelihood(&self) -> f64 {
        self.posterior.log_likelihood
    }

    /// The mean and the variance of the function at a row.
    pub fn predict_distribution(&self, row: &[f64]) -> Result<GpPrediction, PredictError> {
        check_row(row, self.features.columns())?;
        let mut covariances = self.covariances(row);
        let mean = self.prior_mean + dot(&covariances, &self.posterior.weights);
        self.posterior.factor.solve_lower(&mut covariances);
        let explained = dot(&covariances, &covariances);
        Ok(GpPrediction {
            mean,
            variance: (self.kernel.variance - explained).max(0.0),
        })
    }

    fn covariances(&self, row: &[f64]) -> Vec<f64> {
        let rows = self.features.iter();
        rows.map(|other| self.kernel.covariance(row, other))
            .collect()
    }
}

impl Model for GaussianProcessModel {
    fn columns(&self) -> usize {
        self.features.columns()
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.prior_mean + dot(&self.covariances(row), &self.posterior.weights)
    }
}

impl Learner for GaussianProcess {
    fn learn(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data, seed, threads)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(rows: usize) -> Dataset {
        let rows: Vec<[f64; 2]> = (0..rows)
            .map(|i| [i as f64 / 4.0, (i * 7 % 5) as f64])
            .collect();
        let target = rows.iter().map(|row| 50.0 + 3.0 * row[0].sin()).collect();
        Dataset::new(Features::from_rows(&rows).unwrap(), target).unwrap()
    }

    #[test]
    fn a_fitted_process_follows_the_function_and_ignores_the_idle_feature() {
        let gp = GaussianProcessParams::default().check().unwrap();
        let model = gp.fit(&wave(24), 3, Threads::new(2)).unwrap();
        assert_eq!(model, gp.fit(&wave(24), 3, Threads::ONE).unwrap());
        let found = model.predict_distribution(&[2.6, 1.0]).unwrap();
        assert!(
            (found.mean - (50.0 + 3.0 * 2.6_f64.sin())).abs() < 0.02,
            "{found:?}"
        );
        let scales = &model.kernel().length_scales;
        assert!(scales[1] > 20.0 * scales[0], "{scales:?}");
        assert_eq!(found.mean, model.predict_row(&[2.6, 1.0]).unwrap());
    }

    #[test]
    fn far_from_the_data_the_prior_returns() {
        let kernel = Kernel {
            variance: 4.0,
            length_scales: vec![1.0],
            noise: 0.1,
        };
        let params = GaussianProcessParams {
            hyperparameters: Hyperparameters::Fixed(kernel),
            centre: true,
        };
        let model = params
            .check()
            .unwrap()
            .fit(&wave(10), 0, Threads::ONE)
            .unwrap();
        let far = model.predict_distribution(&[1e6, 0.0]).unwrap();
        let mean = wave(10).target().iter().sum::<f64>() / 10.0;
        assert_eq!((far.mean, far.variance), (mean, 4.0));
    }

    #[test]
    fn repeated_rows_without_noise_are_survived_by_jitter() {
        let features = Features::from_rows(&[[1.0], [1.0], [2.0]]).unwrap();
        let data = Dataset::new(features, vec![3.0, 3.0, 5.0]).unwrap();
        let kernel = Kernel {
            variance: 1.0,
            length_scales: vec![1.0],
            noise: 0.0,
        };
        let params = GaussianProcessParams {
            hyperparameters: Hyperparameters::Fixed(kernel),
            centre: false,
        };
        let model = params.check().unwrap().fit(&data, 0, Threads::ONE).unwrap();
        assert!((model.predict_row(&[1.0]).unwrap() - 3.0).abs() < 1e-6);
    }

    #[test]
    fn wrong_kernels_and_constant_targets_are_handled() {
        let with = |variance, scales: &[f64]| GaussianProcessParams {
            hyperparameters: Hyperparameters::Fixed(Kernel {
                variance,
                length_scales: scales.to_vec(),
                noise: 0.1,
            }),
            centre: false,
        };
        assert_eq!(with(0.0, &[1.0]).check().unwrap_err().parameter, "variance");
        assert_eq!(
            with(1.0, &[]).check().unwrap_err().parameter,
            "length_scales"
        );
        let three = with(1.0, &[1.0; 3]).check().unwrap();
        let error = three.fit(&wave(5), 0, Threads::ONE).unwrap_err();
        assert_eq!(
            error.to_string(),
            "length_scales has 3 entries for 2 features"
        );
        let flat = Dataset::new(wave(5).features().clone(), vec![2.0; 5]).unwrap();
        let gp = GaussianProcessParams::default().check().unwrap();
        let model = gp.fit(&flat, 0, Threads::ONE).unwrap();
        assert_eq!(model.predict_row(&[0.3, 0.3]).unwrap(), 2.0);
    }
}
