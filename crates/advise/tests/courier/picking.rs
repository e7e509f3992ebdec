//! Whether picks keep their promises, and what they cost.

use crate::cluster::{CPUS, JOBS, Noise, Setting, TIME_NOISE, TOPOLOGIES, full_factorial, table};
use paceline_advise::pick::{
    Constraint, Objective, PickError, PickRequest, Space, Verdict, candidates, pick,
};
use paceline_advise::predict::{Choice, Kind, PredictOptions, Predictor};
use paceline_advise::runs::Runs;
use paceline_dist::Normal;
use paceline_learn::Threads;
use std::sync::OnceLock;

/// The predictor that the automatic choice settles on for this cluster, named so
/// that the comparison is made once, in the test of the choice.
fn predictors(runs: &Runs) -> Vec<Predictor> {
    let options = PredictOptions {
        choice: Choice::Only(Kind::Gp),
        threads: Threads::new(2),
        ..PredictOptions::default()
    };
    let fit =
        |response| Predictor::fit(runs, response, &options).expect("the table is large enough");
    vec![fit("time"), fit("accuracy")]
}

/// One table and its predictors for the tests that need no more.
fn shared() -> &'static (Runs, Vec<Predictor>) {
    static SHARED: OnceLock<(Runs, Vec<Predictor>)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runs = table(&full_factorial(), 3, 100);
        let models = predictors(&runs);
        (runs, models)
    })
}

fn request(seconds: f64) -> PickRequest {
    PickRequest {
        objective: Objective::Maximise("accuracy".to_owned()),
        constraints: vec![Constraint::at_most("time", seconds)],
        confidence: 0.95,
        coverage: 0.95,
    }
}

#[derive(Debug, Default)]
struct Tally {
    asked: u32,
    met: u32,
    worst_loss: f64,
    total_loss: f64,
}

/// Random jobs as in the paper's section 5.2: cpus, jobs and topology are given,
/// the batch size is to be picked from a fine grid, and the deadline lies where
/// it matters: between the times of the largest and of the smallest batch.
fn ask(runs: &Runs, models: &[Predictor], count: u32, seed: u64, tally: &mut Tally) {
    let mut noise = Noise::new(seed);
    // A deadline this far above the median is kept at the confidence.
    let margin = (TIME_NOISE * Normal.quantile(0.95)).exp();
    for _ in 0..count {
        let largest = Setting {
            cpus: CPUS[noise.below(4)],
            batch: 512.0,
            jobs: JOBS[noise.below(3)],
            topology: noise.below(TOPOLOGIES.len()),
        };
        let smallest = Setting {
            batch: 64.0,
            ..largest
        };
        let given = [
            (0, largest.cpus),
            (2, largest.jobs),
            (3, largest.topology as f64),
        ];
        let (fast, slow) = (1.1 * largest.time(), smallest.time());
        let deadline = fast * (slow / fast).powf(noise.unit());
        let grid = candidates(runs, &given, Space::Grid { most: 120 }).expect("one free factor");
        let possible = grid
            .iter()
            .map(|at| Setting::of(at))
            .filter(|at| at.time() * margin <= deadline)
            .map(Setting::accuracy)
            .fold(f64::NEG_INFINITY, f64::max);
        let answer = pick(models, &grid, &request(deadline)).expect("the request is sound");
        let Verdict::Met { best, .. } = answer.verdict else {
            continue;
        };
        let chosen = Setting::of(&best.configuration);
        tally.asked += 1;
        tally.met += u32::from(chosen.noisy_time(&mut noise) <= deadline);
        let loss = 1.0 - chosen.accuracy() / possible;
        tally.worst_loss = tally.worst_loss.max(loss);
        tally.total_loss += loss;
    }
}

#[test]
fn picks_keep_their_deadline_as_often_as_they_say_and_lose_little_accuracy() {
    let mut tally = Tally::default();
    let (runs, models) = shared();
    ask(runs, models, 80, 7, &mut tally);
    println!("{tally:?}");
    for seed in 1..3 {
        let runs = table(&full_factorial(), 3, 100 + seed);
        ask(&runs, &predictors(&runs), 80, 7 + seed, &mut tally);
        println!("{tally:?}");
    }
    let share = f64::from(tally.met) / f64::from(tally.asked);
    let mean_loss = tally.total_loss / f64::from(tally.asked);
    println!("{share:.4} kept, mean loss {mean_loss:.5}");
    assert!(tally.asked >= 200, "{tally:?}");
    // Three standard errors below the confidence that was asked for.
    assert!(share >= 0.91, "{tally:?}");
    assert!(mean_loss <= 0.003 && tally.worst_loss <= 0.015, "{tally:?}");
}

