//! Commands that are run several times, in turn, each run with its own record.

use super::{MeasureArgs, Profiled, RecordArgs, Terminal, check_program, profile};
use crate::args::Format;
use crate::context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::records::RUNS;
use crate::signals;
use anyhow::{Context, anyhow};
use paceline_answers::compare::{Group, Measured, Summary};
use paceline_answers::report::read;
use paceline_model::{Outcome, Verdict};
use paceline_records::series::{Series, SeriesLock, SeriesRun, Standing, letter};
use paceline_records::{Run, WallTime};
use paceline_report::number;
use paceline_runner::Interrupt;
use paceline_runner::reports::MetricPattern;
use paceline_study::{EngineKind, EngineSettings};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What is run, how often, and where it is recorded.
pub(crate) struct Wanted {
    /// The commands, word by word.
    pub(crate) commands: Vec<Vec<OsString>>,
    /// Metrics to be found in their output.
    pub(crate) metrics: Vec<MetricPattern>,
    /// Where they are run.
    pub(crate) engine: EngineSettings,
    pub(crate) repeat: u32,
    pub(crate) warmup: u32,
    pub(crate) seed: u64,
    /// What of the terminal they get.
    pub(crate) terminal: Terminal,
    /// What the series is called if it gets no place of its own.
    pub(crate) title: String,
    /// Where the records go, if the user says so.
    pub(crate) out: Option<PathBuf>,
    /// Begin anew, even if the same was interrupted.
    pub(crate) fresh: bool,
    /// Go on if a run fails.
    pub(crate) ignore_failures: bool,
    /// Say nothing while it runs.
    pub(crate) quiet: bool,
}

/// A series that has come to its end, or to where the user stopped it.
pub(crate) struct Executed {
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// What was asked for.
    pub(crate) series: Series,
    /// How it went.
    pub(crate) exit: Exit,
}

/// Runs everything that has no finished record yet.
pub(crate) fn execute(wanted: Wanted, measure: &MeasureArgs) -> Result<Executed, Failure> {
    let words = |command: &Vec<OsString>| -> Vec<String> {
        let words = command.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    };
    let series = Series {
        commands: wanted.commands.iter().map(words).collect(),
        cwd: context::working_directory()?,
        conditions: measure.in_words(),
        repeat: wanted.repeat,
        warmup: wanted.warmup,
        seed: wanted.seed,
    };
    let is_here = wanted.engine.kind == EngineKind::Local;
    for command in wanted.commands.iter().filter(|_| is_here) {
        check_program(&record_args(&wanted, measure, None), command)?;
    }
    let (dir, _lock) = place(&series, &wanted)?;
    series.seal_interrupted(&dir).map_err(Failure::record)?;
    let interrupt = Interrupt::new();
    signals::pass_on(&interrupt)?;
    let standing = series
        .standing(&dir, !wanted.ignore_failures)
        .map_err(Failure::record)?;
    let all = standing.len();
    let mut exit = Exit::Done;
    for (at, (run, standing)) in standing.into_iter().enumerate() {
        let Standing::ToDo(place) = standing else {
            continue;
        };
        let outcome = one(&wanted, measure, run, &place, &interrupt)?;
        if !wanted.quiet {
            output::tell(&format!(
                "{:>3} of {all}  {}",
                at + 1,
                told(&series, run, &place, outcome.as_ref())
            ));
        }
        if interrupt.is_wanted() || outcome.as_ref().is_none_or(is_unfinished) {
            output::tell(&format!(
                "interrupted: the same command goes on in {}",
                dir.display()
            ));
            exit = Exit::Interrupted;
            break;
        }
        if !is_done(outcome.as_ref()) {
            exit = Exit::Unmet;
            if !wanted.ignore_failures {
                let what = series.commands[run.command].join(" ");
                let how = outcome.map_or_else(String::new, |outcome| outcome.to_string());
                return Err(Failure::unmet(anyhow!("`{what}` {how}")).hint(format!(
                    "what it printed is in {}; --ignore-failures goes on and leaves such runs out",
                    place.join("log").display()
                )));
            }
        }
    }
    Ok(Executed { dir, series, exit })
}

