//! The best configuration that keeps its promises.

mod candidates;
mod constraint;
mod front;
mod objective;
mod suggest;

pub use candidates::{CandidatesError, Space, candidates};
pub use constraint::{Constraint, Limit};
pub use front::front;
pub use objective::Objective;
pub use suggest::{Evidence, SuggestError, SuggestOptions, Suggestion, propose, suggest};

use crate::predict::{LEAST_CONFIDENCE, MOST_CONFIDENCE, Prediction, Predictor, is_confidence};
use crate::runs::Configuration;
use thiserror::Error;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct PickRequest {
    /// What is to be as good as possible.
    pub objective: Objective,
    /// The limits to be kept.
    pub constraints: Vec<Constraint>,
    /// The probability with which each limit must be kept.
    pub confidence: f64,
    /// The coverage of the printed intervals.
    pub coverage: f64,
}

/// Why no pick can be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PickError {
    /// A response that is asked for is not predicted.
    #[error("response `{0}` is not predicted")]
    NotPredicted(String),
    /// Two limits exclude each other.
    #[error("`{response} >= {at_least}` and `{response} <= {at_most}` exclude each other")]
    Contradictory {
        /// The response.
        response: String,
        /// Its greatest lower limit.
        at_least: f64,
        /// Its least upper limit.
        at_most: f64,
    },
    /// A limit or a weight is NaN or infinite.
    #[error("`{0}` has a limit or a weight that is not finite")]
    NotFinite(String),
    /// A confidence or a coverage is not one that a table of runs can speak of.
    #[error("the confidence {0} is not between {LEAST_CONFIDENCE} and {MOST_CONFIDENCE}")]
    Confidence(f64),
    /// There is nothing to pick from.
    #[error("there are no configurations to pick from")]
    NoCandidates,
}

/// A configuration with all that is believed of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Picked {
    /// The configuration.
    pub configuration: Configuration,
    /// The objective; larger is better.
    pub objective: f64,
    /// Each predicted response.
    pub predictions: Vec<(String, Prediction)>,
    /// The probability of keeping each limit, in the order of the request.
    pub chances: Vec<f64>,
}

/// The next best configuration that keeps the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerUp {
    /// The configuration.
    pub picked: Picked,
    /// How much of the objective it gives up.
    pub gives_up: f64,
}

/// The limit that holds the objective back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binding {
    /// Which limit, in the order of the request.
    pub constraint: usize,
    /// How much better the objective could be without it.
    pub would_gain: f64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// Whether a configuration keeps the limits, and which.
    pub verdict: Verdict,
    /// How many configurations were considered.
    pub considered: usize,
    /// How many of them keep all limits at the confidence.
    pub feasible: usize,
    /// The configurations among which more of one thing costs another, best
    /// objective first.
    pub front: Vec<Picked>,
}

/// Whether a configuration keeps the limits, and which.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// This one does.
    Met {
        /// The best configuration.
        best: Picked,
        /// The next best, if there is one.
        runner_up: Option<RunnerUp>,
        /// The limit that holds the objective back; `None` if the best
        /// configuration would be best without limits.
        binding: Option<Binding>,
    },
    /// None does.
    Unmet {
        /// The configuration whose least probable limit is most probable.
        nearest: Picked,
        /// Why nothing keeps the limits, in words.
        reason: String,
    },
}

/// Picks among candidates.
///
/// Candidates that are equally good in the objective are told apart by the
/// probability of keeping the least probable limit.
pub fn pick(
    predictors: &[Predictor],
    candidates: &[Configuration],
    request: &PickRequest,
) -> Result<Pick, PickError> {
    check(predictors, candidates, request)?;
    let table = Outlook::new(predictors, candidates, request);
    let all: Vec<usize> = (0..candidates.len()).collect();
    let keeps = |row: usize, without: Option<usize>| {
        let chances = table.chances[row].iter().enumerate();
        chances
            .filter(|(at, _)| Some(*at) != without)
            .all(|(_, &chance)| chance >= request.confidence)
    };
    let feasible: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&row| keeps(row, None))
        .collect();
    let verdict = match table.best(&feasible) {
        Some(best) => {
            let others: Vec<usize> = feasible
                .iter()
                .copied()
                .filter(|&row| row != best)
                .collect();
            let runner_up = table.best(&others).map(|row| RunnerUp {
                gives_up: table.objectives[best] - table.objectives[row],
                picked: table.picked(row),
            });
            let gains = (0..request.constraints.len()).filter_map(|at| {
                let rows: Vec<usize> = all
                    .iter()
                    .copied()
                    .filter(|&row| keeps(row, Some(at)))
                    .collect();
                let free = table.best(&rows)?;
                let would_gain = table.objectives[free] - table.objectives[best];
                (would_gain > 0.0).then_some(Binding {
                    constraint: at,
                    would_gain,
                })
            });
            Verdict::Met {
                binding: gains.max_by(|a, b| a.would_gain.total_cmp(&b.would_gain)),
                best: table.picked(best),
                runner_up,
            }
        }
        None => {
            let nearest = all
                .iter()
                .copied()
                .reduce(|best, row| {
                    if table.is_nearer(row, best) {
                        row
                    } else {
                        best
                    }
                })
                .expect("there is at least one candidate");
            Verdict::Unmet {
                reason: table.why_unmet(nearest),
                nearest: table.picked(nearest),
            }
        }
    };
    Ok(Pick {
        verdict,
        considered: candidates.len(),
        feasible: feasible.len(),
        front: table.front(),
    })
}

