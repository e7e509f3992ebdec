//! How well unseen trials are predicted, and how honestly.

use crate::cluster::{Noise, Setting, full_factorial, table};
use paceline_advise::predict::{
    Choice, Interval, IntervalMethod, Kind, NotKnown, OutsideHow, PredictOptions, Predictor,
    PredictorError, hold_out, importances,
};
use paceline_advise::runs::{FactorColumn, FactorKind, Runs};
use paceline_learn::{Metric, Threads, grouped_k_fold};
use paceline_model::Level;
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
    println!("held-out R² {r2:.4}; {:#?}", auto().comparison().compared);
    assert!(r2 >= 0.98, "{r2}");
    // The comparison promised about what the held-out trials show.
    let promised = auto().comparison().score().unwrap().r2;
    assert!((promised - r2).abs() < 0.02, "{promised} against {r2}");
}

#[test]
fn every_predictor_is_compared_and_comparing_changes_no_prediction() {
    let runs = table(&full_factorial(), 1, 11);
    let compared = PredictOptions {
        compare: true,
        ..options(Choice::Auto)
    };
    let compared = Predictor::fit(&runs, "time", &compared).unwrap();
    let comparison = compared.comparison();
    let kinds: Vec<Kind> = comparison.compared.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, Kind::ALL);
    assert_eq!(comparison.chosen, Kind::Gp);
    assert_eq!(comparison.points.len(), runs.rows());
    assert!(comparison.reason.starts_with("gp"), "{}", comparison.reason);
    let r2 = |kind: Kind| {
        let line = comparison.compared.iter().find(|line| line.kind == kind);
        line.unwrap().outcome.as_ref().unwrap().r2
    };
    println!("{:?}", Kind::ALL.map(|kind| (kind, r2(kind))));
    // The law of the paper's structure beats the linear model, as in the paper.
    assert!(r2(Kind::Queue) > r2(Kind::Linear));
    assert!(r2(Kind::Gp) > 0.97, "{}", r2(Kind::Gp));
    let alone = Predictor::fit(&runs, "time", &options(Choice::Auto)).unwrap();
    let at = &runs.settings()[7];
    assert_eq!(alone.predict(at, 0.9), compared.predict(at, 0.9));
}

#[test]
fn the_order_of_the_rows_changes_nothing() {
    let runs = table(&full_factorial()[..20], 2, 3);
    let order: Vec<usize> = (0..40).map(|row| row * 7 % 40).collect();
    let shuffled = shuffled(&runs, &order);
    for kind in Kind::ALL {
        let of = |runs: &Runs| {
            let fitted = Predictor::fit(runs, "time", &options(Choice::Only(kind))).ok()?;
            let at = runs.factors().configuration(&settings()).unwrap();
            Some((fitted.predict(&at, 0.9), fitted.comparison().clone()))
        };
        assert_eq!(of(&runs), of(&shuffled), "{kind}");
    }
    let suggested = |runs: &Runs| importances(runs, "time", Kind::Gp, &options(Choice::Auto));
    assert_eq!(suggested(&runs), suggested(&shuffled));
    let aside = |runs: &Runs| hold_out(runs, "time", &options(Choice::Only(Kind::Gp)), 0.2);
    assert_eq!(aside(&runs), aside(&shuffled));
}

/// A configuration between those of the table.
fn settings() -> Vec<(String, Level)> {
    let set = |name: &str, level: Level| (name.to_owned(), level);
    vec![
        set("cpus", Level::Integer(1)),
        set("batch_size", Level::Integer(200)),
        set("concurrency", Level::Integer(2)),
        set("topology", Level::Word("deep".to_owned())),
    ]
}

/// The same runs in another order, read anew, so that words may come in another
/// order too.
fn shuffled(runs: &Runs, order: &[usize]) -> Runs {
    let factors = runs.factors().iter().enumerate().map(|(at, factor)| {
        let values = order.iter().map(|&row| runs.settings()[row][at]);
        let column = match factor.kind() {
            FactorKind::Numeric { .. } => FactorColumn::Numeric(values.collect()),
            FactorKind::Categorical { levels } => {
                FactorColumn::Words(values.map(|code| levels[code as usize].clone()).collect())
            }
        };
        (factor.name().to_owned(), column)
    });
    let times = runs.response("time").expect("the table has times");
    let times = order.iter().map(|&row| times[row]).collect();
    let runs = Runs::new(factors.collect(), vec![("time".to_owned(), times)], None);
    runs.expect("the columns fit")
}

