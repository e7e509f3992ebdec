//! `paceline run`: profiles one command.

mod front;
pub(crate) mod series;
mod spark;
mod status;

use crate::args::Format;
use crate::commands::show;
use crate::context::{self, RecordedEnvArgs};
use crate::engines::{self, EngineArgs, Purpose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity::{self, Cpus};
use crate::records::RUNS;
use crate::screen::Screen;
use crate::{signals, warden};
use front::{Front, Title};
use paceline_engine::{Command, Launch, Leftovers, RunClock, StartError, Stdin};
use paceline_model::{Outcome, RunId, WorkerId};
use paceline_probe::{Interval, Roots};
use paceline_records::{CreateRunError, Run, RunWriter, WallTime, reports_file};
use paceline_runner::reports::MetricPattern;
use paceline_runner::{ExecuteError, Execution, Interrupt, Observer, Opening, execute, placement};
use paceline_study::{EngineKind, EngineSettings};
use sha2::{Digest, Sha256};
use spark::EventLog;
use status::Status;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    record: RecordArgs,
    /// Find a metric in the output: the first group of the expression is its value; may be repeated
    #[arg(long, value_name = "NAME=REGEX", value_parser = MetricPattern::parse)]
    metric: Vec<MetricPattern>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Run the command so often, each time with a record of its own, and sum them up; what was
    /// killed goes on with the same command
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: Option<u32>,
    /// Before that, run it so often without counting it
    #[arg(long, value_name = "N", default_value_t = 0, requires = "repeat", value_parser = clap::value_parser!(u32).range(0..=1000))]
    warmup: u32,
    /// The command and its arguments; `--` before it is needed only if it begins with a dash
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What is recorded, within which limits, and what is shown of it.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// What to call the run
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Where the record goes, a directory that is not there yet [default: runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// Show no live status and no verdict
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show resources, processes, metrics and output on the whole screen; the command reads nothing
    #[arg(long, conflicts_with = "quiet")]
    tui: bool,
    /// How to print the verdict: text on stderr, or JSON on stdout (the command's own output then
    /// goes to stderr)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Under which conditions a command is measured.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MeasureArgs {
    /// The time between two samples, at least 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = quantity::duration)]
    interval: Duration,
    /// Set a variable of the command's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = quantity::variable)]
    env: Vec<(String, String)>,
    #[command(flatten)]
    recorded: RecordedEnvArgs,
    /// How many cpus the command may use (2), or exactly which (0-1 or 0,2)
    #[arg(long, value_parser = quantity::cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// How much memory the command may use, such as 8GB
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    memory: Option<u64>,
    /// End the command after this time, such as 10m
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration)]
    timeout: Option<Duration>,
}

impl MeasureArgs {
    /// The conditions in words, so that runs under others are not taken for the same.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let mut words = vec![format!("a sample every {:?}", self.interval)];
        words.extend(self.cpus.as_ref().map(|cpus| format!("cpus {cpus:?}")));
        words.extend(self.memory.map(|bytes| format!("memory {bytes}")));
        words.extend(self.timeout.map(|time| format!("timeout {time:?}")));
        // Values may be secrets; a checksum tells them apart.
        words.extend(self.env.iter().map(|(name, value)| {
            let sum = Sha256::digest(value.as_bytes());
            format!("env {name} sha256 {sum:x}")
        }));
        words
    }
}

/// A command to be profiled.
pub(crate) struct Profiled {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What stands for the command in the run's name.
    pub(crate) title: String,
    /// Metrics to be found in its output.
    pub(crate) metrics: Vec<MetricPattern>,
    /// Where it is run.
    pub(crate) engine: EngineSettings,
    /// What of the terminal it gets.
    pub(crate) terminal: Terminal,
    /// Where signals go, if somebody listens to them already.
    pub(crate) interrupt: Option<Arc<Interrupt>>,
}

/// What of the terminal a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// It reads and prints as without Paceline.
    Whole,
    /// It prints, and reads nothing: what it read would be missing the next time.
    Output,
    /// Neither; what it prints is in its record.
    Nothing,
}

