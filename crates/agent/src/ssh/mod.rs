//! The engine `ssh`: hosts that OpenSSH reaches and where nothing is installed.

mod client;
mod host;
mod ship;

pub(crate) use ship::hash_of;

use crate::engine::ClusterEngine;
use crate::hub::{Hub, OpenHubError};
use crate::site::{Acquired, Site};
use crate::way::Way;
use client::Client;
use host::{Host, Running};
use paceline_engine::{NodeRequest, StartError};
use paceline_model::NodeName;
use paceline_wire::Address;
use parking_lot::Mutex;
use ship::Parcel;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How runs are placed on hosts.
#[derive(Debug, Clone)]
pub struct SshOptions {
    /// The hosts, as OpenSSH names them; ranks are placed in this order.
    pub hosts: Vec<String>,
    /// The configuration of OpenSSH, if not the user's own.
    pub config: Option<PathBuf>,
    /// Where hosts reach this machine, as `HOST` or `HOST:PORT`; without, where
    /// their connection came from. `tunnel` has them come through that connection.
    pub address: Option<String>,
    /// How long hosts and this machine may not hear of each other.
    pub silence: Duration,
    /// Whether Paceline's program is copied to the hosts, or is there.
    pub ships_program: bool,
    /// The directory that is copied to the hosts, if any.
    pub ships: Option<PathBuf>,
    /// Paceline's own program.
    pub program: PathBuf,
    /// What tells the agents of this study or run from those of others.
    pub key: String,
    /// A private directory on this machine for the sockets of connections.
    pub sockets: PathBuf,
}