#[test]
fn intervals_cover_fresh_runs_as_often_as_they_say() {
    let mut noise = Noise::new(5);
    let (mut inside, mut all) = (0, 0);
    for setting in full_factorial() {
        let prediction = auto().predict(&setting.configuration(), 0.9);
        for _ in 0..10 {
            let time = setting.noisy_time(&mut noise);
            let (low, high) = prediction.interval.ends().unwrap();
            inside += u32::from((low..=high).contains(&time));
            all += 1;
        }
    }
    let share = f64::from(inside) / f64::from(all);
    println!("coverage {share:.4} at 0.9");
    assert!((0.88..=0.97).contains(&share), "{share}");
    assert_eq!(auto().method(0.9), IntervalMethod::Posterior);
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
        let (low, high) = prediction.interval.ends().unwrap();
        ((high / low).ln(), prediction.outside)
    };
    let (inside, none) = relative(256.0);
    let (outside, flagged) = relative(2048.0);
    assert!(none.is_empty());
    assert_eq!(flagged.len(), 1);
    assert_eq!(flagged[0].factor, "batch_size");
    // 64 to 512 is three doublings, and 2,048 two more.
    assert!(matches!(flagged[0].how, OutsideHow::Beyond(by) if (by - 2.0 / 3.0).abs() < 1e-12));
    assert!(outside > 3.0 * inside, "{outside} against {inside}");
}

#[test]
fn far_outside_nothing_is_promised_and_no_number_is_absurd() {
    let far = Setting {
        cpus: 2.0,
        batch: 1e9,
        jobs: 3.0,
        topology: 0,
    };
    let found = auto().predict(&far.configuration(), 0.95);
    assert_eq!(found.interval, Interval::NotKnown(NotKnown::FarOutside));
    assert_eq!(NotKnown::TooFewRuns.to_string(), "not known, too few runs");
}

/// Six runs of one cell at 207 s ± 15 s among cells of which some scatter more.
#[test]
fn a_cell_that_was_measured_six_times_is_believed() {
    let mut noise = Noise::new(9);
    let mut rows: Vec<(f64, f64, f64)> = Vec::new();
    for workers in [1.0, 2.0, 4.0, 8.0] {
        for batch in [64.0, 128.0, 256.0] {
            let mean = 60.0 + 1200.0 / workers * (1.0 + 20.0 / batch);
            let scatter = if workers >= 4.0 { 0.18 } else { 0.07 };
            for _ in 0..2 {
                rows.push((workers, batch, mean * (scatter * noise.normal()).exp()));
            }
        }
    }
    for z in [-1.3, -0.8, -0.2, 0.3, 0.8, 1.2] {
        rows.push((8.0, 512.0, 207.0 + 15.0 * z));
    }
    let column = |value: fn(&(f64, f64, f64)) -> f64| rows.iter().map(value).collect();
    let runs = Runs::new(
        vec![
            ("workers".to_owned(), FactorColumn::Numeric(column(|r| r.0))),
            ("batch".to_owned(), FactorColumn::Numeric(column(|r| r.1))),
        ],
        vec![("time".to_owned(), column(|r| r.2))],
        None,
    )
    .unwrap();
    let fitted = Predictor::fit(&runs, "time", &options(Choice::Auto)).unwrap();
    let belief = &fitted.beliefs(&[[8.0, 512.0]])[0];
    let (low, high) = fitted.interval(belief, 0.95).interval.ends().unwrap();
    println!("{low} to {high}, {}", fitted.at_most(belief, 265.0));
    assert!(low > 150.0 && high < 280.0, "{low} to {high}");
    assert!(fitted.at_most(belief, 265.0) >= 0.95);
}

