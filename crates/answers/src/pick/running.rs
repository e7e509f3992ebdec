//! A pick beside jobs that run already, without breaking what they were promised.

use super::{FreeEpochs, PickAnswer, PickError, PickQuestion, Setup, Understood, answer};
use crate::predict::prediction_json;
use crate::promises::Learned;
use crate::results::Results;
use crate::settings::settings_json;
use paceline_advise::overlap::{Admission, Finish, Interference, Job, Newcomer, admit};
use paceline_advise::pick::{Constraint, Limit, PickRequest, Picked, judge};
use paceline_advise::predict::{Predictor, Role, Roles};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use serde_json::{Value, json};

/// A job that runs, as the user described it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningJob {
    /// What it is called.
    pub name: String,
    /// In seconds from now; below zero if it runs already.
    pub start_s: f64,
    /// In seconds from its start.
    pub deadline_s: Option<f64>,
    /// How many jobs of the measured kind it is as heavy as.
    pub load: f64,
    /// The level of every factor that varies.
    pub settings: Vec<(String, Level)>,
}

/// What the newcomer is called.
const NEWCOMER: &str = "the pick";

const ADMITTED: &str = "whoever is admitted is one of the newcomers";

/// The number of concurrent jobs at which a job is alone, unless it is given.
pub(super) fn alone(roles: &Roles, given: &[(usize, f64)]) -> Option<(usize, f64)> {
    let at = roles.position(Role::Concurrency)?;
    let is_given = given.iter().any(|&(known, _)| known == at);
    (!is_given).then_some((at, 1.0))
}

