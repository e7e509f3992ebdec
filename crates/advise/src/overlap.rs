//! Jobs that run at the same time: when each one ends, and what a newcomer may
//! be without breaking a promise.

use crate::least_squares::{NnlsError, nnls};
use crate::predict::Role;
use crate::predict::Roles;
use crate::runs::Runs;
use std::collections::BTreeMap;
use thiserror::Error;

/// How much slower a job runs beside others.
///
/// With total load `n` every job runs `1 + α(n − 1) + βn(n − 1)` times as long as
/// alone: contention and coherence of the universal scalability law (Gunther
/// 2007). α = 1 and β = 0 is plain processor sharing, α = 0 and β = 0 no
/// interference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interference {
    /// α: what jobs take from each other.
    pub contention: f64,
    /// β: what every pair of jobs costs on top.
    pub coherence: f64,
}

/// Why no interference can be fitted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InterferenceError {
    /// The table has no such response.
    #[error("there is no response `{0}`")]
    UnknownResponse(String),
    /// No factor says how many jobs ran.
    #[error("no factor is known to be the concurrent jobs")]
    NoConcurrency,
    /// No settings differ in the number of jobs alone.
    #[error(
        "no two settings differ in the concurrent jobs alone; run the same job alone and beside others"
    )]
    NoPairs,
    /// A time is not above zero.
    #[error("run {0} has a time that is not above zero")]
    NotPositive(usize),
    /// The least squares failed.
    #[error(transparent)]
    Nnls(#[from] NnlsError),
}

impl Interference {
    /// Every job alone gets all it needs.
    pub const NONE: Self = Self {
        contention: 0.0,
        coherence: 0.0,
    };

    /// Fits the slowdown of settings that differ in the number of jobs alone, by
    /// non-negative least squares on relative times. The fewest jobs of such
    /// settings are their reference.
    pub fn fit(runs: &Runs, time: &str, roles: &Roles) -> Result<Self, InterferenceError> {
        let times = runs
            .response(time)
            .ok_or_else(|| InterferenceError::UnknownResponse(time.to_owned()))?;
        let jobs = roles
            .position(Role::Concurrency)
            .ok_or(InterferenceError::NoConcurrency)?;
        if let Some(row) = times.iter().position(|&time| time <= 0.0) {
            return Err(InterferenceError::NotPositive(row + 1));
        }
        let mut groups: BTreeMap<Vec<u64>, Vec<(f64, f64)>> = BTreeMap::new();
        for (setting, &time) in runs.settings().iter().zip(times) {
            let mut others = setting.clone();
            others[jobs] = 0.0;
            let key = crate::runs::key(&others);
            groups.entry(key).or_default().push((setting[jobs], time));
        }
        // T(n)/T(r) = (1 + α(n−1) + βn(n−1)) / (1 + α(r−1) + βr(r−1)) is linear in
        // α and β once multiplied out.
        let (mut alpha, mut beta, mut target) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups.values() {
            let least = group.iter().map(|(n, _)| *n).fold(f64::INFINITY, f64::min);
            let reference: Vec<f64> = group
                .iter()
                .filter(|(n, _)| *n == least)
                .map(|(_, t)| *t)
                .collect();
            let reference = reference.iter().sum::<f64>() / reference.len() as f64;
            for &(n, time) in group.iter().filter(|(n, _)| *n > least) {
                let ratio = time / reference;
                alpha.push(((n - 1.0) - ratio * (least - 1.0)) / ratio);
                beta.push((n * (n - 1.0) - ratio * least * (least - 1.0)) / ratio);
                target.push((ratio - 1.0) / ratio);
            }
        }
        if target.is_empty() {
            return Err(InterferenceError::NoPairs);
        }
        let found = nnls(&[alpha, beta], &target)?;
        Ok(Self {
            contention: found.coefficients[0],
            coherence: found.coefficients[1],
        })
    }

    /// How many times as long a job takes at that total load; a load below one is
    /// one.
    pub fn slowdown(&self, load: f64) -> f64 {
        let load = load.max(1.0);
        1.0 + self.contention * (load - 1.0) + self.coherence * load * (load - 1.0)
    }
}

/// A job that runs, or is about to.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What it is called.
    pub name: String,
    /// When it started, or will, in seconds on any clock.
    pub start_s: f64,
    /// How long it takes alone, in seconds.
    pub alone_s: f64,
    /// How long it takes alone at the confidence its promise is judged by.
    pub alone_upper_s: f64,
    /// How much it weighs; one is a job like those the interference was fitted to.
    pub load: f64,
    /// When it was promised to be done, if it was.
    pub promise_s: Option<f64>,
}

