//! A synthetic BigDL-like cluster with a known law.
//!
//! The structure is that of "Courier: Real-Time Optimal Batch Size Prediction for
//! Latency SLOs in BigDL" (ICPE 2021), section 4.2: a job of `N` records and `E`
//! epochs cycles `N/B · E` times through a processor without a queue and a disk
//! with one,
//!
//! ```text
//! T   = (N/B) · E · (S_cpu + 1/(μ_D − λ_D)) · exp(0.03 · z)
//! S_cpu = s_topology · (1 + 0.3 · (B/256) / cpus^0.7)    s_shallow = 0.030 s, s_deep = 0.042 s
//! λ_D = max(1, P/3) · 22.2 / s                           P = cpus · jobs, three workers
//! μ_D = (60 + 0.03 · B + 6.2 · P) / s                    linear in B and P, as the paper fits it
//! A   = a_topology − 0.02 · log₂(B/64)^1.2 + 0.001 · z'  a_shallow = 0.945, a_deep = 0.955
//! ```
//!
//! with `N` = 60,000, `E` = 10 and independent standard normal `z`, `z'`. Levels
//! are those of the paper's table 1. The accuracy depends on batch size and
//! topology alone, as the paper finds. None of the predictors has this exact form.

use paceline_advise::runs::{FactorColumn, Runs};
use paceline_numeric::Chance;

pub(crate) const CPUS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
pub(crate) const BATCHES: [f64; 4] = [64.0, 128.0, 256.0, 512.0];
pub(crate) const JOBS: [f64; 3] = [1.0, 3.0, 5.0];
/// In the order in which a table numbers words.
pub(crate) const TOPOLOGIES: [&str; 2] = ["deep", "shallow"];
/// The standard deviation of the logarithm of a time.
pub(crate) const TIME_NOISE: f64 = 0.03;
const ACCURACY_NOISE: f64 = 0.001;

/// One setting of the cluster; the topology is an index into [`TOPOLOGIES`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Setting {
    pub(crate) cpus: f64,
    pub(crate) batch: f64,
    pub(crate) jobs: f64,
    pub(crate) topology: usize,
}

impl Setting {
    /// In the order of the factors of [`table`].
    pub(crate) fn of(configuration: &[f64]) -> Self {
        Self {
            cpus: configuration[0],
            batch: configuration[1],
            jobs: configuration[2],
            topology: configuration[3] as usize,
        }
    }

    pub(crate) fn configuration(self) -> Vec<f64> {
        vec![self.cpus, self.batch, self.jobs, self.topology as f64]
    }

    /// The time of a run without noise, which is also its median.
    pub(crate) fn time(self) -> f64 {
        let steps = 60_000.0 * 10.0 / self.batch;
        let base = [0.042, 0.030][self.topology];
        let processor = base * (1.0 + 0.3 * (self.batch / 256.0) / self.cpus.powf(0.7));
        let processes = self.cpus * self.jobs;
        let arrivals = 22.2 * (processes / 3.0).max(1.0);
        let service = 60.0 + 0.03 * self.batch + 6.2 * processes;
        steps * (processor + 1.0 / (service - arrivals))
    }

    /// The expected accuracy.
    pub(crate) fn accuracy(self) -> f64 {
        [0.955, 0.945][self.topology] - 0.02 * (self.batch / 64.0).log2().powf(1.2)
    }

    pub(crate) fn noisy_time(self, noise: &mut Noise) -> f64 {
        self.time() * (TIME_NOISE * noise.normal()).exp()
    }

    pub(crate) fn noisy_accuracy(self, noise: &mut Noise) -> f64 {
        self.accuracy() + ACCURACY_NOISE * noise.normal()
    }
}

/// All settings of the paper's full factorial.
pub(crate) fn full_factorial() -> Vec<Setting> {
    let mut settings = Vec::new();
    for cpus in CPUS {
        for batch in BATCHES {
            for jobs in JOBS {
                for topology in 0..TOPOLOGIES.len() {
                    settings.push(Setting {
                        cpus,
                        batch,
                        jobs,
                        topology,
                    });
                }
            }
        }
    }
    settings
}

/// Runs of settings, each so many times.
pub(crate) fn table(settings: &[Setting], replicates: usize, seed: u64) -> Runs {
    let mut noise = Noise::new(seed);
    let rows: Vec<Setting> = settings
        .iter()
        .flat_map(|&setting| std::iter::repeat_n(setting, replicates))
        .collect();
    let numeric = |name: &str, value: fn(&Setting) -> f64| {
        let values = rows.iter().map(value).collect();
        (name.to_owned(), FactorColumn::Numeric(values))
    };
    let topologies = rows.iter().map(|row| TOPOLOGIES[row.topology].to_owned());
    let times = rows.iter().map(|row| row.noisy_time(&mut noise)).collect();
    let accuracies = rows
        .iter()
        .map(|row| row.noisy_accuracy(&mut noise))
        .collect();
    Runs::new(
        vec![
            numeric("cpus", |row| row.cpus),
            numeric("batch_size", |row| row.batch),
            numeric("concurrency", |row| row.jobs),
            (
                "topology".to_owned(),
                FactorColumn::Words(topologies.collect()),
            ),
        ],
        vec![
            ("time".to_owned(), times),
            ("accuracy".to_owned(), accuracies),
        ],
        None,
    )
    .expect("the columns have equal lengths and finite values")
}

/// Seeded draws.
pub(crate) struct Noise(Chance);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Chance::of_learner(seed, 0))
    }

    /// Uniform in `(0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.seed() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Standard normal, by Box and Muller (1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