/// What a profiled command came to.
pub(crate) struct Finished {
    /// Its record.
    pub(crate) dir: PathBuf,
    /// How it ended.
    pub(crate) outcome: Option<Outcome>,
    /// Why its output could not be passed on, if it could not.
    unwritten: Option<std::io::Error>,
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let title = Path::new(&args.command[0])
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let profiled = Profiled {
        command: args.command,
        title,
        metrics: args.metric,
        engine: args.engine.settings()?,
        terminal: Terminal::Whole,
        interrupt: None,
    };
    if let Some(repeat) = args.repeat {
        return series::repeated(&args.record, profiled, repeat, args.warmup);
    }
    let finished = profile(&args.record, profiled, |screen, cpus| {
        Box::new(Status::new(screen, cpus))
    })?;
    conclude(&args.record, &finished.dir)?;
    if let Some(error) = finished.unwritten {
        let error = anyhow::Error::new(error).context("cannot pass on the command's output");
        return Err(Failure::world(error).hint(
            "the command's stream was closed then, as a shell would; what it printed before is in \
             the record",
        ));
    }
    Ok(exit(finished.outcome.as_ref()))
}

/// Runs a command with a record of it. `status` makes what is shown below the
/// command's output.
pub(crate) fn profile(
    args: &RecordArgs,
    mut profiled: Profiled,
    status: impl FnOnce(Screen, u32) -> Box<dyn Observer>,
) -> Result<Finished, Failure> {
    let interval = Interval::new(args.measure.interval).map_err(Failure::user)?;
    let roots = Roots::default();
    let mut host = context::host(&roots);
    host.recorded = args.measure.recorded.to_rule();
    let machine = host.machine.clone();
    let settings = &profiled.engine;
    let is_here = settings.kind == EngineKind::Local;
    let cpus = match (&args.measure.cpus, is_here) {
        (Some(cpus), true) => Some(context::choose(cpus)?),
        (Some(cpus), false) => Some(context::count(cpus)?),
        (None, _) => None,
    };
    if is_here {
        check_program(args, &profiled.command)?;
    }
    if args.tui {
        front::check_terminal(args.format)?;
    }

    let interrupt = match &profiled.interrupt {
        Some(known) => known.clone(),
        None => {
            let interrupt = Interrupt::new();
            signals::pass_on(&interrupt)?;
            interrupt
        }
    };
    let cwd = context::working_directory()?;
    // Two commands from one directory are two.
    let own = cwd.join(std::process::id().to_string());
    let purpose = Purpose {
        place: args.out.as_deref().unwrap_or(&own),
        base: &cwd,
        sole: true,
        requests: vec![engines::request(settings)],
        node: machine.node.clone(),
    };
    let engine = engines::open(settings, &purpose)?;
    let engine = engine.as_ref().as_engine();
    // Time in a cluster's queue is no part of the run.
    let allocation = engine.allocate(&engines::request(settings), &|| interrupt.is_wanted());
    let allocation = match allocation {
        Ok(allocation) => allocation,
        Err(error @ StartError::Cancelled) => return Err(Failure::interrupted(error)),
        Err(error) => return Err(engines::cannot_start(error, settings.kind)),
    };
    let ranks = placement::ranks(&allocation, 1, settings.tasks_per_node);

    let clock = RunClock::start();
    let started = WallTime::from(clock.started_at());
    let id = run_id(args, &profiled.title, started)?;
    let dir = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new(RUNS).join(id.as_str()));
    // The command may go elsewhere; where its record is must not change by that.
    let place = dir;
    let dir = std::path::absolute(&place).map_err(Failure::world)?;
    let event_log = spark::listen(
        &mut profiled.command,
        &dir,
        context::spark_settings(&args.measure.env).as_deref(),
    );
    let words: Vec<String> = profiled
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let opening = Opening {
        id: id.clone(),
        name: args.name.clone(),
        argv: words.clone(),
        cwd: cwd.clone(),
        dir: &dir,
        set: &args.measure.env,
        cpus: cpus.as_ref(),
        memory_bytes: args.measure.memory,
        timeout: args.measure.timeout,
        interval,
        factors: Default::default(),
        machines: allocation
            .nodes
            .iter()
            .map(|node| node.machine.clone())
            .collect(),
        cluster: placement::cluster(engine.kind(), &allocation, &ranks),
    };
    let writer = RunWriter::create(&place, host.start(&opening, &clock)).map_err(cannot_create)?;
    let env = host.variables(&opening);
    tell_of_event_log(args, &event_log, &dir)?;

    let mut front = if args.tui {
        let title = Title {
            name: args.name.clone().unwrap_or_else(|| id.to_string()),
            command: words.join(" "),
            cpus: machine.cpus_count,
        };
        Front::full(title, clock, interrupt.clone())?
    } else {
        Front::plain(args.quiet, |screen| status(screen, machine.cpus_count))
    };
    let reports = reports_file(&dir);
    let commands = ranks.iter().zip(0..).map(|(rank, worker)| {
        let (out, err) = match profiled.terminal {
            Terminal::Nothing => (None, None),
            Terminal::Whole | Terminal::Output => {
                let (out, err) = front.tees(args.format);
                (Some(out), Some(err))
            }
        };
        Command {
            worker: WorkerId(worker),
            rank: *rank,
            argv: profiled.command.clone(),
            env: env.clone(),
            cwd: (!is_here).then(|| cwd.clone()),
            cpus: cpus.clone(),
            tee_out: out,
            tee_err: err,
        }
    });
    let launch = Launch {
        run: context::unique_on_host(&id),
        commands: commands.collect(),
        nodes: allocation.names(),
        stdin: match profiled.terminal {
            Terminal::Whole => front.stdin(),
            Terminal::Output | Terminal::Nothing => Stdin::Null,
        },
        memory_max: args.measure.memory,
        interval,
        // A daemon of this machine may be meant to stay; on other nodes nobody
        // would find it again.
        leftovers: match is_here {
            true => Leftovers::Leave,
            false => Leftovers::End,
        },
    };
    let execution = Execution {
        launch,
        patterns: profiled.metrics,
        reports,
        timeout: args.measure.timeout,
    };
    let warden = warden::watch(&dir);
    // The clock began before the record was made; the command's own start is
    // told by the engine.
    let executed = execute(
        engine,
        execution,
        clock,
        writer,
        &interrupt,
        front.observer(),
    );
    engine.release(&allocation);
    if let Some(warden) = warden {
        warden.dismiss();
    }
    let unwritten = front.close();
    let executed = executed.map_err(|error| cannot_execute(error, &dir))?;
    Ok(Finished {
        dir,
        outcome: executed.manifest.end.map(|end| end.outcome),
        unwritten,
    })
}

