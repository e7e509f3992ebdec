//! The process that ends a run's processes if Paceline itself is killed.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{context, output};
use paceline_engine::warden::{Warden, start_on_duty};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the runs are recorded
    dir: PathBuf,
    /// Wait here, instead of starting who does
    #[arg(long)]
    on_duty: bool,
}

/// Starts the warden of what is recorded in `dir`. Where there can be none, a
/// kill of Paceline may leave processes behind, and the user is told.
pub(crate) fn watch(dir: &Path) -> Option<Warden> {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let started = context::program().map(|program| Warden::start(&program, &dir));
    match started {
        Ok(Ok(warden)) => Some(warden),
        _ => {
            output::tell(
                "notice: if paceline itself is killed (SIGKILL), what the command has started may \
                 go on",
            );
            None
        }
    }
}

/// What a warden does.
pub(crate) fn warden(args: &Args) -> Result<Exit, Failure> {
    if args.on_duty {
        paceline_runner::guard(&args.dir);
        return Ok(Exit::Done);
    }
    start_on_duty(&context::program()?, &args.dir).map_err(Failure::world)?;
    Ok(Exit::Done)
}
