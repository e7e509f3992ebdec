//! A discrete-event simulation confirms every queueing formula.
//!
//! The seeds are fixed, so the simulated means are too; the tolerances are
//! several standard errors of a mean over so many correlated jobs.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_advise::queue::{
    FiniteQueue, GeneralService, MultiServer, Rate, Service, Station, StationKind, Steady,
    closed_network,
};
use paceline_numeric::Chance;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const JOBS: usize = 400_000;

struct Draws(Chance);

impl Draws {
    fn new(seed: u64) -> Self {
        Self(Chance::of_learner(seed, 0))
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.0.seed() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

/// A time in a heap that gives the earliest first.
#[derive(PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

struct Simulated {
    responses: Vec<f64>,
    waits: Vec<f64>,
    lost: usize,
    end: f64,
}

/// Poisson arrivals, identical servers, service in order of arrival, and at
/// most `capacity` jobs in the system.
fn simulate(
    arrival: f64,
    servers: usize,
    capacity: usize,
    seed: u64,
    mut service: impl FnMut(&mut Draws) -> f64,
) -> Simulated {
    let mut draws = Draws::new(seed);
    let mut now = 0.0;
    let mut in_service: BinaryHeap<Reverse<Moment>> = BinaryHeap::new();
    let mut queue: VecDeque<f64> = VecDeque::new();
    let mut found = Simulated {
        responses: Vec::with_capacity(JOBS),
        waits: Vec::with_capacity(JOBS),
        lost: 0,
        end: 0.0,
    };
    for _ in 0..JOBS {
        now += draws.exponential(arrival);
        // Departures before this arrival; each lets the first in line begin.
        while let Some(Reverse(Moment(departure))) = in_service.peek() {
            let departure = *departure;
            if departure > now {
                break;
            }
            in_service.pop();
            if let Some(arrived) = queue.pop_front() {
                let end = departure + service(&mut draws);
                found.waits.push(departure - arrived);
                found.responses.push(end - arrived);
                in_service.push(Reverse(Moment(end)));
            }
        }
        if in_service.len() + queue.len() >= capacity {
            found.lost += 1;
        } else if in_service.len() < servers {
            let time = service(&mut draws);
            found.waits.push(0.0);
            found.responses.push(time);
            in_service.push(Reverse(Moment(now + time)));
        } else {
            queue.push_back(now);
        }
    }
    found.end = now;
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[track_caller]
fn close(formula: f64, simulated: f64, tolerance: f64) {
    assert!(
        (formula - simulated).abs() <= tolerance * simulated.abs().max(0.05),
        "formula {formula}, simulation {simulated}"
    );
}

#[track_caller]
fn means_agree(formula: &Steady, simulated: &Simulated, tolerance: f64) {
    close(formula.response, mean(&simulated.responses), tolerance);
    close(formula.waiting, mean(&simulated.waits), 2.0 * tolerance);
    let throughput = simulated.responses.len() as f64 / simulated.end;
    close(formula.throughput, throughput, 0.01);
    let jobs = simulated.responses.iter().sum::<f64>() / simulated.end;
    close(formula.jobs, jobs, tolerance + 0.01);
}

fn rate(value: f64) -> Rate {
    Rate::new(value).unwrap()
}

#[test]
fn multi_server_queues_agree_in_means_tails_and_quantiles() {
    for (arrival, service, servers) in
        [(0.7, 1.0, 1), (3.2, 1.0, 4), (1.0, 1.0, 2), (17.0, 2.0, 10)]
    {
        let formula = MultiServer::new(rate(arrival), rate(service), servers).unwrap();
        let simulated = simulate(arrival, servers, usize::MAX, 1, |draws| {
            draws.exponential(service)
        });
        means_agree(&formula.steady(), &simulated, 0.03);
        let waited = simulated.waits.iter().filter(|&&wait| wait > 0.0).count();
        let fraction = waited as f64 / simulated.waits.len() as f64;
        close(formula.waiting_probability(), fraction, 0.02);
        let mut sorted = simulated.responses.clone();
        sorted.sort_by(f64::total_cmp);
        for p in [0.5, 0.9, 0.99] {
            let observed = sorted[(p * sorted.len() as f64) as usize];
            close(formula.response_quantile(p), observed, 0.05);
            close(formula.response_exceeds(observed), 1.0 - p, 0.1);
        }
    }
}

#[test]
fn one_server_with_any_service_agrees_exactly() {
    let arrival = 0.75;
    let constant = Service::new(rate(1.0), 0.0).unwrap();
    let formula = GeneralService::new(rate(arrival), constant, 1).unwrap();
    means_agree(
        &formula.steady(),
        &simulate(arrival, 1, usize::MAX, 2, |_| 1.0),
        0.03,
    );

    // One job in ten takes 5.5 times the mean, the others half of it: the
    // variance is 0.1 · 5.5² + 0.9 · 0.5² − 1 = 2.25.
    let uneven = Service::new(rate(1.0), 2.25).unwrap();
    let formula = GeneralService::new(rate(arrival), uneven, 1).unwrap();
    let simulated = simulate(arrival, 1, usize::MAX, 3, |draws| {
        if draws.unit() <= 0.1 { 5.5 } else { 0.5 }
    });
    means_agree(&formula.steady(), &simulated, 0.04);
}

#[test]
fn several_servers_with_any_service_agree_to_a_tenth_of_the_wait() {
    let (arrival, servers) = (3.4, 4);
    for (variation, seed) in [(0.0, 4), (0.5, 5)] {
        let service = Service::new(rate(1.0), variation).unwrap();
        let formula = GeneralService::new(rate(arrival), service, servers).unwrap();
        assert!(!formula.is_exact());
        // Two exponential stages have a squared variation of one half.
        let simulated = simulate(arrival, servers, usize::MAX, seed, |draws| {
            if variation == 0.0 {
                1.0
            } else {
                draws.exponential(2.0) + draws.exponential(2.0)
            }
        });
        close(formula.steady().waiting, mean(&simulated.waits), 0.1);
    }
}

#[test]
fn finite_queues_agree_below_and_above_their_service() {
    for (arrival, servers, capacity) in [(2.0, 3, 5), (6.0, 3, 8), (0.9, 1, 1)] {
        let formula = FiniteQueue::new(rate(arrival), rate(1.0), servers, capacity).unwrap();
        let simulated = simulate(arrival, servers, capacity, 6, |draws| {
            draws.exponential(1.0)
        });
        means_agree(&formula.steady(), &simulated, 0.02);
        close(
            formula.loss_probability(),
            simulated.lost as f64 / JOBS as f64,
            0.03,
        );
    }
}

/// Jobs think, then visit one queue after another, and think again.
fn simulate_rounds(think: f64, demands: &[f64], jobs: usize, seed: u64) -> f64 {
    let mut draws = Draws::new(seed);
    let mut events: BinaryHeap<Reverse<(Moment, usize)>> = BinaryHeap::new();
    // A job at stage s has just finished stage s; stage zero is thinking.
    for _ in 0..jobs {
        events.push(Reverse((Moment(draws.exponential(1.0 / think)), 0)));
    }
    let mut waiting = vec![0_usize; demands.len()];
    let mut busy = vec![false; demands.len()];
    let mut rounds = 0;
    let mut now = 0.0;
    while rounds < JOBS {
        let Reverse((Moment(time), stage)) = events.pop().unwrap();
        now = time;
        if stage > 0 {
            let station = stage - 1;
            if waiting[station] > 0 {
                waiting[station] -= 1;
                let end = now + draws.exponential(1.0 / demands[station]);
                events.push(Reverse((Moment(end), stage)));
            } else {
                busy[station] = false;
            }
        }
        if stage == demands.len() {
            rounds += 1;
            events.push(Reverse((Moment(now + draws.exponential(1.0 / think)), 0)));
        } else if busy[stage] {
            waiting[stage] += 1;
        } else {
            busy[stage] = true;
            let end = now + draws.exponential(1.0 / demands[stage]);
            events.push(Reverse((Moment(end), stage + 1)));
        }
    }
    rounds as f64 / now
}

#[test]
fn closed_networks_agree_from_one_job_to_many() {
    let (think, demands) = (5.0, [1.0, 0.6]);
    let mut stations = vec![Station {
        demand: think,
        kind: StationKind::Delay,
    }];
    stations.extend(demands.map(|demand| Station {
        demand,
        kind: StationKind::Queue,
    }));
    for jobs in [1, 4, 12] {
        let formula = closed_network(&stations, jobs).unwrap();
        let throughput = simulate_rounds(think, &demands, jobs, 7);
        close(formula.throughput, throughput, 0.01);
    }
}
