//! Closed networks: a fixed number of jobs that circulate.

use thiserror::Error;

/// One place that every job visits in each round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Station {
    /// The service a job needs there in one round: visits times service time.
    pub demand: f64,
    /// Whether jobs queue there.
    pub kind: StationKind,
}

/// How a station serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationKind {
    /// One server: jobs queue, or share the server equally.
    Queue,
    /// A server for each job: nobody waits.
    Delay,
}

/// Why a network cannot be analysed.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ClosedNetworkError {
    /// A demand is negative, infinite or not a number.
    #[error("the demand at station {station} is {value}; it must be finite and at least zero")]
    NotADemand {
        /// The station, counted from zero.
        station: usize,
        /// The value found.
        value: f64,
    },
    /// Jobs would circulate infinitely fast.
    #[error("no station has a demand above zero")]
    NoDemand,
    /// There is no job.
    #[error("a closed network needs at least one job")]
    NoJobs,
}

/// What a closed network settles to.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedNetwork {
    /// Rounds completed per unit of time, over all jobs.
    pub throughput: f64,
    /// The mean time of one round.
    pub round: f64,
    /// Each station, in the given order.
    pub stations: Vec<StationLoad>,
}

/// What one station of a closed network settles to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationLoad {
    /// The mean number of jobs there.
    pub jobs: f64,
    /// The mean time a job spends there in one round.
    pub residence: f64,
    /// Throughput times demand: the fraction of time that the server of a queue
    /// is busy, or the mean number of busy servers of a delay.
    pub utilisation: f64,
}

/// Exact mean-value analysis (Reiser and Lavenberg, J. ACM 27, 1980) of a
/// network with one class of jobs.
///
/// Exact for exponential service in order of arrival and for any service shared
/// equally among the jobs present.
pub fn closed_network(
    stations: &[Station],
    jobs: usize,
) -> Result<ClosedNetwork, ClosedNetworkError> {
    let strange = |station: &Station| !(station.demand.is_finite() && station.demand >= 0.0);
    if let Some(station) = stations.iter().position(strange) {
        return Err(ClosedNetworkError::NotADemand {
            station,
            value: stations[station].demand,
        });
    }
    if stations.iter().all(|station| station.demand == 0.0) {
        return Err(ClosedNetworkError::NoDemand);
    }
    if jobs == 0 {
        return Err(ClosedNetworkError::NoJobs);
    }
    let mut present = vec![0.0; stations.len()];
    let mut residences = vec![0.0; stations.len()];
    let mut throughput = 0.0;
    for population in 1..=jobs {
        // An arriving job sees the network as it is with one job less.
        for ((residence, station), seen) in residences.iter_mut().zip(stations).zip(&present) {
            *residence = match station.kind {
                StationKind::Queue => station.demand * (1.0 + seen),
                StationKind::Delay => station.demand,
            };
        }
        throughput = population as f64 / residences.iter().sum::<f64>();
        for (present, residence) in present.iter_mut().zip(&residences) {
            *present = throughput * residence;
        }
    }
    let loads = stations.iter().zip(&present).zip(&residences);
    Ok(ClosedNetwork {
        throughput,
        round: jobs as f64 / throughput,
        stations: loads
            .map(|((station, &jobs), &residence)| StationLoad {
                jobs,
                residence,
                utilisation: throughput * station.demand,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(demand: f64) -> Station {
        Station {
            demand,
            kind: StationKind::Queue,
        }
    }

    #[test]
    fn balanced_queues_have_the_closed_form_throughput() {
        // With m equal queues of demand d: X = n / (d (n + m − 1)).
        for jobs in 1..20 {
            let network = closed_network(&[queue(0.5); 3], jobs).unwrap();
            let expected = jobs as f64 / (0.5 * (jobs as f64 + 2.0));
            assert!((network.throughput - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn the_slowest_station_bounds_the_throughput() {
        let think = Station {
            demand: 10.0,
            kind: StationKind::Delay,
        };
        let stations = [think, queue(2.0), queue(0.5)];
        let network = closed_network(&stations, 200).unwrap();
        assert!((network.throughput - 0.5).abs() < 1e-9);
        assert!((network.stations[1].utilisation - 1.0).abs() < 1e-9);
        let total: f64 = network.stations.iter().map(|station| station.jobs).sum();
        assert!((total - 200.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_networks_are_refused() {
        assert!(closed_network(&[queue(-1.0)], 1).is_err());
        assert_eq!(
            closed_network(&[queue(0.0)], 1),
            Err(ClosedNetworkError::NoDemand)
        );
        assert_eq!(
            closed_network(&[queue(1.0)], 0),
            Err(ClosedNetworkError::NoJobs)
        );
    }
}
