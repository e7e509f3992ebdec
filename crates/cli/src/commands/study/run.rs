//! `paceline study run` and `retry`.

use super::progress::Shown;
use super::{checks, place};
use crate::commands::study::status;
use crate::commands::table_args::{tell_disturbed, time_of};
use crate::engines::{self, Purpose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use crate::{context, quantity, signals, study_file};
use anyhow::Context;
use paceline_answers::results::Results;
use paceline_engine::NodeRequest;
use paceline_engine::host::usable_cpus;
use paceline_model::{Level, RunId};
use paceline_probe::{Interval, Roots};
use paceline_records::SealRunError;
use paceline_records::journal::OpenJournalError;
use paceline_records::study::{PlannedRun, RunResult, StudyDir};
use paceline_runner::placement::request;
use paceline_runner::study::{
    BegunError, Counts, OpenStudyError, Outlook, RunStudyError, Session, Settings, SyncEngine,
    Watcher, plan,
};
use paceline_runner::{Interrupt, Observer};
use paceline_study::{EngineKind, Study};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Check everything that can be checked, say what would be run, and stop
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    common: Common,
    /// Only this failed run; may be repeated
    #[arg(long, value_name = "RUN", value_parser = RunId::new)]
    run: Vec<RunId>,
}

/// The name of a quick variant, beside the study it is one of.
const QUICK_FILE: &str = "quick.toml";

#[derive(Debug, clap::Args)]
struct Common {
    /// The study: its file, or the directory with its study.toml
    study: PathBuf,
    /// Change a factor or a setting: batch_size=64,128 or design.replicates=5
    #[arg(value_name = "NAME=VALUES")]
    overrides: Vec<String>,
    /// The quick variant instead: quick.toml beside the study's file
    #[arg(long)]
    quick: bool,
    /// The study's directory [default: STUDY.study, or STUDY-quick.study with --quick]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run so many trials side by side; their timings then interfere
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,
    /// Stop at the first run that fails
    #[arg(long, conflicts_with = "keep_going")]
    fail_fast: bool,
    /// Go on after runs that fail; this is the default
    #[arg(long)]
    keep_going: bool,
    /// The time between two samples, at least 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = quantity::duration)]
    interval: Duration,
    #[command(flatten)]
    recorded: context::RecordedEnvArgs,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let prepared = prepare(&args.common)?;
    if args.dry_run {
        let (_, plan) = plan(&prepared.study)?;
        output::data(&format!(
            "{} runs of {} trials would be run in {}\n",
            plan.runs.len(),
            plan.trials.len(),
            prepared.dir.path().display()
        ))?;
        return Ok(Exit::Done);
    }
    execute(&args.common, prepared, None)
}

pub(super) fn retry(args: &RetryArgs) -> Result<Exit, Failure> {
    execute(&args.common, prepare(&args.common)?, Some(&args.run))
}

/// A study that can be run.
struct Prepared {
    study: Study,
    dir: StudyDir,
    settings: Settings,
}

/// Checks everything that can be checked before anything is written.
fn prepare(args: &Common) -> Result<Prepared, Failure> {
    let (file, named) = chosen(args)?;
    let study = study_file::load(&file, &args.overrides)?;
    let dir = place::directory(&named, args.out.as_deref())?;
    let mut settings = settings(&file, args.interval)?;
    settings.host.recorded = args.recorded.to_rule();
    settings.fail_fast = args.fail_fast;
    settings.parallel = usize::from(args.parallel);
    let cpus = settings.cpus.cores().len();
    if settings.parallel > cpus {
        return Err(Failure::user(anyhow::anyhow!(
            "--parallel {} needs as many cpus",
            settings.parallel
        ))
        .hint(format!("there are {cpus}")));
    }
    let (_, plan) = plan(&study)?;
    checks::check(
        &study,
        &plan,
        &settings.base,
        &settings.cpus,
        settings.parallel,
        &[],
    )?;
    Ok(Prepared {
        study,
        dir,
        settings,
    })
}

