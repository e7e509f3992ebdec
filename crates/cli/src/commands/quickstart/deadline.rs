//! A deadline that the story can promise to keep.

use crate::failure::Failure;
use paceline_advise::pick::Objective;
use paceline_answers::pick::{AloneAnswer, PickAnswer, PickQuestion, pick};
use paceline_answers::promises::{PromisesQuestion, promises};
use paceline_answers::results::Results;

/// A deadline with what can be said of it.
pub(super) struct Deadline {
    pub(super) seconds: f64,
    pub(super) why: Why,
}

/// Where a deadline comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It was promised when the story was told before.
    Promised,
    /// So many of so many configurations keep it with the usual confidence.
    Kept { by: usize, of: usize },
    /// No configuration keeps any deadline surely enough.
    Nobody,
}

/// What the commands of the story say unless they are told otherwise.
const CONFIDENCE: f64 = 0.95;

/// The deadline of the story: the one of its promise, if it was told before;
/// otherwise the shortest that about half of the configurations keep with room to
/// spare. A few noisy runs need not bear any, and then nothing is promised.
pub(super) fn of(results: &Results) -> Result<Deadline, Failure> {
    if let Some(seconds) = promised(results)? {
        let why = Why::Promised;
        return Ok(Deadline { seconds, why });
    }
    let free = answer(results, None)?;
    let predictors = free.setup.predictors.iter();
    let time = predictors.clone().find(|p| p.response() == "time");
    let ends = time.into_iter().flat_map(|time| {
        let choices = free.setup.choices.iter();
        choices.filter_map(|at| time.predict(at, CONFIDENCE).interval.ends())
    });
    let times = results.table().column("time");
    let times = times.and_then(|column| column.as_numeric());
    let times = times.unwrap_or_default().iter().copied();
    let slowest = rounded_up(times.fold(0.001, f64::max));
    // A run ends later than its interval in one of forty cases, which is half of
    // what the confidence allows for. Who needs twice the time of the slowest run
    // to be sure knows nothing worth a promise.
    let mut latest: Vec<f64> = ends.map(|(_, high)| rounded_up(high)).collect();
    latest.retain(|&seconds| seconds <= 2.0 * slowest);
    latest.sort_by(f64::total_cmp);
    latest.dedup();
    // The last resort is what every run kept.
    for &seconds in latest[latest.len() / 2..].iter().chain([&slowest]) {
        let found = answer(results, Some(seconds))?;
        if found.is_met() {
            let (by, of) = (found.pick.feasible, found.pick.considered);
            let why = Why::Kept { by, of };
            return Ok(Deadline { seconds, why });
        }
    }
    Ok(Deadline {
        seconds: slowest,
        why: Why::Nobody,
    })
}

impl Deadline {
    /// As a flag of the commands below.
    pub(super) fn flag(&self) -> String {
        format!("--slo={}s", self.seconds)
    }
}

/// The deadline of the first promise in the study's ledger.
fn promised(results: &Results) -> Result<Option<f64>, Failure> {
    if results.study().is_none() {
        return Ok(None);
    }
    let promises = promises(results, PromisesQuestion)?.promises;
    let mut limits = promises.iter().flat_map(|held| &held.promise.limits);
    let time = limits.find(|limit| limit.response == "time" && limit.at_most);
    Ok(time.map(|limit| limit.value))
}

fn answer(results: &Results, deadline_s: Option<f64>) -> Result<Box<AloneAnswer>, Failure> {
    let question = PickQuestion {
        objective: Some(Objective::Maximise("accuracy".to_owned())),
        deadline_s,
        time: Some("time".to_owned()),
        ..PickQuestion::default()
    };
    match pick(results, &question)? {
        PickAnswer::Alone(answer) => Ok(answer),
        PickAnswer::Beside(_) => unreachable!("no job runs beside the story"),
    }
}

/// Two digits, as a person would set a deadline; never sooner than asked.
fn rounded_up(seconds: f64) -> f64 {
    let unit = 10_f64.powf(seconds.max(1e-6).log10().floor() - 1.0);
    let steps = (seconds / unit).ceil();
    // As it is written and read again.
    format!("{:.6}", steps * unit).parse().unwrap_or(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve configurations, run twice; `noise` is how far times scatter, as a factor.
    fn table(dir: &std::path::Path, noise: f64, seed: u64) -> Results {
        let mut state = seed;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let mut text = "batch_size,workers,sync,time,accuracy\n".to_owned();
        for batch in [16.0, 64.0, 256.0_f64] {
            for workers in [1.0, 2.0_f64] {
                for sync in ["bsp", "async"] {
                    for _ in 0..2 {
                        let scatter = noise.powf(2.0 * uniform() - 1.0);
                        let time = (0.1 + 8.0 / batch / workers) * scatter;
                        let accuracy = 0.95 - 0.0002 * batch + 0.002 * uniform();
                        text += &format!("{batch},{workers},{sync},{time},{accuracy}\n");
                    }
                }
            }
        }
        let path = dir.join(format!("{noise}-{seed}.csv"));
        std::fs::write(&path, text).unwrap();
        let factors = ["batch_size", "workers", "sync"].map(str::to_owned);
        Results::open(&path).unwrap().with_factors(factors.to_vec())
    }

    #[test]
    fn what_is_said_of_the_deadline_is_true_however_noisy_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = 0;
        for noise in [1.01, 1.3, 3.0, 30.0, 1e4] {
            for seed in [1, 2] {
                let results = table(dir.path(), noise, seed);
                let deadline = of(&results).unwrap();
                let found = answer(&results, Some(deadline.seconds)).unwrap();
                match deadline.why {
                    Why::Kept { by, of } => {
                        assert!(found.is_met(), "{noise} {seed}");
                        assert_eq!((by, of), (found.pick.feasible, found.pick.considered));
                        assert!(found.best().chances[0] >= CONFIDENCE);
                        kept += 1;
                    }
                    Why::Nobody => {
                        assert!(!found.is_met(), "{noise} {seed}");
                    }
                    Why::Promised => panic!("a table has no ledger"),
                }
            }
        }
        assert!(kept >= 4, "{kept} kept");
    }

    #[test]
    fn where_nothing_can_be_promised_no_deadline_is_said_to_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wild.csv");
        let rows = "1,1,0.9\n2,1e3,0.91\n3,1e-3,0.92\n4,1e6,0.93\n5,1e-6,0.94\n";
        std::fs::write(&path, format!("x,time,accuracy\n{rows}")).unwrap();
        let results = Results::open(&path)
            .unwrap()
            .with_factors(vec!["x".to_owned()]);
        let deadline = of(&results).unwrap();
        assert_eq!((deadline.why, deadline.seconds), (Why::Nobody, 1e6));
        assert!(!answer(&results, Some(deadline.seconds)).unwrap().is_met());
        assert_eq!(deadline.flag(), "--slo=1000000s");
    }

    #[test]
    fn a_deadline_is_never_sooner_than_what_it_is_made_of() {
        for seconds in [0.0123, 0.12, 0.999, 1.0, 3.21, 98.7, 1234.5] {
            let rounded = rounded_up(seconds);
            assert!(
                rounded >= seconds && rounded <= 1.11 * seconds,
                "{seconds}: {rounded}"
            );
        }
        assert_eq!(rounded_up(3.21), 3.3);
    }
}
