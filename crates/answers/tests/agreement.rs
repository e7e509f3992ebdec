//! The page and the pick are one answer.

mod made;

use made::{Made, study};
use paceline_advise::pick::Objective;
use paceline_advise::predict::{DemandSource, Kind};
use paceline_answers::pick::{AloneAnswer, PickAnswer, PickQuestion, pick};
use paceline_answers::report::{ReportQuestion, StudyReport, study as report};
use paceline_answers::results::{Results, StudyResults};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

fn picked(dir: &Path, question: &PickQuestion) -> Box<AloneAnswer> {
    let results = Results::open(dir).expect("the results");
    match pick(&results, question).expect("a pick") {
        PickAnswer::Alone(answer) => answer,
        PickAnswer::Beside(_) => panic!("nothing runs beside it"),
    }
}

fn reported(dir: &Path, question: &ReportQuestion) -> StudyReport {
    let results = StudyResults::open(dir).expect("the study");
    report(Arc::new(results), question).expect("a report")
}

/// Asks both and compares everything that both say.
fn check(made: &Made, objective: Option<Objective>, deadline_s: Option<f64>) -> Box<AloneAnswer> {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path(), made);
    let pick = picked(
        dir.path(),
        &PickQuestion {
            objective: objective.clone(),
            deadline_s,
            ..PickQuestion::default()
        },
    );
    let report = reported(
        dir.path(),
        &ReportQuestion {
            objective,
            deadline_s,
            ..ReportQuestion::default()
        },
    );
    let advice = report.advice.as_ref().expect("runs are done");
    let advice = advice.as_ref().expect("something is advised");
    let json = PickAnswer::Alone(picked_again(dir.path(), &pick)).json();
    let verdict = &json["verdict"];
    let configuration = verdict.get("pick").unwrap_or(&verdict["nearest"])["configuration"].clone();
    assert_eq!(report.json()["recommended"], configuration);
    assert_ne!(configuration, Value::Null);
    assert_eq!(advice.request, pick.request);
    assert_eq!(advice.because, pick.because);
    assert_eq!(advice.cautions, pick.cautions);
    assert_eq!(advice.tradeoff, pick.tradeoff);
    assert_eq!(advice.is_met(), pick.is_met());
    let configurations = |answer: &AloneAnswer| {
        let front = answer.pick.front.iter();
        front
            .map(|one| one.configuration.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(configurations(advice), configurations(&pick));
    // What is promised of the pick is the same number for number.
    for (response, prediction) in &pick.best().predictions {
        let same = advice.best().predictions.iter();
        let same = same.clone().find(|(name, _)| name == response);
        assert_eq!(same.map(|(_, found)| found), Some(prediction), "{response}");
    }
    pick
}

/// The same pick, once more: an answer has no hidden state.
fn picked_again(dir: &Path, pick: &AloneAnswer) -> Box<AloneAnswer> {
    let deadline = pick.request.constraints.first();
    picked(
        dir,
        &PickQuestion {
            objective: Some(pick.request.objective.clone()),
            deadline_s: deadline.map(|limit| limit.limit.value()),
            ..PickQuestion::default()
        },
    )
}

#[test]
fn the_page_recommends_what_the_pick_names() {
    check(&Made::default(), None, None);
    check(&Made::default(), None, Some(20.0));
    check(
        &Made::default(),
        Some(Objective::Minimise("time".to_owned())),
        None,
    );
}

#[test]
fn they_agree_on_a_deadline_that_nothing_meets() {
    let pick = check(&Made::default(), None, Some(0.001));
    assert!(!pick.is_met());
}

#[test]
fn both_take_what_a_step_needs_from_the_samples() {
    // Times that follow the law of queues, with samples that say what was used: a
    // page without the samples fits the law to the times alone, and so otherwise.
    let made = Made {
        queued: true,
        ..Made::default()
    };
    let pick = check(&made, Some(Objective::Minimise("time".to_owned())), None);
    let time = pick
        .setup
        .predictors
        .iter()
        .find(|p| p.response() == "time");
    let time = time.expect("the time is predicted");
    if time.kind() == Kind::Queue {
        assert_eq!(time.demand_source(), Some(DemandSource::Samples));
    }
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path(), &made);
    let report = reported(dir.path(), &ReportQuestion::default());
    let advice = report.advice.expect("runs are done").expect("advice");
    let mut on_page = advice.setup.predictors.iter();
    let on_page = on_page.find(|p| p.response() == "time").expect("a time");
    assert_eq!(on_page.kind(), time.kind());
    // The page compares all predictors, the law of queues by what the samples say.
    assert_eq!(on_page.demand_source(), Some(DemandSource::Samples));
    for at in &pick.setup.choices {
        assert_eq!(on_page.predict(at, 0.9), time.predict(at, 0.9), "{at:?}");
    }
}

#[test]
fn what_is_drawn_is_what_the_score_is_made_of() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path(), &Made::default());
    let report = reported(dir.path(), &ReportQuestion::default());
    let forecast = report.forecasts[0].as_ref().expect("a forecast");
    let count = forecast.points().len() as f64;
    let squares = forecast
        .points()
        .iter()
        .map(|(actual, predicted)| (actual - predicted).powi(2));
    let mse = squares.sum::<f64>() / count;
    let score = forecast.score().expect("a score");
    assert!(
        (mse - score.mse).abs() <= 1e-9 * mse.max(1e-12),
        "{mse} {}",
        score.mse
    );
}
