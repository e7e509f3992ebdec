//! The engine `spark`: executors of one application, which stays from run to run.

mod application;

use crate::engine::ClusterEngine;
use crate::hub::Hub;
use crate::site::{Acquired, Site, stamp};
use crate::ssh::OpenClusterError;
use crate::way::{Way, address_towards};
use application::{Application, Stage};
use paceline_engine::{NodeRequest, RunClock, StartError};
use paceline_model::NodeName;
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How Spark is asked for executors.
#[derive(Debug, Clone)]
pub struct SparkOptions {
    /// The cluster; what Spark's own files say without.
    pub master: Option<String>,
    /// Memory of an executor, in Spark's words.
    pub executor_memory: Option<String>,
    /// Any settings of Spark.
    pub conf: Vec<(String, String)>,
    /// The Python that holds the application.
    pub python: String,
    /// The executors' Python, if it was said.
    pub executor_python: Option<String>,
    /// Where Spark is installed, if it was said.
    pub home: Option<String>,
    /// What is known to be asked for.
    pub requests: Vec<NodeRequest>,
    /// Where executors reach this machine, as `HOST` or `HOST:PORT`.
    pub address: Option<String>,
    /// How long nodes and this machine may not hear of each other.
    pub silence: Duration,
    /// How long a run may wait for its executors.
    pub wait: Duration,
    /// Whether Paceline's program is copied to the executors, or is there.
    pub ships_program: bool,
    /// Paceline's own program.
    pub program: PathBuf,
    /// What tells the agents of this study or run from those of others.
    pub key: String,
}

/// Why Spark gives no executors.
#[derive(Debug, thiserror::Error)]
pub enum SparkError {
    /// The Python that holds the application cannot be started.
    #[error("cannot start `{python}`")]
    Python {
        /// The program.
        python: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The application ended, or did not begin.
    #[error("Spark's application ended: {said}")]
    Ended {
        /// What Spark said.
        said: String,
    },
    /// There are not as many executors.
    #[error("of {wanted} executors with {cores} cores each, {found} came within {} s{hint}", .waited.as_secs())]
    TooFew {
        /// How many were asked for.
        wanted: u32,
        /// Cores of each.
        cores: u32,
        /// How many came.
        found: u32,
        /// How long they were waited for.
        waited: Duration,
        /// What Spark said last.
        hint: String,
    },
    /// Executors came, and agents were not heard.
    #[error("{wanted} executors came, and the agents of {heard} reached this machine at {address}")]
    Silent {
        /// How many agents were heard.
        heard: usize,
        /// How many there should be.
        wanted: usize,
        /// Where they were to come.
        address: String,
    },
    /// Some executors are on one machine.
    #[error("{wanted} machines are asked for, and Spark has put the executors on {found}")]
    NotSpread {
        /// How many machines were asked for.
        wanted: u32,
        /// How many there are.
        found: usize,
    },
}

/// An engine for a Spark cluster. No application is begun before the first run.
///
/// # Errors
/// If agents cannot be listened for.
pub fn spark_engine(options: SparkOptions) -> Result<ClusterEngine, OpenClusterError> {
    let way = Way::parse(options.address.as_deref())?;
    let hub = Hub::open(&way.listen(), options.silence)?;
    let master = options.master.as_deref().unwrap_or_default();
    // A standalone master may be several: spark://HOST:PORT,HOST:PORT.
    let master = master.strip_prefix("spark://").unwrap_or_default();
    let master = master.split(',').next().unwrap_or_default();
    let host = way.host().unwrap_or_else(|| address_towards(master));
    let program = options.program.clone();
    let site = SparkSite {
        application: Mutex::new(None),
        host,
        options,
    };
    Ok(ClusterEngine::new(hub, Arc::new(site), &program))
}

/// How often an application is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// How long agents may take from the start of their tasks to their first word. A
/// barrier stage looks for its slots once a second, and Python has to start.
const FIRST_WORD: Duration = Duration::from_secs(60);

struct SparkSite {
    options: SparkOptions,
    /// This machine, as executors know it.
    host: String,
    application: Mutex<Option<Application>>,
}

impl SparkSite {
    /// The nodes of a run among the agents of an application.
    fn choose(
        hub: &Hub,
        application: &Application,
        request: &NodeRequest,
    ) -> Result<Vec<NodeName>, SparkError> {
        let wanted = request.nodes.max(1);
        let mut machines = BTreeSet::new();
        let mut chosen = hub.nodes_of(&application.group);
        if request.is_spread {
            chosen.retain(|node| {
                let agent = hub.agent(node);
                agent.is_some_and(|agent| machines.insert(agent.hello.address.clone()))
            });
        }
        let found = chosen.len();
        chosen.truncate(wanted as usize);
        match found >= wanted as usize {
            true => Ok(chosen),
            false => Err(SparkError::NotSpread { wanted, found }),
        }
    }

