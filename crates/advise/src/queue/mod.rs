//! Queues: how long jobs wait and how many a cluster can take.
//!
//! Arrivals are Poisson and jobs are served in order of arrival. [`MultiServer`]
//! is M/M/c (M/M/1 with one server), [`GeneralService`] is M/G/1 and, by an
//! approximation that it names, M/G/c; [`FiniteQueue`] is M/M/c/K; and
//! [`closed_network`] is a fixed number of jobs that circulate between stations.
//! [`capacity`] turns a promise such as "95% within 60 s" into the arrivals
//! that a number of servers can take.
//!
//! Any unit of time will do, if all rates and times share it. A queue whose
//! arrivals exceed its service grows without bound; it is refused instead of
//! being given a negative time.

mod capacity;
mod closed;
mod finite;
mod general;
mod multi;
mod rate;

pub use capacity::{Capacity, Promise, PromiseError, capacity};
pub use closed::{
    ClosedNetwork, ClosedNetworkError, Station, StationKind, StationLoad, closed_network,
};
pub use finite::FiniteQueue;
pub use general::{GeneralService, Service, ServiceError};
pub use multi::MultiServer;
pub use rate::{QueueError, Rate};

/// What a queue settles to in the long run. Times and counts are means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The fraction of time that a server is busy.
    pub utilisation: f64,
    /// Jobs in the system, waiting or in service.
    pub jobs: f64,
    /// Jobs that wait.
    pub jobs_waiting: f64,
    /// The time from arrival to departure.
    pub response: f64,
    /// The time from arrival to the start of service.
    pub waiting: f64,
    /// Jobs served per unit of time.
    pub throughput: f64,
}

impl Steady {
    /// From the waiting time, by Little's law (Little 1961).
    fn from_waiting(throughput: f64, service_time: f64, servers: usize, waiting: f64) -> Self {
        let response = waiting + service_time;
        Self {
            utilisation: throughput * service_time / servers as f64,
            jobs: throughput * response,
            jobs_waiting: throughput * waiting,
            response,
            waiting,
            throughput,
        }
    }
}