/// The file that is run, and what its directory is named after.
fn chosen(args: &Common) -> Result<(PathBuf, PathBuf), Failure> {
    if !args.quick {
        return Ok((args.study.clone(), args.study.clone()));
    }
    let (folder, name) = if args.study.is_dir() {
        (args.study.as_path(), args.study.file_name())
    } else {
        let folder = args.study.parent().unwrap_or(Path::new(""));
        (folder, args.study.file_stem())
    };
    let file = folder.join(QUICK_FILE);
    if !file.is_file() {
        return Err(Failure::user(anyhow::anyhow!(
            "there is no quick variant of {}",
            args.study.display()
        ))
        .hint(format!(
            "a quick variant is a study of its own, {}",
            file.display()
        )));
    }
    let mut named = name.unwrap_or(OsStr::new("study")).to_owned();
    named.push("-");
    named.push(QUICK_FILE);
    Ok((file, named.into()))
}

/// One run after another, here, on all the CPUs there are.
pub(in crate::commands) fn settings(study: &Path, interval: Duration) -> Result<Settings, Failure> {
    let interval = Interval::new(interval).map_err(Failure::user)?;
    let cpus = usable_cpus()
        .context("cannot read this process's cpus")
        .map_err(Failure::world)?;
    let base = std::path::absolute(study).map_err(Failure::world)?;
    Ok(Settings {
        base: base.parent().unwrap_or(Path::new("/")).to_owned(),
        host: context::host(&Roots::default()),
        interval,
        parallel: 1,
        cpus,
        fail_fast: false,
        program: context::program()?,
        keep_checkpoints: false,
    })
}

fn execute(args: &Common, prepared: Prepared, retry: Option<&[RunId]>) -> Result<Exit, Failure> {
    let Prepared {
        study,
        dir,
        settings,
    } = prepared;
    let parallel = settings.parallel;
    if study.engine().kind != EngineKind::Local && parallel > 1 {
        return Err(
            Failure::user(anyhow::anyhow!("--parallel is for runs on this machine"))
                .hint("`concurrency` as a factor starts several copies on the nodes of a run"),
        );
    }
    let interrupt = Interrupt::new();
    signals::pass_on(&interrupt)?;
    let engine = open_engine(&study, &dir, &settings, requests(&study)?)?;
    let session = Session::open(dir.clone(), study, settings).map_err(cannot_open)?;
    tell_recovered(&session);
    if let Some(runs) = retry {
        let retried = session.retry(runs).map_err(Failure::world)?;
        output::tell(&format!("{retried} failed runs will be run again"));
    }
    if parallel > 1 {
        output::tell(
            "notice: runs side by side share memory, disks and caches: their timings interfere",
        );
    }
    let screen = Screen::new(args.quiet);
    let warden = crate::warden::watch(dir.path());
    let outlook = watched(&session, engine.as_ref(), &interrupt, &screen, args.quiet);
    // Agents are let go before anybody reads that the study is done.
    drop(engine);
    if let Some(warden) = warden {
        warden.dismiss();
    }
    screen.close();
    let outlook = outlook.map_err(|error| cannot_run(error, &dir))?;
    let progress = session.progress();
    let counts = progress.counts();
    if !args.quiet {
        let seen = status::summary(session.plan(), &progress, &output::stderr_page());
        output::tell(&format!("{seen}\ntable: {}", dir.table("csv").display()));
    }
    // A study of which no run is done has no results yet.
    if let Ok(results) = Results::open(dir.path()) {
        tell_disturbed(
            &results,
            Some(time_of(&results)),
            "paceline analyze --response",
        );
    }
    Ok(match outlook {
        Outlook::Interrupted => {
            output::tell("interrupted; the same command goes on from here");
            Exit::Interrupted
        }
        Outlook::FailedFast => Exit::Unmet,
        Outlook::Complete if counts.failed > 0 => {
            output::tell(
                "hint: `paceline study retry` runs the failed ones again; their logs are kept",
            );
            Exit::Unmet
        }
        Outlook::Complete => Exit::Done,
    })
}

