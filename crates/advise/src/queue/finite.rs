//! M/M/c/K: jobs that find the system full are turned away.

use super::Steady;
use super::rate::{MOST, QueueError, Rate, check_servers};

/// An M/M/c/K queue: at most `capacity` jobs in the system. It is stable under
/// any load, because what does not fit is lost.
///
/// Gross et al., 4th edition, section 2.5.
#[derive(Debug, Clone, PartialEq)]
pub struct FiniteQueue {
    arrival: f64,
    service: f64,
    servers: usize,
    /// The probability of each number of jobs.
    states: Vec<f64>,
}

impl FiniteQueue {
    /// Refuses a capacity below the number of servers.
    pub fn new(
        arrival: Rate,
        service: Rate,
        servers: usize,
        capacity: usize,
    ) -> Result<Self, QueueError> {
        check_servers(servers)?;
        if capacity < servers {
            return Err(QueueError::CapacityBelowServers { capacity, servers });
        }
        if capacity > MOST {
            return Err(QueueError::TooMany {
                count: capacity,
                most: MOST,
            });
        }
        let work = (arrival.per_time() / service.per_time()).ln();
        // Balance of each state with the next; logarithms, because the ratio of
        // the likeliest to the least likely state may exceed any exponent.
        let mut logs = Vec::with_capacity(capacity + 1);
        let mut log = 0.0_f64;
        let mut largest = 0.0_f64;
        logs.push(log);
        for jobs in 1..=capacity {
            log += work - (jobs.min(servers) as f64).ln();
            largest = largest.max(log);
            logs.push(log);
        }
        let total: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        let states = logs
            .iter()
            .map(|log| (log - largest).exp() / total)
            .collect();
        Ok(Self {
            arrival: arrival.per_time(),
            service: service.per_time(),
            servers,
            states,
        })
    }

    /// The fraction of jobs that are turned away.
    pub fn loss_probability(&self) -> f64 {
        self.states[self.states.len() - 1]
    }

    /// The probability that so many jobs are in the system; zero beyond the
    /// capacity.
    pub fn probability_of(&self, jobs: usize) -> f64 {
        self.states.get(jobs).copied().unwrap_or(0.0)
    }

    /// The long-run means, of the jobs that are let in.
    pub fn steady(&self) -> Steady {
        let waiting_jobs: f64 = self
            .states
            .iter()
            .enumerate()
            .skip(self.servers)
            .map(|(jobs, probability)| (jobs - self.servers) as f64 * probability)
            .sum();
        let throughput = self.arrival * (1.0 - self.loss_probability());
        let waiting = waiting_jobs / throughput;
        Steady::from_waiting(throughput, 1.0 / self.service, self.servers, waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::MultiServer;

    fn rate(value: f64) -> Rate {
        Rate::new(value).unwrap()
    }

    #[test]
    fn without_waiting_room_it_is_erlangs_loss_formula() {
        // Two servers, offered load 2: B = (2²/2!) / (1 + 2 + 2) = 0.4.
        let queue = FiniteQueue::new(rate(2.0), rate(1.0), 2, 2).unwrap();
        assert!((queue.loss_probability() - 0.4).abs() < 1e-15);
        assert_eq!(queue.steady().waiting, 0.0);
    }

    #[test]
    fn ample_room_is_as_good_as_endless_room() {
        let finite = FiniteQueue::new(rate(3.0), rate(1.0), 4, 400)
            .unwrap()
            .steady();
        let endless = MultiServer::new(rate(3.0), rate(1.0), 4).unwrap().steady();
        assert!((finite.response - endless.response).abs() < 1e-10);
        assert!((finite.jobs - endless.jobs).abs() < 1e-9);
    }

    #[test]
    fn an_overloaded_queue_serves_at_its_own_rate() {
        let queue = FiniteQueue::new(rate(50.0), rate(1.0), 4, 1000).unwrap();
        assert!((queue.steady().throughput - 4.0).abs() < 1e-12);
        assert!((queue.loss_probability() - 46.0 / 50.0).abs() < 1e-12);
        assert!(FiniteQueue::new(rate(1.0), rate(1.0), 3, 2).is_err());
    }
}
