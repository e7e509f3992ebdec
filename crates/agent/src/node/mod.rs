//! The agent: what runs on a node.
//!
//! It connects to its controller, says who it is, and does what it is told. If
//! the line is cut it tries again, and keeps what it has to say. If it has heard
//! nothing for too long, or whoever started it is gone, it ends everything that
//! it has started, and itself.

mod conversation;
mod guard;
mod lock;
mod task;

use crate::protocol::{FRAME_LIMIT, Hello, VERSION};
use crate::spool::{Limits, Spool};
use conversation::{Ended, converse};
use guard::Guard;
use lock::SessionLock;
use paceline_engine::{LocalEngine, RunClock, warden::Warden};
use paceline_model::{Machine, NodeName};
use paceline_probe::{Roots, detect_machine};
use paceline_records::SampleBytes;
use paceline_wire::{
    Address, ConnectError, Credentials, Deadline, Member, Role, Security, Settings, Token, connect,
};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use task::Task;

/// What an agent is started with.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where the controller listens.
    pub controller: Address,
    /// What proves agent and controller to each other.
    pub token: Token,
    /// The node, as the user knows it.
    pub node: NodeName,
    /// Where other nodes reach this one; found out without.
    pub address: Option<String>,
    /// What the controller started the agent as.
    pub group: String,
    /// The agent's place among those of all controllers: of those with the same
    /// key on one node, the last one started ends the others.
    pub key: String,
    /// Where the agent keeps its files, on a disk of the node's own.
    pub scratch: PathBuf,
    /// After how long without a word from the controller everything is ended.
    pub silence: Duration,
    /// Whether the end of stdin means that whoever started the agent is gone.
    pub is_attached: bool,
    /// Paceline's own program.
    pub program: PathBuf,
}

