//! How well unseen trials are predicted, and how honestly.

use crate::cluster::{Noise, Setting, full_factorial, table};
use paceline_advise::predict::{
    Choice, IntervalMethod, Kind, OutsideHow, PredictOptions, Predictor,
};
use paceline_advise::runs::Runs;
use paceline_learn::{Metric, Threads, grouped_k_fold};
use std::sync::OnceLock;

fn options(choice: Choice) -> PredictOptions {
    PredictOptions {
        choice,
        threads: Threads::new(2),
        ..PredictOptions::default()
    }
}

/// Four fifths of the trials to learn from and one fifth, all replicates
/// included, to judge by.
fn split() -> (Runs, Runs) {
    let runs = table(&full_factorial(), 3, 11);
    let folds = grouped_k_fold(runs.trials(), 5, 3).expect("there are 96 trials");
    (runs.select(folds[0].train()), runs.select(folds[0].test()))
}

/// Fitted once for all tests.
fn auto() -> &'static Predictor {
    static AUTO: OnceLock<Predictor> = OnceLock::new();
    AUTO.get_or_init(|| {
        Predictor::fit(&split().0, "time", &options(Choice::Auto))
            .expect("the table is large enough")
    })
}

#[test]
fn auto_explains_nearly_all_of_the_time_of_trials_it_has_not_seen() {
    let (_, held_out) = split();
    let beliefs = auto().beliefs(held_out.settings());
    let predicted: Vec<f64> = beliefs.iter().map(|belief| belief.value()).collect();
    let truth = held_out.response("time").unwrap();
    let r2 = Metric::R2.of(truth, &predicted).unwrap();
    println!("held-out R² {r2:.4}; {:#?}", auto().comparison());
    assert!(r2 >= 0.98, "{r2}");
    // The comparison promised about what the held-out trials show.
    let promised = auto().comparison().auto.unwrap().r2;
    assert!((promised - r2).abs() < 0.02, "{promised} against {r2}");
}

#[test]
fn every_predictor_is_compared_and_the_best_is_chosen_with_a_reason() {
    let comparison = auto().comparison();
    let kinds: Vec<Kind> = comparison.compared.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, Kind::ALL);
    let errors = comparison
        .compared
        .iter()
        .filter_map(|line| Some((line.outcome.as_ref().ok()?.mse, line.kind)));
    let least = errors.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert_eq!(comparison.chosen, least.1);
    assert!(
        comparison.reason.starts_with(comparison.chosen.name()),
        "{}",
        comparison.reason
    );
    let queue = comparison
        .compared
        .iter()
        .find(|line| line.kind == Kind::Queue);
    // The law of the paper's structure beats the linear model, as in the paper.
    let linear = &comparison.compared[0];
    let r2 = |line: &paceline_advise::predict::Compared| line.outcome.as_ref().unwrap().r2;
    assert!(r2(queue.unwrap()) > r2(linear));
}

#[test]
fn intervals_cover_fresh_runs_as_often_as_they_say() {
    let mut noise = Noise::new(5);
    let (mut inside, mut all) = (0, 0);
    for setting in full_factorial() {
        let prediction = auto().predict(&setting.configuration(), 0.9);
        for _ in 0..10 {
            let time = setting.noisy_time(&mut noise);
            inside += u32::from((prediction.low..=prediction.high).contains(&time));
            all += 1;
        }
    }
    let share = f64::from(inside) / f64::from(all);
    println!("coverage {share:.4} at 0.9");
    assert!((0.88..=0.97).contains(&share), "{share}");
    assert_eq!(auto().method(0.9), IntervalMethod::Conformal);
}

#[test]
fn extrapolation_is_flagged_and_widened() {
    let at = |batch: f64| Setting {
        cpus: 2.0,
        batch,
        jobs: 3.0,
        topology: 0,
    };
    let relative = |batch: f64| {
        let prediction = auto().predict(&at(batch).configuration(), 0.95);
        ((prediction.high / prediction.low).ln(), prediction.outside)
    };
    let (inside, none) = relative(256.0);
    let (outside, flagged) = relative(4096.0);
    assert!(none.is_empty());
    assert_eq!(flagged.len(), 1);
    assert_eq!(flagged[0].factor, "batch_size");
    // 64 to 512 is three doublings, and 4,096 three more.
    assert!(matches!(flagged[0].how, OutsideHow::Beyond(by) if (by - 1.0).abs() < 1e-12));
    if !auto().is_locally_scaled() {
        assert!(
            (outside / inside - 3.0).abs() < 1e-9,
            "{outside} against {inside}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_predictor_whatever_the_threads() {
    let runs = table(&full_factorial()[..40], 2, 4);
    let fit = |threads| {
        let options = PredictOptions {
            choice: Choice::Only(Kind::Forest),
            threads: Threads::new(threads),
            ..PredictOptions::default()
        };
        let predictor = Predictor::fit(&runs, "time", &options).unwrap();
        predictor.predict(&runs.settings()[7], 0.9)
    };
    assert_eq!(fit(1), fit(3));
}

#[test]
fn what_cannot_be_fitted_says_what_is_missing() {
    let check = |runs: &Runs, response: &str, choice: Choice, text: &str| {
        let error = Predictor::fit(runs, response, &options(choice)).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    let few = table(&full_factorial()[..4], 3, 1);
    check(
        &few,
        "time",
        Choice::Auto,
        "4 trials are too few to judge a prediction; it needs at least 5",
    );
    check(
        &few,
        "cost",
        Choice::Auto,
        "there is no response `cost`; the responses are time, accuracy",
    );
    let eight = table(&full_factorial()[..8], 3, 1);
    check(
        &eight,
        "time",
        Choice::Only(Kind::Scaling),
        "scaling: 1 different numbers of machines are too few; it needs at least 3",
    );
    let error = Predictor::fit(&eight, "time", &options(Choice::Only(Kind::Queue))).unwrap_err();
    assert!(
        error.to_string().contains("distinct settings are too few"),
        "{error}"
    );
}

#[test]
fn absurd_configurations_are_flagged_and_harm_nothing() {
    let runs = table(&full_factorial(), 1, 6);
    for kind in Kind::ALL {
        let predictor = Predictor::fit(&runs, "time", &options(Choice::Only(kind))).unwrap();
        for huge in [1e300, -1e300, 0.0] {
            let prediction = predictor.predict(&[huge, huge, huge, 0.0], 0.9);
            assert!(!prediction.value.is_nan(), "{kind} at {huge}");
            assert_eq!(prediction.outside.len(), 3, "{kind} at {huge}");
        }
    }
}
