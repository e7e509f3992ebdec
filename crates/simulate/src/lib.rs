//! Trainings of one to ten thousand workers on a cluster that exists on paper.
//!
//! The rules are the real ones: every simulated server asks a
//! [`paceline_sync::Coordinator`] who may go on and which updates count, and every
//! simulated worker keeps a [`paceline_sync::WorkerClock`], as those of a training
//! do. What is modelled is the cluster: how long an iteration computes, what a server
//! takes for a message, and links whose bandwidth is shared fairly by the transfers
//! on them (max–min, as flow-level network simulators do it).
//!
//! # What it leaves out
//!
//! Packets, buffers, retransmissions and the start of a connection; pauses of the
//! machine beyond what the given computing times contain; memory. A transfer to
//! several servers divides a worker's own link equally, also while one of them has
//! ended. The simulation computes no gradients: how many updates a training needs,
//! and what stale parameters cost, is given or fitted ([`Convergence`]), not found.
//! It reads no clock and no file; the seed is an argument.

mod agenda;
mod allreduce;
mod cluster;
mod compute;
mod convergence;
mod fluid;
mod outcome;
mod servers;
mod topology;

pub use cluster::{Cluster, ClusterError, Failures, Join, Network, Placement, ServerCost};
pub use compute::Compute;
pub use convergence::{Convergence, ConvergenceError, Observed};
pub use outcome::{Bound, Outcome, Shares};

use paceline_sync::Strategy;

/// Simulates so many iterations of every worker.
///
/// The same cluster, number and seed give the same outcome on every machine.
///
/// # Errors
/// If the cluster is none: what is wrong, and with which of its parts.
pub fn simulate(cluster: &Cluster, iterations: u32, seed: u64) -> Result<Outcome, ClusterError> {
    cluster.check(iterations)?;
    Ok(match cluster.strategy {
        Strategy::ParameterServer(consistency) => {
            servers::simulate(cluster, consistency, iterations, seed)
        }
        // The driver of a dataflow is one server whose iterations are bulk synchronous.
        Strategy::Dataflow => {
            let mut driver = cluster.clone();
            driver.servers = 1;
            servers::simulate(&driver, paceline_sync::Consistency::Bsp, iterations, seed)
        }
        Strategy::AllReduce => allreduce::simulate(cluster, iterations, seed),
    })
}
