//! How wide the errors of a predictor are.

use super::compare::OutOfFold;
use super::conformal::Residuals;
use super::encode::{Encoding, Style};
use super::fitted::Fitted;
use super::training::Training;

/// Where a predictor's errors are known from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Errors {
    /// From runs that were predicted without their trial.
    OutOfFold { residuals: Residuals, local: Local },
    /// From the model itself, which has looked at runs that it left out.
    Posterior,
}

impl Errors {
    /// Residuals in the measure that makes intervals narrowest on average. The
    /// neighbours must make them narrower by a twentieth at least, since eight of them
    /// say little.
    ///
    /// A residual is measured by the model that predicted it, a new run by the final
    /// model, which has seen more: where it has seen the very setting, it is surer,
    /// and so is the interval (normalised conformal prediction, Papadopoulos and
    /// others 2011).
    pub(super) fn of(
        data: &Training<'_>,
        found: &OutOfFold,
        fitted: &Fitted,
        trials: usize,
        coverage: f64,
    ) -> Self {
        let freedom = trials as f64 - 1.0;
        let mut best = (
            Residuals::new(found.residuals.clone(), freedom),
            Local::Even,
        );
        let mut narrowest = best.0.half_width(coverage);
        let difficulty = Difficulty::new(data, &found.residuals);
        let by_neighbours = difficulty.map(|difficulty| {
            let widths = data.rows.iter().map(|row| difficulty.at(row)).collect();
            (widths, Local::Neighbours(difficulty), 0.95)
        });
        let by_model: Option<Vec<f64>> = found.deviations.iter().copied().collect();
        let by_model = by_model.map(|widths| (widths, Local::Model, 1.0));
        for (widths, local, enough) in by_neighbours.into_iter().chain(by_model) {
            if widths
                .iter()
                .any(|&width: &f64| width <= 0.0 || !width.is_finite())
            {
                continue;
            }
            let pairs = found.residuals.iter().zip(&widths);
            let scaled = Residuals::new(pairs.map(|(r, width)| r / width).collect(), freedom);
            let final_widths = data.rows.iter().map(|row| local.width(fitted, row));
            let mean = final_widths.sum::<f64>() / data.rows.len() as f64;
            let width = scaled.half_width(coverage) * mean;
            if width < enough * narrowest {
                narrowest = width;
                best = (scaled, local);
            }
        }
        let (residuals, local) = best;
        Self::OutOfFold { residuals, local }
    }

    pub(super) fn width(&self, fitted: &Fitted, configuration: &[f64]) -> f64 {
        match self {
            Self::OutOfFold { local, .. } => local.width(fitted, configuration),
            Self::Posterior => 1.0,
        }
    }

    fn residuals(&self) -> &Residuals {
        match self {
            Self::OutOfFold { residuals, .. } => residuals,
            Self::Posterior => unreachable!("a posterior comes with mixtures"),
        }
    }

    pub(super) fn half_width(&self, coverage: f64) -> f64 {
        self.residuals().half_width(coverage)
    }

    pub(super) fn at_most(&self, bound: f64) -> f64 {
        self.residuals().at_most(bound)
    }

    pub(super) fn at_least(&self, bound: f64) -> f64 {
        self.residuals().at_least(bound)
    }
}

/// How far neighbouring trials were missed, relative to all.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difficulty {
    encoding: Encoding,
    /// Features of each trial and how far it was missed, relative to all.
    trials: Vec<(Vec<f64>, f64)>,
}

/// How many trials around a configuration say how hard it is.
const NEIGHBOURS: usize = 8;

impl Difficulty {
    fn new(data: &Training<'_>, residuals: &[f64]) -> Option<Self> {
        let absolute = Training {
            response: residuals.iter().map(|r| r.abs()).collect(),
            ..data.clone()
        };
        let (rows, missed) = absolute.means(|r| r);
        let typical = missed.iter().sum::<f64>() / missed.len() as f64;
        if rows.len() < 3 * NEIGHBOURS || typical <= 0.0 || !typical.is_finite() {
            return None;
        }
        let encoding = Encoding::new(data.factors, data.roles, &rows, Style::Logarithmic, false);
        let trials = rows
            .iter()
            .zip(missed)
            .map(|(row, missed)| (encoding.features(row), missed / typical))
            .collect();
        Some(Self { encoding, trials })
    }

    /// Half from the neighbours other than the configuration itself, half from
    /// all trials: eight residuals alone would scatter too much.
    fn at(&self, configuration: &[f64]) -> f64 {
        let here = self.encoding.features(configuration);
        let mut near: Vec<(f64, f64)> = self
            .trials
            .iter()
            .map(|(features, missed)| {
                let squares = features.iter().zip(&here).map(|(a, b)| (a - b) * (a - b));
                (squares.sum::<f64>(), *missed)
            })
            .filter(|(distance, _)| *distance > 1e-18)
            .collect();
        let count = NEIGHBOURS.min(near.len());
        near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        let local = near[..count].iter().map(|(_, missed)| missed).sum::<f64>() / count as f64;
        0.5 + 0.5 * local
    }
}

/// What errors are measured in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Local {
    /// The same everywhere.
    Even,
    /// How far neighbouring trials were missed.
    Neighbours(Difficulty),
    /// How wide the model itself takes its error to be.
    Model,
}

impl Local {
    fn width(&self, fitted: &Fitted, configuration: &[f64]) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Neighbours(difficulty) => difficulty.at(configuration),
            Self::Model => fitted.deviation(configuration).unwrap_or(1.0),
        }
    }
}