/// Makes the folder for Spark's event log, and says what was done to the command.
fn tell_of_event_log(args: &RecordArgs, event_log: &EventLog, dir: &Path) -> Result<(), Failure> {
    let words = match event_log {
        EventLog::NotSpark => return Ok(()),
        EventLog::Users(place) => format!(
            "Spark's event log goes where {place} says and not into the record: what held the \
             application back cannot be told"
        ),
        EventLog::Recorded(added) => {
            // Spark refuses to start without it.
            let folder = paceline_records::event_log_dir(dir);
            std::fs::create_dir_all(&folder).map_err(Failure::world)?;
            format!("added for Spark's event log: {}", added.join(" "))
        }
    };
    if !args.quiet {
        output::tell(&words);
    }
    Ok(())
}

/// Prints the verdict.
pub(crate) fn conclude(args: &RecordArgs, dir: &Path) -> Result<(), Failure> {
    if args.quiet && args.format == Format::Text {
        return Ok(());
    }
    let run = Run::open(dir).map_err(Failure::record)?;
    match args.format {
        Format::Json => show::print(&run, Format::Json),
        Format::Text => {
            let verdict = show::render(&run, Format::Text, &output::stderr_page())?;
            output::tell(&format!("\n{}", verdict.trim_end()));
            Ok(())
        }
    }
}

