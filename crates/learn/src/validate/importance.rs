//! How much a model relies on each feature.

use crate::{Dataset, Metric, MetricError, Model, PredictError, Threads};
use paceline_numeric::Chance;
use thiserror::Error;

/// By how much a metric worsens when a feature is shuffled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Importance {
    /// The mean over the repetitions.
    pub mean: f64,
    /// The standard deviation over the repetitions.
    pub deviation: f64,
}

/// Why importance is not defined.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ImportanceError {
    /// The data have other features than the model.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The metric is not defined for these data.
    #[error(transparent)]
    Metric(#[from] MetricError),
}

/// The importance of each feature (Breiman 2001, section 10).
///
/// On data that the model was learned from it tells what the model uses; on
/// other data it tells what helps to predict. Zero repetitions count as one.
pub fn permutation_importance(
    model: &dyn Model,
    data: &Dataset,
    metric: Metric,
    repetitions: usize,
    seed: u64,
    threads: Threads,
) -> Result<Vec<Importance>, ImportanceError> {
    let intact = model.predict(data.features(), threads)?;
    let intact = metric.of(data.target(), &intact)?;
    let repetitions = repetitions.max(1);
    let losses = threads.map(data.columns() * repetitions, |part| {
        let mut order: Vec<u32> = (0..data.rows() as u32).collect();
        Chance::of_learner(seed, part as u64).shuffle(&mut order);
        let shuffled = data
            .features()
            .with_column_permuted(part / repetitions, &order);
        let predicted = model.predict_all_checked(&shuffled, Threads::ONE);
        Ok(metric.loss(metric.of(data.target(), &predicted)?, intact))
    });
    let losses = losses
        .into_iter()
        .collect::<Result<Vec<f64>, MetricError>>()?;
    Ok(losses.chunks(repetitions).map(summarise).collect())
}

fn summarise(losses: &[f64]) -> Importance {
    let count = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / count;
    let square: f64 = losses
        .iter()
        .map(|loss| (loss - mean) * (loss - mean))
        .sum();
    Importance {
        mean,
        deviation: (square / count).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, RidgeParams};

    #[test]
    fn a_feature_without_influence_has_no_importance() {
        let rows: Vec<[f64; 2]> = (0..30).map(|i| [f64::from(i), f64::from(i % 4)]).collect();
        let target = rows.iter().map(|row| 3.0 * row[0]).collect();
        let data = Dataset::new(Features::from_rows(&rows).unwrap(), target).unwrap();
        let ridge = RidgeParams {
            penalty: 0.0,
            intercept: true,
        }
        .check()
        .unwrap();
        let model = ridge.fit(&data).unwrap();
        let of =
            |threads| permutation_importance(&model, &data, Metric::R2, 8, 1, threads).unwrap();
        let found = of(Threads::new(2));
        assert_eq!(found, of(Threads::ONE));
        assert!(found[0].mean > 1.0 && found[0].deviation > 0.0);
        assert!(found[1].mean.abs() < 1e-12);
    }
}
