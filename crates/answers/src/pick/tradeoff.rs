//! What is gained in one respect by giving way in another.

use paceline_advise::pick::{Picked, front};
use paceline_advise::predict::Predictor;
use paceline_advise::runs::Configuration;

/// The predicted time and result of every configuration that was considered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tradeoff {
    /// The response that is a time.
    pub time: String,
    /// The response that the time is spent on.
    pub result: String,
    /// Every configuration with its predicted time and result.
    pub all: Vec<(Configuration, f64, f64)>,
    /// Those that no other beats in both, from the quickest on.
    pub front: Vec<usize>,
    /// The one that is advised.
    pub advised: Option<usize>,
}

impl Tradeoff {
    /// Between the time and a result of which more (1) or less (-1) is better, if
    /// both are predicted.
    pub(super) fn of(
        predictors: &[Predictor],
        choices: &[Configuration],
        (result, sign): (&str, f64),
        time: &str,
        advised: &Picked,
    ) -> Option<Self> {
        let values = |response: &str| -> Option<Vec<f64>> {
            let predictor = predictors.iter().find(|p| p.response() == response)?;
            let beliefs = predictor.beliefs(choices);
            Some(beliefs.iter().map(|belief| belief.value()).collect())
        };
        let (times, results) = (values(time)?, values(result)?);
        let pairs = times.iter().zip(&results);
        let points: Vec<Vec<f64>> = pairs
            .map(|(time, result)| vec![sign * result, -time])
            .collect();
        let mut front = front(&points);
        // The best result comes first, and it takes the longest.
        front.reverse();
        let all = choices.iter().cloned().zip(times.iter().zip(&results));
        Some(Self {
            time: time.to_owned(),
            result: result.to_owned(),
            all: all
                .map(|(at, (time, result))| (at, *time, *result))
                .collect(),
            front,
            advised: choices.iter().position(|at| *at == advised.configuration),
        })
    }
}
