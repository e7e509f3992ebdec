//! Gradient boosting: small trees, each fitted to what the earlier ones missed.

mod loss;

pub use loss::BoostLoss;

use crate::learner::{require_moderate, require_rows};
use crate::parameter::{require, require_count};
use crate::tree::{CheckedShape, Columns, Ensemble, Squared, TreeShape, grow, leaf_values};
use crate::{Dataset, Features, FitError, Learner, Model, ParameterError, Threads};
use paceline_numeric::Chance;

/// Hyper-parameters of [`GradientBoosting`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientBoostingParams {
    /// What the trees reduce together.
    pub loss: BoostLoss,
    /// How many trees are grown, one after another.
    pub trees: usize,
    /// How much of each tree's correction is applied.
    pub learning_rate: f64,
    /// The fraction of the rows that a tree sees, drawn without replacement.
    pub subsample: f64,
    /// What bounds the growth of a tree.
    pub shape: TreeShape,
}

impl Default for GradientBoostingParams {
    fn default() -> Self {
        Self {
            loss: BoostLoss::Squared,
            trees: 100,
            learning_rate: 0.1,
            subsample: 1.0,
            shape: TreeShape {
                max_depth: Some(3),
                ..TreeShape::default()
            },
        }
    }
}

impl GradientBoostingParams {
    /// Accepts a rate above zero, a subsample above zero and at most one, at
    /// least one tree and a shape that can be grown.
    pub fn check(self) -> Result<GradientBoosting, ParameterError> {
        let rate = self.learning_rate;
        let subsample = self.subsample;
        require_count("trees", self.trees, 1)?;
        require("learning_rate", rate, rate > 0.0, "above 0")?;
        require(
            "subsample",
            subsample,
            subsample > 0.0 && subsample <= 1.0,
            "above 0 and at most 1",
        )?;
        self.loss.check()?;
        Ok(GradientBoosting {
            shape: self.shape.check()?,
            params: self,
        })
    }
}

/// Stochastic gradient boosting (Friedman, "Greedy function approximation",
/// 2001, algorithms 2 to 4, and "Stochastic gradient boosting", 2002).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientBoosting {
    params: GradientBoostingParams,
    shape: CheckedShape,
}

/// A sum of small trees.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientBoostingModel {
    start: f64,
    ensemble: Ensemble,
    columns: usize,
}

impl GradientBoosting {
    /// Grows the trees one after another.
    pub fn fit(&self, data: &Dataset, seed: u64) -> Result<GradientBoostingModel, FitError> {
        require_rows(data.rows(), 1)?;
        require_moderate(data.target())?;
        let columns = Columns::new(
            data.features(),
            self.shape.max_features(data.features().columns()),
        );
        let loss = self.params.loss;
        let start = loss.best_constant(data.target());
        let mut residuals: Vec<f64> = data.target().iter().map(|y| y - start).collect();
        let mut ensemble = Ensemble::default();
        for stage in 0..self.params.trees {
            let mut draws = Chance::of_learner(seed, stage as u64);
            let rows = self.draw_rows(data.rows(), &mut draws);
            let mut weights = vec![0.0; data.rows()];
            for &row in &rows {
                weights[row as usize] = 1.0;
            }
            let fitted = loss.at_stage(&residuals, &rows);
            let gradient: Vec<f64> = residuals.iter().map(|&r| fitted.gradient(r)).collect();
            let mut criterion = Squared::new(&gradient, &weights);
            let all_seen = rows.len() == data.rows();
            let grown = grow(&columns, rows, &self.shape, &mut criterion, &mut draws);
            let rate = self.params.learning_rate;
            let values = leaf_values(&grown, |rows| {
                let mut missed: Vec<f64> =
                    rows.iter().map(|&row| residuals[row as usize]).collect();
                rate * fitted.leaf_value(&mut missed)
            });
            if all_seen {
                for (rows, value) in grown.leaves().zip(&values) {
                    for &row in rows {
                        residuals[row as usize] -= value;
                    }
                }
                ensemble.push(&grown.with_values(&values));
            } else {
                let tree = grown.with_values(&values);
                for (residual, row) in residuals.iter_mut().zip(data.features().iter()) {
                    *residual -= tree.predict(row);
                }
                ensemble.push(&tree);
            }
        }
        Ok(GradientBoostingModel {
            start,
            ensemble,
            columns: data.columns(),
        })
    }

    fn draw_rows(&self, count: usize, draws: &mut Chance) -> Vec<u32> {
        let all = u32::try_from(count).expect("a table has at most u32::MAX rows");
        let mut rows: Vec<u32> = (0..all).collect();
        if self.params.subsample < 1.0 {
            let kept = ((self.params.subsample * count as f64) as usize).max(1);
            draws.choose_front(&mut rows, kept);
            rows.truncate(kept);
            // In the order of the table, as if the others were not there.
            rows.sort_unstable();
        }
        rows
    }
}

impl GradientBoostingModel {
    /// How many trees were grown.
    pub fn trees(&self) -> usize {
        self.ensemble.trees()
    }

    /// The predictions for one row after each tree, for choosing how many are
    /// enough.
    pub fn staged(&self, row: &[f64]) -> Result<Vec<f64>, crate::PredictError> {
        crate::learner::check_row(row, self.columns)?;
        let stages = self.ensemble.values_of(row).scan(self.start, |sum, value| {
            *sum += value;
            Some(*sum)
        });
        Ok(stages.collect())
    }
}

impl Model for GradientBoostingModel {
    fn columns(&self) -> usize {
        self.columns
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.start + self.ensemble.sum(row)
    }

    fn predict_all_checked(&self, features: &Features, threads: Threads) -> Vec<f64> {
        let share = features.rows().div_ceil(threads.count()).max(1);
        let blocks: Vec<&[f64]> = features.as_flat().chunks(self.columns * share).collect();
        let sums = threads.map(blocks.len(), |block| {
            let mut sums = vec![0.0; blocks[block].len() / self.columns];
            self.ensemble
                .add_sums(blocks[block], self.columns, &mut sums);
            sums
        });
        sums.into_iter()
            .flatten()
            .map(|sum| self.start + sum)
            .collect()
    }
}

impl Learner for GradientBoosting {
    fn learn(&self, data: &Dataset, seed: u64, _: Threads) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data, seed)?))
    }
}
