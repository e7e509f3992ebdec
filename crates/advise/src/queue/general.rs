//! M/G/1 and M/G/c: service times of any distribution.

use super::Steady;
use super::multi::MultiServer;
use super::rate::{QueueError, Rate};
use thiserror::Error;

/// What is known of the service time: its rate and its variability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Service {
    rate: Rate,
    squared_variation: f64,
}

/// Why service times cannot be described.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ServiceError {
    /// The squared coefficient of variation is negative or not a number.
    #[error("a squared coefficient of variation of {value} is not possible")]
    NotAVariation {
        /// The value found.
        value: f64,
    },
    /// There are too few durations to know their spread.
    #[error("{found} durations are too few; at least two are needed")]
    TooFewDurations {
        /// How many there are.
        found: usize,
    },
    /// A duration is zero, negative, infinite or not a number.
    #[error("duration {index} is {value}; durations must be finite and above zero")]
    NotADuration {
        /// The place, counted from zero.
        index: usize,
        /// The value found.
        value: f64,
    },
}

impl Service {
    /// A service time of this rate, whose variance is `squared_variation` times
    /// its squared mean: zero if constant, one if exponential.
    pub fn new(rate: Rate, squared_variation: f64) -> Result<Self, ServiceError> {
        if squared_variation.is_finite() && squared_variation >= 0.0 {
            Ok(Self {
                rate,
                squared_variation,
            })
        } else {
            Err(ServiceError::NotAVariation {
                value: squared_variation,
            })
        }
    }

    /// Estimates rate and variability from observed durations, the variance
    /// with `n − 1` degrees of freedom.
    pub fn estimate(durations: &[f64]) -> Result<Self, ServiceError> {
        if durations.len() < 2 {
            return Err(ServiceError::TooFewDurations {
                found: durations.len(),
            });
        }
        let strange = |value: &f64| !(value.is_finite() && *value > 0.0);
        if let Some(index) = durations.iter().position(strange) {
            return Err(ServiceError::NotADuration {
                index,
                value: durations[index],
            });
        }
        let count = durations.len() as f64;
        let mean = durations.iter().sum::<f64>() / count;
        let square: f64 = durations.iter().map(|d| (d - mean) * (d - mean)).sum();
        let rate = Rate::every(mean).map_err(|_| ServiceError::NotADuration {
            index: 0,
            value: durations[0],
        })?;
        Self::new(rate, square / (count - 1.0) / (mean * mean))
    }

    /// How many jobs a busy server finishes per unit of time.
    pub fn rate(self) -> Rate {
        self.rate
    }

    /// The variance of the service time over its squared mean.
    pub fn squared_variation(self) -> f64 {
        self.squared_variation
    }
}

/// An M/G/1 queue, exactly, or M/G/c, approximately.
///
/// One server: the Pollaczek–Khinchine formula (Gross et al., 4th edition,
/// section 5.1). More: the waiting time of M/M/c times half of one plus the
/// squared variation (Allen and Cunneen; Allen, Probability, Statistics, and
/// Queueing Theory, 2nd edition, section 5.3.5), which is exact for one server
/// and for exponential service. The distribution of the response time depends
/// on more than two moments and is not given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeneralService {
    exponential: MultiServer,
    service: Service,
    servers: usize,
}

impl GeneralService {
    /// Refuses a queue that would grow without bound.
    pub fn new(arrival: Rate, service: Service, servers: usize) -> Result<Self, QueueError> {
        Ok(Self {
            exponential: MultiServer::new(arrival, service.rate, servers)?,
            service,
            servers,
        })
    }

    /// The long-run means.
    pub fn steady(&self) -> Steady {
        let exponential = self.exponential.steady();
        let factor = 0.5 * (1.0 + self.service.squared_variation);
        Steady::from_waiting(
            exponential.throughput,
            self.service.rate.interval(),
            self.servers,
            exponential.waiting * factor,
        )
    }

    /// Whether the means are exact rather than approximate.
    pub fn is_exact(&self) -> bool {
        self.servers == 1 || self.service.squared_variation == 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_service_halves_the_wait_of_exponential_service() {
        let rate = |value| Rate::new(value).unwrap();
        let wait = |variation| {
            let service = Service::new(rate(1.0), variation).unwrap();
            let queue = GeneralService::new(rate(0.8), service, 1).unwrap();
            assert!(queue.is_exact());
            queue.steady().waiting
        };
        assert!((wait(1.0) - 4.0).abs() < 1e-12);
        assert!((wait(0.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn service_is_estimated_from_durations() {
        let service = Service::estimate(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(service.rate().per_time(), 0.5);
        assert_eq!(service.squared_variation(), 0.25);
        assert_eq!(
            Service::estimate(&[1.0, -2.0]).unwrap_err().to_string(),
            "duration 1 is -2; durations must be finite and above zero"
        );
        assert!(Service::estimate(&[1.0]).is_err());
        assert!(Service::new(service.rate(), f64::NAN).is_err());
    }
}
