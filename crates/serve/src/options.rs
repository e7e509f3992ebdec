//! What a requested job could be, from what is known of it.

use crate::queue::{Belief, Candidate, Work};
use crate::request::Request;
use paceline_advise::pick::Objective;
use paceline_advise::predict::{Choice, Role};
use paceline_answers::pick::{Offer, Offers, PickError, PickQuestion, offers};
use paceline_answers::results::{OpenResultsError, Results};
use paceline_answers::{Explained, Fitting};
use paceline_dist::StudentT;
use paceline_model::Level;
use paceline_records::study::PromisedValue;
use std::path::Path;

/// What a job could be.
pub struct Options {
    /// What is called best, in words.
    pub objective: Option<String>,
    /// How many runs were learned from.
    pub runs: usize,
    /// How many of the study's runs count.
    pub counted: usize,
    /// Objectives that differ by less are equally good.
    pub tolerance: f64,
    /// Each, with what admission asks about it.
    pub each: Vec<JobOption>,
}

/// One thing that a job could be.
pub struct JobOption {
    /// What is run.
    pub work: Work,
    /// What is believed of it.
    pub candidate: Candidate,
    /// How many times as fast it is with other numbers of CPUs.
    pub faster: Vec<(u32, f64)>,
    /// What is predicted.
    pub predictions: Vec<PromisedValue>,
    /// How many epochs it makes.
    pub epochs: Option<u32>,
}

/// Why it is not known what a job could be.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The study cannot be read.
    #[error(transparent)]
    Results(#[from] OpenResultsError),
    /// Nothing can be learned from it.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// A command has not been run often enough.
    #[error(
        "nothing is known of `{command}`: it has been done {times} times here, and {needed} are needed"
    )]
    Unknown {
        /// The command.
        command: String,
        /// How often it was done.
        times: usize,
        /// How often it must have been.
        needed: usize,
    },
}

impl OptionsError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Results(error) => error.hint(),
            Self::Pick(error) => error.hint(),
            Self::Unknown { .. } => {
                Some("--learn runs it as a first measurement, without a promise".to_owned())
            }
        }
    }
}

/// A command's times are believed from so many on.
const FEWEST: usize = 3;
/// Differences of so much of what is uncertain about the best are none.
const NEGLIGIBLE: f64 = 0.1;

/// What a study's job could be. `cpus` is how many the machine has.
///
/// # Errors
/// If its results cannot be read or nothing can be learned from them.
pub fn of_study(dir: &Path, request: &Request, cpus: u32) -> Result<Options, OptionsError> {
    let results = Results::open(dir)?;
    let objective = match (&request.maximize, &request.minimize) {
        (Some(name), _) => Some(Objective::Maximise(name.clone())),
        (None, Some(name)) => Some(Objective::Minimise(name.clone())),
        (None, None) => None,
    };
    let question = PickQuestion {
        objective,
        // A deadline is about the clock on the wall, whatever a study calls a time.
        time: Some("duration_s".to_owned()),
        given: request.given(),
        fitting: Fitting {
            predictor: Choice::Auto,
            coverage: request.confidence,
            seed: Fitting::SEED,
        },
        ..PickQuestion::default()
    };
    let found = offers(&results, &question)?;
    let used = used_cpus(&results);
    let study = results.study();
    let share = |offer: &Offer| {
        let study = study?;
        let plan = &study.state.plan;
        let level = |name: &String| {
            let own = offer.settings.iter().find(|(own, _)| own == name);
            own.map(|(_, level)| level.clone())
        };
        let levels: Option<Vec<Level>> = plan.factors.iter().map(level).collect();
        study.study.share_of(&levels?).cpus
    };
    let cpus_of = |offer: &Offer| {
        let known = offer.cpus.or_else(|| share(offer)).or(used);
        known.unwrap_or(cpus).clamp(1, cpus)
    };
    let epochs_of = |offer: &Offer| {
        let fixed = study.map(|study| study.study.fixed()).unwrap_or_default();
        let mut all = offer.settings.iter().chain(fixed);
        let (_, level) = all.find(|(name, _)| Role::parse(name) == Some(Role::Epochs))?;
        level.as_number().map(|epochs| epochs as u32)
    };
    let each = found.offers.iter().map(|offer| JobOption {
        work: Work::Study {
            dir: dir.to_owned(),
            settings: written(&offer.settings),
        },
        candidate: Candidate {
            objective: offer.objective,
            alone: Belief::new(offer.alone_s.iter().copied()),
            cpus: cpus_of(offer),
        },
        faster: faster(offer, &found, &cpus_of),
        predictions: offer.predictions.clone(),
        epochs: epochs_of(offer),
    });
    Ok(Options {
        tolerance: tolerance(&found),
        each: each.collect(),
        objective: Some(found.objective.clone()),
        runs: found.runs,
        counted: study.map_or(0, |study| study.counted().len()),
    })
}

