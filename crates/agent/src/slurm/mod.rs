//! The engine `slurm`: one allocation per run, or one that all runs share.

mod queue;

use crate::engine::ClusterEngine;
use crate::hub::Hub;
use crate::site::{Acquired, Site, stamp};
use crate::ssh::OpenClusterError;
use crate::way::{Way, own_name};
use paceline_engine::{NodeRequest, RunClock, StartError};
use paceline_model::NodeName;
use parking_lot::Mutex;
use queue::{JobState, Queue};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How runs are submitted to Slurm.
#[derive(Debug, Clone)]
pub struct SlurmOptions {
    /// Further words for `sbatch`: partition, account and whatever the user says.
    pub words: Vec<String>,
    /// Whether all runs share one allocation.
    pub is_pilot: bool,
    /// Nodes of the shared allocation: as many as the largest run has.
    pub pilot_nodes: u32,
    /// Where nodes reach this machine, as `HOST` or `HOST:PORT`.
    pub address: Option<String>,
    /// How long nodes and this machine may not hear of each other.
    pub silence: Duration,
    /// Paceline's own program, which the nodes see at the same path.
    pub program: PathBuf,
    /// What tells the jobs of this study or run from those of others.
    pub key: String,
}

/// Why Slurm gives no nodes.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// One of Slurm's programs cannot be started.
    #[error("cannot start `{program}`")]
    Program {
        /// The program.
        program: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Slurm refuses.
    #[error("`{program}` refuses: {said}")]
    Refused {
        /// The program.
        program: &'static str,
        /// What it said.
        said: String,
    },
    /// A job ended before its nodes could be used.
    #[error("job {job} ended as {state} before its nodes could be used")]
    Ended {
        /// The job's id.
        job: String,
        /// What Slurm calls its end.
        state: String,
    },
    /// The agents of a job that runs were not heard in time.
    #[error("of job {job}, {heard} of {wanted} nodes reached this machine at {address}")]
    Silent {
        /// The job's id.
        job: String,
        /// How many did.
        heard: usize,
        /// How many there are.
        wanted: usize,
        /// Where they were to come.
        address: String,
    },
}

/// An engine for a Slurm cluster. Nothing is submitted before the first run, but
/// for what a controller that was killed has left: that is cancelled.
///
/// # Errors
/// If agents cannot be listened for.
pub fn slurm_engine(options: SlurmOptions) -> Result<ClusterEngine, OpenClusterError> {
    let way = Way::parse(options.address.as_deref())?;
    let hub = Hub::open(&way.listen(), options.silence)?;
    let host = way.host().unwrap_or_else(own_name);
    let program = options.program.clone();
    let site = SlurmSite {
        queue: Queue::new(format!("paceline-{}", options.key)),
        host,
        pilot: Mutex::new(None),
        current: Mutex::new(None),
        is_swept: Mutex::new(false),
        options,
    };
    Ok(ClusterEngine::new(hub, Arc::new(site), &program))
}

/// How often the queue is asked.
const GLANCE: Duration = Duration::from_millis(250);
/// How long agents may take from the start of their job to their first word.
const FIRST_WORD: Duration = Duration::from_secs(60);

struct SlurmSite {
    options: SlurmOptions,
    queue: Queue,
    /// This machine, as nodes know it.
    host: String,
    /// The shared allocation.
    pilot: Mutex<Option<String>>,
    /// The job of the run that takes place.
    current: Mutex<Option<String>>,
    /// Whether what a killed controller left was cancelled.
    is_swept: Mutex<bool>,
}

impl SlurmSite {
    /// The script of a job: one agent per node. The token is in the script, which
    /// Slurm shows to its owner only, and reaches agents by their stdin.
    fn script(&self, hub: &Hub, group: &str) -> String {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        format!(
            "#!/bin/sh\nexec srun --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --input=all {} \
             agent --controller {} --group {} --key {} --silence {}ms <<PACELINE_TOKEN\n{}\n\
             PACELINE_TOKEN\n",
            quoted(&self.options.program.to_string_lossy()),
            quoted(&hub.reached_at(&self.host)),
            quoted(group),
            quoted(&self.options.key),
            self.options.silence.as_millis(),
            hub.token().reveal(),
        )
    }

