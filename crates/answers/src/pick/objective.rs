//! What is called best, and which response is a time, where nobody says so.

use super::{PickError, PickQuestion};
use crate::results::Results;
use paceline_advise::pick::Objective;

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
/// The name of what weighs several responses.
const COST: &str = "cost";
/// The column of a plain table that is taken for the duration of a run.
const TIME: &str = "time";

/// Whether a word of the name, taken apart at its separators, is one of these.
fn is_one_of(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| words.contains(&part))
}

/// What the time is weighed against, and whether more (1) or less (-1) of it is
/// better: the objective, or, if that is the time itself or weighs several, the first
/// of these responses of which more is better.
pub(super) fn result(names: &[String], objective: &Objective, time: &str) -> Option<(String, f64)> {
    match objective {
        Objective::Maximise(name) if name != time => Some((name.clone(), 1.0)),
        Objective::Minimise(name) if name != time && !is_one_of(name, &[COST]) => {
            Some((name.clone(), -1.0))
        }
        _ => {
            let more = |name: &&String| *name != time && is_one_of(name, &MORE);
            Some((names.iter().find(more)?.clone(), 1.0))
        }
    }
}

/// The response that is the duration of a run: as said, or by its name.
pub(super) fn time(results: &Results, question: &PickQuestion) -> Option<String> {
    let said = question.time.clone();
    said.or_else(|| match results.study() {
        Some(_) => time_among(results.responses()).map(ToOwned::to_owned),
        None => Some(TIME.to_owned()),
    })
}

fn time_among(names: &[String]) -> Option<&str> {
    let exact = names.iter().find(|name| *name == TIME);
    let named = exact.or_else(|| names.iter().find(|name| is_one_of(name, &TIMES)));
    named.map(String::as_str)
}

/// What is called best, and why: as said, or by the names of a study's responses.
pub(super) fn objective(
    names: &[String],
    time: Option<&str>,
    question: &PickQuestion,
) -> Result<(Objective, String), PickError> {
    if let Some(objective) = &question.objective {
        return Ok((objective.clone(), "as was asked".to_owned()));
    }
    if names.is_empty() {
        return Err(PickError::NoObjective);
    }
    let named = |words: &[&str]| names.iter().find(|name| is_one_of(name, words));
    let most = |name: &str| Objective::Maximise(name.to_owned());
    let least = |name: &str| Objective::Minimise(name.to_owned());
    // Under a deadline the time is spent on results; without one, a cost that
    // the study itself defines weighs them.
    if let (None, Some(cost)) = (question.deadline_s, named(&[COST])) {
        let because = format!("the study weighs its responses by `{cost}`");
        return Ok((least(cost), because));
    }
    if let Some(name) = named(&MORE) {
        let because = format!("more of `{name}` is better, and nothing else was asked");
        return Ok((most(name), because));
    }
    let less = named(&[COST]).or(named(&LESS)).map(String::as_str);
    if let Some(name) = less.or(time) {
        let because = format!("less of `{name}` is better, and nothing else was asked");
        return Ok((least(name), because));
    }
    Err(PickError::Direction {
        responses: names.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], deadline_s: Option<f64>, expected: Result<&str, &str>) {
        let question = PickQuestion {
            deadline_s,
            ..PickQuestion::default()
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = objective(&names, time_among(&names), &question);
        match (found, expected) {
            (Ok((objective, _)), Ok(text)) => assert_eq!(objective.to_string(), text),
            (Err(why), Err(text)) => assert!(why.to_string().contains(text), "{why}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn what_is_best_follows_from_the_responses() {
        check(&["time", "accuracy", "cost"], None, Ok("the least cost"));
        check(
            &["time", "accuracy", "cost"],
            Some(9.0),
            Ok("the most accuracy"),
        );
        check(
            &["time", "test_accuracy"],
            None,
            Ok("the most test_accuracy"),
        );
        check(&["duration_s"], None, Ok("the least duration_s"));
        check(&["accelerations"], None, Err("more or less"));
        check(&[], None, Err("nothing is said to be best"));
    }
}
