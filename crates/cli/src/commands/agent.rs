//! `paceline agent`: what a cluster engine starts on each node.

use crate::context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, quantity};
use anyhow::Context;
use paceline_agent::{AgentError, AgentOptions, Stop, run_agent};
use paceline_model::NodeName;
use paceline_wire::{Address, Token};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the controller listens, as tcp://HOST:PORT or unix:///PATH
    #[arg(long)]
    controller: Address,
    /// Where other nodes reach this one [default: the address that reaches the controller]
    #[arg(long)]
    address: Option<String>,
    /// The node, as the user knows it [default: $SLURMD_NODENAME, or the host's name]
    #[arg(long)]
    node: Option<String>,
    /// What the controller knows the agent as
    #[arg(long)]
    group: String,
    /// Of agents with the same key on one node, the last one ends the others
    #[arg(long)]
    key: String,
    /// End everything after so long without a word from the controller
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = quantity::positive_duration)]
    silence: Duration,
    /// The end of stdin means that whoever started the agent is gone
    #[arg(long)]
    attached: bool,
    /// Where the agent keeps its files [default: paceline-UID among the temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// The first line of stdin is the token: neither a command line nor an
/// environment hides it as well.
fn token() -> Result<Token, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().lock().take(256).read_line(&mut line);
    read.context("cannot read the token from stdin")
        .map_err(Failure::world)?;
    line.parse().map_err(|error| {
        Failure::user(error).hint("cluster engines start agents; nobody has to do so by hand")
    })
}

pub(crate) fn agent(args: &Args) -> Result<Exit, Failure> {
    let host = || {
        let named = context::variable("SLURMD_NODENAME");
        let named = named.map(|name| name.to_string_lossy().into_owned());
        named.unwrap_or_else(|| {
            let machine = paceline_probe::detect_machine(&paceline_probe::Roots::default());
            machine.node.to_string()
        })
    };
    let scratch = || {
        let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").ok()?);
        Some(std::env::temp_dir().join(format!("paceline-{user}")))
    };
    let options = AgentOptions {
        controller: args.controller.clone(),
        token: token()?,
        node: NodeName::from_host(&args.node.clone().unwrap_or_else(host)),
        address: args.address.clone().filter(|address| !address.is_empty()),
        group: args.group.clone(),
        key: args.key.clone(),
        scratch: match args.scratch.clone().or_else(scratch) {
            Some(scratch) => scratch,
            None => return Err(Failure::world(anyhow::anyhow!("/proc is not there"))),
        },
        silence: args.silence,
        is_attached: args.attached,
        program: context::program()?,
    };
    let stop = Arc::new(Stop::default());
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .context("cannot receive signals")
        .map_err(Failure::world)?;
    let asked = Arc::clone(&stop);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .stack_size(128 * 1024)
        .spawn(move || signals.forever().for_each(|_| asked.ask()))
        .context("cannot start a thread")
        .map_err(Failure::world)?;
    match run_agent(&options, &stop) {
        Ok(()) => Ok(Exit::Done),
        Err(AgentError::Stopped) => {
            output::tell("agent: asked to end");
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(Failure::world(error)),
    }
}