/// The command's own code, as a shell would give it.
pub(crate) fn exit(outcome: Option<&Outcome>) -> Exit {
    match outcome {
        Some(Outcome::Exited(code)) => Exit::Command(u8::try_from(*code).unwrap_or(1)),
        Some(Outcome::Signalled(signal)) => {
            Exit::Command(u8::try_from(128 + signal).unwrap_or(u8::MAX))
        }
        // As `timeout` of the core utilities does.
        Some(Outcome::TimedOut) => Exit::Command(124),
        Some(Outcome::Cancelled | Outcome::Interrupted) | None => Exit::Interrupted,
        Some(Outcome::NotStarted | Outcome::Lost) => Exit::World,
    }
}

/// A typing error must not leave a record behind.
pub(crate) fn check_program(args: &RecordArgs, command: &[OsString]) -> Result<(), Failure> {
    let path = args
        .measure
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| OsString::from(value))
        .or_else(context::search_path);
    paceline_engine::host::find_program(&command[0], None, path.as_deref())
        .map_err(cannot_start)
        .map(drop)
}

/// `20261115-224501-train.py`, or the name that `--out` gives.
fn run_id(args: &RecordArgs, title: &str, started: WallTime) -> Result<RunId, Failure> {
    if let Some(out) = &args.out {
        let name = std::path::absolute(out).map_err(Failure::world)?;
        let name = name
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        return RunId::new(&name)
            .map_err(|error| Failure::user(error).hint("the last part of --out names the run"));
    }
    let name = args.name.as_deref().unwrap_or(title);
    let digits: String = started
        .to_string()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let safe: String = name
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let milli = &digits[14..17];
    RunId::new(&format!(
        "{}-{}.{milli}-{safe}",
        &digits[..8],
        &digits[8..14]
    ))
    .map_err(Failure::user)
}

fn cannot_create(error: CreateRunError) -> Failure {
    match &error {
        CreateRunError::InUse { .. } | CreateRunError::NotEmpty { .. } => Failure::user(error)
            .hint("name another directory with --out; a record is never overwritten"),
        CreateRunError::NotADirectory { .. } => {
            Failure::user(error).hint("name a directory with --out")
        }
        CreateRunError::Write(_) => {
            Failure::world(error).hint("name a directory that can be written to with --out")
        }
    }
}

fn cannot_start(error: StartError) -> Failure {
    match &error {
        StartError::Empty | StartError::NoDirectory(_) | StartError::NoSuchCpus(_) => {
            Failure::user(error)
        }
        StartError::NotFound(_) => {
            Failure::user(error).hint("check the spelling; a script in this directory is ./NAME")
        }
        StartError::NotExecutable(name) => {
            let hint = format!(
                "`chmod +x {name}` makes a script executable; or name its interpreter first"
            );
            Failure::user(error).hint(hint)
        }
        StartError::Limits(_) => {
            Failure::world(error).hint("`paceline doctor` says which limits this machine can keep")
        }
        StartError::Refused { .. } | StartError::Watch(_) => Failure::world(error),
        StartError::TooFewNodes { .. }
        | StartError::Cancelled
        | StartError::OnNode { .. }
        // A cluster refuses before anything is started there.
        | StartError::Cluster(_) => engines::cannot_start(error, EngineKind::Local),
    }
}

fn cannot_execute(error: ExecuteError, dir: &Path) -> Failure {
    match error {
        ExecuteError::Start(error) => {
            let failure = cannot_start(error);
            // A typing error leaves no record.
            if failure.is_the_users() {
                let _ = paceline_files::remove_directory(dir);
            }
            failure
        }
        ExecuteError::Record(_) | ExecuteError::Reports { .. } => Failure::world(error).hint(format!(
            "the command was ended, because it could not be recorded; what was recorded is in {}",
            dir.display()
        )),
    }
}
