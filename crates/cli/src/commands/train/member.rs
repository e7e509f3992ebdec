//! `paceline worker` and `paceline server`: the members of a training, as the
//! trainer starts them, or a person or a scheduler elsewhere.

use super::args::Args;
use super::distributed::{Plan, Spawn};
use super::job::{Job, Opened};
use super::token_file;
use super::trainer::{name_process, record_iterations};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use anyhow::{Context, anyhow};
use paceline_engine::host::{take_share_of_cpus, use_batch_scheduling};
use paceline_sync::Strategy;
use paceline_train::{ClusterSession, Rendezvous, serve_at, work};
use paceline_wire::{Address, Token};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// The worker's number, from 0
    #[arg(long)]
    rank: u32,
    /// How often the worker was started before; leave it out where nobody counts
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    incarnation: u32,
    #[command(flatten)]
    train: Args,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// The server's number, from 0
    #[arg(long)]
    rank: u32,
    /// How often the server was started before
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide = true)]
    incarnation: u32,
    /// Listen here, where --at is reached by way of another address
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<Address>,
    #[command(flatten)]
    train: Args,
}

/// Computes for the servers until they end the training.
pub(crate) fn worker(args: &WorkerArgs) -> Result<Exit, Failure> {
    name_process(&format!("worker{}", args.rank));
    let mut member = Joining::prepare(&args.train)?;
    record_iterations(&mut member.session);
    let count = member.plan.cluster.workers.get();
    member.check_rank("worker", args.rank, count)?;
    member.settle(args.rank);
    member.say(&format!("worker {} joins", args.rank))?;
    work(
        &member.session,
        args.rank,
        args.incarnation,
        &member.meeting,
    )
    .map_err(Failure::world)?;
    member.say("the training has ended")?;
    Ok(Exit::Done)
}

/// Holds a range of the parameters until the trainer ends the training.
pub(crate) fn server(args: &ServerArgs) -> Result<Exit, Failure> {
    name_process(&format!("server{}", args.rank));
    let member = Joining::prepare(&args.train)?;
    if member.plan.cluster.strategy == Strategy::AllReduce {
        return Err(Failure::user(anyhow!(
            "workers that sum among themselves have no servers"
        )));
    }
    let count = member.plan.cluster.servers.get();
    member.check_rank("server", args.rank, count)?;
    let reached_at = &member.meeting.servers[args.rank as usize];
    let address = args.bind.as_ref().unwrap_or(reached_at);
    member.say(&format!("server {} listens at {address}", args.rank))?;
    serve_at(&member.session, args.rank, &member.meeting, address).map_err(Failure::world)?;
    member.say("the training has ended")?;
    Ok(Exit::Done)
}

/// A member that knows everything but what the others tell it.
struct Joining {
    session: Box<ClusterSession>,
    plan: Plan,
    meeting: Rendezvous,
}

impl Joining {
    fn prepare(args: &Args) -> Result<Self, Failure> {
        let job = Job::check(&args.job, None)?;
        let Some(plan) = job.plan() else {
            return Err(Failure::user(anyhow!("a member needs --workers")));
        };
        let token = if plan.has_token_file() {
            token_file::read(plan.token_file()?)?
        } else {
            token_from_input()?
        };
        let meeting = plan.meeting(token);
        if meeting.servers.is_empty() {
            return Err(Failure::user(anyhow!("a member needs --at")));
        }
        let Opened::Several(session, plan) = job.without_resuming().open()? else {
            unreachable!("a job with a plan opens with several workers");
        };
        Ok(Self {
            session,
            plan: *plan,
            meeting,
        })
    }

    fn check_rank(&self, role: &str, rank: u32, count: u32) -> Result<(), Failure> {
        if rank < count {
            return Ok(());
        }
        Err(Failure::user(anyhow!(
            "there is no {role} {rank}: they are numbered from 0 to {}",
            count - 1
        )))
    }

    /// Takes CPUs of its own, where the trainer has started all workers on this
    /// host, and leaves the servers theirs. What the kernel refuses costs speed
    /// only.
    fn settle(&self, rank: u32) {
        let workers = self.plan.cluster.workers.get() as usize;
        if self.plan.spawn == Spawn::Processes {
            let _ = take_share_of_cpus(rank as usize, workers, self.session.threads());
        }
        let _ = use_batch_scheduling();
    }

    /// A person started this member and may look at it.
    fn say(&self, words: &str) -> Result<(), Failure> {
        match self.plan.spawn {
            Spawn::Hosts => output::data(&format!("{words}\n")),
            Spawn::Threads | Spawn::Processes => Ok(()),
        }
    }
}

/// The first line of the input is the run's token; the input's end is the
/// trainer's, after which nobody needs this process.
fn token_from_input() -> Result<Token, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .context("cannot read the token from the input")
        .map_err(Failure::world)?;
    let token = line.parse().map_err(Failure::user)?;
    // Ctrl-C reaches every process of the terminal's job. It is for the trainer,
    // which ends its members when they have said what they did.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .context("cannot receive signals")
            .map_err(Failure::world)?;
    }
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(count) if count > 0) {}
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    Ok(token)
}
