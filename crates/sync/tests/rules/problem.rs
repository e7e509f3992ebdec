//! Least squares, computed so that the same sums are taken in the same order
//! wherever they are taken.

use crate::network::Random;

/// One coordinate per server keeps sharding visible and sums short.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    seed: u64,
    servers: usize,
}

const RATE: f64 = 0.05;
const BATCH: usize = 3;

impl Problem {
    pub(crate) fn new(seed: u64, servers: usize) -> Self {
        Self { seed, servers }
    }

    pub(crate) fn start(&self) -> Vec<f64> {
        vec![0.0; self.servers]
    }

    /// The mean gradient of ½(a·x − b)² over the batch that worker `worker`
    /// reads in iteration `clock`.
    pub(crate) fn gradient(&self, worker: usize, clock: u64, parameters: &[f64]) -> Vec<f64> {
        let mut random = Random::new(self.seed ^ (worker as u64) << 32 ^ clock << 8);
        let mut unit = || (random.next() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        let mut sum = vec![0.0; self.servers];
        for _ in 0..BATCH {
            let a: Vec<f64> = (0..self.servers).map(|_| unit()).collect();
            let b = 1.0 + unit();
            let error = a.iter().zip(parameters).map(|(a, x)| a * x).sum::<f64>() - b;
            for (sum, a) in sum.iter_mut().zip(&a) {
                *sum += error * a;
            }
        }
        sum.iter().map(|sum| sum / BATCH as f64).collect()
    }

    /// One step against the mean of the gradients, added in the order given.
    pub(crate) fn step(parameter: f64, gradients: impl IntoIterator<Item = f64>) -> f64 {
        let (mut sum, mut count) = (0.0, 0u32);
        for gradient in gradients {
            sum += gradient;
            count += 1;
        }
        parameter - RATE * (sum / f64::from(count))
    }

    /// What one worker arrives at that reads the batches of all `workers`.
    pub(crate) fn single_worker(&self, workers: usize, iterations: u64) -> Vec<f64> {
        let mut parameters = self.start();
        for clock in 0..iterations {
            let gradients: Vec<_> = (0..workers)
                .map(|worker| self.gradient(worker, clock, &parameters))
                .collect();
            for (server, parameter) in parameters.iter_mut().enumerate() {
                *parameter = Self::step(*parameter, gradients.iter().map(|g| g[server]));
            }
        }
        parameters
    }
}
