//! A linear trend and a Gaussian process around it.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::scale::Scale;
use super::training::Training;
use paceline_learn::{
    Dataset, Features, GaussianProcessModel, GaussianProcessParams, Hyperparameters, Model,
    RidgeModel, RidgeParams, Threads,
};

/// A linear trend in the encoded factors and a Matérn 5/2 process of what it
/// misses, both on the response's scale (universal kriging with the trend fitted
/// first: Rasmussen and Williams 2006, section 2.7).
///
/// Replicates enter by their mean. For equal numbers of replicates this gives
/// the same mean function as all runs would, at a fraction of the cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    encoding: Encoding,
    scale: Scale,
    mean: f64,
    parts: Option<(RidgeModel, GaussianProcessModel)>,
}

/// What the process says of a configuration, on the response's scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessBelief {
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
        let (rows, target) = data.means(|y| scale.to(y));
        if rows.len() < LEAST {
            return Err(FitPredictorError::TooFewSettings {
                needed: LEAST,
                found: rows.len(),
            });
        }
        let encoding = Encoding::new(data.factors, data.roles, &rows, Style::Logarithmic, true);
        let mean = target.iter().sum::<f64>() / target.len() as f64;
        if encoding.len() == 0 {
            return Ok(Self {
                encoding,
                scale,
                mean,
                parts: None,
            });
        }
        let features: Vec<Vec<f64>> = rows.iter().map(|row| encoding.features(row)).collect();
        let features = Features::from_rows(&features)?;
        let table = Dataset::new(features.clone(), target.clone())?;
        // With few settings the trend must not follow every one of them.
        let penalty = 0.1;
        let trend = RidgeParams {
            penalty,
            intercept: true,
        }
        .check()?
        .fit(&table)?;
        let rest = features
            .iter()
            .zip(&target)
            .map(|(row, y)| y - trend.predict_checked(row))
            .collect();
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
            parts: Some((trend, process)),
        })
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        let value = match &self.parts {
            None => self.mean,
            Some((trend, process)) => {
                let row = self.encoding.features(configuration);
                trend.predict_checked(&row) + process.predict_checked(&row)
            }
        };
        self.scale.back(value)
    }

    pub(crate) fn belief(&self, configuration: &[f64]) -> ProcessBelief {
        let Some((trend, process)) = &self.parts else {
            return ProcessBelief {
                mean: self.mean,
                deviation: 0.0,
            };
        };
        let row = self.encoding.features(configuration);
        let around = process
            .predict_distribution(&row)
            .expect("an encoded configuration is finite and as wide as the model");
        ProcessBelief {
            mean: trend.predict_checked(&row) + around.mean,
            deviation: around.variance.sqrt(),
        }
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }
}
