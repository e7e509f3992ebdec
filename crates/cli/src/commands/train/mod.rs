//! `paceline train`: the built-in trainer.
//!
//! The front starts the trainer as a command of its own and profiles it as any
//! other, so that a training's record is a run's record and a trainer that dies
//! takes nothing with it.

mod args;
mod classic;
mod data;
mod distributed;
mod external;
mod given;
mod job;
mod list;
mod member;
mod members;
mod options;
mod reports;
mod status;
mod token_file;
mod trained;
mod trainer;

use crate::commands::run::{self, Profiled};
use crate::context;
use crate::exit::Exit;
use crate::failure::Failure;
pub(crate) use args::Args;
use clap::Parser;
use classic::ClassicJob;
use distributed::Spawn;
use job::Job;
pub(crate) use job::usable_cpus;
pub(crate) use member::{ServerArgs, WorkerArgs, server, worker};
pub(crate) use options::options;
use paceline_study::EngineSettings;
use paceline_study::TRAINER;
use status::TrainingStatus;
use std::ffi::OsString;
pub(crate) use trained::Trained;
pub(crate) use trainer::trainer;

/// Checks a trainer's command of a study as the trainer will.
pub(crate) fn check_command(argv: &[String]) -> Result<(), Failure> {
    /// The trainer's command line without the program's name.
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let line = Line::try_parse_from(&argv[1..])
        .map_err(|error| Failure::user(anyhow::anyhow!("{}", first_words(&error))))?;
    checked_name(&line.args).map(drop)
}

/// Checks a training without reading data; gives its model's name.
fn checked_name(args: &Args) -> Result<String, Failure> {
    match ClassicJob::check(&args.job, None)? {
        Some(job) => Ok(job.model.to_string()),
        None => {
            let job = Job::check(&args.job, None)?;
            if let Some(plan) = job.plan().filter(|plan| plan.spawn == Spawn::Hosts) {
                plan.token_file()?;
            }
            Ok(job.model.to_string())
        }
    }
}

/// What clap says, without its usage lines.
fn first_words(error: &clap::Error) -> String {
    let text = error.to_string();
    let sentence = text.lines().next().unwrap_or_default();
    sentence.trim_start_matches("error: ").to_owned()
}

/// `words` are what the user typed after `train`.
pub(crate) fn train(args: &Args, words: &[OsString]) -> Result<Exit, Failure> {
    if args.list {
        return list::list(args.record.format);
    }
    let name = checked_name(args)?;
    let mut command = vec![
        context::program()?.into_os_string(),
        OsString::from(TRAINER),
    ];
    // What follows `train` is the trainer's too: it passes over what is the
    // recorder's business.
    command.extend(words.iter().cloned());
    let profiled = Profiled {
        command,
        title: format!("train-{name}"),
        metrics: Vec::new(),
        engine: EngineSettings::local(),
        terminal: run::Terminal::Whole,
        interrupt: None,
    };
    let finished = run::profile(&args.record, profiled, |screen, _| {
        Box::new(TrainingStatus::new(screen))
    })?;
    run::conclude(&args.record, &finished.dir)?;
    Ok(run::exit(finished.outcome.as_ref()))
}