    /// Executors of an application: as many as any run of this shape is known to
    /// need, so that it need not grow.
    fn pool(&self, request: &NodeRequest) -> u32 {
        let alike = self.options.requests.iter();
        let alike = alike.filter(|it| it.cores == request.cores);
        let most = alike.map(|it| it.nodes).max().unwrap_or(1);
        most.max(request.nodes).max(1)
    }

    fn begin(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        clock: &RunClock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Application, StartError> {
        let options = &self.options;
        let cores = cores(request);
        let executors = self.pool(request);
        let group = format!("spark-{}", stamp(clock));
        hub.expect(&group);
        let wanted = json!({
            "master": options.master,
            "memory": options.executor_memory,
            "conf": options.conf,
            "python": options.executor_python,
            "home": options.home,
            "executors": executors,
            "cores": cores,
            "address": self.host,
            "controller": hub.reached_at(&self.host),
            "group": group,
            "key": options.key,
            "silence_ms": u64::try_from(options.silence.as_millis()).unwrap_or(u64::MAX),
            "program": options.program.to_string_lossy(),
            "ships": options.ships_program,
            "token": hub.token().reveal(),
        });
        let begun = Application::begin(&options.python, &wanted, group.clone(), cores);
        let waited = begun.map_err(cluster).and_then(|mut application| {
            let waited = self.wait(hub, &application, executors, clock, is_cancelled);
            match waited {
                Ok(()) => Ok(application),
                Err(error) => {
                    hub.dismiss(&application.group);
                    application.end();
                    Err(error)
                }
            }
        });
        waited.inspect_err(|_| hub.dismiss(&group))
    }

    fn wait(
        &self,
        hub: &Hub,
        application: &Application,
        wanted: u32,
        clock: &RunClock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), StartError> {
        let mut complete: Option<Duration> = None;
        loop {
            let heard = hub.nodes_of(&application.group).len();
            if heard >= wanted as usize {
                return Ok(());
            }
            if is_cancelled() {
                return Err(StartError::Cancelled);
            }
            let now: Duration = clock.now().into();
            match application.stage() {
                Stage::Over(said) => return Err(cluster(SparkError::Ended { said })),
                Stage::Executors(found) if found < wanted => {
                    if now > self.options.wait {
                        return Err(cluster(SparkError::TooFew {
                            wanted,
                            cores: application.cores,
                            found,
                            waited: self.options.wait,
                            hint: application.last_word(),
                        }));
                    }
                }
                Stage::Executors(_) => {
                    let since = *complete.get_or_insert(now);
                    if now.saturating_sub(since) > FIRST_WORD {
                        return Err(cluster(SparkError::Silent {
                            heard,
                            wanted: wanted as usize,
                            address: hub.reached_at(&self.host),
                        }));
                    }
                }
            }
            hub.wait(GLANCE);
        }
    }
}

impl Site for SparkSite {
    fn kind(&self) -> &'static str {
        "spark"
    }

    fn acquire(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Acquired, StartError> {
        let mut held = self.application.lock();
        let usable = held
            .as_ref()
            .filter(|application| application.cores == cores(request) && application.is_up())
            .and_then(|application| Self::choose(hub, application, request).ok());
        let mut queued = Duration::ZERO;
        let nodes = match usable {
            Some(nodes) => nodes,
            None => {
                // Executors of another shape, or fewer: they make room first.
                if let Some(mut before) = held.take() {
                    hub.dismiss(&before.group);
                    before.end();
                }
                let clock = RunClock::start();
                let application = self.begin(hub, request, &clock, is_cancelled)?;
                queued = clock.now().into();
                let chosen = Self::choose(hub, &application, request);
                *held = Some(application);
                chosen.map_err(cluster)?
            }
        };
        Ok(Acquired {
            nodes,
            queued,
            job: held.as_ref().and_then(Application::id),
        })
    }

    fn release(&self, _: &Hub, _: &[NodeName], _: Option<&str>) {}

    fn has_ended(&self, _: &NodeName) -> bool {
        // A barrier stage that loses one task has lost all.
        let held = self.application.lock();
        held.as_ref().is_none_or(|application| !application.is_up())
    }

    fn base(&self, _: &NodeName) -> Option<(PathBuf, PathBuf)> {
        None
    }

    fn shares_files(&self) -> bool {
        true
    }

    fn close(&self) {
        if let Some(mut application) = self.application.lock().take() {
            application.end();
        }
    }
}

fn cores(request: &NodeRequest) -> u32 {
    request.cores.unwrap_or(1).max(1)
}

fn cluster(error: SparkError) -> StartError {
    StartError::Cluster(Box::new(error))
}
