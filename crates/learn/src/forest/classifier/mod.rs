//! Random forests that predict a class.

mod codes;
mod cuts;
mod growth;
mod stored;
mod trees;

pub use stored::RandomForestClassifierParts;

use super::sample::Sample;
use crate::learner::{check_columns, require_rows};
use crate::parameter::{require, require_count};
use crate::tree::{CheckedShape, MaxFeatures, TreeShape};
use crate::{FitError, Labelled, ParameterError, PredictError, Rows, Threads};
use codes::{Code, Codes, Table};
use cuts::Tag;
use growth::{Ground, GrownTree, grow};
use paceline_numeric::Chance;
use trees::Trees;

/// Between which values of a feature a node may cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splits {
    /// Between any two.
    #[default]
    Exact,
    /// Between bins that hold about equally many rows. A feature of no more
    /// distinct values than bins is cut exactly.
    Histogram {
        /// The most bins; 2 to 256.
        bins: usize,
    },
}

/// Hyper-parameters of [`RandomForestClassifier`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForestClassifierParams {
    /// How many trees are grown.
    pub trees: usize,
    /// Between which values a node may cut.
    pub splits: Splits,
    /// What bounds the growth of a tree.
    pub shape: TreeShape,
    /// Whether a tree sees a bootstrap sample rather than all rows.
    pub bootstrap: bool,
}

impl Default for RandomForestClassifierParams {
    fn default() -> Self {
        Self {
            trees: 100,
            splits: Splits::Exact,
            shape: TreeShape {
                max_features: MaxFeatures::Sqrt,
                ..TreeShape::default()
            },
            bootstrap: true,
        }
    }
}

impl RandomForestClassifierParams {
    /// Accepts at least one tree and a shape that can be grown.
    pub fn check(self) -> Result<RandomForestClassifier, ParameterError> {
        require_count("trees", self.trees, 1)?;
        if let Splits::Histogram { bins } = self.splits {
            let holds = (2..=256).contains(&bins);
            require("bins", bins as f64, holds, "between 2 and 256")?;
        }
        Ok(RandomForestClassifier {
            shape: self.shape.check()?,
            params: self,
        })
    }
}

/// A random forest (Breiman, "Random forests", 2001) of classification trees
/// with the Gini criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForestClassifier {
    params: RandomForestClassifierParams,
    shape: CheckedShape,
}

/// A grown forest; the probability of a class is the mean over the trees of its
/// share in the leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomForestClassifierModel {
    trees: Trees,
    classes: usize,
    columns: usize,
}

/// Rows predicted in one go by one thread: a few hundred features of each stay in
/// the second-level cache together with a tree.
const BLOCK_ROWS: usize = 128;

impl RandomForestClassifier {
    /// Grows the trees, each from its own stream of the seed.
    pub fn fit(
        &self,
        data: &Labelled<'_>,
        seed: u64,
        threads: Threads,
    ) -> Result<RandomForestClassifierModel, FitError> {
        require_rows(data.rows(), 1)?;
        let codes = Codes::new(data.features(), self.params.splits, threads);
        let grown = match &codes.table {
            Table::Narrow(table) => {
                let by_row = Some(codes.by_row.as_slice());
                self.grow_all(table, by_row, &codes, data, seed, threads)
            }
            Table::Wide(table) => self.grow_all(table, None, &codes, data, seed, threads),
        };
        let mut trees = Trees::default();
        for tree in grown {
            trees.push(tree, data.classes());
        }
        Ok(RandomForestClassifierModel {
            trees,
            classes: data.classes(),
            columns: data.columns(),
        })
    }

    fn grow_all<C: Code>(
        &self,
        table: &[C],
        by_row: Option<&[C]>,
        codes: &Codes,
        data: &Labelled<'_>,
        seed: u64,
        threads: Threads,
    ) -> Vec<GrownTree> {
        let ground = Ground {
            codes: table,
            by_row,
            bins: &codes.bins,
            rows: codes.rows,
            classes: data.classes(),
            shape: &self.shape,
        };
        let all: Vec<u32> = (0..codes.rows as u32).collect();
        threads.map(self.params.trees, |tree| {
            let mut draws = Chance::of_learner(seed, tree as u64);
            let sample = Sample::draw(codes.rows, self.params.bootstrap, &mut draws);
            let rows = sample.drawn(&all);
            let tags = rows.iter().map(|&row| Tag {
                class: data.labels()[row as usize],
                weight: sample.weights[row as usize] as u32,
            });
            let tags = tags.collect();
            grow(&ground, rows, tags, &mut draws)
        })
    }
}

impl RandomForestClassifierModel {
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How many features a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many trees the forest has.
    pub fn trees(&self) -> usize {
        self.trees.roots.len()
    }

    /// How many nodes all trees have together, leaves included.
    pub fn nodes(&self) -> usize {
        self.trees.nodes.len()
    }

    /// The probability of each class for every row, row after row.
    pub fn probabilities<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<f64>, PredictError> {
        let rows = rows.into();
        check_columns(rows.columns(), self.columns)?;
        let blocks = rows.rows().div_ceil(BLOCK_ROWS);
        let parts = threads.map(blocks, |block| {
            let start = block * BLOCK_ROWS;
            let end = rows.rows().min(start + BLOCK_ROWS);
            let mut sums = vec![0.0; (end - start) * self.classes];
            match rows {
                Rows::Dense(dense) => {
                    let flat = &dense.as_flat()[start * self.columns..end * self.columns];
                    self.trees
                        .add_shares(flat, self.columns, &mut sums, self.classes);
                }
                Rows::Sparse(sparse) => {
                    let mut flat = vec![0.0; (end - start) * self.columns];
                    for (row, line) in (start..end).zip(flat.chunks_exact_mut(self.columns)) {
                        let (places, values) = sparse.row(row);
                        for (&place, &value) in places.iter().zip(values) {
                            line[place as usize] = value;
                        }
                    }
                    self.trees
                        .add_shares(&flat, self.columns, &mut sums, self.classes);
                }
            }
            let trees = self.trees() as f64;
            sums.iter_mut().for_each(|sum| *sum /= trees);
            sums
        });
        Ok(parts.concat())
    }

    /// The most probable class for every row; the first of equals.
    pub fn predict<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<u32>, PredictError> {
        let probabilities = self.probabilities(rows, threads)?;
        let rows = probabilities.chunks_exact(self.classes);
        Ok(rows.map(most_probable).collect())
    }
}

fn most_probable(probabilities: &[f64]) -> u32 {
    let mut best = 0;
    for (class, &probability) in probabilities.iter().enumerate() {
        if probability > probabilities[best] {
            best = class;
        }
    }
    best as u32
}