/// Opens the engine that the study names, for runs that ask for this.
pub(in crate::commands) fn open_engine(
    study: &Study,
    dir: &StudyDir,
    settings: &Settings,
    requests: Vec<NodeRequest>,
) -> Result<Box<dyn SyncEngine>, Failure> {
    let purpose = Purpose {
        place: dir.path(),
        base: &settings.base,
        sole: settings.parallel == 1,
        requests,
        node: settings.host.machine.node.clone(),
    };
    engines::open(study.engine(), &purpose)
}

/// What the runs of a study ask of their engine, each once.
fn requests(study: &Study) -> Result<Vec<NodeRequest>, Failure> {
    let (_, plan) = plan(study)?;
    let trials = plan.trials.iter();
    let requests: BTreeSet<NodeRequest> = trials
        .map(|trial| request(study.share_of(&trial.levels)))
        .collect();
    Ok(requests.into_iter().collect())
}

/// Executes what is to be done, and shows how far it is.
pub(in crate::commands) fn watched(
    session: &Session,
    engine: &dyn SyncEngine,
    interrupt: &Interrupt,
    screen: &Screen,
    quiet: bool,
) -> Result<Outlook, RunStudyError> {
    if quiet {
        return session.run(engine, interrupt, &Silent);
    }
    let shown = Shown::new(
        screen.clone(),
        session.plan().factors.clone(),
        session.settings().parallel,
        session.progress().counts(),
    );
    session.run(engine, interrupt, &shown)
}

/// Nobody watches.
struct Silent;

impl Watcher for Silent {
    fn begins(&self, _: &PlannedRun, _: &[Level], _: u32) {}

    fn ended(&self, _: &PlannedRun, _: &RunResult, _: Counts) {}

    fn observer(&self, _: &PlannedRun) -> Box<dyn Observer + '_> {
        Box::new(())
    }
}

pub(in crate::commands) fn tell_recovered(session: &Session) {
    let found = session.recovered;
    let mut parts = Vec::new();
    let mut add = |count: usize, what: &str| {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    };
    add(
        found.adopted,
        "finished runs were not noted down and are kept",
    );
    add(found.interrupted, "interrupted runs will be run again");
    add(found.ended_processes, "processes left behind were ended");
    if found.cut_bytes > 0 {
        output::tell(&format!(
            "notice: the last {} bytes of the journal are an incomplete entry and were left out",
            found.cut_bytes
        ));
    }
    if !parts.is_empty() {
        output::tell(&format!("resuming: {}", parts.join(", ")));
    }
}

pub(in crate::commands) fn cannot_open(error: OpenStudyError) -> Failure {
    match error {
        OpenStudyError::InUse(_) => {
            Failure::user(error).hint("`paceline study watch` shows how far it is")
        }
        OpenStudyError::Changed { .. } => Failure::user(error)
            .hint("a changed study is a new one: name another directory with --out"),
        OpenStudyError::NotAStudy(_) => {
            Failure::user(error).hint("name an empty or new directory with --out")
        }
        OpenStudyError::Plan(error) => error.into(),
        // A disk that is full when a study is resumed is the world's fault; the
        // records are as good as before.
        OpenStudyError::Write(_)
        | OpenStudyError::Journal(OpenJournalError::Write(_))
        | OpenStudyError::Begun {
            source: BegunError::Seal(SealRunError::Write(_)),
            ..
        } => Failure::world(error).hint("make room; the same command goes on"),
        OpenStudyError::ReadPlan(_) | OpenStudyError::Journal(_) | OpenStudyError::Begun { .. } => {
            Failure::record(error)
        }
    }
}

pub(in crate::commands) fn cannot_run(error: RunStudyError, dir: &StudyDir) -> Failure {
    Failure::world(error).hint(format!(
        "what is finished is safe in {}; the same command goes on when there is room",
        dir.path().display()
    ))
}
