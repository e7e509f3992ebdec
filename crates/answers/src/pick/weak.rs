//! Predictors that hardly predict.

use paceline_advise::pick::PickRequest;
use paceline_advise::predict::Predictor;

/// Below this share of the variation, a predictor's choice is close to a guess.
const LITTLE_EXPLAINED: f64 = 0.5;

/// A response whose predictor explains little of what differs between runs.
///
/// A promise rests on its predictor: intervals and probabilities account for
/// such a one, but which configuration is best is much less certain.
#[derive(Debug, Clone, PartialEq)]
pub struct WeakPredictor {
    /// The response.
    pub response: String,
    /// The share that it explains, for trials it has not seen; at least zero.
    pub explained: f64,
}

impl WeakPredictor {
    /// The weak ones among the predictors that a request rests on.
    #[must_use]
    pub fn among(predictors: &[Predictor], request: &PickRequest) -> Vec<Self> {
        let weights = request.objective.weights();
        let limited = || request.constraints.iter().map(|limit| &limit.response);
        let rests = |name: &str| {
            weights.iter().any(|(own, _)| *own == name) || limited().any(|own| own == name)
        };
        let asked = predictors.iter().filter(|p| rests(p.response()));
        let weak = asked.filter_map(|predictor| {
            let r2 = predictor.comparison().score()?.r2;
            (r2 < LITTLE_EXPLAINED).then(|| Self {
                response: predictor.response().to_owned(),
                explained: r2.max(0.0),
            })
        });
        weak.collect()
    }
}