/// When a job ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Which job.
    pub name: String,
    /// When it ends if every job takes its expected time.
    pub expected_s: f64,
    /// When it ends if every job takes its upper time.
    pub upper_s: f64,
    /// Whether it keeps its promise even then; true without a promise.
    pub kept: bool,
}

/// Why finishing times cannot be told.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OverlapError {
    /// A number of a job is negative, NaN or infinite.
    #[error("job `{0}` needs finite times and a load above zero")]
    BadJob(String),
    /// There is nothing to choose from.
    #[error("there are no configurations for the newcomer")]
    NoCandidates,
}

/// When each job ends. Between two starts or ends the number of jobs is constant,
/// so each one advances at the rate `1 / slowdown(load)`.
pub fn finishing_times(
    jobs: &[Job],
    interference: Interference,
) -> Result<Vec<Finish>, OverlapError> {
    for job in jobs {
        let numbers = [job.start_s, job.alone_s, job.alone_upper_s, job.load];
        let finite = numbers.iter().all(|number| number.is_finite());
        if !finite || job.alone_s < 0.0 || job.alone_upper_s < 0.0 || job.load <= 0.0 {
            return Err(OverlapError::BadJob(job.name.clone()));
        }
    }
    let expected = simulate(jobs, interference, |job| job.alone_s);
    let upper = simulate(jobs, interference, |job| job.alone_upper_s.max(job.alone_s));
    let ends = expected.into_iter().zip(upper);
    Ok(jobs
        .iter()
        .zip(ends)
        .map(|(job, (expected_s, upper_s))| Finish {
            name: job.name.clone(),
            expected_s,
            upper_s,
            kept: job.promise_s.is_none_or(|promise| upper_s <= promise),
        })
        .collect())
}

fn simulate(jobs: &[Job], interference: Interference, alone: impl Fn(&Job) -> f64) -> Vec<f64> {
    let mut left: Vec<f64> = jobs.iter().map(alone).collect();
    let mut ends: Vec<Option<f64>> = vec![None; jobs.len()];
    let mut now = jobs
        .iter()
        .map(|job| job.start_s)
        .fold(f64::INFINITY, f64::min);
    while ends.contains(&None) {
        let active: Vec<usize> = (0..jobs.len())
            .filter(|&at| ends[at].is_none() && jobs[at].start_s <= now)
            .collect();
        let next_start = (0..jobs.len())
            .filter(|&at| ends[at].is_none() && jobs[at].start_s > now)
            .map(|at| jobs[at].start_s)
            .fold(f64::INFINITY, f64::min);
        let load = active.iter().map(|&at| jobs[at].load).sum();
        let slowdown = interference.slowdown(load);
        let first_end = active
            .iter()
            .map(|&at| now + left[at] * slowdown)
            .fold(f64::INFINITY, f64::min);
        let until = first_end.min(next_start);
        for &at in &active {
            // The job that defines the event ends by definition, not by rounding.
            let end = now + left[at] * slowdown;
            left[at] = (left[at] - (until - now) / slowdown).max(0.0);
            if end <= until {
                ends[at] = Some(until);
            }
        }
        now = until;
    }
    ends.into_iter()
        .map(|end| end.expect("every job has ended"))
        .collect()
}

/// What the newcomer could be.
#[derive(Debug, Clone, PartialEq)]
pub struct Newcomer {
    /// The job it would be, promise included.
    pub job: Job,
    /// How good it would be; larger is better.
    pub objective: f64,
}

/// The newcomer that was chosen, with everyone's end.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// Which candidate was chosen.
    pub candidate: usize,
    /// When every job ends, the newcomer last.
    pub finishes: Vec<Finish>,
    /// When the jobs that run would end without the newcomer.
    pub without: Vec<Finish>,
    /// Whether every promise is kept. If no candidate keeps them all, the one
    /// that breaks fewest, by the least time, is told with `false`.
    pub promises_kept: bool,
}

