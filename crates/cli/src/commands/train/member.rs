//! `paceline worker` and `paceline server`: the members of a training, as the
//! trainer starts them.

use super::args::Args;
use super::job::{Job, Opened};
use super::trainer::variable;
use crate::exit::Exit;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use paceline_train::{ClusterSession, Meeting, serve, work};
use paceline_wire::{Address, Security, Token};
use std::io::Read;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct MemberArgs {
    /// The member's number among its kind
    #[arg(long)]
    rank: u32,
    /// How often the member was started before
    #[arg(long, default_value_t = 0)]
    incarnation: u32,
    /// Where each server listens, in their order
    #[arg(long, value_name = "ADDRESS", required = true)]
    at: Vec<Address>,
    /// The checkpoint to go on from, instead of --resume
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    train: Args,
}

/// Computes for the servers until they end the training.
pub(crate) fn worker(args: &MemberArgs) -> Result<Exit, Failure> {
    let (session, meeting) = prepare(args)?;
    work(&session, args.rank, args.incarnation, &meeting).map_err(Failure::world)?;
    Ok(Exit::Done)
}

/// Holds a range of the parameters until the trainer ends the training.
pub(crate) fn server(args: &MemberArgs) -> Result<Exit, Failure> {
    let (session, meeting) = prepare(args)?;
    if args.rank as usize >= meeting.servers.len() {
        return Err(Failure::user(anyhow!("there is no server {}", args.rank)));
    }
    serve(&session, args.rank, &meeting).map_err(Failure::world)?;
    Ok(Exit::Done)
}

fn prepare(args: &MemberArgs) -> Result<(ClusterSession, Meeting), Failure> {
    let token = token()?;
    let run_dir = variable("PACELINE_RUN_DIR");
    let mut job = Job::check(&args.train.job, run_dir.as_deref())?;
    if let Some(from) = &args.from {
        job.resume_from(from.clone());
    }
    let Opened::Several(session, plan) = job.open()? else {
        return Err(Failure::user(anyhow!("a member needs --workers")));
    };
    let meeting = Meeting {
        servers: args.at.clone(),
        token,
        security: Security::Plain,
        wire: plan.wire(),
    };
    Ok((*session, meeting))
}

/// The first line of the input is the run's token; the input's end is the
/// trainer's, after which nobody needs this process.
fn token() -> Result<Token, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .context("cannot read the token from the input")
        .map_err(Failure::world)?;
    let token = line.parse().map_err(Failure::user)?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(count) if count > 0) {}
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    Ok(token)
}