fn written(settings: &[(String, Level)]) -> Vec<(String, String)> {
    let settings = settings.iter();
    settings
        .map(|(name, level)| (name.clone(), level.to_string()))
        .collect()
}

/// How wide the interval of the objective is, where the objective is one response.
fn tolerance(found: &Offers) -> f64 {
    let best = found
        .offers
        .iter()
        .max_by(|a, b| a.objective.total_cmp(&b.objective));
    let interval = best.and_then(|best| {
        let mut predictions = best.predictions.iter();
        predictions.find(|one| one.value.abs() == best.objective.abs())
    });
    interval.map_or(0.0, |one| NEGLIGIBLE * 0.5 * (one.high - one.low))
}

/// The same job with other numbers of CPUs, by their medians.
fn faster(offer: &Offer, all: &Offers, cpus_of: &dyn Fn(&Offer) -> u32) -> Vec<(u32, f64)> {
    let is_cpus = |name: &str| Role::parse(name) == Some(Role::Cpus);
    let others = |one: &Offer| -> Vec<(String, String)> {
        let all = written(&one.settings).into_iter();
        all.filter(|(name, _)| !is_cpus(name)).collect()
    };
    if offer.cpus.is_none() {
        return Vec::new();
    }
    let own = others(offer);
    let median = |one: &Offer| Belief::new(one.alone_s.iter().copied()).median();
    let same = all.offers.iter().filter(|one| others(one) == own);
    same.map(|one| (cpus_of(one), median(offer) / median(one).max(1e-9)))
        .filter(|(cpus, _)| *cpus != cpus_of(offer))
        .collect()
}

/// How many CPUs a study's runs kept busy, where they were measured: the most of
/// them, rounded up unless by next to nothing.
fn used_cpus(results: &Results) -> Option<u32> {
    let study = results.study()?;
    let busy = study.counted().into_iter().filter_map(|position| {
        let (_, result) = study.state.counted(position)?;
        let read = |name: &str| result.resources.get(name).copied();
        let seconds = read("cpu_user_s")? + read("cpu_system_s").unwrap_or(0.0);
        (result.duration_s > 0.0).then(|| seconds / result.duration_s)
    });
    let most = busy.reduce(f64::max)?;
    Some((most - 0.15).ceil().max(1.0) as u32)
}

/// What a command's job could be, from how long it took before: log-normal, with
/// Student's t for what so few runs do not tell.
///
/// # Errors
/// If it has not been done often enough.
pub fn of_command(
    work: &Work,
    seconds: &[f64],
    request: &Request,
) -> Result<Options, OptionsError> {
    let unknown = || OptionsError::Unknown {
        command: work.title(),
        times: seconds.len(),
        needed: FEWEST,
    };
    if seconds.len() < FEWEST {
        return Err(unknown());
    }
    let n = seconds.len() as f64;
    let logs: Vec<f64> = seconds.iter().map(|s| s.max(1e-3).ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let spread = (variance * (1.0 + 1.0 / n)).sqrt();
    let t = StudentT::new(n - 1.0).map_err(|_| unknown())?;
    let parts = paceline_answers::pick::STEPS;
    let alone = (0..parts).map(|part| {
        let p = (part as f64 + 0.5) / parts as f64;
        (mean + spread * t.quantile(p)).exp()
    });
    Ok(Options {
        objective: None,
        runs: seconds.len(),
        counted: 0,
        tolerance: 0.0,
        each: vec![JobOption {
            work: work.clone(),
            candidate: Candidate {
                objective: 0.0,
                alone: Belief::new(alone),
                cpus: request.cpus.unwrap_or(1),
            },
            faster: Vec::new(),
            predictions: Vec::new(),
            epochs: None,
        }],
    })
}
