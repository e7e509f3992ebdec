//! `paceline job`: runs one job of the queue; what `serve` starts.
//!
//! The job's directory is taken for writing before anything else: of two runners, one
//! goes home. A run that has ended is not made again, whoever was killed in between;
//! it is only told to its study.

use super::pick::execute::settings;
use super::study::run::{cannot_open, cannot_run};
use crate::engines::{self, Purpose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, warden};
use anyhow::{Context, anyhow};
use paceline_answers::pick::settings_of;
use paceline_answers::results::StudyResults;
use paceline_answers::study_file;
use paceline_model::{Event, EventKind, Level};
use paceline_records::Run;
use paceline_records::study::{Plan, PlannedRun, Promise, RunResult, StudyDir};
use paceline_runner::placement::request;
use paceline_runner::study::{Counts, OpenStudyError, RunState, Session, Watcher};
use paceline_runner::{Interrupt, Observer};
use paceline_serve::place::JobPlace;
use paceline_serve::queue::{Job, Work};
use paceline_serve::scheduler::FINISH;
use paceline_study::Capabilities;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job's directory
    dir: PathBuf,
}

const MOST_BYTES: u64 = 4 << 20;

pub(crate) fn job(args: &Args) -> Result<Exit, Failure> {
    let place = JobPlace::new(&args.dir);
    let text = paceline_files::read_text(&place.spec(), MOST_BYTES)
        .context("cannot read the job")
        .map_err(Failure::user)?;
    let job: Job = serde_json::from_str(&text).map_err(Failure::record)?;
    let Work::Study { dir, settings: own } = &job.work else {
        return Err(Failure::user(anyhow!("a command is run by `paceline run`")));
    };
    let home = StudyDir::new(dir);
    let capabilities = Capabilities::local(crate::commands::train::options());
    let study = study_file::load(home.path(), &[], &capabilities)?;
    let plan = Plan::read(&home.plan())?;
    let wanted = settings(&home, &study, &plan)?;
    let interrupt = Interrupt::new();
    signals::pass_on(&interrupt)?;
    let (levels, constants) = made_with(&home, &job, own)?;
    let purpose = Purpose {
        place: args.dir.as_path(),
        base: &wanted.base,
        sole: false,
        requests: vec![request(study.share_of(&levels))],
        node: wanted.host.machine.node.clone(),
    };
    let opened =
        Session::open_growing(StudyDir::new(&place.study()), study.clone(), wanted.clone());
    let mut session = match opened {
        Ok(session) => session,
        Err(OpenStudyError::InUse(_)) => return Ok(Exit::Done),
        Err(error) => return Err(cannot_open(error)),
    };
    match (&job.promise, session.plan().runs.is_empty()) {
        (Some(promise), true) => {
            let noted = session.promise(promise, &levels, &constants);
            noted.map(drop).map_err(Failure::world)?;
        }
        (None, true) => session.grow(&levels, 1).map_err(Failure::world)?,
        (_, false) => {}
    }
    if matches!(session.progress().state(0), RunState::Pending) {
        let engine = engines::open(study.engine(), &purpose)?;
        let guard = warden::watch(session.dir().path());
        let watched = session.run(engine.as_ref(), &interrupt, &Steered(place.clone()));
        drop(engine);
        if let Some(guard) = guard {
            guard.dismiss();
        }
        watched.map_err(|error| cannot_run(error, session.dir()))?;
    }
    let progress = session.progress();
    let (attempt, result) = match progress.state(0) {
        RunState::Done { attempt, result } | RunState::Failed { attempt, result } => {
            (*attempt, result)
        }
        RunState::Pending | RunState::Leased { .. } => return Ok(Exit::Interrupted),
    };
    let record = session.dir().attempt(&session.plan().runs[0].id, attempt);
    if let Some(promise) = &job.promise {
        let result = with_finish(&job, result, &record);
        tell_study(&home, promise, &levels, &constants, &result, &record)?;
    }
    Ok(if result.done { Exit::Done } else { Exit::Unmet })
}

