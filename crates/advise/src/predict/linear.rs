//! The linear model of the analysis of variance.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::scale::Scale;
use super::training::Training;
use paceline_learn::{Dataset, Features, Model, RidgeModel, RidgeParams};

/// Main effects and two-factor interactions, as paper 003's section 4.1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear {
    encoding: Encoding,
    pairs: Vec<(usize, usize)>,
    scale: Scale,
    model: Coefficients,
}

#[derive(Debug, Clone, PartialEq)]
enum Coefficients {
    /// Nothing varied.
    Constant(f64),
    Ridge(RidgeModel),
}

impl Linear {
    /// Fits main effects, and interactions if the settings are more than the
    /// terms.
    pub(crate) fn fit(data: &Training<'_>, scale: Scale) -> Result<Self, FitPredictorError> {
        let style = match scale {
            Scale::Identity => Style::Plain,
            Scale::Log => Style::Logarithmic,
        };
        let encoding = Encoding::new(data.factors, data.roles, &data.rows, style, false);
        let settings = data.settings();
        if settings < encoding.len() + 1 {
            return Err(FitPredictorError::TooFewSettings {
                needed: encoding.len() + 1,
                found: settings,
            });
        }
        let mut pairs = encoding.pairs();
        if settings <= 1 + encoding.len() + pairs.len() {
            pairs.clear();
        }
        let target: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
        if encoding.len() == 0 {
            let mean = target.iter().sum::<f64>() / target.len() as f64;
            return Ok(Self {
                encoding,
                pairs,
                scale,
                model: Coefficients::Constant(mean),
            });
        }
        let rows: Vec<Vec<f64>> = data
            .rows
            .iter()
            .map(|row| terms(&encoding, &pairs, row))
            .collect();
        let table = Dataset::new(Features::from_rows(&rows)?, target)?;
        // A fractional design confounds some terms; the least penalty splits
        // their effect evenly instead of failing.
        let penalty = 1e-8 * table.rows() as f64;
        let ridge = RidgeParams {
            penalty,
            intercept: true,
        }
        .check()?;
        Ok(Self {
            model: Coefficients::Ridge(ridge.fit(&table)?),
            encoding,
            pairs,
            scale,
        })
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        let value = match &self.model {
            Coefficients::Constant(mean) => *mean,
            Coefficients::Ridge(model) => {
                model.predict_checked(&terms(&self.encoding, &self.pairs, configuration))
            }
        };
        self.scale.back(value)
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }
}

/// Features and the products of pairs of them.
pub(super) fn terms(
    encoding: &Encoding,
    pairs: &[(usize, usize)],
    configuration: &[f64],
) -> Vec<f64> {
    let mut terms = encoding.features(configuration);
    for &(first, second) in pairs {
        terms.push(terms[first] * terms[second]);
    }
    terms
}