#[test]
fn shares_stay_within_zero_and_one() {
    let rows: Vec<f64> = (0..24).map(f64::from).collect();
    let accuracy = rows
        .iter()
        .map(|x| 1.0 - 0.02 / (1.0 + x) - 0.004 * (x % 3.0));
    let runs = Runs::new(
        vec![("x".to_owned(), FactorColumn::Numeric(rows.clone()))],
        vec![("accuracy".to_owned(), accuracy.collect())],
        None,
    )
    .unwrap();
    for kind in [Kind::Gp, Kind::Linear] {
        let fitted = Predictor::fit(&runs, "accuracy", &options(Choice::Only(kind))).unwrap();
        for x in [0.0, 12.5, 23.0, 30.0] {
            let belief = &fitted.beliefs(&[[x]])[0];
            let found = fitted.interval(belief, 0.99);
            if let Some((low, high)) = found.interval.ends() {
                assert!(low >= 0.0 && high <= 1.0, "{kind} at {x}: {low} to {high}");
            }
            assert_eq!(fitted.at_most(belief, 1.0), 1.0);
            assert_eq!(fitted.at_least(belief, 0.0), 1.0);
        }
    }
}

#[test]
fn many_settings_and_epochs_of_one_run_are_left_to_other_predictors() {
    let mut noise = Noise::new(4);
    let xs: Vec<f64> = (0..500).map(|_| noise.unit()).collect();
    let y: Vec<f64> = xs.iter().map(|x| 3.0 + x + 0.1 * noise.normal()).collect();
    let runs = |trials: Option<Vec<usize>>, count: usize| {
        Runs::new(
            vec![("x".to_owned(), FactorColumn::Numeric(xs[..count].to_vec()))],
            vec![("y".to_owned(), y[..count].to_vec())],
            trials,
        )
        .unwrap()
    };
    let many = Predictor::fit(&runs(None, 500), "y", &options(Choice::Auto)).unwrap();
    assert_ne!(many.kind(), Kind::Gp);
    assert_eq!(many.method(0.95), IntervalMethod::Conformal);
    let together = runs(Some((0..60).map(|row| row / 6).collect()), 60);
    let together = Predictor::fit(&together, "y", &options(Choice::Auto)).unwrap();
    assert_ne!(together.kind(), Kind::Gp);
    let asked = Predictor::fit(&runs(None, 500), "y", &options(Choice::Only(Kind::Gp)));
    assert_eq!(
        asked.unwrap_err().to_string(),
        "gp: 500 distinct settings are too many; it takes at most 400"
    );
}

#[test]
fn importances_name_the_factors_that_matter_and_holdout_judges_unseen_trials() {
    let runs = table(&full_factorial(), 1, 12);
    let options = options(Choice::Auto);
    let of = |response: &str| importances(&runs, response, Kind::Gp, &options).unwrap();
    let accuracy = of("accuracy");
    let names: Vec<&str> = accuracy.iter().map(|one| one.factor.as_str()).collect();
    // As the paper finds: batch size and topology, and nothing else.
    assert_eq!(names[..2], ["batch_size", "topology"], "{accuracy:?}");
    assert!(accuracy[1].low > 0.0, "{accuracy:?}");
    assert!(
        accuracy[2].low <= 0.0 && accuracy[3].share < 0.05,
        "{accuracy:?}"
    );
    assert_eq!(of("time")[0].factor, "batch_size");
    let only = PredictOptions {
        choice: Choice::Only(Kind::Forest),
        ..options.clone()
    };
    let found = hold_out(&runs, "time", &only, 0.2).unwrap();
    assert_eq!((found.learned_from, found.set_aside), (77, 19));
    let line = &found.lines[0];
    assert!(line.outcome.as_ref().unwrap().r2 > 0.8, "{line:?}");
    assert!(
        line.settled.as_ref().unwrap().contains("150 trees"),
        "{line:?}"
    );
    for share in [0.0, 1.0, 0.97, f64::NAN] {
        assert!(hold_out(&runs, "time", &only, share).is_err(), "{share}");
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
    for coverage in [1e-12, 0.0, 1.0, 1.0 - 1e-12, f64::NAN] {
        let options = PredictOptions {
            coverage,
            ..options(Choice::Auto)
        };
        let error = Predictor::fit(&eight, "time", &options).unwrap_err();
        assert!(matches!(error, PredictorError::Coverage(_)), "{coverage}");
    }
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
            assert!(
                prediction.value.is_none_or(f64::is_finite),
                "{kind} at {huge}"
            );
            if let Some((low, high)) = prediction.interval.ends() {
                assert!(
                    low <= high && high < 1e9,
                    "{kind} at {huge}: {prediction:?}"
                );
            }
            assert_eq!(prediction.outside.len(), 3, "{kind} at {huge}");
        }
    }
}
