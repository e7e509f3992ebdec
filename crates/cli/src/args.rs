//! What the user typed.

use crate::commands::{
    agent, analyze, compare, completions, design, diagnose, doctor, evaluate, export, import, ls,
    man, pick, predict, predict_batch, promises, queue, quickstart, report, run, runs, show,
    simulate, size, study, train, tune, version,
};
#[cfg(feature = "serve")]
use crate::commands::{job, serve, submit};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::warden;
use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

/// Profiles, designs, runs, explains and tunes distributed model training.
#[derive(Debug, Parser)]
#[command(name = "paceline", version, about, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The whole story in about a minute, on data inside the program.
    Quickstart(quickstart::Args),
    /// Profile one command: where does its time go?
    Run(run::Args),
    /// Print a run again, from its record alone.
    Show(show::Args),
    /// Say what held a run back, who was slow and why, and what would help.
    Diagnose(diagnose::Args),
    /// List runs.
    Ls(ls::Args),
    /// Say whether runs differ and in what: records, or commands that are run in turn.
    Compare(compare::Args),
    /// Write a run or a study for other tools.
    Export(export::Args),
    /// Make a table of other tools' runs.
    Import(import::Args),
    /// Train a model: the built-in trainer, profiled like any command.
    Train(Box<train::Args>),
    /// Train in this process; what `train` and studies start.
    #[command(hide = true)]
    Trainer(Box<train::Args>),
    /// Compute for a training's servers; what `trainer` starts, or you elsewhere.
    #[command(hide = true)]
    Worker(Box<train::WorkerArgs>),
    /// Hold a range of a training's parameters; what `trainer` starts, or you elsewhere.
    #[command(hide = true)]
    Server(Box<train::ServerArgs>),
    /// Wait beside a run to end its processes if Paceline is killed; what `run` starts.
    #[command(hide = true)]
    Warden(warden::Args),
    /// Start and sample what a controller says, on this node; what cluster engines start.
    #[command(hide = true)]
    Agent(agent::Args),
    /// Say how good a trained model is, class by class.
    Eval(evaluate::Args),
    /// Write what a trained model says of each row.
    PredictBatch(predict_batch::Args),
    /// Say what matters for a response: ANOVA, effects, assumptions.
    Analyze(analyze::Args),
    /// Plan a study: its runs, and what they will be able to tell.
    Design(design::Args),
    /// Execute a designed experiment, and look at it.
    Study(study::Args),
    /// Predict a response, and say which predictor deserves trust.
    Predict(predict::Args),
    /// Pick the best configuration that keeps a deadline or any other limit.
    Pick(Box<pick::Args>),
    /// Hold what was promised of runs against what came.
    Promises(promises::Args),
    /// Size a cluster for a deadline at least cost.
    Size(size::Args),
    /// Simulate a training on a cluster of up to ten thousand workers, under any consistency.
    Simulate(Box<simulate::Args>),
    /// Search for the best level of a factor by real runs; the same command resumes.
    Tune(Box<tune::Args>),
    /// Say how long jobs wait, and how many a cluster can take.
    Queue(Box<queue::Args>),
    /// Say which runs of a study behave alike, and which is odd.
    Runs(runs::Args),
    /// Write everything about a study or a run on one page.
    Report(report::Args),
    /// Serve the live page and the deadline queue of a directory.
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    /// Ask for a job with a deadline: accepted with a promise, or refused with a reason.
    #[cfg(feature = "serve")]
    Submit(Box<submit::Args>),
    /// List the jobs of a queue.
    #[cfg(feature = "serve")]
    Jobs(submit::JobsArgs),
    /// Cancel a job that waits or runs.
    #[cfg(feature = "serve")]
    Cancel(submit::JobArgs),
    /// Say why a job runs as it does, and what was done for its promise.
    #[cfg(feature = "serve")]
    Explain(submit::JobArgs),
    /// Run one job of a queue; what `serve` starts.
    #[cfg(feature = "serve")]
    #[command(hide = true)]
    Job(job::Args),
    /// Say what this machine offers, what is missing, and how to get it.
    Doctor(doctor::Args),
    /// Print the completions for a shell.
    Completions(completions::Args),
    /// Write the manual pages, one for each command.
    Man(man::Args),
    /// Say which Paceline this is, and how it was built.
    Version(version::Args),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs; the keys are a promise.
    Json,
}

impl Args {
    /// Carries the command out. `words` are those after the program's name.
    pub(crate) fn run(self, words: &[OsString]) -> Result<Exit, Failure> {
        match self.command {
            Command::Quickstart(args) => quickstart::quickstart(&args),
            Command::Run(args) => run::run(args),
            Command::Show(args) => show::show(&args),
            Command::Diagnose(args) => diagnose::diagnose(&args),
            Command::Ls(args) => ls::ls(&args),
            Command::Compare(args) => compare::compare(args),
            Command::Export(args) => export::export(&args),
            Command::Import(args) => import::import(&args),
            Command::Train(args) => train::train(&args, &words[1..]),
            Command::Trainer(args) => train::trainer(&args),
            Command::Worker(args) => train::worker(&args),
            Command::Server(args) => train::server(&args),
            Command::Warden(args) => warden::warden(&args),
            Command::Agent(args) => agent::agent(&args),
            Command::Eval(args) => evaluate::evaluate(&args),
            Command::PredictBatch(args) => predict_batch::predict_batch(&args),
            Command::Analyze(args) => analyze::analyze(&args),
            Command::Design(args) => design::design(&args),
            Command::Study(args) => study::study(args),
            Command::Predict(args) => predict::predict(&args),
            Command::Pick(args) => pick::pick(&args, words),
            Command::Promises(args) => promises::promises(&args),
            Command::Simulate(args) => simulate::simulate(&args),
            Command::Size(args) => size::size(&args),
            Command::Tune(args) => tune::tune(&args),
            Command::Queue(args) => queue::queue(&args),
            Command::Runs(args) => runs::runs(&args),
            Command::Report(args) => report::report(&args),
            #[cfg(feature = "serve")]
            Command::Serve(args) => serve::serve(&args),
            #[cfg(feature = "serve")]
            Command::Submit(args) => submit::submit(&args),
            #[cfg(feature = "serve")]
            Command::Jobs(args) => submit::jobs(&args),
            #[cfg(feature = "serve")]
            Command::Cancel(args) => submit::cancel(&args),
            #[cfg(feature = "serve")]
            Command::Explain(args) => submit::explain(&args),
            #[cfg(feature = "serve")]
            Command::Job(args) => job::job(&args),
            Command::Doctor(args) => doctor::doctor(&args),
            Command::Completions(args) => completions::completions(&args),
            Command::Man(args) => man::man(&args),
            Command::Version(args) => version::version(&args),
        }
    }
}