/// Why an agent ended other than by its controller's wish.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent's files cannot be made.
    #[error("cannot use {path}")]
    Scratch {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another agent with the same key does not end.
    #[error("another agent holds {0} and does not end")]
    Held(PathBuf),
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The controller was never reached.
    #[error("the controller was not reached")]
    Unreachable(#[source] ConnectError),
    /// The controller does not want the agent.
    #[error("the controller does not want this agent: {0}")]
    Unwanted(String),
    /// Nothing was heard of the controller for too long; everything was ended.
    #[error("nothing was heard of the controller for {} s; everything was ended", .0.as_secs())]
    Silence(Duration),
    /// Whoever started the agent is gone; everything was ended.
    #[error("whoever started the agent is gone; everything was ended")]
    Orphaned,
    /// A signal asked the agent to end.
    #[error("asked to end")]
    Stopped,
}

/// Asks an agent to end, from a signal handler's thread.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Asks it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How long an agent that was orphaned, or whose controller's port is closed,
/// waits for a word.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(3);
/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(1);
/// How long commands that are asked to end may take, once the agent has to go.
const GRACE: Duration = Duration::from_secs(3);

/// What the parts of an agent share.
struct Shared {
    engine: LocalEngine,
    /// The agent's own clock, which all its time stamps are of.
    clock: RunClock,
    spool: Spool,
    /// The run that takes place.
    task: Mutex<Option<Task>>,
    /// The agent's own directory.
    session: PathBuf,
    program: PathBuf,
    machine: Machine,
    silence: Duration,
}

/// Runs an agent until its controller lets it go.
///
/// # Errors
/// If it cannot begin, is not wanted, or has to end by itself. Whatever it has
/// started has ended when this returns.
pub fn run_agent(options: &AgentOptions, stop: &Stop) -> Result<(), AgentError> {
    let scratch = |path: &Path| {
        let path = path.to_owned();
        move |source| AgentError::Scratch { path, source }
    };
    let root = &options.scratch;
    paceline_files::create_directory(root).map_err(scratch(root))?;
    let name = format!("{}-{}", options.key, options.node);
    let _lock = SessionLock::take(&root.join(format!("{name}.lock")))?;
    let session = root.join(format!("{name}.{}", std::process::id()));
    // A leftover of an agent that was killed and had the same number.
    let _ = paceline_files::remove_directory(&session);
    paceline_files::create_private_directory(&session).map_err(scratch(&session))?;
    let file = session.join("spool");
    let spool = Spool::create(&file, Limits::default()).map_err(scratch(&file))?;
    // Without a warden, a kill of the agent may leave what its commands started.
    let warden = Warden::start(&options.program, &session).ok();
    let roots = Roots::default();
    let machine = Machine {
        node: options.node.clone(),
        ..detect_machine(&roots)
    };
    let shared = Arc::new(Shared {
        engine: LocalEngine::new(options.node.clone(), roots, true),
        clock: RunClock::start(),
        spool,
        task: Mutex::new(None),
        session: session.clone(),
        program: options.program.clone(),
        machine,
        silence: options.silence,
    });
    let guard = Guard::begin(options.is_attached).map_err(AgentError::Thread)?;
    let ended = shared.serve(options, stop, &guard);
    shared.end_all();
    match warden {
        // An agent that its controller let go leaves nothing that is not meant to
        // stay. Any other has no time to look: a warden without a word does.
        Some(warden) if ended.is_ok() => warden.dismiss(),
        other => drop(other),
    }
    // What stays is in a directory of temporary files.
    let _ = paceline_files::remove_directory(&session);
    ended
}

impl Shared {
    fn serve(
        self: &Arc<Self>,
        options: &AgentOptions,
        stop: &Stop,
        guard: &Guard,
    ) -> Result<(), AgentError> {
        let settings = line_settings(self.silence);
        let mut incarnation = 0;
        let mut heard = self.clock.now();
        let mut was_reached = false;
        loop {
            if stop.is_asked() {
                return Err(AgentError::Stopped);
            }
            let credentials = credentials(options, incarnation);
            let until = Deadline::after(ATTEMPT);
            let failure = match connect(&options.controller, &credentials, &settings, until) {
                Ok(connection) => {
                    incarnation += 1;
                    was_reached = true;
                    let hello = self.hello(options, &connection);
                    let ended = converse(self, connection, hello, stop);
                    self.spool.disconnected();
                    match ended {
                        Ended::Left => return Ok(()),
                        Ended::Unwanted(why) => return Err(AgentError::Unwanted(why)),
                        Ended::Stopped => return Err(AgentError::Stopped),
                        Ended::Cut { heard: last } => heard = last.max(heard),
                    }
                    None
                }
                Err(error) => Some(error),
            };
            let silent = Duration::from(self.clock.now().since(heard));
            // A port that is closed is one that the controller's system has closed:
            // a controller that lives listens.
            let is_refused = was_reached && failure.as_ref().is_some_and(is_refusal);
            if (guard.is_orphaned() || is_refused) && silent >= ORPHAN_PATIENCE {
                return Err(AgentError::Orphaned);
            }
            match failure {
                _ if silent < self.silence => {}
                Some(error) if !was_reached => return Err(AgentError::Unreachable(error)),
                _ => return Err(AgentError::Silence(silent)),
            }
            // An attempt that fails at once must not become a busy loop.
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn hello(&self, options: &AgentOptions, connection: &paceline_wire::Connection) -> Hello {
        let local = || connection.local_ip().map(|ip| ip.to_string());
        let address = options.address.clone().or_else(local);
        Hello {
            version: VERSION,
            group: options.group.clone(),
            // A process's number and its start tell two agents of a node apart.
            life: u64::from(std::process::id()) << 32 ^ wall_us(&self.clock, 0),
            machine: self.machine.clone(),
            address: address.unwrap_or_else(|| "127.0.0.1".to_owned()),
            pid: std::process::id(),
            dictionary: SampleBytes::dictionary(),
        }
    }

    /// Ends what runs, politely at first.
    fn end_all(&self) {
        self.spool.close();
        if let Some(task) = self.task.lock().take() {
            task.end(GRACE);
        }
    }
}

fn credentials(options: &AgentOptions, incarnation: u32) -> Credentials {
    Credentials {
        // The node's name is in the first message; the number means nothing.
        me: Member {
            role: Role::Worker,
            rank: 0,
            incarnation,
        },
        token: options.token.clone(),
        security: Security::Tls,
    }
}

/// How both ends set their connections up.
pub(crate) fn line_settings(silence: Duration) -> Settings {
    Settings {
        frame_limit: FRAME_LIMIT,
        send_timeout: silence / 2,
        backlog_limit: 16 << 20,
        // An agent must not use the CPU that it measures.
        spin: Duration::ZERO,
        shared_memory: false,
        handshakes_at_once: 256,
        handshake_timeout: Duration::from_secs(10),
        ..Settings::default()
    }
}

fn is_refusal(error: &ConnectError) -> bool {
    match error {
        ConnectError::Unreachable { source, .. } => {
            source.kind() == io::ErrorKind::ConnectionRefused
        }
        // Somebody else has the port by now.
        ConnectError::Handshake { .. } => true,
        ConnectError::SetUp { .. } => false,
    }
}

/// An instant of `clock` as the wall clock shows it, since 1970.
fn wall_us(clock: &RunClock, at: u64) -> u64 {
    let started = clock.started_at().duration_since(std::time::UNIX_EPOCH);
    let started = started.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(0));
    started.saturating_add(at)
}