/// Picks the best newcomer that breaks no promise, its own included. Promises
/// that running jobs would break even without a newcomer do not count against
/// it.
pub fn admit(
    running: &[Job],
    candidates: &[Newcomer],
    interference: Interference,
) -> Result<Admission, OverlapError> {
    let without = finishing_times(running, interference)?;
    let mut best: Option<(usize, f64, f64, Admission)> = None;
    for (number, newcomer) in candidates.iter().enumerate() {
        let mut jobs = running.to_vec();
        jobs.push(newcomer.job.clone());
        let finishes = finishing_times(&jobs, interference)?;
        let blame = |at: usize| without.get(at).is_none_or(|finish| finish.kept);
        let broken: Vec<usize> = (0..jobs.len())
            .filter(|&at| !finishes[at].kept && blame(at))
            .collect();
        let late: f64 = broken
            .iter()
            .map(|&at| finishes[at].upper_s - jobs[at].promise_s.unwrap_or(f64::INFINITY))
            .sum();
        let better = best
            .as_ref()
            .is_none_or(|(count, known_late, objective, _)| {
                let by_count = count.cmp(&broken.len());
                let by_late = known_late.total_cmp(&late);
                let by_objective = newcomer.objective.total_cmp(objective);
                by_count.then(by_late).then(by_objective).is_gt()
            });
        if better {
            let admission = Admission {
                candidate: number,
                finishes,
                without: without.clone(),
                promises_kept: broken.is_empty(),
            };
            best = Some((broken.len(), late, newcomer.objective, admission));
        }
    }
    best.map(|(.., admission)| admission)
        .ok_or(OverlapError::NoCandidates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::FactorColumn;

    fn job(name: &str, start_s: f64, alone_s: f64) -> Job {
        Job {
            name: name.to_owned(),
            start_s,
            alone_s,
            alone_upper_s: alone_s,
            load: 1.0,
            promise_s: None,
        }
    }

    const SHARING: Interference = Interference {
        contention: 1.0,
        coherence: 0.0,
    };

    #[test]
    fn processor_sharing_gives_the_ends_of_the_textbook() {
        // Alone until 4, two share until the short one has had its 2 seconds.
        let jobs = [job("long", 0.0, 10.0), job("short", 4.0, 2.0)];
        let ends = finishing_times(&jobs, SHARING).unwrap();
        assert_eq!((ends[0].expected_s, ends[1].expected_s), (12.0, 8.0));
        let alone = finishing_times(&jobs, Interference::NONE).unwrap();
        assert_eq!((alone[0].expected_s, alone[1].expected_s), (10.0, 6.0));
    }

    #[test]
    fn a_gap_between_jobs_costs_nothing() {
        let jobs = [job("a", 0.0, 1.0), job("b", 5.0, 1.0)];
        let ends = finishing_times(&jobs, SHARING).unwrap();
        assert_eq!((ends[0].expected_s, ends[1].expected_s), (1.0, 6.0));
    }

    #[test]
    fn the_newcomer_is_the_best_that_breaks_no_promise() {
        let mut running = job("old", 0.0, 10.0);
        running.promise_s = Some(14.0);
        let newcomer = |alone: f64, objective: f64| Newcomer {
            job: job("new", 2.0, alone),
            objective,
        };
        // Beside 3 seconds of work the old job ends at 13, beside 5 at 15.
        let candidates = [
            newcomer(1.0, 0.90),
            newcomer(3.0, 0.92),
            newcomer(5.0, 0.95),
        ];
        let admission = admit(&[running.clone()], &candidates, SHARING).unwrap();
        assert_eq!((admission.candidate, admission.promises_kept), (1, true));
        let late = admit(&[running.clone()], &candidates[2..], SHARING).unwrap();
        assert!(!late.promises_kept);
        // A promise that is broken already is not the newcomer's fault.
        running.promise_s = Some(9.0);
        let admission = admit(&[running], &candidates, SHARING).unwrap();
        assert_eq!((admission.candidate, admission.promises_kept), (2, true));
    }

    #[test]
    fn interference_is_recovered_from_a_table() {
        let truth = Interference {
            contention: 0.3,
            coherence: 0.02,
        };
        let jobs = vec![1.0, 2.0, 4.0, 2.0, 6.0];
        let size = vec![1.0, 1.0, 1.0, 2.0, 2.0];
        let times = jobs
            .iter()
            .zip(&size)
            .map(|(&n, s)| 50.0 * s * truth.slowdown(n))
            .collect();
        let runs = Runs::new(
            vec![
                ("jobs".to_owned(), FactorColumn::Numeric(jobs)),
                ("size".to_owned(), FactorColumn::Numeric(size)),
            ],
            vec![("time".to_owned(), times)],
            None,
        )
        .unwrap();
        let roles = Roles::by_name(runs.factors());
        let found = Interference::fit(&runs, "time", &roles).unwrap();
        assert!((found.contention - 0.3).abs() < 1e-9, "{found:?}");
        assert!((found.coherence - 0.02).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn jobs_without_sense_are_refused() {
        let error = finishing_times(&[job("x", f64::NAN, 1.0)], SHARING).unwrap_err();
        assert_eq!(error, OverlapError::BadJob("x".to_owned()));
        assert_eq!(admit(&[], &[], SHARING), Err(OverlapError::NoCandidates));
    }
}
