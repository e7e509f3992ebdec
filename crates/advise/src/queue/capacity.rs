//! How many arrivals a number of servers can take.

use super::multi::MultiServer;
use super::rate::{QueueError, Rate};
use thiserror::Error;

/// A promise about the response time: this fraction of jobs within this time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    fraction: f64,
    within: f64,
}

/// Why a promise makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PromiseError {
    /// All jobs or none can never be promised.
    #[error("{value} is not a fraction of jobs; it must be above 0 and below 1")]
    NotAFraction {
        /// The value found.
        value: f64,
    },
    /// The time is zero, negative, infinite or not a number.
    #[error("{value} is not a time to promise; it must be finite and above zero")]
    NotATime {
        /// The value found.
        value: f64,
    },
}

impl Promise {
    /// A fraction between zero and one, within a time above zero.
    pub fn new(fraction: f64, within: f64) -> Result<Self, PromiseError> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(PromiseError::NotAFraction { value: fraction });
        }
        if !(within.is_finite() && within > 0.0) {
            return Err(PromiseError::NotATime { value: within });
        }
        Ok(Self { fraction, within })
    }

    fn is_kept_by(&self, queue: &MultiServer) -> bool {
        queue.response_exceeds(self.within) <= 1.0 - self.fraction
    }
}

/// One line of a capacity table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// How many servers.
    pub servers: usize,
    /// The greatest arrival rate that keeps the promise; `None` if service
    /// alone already breaks it.
    pub arrivals: Option<Rate>,
    /// How busy each server is at that rate.
    pub utilisation: Option<f64>,
}

/// The greatest arrival rate of an M/M/c queue that keeps a promise.
pub fn capacity(service: Rate, servers: usize, promise: Promise) -> Result<Capacity, QueueError> {
    super::rate::check_servers(servers)?;
    let limit = servers as f64 * service.per_time();
    let keeps = |arrivals: f64| {
        let queue = Rate::new(arrivals).and_then(|rate| MultiServer::new(rate, service, servers));
        queue.is_ok_and(|queue| promise.is_kept_by(&queue))
    };
    // Without arrivals, service alone must be quick enough.
    let service_exceeds = (-service.per_time() * promise.within).exp();
    if service_exceeds > 1.0 - promise.fraction {
        return Ok(Capacity {
            servers,
            arrivals: None,
            utilisation: None,
        });
    }
    // Waiting grows with arrivals, so the promise is kept up to one rate.
    let (mut low, mut high) = (0.0, limit);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if keeps(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let arrivals = Rate::new(low).ok();
    Ok(Capacity {
        servers,
        utilisation: arrivals.map(|rate| rate.per_time() / limit),
        arrivals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_a_closed_form() {
        // P(T > t) = exp(−(μ − λ) t) ≤ 1 − p  ⇔  λ ≤ μ − ln(1/(1 − p)) / t.
        let promise = Promise::new(0.95, 60.0).unwrap();
        let service = Rate::every(10.0).unwrap();
        let found = capacity(service, 1, promise).unwrap().arrivals.unwrap();
        let expected = 0.1 - 20.0_f64.ln() / 60.0;
        assert!((found.per_time() - expected).abs() < 1e-12);
    }

    #[test]
    fn more_servers_take_more_than_their_share() {
        let promise = Promise::new(0.95, 60.0).unwrap();
        let service = Rate::every(15.0).unwrap();
        let per_server = |servers| {
            let capacity = capacity(service, servers, promise).unwrap();
            capacity.arrivals.unwrap().per_time() / servers as f64
        };
        assert!(per_server(2) > per_server(1));
        assert!(per_server(8) > per_server(4));
    }

    #[test]
    fn a_promise_that_service_alone_breaks_has_no_capacity() {
        let promise = Promise::new(0.95, 10.0).unwrap();
        let found = capacity(Rate::every(10.0).unwrap(), 100, promise).unwrap();
        assert_eq!((found.arrivals, found.utilisation), (None, None));
        assert!(Promise::new(1.0, 10.0).is_err());
        assert!(Promise::new(0.5, f64::NAN).is_err());
    }
}
