//! Which configuration a report recommends.

use super::learned::Learned;
use super::{Options, Wish};
use paceline_advise::pick::{
    Constraint, Objective, Pick, PickRequest, Picked, Space, Verdict, candidates, pick,
};
use paceline_advise::predict::Predictor;
use paceline_advise::runs::{Configuration, Runs};
use paceline_report::dossier::Tradeoff;
use paceline_report::number::percent;

/// Below this share of the variation, a predictor's choice is close to a guess.
const LITTLE_EXPLAINED: f64 = 0.5;

/// A pick with what was asked and why.
pub(super) struct Chosen {
    pub(super) pick: Pick,
    pub(super) request: PickRequest,
    pub(super) because: String,
    pub(super) tradeoff: Option<Tradeoff>,
    pub(super) cautions: Vec<String>,
}

impl Chosen {
    /// The configuration that is advised, or the nearest.
    pub(super) fn best(&self) -> &Picked {
        match &self.pick.verdict {
            Verdict::Met { best, .. } => best,
            Verdict::Unmet { nearest, .. } => nearest,
        }
    }

    pub(super) fn is_met(&self) -> bool {
        matches!(self.pick.verdict, Verdict::Met { .. })
    }
}

/// Chooses, or says why nothing can be chosen.
pub(super) fn choose(
    runs: &Runs,
    learned: &[Learned],
    options: &Options,
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
    let time = match &options.time {
        Some(name) => Some(name.as_str()),
        None => time_of(&names),
    };
    let mut constraints = Vec::new();
    if let Some(slo) = options.slo {
        let Some(time) = time else {
            return Err(format!(
                "no response is a time, so that the deadline limits nothing; name it with --time, \
                 one of {}",
                names.join(", ")
            ));
        };
        constraints.push(Constraint::at_most(time, slo.as_secs_f64()));
    }
    let (objective, because) = objective(&names, time, options)?;
    let request = PickRequest {
        objective,
        constraints,
        confidence: options.confidence,
        coverage: options.confidence,
    };
    let space = candidates(runs, &[], Space::Observed).map_err(|error| error.to_string())?;
    let pick = pick(&predictors, &space, &request).map_err(|error| error.to_string())?;
    let tradeoff = tradeoff(runs, &predictors, &space, &request, time, &pick);
    let cautions = predictors.iter().filter_map(caution).collect();
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
    options: &Options,
) -> Result<(Objective, String), String> {
    if let Some(wish) = &options.objective {
        let (Wish::Most(name) | Wish::Least(name)) = wish;
        if !names.contains(&name.as_str()) {
            return Err(format!(
                "`{name}` is not predicted; there are {}",
                names.join(", ")
            ));
        }
        let because = "as was asked".to_owned();
        return Ok(match wish {
            Wish::Most(name) => (Objective::Maximise(name.clone()), because),
            Wish::Least(name) => (Objective::Minimise(name.clone()), because),
        });
    }
    let named = |words: &[&str]| names.iter().find(|name| is_one_of(name, words));
    let most = |name: &str| Objective::Maximise(name.to_owned());
    let least = |name: &str| Objective::Minimise(name.to_owned());
    // Under a deadline the time is spent on results; without one, a cost that
    // the study itself defines weighs them.
    if let (None, Some(cost)) = (options.slo, named(&["cost"])) {
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
    let written = |configuration: &Configuration| {
        let settings = runs.factors().settings(configuration);
        crate::commands::runs_table::written(&settings)
    };
    let all = space.iter().zip(xs.iter().zip(&ys));
    Some(Tradeoff {
        x: time.to_owned(),
        y: y.to_owned(),
        all: all.map(|(c, (x, y))| (written(c), *x, *y)).collect(),
        front,
        advised: space.iter().position(|c| c == advised),
    })
}

/// A promise rests on its predictor: one that hardly predicts trials it has not
/// seen must say so.
fn caution(predictor: &Predictor) -> Option<String> {
    let comparison = predictor.comparison();
    let mut lines = comparison.compared.iter();
    let chosen = lines.find(|line| line.kind == comparison.chosen);
    let score = chosen.and_then(|line| line.outcome.as_ref().ok());
    let score = comparison.auto.as_ref().or(score)?;
    (score.r2 < LITTLE_EXPLAINED).then(|| {
        format!(
            "For configurations it has not seen, the predictor of `{}` explains {} of what differs \
             between runs. Interval and probability account for that; which configuration is best \
             is much less certain. Replicate the pick before relying on it.",
            predictor.response(),
            percent(score.r2.max(0.0))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], slo: Option<u64>, expected: Result<&str, &str>) {
        let options = Options {
            slo: slo.map(std::time::Duration::from_secs),
            ..Options::default()
        };
        let found = objective(names, time_of(names), &options);
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
