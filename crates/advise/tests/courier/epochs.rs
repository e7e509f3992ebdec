//! Batch size and number of epochs picked together.

use crate::cluster::{BATCHES, CPUS, Noise, Setting, table};
use paceline_advise::curve::{
    Curve, EpochRecord, OverEpochs, Trace, candidates_over_epochs, epochs_as_factor, traces,
};
use paceline_advise::pick::{Constraint, Objective, PickRequest, Space, Verdict, pick};
use paceline_advise::predict::{Choice, Kind, PredictOptions, Predictor, Roles};
use paceline_advise::runs::Runs;
use paceline_learn::Threads;

/// The ten epochs of the cluster's law take the same time each.
fn time(setting: Setting, epochs: f64) -> f64 {
    setting.time() * epochs / 10.0
}

/// A power law towards the accuracy of many epochs; large batches learn slower.
fn accuracy(setting: Setting, epochs: f64) -> f64 {
    setting.accuracy() + 0.01 - 0.2 * (1.0 + setting.batch / 512.0) * epochs.powf(-0.9)
}

fn runs() -> Runs {
    let mut settings = Vec::new();
    for cpus in CPUS {
        for batch in BATCHES {
            settings.push(Setting {
                cpus,
                batch,
                jobs: 1.0,
                topology: 0,
            });
        }
    }
    table(&settings, 2, 21)
}

/// What each run reported after some of its epochs.
fn records(runs: &Runs) -> Vec<EpochRecord> {
    let mut noise = Noise::new(8);
    let mut records = Vec::new();
    for (run, at) in runs.settings().iter().enumerate() {
        let setting = Setting::of(at);
        let speed = (0.03 * noise.normal()).exp();
        for epoch in [1.0, 2.0, 4.0, 7.0, 10.0] {
            let reached = accuracy(setting, epoch) + 0.001 * noise.normal();
            records.push(EpochRecord {
                run,
                epoch,
                responses: vec![time(setting, epoch) * speed, reached],
            });
        }
    }
    records
}

/// A process over the power of the epochs that the response follows, if it
/// levels off.
fn model(long: &Runs, response: &str) -> Predictor {
    let traces = traces(long, response).expect("the table has the response");
    let traces: Vec<Trace> = traces.into_iter().map(|(_, trace)| trace).collect();
    let roles = Roles::by_name(long.factors());
    let roles = match OverEpochs::of(&traces) {
        OverEpochs::LevellingOff { rate } => {
            assert!((rate - 0.9).abs() < 0.1, "{response}: {rate}");
            roles.levelling_off(rate)
        }
        OverEpochs::Growing => {
            assert_eq!(response, "time");
            roles
        }
    };
    let options = PredictOptions {
        choice: Choice::Only(Kind::Kriging),
        roles: Some(roles),
        threads: Threads::new(2),
        ..PredictOptions::default()
    };
    Predictor::fit(long, response, &options).expect("80 settings are enough")
}

#[test]
fn fewer_epochs_of_a_smaller_batch_or_more_of_a_larger_one_whichever_is_better() {
    let runs = runs();
    let records = records(&runs);
    let roles = Roles::by_name(runs.factors());
    let long = epochs_as_factor(&runs, &roles, &["time", "accuracy"], &records).unwrap();
    assert_eq!(long.rows(), 160);
    let models = ["time", "accuracy"].map(|response| model(&long, response));
    let at = long.factors().position("epochs").unwrap();
    // Ten epochs were run at most; the longest deadline allows for more.
    for deadline in [40.0, 80.0, 160.0, 320.0] {
        let given = [(0, 4.0)];
        let space = Space::Grid { most: 4000 };
        let grid = candidates_over_epochs(&long, &given, space, 20.0).unwrap();
        let request = PickRequest {
            objective: Objective::Maximise("accuracy".to_owned()),
            constraints: vec![Constraint::at_most("time", deadline)],
            confidence: 0.95,
            coverage: 0.95,
        };
        let answer = pick(&models, &grid, &request).unwrap();
        let Verdict::Met { best, .. } = answer.verdict else {
            panic!("{deadline} s can be kept: {answer:?}");
        };
        let of = |configuration: &[f64]| (Setting::of(configuration), configuration[at]);
        let (setting, epochs) = of(&best.configuration);
        assert!(time(setting, epochs) <= deadline, "{best:?}");
        let possible = grid
            .iter()
            .map(|candidate| of(candidate))
            .filter(|&(setting, epochs)| time(setting, epochs) * 1.05 <= deadline)
            .map(|(setting, epochs)| accuracy(setting, epochs))
            .fold(0.0, f64::max);
        let loss = 1.0 - accuracy(setting, epochs) / possible;
        println!(
            "{deadline} s: batch {}, {epochs} epochs, loss {loss:.4}",
            setting.batch
        );
        assert!(loss <= 0.01, "{loss} at {deadline} s: {best:?}");
    }
}

#[test]
fn a_curve_tells_how_many_epochs_an_accuracy_takes() {
    let setting = Setting::of(&[4.0, 128.0, 1.0, 0.0]);
    let epochs: Vec<f64> = (1..=10).map(f64::from).collect();
    let mut noise = Noise::new(2);
    let values: Vec<f64> = epochs
        .iter()
        .map(|&epoch| accuracy(setting, epoch) + 0.0005 * noise.normal())
        .collect();
    let curve = Curve::fit(&epochs, &values, Some((0.0, 1.0))).unwrap();
    // Three times as far as what was seen.
    assert!(
        (curve.at(30.0) - accuracy(setting, 30.0)).abs() < 0.01,
        "{curve:?}"
    );
    let needed = curve.epochs_to(accuracy(setting, 15.0)).unwrap();
    assert!((needed - 15.0).abs() < 5.0, "{needed}");
}
