//! How well unseen trials are predicted, and how honestly.

use crate::cluster::{full_factorial, table};
use paceline_advise::predict::{Choice, Kind, PredictOptions, Predictor, PredictorError};
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
    let folds = grouped_k_fold(runs.trials(), 5, 3).unwrap();
    (runs.select(folds[0].train()), runs.select(folds[0].test()))
}

fn auto() -> &'static Predictor {
    static AUTO: OnceLock<Predictor> = OnceLock::new();
    AUTO.get_or_init(|| Predictor::fit(&split().0, "time", &options(Choice::Auto)).unwrap())
}

#[test]
fn auto_explains_nearly_all_of_the_time_of_trials_it_has_not_seen() {
    let (_, held_out) = split();
    let predictor = auto();
    let beliefs = predictor.beliefs(held_out.settings());
    let predicted: Vec<f64> = beliefs.iter().map(|belief| belief.value()).collect();
    let truth = held_out.response("time").unwrap();
    let r2 = Metric::R2.of(truth, &predicted).unwrap();
    println!("{:#?}\nheld out R2 {r2}", predictor.comparison());
    assert!(r2 >= 0.98, "{r2}");
    // The comparison promised no more than the held-out trials show.
    let promised = predictor.comparison().auto.unwrap().r2;
    assert!((promised - r2).abs() < 0.02, "{promised} against {r2}");
}
