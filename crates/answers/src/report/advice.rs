//! Which configuration a report recommends.

use super::ReportQuestion;
use super::learned::Learned;
use crate::pick::WeakPredictor;
use crate::runs_table::written;
use paceline_advise::pick::{
    Constraint, Objective, Pick, PickRequest, Picked, Space, Verdict, candidates, pick,
};
use paceline_advise::predict::Predictor;
use paceline_advise::runs::{Configuration, Runs};

/// A pick with what was asked and why.
pub struct Chosen {
    /// The answer.
    pub pick: Pick,
    /// The question.
    pub request: PickRequest,
    /// Why this is called best, in words.
    pub because: String,
    /// The trade-off between two responses.
    pub tradeoff: Option<Tradeoff>,
    /// What makes the advice less certain.
    pub cautions: Vec<WeakPredictor>,
}

impl Chosen {
    /// The configuration that is advised, or the nearest.
    #[must_use]
    pub fn best(&self) -> &Picked {
        match &self.pick.verdict {
            Verdict::Met { best, .. } => best,
            Verdict::Unmet { nearest, .. } => nearest,
        }
    }

    /// Whether it keeps every limit.
    #[must_use]
    pub fn is_met(&self) -> bool {
        matches!(self.pick.verdict, Verdict::Met { .. })
    }
}

/// Chooses, or says why nothing can be chosen.
pub(super) fn choose(
    runs: &Runs,
    learned: &[Learned],
    question: &ReportQuestion,
) -> Result<Chosen, String> {
    let predictors: Vec<Predictor> = learned
        .iter()
        .filter_map(|one| one.predictor.as_ref().ok().cloned())
        .collect();
    if predictors.is_empty() {
        let why = learned.iter().find_map(|one| one.predictor.as_ref().err());
        return Err(
            why.map_or("there is no response to predict".to_owned(), |why| {
                format!("nothing can be predicted, because {why}")
            }),
        );
    }
    let names: Vec<&str> = predictors.iter().map(Predictor::response).collect();
    let time = match &question.time {
        Some(name) => Some(name.as_str()),
        None => time_of(&names),
    };
    let mut constraints = Vec::new();
    if let Some(slo) = question.slo {
        let Some(time) = time else {
            return Err(format!(
                "no response is a time, so that the deadline limits nothing; name it with --time, \
                 one of {}",
                names.join(", ")
            ));
        };
        constraints.push(Constraint::at_most(time, slo.as_secs_f64()));
    }
    let (objective, because) = objective(&names, time, question)?;
    let request = PickRequest {
        objective,
        constraints,
        confidence: question.confidence,
        coverage: question.confidence,
    };
    let space = candidates(runs, &[], Space::Observed).map_err(|error| error.to_string())?;
    let pick = pick(&predictors, &space, &request).map_err(|error| error.to_string())?;
    let tradeoff = tradeoff(runs, &predictors, &space, &request, time, &pick);
    let cautions = WeakPredictor::among(&predictors);
    Ok(Chosen {
        pick,
        request,
        because,
        tradeoff,
        cautions,
    })
}

/// Names of responses of which more is better.
const MORE: [&str; 8] = [
    "accuracy",
    "acc",
    "auc",
    "f1",
    "precision",
    "recall",
    "score",
    "throughput",
];
/// Names of responses of which less is better, times apart.
const LESS: [&str; 4] = ["loss", "error", "energy", "memory"];
/// Names of times.
const TIMES: [&str; 3] = ["time", "duration", "latency"];

fn is_one_of(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| words.contains(&part))
}

fn time_of<'a>(names: &[&'a str]) -> Option<&'a str> {
    let exact = names.iter().find(|name| **name == "time");
    exact
        .or_else(|| names.iter().find(|name| is_one_of(name, &TIMES)))
        .copied()
}