/// Levels and constants as the study's plan spells them.
#[expect(clippy::type_complexity, reason = "levels, and constants by name")]
fn made_with(
    home: &StudyDir,
    job: &Job,
    own: &[(String, String)],
) -> Result<(Vec<Level>, Vec<(String, Level)>), Failure> {
    let results = StudyResults::open(home.path())?;
    let promise = match &job.promise {
        Some(promise) => (**promise).clone(),
        None => Promise {
            id: String::new(),
            time: String::new(),
            question: String::new(),
            configuration: with_first_levels(&results, own),
            objective: String::new(),
            confidence: job.confidence,
            learned_from: 0,
            counted: 0,
            limits: Vec::new(),
            predictions: Vec::new(),
        },
    };
    let made = settings_of(&results, &promise)?;
    Ok((made.levels, made.constants))
}

/// A first measurement has the levels that were given, and the first of every other
/// factor.
fn with_first_levels(
    results: &StudyResults,
    own: &[(String, String)],
) -> indexmap::IndexMap<String, String> {
    let plan = &results.state.plan;
    let first = plan.trials.first();
    let levels = plan.factors.iter().enumerate().filter_map(|(at, name)| {
        let given = own.iter().find(|(own, _)| own == name);
        let level = match given {
            Some((_, level)) => level.clone(),
            None => first?.levels[at].to_string(),
        };
        Some((name.clone(), level))
    });
    levels.collect()
}

/// The result with what the promise limits: how long after it was made the run ended.
fn with_finish(job: &Job, result: &RunResult, record: &std::path::Path) -> RunResult {
    let mut result = result.clone();
    let ended = Run::open(record).ok().and_then(|run| {
        let manifest = run.manifest();
        let end = manifest.end.as_ref()?;
        Some(manifest.start.started.0 as f64 / 1e6 + end.duration.as_secs())
    });
    if let Some(ended) = ended {
        let finish = ended - job.accepted_ms as f64 / 1000.0;
        result.resources.insert(FINISH.to_owned(), finish);
    }
    result
}

/// So often, a second apart, a study that somebody executes is asked again; after that
/// the server starts another runner.
const PATIENCE: u32 = 60;

fn tell_study(
    home: &StudyDir,
    promise: &Promise,
    levels: &[Level],
    constants: &[(String, Level)],
    result: &RunResult,
    record: &std::path::Path,
) -> Result<(), Failure> {
    let capabilities = Capabilities::local(crate::commands::train::options());
    for _ in 0..PATIENCE {
        let study = study_file::load(home.path(), &[], &capabilities)?;
        let plan = Plan::read(&home.plan())?;
        let wanted = settings(home, &study, &plan)?;
        match Session::open(home.clone(), study, wanted) {
            Ok(mut session) => {
                let taken = session.take_over(promise, levels, constants, result, record);
                taken.map_err(Failure::world)?;
                return Ok(());
            }
            Err(OpenStudyError::InUse(_)) => std::thread::sleep(Duration::from_secs(1)),
            Err(error) => return Err(cannot_open(error)),
        }
    }
    Err(Failure::world(anyhow!(
        "the study in {} is in use",
        home.path().display()
    )))
}

/// Ends a run after as many epochs as the queue allows, if it says so meanwhile.
struct Steered(JobPlace);

impl Watcher for Steered {
    fn begins(&self, _: &PlannedRun, _: &[Level], _: u32) {}

    fn ended(&self, _: &PlannedRun, _: &RunResult, _: Counts) {}

    fn observer(&self, _: &PlannedRun) -> Box<dyn Observer + '_> {
        Box::new(Epochs {
            place: &self.0,
            done: 0,
        })
    }
}

struct Epochs<'a> {
    place: &'a JobPlace,
    done: u64,
}

impl Observer for Epochs<'_> {
    fn event(&mut self, event: &Event) {
        if event.kind == EventKind::Metric {
            self.done = self.done.max(event.step.unwrap_or(0));
        }
    }

    fn stop(&mut self) -> Option<String> {
        let text = paceline_files::read_text(&self.place.epochs(), 64).ok()?;
        let most: u64 = text.trim().parse().ok()?;
        (self.done >= most).then(|| format!("{most} epochs are all that keep its promise"))
    }
}
