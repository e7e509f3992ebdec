//! The operational-law model: a processor without a queue and a disk with one.

use super::FitPredictorError;
use super::role::{Role, Roles};
use super::training::{Training, cell};
use crate::least_squares::positive_least_squares;
use crate::runs::Factors;

/// The model of "Courier: Real-Time Optimal Batch Size Prediction for Latency
/// SLOs in BigDL" (ICPE 2021), section 4.2:
///
/// `E[T] = (N/B) · epochs · (S_cpu + 1/(μ_D − λ_D))`,
/// `λ_D = r · max(1, cpus · jobs / machines)`.
///
/// The paper takes `S_cpu` as constant and regresses `μ_D` on batch size and
/// processes. Here the demands keep their meaning and their sign: a step needs
/// `S_cpu = s₀ + s₁·B/cpus` seconds of processor, for each combination of
/// categories its own, and `1/μ_D = d₀ + d₁·B` seconds of disk. All are
/// estimated from relative errors under the bound of zero. The paper prints
/// `1/(λ_D − μ_D)` once, which would be negative for a stable disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operational {
    roles: Roles,
    factors: Factors,
    /// Cells in the order of their demands.
    cells: Vec<usize>,
    parameters: Vec<f64>,
    units: Units,
}

/// Magnitudes that bring all parameters near one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Units {
    step_seconds: f64,
    batch: f64,
    processes: f64,
}

/// A disk this busy is as busy as the model can say.
const BUSIEST: f64 = 0.99;
/// The rate and the two demands of the disk come first.
const DISK: usize = 3;

impl Operational {
    pub(crate) fn fit(data: &Training<'_>) -> Result<Self, FitPredictorError> {
        let roles = data.roles;
        if roles.position(Role::BatchSize).is_none() {
            return Err(FitPredictorError::NoRole(Role::BatchSize));
        }
        let load = [Role::Cpus, Role::Concurrency];
        if load.iter().all(|&role| roles.position(role).is_none()) {
            return Err(FitPredictorError::NoRole(Role::Cpus));
        }
        if !data.is_positive() {
            return Err(FitPredictorError::NotPositive);
        }
        let mut cells: Vec<usize> = data.rows.iter().map(|row| data.cell(row)).collect();
        cells.sort_unstable();
        cells.dedup();
        let needed = DISK + 2 * cells.len() + 1;
        let found = data.settings();
        if found < needed {
            return Err(FitPredictorError::TooFewSettings { needed, found });
        }
        let mut model = Self {
            roles: roles.clone(),
            factors: data.factors.clone(),
            units: Units::of(data),
            parameters: Vec::new(),
            cells,
        };
        let logs: Vec<f64> = data.response.iter().map(|time| time.ln()).collect();
        let (parameters, _) = positive_least_squares(&model.starts(), (1e-8, 1e4), |trial| {
            let pairs = data.rows.iter().zip(&logs);
            pairs
                .map(|(row, log)| model.time(trial, row).ln() - log)
                .collect()
        })
        .ok_or(FitPredictorError::NoSolution)?;
        model.parameters = parameters;
        Ok(model)
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        self.time(&self.parameters, configuration)
    }

    /// How busy the model says the disk is; one and above is not stable.
    pub(crate) fn disk_utilisation(&self, configuration: &[f64]) -> f64 {
        let batch = self.batch(configuration);
        let [rate, fixed, per_record] = [0, 1, 2].map(|at| self.parameters[at]);
        rate * self.load(configuration) * (fixed + per_record * batch)
    }

    fn time(&self, parameters: &[f64], configuration: &[f64]) -> f64 {
        let batch = self.batch(configuration);
        let cpus = self.roles.level(Role::Cpus, configuration);
        let here = cell(&self.factors, configuration);
        // A combination of categories that was not observed borrows the first.
        let place = self
            .cells
            .iter()
            .position(|&known| known == here)
            .unwrap_or(0);
        let [fixed, per_record] = [0, 1].map(|at| parameters[DISK + 2 * place + at]);
        let processor = fixed + per_record * batch / cpus;
        let demand = parameters[1] + parameters[2] * batch;
        let busy = (parameters[0] * self.load(configuration) * demand).min(BUSIEST);
        let steps = steps(&self.roles, configuration);
        steps * self.units.step_seconds * (processor + demand / (1.0 - busy))
    }

    fn batch(&self, configuration: &[f64]) -> f64 {
        self.roles.level(Role::BatchSize, configuration) / self.units.batch
    }

    fn load(&self, configuration: &[f64]) -> f64 {
        processes(&self.roles, configuration) / self.units.processes
    }

    /// A processor-bound and a disk-bound guess, idle and busy.
    fn starts(&self) -> Vec<Vec<f64>> {
        let start = |disk: f64, rate: f64| {
            let mut start = vec![rate, disk / 2.0, disk / 2.0];
            start.extend((0..2 * self.cells.len()).map(|_| (1.0 - disk) / 2.0));
            start
        };
        vec![start(0.1, 0.1), start(0.5, 0.5), start(0.2, 2.0)]
    }
}

impl Units {
    fn of(data: &Training<'_>) -> Self {
        let roles = data.roles;
        let largest = |value: &dyn Fn(&[f64]) -> f64| {
            let values = data.rows.iter().map(|row| value(row));
            values.fold(f64::MIN_POSITIVE, f64::max)
        };
        let pairs = data.rows.iter().zip(&data.response);
        let logs = pairs.map(|(row, time)| (time / steps(roles, row)).ln());
        Self {
            step_seconds: (logs.sum::<f64>() / data.rows.len() as f64).exp(),
            batch: largest(&|row| roles.level(Role::BatchSize, row)),
            processes: largest(&|row| processes(roles, row)),
        }
    }
}

fn steps(roles: &Roles, configuration: &[f64]) -> f64 {
    let samples = roles.level(Role::Samples, configuration);
    let epochs = roles.level(Role::Epochs, configuration);
    samples * epochs / roles.level(Role::BatchSize, configuration)
}

/// Processes per machine, at least one, as in the paper.
fn processes(roles: &Roles, configuration: &[f64]) -> f64 {
    let all =
        roles.level(Role::Cpus, configuration) * roles.level(Role::Concurrency, configuration);
    (all / roles.level(Role::Machines, configuration)).max(1.0)
}
