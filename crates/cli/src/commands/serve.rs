//! `paceline serve`: the live page and the deadline queue of a directory.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::quantity::{self, Cpus};
use crate::{context, output, signals};
use anyhow::{Context, anyhow};
use paceline_records::journal::OpenJournalError;
use paceline_runner::Interrupt;
use paceline_serve::client::{Server, tell, webhook};
use paceline_serve::http::{Site, serve as serve_site};
use paceline_serve::place::Place;
use paceline_serve::scheduler::{Machine, OpenQueueError, Queue};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory with studies and runs; its queue is kept in DIR/queue
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The port; 0 takes one that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The address to listen at; only this machine's own are taken
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// How many CPUs jobs share (2), or exactly which (0-1) [default: all]
    #[arg(long, value_parser = quantity::cpus)]
    cpus: Option<Cpus>,
    /// Tell this address (plain http) when a job ends, fails or breaks its promise; may be repeated
    #[arg(long, value_name = "URL")]
    webhook: Vec<String>,
}

/// How often the queue looks at its jobs.
const ROUND: Duration = Duration::from_millis(500);

pub(crate) fn serve(args: &Args) -> Result<Exit, Failure> {
    if !args.bind.is_loopback() {
        return Err(Failure::user(anyhow!(
            "{} is not an address of this machine alone, and serving elsewhere needs TLS",
            args.bind
        ))
        .hint("`ssh -L 8000:127.0.0.1:PORT HOST` brings the page to another machine, encrypted"));
    }
    for url in &args.webhook {
        webhook(url).map_err(Failure::user)?;
    }
    if !args.dir.is_dir() {
        return Err(Failure::user(anyhow!(
            "{} is not a directory",
            args.dir.display()
        )));
    }
    let dir = std::fs::canonicalize(&args.dir).map_err(Failure::world)?;
    let cpus = match &args.cpus {
        Some(cpus) => context::choose(cpus)?,
        None => paceline_engine::host::usable_cpus()
            .context("cannot read this process's cpus")
            .map_err(Failure::world)?,
    };
    let machine = Machine {
        program: context::program()?,
        cpus: cpus.cores().to_vec(),
    };
    let queue = Queue::open(Place::of(&dir), machine).map_err(cannot_open)?;
    let queue = Arc::new(queue);
    let listener = TcpListener::bind((args.bind, args.port))
        .with_context(|| format!("cannot listen at {}:{}", args.bind, args.port))
        .map_err(Failure::world)?;
    let place = listener.local_addr().map_err(Failure::world)?;
    let token = token()?;
    write_server(&queue, &place.to_string(), &token)?;
    let interrupt = Interrupt::new();
    signals::pass_on(&interrupt)?;
    output::data(&format!("http://{place}/?token={token}\n"))?;
    output::tell("the page and the queue are served until you stop this (Ctrl-C); jobs go on then");
    let rounds = Arc::clone(&queue);
    let (hooks, ending) = (args.webhook.clone(), Arc::clone(&interrupt));
    let scheduler = std::thread::spawn(move || {
        let mut silent = false;
        while !ending.is_wanted() {
            match rounds.round() {
                Ok(()) => silent = false,
                // Said once, not twice a second.
                Err(_) if silent => {}
                Err(error) => {
                    silent = true;
                    output::tell(&format!(
                        "error: {}; nothing is started until it can be written",
                        paceline_model::error_chain(&error)
                    ));
                }
            }
            let news = rounds.take_news();
            for one in &news {
                output::tell(&one.words);
            }
            if !hooks.is_empty() && !news.is_empty() {
                let hooks = hooks.clone();
                std::thread::spawn(move || {
                    for one in &news {
                        let body = serde_json::to_vec(one).unwrap_or_default();
                        for url in &hooks {
                            if let Err(error) = tell(url, &body) {
                                let error = paceline_model::error_chain(&error);
                                output::tell(&format!("notice: {url} was not told: {error}"));
                            }
                        }
                    }
                });
            }
            std::thread::sleep(ROUND);
        }
    });
    let ending = Arc::clone(&interrupt);
    let server_file = queue.place().server();
    let site = Site {
        dir,
        queue,
        token,
        made_by: concat!("Paceline ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let served = serve_site(site, listener, move || ending.is_wanted());
    if scheduler.join().is_err() {
        return Err(Failure::world(anyhow!("the queue's rounds ended")));
    }
    let _ = paceline_files::remove_file(&server_file);
    served.map_err(Failure::world)?;
    Ok(Exit::Done)
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes)
        .context("there is no randomness for a token")
        .map_err(Failure::world)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where the server is, for `submit` and the others: readable by its owner alone.
fn write_server(queue: &Queue, place: &str, token: &str) -> Result<(), Failure> {
    let server = Server {
        place: place.to_owned(),
        token: token.to_owned(),
        pid: std::process::id(),
    };
    let text = serde_json::to_string(&server).map_err(Failure::world)?;
    let file = paceline_files::AtomicFile::create_private(&queue.place().server());
    let mut file = file.map_err(Failure::world)?;
    file.write_all(text.as_bytes()).map_err(Failure::world)?;
    file.commit().map_err(Failure::world)
}

fn cannot_open(error: OpenQueueError) -> Failure {
    match error {
        OpenQueueError::Journal(OpenJournalError::InUse { .. }) => {
            Failure::user(error).hint("another `paceline serve` serves this directory already")
        }
        OpenQueueError::Journal(OpenJournalError::Read(_)) => Failure::record(error),
        OpenQueueError::Journal(OpenJournalError::Write(_)) | OpenQueueError::Directory { .. } => {
            Failure::world(error)
        }
    }
}
