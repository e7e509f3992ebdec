//! A trend and a Gaussian process around it.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::operational::Operational;
use super::scale::Scale;
use super::training::Training;
use paceline_learn::{
    Dataset, Features, GaussianProcessModel, GaussianProcessParams, Hyperparameters, Model,
    RidgeModel, RidgeParams, Threads,
};

/// A trend and a Matérn 5/2 process of what it misses, both on the response's
/// scale (universal kriging with the trend fitted first: Rasmussen and Williams
/// 2006, section 2.7). The trend is linear in the encoded factors, or the
/// operational law where that is nearer to the data: the process then only has
/// to learn what the law leaves out.
///
/// Replicates enter by their mean. For equal numbers of replicates this gives
/// the same mean function as all runs would, at a fraction of the cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    encoding: Encoding,
    scale: Scale,
    mean: f64,
    /// The variance of a single run around the function.
    run_variance: f64,
    parts: Option<(Trend, GaussianProcessModel)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Trend {
    Linear(RidgeModel),
    Law(Operational),
}

/// What the process says of a configuration, on the response's scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// Of the function, without the noise of a run.
    pub(crate) deviation: f64,
}

impl Process {
    pub(crate) fn fit(
        data: &Training<'_>,
        scale: Scale,
        restarts: usize,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        const LEAST: usize = 4;
        // The likelihood is climbed some hundred times, each at the cube of this.
        const MOST: usize = 400;
        let (rows, target) = data.means(|y| scale.to(y));
        if rows.len() > MOST {
            return Err(FitPredictorError::TooManySettings {
                most: MOST,
                found: rows.len(),
            });
        }
        if rows.len() < LEAST {
            return Err(FitPredictorError::TooFewSettings {
                needed: LEAST,
                found: rows.len(),
            });
        }
        let encoding = Encoding::new(data.factors, data.roles, &rows, Style::Logarithmic, true);
        let mean = target.iter().sum::<f64>() / target.len() as f64;
        let replicated = data.replicate_variance(|y| scale.to(y));
        if encoding.len() == 0 {
            return Ok(Self {
                encoding,
                scale,
                mean,
                run_variance: replicated.unwrap_or(0.0),
                parts: None,
            });
        }
        let features: Vec<Vec<f64>> = rows.iter().map(|row| encoding.features(row)).collect();
        let features = Features::from_rows(&features)?;
        let (trend, rest) = nearest_trend(data, scale, &rows, &features, &target)?;
        let process = GaussianProcessParams {
            hyperparameters: Hyperparameters::Fitted {
                per_feature: true,
                restarts,
            },
            centre: true,
        }
        .check()?
        .fit(&Dataset::new(features, rest)?, seed, threads)?;
        Ok(Self {
            encoding,
            scale,
            mean,
            // The process saw means of replicates, whose noise is smaller than
            // a run's; without replicates its own estimate is all there is.
            run_variance: replicated.unwrap_or(process.kernel().noise),
            parts: Some((trend, process)),
        })
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        let value = match &self.parts {
            None => self.mean,
            Some((trend, process)) => {
                let row = self.encoding.features(configuration);
                trend.at(configuration, &row, self.scale) + process.predict_checked(&row)
            }
        };
        self.scale.back(value)
    }

    pub(crate) fn spread(&self, configuration: &[f64]) -> Spread {
        let Some((trend, process)) = &self.parts else {
            return Spread {
                mean: self.mean,
                deviation: 0.0,
            };
        };
        let row = self.encoding.features(configuration);
        let around = process
            .predict_distribution(&row)
            .expect("an encoded configuration is finite and as wide as the model");
        Spread {
            mean: trend.at(configuration, &row, self.scale) + around.mean,
            deviation: around.variance.sqrt(),
        }
    }

    /// The standard deviation of a run, on the response's scale.
    pub(crate) fn run_deviation(&self, configuration: &[f64]) -> f64 {
        let function = self.spread(configuration).deviation;
        (function * function + self.run_variance).sqrt()
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }
}

impl Trend {
    /// On the response's scale.
    fn at(&self, configuration: &[f64], features: &[f64], scale: Scale) -> f64 {
        match self {
            Self::Linear(model) => model.predict_checked(features),
            Self::Law(law) => scale.to(law.predict(configuration)),
        }
    }
}

/// The trend that leaves least to the process, with what it leaves.
fn nearest_trend(
    data: &Training<'_>,
    scale: Scale,
    rows: &[&[f64]],
    features: &Features,
    target: &[f64],
) -> Result<(Trend, Vec<f64>), FitPredictorError> {
    // With few settings the trend must not follow every one of them.
    let ridge = RidgeParams {
        penalty: 0.1,
        intercept: true,
    };
    let table = Dataset::new(features.clone(), target.to_vec())?;
    let linear = Trend::Linear(ridge.check()?.fit(&table)?);
    let left = |trend: &Trend| -> Vec<f64> {
        let places = rows.iter().zip(features.iter()).zip(target);
        places
            .map(|((row, features), y)| y - trend.at(row, features, scale))
            .collect()
    };
    let squares = |left: &[f64]| left.iter().map(|r| r * r).sum::<f64>();
    let left_by_line = left(&linear);
    // The law is of times, whose errors are relative.
    if scale == Scale::Log
        && let Ok(law) = Operational::fit(data)
    {
        let law = Trend::Law(law);
        let left_by_law = left(&law);
        if squares(&left_by_law) < squares(&left_by_line) {
            return Ok((law, left_by_law));
        }
    }
    Ok((linear, left_by_line))
}