/// Picks for a newcomer that starts now.
pub(super) fn pick_beside(
    results: &Results,
    question: &PickQuestion,
    understood: Understood,
    setup: Setup,
) -> Result<PickAnswer, PickError> {
    let jobs = &question.running;
    let factors = setup.table.runs.factors();
    let roles = results.roles(factors)?;
    let Understood {
        request,
        because,
        time: time_name,
        result,
    } = understood;
    let time_name = time_name.ok_or_else(|| PickError::NoTime {
        responses: results.responses().to_vec(),
    })?;
    let interference = interference(question, &setup, &time_name, &roles)?;
    let time = setup.predictors.iter().find(|p| p.response() == time_name);
    let time = time.expect("the time of the newcomer is always predicted");
    let configurations = jobs
        .iter()
        .map(|job| configuration(job, &setup, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    let running: Vec<Job> = jobs
        .iter()
        .zip(&configurations)
        .map(|(job, at)| {
            let promise_s = job.deadline_s.map(|deadline| job.start_s + deadline);
            let start_s = job.start_s;
            let alone = Alone::of(time, at, request.confidence);
            alone.job(&job.name, start_s, job.load, promise_s)
        })
        .collect();

    // How long the newcomer takes is judged beside the others; all other limits
    // are judged as always.
    let (deadlines, others): (Vec<Constraint>, Vec<Constraint>) =
        request.constraints.iter().cloned().partition(|limit| {
            limit.response == time_name && matches!(limit.limit, Limit::AtMost(_))
        });
    let deadline = deadlines.iter().map(|limit| limit.limit.value());
    let deadline = deadline.reduce(f64::min);
    let request = PickRequest {
        constraints: others,
        ..request
    };
    let judged = judge(&setup.predictors, &setup.choices, &request)?;
    let keeps = |one: &Picked| {
        one.chances
            .iter()
            .all(|&chance| chance >= request.confidence)
    };
    if !judged.iter().any(keeps) {
        // Not even alone: there is nobody to admit.
        let understood = Understood {
            request,
            because,
            time: Some(time_name),
            result,
        };
        return Ok(PickAnswer::Alone(Box::new(answer(understood, setup)?)));
    }
    let judged: Vec<Picked> = judged.into_iter().filter(keeps).collect();
    let newcomers: Vec<Newcomer> = judged
        .iter()
        .map(|one| Newcomer {
            job: Alone::of(time, &one.configuration, request.confidence)
                .job(NEWCOMER, 0.0, 1.0, deadline),
            objective: one.objective,
        })
        .collect();
    let admission = admit(&running, &newcomers, interference)?;
    let at = admission.candidate;
    Ok(PickAnswer::Beside(Box::new(BesideAnswer {
        request,
        jobs: jobs.clone(),
        configurations,
        running,
        interference,
        fitted: question.contention.is_none(),
        newcomer: newcomers.into_iter().nth(at).expect(ADMITTED).job,
        picked: judged.into_iter().nth(at).expect(ADMITTED),
        admission,
        setup,
    })))
}

fn interference(
    question: &PickQuestion,
    setup: &Setup,
    time: &str,
    roles: &Roles,
) -> Result<Interference, PickError> {
    match question.contention {
        Some(contention) if contention >= 0.0 && contention.is_finite() => Ok(Interference {
            contention,
            ..Interference::NONE
        }),
        Some(contention) => Err(PickError::Contention(contention)),
        None => Ok(Interference::fit(&setup.table.runs, time, roles)?),
    }
}

fn configuration(
    job: &RunningJob,
    setup: &Setup,
    roles: &Roles,
) -> Result<Configuration, PickError> {
    let factors = setup.table.runs.factors();
    let refused = |error| PickError::Job {
        job: job.name.clone(),
        error,
    };
    let mut settings = job.settings.clone();
    let given = factors.fixed(&settings).map_err(refused)?;
    if let Some((at, level)) = alone(roles, &given) {
        let factor = factors.at(at);
        settings.push((factor.name().to_owned(), factor.level(level)));
    }
    factors.configuration(&settings).map_err(refused)
}

/// How long a job takes with the cluster to itself.
struct Alone {
    expected_s: f64,
    upper_s: f64,
}

impl Alone {
    fn of(time: &Predictor, at: &[f64], confidence: f64) -> Self {
        // The upper end of this interval is passed in half of the rest.
        let coverage = (2.0 * confidence - 1.0).max(0.01);
        let belief = &time.beliefs(&[at])[0];
        let (_, upper) = time.bounds(belief, coverage);
        Self {
            expected_s: belief.value().max(0.0),
            upper_s: upper.max(0.0),
        }
    }

    fn job(self, name: &str, start_s: f64, load: f64, promise_s: Option<f64>) -> Job {
        Job {
            name: name.to_owned(),
            start_s,
            alone_s: self.expected_s,
            alone_upper_s: self.upper_s,
            load,
            promise_s,
        }
    }
}

/// A pick for a newcomer, with what it does to the jobs that run.
pub struct BesideAnswer {
    /// What is picked from and by what.
    pub setup: Setup,
    /// What was asked, without the deadline, which is judged beside the others.
    pub request: PickRequest,
    /// The jobs that run.
    pub jobs: Vec<RunningJob>,
    /// Their configurations.
    pub configurations: Vec<Configuration>,
    /// Their times, alone.
    pub running: Vec<Job>,
    /// What jobs take from each other.
    pub interference: Interference,
    /// Whether that was fitted to runs, not said by the user.
    pub fitted: bool,
    /// The newcomer's times, alone.
    pub newcomer: Job,
    /// The configuration of the newcomer.
    pub picked: Picked,
    /// When everybody ends.
    pub admission: Admission,
}

impl BesideAnswer {
    /// Every job with its end, the newcomer last.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let jobs = self.running.iter().chain([&self.newcomer]);
        let ends = self.admission.finishes.iter().enumerate();
        jobs.zip(ends).map(|(job, (at, finish))| Line {
            job,
            finish,
            without: self.admission.without.get(at),
        })
    }

    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let factors = self.setup.table.runs.factors();
        let responses = self.picked.predictions.iter();
        let responses = responses.map(|(name, p)| (name.clone(), prediction_json(p)));
        let configurations = self
            .configurations
            .iter()
            .chain([&self.picked.configuration]);
        let jobs: Vec<Value> = self
            .lines()
            .zip(configurations)
            .map(|(line, at)| {
                json!({
                    "name": line.finish.name,
                    "configuration": settings_json(&factors.settings(at)),
                    "start_s": line.job.start_s,
                    "alone_s": line.job.alone_s,
                    "ends_without_pick_s": line.without.map(|end| end.expected_s),
                    "ends_expected_s": line.finish.expected_s,
                    "ends_latest_s": line.finish.upper_s,
                    "promised_s": line.job.promise_s,
                    "promise": line.verdict(),
                })
            })
            .collect();
        json!({
            "source": self.setup.table.source,
            "runs": self.setup.table.count,
            "objective": self.request.objective.to_string(),
            "confidence": self.request.confidence,
            "considered": self.setup.choices.len(),
            "epochs": self.setup.epochs.as_ref().map(FreeEpochs::json),
            "interference": {
                "contention": self.interference.contention,
                "coherence": self.interference.coherence,
                "fitted": self.fitted,
            },
            "widened": self.setup.learned.iter().map(Learned::json).collect::<Vec<_>>(),
            "promises_kept": self.admission.promises_kept,
            "pick": {
                "configuration": settings_json(&factors.settings(&self.picked.configuration)),
                "objective": self.picked.objective,
                "responses_alone": Value::Object(responses.collect()),
            },
            "jobs": jobs,
        })
    }
}

/// One job with its end, beside the newcomer and without it.
pub struct Line<'a> {
    /// The job, alone.
    pub job: &'a Job,
    /// Its end beside the newcomer.
    pub finish: &'a Finish,
    /// Its end without; nothing for the newcomer itself.
    pub without: Option<&'a Finish>,
}

impl Line<'_> {
    /// What becomes of the promise.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.job.promise_s, self.finish.kept, self.without) {
            (None, ..) => "none",
            (_, true, _) => "kept",
            (_, false, Some(without)) if !without.kept => "broken anyway",
            (_, false, _) => "broken",
        }
    }
}
