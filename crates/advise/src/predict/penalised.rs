//! Linear models whose penalty is found by grid search: ridge and lasso.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::linear::terms;
use super::scale::Scale;
use super::training::Training;
use super::tuned;
use paceline_learn::{
    Dataset, Features, Lasso, LassoModel, LassoParams, Learner, Model, Ridge, RidgeModel,
    RidgeParams, Threads,
};

/// Main effects and two-factor interactions with a penalty on the coefficients.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Penalised {
    encoding: Encoding,
    pairs: Vec<(usize, usize)>,
    scale: Scale,
    penalty: f64,
    model: Coefficients,
}

#[derive(Debug, Clone, PartialEq)]
enum Coefficients {
    /// Nothing varied.
    Constant(f64),
    Ridge(RidgeModel),
    Lasso(LassoModel),
}

/// Which coefficients are penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Penalty {
    /// Large ones, by their squares (Hoerl and Kennard 1970).
    Squares,
    /// All alike, by their sizes, so that some are zero (Tibshirani 1996).
    Sizes,
}

/// Penalties that are tried: of the squares per row, of the sizes relative to the
/// deviation of the response.
const PENALTIES: [f64; 8] = [1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0];

impl Penalised {
    pub(crate) fn fit(
        data: &Training<'_>,
        penalty: Penalty,
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
        let scale = data.scale();
        let style = Style::Logarithmic;
        let encoding = Encoding::new(data.factors, data.roles, &data.rows, style, false);
        let pairs = encoding.pairs();
        let target: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
        let mean = target.iter().sum::<f64>() / target.len() as f64;
        let squares: f64 = target.iter().map(|y| (y - mean) * (y - mean)).sum();
        let deviation = (squares / target.len() as f64).sqrt();
        if encoding.len() == 0 || deviation <= 1e-12 * mean.abs() {
            return Ok(Self {
                encoding,
                pairs,
                scale,
                penalty: 0.0,
                model: Coefficients::Constant(mean),
            });
        }
        let rows: Vec<Vec<f64>> = data
            .rows
            .iter()
            .map(|row| terms(&encoding, &pairs, row))
            .collect();
        let table = Dataset::new(Features::from_rows(&rows)?, target)?;
        let best =
            |learners: &[&dyn Learner]| tuned::best(learners, &table, &data.trials, seed, threads);
        let (penalty, model) = match penalty {
            Penalty::Squares => {
                let ridge = |share: f64| {
                    RidgeParams {
                        penalty: share * table.rows() as f64,
                        intercept: true,
                    }
                    .check()
                };
                let all = PENALTIES.map(ridge).into_iter();
                let all = all.collect::<Result<Vec<Ridge>, _>>()?;
                let learners: Vec<&dyn Learner> = all.iter().map(|one| one as _).collect();
                let at = best(&learners)?;
                (PENALTIES[at], Coefficients::Ridge(all[at].fit(&table)?))
            }
            Penalty::Sizes => {
                let lasso = |share: f64| {
                    LassoParams {
                        penalty: share * deviation,
                        tolerance: 1e-7,
                        max_sweeps: 2000,
                        ..LassoParams::default()
                    }
                    .check()
                };
                let all = PENALTIES.map(lasso).into_iter();
                let all = all.collect::<Result<Vec<Lasso>, _>>()?;
                let learners: Vec<&dyn Learner> = all.iter().map(|one| one as _).collect();
                let at = best(&learners)?;
                (PENALTIES[at], Coefficients::Lasso(all[at].fit(&table)?))
            }
        };
        Ok(Self {
            encoding,
            pairs,
            scale,
            penalty,
            model,
        })
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        let model: &dyn Model = match &self.model {
            Coefficients::Constant(mean) => return self.scale.back(*mean),
            Coefficients::Ridge(model) => model,
            Coefficients::Lasso(model) => model,
        };
        let terms = terms(&self.encoding, &self.pairs, configuration);
        self.scale.back(model.predict_checked(&terms))
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// What the search settled on, in words.
    pub(crate) fn settled(&self) -> String {
        format!("penalty {}", self.penalty)
    }
}
