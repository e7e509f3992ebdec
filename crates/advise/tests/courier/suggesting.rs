//! How many runs the search for the optimum takes.

use crate::cluster::{Noise, Setting};
use paceline_advise::pick::{Evidence, SuggestError, SuggestOptions, propose};
use paceline_advise::runs::{FactorColumn, Runs};
use paceline_learn::Threads;

/// Eleven batch sizes and six numbers of cpus: 66 configurations.
fn space() -> Vec<Setting> {
    let batches = [
        32.0, 48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0, 768.0, 1024.0,
    ];
    let mut settings = Vec::new();
    for batch in batches {
        for cpus in [1.0, 2.0, 3.0, 4.0, 6.0, 8.0] {
            settings.push(Setting {
                cpus,
                batch,
                jobs: 3.0,
                topology: 0,
            });
        }
    }
    settings
}

/// The cost of the Spark and BigDL study, time over squared accuracy in percent,
/// with a price on cpus and an accuracy that has its best batch size, so that the
/// optimum is inside.
fn cost(setting: Setting, time: f64) -> f64 {
    let accuracy = 0.955 - 0.02 * (setting.batch / 64.0).log2().abs().powf(2.2);
    time * (1.0 + 0.02 * setting.cpus * setting.cpus) / (100.0 * accuracy).powi(2)
}

fn table(settings: &[Setting]) -> Runs {
    let column =
        |value: fn(&Setting) -> f64| FactorColumn::Numeric(settings.iter().map(value).collect());
    let times = settings.iter().map(|setting| setting.time()).collect();
    Runs::new(
        vec![
            ("batch_size".to_owned(), column(|setting| setting.batch)),
            ("cpus".to_owned(), column(|setting| setting.cpus)),
        ],
        vec![("time".to_owned(), times)],
        None,
    )
    .expect("the columns have equal lengths and finite values")
}

fn options(count: usize, seed: u64) -> SuggestOptions {
    SuggestOptions {
        count,
        seed,
        threads: Threads::ONE,
    }
}

/// How many runs until one is within 5% of the optimum.
fn runs_needed(runs: &Runs, optimum: f64, seed: u64) -> usize {
    let mut noise = Noise::new(seed);
    let mut evidence = Evidence {
        seconds: Some(Vec::new()),
        ..Evidence::default()
    };
    loop {
        let next = propose(runs.factors(), runs.settings(), &evidence, options(1, seed))
            .expect("the evidence is finite");
        let at = next[0].configuration.clone();
        let setting = Setting {
            batch: at[0],
            cpus: at[1],
            jobs: 3.0,
            topology: 0,
        };
        let time = setting.noisy_time(&mut noise);
        evidence.settings.push(at);
        evidence.costs.push(cost(setting, time));
        evidence.seconds.get_or_insert_default().push(time);
        if cost(setting, setting.time()) <= 1.05 * optimum {
            return evidence.costs.len();
        }
    }
}

#[test]
fn the_optimum_is_found_in_at_most_twelve_of_sixty_six_runs_on_average() {
    let settings = space();
    assert_eq!(settings.len(), 66);
    let costs = settings
        .iter()
        .map(|&setting| cost(setting, setting.time()));
    let optimum = costs.fold(f64::INFINITY, f64::min);
    let runs = table(&settings);
    let needed: Vec<usize> = (0..20)
        .map(|seed| runs_needed(&runs, optimum, seed))
        .collect();
    let mean = needed.iter().sum::<usize>() as f64 / needed.len() as f64;
    println!("mean {mean} of {needed:?}");
    assert!(mean <= 12.0, "{needed:?}");
}

#[test]
fn several_suggestions_differ_and_nothing_is_run_twice() {
    let settings = space();
    let runs = table(&settings);
    let seen: Vec<Vec<f64>> = runs.settings().iter().step_by(8).cloned().collect();
    let evidence = Evidence {
        costs: seen.iter().map(|at| at[0].ln() + at[1]).collect(),
        settings: seen.clone(),
        ..Evidence::default()
    };
    let found = propose(runs.factors(), runs.settings(), &evidence, options(3, 1)).unwrap();
    assert_eq!(found.len(), 3);
    for (at, suggestion) in found.iter().enumerate() {
        assert!(!seen.contains(&suggestion.configuration));
        let before = &found[..at];
        assert!(
            before
                .iter()
                .all(|other| other.configuration != suggestion.configuration)
        );
    }
    let all = propose(runs.factors(), &seen, &evidence, options(3, 1)).unwrap();
    assert!(all.is_empty());
}

#[test]
fn the_first_suggestion_is_the_best_whatever_their_number() {
    let settings = space();
    let runs = table(&settings);
    for seed in 0..6 {
        let mut noise = Noise::new(seed);
        let known: Vec<usize> = (0..9).map(|_| noise.below(66)).collect();
        let time = |row: usize| runs.response("time").unwrap()[row];
        let evidence = Evidence {
            settings: known
                .iter()
                .map(|&row| runs.settings()[row].clone())
                .collect(),
            costs: known
                .iter()
                .map(|&row| cost(settings[row], time(row)))
                .collect(),
            seconds: Some(known.iter().map(|&row| time(row)).collect()),
            ..Evidence::default()
        };
        let of = |count: usize| {
            propose(
                runs.factors(),
                runs.settings(),
                &evidence,
                options(count, 1),
            )
            .unwrap()
        };
        let (one, five) = (of(1), of(5));
        assert_eq!(one[0], five[0], "seed {seed}");
        assert!(five.is_sorted_by(|a, b| a.worth >= b.worth), "{five:?}");
    }
}

#[test]
fn evidence_that_is_not_finite_is_refused() {
    let runs = table(&space());
    let evidence = Evidence {
        settings: runs.settings()[..1].to_vec(),
        costs: vec![f64::NAN],
        ..Evidence::default()
    };
    let found = propose(runs.factors(), runs.settings(), &evidence, options(1, 1));
    assert_eq!(found, Err(SuggestError::NotFinite));
}
