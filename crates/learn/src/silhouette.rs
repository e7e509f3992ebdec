//! How well clusters are set apart, and so how many there are.

use crate::kmeans::{KMeansModel, KMeansParams};
use crate::{Features, FitError, Threads};

/// The silhouette of every row (Rousseeuw, Journal of Computational and Applied
/// Mathematics 20, 1987): from −1, nearer to another cluster than to its own, to 1.
/// A row that is alone in its cluster has zero. `clusters` numbers the cluster of
/// each row; with fewer than two clusters there is nothing to compare, and all
/// are zero.
#[must_use]
pub fn silhouettes(features: &Features, clusters: &[usize]) -> Vec<f64> {
    let count = clusters.iter().max().map_or(0, |last| last + 1);
    let mut sizes = vec![0_usize; count];
    clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
    let occupied = sizes.iter().filter(|&&size| size > 0).count();
    let silhouette = |row: usize| {
        let own = clusters[row];
        if occupied < 2 || sizes[own] < 2 {
            return 0.0;
        }
        let mut sums = vec![0.0; count];
        for other in 0..features.rows() {
            sums[clusters[other]] += distance(features.row(row), features.row(other));
        }
        let within = sums[own] / (sizes[own] - 1) as f64;
        let nearest = (0..count)
            .filter(|&cluster| cluster != own && sizes[cluster] > 0)
            .map(|cluster| sums[cluster] / sizes[cluster] as f64)
            .fold(f64::INFINITY, f64::min);
        let larger = within.max(nearest);
        match larger > 0.0 {
            true => (nearest - within) / larger,
            false => 0.0,
        }
    };
    (0..features.rows()).map(silhouette).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    square.sqrt()
}

/// Clusters and how well they are set apart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenClusters {
    /// The clusters.
    pub model: KMeansModel,
    /// How many there are.
    pub count: usize,
    /// The mean silhouette of all rows.
    pub silhouette: f64,
}

/// The number of clusters, from two to `most`, with the greatest mean
/// silhouette; of equal ones the smallest. Nothing with fewer than three rows.
///
/// # Errors
/// If the rows cannot be clustered.
pub fn choose_clusters(
    features: &Features,
    most: usize,
    seed: u64,
    threads: Threads,
) -> Result<Option<ChosenClusters>, FitError> {
    let mut best: Option<ChosenClusters> = None;
    // As many clusters as rows set everything apart and say nothing.
    for count in 2..=most.min(features.rows().saturating_sub(1)) {
        let params = KMeansParams {
            clusters: count,
            ..KMeansParams::default()
        };
        let means = params
            .check()
            .expect("the default is checked, and the count is two or more");
        let model = means.fit(features, seed, threads)?;
        let all = silhouettes(features, model.assignment());
        let silhouette = all.iter().sum::<f64>() / all.len() as f64;
        if best
            .as_ref()
            .is_none_or(|best| silhouette > best.silhouette)
        {
            best = Some(ChosenClusters {
                model,
                count,
                silhouette,
            });
        }
    }
    Ok(best)
}
