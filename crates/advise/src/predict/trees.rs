//! Forests and boosting on the factors and on what is derived from them.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::scale::Scale;
use super::training::Training;
use paceline_learn::{
    Dataset, Features, GradientBoostingModel, GradientBoostingParams, Model, RandomForestModel,
    RandomForestParams, Threads,
};

/// Trees of one kind, with the scale they were grown on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trees {
    encoding: Encoding,
    scale: Scale,
    ensemble: Ensemble,
}

#[derive(Debug, Clone, PartialEq)]
enum Ensemble {
    Constant(f64),
    Forest(RandomForestModel),
    Boost(GradientBoostingModel),
}

/// Which trees are grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    Forest,
    Boost,
}

impl Trees {
    pub(crate) fn fit(
        data: &Training<'_>,
        growth: Growth,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        const LEAST: usize = 4;
        let found = data.rows.len();
        if found < LEAST {
            return Err(FitPredictorError::TooFewRuns {
                needed: LEAST,
                found,
            });
        }
        // Trees see only the order of a feature, so its logarithm adds nothing.
        let encoding = Encoding::new(data.factors, data.roles, &data.rows, Style::Plain, true);
        let scale = data.scale();
        let target: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
        if encoding.len() == 0 {
            let mean = target.iter().sum::<f64>() / target.len() as f64;
            return Ok(Self {
                encoding,
                scale,
                ensemble: Ensemble::Constant(mean),
            });
        }
        let rows: Vec<Vec<f64>> = data.rows.iter().map(|row| encoding.features(row)).collect();
        let table = Dataset::new(Features::from_rows(&rows)?, target)?;
        let ensemble = match growth {
            Growth::Forest => {
                let params = RandomForestParams {
                    trees: 100,
                    ..RandomForestParams::default()
                };
                Ensemble::Forest(params.check()?.fit(&table, seed, threads)?)
            }
            Growth::Boost => {
                let params = GradientBoostingParams {
                    trees: 200,
                    ..GradientBoostingParams::default()
                };
                Ensemble::Boost(params.check()?.fit(&table, seed)?)
            }
        };
        Ok(Self {
            encoding,
            scale,
            ensemble,
        })
    }

    pub(crate) fn predict_all(&self, configurations: &[&[f64]], threads: Threads) -> Vec<f64> {
        let model: &dyn Model = match &self.ensemble {
            Ensemble::Constant(mean) => return vec![self.scale.back(*mean); configurations.len()],
            Ensemble::Forest(forest) => forest,
            Ensemble::Boost(boost) => boost,
        };
        let columns = self.encoding.len();
        let flat = configurations
            .iter()
            .flat_map(|configuration| self.encoding.features(configuration))
            .collect();
        let features = Features::from_flat(flat, columns)
            .expect("configurations are finite and encoded alike");
        let predictions = model.predict_all_checked(&features, threads);
        predictions
            .into_iter()
            .map(|value| self.scale.back(value))
            .collect()
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }
}