/// What is called best, and why.
fn objective(
    names: &[&str],
    time: Option<&str>,
    question: &ReportQuestion,
) -> Result<(Objective, String), String> {
    if let Some(objective) = &question.objective {
        let missing = objective.weights().into_iter().map(|(name, _)| name);
        if let Some(name) = missing.into_iter().find(|name| !names.contains(name)) {
            return Err(format!(
                "`{name}` is not predicted; there are {}",
                names.join(", ")
            ));
        }
        return Ok((objective.clone(), "as was asked".to_owned()));
    }
    let named = |words: &[&str]| names.iter().find(|name| is_one_of(name, words));
    let most = |name: &str| Objective::Maximise(name.to_owned());
    let least = |name: &str| Objective::Minimise(name.to_owned());
    // Under a deadline the time is spent on results; without one, a cost that
    // the study itself defines weighs them.
    if let (None, Some(cost)) = (question.slo, named(&["cost"])) {
        let because = format!("the study weighs its responses by `{cost}`");
        return Ok((least(cost), because));
    }
    if let Some(name) = named(&MORE) {
        let because = format!("more of `{name}` is better, and nothing else was asked");
        return Ok((most(name), because));
    }
    if let Some(name) = named(&["cost"]).or(named(&LESS)).copied().or(time) {
        let because = format!("less of `{name}` is better, and nothing else was asked");
        return Ok((least(name), because));
    }
    Err(format!(
        "whether more or less of {} is better is not known; say so with --maximize or --minimize",
        names.join(" or ")
    ))
}

/// What more of the result costs in time, if the study has both.
fn tradeoff(
    runs: &Runs,
    predictors: &[Predictor],
    space: &[Configuration],
    request: &PickRequest,
    time: Option<&str>,
    pick: &Pick,
) -> Option<Tradeoff> {
    let time = time?;
    let names = || predictors.iter().map(Predictor::response);
    let (y, sign) = match &request.objective {
        Objective::Maximise(name) if name != time => (name.as_str(), 1.0),
        Objective::Minimise(name) if name != time && !is_one_of(name, &["cost"]) => {
            (name.as_str(), -1.0)
        }
        _ => (
            names().find(|name| *name != time && is_one_of(name, &MORE))?,
            1.0,
        ),
    };
    let values = |response: &str| -> Option<Vec<f64>> {
        let predictor = predictors.iter().find(|p| p.response() == response)?;
        Some(predictor.beliefs(space).iter().map(|b| b.value()).collect())
    };
    let (xs, ys) = (values(time)?, values(y)?);
    let mut order: Vec<usize> = (0..space.len()).collect();
    order.sort_by(|&a, &b| {
        xs[a]
            .total_cmp(&xs[b])
            .then((sign * ys[b]).total_cmp(&(sign * ys[a])))
    });
    let mut best = f64::NEG_INFINITY;
    // From the quickest on, whatever is better than all quicker ones.
    let front: Vec<usize> = order
        .into_iter()
        .filter(|&i| {
            let better = sign * ys[i] > best;
            best = best.max(sign * ys[i]);
            better
        })
        .collect();
    let advised = match &pick.verdict {
        Verdict::Met { best, .. } => &best.configuration,
        Verdict::Unmet { nearest, .. } => &nearest.configuration,
    };
    let name = |configuration: &Configuration| written(&runs.factors().settings(configuration));
    let all = space.iter().zip(xs.iter().zip(&ys));
    Some(Tradeoff {
        x: time.to_owned(),
        y: y.to_owned(),
        all: all.map(|(c, (x, y))| (name(c), *x, *y)).collect(),
        front,
        advised: space.iter().position(|c| c == advised),
    })
}

/// Predicted values of two responses for every configuration.
#[derive(Debug, Clone)]
pub struct Tradeoff {
    /// The response along the horizontal axis.
    pub x: String,
    /// The response along the vertical axis.
    pub y: String,
    /// Every configuration with its two values.
    pub all: Vec<(String, f64, f64)>,
    /// Those that no other beats in both, from left to right.
    pub front: Vec<usize>,
    /// The one that is advised.
    pub advised: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], slo: Option<u64>, expected: Result<&str, &str>) {
        let question = ReportQuestion {
            slo: slo.map(std::time::Duration::from_secs),
            ..ReportQuestion::default()
        };
        let found = objective(names, time_of(names), &question);
        match (found, expected) {
            (Ok((objective, _)), Ok(text)) => assert_eq!(objective.to_string(), text),
            (Err(why), Err(text)) => assert!(why.contains(text), "{why}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn what_is_best_follows_from_the_responses() {
        check(&["time", "accuracy", "cost"], None, Ok("the least cost"));
        check(
            &["time", "accuracy", "cost"],
            Some(9),
            Ok("the most accuracy"),
        );
        check(
            &["time", "test_accuracy"],
            None,
            Ok("the most test_accuracy"),
        );
        check(&["duration_s"], None, Ok("the least duration_s"));
        check(&["accelerations"], None, Err("--maximize"));
    }
}