    /// Submits a job and waits until its agents are there. Gives the job's id and
    /// how long it was in the queue.
    fn submit(
        &self,
        hub: &Hub,
        nodes: u32,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(String, Duration), StartError> {
        let mut is_swept = self.is_swept.lock();
        if !*is_swept {
            // A controller that was killed could not cancel its jobs.
            self.queue.cancel_named().map_err(cluster)?;
            *is_swept = true;
        }
        drop(is_swept);
        let clock = RunClock::start();
        let group = format!("slurm-{}", stamp(&clock));
        hub.expect(&group);
        let script = self.script(hub, &group);
        let job = self
            .queue
            .submit(nodes, &self.options.words, &script)
            .map_err(cluster)?;
        *self.current.lock() = Some(job.clone());
        let waited = self.wait(hub, &job, &group, nodes as usize, &clock, is_cancelled);
        match waited {
            Ok(queued) => Ok((job, queued)),
            Err(error) => {
                hub.dismiss(&group);
                self.queue.cancel(&job);
                *self.current.lock() = None;
                Err(error)
            }
        }
    }

    fn wait(
        &self,
        hub: &Hub,
        job: &str,
        group: &str,
        wanted: usize,
        clock: &RunClock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Duration, StartError> {
        let mut began: Option<Duration> = None;
        loop {
            let heard = hub.nodes_of(group).len();
            if heard >= wanted {
                return Ok(began.unwrap_or_else(|| clock.now().into()));
            }
            if is_cancelled() {
                return Err(StartError::Cancelled);
            }
            match self.queue.state(job).map_err(cluster)? {
                JobState::Waiting => {}
                JobState::Running => {
                    let now: Duration = clock.now().into();
                    let since = *began.get_or_insert(now);
                    if now.saturating_sub(since) > FIRST_WORD {
                        return Err(cluster(SlurmError::Silent {
                            job: job.to_owned(),
                            heard,
                            wanted,
                            address: format!("{} ({})", self.host, hub.address()),
                        }));
                    }
                }
                JobState::Over(state) => {
                    let job = job.to_owned();
                    return Err(cluster(SlurmError::Ended { job, state }));
                }
            }
            hub.wait(GLANCE);
        }
    }
}

impl Site for SlurmSite {
    fn kind(&self) -> &'static str {
        "slurm"
    }

    fn acquire(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Acquired, StartError> {
        let nodes = request.nodes.max(1);
        if !self.options.is_pilot {
            let (job, queued) = self.submit(hub, nodes, is_cancelled)?;
            return Ok(Acquired {
                nodes: hub.connected().into_iter().take(nodes as usize).collect(),
                queued,
                job: Some(job),
            });
        }
        let mut pilot = self.pilot.lock();
        let mut queued = Duration::ZERO;
        // An allocation that has lost a node, or its time, is given back.
        let is_usable = pilot.is_some() && hub.connected().len() >= nodes as usize;
        if !is_usable {
            if let Some(job) = pilot.take() {
                self.queue.cancel(&job);
            }
            let count = nodes.max(self.options.pilot_nodes);
            let (job, waited) = self.submit(hub, count, is_cancelled)?;
            *pilot = Some(job);
            queued = waited;
        }
        Ok(Acquired {
            nodes: hub.connected().into_iter().take(nodes as usize).collect(),
            queued,
            job: pilot.clone(),
        })
    }

    fn release(&self, hub: &Hub, _: &[NodeName], job: Option<&str>) {
        if self.options.is_pilot {
            return;
        }
        if let Some(job) = job {
            hub.dismiss_all();
            self.queue.cancel(job);
            *self.current.lock() = None;
        }
    }

    fn has_ended(&self, _: &NodeName) -> bool {
        let current = self.current.lock().clone();
        let state = current.map(|job| self.queue.state(&job));
        matches!(state, Some(Ok(JobState::Over(_))))
    }

    fn base(&self, _: &NodeName) -> Option<(PathBuf, PathBuf)> {
        None
    }

    fn shares_files(&self) -> bool {
        true
    }

    fn close(&self) {
        let jobs = [self.pilot.lock().take(), self.current.lock().take()];
        for job in jobs.into_iter().flatten() {
            self.queue.cancel(&job);
        }
    }
}

fn cluster(error: SlurmError) -> StartError {
    StartError::Cluster(Box::new(error))
}
