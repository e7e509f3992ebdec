//! Clusters around means.

use crate::learner::{check_row, require_moderate, require_rows};
use crate::parameter::{require, require_count};
use crate::{Features, FitError, ParameterError, PredictError, Threads};
use paceline_numeric::Chance;

/// Hyper-parameters of [`KMeans`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KMeansParams {
    /// How many clusters.
    pub clusters: usize,
    /// How many starts are tried; the one with the least inertia is kept.
    pub starts: usize,
    /// The most rounds of one start.
    pub max_rounds: usize,
    /// A start ends when the centres move by less than this squared distance,
    /// relative to the mean variance of the features.
    pub tolerance: f64,
}

impl Default for KMeansParams {
    fn default() -> Self {
        Self {
            clusters: 8,
            starts: 10,
            max_rounds: 300,
            tolerance: 1e-4,
        }
    }
}

impl KMeansParams {
    /// Accepts at least one cluster, start and round, and a tolerance of at
    /// least zero.
    pub fn check(self) -> Result<KMeans, ParameterError> {
        require_count("clusters", self.clusters, 1)?;
        require_count("starts", self.starts, 1)?;
        require_count("max_rounds", self.max_rounds, 1)?;
        require(
            "tolerance",
            self.tolerance,
            self.tolerance >= 0.0,
            "at least 0",
        )?;
        Ok(KMeans(self))
    }
}

/// Lloyd's iteration (1957, published 1982) from k-means++ starts (Arthur and
/// Vassilvitskii 2007).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KMeans(KMeansParams);

/// Clusters, each by its centre.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansModel {
    centres: Features,
    assignment: Vec<usize>,
    inertia: f64,
}

impl KMeans {
    /// Finds clusters; needs at least as many rows as clusters.
    pub fn fit(
        &self,
        features: &Features,
        seed: u64,
        threads: Threads,
    ) -> Result<KMeansModel, FitError> {
        require_rows(features.rows(), self.0.clusters)?;
        require_moderate(features.as_flat())?;
        let enough = self.0.tolerance * mean_variance(features);
        let starts = threads.map(self.0.starts, |start| {
            self.run(
                features,
                enough,
                &mut Chance::of_learner(seed, start as u64),
            )
        });
        let best = starts.into_iter().reduce(|best, other| {
            if other.inertia < best.inertia {
                other
            } else {
                best
            }
        });
        Ok(best.expect("at least one start was checked"))
    }

    fn run(&self, features: &Features, enough: f64, draws: &mut Chance) -> KMeansModel {
        let columns = features.columns();
        let mut centres = seed_centres(features, self.0.clusters, draws);
        for _ in 0..self.0.max_rounds {
            let (assignment, mut distances) = assign(features, &centres);
            let moved = move_centres(features, &assignment, &mut distances, &mut centres);
            if moved <= enough {
                break;
            }
        }
        // The last move of the centres may have changed who is nearest.
        let (assignment, distances) = assign(features, &centres);
        KMeansModel {
            centres: Features::from_finite(centres, columns),
            assignment,
            inertia: distances.iter().sum(),
        }
    }
}

/// The first centre is any row; each further one is a row drawn in proportion
/// to its squared distance from the nearest centre. Of several draws the one
/// that lowers the total most is kept, as the authors of k-means++ suggest.
fn seed_centres(features: &Features, clusters: usize, draws: &mut Chance) -> Vec<f64> {
    let draws_per_centre = 2 + (clusters as f64).ln() as usize;
    let first = features.row(draws.below(features.rows()));
    let mut centres = first.to_vec();
    let mut nearest: Vec<f64> = features
        .iter()
        .map(|row| squared_distance(row, first))
        .collect();
    while centres.len() < clusters * features.columns() {
        let total: f64 = nearest.iter().sum();
        let mut best: Option<(f64, usize, Vec<f64>)> = None;
        for _ in 0..draws_per_centre {
            let candidate = draw_in_proportion(&nearest, total, draws);
            let row = features.row(candidate);
            let lowered: Vec<f64> = features
                .iter()
                .zip(&nearest)
                .map(|(other, &near)| near.min(squared_distance(other, row)))
                .collect();
            let potential = lowered.iter().sum();
            if best.as_ref().is_none_or(|best| potential < best.0) {
                best = Some((potential, candidate, lowered));
            }
        }
        let (_, chosen, lowered) = best.expect("at least two candidates are drawn");
        centres.extend_from_slice(features.row(chosen));
        nearest = lowered;
    }
    centres
}

fn draw_in_proportion(weights: &[f64], total: f64, draws: &mut Chance) -> usize {
    if total == 0.0 {
        return draws.below(weights.len());
    }
    let mut left = draws.unit() * total;
    let passed = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a rest after the last row.
    passed.unwrap_or(weights.len() - 1)
}

