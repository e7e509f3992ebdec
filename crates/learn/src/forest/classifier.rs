//! Random forests that predict a class.

use super::sample::Sample;
use crate::learner::{check_columns, check_row, require_rows};
use crate::parameter::require_count;
use crate::random::Draws;
use crate::tree::{CheckedShape, Columns, Ensemble, Gini, Grown, MaxFeatures, TreeShape, grow};
use crate::{Features, FitError, Labelled, ParameterError, PredictError, Threads};

/// Hyper-parameters of [`RandomForestClassifier`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForestClassifierParams {
    /// How many trees are grown.
    pub trees: usize,
    /// What bounds the growth of a tree.
    pub shape: TreeShape,
    /// Whether a tree sees a bootstrap sample rather than all rows.
    pub bootstrap: bool,
}

impl Default for RandomForestClassifierParams {
    fn default() -> Self {
        Self {
            trees: 100,
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
        Ok(RandomForestClassifier {
            shape: self.shape.check()?,
            params: self,
        })
    }
}

/// A random forest of classification trees with the Gini criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomForestClassifier {
    params: RandomForestClassifierParams,
    shape: CheckedShape,
}

/// A grown forest; the probability of a class is the mean over the trees of its
/// share in the leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomForestClassifierModel {
    /// The value of a leaf is its place in `shares`.
    ensemble: Ensemble,
    shares: Vec<f64>,
    classes: usize,
    columns: usize,
}

impl RandomForestClassifier {
    /// Grows the trees, each from its own stream of the seed.
    pub fn fit(
        &self,
        data: &Labelled,
        seed: u64,
        threads: Threads,
    ) -> Result<RandomForestClassifierModel, FitError> {
        require_rows(data.rows(), 1)?;
        let columns = Columns::new(
            data.features(),
            self.shape.max_features(data.features().columns()),
        );
        let all: Vec<u32> = (0..columns.rows() as u32).collect();
        let grown = threads.map(self.params.trees, |tree| {
            let mut draws = Draws::new(seed, tree as u64);
            let sample = Sample::draw(data.rows(), self.params.bootstrap, &mut draws);
            let mut gini = Gini::new(data.labels(), data.classes(), &sample.weights);
            let rows = sample.drawn(&all);
            let grown = grow(&columns, rows, &self.shape, &mut gini, &mut draws);
            let shares = leaf_shares(&grown, data, &sample.weights);
            (grown, shares)
        });
        let mut ensemble = Ensemble::default();
        let mut shares = Vec::new();
        for (grown, of_tree) in grown {
            let first = shares.len() / data.classes();
            let leaves = of_tree.len() / data.classes();
            let places: Vec<f64> = (first..first + leaves).map(|leaf| leaf as f64).collect();
            ensemble.push(&grown.with_values(&places));
            shares.extend(of_tree);
        }
        Ok(RandomForestClassifierModel {
            ensemble,
            shares,
            classes: data.classes(),
            columns: data.features().columns(),
        })
    }
}

/// The share of each class in each leaf, leaf after leaf.
fn leaf_shares(grown: &Grown, data: &Labelled, weights: &[f64]) -> Vec<f64> {
    let mut shares = Vec::new();
    for rows in grown.leaves() {
        let start = shares.len();
        shares.resize(start + data.classes(), 0.0);
        let mut total = 0.0;
        for &row in rows {
            let weight = weights[row as usize];
            shares[start + data.labels()[row as usize] as usize] += weight;
            total += weight;
        }
        for share in &mut shares[start..] {
            *share /= total;
        }
    }
    shares
}

impl RandomForestClassifierModel {
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The probability of each class for one row.
    pub fn probabilities(&self, row: &[f64]) -> Result<Vec<f64>, PredictError> {
        check_row(row, self.columns)?;
        Ok(self.probabilities_checked(row))
    }

    /// The most probable class for one row; the first of equals.
    pub fn predict_row(&self, row: &[f64]) -> Result<u32, PredictError> {
        Ok(most_probable(&self.probabilities(row)?))
    }

    /// The most probable class for every row.
    pub fn predict(&self, features: &Features, threads: Threads) -> Result<Vec<u32>, PredictError> {
        check_columns(features.columns(), self.columns)?;
        Ok(threads.map(features.rows(), |row| {
            most_probable(&self.probabilities_checked(features.row(row)))
        }))
    }

    fn probabilities_checked(&self, row: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes];
        for place in self.ensemble.values_of(row) {
            let shares = &self.shares[place as usize * self.classes..][..self.classes];
            for (sum, share) in sums.iter_mut().zip(shares) {
                *sum += share;
            }
        }
        let trees = self.ensemble.trees() as f64;
        sums.iter_mut().for_each(|sum| *sum /= trees);
        sums
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_classes_are_learned_and_probabilities_add_up() {
        let rows: Vec<[f64; 2]> = (0..60).map(|i| [f64::from(i), f64::from(i % 7)]).collect();
        let labels: Vec<u32> = (0..60).map(|i| i / 20).collect();
        let data = Labelled::new(Features::from_rows(&rows).unwrap(), labels.clone(), 3).unwrap();
        let forest = RandomForestClassifierParams::default().check().unwrap();
        let model = forest.fit(&data, 5, Threads::new(2)).unwrap();
        assert_eq!(model, forest.fit(&data, 5, Threads::ONE).unwrap());
        let right = model
            .predict(data.features(), Threads::new(2))
            .unwrap()
            .iter()
            .zip(&labels)
            .filter(|(found, label)| found == label)
            .count();
        assert!(right >= 58, "{right} of 60");
        let total: f64 = model.probabilities(&[19.5, 3.0]).unwrap().iter().sum();
        assert!((total - 1.0).abs() < 1e-12);
    }
}