fn is_done(outcome: Option<&Outcome>) -> bool {
    outcome.is_some_and(|outcome| outcome.verdict() == Verdict::Done)
}

fn is_unfinished(outcome: &Outcome) -> bool {
    outcome.verdict() == Verdict::Unfinished
}

fn told(series: &Series, run: SeriesRun, place: &Path, outcome: Option<&Outcome>) -> String {
    let duration = Run::open(place).ok().and_then(|run| {
        let end = run.manifest().end.as_ref()?;
        Some(number::duration(end.duration.as_secs()))
    });
    let who = match series.commands.len() {
        1 => String::new(),
        _ => format!("{}, ", letter(run.command).to_uppercase()),
    };
    let round = match run.warmup {
        true => format!("warm-up {}", run.round + 1),
        false => format!("round {}", run.round + 1),
    };
    let how = outcome.map_or_else(|| "not started".to_owned(), ToString::to_string);
    format!("{who}{round}: {how} in {}", duration.unwrap_or_default())
}

fn record_args(wanted: &Wanted, measure: &MeasureArgs, out: Option<PathBuf>) -> RecordArgs {
    RecordArgs {
        name: None,
        out,
        measure: measure.clone(),
        quiet: true,
        tui: false,
        // The command's output goes to stderr if stdout is for JSON.
        format: match wanted.terminal {
            Terminal::Nothing => Format::Json,
            Terminal::Whole | Terminal::Output => Format::Text,
        },
    }
}

fn one(
    wanted: &Wanted,
    measure: &MeasureArgs,
    run: SeriesRun,
    place: &Path,
    interrupt: &Arc<Interrupt>,
) -> Result<Option<Outcome>, Failure> {
    let args = record_args(wanted, measure, Some(place.to_owned()));
    let profiled = Profiled {
        command: wanted.commands[run.command].clone(),
        title: wanted.title.clone(),
        metrics: wanted.metrics.clone(),
        engine: wanted.engine.clone(),
        terminal: wanted.terminal,
        interrupt: Some(interrupt.clone()),
    };
    let finished = profile(&args, profiled, |_, _| Box::new(()))?;
    Ok(finished.outcome)
}

/// Where the series is: as the user says; where the same was interrupted; or
/// somewhere new.
fn place(series: &Series, wanted: &Wanted) -> Result<(PathBuf, SeriesLock), Failure> {
    if let Some(out) = &wanted.out {
        match Series::read(out)? {
            Some(known) if known == *series => return Ok((out.clone(), locked(out)?)),
            Some(_) => {
                return Err(Failure::user(anyhow!(
                    "{} holds the runs of other commands or conditions",
                    out.display()
                ))
                .hint("name another directory with --out; a record is never overwritten"));
            }
            None if out.read_dir().is_ok_and(|mut all| all.next().is_some()) => {
                return Err(Failure::user(anyhow!("{} is not empty", out.display()))
                    .hint("name another directory with --out; a record is never overwritten"));
            }
            None => {}
        }
        return begin(series, out.clone());
    }
    if !wanted.fresh
        && let Some((dir, lock, done)) = interrupted(series)?
    {
        output::tell(&format!(
            "goes on with {}, where {done} of {} runs are done; --fresh begins anew",
            dir.display(),
            series.runs().len()
        ));
        return Ok((dir, lock));
    }
    #[expect(clippy::disallowed_methods, reason = "records are named by their time")]
    let now = WallTime::from(SystemTime::now()).to_string();
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    let name = format!(
        "{}-{}.{}-{}",
        &digits[..8],
        &digits[8..14],
        &digits[14..17],
        wanted.title
    );
    begin(series, Path::new(RUNS).join(name))
}

fn begin(series: &Series, dir: PathBuf) -> Result<(PathBuf, SeriesLock), Failure> {
    series.write(&dir).map_err(Failure::world)?;
    let lock = locked(&dir)?;
    Ok((dir, lock))
}

fn locked(dir: &Path) -> Result<SeriesLock, Failure> {
    let lock = SeriesLock::take(dir)
        .with_context(|| format!("cannot lock {}", dir.display()))
        .map_err(Failure::world)?;
    lock.ok_or_else(|| {
        Failure::user(anyhow!("{} is being run by another process", dir.display()))
            .hint("wait for it, or name another directory with --out")
    })
}

