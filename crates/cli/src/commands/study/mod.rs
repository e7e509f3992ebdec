//! `paceline study`: executes a designed experiment, and looks at it.

pub(super) mod checks;
pub(super) mod place;
mod progress;
pub(super) mod run;
mod status;
mod watch;

use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Execute a study, or go on with it: the same command resumes.
    Run(run::Args),
    /// Run failed runs again.
    Retry(run::RetryArgs),
    /// Show which runs of a study are done, failed or still to do.
    Status(status::Args),
    /// Watch a study until it is complete.
    Watch(watch::Args),
}

pub(crate) fn study(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Run(args) => run::run(&args),
        Command::Retry(args) => run::retry(&args),
        Command::Status(args) => status::status(&args),
        Command::Watch(args) => watch::watch(&args),
    }
}
