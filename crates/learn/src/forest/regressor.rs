//! Random forests that predict a number.

use super::BLOCK_ROWS;
use super::cells::Cells;
use super::sample::Sample;
use crate::learner::{require_moderate, require_rows};
use crate::parameter::require_count;
use crate::tree::{
    CheckedShape, Columns, Ensemble, SetWalk, SplitCriterion, Tree, TreeShape, grow_regression,
    rows_by_target,
};
use crate::{Dataset, Features, FitError, Learner, Model, ParameterError, Threads};
use paceline_numeric::Chance;
use std::sync::OnceLock;

/// Hyper-parameters of [`RandomForest`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForestParams {
    /// How many trees are grown.
    pub trees: usize,
    /// What a cut reduces.
    pub criterion: SplitCriterion,
    /// What bounds the growth of a tree.
    pub shape: TreeShape,
    /// Whether a tree sees a bootstrap sample rather than all rows.
    pub bootstrap: bool,
    /// Whether to predict each row from the trees that did not see it.
    pub out_of_bag: bool,
}

impl Default for RandomForestParams {
    fn default() -> Self {
        Self {
            trees: 100,
            criterion: SplitCriterion::Squared,
            shape: TreeShape::default(),
            bootstrap: true,
            out_of_bag: false,
        }
    }
}

impl RandomForestParams {
    /// Accepts at least one tree and a shape that can be grown. Out-of-bag
    /// predictions need bootstrap samples.
    pub fn check(self) -> Result<RandomForest, ParameterError> {
        require_count("trees", self.trees, 1)?;
        if self.out_of_bag && !self.bootstrap {
            return Err(ParameterError {
                parameter: "out_of_bag",
                value: 1.0,
                requirement: "0 without bootstrap: every tree sees every row",
            });
        }
        Ok(RandomForest {
            shape: self.shape.check()?,
            params: self,
        })
    }
}

/// A random forest (Breiman, "Random forests", 2001).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForest {
    params: RandomForestParams,
    shape: CheckedShape,
}

/// A grown forest; it predicts the mean of its trees.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomForestModel {
    ensemble: Ensemble,
    cells: Option<Cells>,
    batches: Prepared,
    columns: usize,
    out_of_bag: Option<Vec<Option<f64>>>,
}

/// The ensemble prepared for batches, at the first batch that is worth it. It
/// follows from the ensemble, so it is no part of what a model is.
#[derive(Debug, Clone, Default)]
struct Prepared(OnceLock<SetWalk>);

impl PartialEq for Prepared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Fewer rows are walked through the trees one by one: preparing takes about as
/// long as so many walks.
const BATCH_ROWS: usize = 1000;

impl RandomForest {
    /// Grows the trees, each from its own stream of the seed.
    pub fn fit(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<RandomForestModel, FitError> {
        require_rows(data.rows(), 1)?;
        require_moderate(data.target())?;
        let columns = Columns::new(
            data.features(),
            self.shape.max_features(data.features().columns()),
        );
        let by_target = rows_by_target(data.target());
        let grown = threads.map(self.params.trees, |tree| {
            self.grow(
                data,
                &columns,
                &by_target,
                &mut Chance::of_learner(seed, tree as u64),
            )
        });
        let out_of_bag = self
            .params
            .out_of_bag
            .then(|| mean_out_of_bag(data.rows(), &grown));
        let ensemble = Ensemble::new(grown.into_iter().map(|grown| grown.tree));
        Ok(RandomForestModel {
            cells: Cells::of(&ensemble, data.columns()),
            ensemble,
            batches: Prepared::default(),
            columns: data.columns(),
            out_of_bag,
        })
    }

    fn grow(
        &self,
        data: &Dataset,
        columns: &Columns,
        by_target: &[u32],
        draws: &mut Chance,
    ) -> GrownTree {
        let sample = Sample::draw(data.rows(), self.params.bootstrap, draws);
        let tree = grow_regression(
            columns,
            data.target(),
            &sample.weights,
            sample.drawn(by_target),
            self.params.criterion,
            &self.shape,
            draws,
        );
        let unseen = if self.params.out_of_bag {
            let predict = |row| (row, tree.predict(data.features().row(row)));
            sample.out_of_bag().map(predict).collect()
        } else {
            Vec::new()
        };
        GrownTree { tree, unseen }
    }
}

/// A tree and what it predicts for the rows that it did not see.
struct GrownTree {
    tree: Tree,
    unseen: Vec<(usize, f64)>,
}

fn mean_out_of_bag(rows: usize, grown: &[GrownTree]) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u32); rows];
    for &(row, prediction) in grown.iter().flat_map(|grown| &grown.unseen) {
        sums[row].0 += prediction;
        sums[row].1 += 1;
    }
    sums.into_iter()
        .map(|(sum, count)| (count > 0).then(|| sum / f64::from(count)))
        .collect()
}

impl RandomForestModel {
    /// How many trees the forest has.
    pub fn trees(&self) -> usize {
        self.ensemble.trees()
    }

    /// For each row of the data, the mean prediction of the trees that did not
    /// see it, and `None` if all saw it. Absent unless it was asked for.
    pub fn out_of_bag(&self) -> Option<&[Option<f64>]> {
        self.out_of_bag.as_deref()
    }

    /// What each tree predicts for a row, in the order of the trees.
    pub fn tree_predictions(&self, row: &[f64]) -> Result<Vec<f64>, crate::PredictError> {
        crate::learner::check_row(row, self.columns)?;
        Ok(self.ensemble.values_of(row).collect())
    }

    #[cfg(test)]
    pub(crate) fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    /// The ensemble prepared for a batch, if that is worth it.
    fn prepared(&self, rows: usize, threads: Threads) -> Option<&SetWalk> {
        if rows < BATCH_ROWS {
            return None;
        }
        let prepare = || SetWalk::new(&self.ensemble, self.columns, threads);
        Some(self.batches.0.get_or_init(prepare))
    }

    fn predict_blocks(&self, features: &Features, threads: Threads) -> Vec<f64> {
        let trees = self.trees() as f64;
        if let Some(walk) = self.prepared(features.rows(), threads) {
            let sums = walk.sums(&self.ensemble, features, threads).into_iter();
            return sums.map(|sum| sum / trees).collect();
        }
        let columns = self.columns;
        // Small batches are cut finer, so that every thread has a share.
        let share = features.rows().div_ceil(threads.count()).max(1);
        let blocks: Vec<&[f64]> = features
            .as_flat()
            .chunks(columns * BLOCK_ROWS.min(share))
            .collect();
        let sums = threads.map(blocks.len(), |block| {
            let rows = blocks[block];
            let mut sums = vec![0.0; rows.len() / columns];
            self.ensemble.add_sums(rows, columns, &mut sums);
            sums
        });
        sums.into_iter().flatten().map(|sum| sum / trees).collect()
    }
}

impl Model for RandomForestModel {
    fn columns(&self) -> usize {
        self.columns
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.ensemble.sum(row) / self.trees() as f64
    }

    fn predict_all_checked(&self, features: &Features, threads: Threads) -> Vec<f64> {
        let Some(cells) = &self.cells else {
            return self.predict_blocks(features, threads);
        };
        let (first_rows, places) = cells.distinct(features);
        let predictions = self.predict_blocks(&features.select(&first_rows), threads);
        places.into_iter().map(|place| predictions[place]).collect()
    }
}

impl Learner for RandomForest {
    fn learn(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data, seed, threads)?))
    }
}
