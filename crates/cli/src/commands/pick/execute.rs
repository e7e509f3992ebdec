//! `pick --run`: the promise, its run, and the one held against the other.
//!
//! The study is opened for writing before anything is decided, so that nothing
//! changes in between and what a killed session left is settled. The promise is
//! on disk before its run is planned: the same command goes on from wherever it
//! was stopped, and runs nothing twice.

use super::Args;
use crate::args::Format;
use crate::commands::study::{checks, place, run as study_run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use crate::study_file::capabilities;
use crate::{signals, warden};
use anyhow::anyhow;
use paceline_answers::pick::{
    AloneAnswer, PickAnswer, PickQuestion, Standing, StateError, pick as picked, settings_of,
    standing, state,
};
use paceline_answers::promises::{Held, PromisesQuestion, Verdict, promises};
use paceline_answers::results::Results;
use paceline_answers::study_file;
use paceline_model::{Level, RunId};
use paceline_records::study::{Plan, PlannedTrial, StudyDir};
use paceline_records::{Run, WallTime};
use paceline_report::promises::outcome;
use paceline_runner::Interrupt;
use paceline_runner::placement::request;
use paceline_runner::study::{Outlook, PromiseError, Session, Settings, SyncEngine};
use paceline_study::{CheckpointUse, RunFacts, Study};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

pub(super) fn run(args: &Args, question: &PickQuestion) -> Result<Exit, Failure> {
    let dir = study_dir(&place::results(args.table.path())?)?;
    let study = study_file::load(dir.path(), &[], &capabilities())?;
    let plan = Plan::read(&dir.plan())?;
    let settings = settings(&dir, &study, &plan)?;
    let opened = Session::open(dir.clone(), study, settings);
    let mut session = opened.map_err(study_run::cannot_open)?;
    study_run::tell_recovered(&session);
    let results = args.table.open()?;
    let (promise, answer) = match standing(&results, question, args.again)? {
        Standing::Answered(held) => return conclude(args, &held, None, true),
        Standing::Open(promise) => {
            output::tell(&format!(
                "going on with promise {}, whose run has not ended",
                promise.id
            ));
            (*promise, None)
        }
        Standing::New => {
            let answer = match picked(&results, question)? {
                PickAnswer::Alone(answer) => answer,
                PickAnswer::Beside(_) => {
                    return Err(Failure::user(anyhow!("--run is for a pick by itself")));
                }
            };
            if !answer.is_met() {
                let answer = PickAnswer::Alone(answer);
                output::data(&match args.format {
                    Format::Text => paceline_report::pick::text(&answer, output::stdout_page()),
                    Format::Json => output::json(&answer.json()),
                })?;
                output::tell("nothing is promised, so that nothing is run");
                return Ok(Exit::Unmet);
            }
            let promise = state(&results, question, &answer, now())?;
            (promise, Some(answer))
        }
    };
    let made = match results.study() {
        Some(study) => settings_of(study, &promise)?,
        None => return Err(StateError::NoStudy(results.source()).into()),
    };
    check(&session, &made.levels, &made.constants)?;
    // What the engine lacks is said before anything is promised.
    let engine = study_run::open_engine(
        session.study(),
        &dir,
        session.settings(),
        vec![request(session.study().share_of(&made.levels))],
    )?;
    let answer = answer.map(PickAnswer::Alone);
    if let (Some(answer), Format::Text) = (&answer, args.format) {
        output::data(&paceline_report::pick::text(answer, output::stdout_page()))?;
        output::data("\n")?;
    }
    // Until here an interrupt ends everything, and nothing was promised.
    let interrupt = Interrupt::new();
    signals::pass_on(&interrupt)?;
    let run = session.promise(&promise, &made.levels, &made.constants);
    let run = run.map_err(cannot_promise)?;
    match execute(args, &mut session, engine.as_ref(), &run, &interrupt)? {
        Outlook::Interrupted => {
            output::tell("interrupted; the same command goes on from here");
            return Ok(Exit::Interrupted);
        }
        Outlook::Complete | Outlook::FailedFast => {}
    }
    let results = Results::open(dir.path())?;
    let held = promises(&results, PromisesQuestion)?.promises;
    let held = held.into_iter().find(|held| held.promise.id == promise.id);
    let held = held.ok_or_else(|| Failure::world(anyhow!("the promise is not in the ledger")))?;
    let exit = conclude(args, &held, answer.as_ref(), false)?;
    super::tell_what_disturbed(args, &results);
    Ok(exit)
}

/// The directory of a study that was begun.
fn study_dir(path: &Path) -> Result<StudyDir, Failure> {
    if path.is_file() {
        return Err(StateError::NoStudy(path.display().to_string()).into());
    }
    let dir = StudyDir::new(&std::path::absolute(path).map_err(Failure::world)?);
    if dir.plan().exists() {
        return Ok(dir);
    }
    // Whoever names no study is told so as by every other command.
    Results::open(path)?;
    Err(StateError::NoStudy(path.display().to_string()).into())
}

/// As the study's other runs were made: from the same directory, sampled as often.
pub(in crate::commands) fn settings(
    dir: &StudyDir,
    study: &Study,
    plan: &Plan,
) -> Result<Settings, Failure> {
    let made = plan.runs.iter().find_map(|run| {
        let place = dir.attempt(&run.id, 1);
        let record = Run::open(&place).ok()?;
        let start = &record.manifest().start;
        let facts = RunFacts {
            seed: run.seed,
            run_id: run.id.to_string(),
            run_dir: place.join("work").to_string_lossy().into_owned(),
            replicate: run.replicate,
            program: String::new(),
            checkpoint_dir: String::new(),
            checkpoint: CheckpointUse::None,
            constants: Vec::new(),
            event_log_dir: String::new(),
        };
        let line = study.command_for(plan.levels(run), &facts).ok()?;
        let base = base(&start.cwd, line.cwd.as_deref());
        Some((base, Duration::from_micros(start.sample_interval.0)))
    });
    let (base, interval) = made.unwrap_or((None, Duration::from_secs(1)));
    let mut settings = study_run::settings(dir.path(), interval)?;
    if let Some(base) = base {
        settings.base = base;
    }
    Ok(settings)
}

/// The directory that paths of a study start from, where a command of it started in
/// `cwd` and the study says `within`.
fn base(cwd: &Path, within: Option<&str>) -> Option<PathBuf> {
    let within = Path::new(within.unwrap_or(""));
    if within.is_absolute() {
        // Then nothing starts from it.
        return None;
    }
    let named = within
        .components()
        .filter(|part| *part != Component::CurDir);
    let named: PathBuf = named.collect();
    if !cwd.ends_with(&named) {
        return None;
    }
    let steps = named.components().count();
    cwd.ancestors().nth(steps).map(Path::to_owned)
}

/// Refuses a run that is bound to fail, before anything is promised of it.
fn check(
    session: &Session,
    levels: &[Level],
    constants: &[(String, Level)],
) -> Result<(), Failure> {
    let plan = Plan {
        trials: vec![PlannedTrial {
            levels: levels.to_vec(),
            coded: Vec::new(),
        }],
        runs: Vec::new(),
        ..session.plan().clone()
    };
    checks::check(
        session.study(),
        &plan,
        &session.settings().base,
        &session.settings().cpus,
        1,
        constants,
    )
}

fn execute(
    args: &Args,
    session: &mut Session,
    engine: &dyn SyncEngine,
    run: &RunId,
    interrupt: &Interrupt,
) -> Result<Outlook, Failure> {
    session.run_only(std::slice::from_ref(run));
    let screen = Screen::new(args.quiet);
    let warden = warden::watch(session.dir().path());
    let outlook = study_run::watched(session, engine, interrupt, &screen, args.quiet);
    if let Some(warden) = warden {
        warden.dismiss();
    }
    screen.close();
    outlook.map_err(|error| study_run::cannot_run(error, session.dir()))
}

/// Shows what came, and ends with what became of the promise.
fn conclude(
    args: &Args,
    held: &Held,
    answer: Option<&PickAnswer>,
    before: bool,
) -> Result<Exit, Failure> {
    match args.format {
        Format::Text => output::data(&outcome(held, output::stdout_page()))?,
        Format::Json => {
            let mut value = answer.map_or(Value::Object(Default::default()), PickAnswer::json);
            value["promise"] = held.json();
            output::data(&output::json(&value))?;
        }
    }
    if before {
        output::tell(
            "this was asked before, of the same runs: nothing was run. --again states a new \
             promise and runs it",
        );
    }
    Ok(match held.verdict() {
        Verdict::Kept => Exit::Done,
        Verdict::Broken | Verdict::Failed | Verdict::Open => Exit::Unmet,
    })
}

fn cannot_promise(error: PromiseError) -> Failure {
    Failure::world(error).hint("nothing was run; the same command goes on when there is room")
}

/// The command that runs a pick, or why the study can make no such run.
pub(super) fn ready(
    results: &Results,
    question: &PickQuestion,
    answer: &AloneAnswer,
    words: &[std::ffi::OsString],
) -> Result<String, StateError> {
    let promise = state(results, question, answer, String::new())?;
    match results.study() {
        Some(study) => settings_of(study, &promise).map(|_| command(words)),
        None => Err(StateError::NoStudy(results.source())),
    }
}

/// The command that states the promise of a pick and runs it, ready for a shell.
fn command(words: &[std::ffi::OsString]) -> String {
    let words = words.iter().map(|word| quoted(&word.to_string_lossy()));
    let mut words: Vec<String> = words.collect();
    words.insert(0, "paceline".to_owned());
    words.push("--run".to_owned());
    words.join(" ")
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a promise says when it was stated, and the cli owns the clock"
)]
fn now() -> String {
    WallTime::from(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_typed() {
        for (word, expected) in [
            ("study.study", "study.study"),
            ("--limit", "--limit"),
            ("time <= 3", "'time <= 3'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn the_study_s_directory_is_where_its_runs_started() {
        let check = |cwd: &str, within: Option<&str>, expected: Option<&str>| {
            let found = base(Path::new(cwd), within);
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{cwd} {within:?}"
            );
        };
        check("/home/me", None, Some("/home/me"));
        check("/home/me/.", Some("."), Some("/home/me/."));
        check("/home/me/src/a", Some("src/a"), Some("/home/me"));
        check("/home/me/src/a", Some("./src/a"), Some("/home/me"));
        check("/tmp/r1", Some("/tmp/r1"), None);
        check("/elsewhere", Some("src"), None);
    }
}