#[test]
fn the_answer_names_what_binds_the_runner_up_and_the_front() {
    let (runs, models) = shared();
    let given = [(0, 4.0), (2, 3.0), (3, 1.0)];
    let observed = candidates(runs, &given, Space::Observed).unwrap();
    assert_eq!(observed.len(), 4);
    let time = |batch: f64| Setting::of(&[4.0, batch, 3.0, 1.0]).time();
    // Between the times of 128 and of 64: 128 is the best that is in time.
    let answer = pick(
        models,
        &observed,
        &request((time(64.0) * time(128.0)).sqrt()),
    )
    .unwrap();
    let Verdict::Met {
        best,
        runner_up,
        binding,
    } = &answer.verdict
    else {
        panic!("{answer:?}");
    };
    assert_eq!(best.configuration[1], 128.0);
    assert!(best.chances[0] >= 0.95);
    let runner_up = runner_up.as_ref().unwrap();
    assert_eq!(runner_up.picked.configuration[1], 256.0);
    assert!(runner_up.gives_up > 0.0);
    let binding = binding.unwrap();
    assert_eq!(binding.constraint, 0);
    assert!((binding.would_gain - 0.02).abs() < 0.005, "{binding:?}");
    assert_eq!((answer.considered, answer.feasible), (4, 3));
    let batches: Vec<f64> = answer.front.iter().map(|at| at.configuration[1]).collect();
    assert_eq!(batches, [64.0, 128.0, 256.0, 512.0]);
    // Without need of time the smallest batch is best and nothing binds.
    let free = pick(models, &observed, &request(1e6)).unwrap();
    assert!(matches!(free.verdict, Verdict::Met { binding: None, .. }));
}

#[test]
fn a_deadline_that_nothing_meets_is_answered_with_the_nearest() {
    let (runs, models) = shared();
    let all = candidates(runs, &[], Space::Observed).unwrap();
    let answer = pick(models, &all, &request(1.0)).unwrap();
    let Verdict::Unmet { nearest, reason } = answer.verdict else {
        panic!("{answer:?}");
    };
    assert_eq!(nearest.configuration[1], 512.0);
    assert!(reason.contains("`time <= 1`"), "{reason}");
    assert_eq!(answer.feasible, 0);
}

#[test]
fn a_weighted_sum_trades_accuracy_for_time() {
    let (runs, models) = shared();
    let observed = candidates(runs, &[(0, 4.0), (2, 3.0), (3, 1.0)], Space::Observed).unwrap();
    let batch = |seconds_per_point: f64| {
        let request = PickRequest {
            objective: Objective::Weighted(vec![
                ("accuracy".to_owned(), 100.0),
                ("time".to_owned(), -1.0 / seconds_per_point),
            ]),
            constraints: Vec::new(),
            ..request(1.0)
        };
        match pick(models, &observed, &request).unwrap().verdict {
            Verdict::Met { best, .. } => best.configuration[1],
            unmet => panic!("{unmet:?}"),
        }
    };
    assert_eq!((batch(1.0), batch(1e6)), (512.0, 64.0));
}

#[test]
fn requests_without_sense_are_refused() {
    let (runs, models) = shared();
    let all = candidates(runs, &[], Space::Observed).unwrap();
    let check = |constraints: Vec<Constraint>, text: &str| {
        let request = PickRequest {
            constraints,
            ..request(1.0)
        };
        let error = pick(models, &all, &request).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    check(
        vec![
            Constraint::at_most("time", 5.0),
            Constraint::at_least("time", 9.0),
        ],
        "`time >= 9` and `time <= 5` exclude each other",
    );
    check(
        vec![Constraint::at_most("cost", 5.0)],
        "response `cost` is not predicted",
    );
    check(
        vec![Constraint::at_most("time", f64::NAN)],
        "`time` has a limit or a weight that is not finite",
    );
    assert_eq!(
        pick(models, &[], &request(1.0)),
        Err(PickError::NoCandidates)
    );
    for confidence in [1.0, 1e-12, 0.0] {
        let senseless = PickRequest {
            confidence,
            ..request(1.0)
        };
        assert_eq!(
            pick(models, &all, &senseless),
            Err(PickError::Confidence(confidence))
        );
    }
}