/// The newest series of exactly these commands that was cut short and that nobody
/// works on. One with a failed run was not cut short.
fn interrupted(series: &Series) -> Result<Option<(PathBuf, SeriesLock, usize)>, Failure> {
    let Ok(entries) = std::fs::read_dir(RUNS) else {
        return Ok(None);
    };
    let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    dirs.sort();
    for dir in dirs.into_iter().rev() {
        if !matches!(Series::read(&dir), Ok(Some(known)) if known == *series) {
            continue;
        }
        let Ok(Some(lock)) = SeriesLock::take(&dir) else {
            continue;
        };
        let standing = series.standing(&dir, false).map_err(Failure::record)?;
        let count = |wanted: fn(&Standing) -> bool| {
            let all = standing.iter();
            all.filter(|(_, standing)| wanted(standing)).count()
        };
        let failed = count(|standing| matches!(standing, Standing::Failed(_)));
        let open = count(|standing| matches!(standing, Standing::ToDo(_)));
        if failed == 0 && open > 0 {
            return Ok(Some((dir, lock, standing.len() - open)));
        }
    }
    Ok(None)
}

/// The measured runs of each command of a series, as groups to compare. Runs that
/// were cut short are none of them.
pub(crate) fn groups(dir: &Path, series: &Series) -> Result<Vec<Group>, Failure> {
    let mut groups: Vec<Group> = series
        .commands
        .iter()
        .enumerate()
        .map(|(at, words)| Group {
            label: letter(at).to_uppercase(),
            what: words.join(" "),
            runs: Vec::new(),
        })
        .collect();
    for (run, standing) in series.standing(dir, false).map_err(Failure::record)? {
        if let (false, Standing::Done(place) | Standing::Failed(place)) = (run.warmup, standing) {
            let run_read = Run::open(&place)?;
            let measured = Measured::of(read(&run_read))?;
            groups[run.command].runs.push(measured);
        }
    }
    Ok(groups)
}

/// The records behind each group of [`groups`].
pub(crate) fn places(dir: &Path, series: &Series) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let mut places = vec![Vec::new(); series.commands.len()];
    for (run, standing) in series.standing(dir, false).map_err(Failure::record)? {
        if let (false, Standing::Done(place)) = (run.warmup, standing) {
            places[run.command].push(place);
        }
    }
    Ok(places)
}

/// `paceline run --repeat`: one command, summed up.
pub(super) fn repeated(
    args: &RecordArgs,
    profiled: Profiled,
    repeat: u32,
    warmup: u32,
) -> Result<Exit, Failure> {
    if args.tui {
        return Err(
            Failure::user(anyhow!("--tui shows one run, and --repeat makes {repeat}"))
                .hint("leave one of them out"),
        );
    }
    let wanted = Wanted {
        commands: vec![profiled.command],
        metrics: profiled.metrics,
        engine: profiled.engine,
        repeat,
        warmup,
        seed: 1,
        terminal: match args.format {
            Format::Text => Terminal::Output,
            Format::Json => Terminal::Nothing,
        },
        title: args.name.clone().unwrap_or(profiled.title),
        out: args.out.clone(),
        fresh: false,
        ignore_failures: false,
        quiet: args.quiet,
    };
    let executed = execute(wanted, &args.measure)?;
    let group = groups(&executed.dir, &executed.series)?.swap_remove(0);
    let summary = Summary::of(&group);
    match args.format {
        Format::Json => output::data(&output::json(&summary.json(&executed.dir)))?,
        Format::Text if args.quiet => {}
        Format::Text => {
            let page = output::stderr_page();
            let text = paceline_report::compare::summary(&summary, page);
            let dir = executed.dir.display();
            output::tell(&format!(
                "\n{text}records   {dir}\nhint: `paceline compare {dir} OTHER` says whether other \
                 runs differ; `paceline compare --repeat {repeat} -- CMD --- CMD` runs two \
                 commands in turn"
            ));
        }
    }
    Ok(executed.exit)
}
