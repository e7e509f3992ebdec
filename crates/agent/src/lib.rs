//! Runs on several nodes: one agent per node, and the engines that place runs
//! there.
//!
//! [`run_agent`] is what `paceline agent` does on a node. It opens one connection
//! to its controller, proves itself by a token inside TLS, and is then a local
//! engine at the end of a line: it starts commands, samples its node, and tells
//! everything that happens, with numbers, so that a line that is cut for a while
//! loses nothing. [`ssh_engine`] gives an [`Engine`](paceline_engine::Engine) whose
//! nodes are hosts that OpenSSH reaches, [`slurm_engine`] one whose nodes Slurm gives,
//! [`spark_engine`] one whose nodes are executors of a Spark application, and
//! [`ray_engine`] one whose nodes are those of a placement group of Ray.
//!
//! Times of a node are turned into times of the run by comparing clocks, so that
//! one record has one time line. An agent that hears nothing of its controller for
//! the time of silence ends everything that it has started; the controller gives it
//! up only after that, so that nothing runs twice.
//!
//! This crate deliberately schedules nothing: it uses the nodes that it is given.
//! It knows nothing of records, studies or metrics.

mod engine;
mod hub;
mod node;
mod protocol;
mod ray;
mod site;
mod slurm;
mod spark;
mod spool;
mod ssh;
mod way;

pub use engine::ClusterEngine;
pub use hub::OpenHubError;
pub use node::{AgentError, AgentOptions, Stop, run_agent};
pub use ray::{RayApi, RayApiError, RayError, RayOptions, ray_engine};
pub use slurm::{SlurmError, SlurmOptions, slurm_engine};
pub use spark::{SparkError, SparkOptions, spark_engine};
pub use ssh::{OpenClusterError, SshError, SshOptions, ssh_engine};
