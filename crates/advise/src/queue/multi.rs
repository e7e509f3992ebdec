//! M/M/c: exponential service by identical servers.

use super::Steady;
use super::rate::{QueueError, Rate, stable_load};

/// An M/M/c queue; with one server, M/M/1.
///
/// Gross, Shortle, Thompson and Harris, Fundamentals of Queueing Theory, 4th
/// edition, sections 2.2 and 2.3. Assumes Poisson arrivals, independent
/// exponential service times and service in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MultiServer {
    arrival: f64,
    service: f64,
    servers: usize,
    load: f64,
    waits: f64,
}

impl MultiServer {
    /// Refuses a queue that would grow without bound.
    pub fn new(arrival: Rate, service: Rate, servers: usize) -> Result<Self, QueueError> {
        let work = arrival.per_time() / service.per_time();
        let load = stable_load(work, servers)?;
        Ok(Self {
            arrival: arrival.per_time(),
            service: service.per_time(),
            servers,
            load,
            waits: erlang_c(work, servers),
        })
    }

    /// The fraction of jobs that wait (Erlang's C formula).
    pub fn waiting_probability(&self) -> f64 {
        self.waits
    }

    /// The long-run means.
    pub fn steady(&self) -> Steady {
        let waiting = self.waits / self.spare();
        Steady::from_waiting(self.arrival, 1.0 / self.service, self.servers, waiting)
    }

    /// The probability that a job waits longer than `time`.
    pub fn waiting_exceeds(&self, time: f64) -> f64 {
        if time < 0.0 {
            return 1.0;
        }
        self.waits * (-self.spare() * time).exp()
    }

    /// The probability that a job takes longer than `time` from arrival to
    /// departure: service, and with Erlang's probability an exponential wait.
    pub fn response_exceeds(&self, time: f64) -> f64 {
        if time <= 0.0 {
            return 1.0;
        }
        let served = (-self.service * time).exp();
        (1.0 - self.waits) * served + self.waits * two_stages(self.service, self.spare(), time)
    }

    /// The time within which the fraction `p` of jobs stop waiting; NaN unless
    /// `p` is in `[0, 1)`.
    pub fn waiting_quantile(&self, p: f64) -> f64 {
        if !(0.0..1.0).contains(&p) {
            return f64::NAN;
        }
        ((self.waits / (1.0 - p)).ln() / self.spare()).max(0.0)
    }

    /// The time within which the fraction `p` of jobs depart; NaN unless `p` is
    /// in `[0, 1)`.
    pub fn response_quantile(&self, p: f64) -> f64 {
        if !(0.0..1.0).contains(&p) {
            return f64::NAN;
        }
        let mut high = self.steady().response;
        while self.response_exceeds(high) > 1.0 - p {
            high *= 2.0;
        }
        let mut low = 0.0;
        // Each halving gains a bit: after 60 the interval is one rounding wide.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.response_exceeds(middle) > 1.0 - p {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// How much faster all servers together work than jobs arrive.
    fn spare(&self) -> f64 {
        self.servers as f64 * self.service * (1.0 - self.load)
    }
}

/// The fraction of jobs that find all servers busy, from the recursion for
/// Erlang's B formula, which neither overflows nor cancels.
fn erlang_c(work: f64, servers: usize) -> f64 {
    let mut blocked = 1.0;
    for busy in 1..=servers {
        blocked = work * blocked / (busy as f64 + work * blocked);
    }
    blocked / (1.0 - work / servers as f64 * (1.0 - blocked))
}

/// The probability that two exponential stages one after another take longer
/// than `time`. Written from the slower stage, so that nothing overflows and
/// equal rates need no special formula.
fn two_stages(first: f64, second: f64, time: f64) -> f64 {
    let (slow, fast) = (first.min(second), first.max(second));
    let difference = fast - slow;
    let rest = if difference * time < 1e-12 {
        time
    } else {
        -(-difference * time).exp_m1() / difference
    };
    (-slow * time).exp() * (1.0 + slow * rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(arrival: f64, service: f64, servers: usize) -> MultiServer {
        let rate = |value| Rate::new(value).unwrap();
        MultiServer::new(rate(arrival), rate(service), servers).unwrap()
    }

    /// Paper 002, section IV-B: a load of 0.8 on one server of rate 3.085 and on
    /// four of rate 3.439. For M/M/4 the paper prints E[T] = 11.005, which is its
    /// arrival rate λ = 0.8 · 3.439 · 4; the formula next to it gives 0.5075, in
    /// agreement with the E[N] = 5.58 that the paper prints.
    #[test]
    fn the_example_of_paper_002_is_reproduced_and_its_slip_is_not() {
        let one = queue(0.8 * 3.085, 3.085, 1).steady();
        assert!((one.jobs - 4.0).abs() < 1e-12);
        assert!((one.response - 1.620).abs() < 1e-3);
        let arrival: f64 = 0.8 * 3.439 * 4.0;
        assert!((arrival - 11.005).abs() < 5e-4);
        let four = queue(arrival, 3.439, 4).steady();
        assert!((four.response - 0.5075).abs() < 1e-4, "{}", four.response);
        assert!((four.jobs - 5.584).abs() < 5e-3, "{}", four.jobs);
    }

    #[test]
    fn one_server_has_exponential_responses() {
        let queue = queue(3.0, 4.0, 1);
        assert_eq!(queue.waiting_probability(), 0.75);
        for time in [0.1, 1.0, 7.0] {
            assert!((queue.response_exceeds(time) - (-time).exp()).abs() < 1e-14);
        }
        assert!((queue.response_quantile(0.95) - 20.0_f64.ln()).abs() < 1e-12);
    }

    /// Gross et al., example 2.1: 6 arrivals an hour, 3 served an hour by each
    /// of 3 servers: E[waiting] = 4/27 hours, E[jobs] = 26/9.
    #[test]
    fn a_textbook_clinic_is_reproduced() {
        let steady = queue(6.0, 3.0, 3).steady();
        assert!((steady.waiting - 4.0 / 27.0).abs() < 1e-14);
        assert!((steady.jobs - 26.0 / 9.0).abs() < 1e-13);
    }

    #[test]
    fn quantiles_invert_the_tails() {
        // The second case has equal rates of service and of the wait.
        for queue in [
            queue(5.0, 1.0, 6),
            queue(1.0, 1.0, 2),
            queue(0.001, 1.0, 40),
        ] {
            for p in [0.1, 0.5, 0.9, 0.999] {
                let time = queue.response_quantile(p);
                assert!((queue.response_exceeds(time) - (1.0 - p)).abs() < 1e-12);
                let wait = queue.waiting_quantile(p);
                assert!(queue.waiting_exceeds(wait) <= 1.0 - p + 1e-12);
            }
        }
        assert!(queue(1.0, 2.0, 1).response_quantile(1.0).is_nan());
    }

    #[test]
    fn an_unstable_queue_is_refused_in_words() {
        let rate = |value| Rate::new(value).unwrap();
        let error = MultiServer::new(rate(9.0), rate(2.0), 4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the queue is unstable: 4 servers would have to be busy 112.5% of the time, so \
             waiting grows without bound"
        );
        assert!(MultiServer::new(rate(2.0), rate(2.0), 1).is_err());
        assert_eq!(
            MultiServer::new(rate(1.0), rate(2.0), 0),
            Err(QueueError::NoServers)
        );
        for value in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(Rate::new(value).is_err());
        }
    }
}
