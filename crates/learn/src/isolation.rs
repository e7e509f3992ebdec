//! Isolation forests: what few random cuts set apart is anomalous.

use crate::learner::{check_columns, check_row, require_rows};
use crate::parameter::require_count;
use crate::{Features, FitError, ParameterError, PredictError, Threads};
use paceline_numeric::Chance;

/// Hyper-parameters of [`IsolationForest`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IsolationForestParams {
    /// How many trees are grown.
    pub trees: usize,
    /// How many rows each tree sees, or all if there are fewer.
    pub sample: usize,
}

impl Default for IsolationForestParams {
    fn default() -> Self {
        Self {
            trees: 100,
            sample: 256,
        }
    }
}

impl IsolationForestParams {
    /// Accepts at least one tree of at least two rows.
    pub fn check(self) -> Result<IsolationForest, ParameterError> {
        require_count("trees", self.trees, 1)?;
        require_count("sample", self.sample, 2)?;
        Ok(IsolationForest(self))
    }
}

/// An isolation forest (Liu, Ting and Zhou, "Isolation forest", ICDM 2008).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IsolationForest(IsolationForestParams);

/// A grown isolation forest.
#[derive(Debug, Clone, PartialEq)]
pub struct IsolationForestModel {
    trees: Vec<Vec<Node>>,
    columns: usize,
    /// The mean path in a tree of the sample's size.
    usual_path: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    /// Rows up to the threshold go to the first child, the others to the next.
    Cut {
        feature: usize,
        threshold: f64,
        children: usize,
    },
    /// The depth plus the mean path that its rows would still have to go.
    Leaf { path: f64 },
}

impl IsolationForest {
    /// Grows the trees, each from its own stream of the seed.
    pub fn fit(
        &self,
        features: &Features,
        seed: u64,
        threads: Threads,
    ) -> Result<IsolationForestModel, FitError> {
        require_rows(features.rows(), 2)?;
        let sample = self.0.sample.min(features.rows());
        let trees = threads.map(self.0.trees, |tree| {
            grow(features, sample, &mut Chance::of_learner(seed, tree as u64))
        });
        Ok(IsolationForestModel {
            trees,
            columns: features.columns(),
            usual_path: mean_path(sample),
        })
    }
}

fn grow(features: &Features, sample: usize, draws: &mut Chance) -> Vec<Node> {
    let mut all: Vec<usize> = (0..features.rows()).collect();
    draws.choose_front(&mut all, sample);
    all.truncate(sample);
    let deepest = sample.next_power_of_two().ilog2() as usize;
    let mut nodes = vec![Node::Leaf { path: 0.0 }];
    let mut open = vec![(0, all, 0)];
    let mut varying = Vec::new();
    while let Some((node, mut rows, depth)) = open.pop() {
        varying.clear();
        varying.extend((0..features.columns()).filter_map(|column| {
            let (low, high) = bounds(features, &rows, column);
            (low < high).then_some((column, low, high))
        }));
        if depth >= deepest || varying.is_empty() {
            nodes[node] = Node::Leaf {
                path: depth as f64 + mean_path(rows.len()),
            };
            continue;
        }
        let (feature, low, high) = varying[draws.below(varying.len())];
        // In [low, high): both children get at least one row.
        let threshold = (low + draws.unit() * (high - low)).clamp(low, high.next_down());
        let children = nodes.len();
        nodes[node] = Node::Cut {
            feature,
            threshold,
            children,
        };
        nodes.extend([Node::Leaf { path: 0.0 }; 2]);
        rows.sort_by_key(|&row| features.row(row)[feature] > threshold);
        let first = rows.partition_point(|&row| features.row(row)[feature] <= threshold);
        let others = rows.split_off(first);
        open.push((children, rows, depth + 1));
        open.push((children + 1, others, depth + 1));
    }
    nodes
}

fn bounds(features: &Features, rows: &[usize], column: usize) -> (f64, f64) {
    rows.iter()
        .map(|&row| features.row(row)[column])
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

/// The mean path of an unsuccessful search in a binary search tree of so many
/// rows: 2·H(n − 1) − 2(n − 1)/n (equation 1 of the paper), the harmonic number
/// summed exactly rather than by its logarithm.
fn mean_path(rows: usize) -> f64 {
    if rows < 2 {
        return 0.0;
    }
    let harmonic: f64 = (1..rows).map(|k| 1.0 / k as f64).sum();
    2.0 * harmonic - 2.0 * (rows - 1) as f64 / rows as f64
}

impl IsolationForestModel {
    /// The anomaly score of a row, in (0, 1]: near one is anomalous, below one
    /// half is ordinary (equation 2 of the paper).
    pub fn score(&self, row: &[f64]) -> Result<f64, PredictError> {
        check_row(row, self.columns)?;
        Ok(self.score_checked(row))
    }

    /// The anomaly score of every row.
    pub fn scores(&self, features: &Features, threads: Threads) -> Result<Vec<f64>, PredictError> {
        check_columns(features.columns(), self.columns)?;
        Ok(threads.map(features.rows(), |row| self.score_checked(features.row(row))))
    }

    fn score_checked(&self, row: &[f64]) -> f64 {
        let total: f64 = self.trees.iter().map(|nodes| path(nodes, row)).sum();
        let mean = total / self.trees.len() as f64;
        (-mean / self.usual_path).exp2()
    }
}

fn path(nodes: &[Node], row: &[f64]) -> f64 {
    let mut at = 0;
    loop {
        match nodes[at] {
            Node::Leaf { path } => return path,
            Node::Cut {
                feature,
                threshold,
                children,
            } => at = children + usize::from(row[feature] > threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_row_scores_above_the_crowd() {
        let mut rows: Vec<[f64; 2]> = (0..100)
            .map(|i| [f64::from(i % 10), f64::from(i / 10)])
            .collect();
        rows.push([60.0, 60.0]);
        let features = Features::from_rows(&rows).unwrap();
        let forest = IsolationForestParams::default().check().unwrap();
        let model = forest.fit(&features, 2, Threads::new(2)).unwrap();
        assert_eq!(model, forest.fit(&features, 2, Threads::ONE).unwrap());
        let scores = model.scores(&features, Threads::ONE).unwrap();
        let highest = scores[..100].iter().copied().fold(0.0, f64::max);
        assert!(
            scores[100] > 0.75 && scores[100] > highest,
            "{}",
            scores[100]
        );
    }

    #[test]
    fn equal_rows_are_all_ordinary() {
        let features = Features::from_rows(&[[3.0]; 20]).unwrap();
        let forest = IsolationForestParams::default().check().unwrap();
        let model = forest.fit(&features, 2, Threads::ONE).unwrap();
        assert!((model.score(&[3.0]).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_mean_path_agrees_with_the_definition() {
        assert_eq!(mean_path(1), 0.0);
        assert_eq!(mean_path(2), 1.0);
        // 2·(1 + 1/2 + 1/3) − 2·3/4.
        assert!((mean_path(4) - 13.0 / 6.0).abs() < 1e-15);
    }
}