fn assign(features: &Features, centres: &[f64]) -> (Vec<usize>, Vec<f64>) {
    features
        .iter()
        .map(|row| nearest_centre(row, centres))
        .unzip()
}

fn nearest_centre(row: &[f64], centres: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (index, centre) in centres.chunks_exact(row.len()).enumerate() {
        let distance = squared_distance(row, centre);
        if distance < best.1 {
            best = (index, distance);
        }
    }
    best
}

/// Moves each centre to the mean of its rows and returns the sum of squared
/// moves. A cluster that lost its rows takes the row farthest from its centre.
fn move_centres(
    features: &Features,
    assignment: &[usize],
    distances: &mut [f64],
    centres: &mut [f64],
) -> f64 {
    let columns = features.columns();
    let mut sums = vec![0.0; centres.len()];
    let mut counts = vec![0_usize; centres.len() / columns];
    for (row, &cluster) in features.iter().zip(assignment) {
        counts[cluster] += 1;
        for (sum, value) in sums[cluster * columns..].iter_mut().zip(row) {
            *sum += value;
        }
    }
    let mut moved = 0.0;
    for (cluster, centre) in centres.chunks_exact_mut(columns).enumerate() {
        let sum = &mut sums[cluster * columns..][..columns];
        if counts[cluster] == 0 {
            let farthest = (0..distances.len())
                .max_by(|&a, &b| distances[a].total_cmp(&distances[b]))
                .expect("there are at least as many rows as clusters");
            distances[farthest] = 0.0;
            sum.copy_from_slice(features.row(farthest));
        } else {
            sum.iter_mut()
                .for_each(|sum| *sum /= counts[cluster] as f64);
        }
        moved += squared_distance(centre, sum);
        centre.copy_from_slice(sum);
    }
    moved
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn mean_variance(features: &Features) -> f64 {
    let rows = features.rows() as f64;
    let total: f64 = (0..features.columns())
        .map(|column| {
            let mean = features.column(column).sum::<f64>() / rows;
            features
                .column(column)
                .map(|x| (x - mean) * (x - mean))
                .sum::<f64>()
                / rows
        })
        .sum();
    total / features.columns() as f64
}

impl KMeansModel {
    /// The centre of each cluster, one per row.
    pub fn centres(&self) -> &Features {
        &self.centres
    }

    /// The cluster of each row of the data.
    pub fn assignment(&self) -> &[usize] {
        &self.assignment
    }

    /// The sum of squared distances of the rows from their centres.
    pub fn inertia(&self) -> f64 {
        self.inertia
    }

    /// The cluster whose centre is nearest to a row; the first of equals.
    pub fn nearest(&self, row: &[f64]) -> Result<usize, PredictError> {
        check_row(row, self.centres.columns())?;
        Ok(nearest_centre(row, self.centres.as_flat()).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_groups_are_found_whatever_the_number_of_threads() {
        let rows: Vec<[f64; 2]> = (0..30)
            .map(|i| {
                [
                    f64::from(i % 3) * 100.0 + f64::from(i) * 0.1,
                    f64::from(i % 5),
                ]
            })
            .collect();
        let features = Features::from_rows(&rows).unwrap();
        let kmeans = KMeansParams {
            clusters: 3,
            ..Default::default()
        }
        .check()
        .unwrap();
        let model = kmeans.fit(&features, 1, Threads::new(2)).unwrap();
        assert_eq!(model, kmeans.fit(&features, 1, Threads::ONE).unwrap());
        for (row, &cluster) in model.assignment().iter().enumerate() {
            assert_eq!(cluster, model.assignment()[row % 3]);
        }
        assert_eq!(model.nearest(&[205.0, 2.0]).unwrap(), model.assignment()[2]);
    }

    #[test]
    fn as_many_clusters_as_rows_leave_no_inertia_and_more_are_refused() {
        let features = Features::from_rows(&[[1.0], [2.0], [4.0]]).unwrap();
        let with = |clusters| {
            let kmeans = KMeansParams {
                clusters,
                ..Default::default()
            }
            .check()
            .unwrap();
            kmeans.fit(&features, 0, Threads::ONE)
        };
        assert_eq!(with(3).unwrap().inertia(), 0.0);
        assert_eq!(
            with(4),
            Err(FitError::TooFewRows {
                needed: 4,
                found: 3
            })
        );
    }

    #[test]
    fn equal_rows_do_not_stop_the_search() {
        let features = Features::from_rows(&[[1.0]; 6]).unwrap();
        let kmeans = KMeansParams {
            clusters: 3,
            ..Default::default()
        }
        .check()
        .unwrap();
        assert_eq!(
            kmeans.fit(&features, 3, Threads::ONE).unwrap().inertia(),
            0.0
        );
    }
}