/// Everything that is believed of each candidate, in their order.
pub fn judge(
    predictors: &[Predictor],
    candidates: &[Configuration],
    request: &PickRequest,
) -> Result<Vec<Picked>, PickError> {
    check(predictors, candidates, request)?;
    let table = Outlook::new(predictors, candidates, request);
    Ok((0..candidates.len()).map(|row| table.picked(row)).collect())
}

/// Candidates whose beliefs are held at a time.
const BLOCK: usize = 512;

/// Everything believed of every candidate.
struct Outlook<'a> {
    predictors: &'a [Predictor],
    candidates: &'a [Configuration],
    request: &'a PickRequest,
    /// Predicted values by predictor, then by candidate. Beliefs are large, and
    /// are asked for again for the few candidates that are shown.
    values: Vec<Vec<f64>>,
    objectives: Vec<f64>,
    chances: Vec<Vec<f64>>,
}

impl<'a> Outlook<'a> {
    fn new(
        predictors: &'a [Predictor],
        candidates: &'a [Configuration],
        request: &'a PickRequest,
    ) -> Self {
        let place = |response: &str| {
            let found = predictors.iter().position(|p| p.response() == response);
            found.expect("every response of the request is predicted: it was checked")
        };
        let limits: Vec<(usize, Limit)> = request
            .constraints
            .iter()
            .map(|constraint| (place(&constraint.response), constraint.limit))
            .collect();
        let mut values = vec![Vec::with_capacity(candidates.len()); predictors.len()];
        let mut chances = vec![vec![0.0; limits.len()]; candidates.len()];
        for (number, block) in candidates.chunks(BLOCK).enumerate() {
            for (at, predictor) in predictors.iter().enumerate() {
                let beliefs = predictor.beliefs(block);
                for (row, belief) in beliefs.iter().enumerate() {
                    let chances = &mut chances[number * BLOCK + row];
                    for (chance, (_, limit)) in chances
                        .iter_mut()
                        .zip(&limits)
                        .filter(|(_, (of, _))| *of == at)
                    {
                        *chance = match *limit {
                            Limit::AtMost(value) => predictor.at_most(belief, value),
                            Limit::AtLeast(value) => predictor.at_least(belief, value),
                        };
                    }
                }
                values[at].extend(beliefs.iter().map(|belief| belief.value()));
            }
        }
        let weights: Vec<(usize, f64)> = request
            .objective
            .weights()
            .into_iter()
            .map(|(response, weight)| (place(response), weight))
            .collect();
        let objective = |row: usize| {
            let terms = weights.iter().map(|&(at, weight)| weight * values[at][row]);
            terms.sum()
        };
        Self {
            objectives: (0..candidates.len()).map(objective).collect(),
            chances,
            predictors,
            candidates,
            request,
            values,
        }
    }

    fn least_chance(&self, row: usize) -> f64 {
        self.chances[row].iter().copied().fold(1.0, f64::min)
    }

    fn best(&self, rows: &[usize]) -> Option<usize> {
        rows.iter().copied().reduce(|best, row| {
            let by_objective = self.objectives[row].total_cmp(&self.objectives[best]);
            let by_chance = self.least_chance(row).total_cmp(&self.least_chance(best));
            if by_objective.then(by_chance).is_gt() {
                row
            } else {
                best
            }
        })
    }

