//! A single regression tree.

use super::{Absolute, CheckedShape, Columns, Grown, Squared, Tree, TreeShape, grow};
use crate::learner::{require_moderate, require_rows};
use crate::order_statistics::sorted_weighted_median;
use crate::{Dataset, FitError, Learner, Model, ParameterError, Threads};
use paceline_numeric::Chance;

/// What a cut of a regression tree reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitCriterion {
    /// The squared error; a leaf predicts its mean.
    #[default]
    Squared,
    /// The absolute error; a leaf predicts its median.
    Absolute,
}

/// Hyper-parameters of [`DecisionTree`] as typed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DecisionTreeParams {
    /// What a cut reduces.
    pub criterion: SplitCriterion,
    /// What bounds the growth.
    pub shape: TreeShape,
}

impl DecisionTreeParams {
    /// Accepts counts of at least one and a fraction of features up to one.
    pub fn check(self) -> Result<DecisionTree, ParameterError> {
        Ok(DecisionTree {
            criterion: self.criterion,
            shape: self.shape.check()?,
        })
    }
}

/// A regression tree (Breiman, Friedman, Olshen and Stone 1984).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecisionTree {
    criterion: SplitCriterion,
    shape: CheckedShape,
}

/// A grown regression tree.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionTreeModel {
    tree: Tree,
    columns: usize,
}

impl DecisionTree {
    /// Grows the tree. The seed matters only if not all features are considered.
    pub fn fit(&self, data: &Dataset, seed: u64) -> Result<DecisionTreeModel, FitError> {
        require_rows(data.rows(), 1)?;
        require_moderate(data.target())?;
        let columns = Columns::new(
            data.features(),
            self.shape.max_features(data.features().columns()),
        );
        let by_target = rows_by_target(data.target());
        let weights = vec![1.0; data.rows()];
        let mut draws = Chance::of_learner(seed, 0);
        let tree = grow_regression(
            &columns,
            data.target(),
            &weights,
            by_target,
            self.criterion,
            &self.shape,
            &mut draws,
        );
        Ok(DecisionTreeModel {
            tree,
            columns: data.columns(),
        })
    }
}

impl DecisionTreeModel {
    /// How many leaves the tree has.
    pub fn leaves(&self) -> usize {
        self.tree.leaves()
    }
}

impl Model for DecisionTreeModel {
    fn columns(&self) -> usize {
        self.columns
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.tree.predict(row)
    }
}

impl Learner for DecisionTree {
    fn learn(&self, data: &Dataset, seed: u64, _: Threads) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data, seed)?))
    }
}

/// All rows in ascending order of target.
pub(crate) fn rows_by_target(target: &[f64]) -> Vec<u32> {
    let count = u32::try_from(target.len()).expect("a table has at most u32::MAX rows");
    let mut rows: Vec<u32> = (0..count).collect();
    rows.sort_by(|&a, &b| target[a as usize].total_cmp(&target[b as usize]));
    rows
}

/// Grows one regression tree from rows that are in ascending order of target
/// and have a weight above zero.
pub(crate) fn grow_regression(
    columns: &Columns,
    target: &[f64],
    weights: &[f64],
    by_target: Vec<u32>,
    criterion: SplitCriterion,
    shape: &CheckedShape,
    draws: &mut Chance,
) -> Tree {
    match criterion {
        SplitCriterion::Squared => {
            let mut squared = Squared::new(target, weights);
            let grown = grow(columns, by_target, shape, &mut squared, draws);
            let values = leaf_values(&grown, |rows| {
                let weight: f64 = rows.iter().map(|&row| weights[row as usize]).sum();
                let sum: f64 = rows
                    .iter()
                    .map(|&row| weights[row as usize] * target[row as usize])
                    .sum();
                // The rows are in order of target: rounding must not carry the
                // mean beyond them.
                let (first, last) = (rows[0] as usize, rows[rows.len() - 1] as usize);
                (sum / weight).clamp(target[first], target[last])
            });
            grown.with_values(&values)
        }
        SplitCriterion::Absolute => {
            let mut absolute = Absolute::new(target, weights);
            let grown = grow(columns, by_target, shape, &mut absolute, draws);
            let values = leaf_values(&grown, |rows| {
                sorted_weighted_median(
                    rows.iter()
                        .map(|&row| (target[row as usize], weights[row as usize])),
                )
            });
            grown.with_values(&values)
        }
    }
}

/// The value of each leaf from its rows.
pub(crate) fn leaf_values(grown: &Grown, value: impl FnMut(&[u32]) -> f64) -> Vec<f64> {
    grown.leaves().map(value).collect()
}
