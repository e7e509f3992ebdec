//! What the finished runs of a search say, level by level.

use super::question::Question;
use paceline_dist::StudentT;
use paceline_model::{Level, RunId};
use paceline_records::study::{Plan, RunResult};
use paceline_runner::study::{Progress, RunState};

/// Everything that has ended, in the order in which it was planned.
#[derive(Default)]
pub struct History {
    /// The trials, in the order in which they were first planned.
    pub tried: Vec<Tried>,
    /// The runs: the trial of each and its cost, smaller being better. A run
    /// that failed or reported no value has none.
    runs: Vec<(usize, Option<f64>)>,
}

/// One combination of levels with what came of its runs.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Of every factor of the study.
    pub levels: Vec<Level>,
    /// The objective of each run that has one, in the user's own sign.
    pub values: Vec<f64>,
    /// Runs without an objective or a limited value.
    pub failed: usize,
    /// Runs that were stopped, because what they reported told enough.
    pub stopped: usize,
    /// The runs that came to their end: which replicate each is, from 0, its name
    /// and the attempt that did it.
    pub whole: Vec<(u32, RunId, u32)>,
    /// The limited values, in the order of the limits.
    limited: Vec<Vec<f64>>,
    /// The time that all runs took together.
    pub seconds: f64,
    /// Whether the means keep every limit.
    pub keeps: bool,
}

impl History {
    /// What the runs of a growing study came to.
    #[must_use]
    pub fn new(plan: &Plan, progress: &Progress, question: &Question) -> Self {
        let empty = |levels: &Vec<Level>| Tried {
            levels: levels.clone(),
            values: Vec::new(),
            failed: 0,
            stopped: 0,
            whole: Vec::new(),
            limited: vec![Vec::new(); question.limits.len()],
            seconds: 0.0,
            keeps: true,
        };
        let mut tried: Vec<Tried> = plan.trials.iter().map(|t| empty(&t.levels)).collect();
        let mut runs = Vec::with_capacity(plan.runs.len());
        for (position, run) in plan.runs.iter().enumerate() {
            let (RunState::Done { result, attempt } | RunState::Failed { result, attempt }) =
                progress.state(position)
            else {
                continue;
            };
            let at = run.trial as usize;
            let trial = &mut tried[at];
            trial.seconds += result.duration_s;
            if result.stopped.is_some() {
                trial.stopped += 1;
                runs.push((at, None));
                continue;
            }
            if result.done {
                trial.whole.push((run.replicate, run.id.clone(), *attempt));
            }
            let found = heard(result, question);
            match &found {
                Some((value, limited)) => {
                    trial.values.push(*value);
                    for (all, one) in trial.limited.iter_mut().zip(limited) {
                        all.push(*one);
                    }
                }
                None => trial.failed += 1,
            }
            runs.push((at, found.map(|(value, _)| question.direction.cost(value))));
        }
        for trial in &mut tried {
            let means = trial.limited.iter().map(|values| mean(values));
            trial.keeps = question
                .limits
                .iter()
                .zip(means)
                .all(|(limit, mean)| mean.is_none_or(|mean| limit.is_kept_by(mean)));
        }
        Self { tried, runs }
    }

    /// Each run with its level of one factor and its cost. At a level that breaks
    /// a limit no run has a cost: it cannot be an improvement.
    pub(super) fn observations(&self) -> impl Iterator<Item = (&[Level], Option<f64>)> {
        self.runs.iter().map(|&(at, cost)| {
            let trial = &self.tried[at];
            (trial.levels.as_slice(), cost.filter(|_| trial.keeps))
        })
    }

    /// How many runs have ended.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// What came of these levels.
    #[must_use]
    pub fn find(&self, levels: &[Level]) -> Option<&Tried> {
        self.tried.iter().find(|trial| trial.levels == levels)
    }

    /// The time that all runs took together.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.tried.iter().map(|trial| trial.seconds).sum()
    }

    /// How many runs have no objective.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.tried.iter().map(|trial| trial.failed).sum()
    }
}

impl Tried {
    /// How many runs have ended.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.values.len() + self.failed + self.stopped
    }

    /// The mean of the objective.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        mean(&self.values)
    }

    /// The means of the limited values, where there are any.
    #[must_use]
    pub fn limited_means(&self) -> Vec<Option<f64>> {
        self.limited.iter().map(|values| mean(values)).collect()
    }

    /// Half the width of the mean's interval by Student's t; absent with fewer
    /// than two values.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let count = self.values.len() as f64;
        let student = StudentT::new(count - 1.0).ok()?;
        let mean = self.mean()?;
        let squares: f64 = self.values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Some(error * student.upper_quantile((1.0 - confidence) / 2.0))
    }
}

/// The objective and the limited values of a run that has all of them.
fn heard(result: &RunResult, question: &Question) -> Option<(f64, Vec<f64>)> {
    if !result.done {
        return None;
    }
    let value = |name: &str| {
        let found = result
            .responses
            .get(name)
            .or_else(|| result.resources.get(name));
        found.copied().filter(|value| value.is_finite())
    };
    let limited = question.limits.iter().map(|limit| value(&limit.response));
    Some((value(&question.response)?, limited.collect::<Option<_>>()?))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
