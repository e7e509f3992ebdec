//! The engine `ray`: nodes of one placement group, which a job holds from run to
//! run.

mod http;
mod job;

pub use http::{RayApi, RayApiError};

use crate::engine::ClusterEngine;
use crate::hub::Hub;
use crate::site::{Acquired, Site, stamp};
use crate::ssh::OpenClusterError;
use crate::way::{Way, address_towards};
use job::{Job, JobState};
use paceline_engine::{NodeRequest, RunClock, StartError};
use paceline_model::NodeName;
use parking_lot::Mutex;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How Ray is asked for nodes.
#[derive(Debug, Clone)]
pub struct RayOptions {
    /// The jobs API.
    pub api: RayApi,
    /// What is reserved on each node, such as `CPU`.
    pub bundle: Vec<(String, f64)>,
    /// The Python that has Ray, where the driver runs.
    pub python: String,
    /// Nodes of the placement group: as many as the largest run has.
    pub most_nodes: u32,
    /// Where nodes reach this machine, as `HOST` or `HOST:PORT`.
    pub address: Option<String>,
    /// How long nodes and this machine may not hear of each other.
    pub silence: Duration,
    /// How long a run may wait for its nodes.
    pub wait: Duration,
    /// Whether Paceline's program is copied to the nodes, or is there.
    pub ships_program: bool,
    /// Paceline's own program.
    pub program: PathBuf,
    /// What tells the jobs of this study or run from those of others.
    pub key: String,
}