    /// By the least probable limit, then by how far the prediction is from it.
    fn is_nearer(&self, row: usize, best: usize) -> bool {
        let by_chance = self.least_chance(row).total_cmp(&self.least_chance(best));
        let by_excess = self.excess(best).total_cmp(&self.excess(row));
        let by_objective = self.objectives[row].total_cmp(&self.objectives[best]);
        by_chance.then(by_excess).then(by_objective).is_gt()
    }

    /// How far the worst prediction lies beyond its limit, relative to it.
    fn excess(&self, row: usize) -> f64 {
        let constraints = self.request.constraints.iter();
        constraints
            .map(|constraint| {
                let value = self.value(&constraint.response, row);
                let size = constraint.limit.value().abs().max(f64::MIN_POSITIVE);
                match constraint.limit {
                    Limit::AtMost(limit) => (value - limit) / size,
                    Limit::AtLeast(limit) => (limit - value) / size,
                }
            })
            .fold(0.0, f64::max)
    }

    fn value(&self, response: &str, row: usize) -> f64 {
        let at = self
            .predictors
            .iter()
            .position(|p| p.response() == response);
        self.values[at.expect("the response is predicted")][row]
    }

    fn picked(&self, row: usize) -> Picked {
        let coverage = self.request.coverage;
        Picked {
            configuration: self.candidates[row].clone(),
            objective: self.objectives[row],
            predictions: self
                .predictors
                .iter()
                .map(|predictor| {
                    let name = predictor.response().to_owned();
                    (name, predictor.predict(&self.candidates[row], coverage))
                })
                .collect(),
            chances: self.chances[row].clone(),
        }
    }

    fn why_unmet(&self, nearest: usize) -> String {
        let confidence = self.request.confidence;
        let never: Vec<String> = self
            .request
            .constraints
            .iter()
            .enumerate()
            .filter(|(at, _)| self.chances.iter().all(|chances| chances[*at] < confidence))
            .map(|(_, constraint)| format!("`{constraint}`"))
            .collect();
        if never.is_empty() {
            return format!(
                "each limit can be kept with probability {confidence} by some configuration, \
                 but all of them together by none"
            );
        }
        format!(
            "no configuration keeps {} with probability {confidence}; the nearest does with {:.3}",
            never.join(" or "),
            self.least_chance(nearest)
        )
    }

    /// The objective's responses and the limited ones, each better when larger.
    fn front(&self) -> Vec<Picked> {
        let mut axes: Vec<(&str, f64)> = self
            .request
            .objective
            .weights()
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
            .collect();
        for constraint in &self.request.constraints {
            if axes
                .iter()
                .all(|(response, _)| *response != constraint.response)
            {
                let sign = match constraint.limit {
                    Limit::AtMost(_) => -1.0,
                    Limit::AtLeast(_) => 1.0,
                };
                axes.push((&constraint.response, sign));
            }
        }
        let points: Vec<Vec<f64>> = (0..self.candidates.len())
            .map(|row| {
                let values = axes.iter();
                values
                    .map(|(response, sign)| sign.signum() * self.value(response, row))
                    .collect()
            })
            .collect();
        let rows = front::front(&points);
        rows.into_iter().map(|row| self.picked(row)).collect()
    }
}

fn check(
    predictors: &[Predictor],
    candidates: &[Configuration],
    request: &PickRequest,
) -> Result<(), PickError> {
    if candidates.is_empty() {
        return Err(PickError::NoCandidates);
    }
    for probability in [request.confidence, request.coverage] {
        if !is_confidence(probability) {
            return Err(PickError::Confidence(probability));
        }
    }
    let weights = request.objective.weights();
    let limited = request.constraints.iter();
    let numbers = limited.map(|c| (c.response.as_str(), c.limit.value()));
    for (response, number) in weights.into_iter().chain(numbers) {
        if !predictors.iter().any(|p| p.response() == response) {
            return Err(PickError::NotPredicted(response.to_owned()));
        }
        if !number.is_finite() {
            return Err(PickError::NotFinite(response.to_owned()));
        }
    }
    check_contradictions(&request.constraints)
}

/// No response has a lower limit above an upper one.
fn check_contradictions(constraints: &[Constraint]) -> Result<(), PickError> {
    for lower in constraints {
        let Limit::AtLeast(at_least) = lower.limit else {
            continue;
        };
        for upper in constraints {
            match upper.limit {
                Limit::AtMost(at_most)
                    if upper.response == lower.response && at_least > at_most =>
                {
                    return Err(PickError::Contradictory {
                        response: lower.response.clone(),
                        at_least,
                        at_most,
                    });
                }
                _ => {}
            }
        }
    }
    Ok(())
}