/// Why hosts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// OpenSSH's client cannot be started.
    #[error("cannot start `ssh`")]
    Client(#[source] io::Error),
    /// A host was not reached.
    #[error("ssh does not reach {host}: {said}")]
    Unreachable {
        /// The host.
        host: String,
        /// What `ssh` said.
        said: String,
    },
    /// A host is of another kind than this machine.
    #[error("{host} is {found}, and this Paceline is for {wanted}")]
    OtherMachine {
        /// The host.
        host: String,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: String,
    },
    /// Something cannot be copied to a host.
    #[error("{what} cannot be copied to {host}: {said}")]
    Ship {
        /// The host.
        host: String,
        /// What is copied.
        what: &'static str,
        /// What was said.
        said: String,
    },
    /// What is to be copied cannot be read, or is too much.
    #[error("{path} cannot be copied to hosts")]
    Parcel {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The agent of a host ended before it was heard.
    #[error("the agent on {host} did not begin: {said}")]
    Agent {
        /// The host.
        host: String,
        /// What it said.
        said: String,
    },
    /// The agent of a host was not heard in time.
    #[error("the agent on {host} does not reach this machine at {address}")]
    Silent {
        /// The host.
        host: String,
        /// Where it was to come.
        address: String,
    },
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum OpenClusterError {
    /// Agents cannot be listened for.
    #[error(transparent)]
    Hub(#[from] OpenHubError),
    /// The address is none.
    #[error("`{0}` is not an address such as 10.0.0.1 or host:7000")]
    Address(String),
    /// A directory of our own cannot be made.
    #[error("cannot make {path}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Agents of this engine come as this.
const GROUP: &str = "ssh";
/// How long an agent may take from its start to its first word.
const FIRST_WORD: Duration = Duration::from_secs(30);

/// An engine for the hosts.
///
/// No host is reached before the first run.
///
/// # Errors
/// If agents cannot be listened for.
pub fn ssh_engine(options: SshOptions) -> Result<ClusterEngine, OpenClusterError> {
    paceline_files::create_private_directory(&options.sockets).map_err(|source| {
        OpenClusterError::Directory {
            path: options.sockets.clone(),
            source,
        }
    })?;
    let way = Way::parse(options.address.as_deref())?;
    let hub = Hub::open(&way.listen(), options.silence)?;
    hub.expect(GROUP);
    let program = options.program.clone();
    let site = SshSite {
        client: Client::new(options.config.clone(), options.sockets.clone()),
        way,
        hosts: Mutex::default(),
        parcel: Mutex::default(),
        options,
    };
    Ok(ClusterEngine::new(hub, Arc::new(site), &program))
}

struct SshSite {
    options: SshOptions,
    client: Client,
    way: Way,
    hosts: Mutex<BTreeMap<NodeName, Running>>,
    /// What is copied to hosts, once it is known.
    parcel: Mutex<Option<Arc<Cargo>>>,
}

/// What is copied to hosts.
struct Cargo {
    program_hash: String,
    data: Option<Parcel>,
}

impl SshSite {
    fn name(host: &str) -> NodeName {
        // `user@host` is the host's name to the user, and no file's.
        NodeName::from_host(host.rsplit('@').next().unwrap_or(host))
    }

    fn cargo(&self) -> Result<Arc<Cargo>, SshError> {
        let mut known = self.parcel.lock();
        if let Some(cargo) = &*known {
            return Ok(Arc::clone(cargo));
        }
        let unreadable = |path: &PathBuf| {
            let path = path.clone();
            move |source| SshError::Parcel { path, source }
        };
        let program = &self.options.program;
        let program_hash = match self.options.ships_program {
            true => hash_of(program).map_err(unreadable(program))?,
            false => String::new(),
        };
        let data = match &self.options.ships {
            Some(base) => {
                let parcel = Parcel::of(base).map_err(unreadable(base))?;
                if parcel.bytes > ship::MOST_BYTES {
                    let what = format!(
                        "{} GB are more than {} GB",
                        parcel.bytes >> 30,
                        ship::MOST_BYTES >> 30
                    );
                    return Err(unreadable(base)(io::Error::other(what)));
                }
                Some(parcel)
            }
            None => None,
        };
        let cargo = Arc::new(Cargo { program_hash, data });
        *known = Some(Arc::clone(&cargo));
        Ok(cargo)
    }

    /// Starts the agents that are not there.
    fn start_missing(&self, hub: &Hub, wanted: &[(NodeName, String)]) -> Result<(), SshError> {
        let missing: Vec<_> = wanted
            .iter()
            .filter(|(node, _)| hub.agent(node).is_none())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let cargo = self.cargo()?;
        let port = match hub.address() {
            Address::Tcp { port, .. } => *port,
            Address::Unix(_) => 0,
        };
        let started: Vec<Result<(NodeName, Running), SshError>> = std::thread::scope(|scope| {
            let threads: Vec<_> = missing
                .into_iter()
                .map(|(node, host)| {
                    let cargo = &cargo;
                    scope.spawn(move || {
                        let host = Host {
                            name: host,
                            node,
                            client: &self.client,
                            options: &self.options,
                        };
                        let running = host.start(cargo, &self.way, port, hub.token(), GROUP)?;
                        Ok((node.clone(), running))
                    })
                })
                .collect();
            let ended = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect()
        });
        let mut failure = None;
        let mut hosts = self.hosts.lock();
        for result in started {
            match result {
                Ok((node, running)) => drop(hosts.insert(node, running)),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn wait_for_all(
        &self,
        hub: &Hub,
        wanted: &[(NodeName, String)],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), StartError> {
        let deadline = paceline_wire::Deadline::after(FIRST_WORD);
        loop {
            let missing = wanted.iter().find(|(node, _)| hub.agent(node).is_none());
            let Some((node, host)) = missing else {
                return Ok(());
            };
            if is_cancelled() {
                return Err(StartError::Cancelled);
            }
            let ended = self.hosts.lock().get_mut(node).and_then(Running::ended);
            if let Some(said) = ended {
                let host = host.clone();
                return Err(cluster(SshError::Agent { host, said }));
            }
            if deadline.has_passed() {
                return Err(cluster(SshError::Silent {
                    host: host.clone(),
                    address: format!("{:?} {}", self.way, hub.address()),
                }));
            }
            hub.wait(Duration::from_millis(20));
        }
    }
}

impl Site for SshSite {
    fn kind(&self) -> &'static str {
        "ssh"
    }

    fn acquire(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Acquired, StartError> {
        let hosts = &self.options.hosts;
        let count = request.nodes.max(1) as usize;
        if count > hosts.len() {
            return Err(StartError::TooFewNodes {
                asked: request.nodes,
                found: u32::try_from(hosts.len()).unwrap_or(u32::MAX),
            });
        }
        let wanted: Vec<(NodeName, String)> = hosts[..count]
            .iter()
            .map(|host| (Self::name(host), host.clone()))
            .collect();
        self.start_missing(hub, &wanted).map_err(cluster)?;
        self.wait_for_all(hub, &wanted, is_cancelled)?;
        Ok(Acquired {
            nodes: wanted.into_iter().map(|(node, _)| node).collect(),
            // Hosts belong to whoever may log in: there is no queue.
            queued: Duration::ZERO,
            job: None,
        })
    }

    fn release(&self, _: &Hub, _: &[NodeName], _: Option<&str>) {}

    fn has_ended(&self, node: &NodeName) -> bool {
        let mut hosts = self.hosts.lock();
        hosts.get_mut(node).is_none_or(Running::has_ended)
    }

    fn base(&self, node: &NodeName) -> Option<(PathBuf, PathBuf)> {
        let here = self.options.ships.clone()?;
        let there = self.hosts.lock().get(node)?.data.clone()?;
        Some((here, there))
    }

    fn shares_files(&self) -> bool {
        self.options.ships.is_none()
    }

    fn close(&self) {
        let hosts = std::mem::take(&mut *self.hosts.lock());
        for running in hosts.into_values() {
            running.end();
        }
        for host in &self.options.hosts {
            self.client.disconnect(host);
        }
        // Sockets go with their connections.
        let _ = paceline_files::remove_directory(&self.options.sockets);
    }
}

fn cluster(error: SshError) -> StartError {
    StartError::Cluster(Box::new(error))
}