/// Why Ray gives no nodes.
#[derive(Debug, thiserror::Error)]
pub enum RayError {
    /// The jobs API does not answer, or refuses.
    #[error(transparent)]
    Api(#[from] RayApiError),
    /// Paceline's program cannot be read.
    #[error("cannot read {path}")]
    Program {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The API said something that makes no sense.
    #[error("Ray's dashboard says what makes no sense: {0}")]
    Answer(String),
    /// The job ended before its nodes could be used.
    #[error("Ray's job {job} ended before its nodes could be used: {said}")]
    Ended {
        /// The job's id.
        job: String,
        /// Why.
        said: String,
    },
    /// The agents of a job were not heard in time.
    #[error("of Ray's job {job}, {heard} of {wanted} nodes reached this machine at {address} within {} s", .waited.as_secs())]
    Silent {
        /// The job's id.
        job: String,
        /// How many did.
        heard: usize,
        /// How many there are.
        wanted: u32,
        /// Where they were to come.
        address: String,
        /// How long they were waited for.
        waited: Duration,
    },
}

/// An engine for a Ray cluster. Nothing is submitted before the first run, but for
/// what a controller that was killed has left: that is stopped.
///
/// # Errors
/// If agents cannot be listened for.
pub fn ray_engine(options: RayOptions) -> Result<ClusterEngine, OpenClusterError> {
    let way = Way::parse(options.address.as_deref())?;
    let hub = Hub::open(&way.listen(), options.silence)?;
    let host = way.host();
    let host = host.unwrap_or_else(|| address_towards(options.api.place()));
    let program = options.program.clone();
    let site = RaySite {
        held: Mutex::new(None),
        is_swept: Mutex::new(false),
        host,
        options,
    };
    Ok(ClusterEngine::new(hub, Arc::new(site), &program))
}

/// How often a job is looked at.
const GLANCE: Duration = Duration::from_millis(250);
/// How long the job may take beside the time that its nodes are waited for: its
/// driver and its workers have to start.
const START: Duration = Duration::from_secs(60);
/// How long a job may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(3);

struct RaySite {
    options: RayOptions,
    /// This machine, as nodes know it.
    host: String,
    held: Mutex<Option<Held>>,
    /// Whether what a killed controller left was stopped.
    is_swept: Mutex<bool>,
}

/// The job that holds the nodes.
struct Held {
    job: Job,
    group: String,
}

impl RaySite {
    fn begin(
        &self,
        hub: &Hub,
        nodes: u32,
        clock: &RunClock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Held, StartError> {
        let options = &self.options;
        let mut is_swept = self.is_swept.lock();
        if !*is_swept {
            // A controller that was killed could not stop its jobs.
            Job::stop_all(&options.api, &options.key).map_err(cluster)?;
            *is_swept = true;
        }
        drop(is_swept);
        let group = format!("ray-{}", stamp(clock));
        hub.expect(&group);
        let submitted = self.submit(hub, nodes, &group).map_err(cluster);
        let held = submitted.and_then(|job| {
            let group = group.clone();
            let held = Held { job, group };
            match self.wait(hub, &held, nodes, clock, is_cancelled) {
                Ok(()) => Ok(held),
                Err(error) => {
                    held.job.stop();
                    Err(error)
                }
            }
        });
        held.inspect_err(|_| hub.dismiss(&group))
    }

    fn submit(&self, hub: &Hub, nodes: u32, group: &str) -> Result<Job, RayError> {
        let options = &self.options;
        let mut program = options.program.to_string_lossy().into_owned();
        let mut ships = None;
        if options.ships_program {
            let unreadable = |source| RayError::Program {
                path: options.program.clone(),
                source,
            };
            let hash = crate::ssh::hash_of(&options.program).map_err(unreadable)?;
            let bytes = std::fs::read(&options.program).map_err(unreadable)?;
            ships = Some(job::put(&options.api, &format!("{group}-program"), &bytes)?);
            program = format!("~/.cache/paceline/bin/{hash}");
        }
        let mut bundle: serde_json::Map<String, serde_json::Value> = options
            .bundle
            .iter()
            .map(|(name, amount)| (name.clone(), json!(amount)))
            .collect();
        if bundle.is_empty() {
            bundle.insert("CPU".to_owned(), json!(1));
        }
        let wanted = json!({
            "nodes": nodes,
            "bundle": bundle,
            "controller": hub.reached_at(&self.host),
            "group": group,
            "key": options.key,
            "silence_ms": u64::try_from(options.silence.as_millis()).unwrap_or(u64::MAX),
            "wait_s": options.wait.as_secs_f64(),
            "program": program,
            "ships": ships,
            "token": hub.token().reveal(),
        });
        Job::submit(&options.api, &options.python, &options.key, group, &wanted)
    }

    fn wait(
        &self,
        hub: &Hub,
        held: &Held,
        wanted: u32,
        clock: &RunClock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), StartError> {
        loop {
            let heard = hub.nodes_of(&held.group).len();
            if heard >= wanted as usize {
                return Ok(());
            }
            if is_cancelled() {
                return Err(StartError::Cancelled);
            }
            let job = held.job.id.clone();
            if let JobState::Over(said) = held.job.state().map_err(cluster)? {
                let said = held.job.reason().unwrap_or(said);
                return Err(cluster(RayError::Ended { job, said }));
            }
            let now: Duration = clock.now().into();
            if now > self.options.wait + START {
                return Err(cluster(RayError::Silent {
                    job,
                    heard,
                    wanted,
                    address: hub.reached_at(&self.host),
                    waited: now,
                }));
            }
            hub.wait(GLANCE);
        }
    }

    /// Lets the nodes go, and sees to it that the job ends.
    fn end(held: &Held) {
        let clock = RunClock::start();
        while Duration::from(clock.now()) < FAREWELL {
            if matches!(held.job.state(), Ok(JobState::Over(_))) {
                return;
            }
            std::thread::sleep(GLANCE);
        }
        held.job.stop();
    }
}

impl Site for RaySite {
    fn kind(&self) -> &'static str {
        "ray"
    }

    fn acquire(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Acquired, StartError> {
        let count = request.nodes.max(1);
        let mut slot = self.held.lock();
        let connected = |held: &Held| hub.nodes_of(&held.group).len() >= count as usize;
        let mut queued = Duration::ZERO;
        if !slot.as_ref().is_some_and(connected) {
            // Too few, or some are lost: they make room first.
            if let Some(before) = slot.take() {
                hub.dismiss(&before.group);
                Self::end(&before);
            }
            let clock = RunClock::start();
            let nodes = count.max(self.options.most_nodes);
            *slot = Some(self.begin(hub, nodes, &clock, is_cancelled)?);
            queued = clock.now().into();
        }
        let held = slot.as_ref();
        let mut nodes = held.map_or_else(Vec::new, |held| hub.nodes_of(&held.group));
        nodes.truncate(count as usize);
        Ok(Acquired {
            nodes,
            queued,
            job: held.map(|held| held.job.id.clone()),
        })
    }

    fn release(&self, _: &Hub, _: &[NodeName], _: Option<&str>) {}

    fn has_ended(&self, _: &NodeName) -> bool {
        let held = self.held.lock();
        held.as_ref()
            .is_none_or(|held| matches!(held.job.state(), Ok(JobState::Over(_))))
    }

    fn base(&self, _: &NodeName) -> Option<(PathBuf, PathBuf)> {
        None
    }

    fn shares_files(&self) -> bool {
        true
    }

    fn close(&self) {
        if let Some(held) = self.held.lock().take() {
            Self::end(&held);
        }
    }
}

fn cluster(error: RayError) -> StartError {
    StartError::Cluster(Box::new(error))
}
