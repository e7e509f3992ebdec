//! The operational-law model: a processor without a queue and a disk with one.

use super::FitPredictorError;
use super::demand::Demand;
use super::role::{Role, Roles};
use super::training::{Training, cell};
use crate::least_squares::{nnls, positive_least_squares};
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
/// estimated from relative errors under the bound of zero; where the runs' samples
/// were recorded, the demands are what these say, and a step takes `κ` seconds more
/// that no sample sees, as waiting for the network. The paper prints
/// `1/(λ_D − μ_D)` once, which would be negative for a stable disk.
///
/// The paper's processors have no queue: its cluster has 48 of them for at most 40
/// processes. Where there are fewer, processes crowd each other out, so that a step
/// takes `1 + σ·(processes − 1)` times as long, `σ ≥ 0` for each combination of
/// categories its own; where nobody waits, `σ` is estimated as zero.
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
/// The demands of a step and of a record, and how processes crowd each other out.
const PER_CELL: usize = 3;

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
        // From samples, only the rate of arrivals at the disk, what each cell waits
        // for otherwise and how it is crowded out are left to estimate.
        let needed = match data.demands {
            Some(_) => 2 + 2 * cells.len(),
            None => DISK + PER_CELL * cells.len() + 1,
        };
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
        let missed = |parameters: &[f64]| -> Vec<f64> {
            let pairs = data.rows.iter().zip(&logs);
            pairs
                .map(|(row, log)| model.time(parameters, row).ln() - log)
                .collect()
        };
        model.parameters = match &data.demands {
            None => {
                positive_least_squares(&model.starts(), (1e-8, 1e4), missed)
                    .ok_or(FitPredictorError::NoSolution)?
                    .0
            }
            Some(demands) => {
                let measured = model.measured(data, demands)?;
                let starts: Vec<Vec<f64>> = [0.1, 0.5, 2.0]
                    .map(|rate| {
                        let mut start = vec![rate];
                        start.resize(1 + 2 * model.cells.len(), 0.1);
                        start
                    })
                    .to_vec();
                let (found, _) = positive_least_squares(&starts, (1e-8, 1e4), |free| {
                    missed(&measured.with(free))
                })
                .ok_or(FitPredictorError::NoSolution)?;
                measured.with(&found)
            }
        };
        Ok(model)
    }

    /// Demands of a step by non-negative least squares of what samples say the
    /// runs used, per job and step: the operational law `D = U·T/C`, busy time over
    /// completions (Denning and Buzen 1978).
    fn measured(
        &self,
        data: &Training<'_>,
        demands: &[Demand],
    ) -> Result<Measured, FitPredictorError> {
        let batches: Vec<f64> = data.rows.iter().map(|row| self.batch(row)).collect();
        let per_step = |used: fn(&Demand) -> f64| -> Vec<f64> {
            let pairs = data.rows.iter().zip(demands);
            pairs
                .map(|(row, demand)| {
                    let jobs = self.roles.level(Role::Concurrency, row);
                    used(demand) / jobs / steps(&self.roles, row) / self.units.step_seconds
                })
                .collect()
        };
        let line = |rows: &[usize], used: &[f64]| -> Result<[f64; 2], FitPredictorError> {
            let columns = [
                vec![1.0; rows.len()],
                rows.iter().map(|&row| batches[row]).collect(),
            ];
            let used: Vec<f64> = rows.iter().map(|&row| used[row]).collect();
            let found = nnls(&columns, &used)?;
            Ok([found.coefficients[0], found.coefficients[1]])
        };
        let all: Vec<usize> = (0..data.rows.len()).collect();
        let processor = per_step(|demand| demand.cpu_s);
        let cells = self
            .cells
            .iter()
            .map(|&cell| {
                let own = all.iter().copied();
                let own: Vec<usize> = own
                    .filter(|&row| data.cell(data.rows[row]) == cell)
                    .collect();
                line(&own, &processor)
            })
            .collect::<Result<_, _>>()?;
        Ok(Measured {
            disk: line(&all, &per_step(|demand| demand.disk_s))?,
            cells,
        })
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
        let own = &parameters[DISK + PER_CELL * place..][..PER_CELL];
        let crowd = 1.0 + own[2] * (self.load(configuration) - 1.0 / self.units.processes);
        let processor = (own[0] + own[1] * batch / cpus) * crowd;
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

    /// Hardly any disk, a processor-bound and a disk-bound guess, idle and busy.
    fn starts(&self) -> Vec<Vec<f64>> {
        let start = |disk: f64, rate: f64| {
            let mut start = vec![rate, disk / 2.0, disk / 2.0];
            let part = (1.0 - disk) / 2.0;
            start.extend(self.cells.iter().flat_map(|_| [part, part, rate]));
            start
        };
        vec![
            start(0.001, 0.01),
            start(0.1, 0.1),
            start(0.5, 0.5),
            start(0.2, 2.0),
        ]
    }
}

/// Demands that samples tell: of the disk, and of the processor in each cell, each
/// for a step and for a record of it.
struct Measured {
    disk: [f64; 2],
    cells: Vec<[f64; 2]>,
}

impl Measured {
    /// The parameters of the model, given the rate of arrivals at the disk, the time
    /// that a step of each cell takes besides, and how each cell is crowded out.
    fn with(&self, free: &[f64]) -> Vec<f64> {
        let (besides, crowded) = free[1..].split_at(self.cells.len());
        let cells = self.cells.iter().zip(besides.iter().zip(crowded));
        let cells = cells
            .flat_map(|([step, record], (besides, crowded))| [step + besides, *record, *crowded]);
        [free[0], self.disk[0], self.disk[1]]
            .into_iter()
            .chain(cells)
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Choice, DemandSource, Kind, PredictOptions, Predictor};
    use crate::runs::{FactorColumn, Runs};

    const CPUS: [f64; 2] = [2.0, 4.0];

    /// A step of the law: seconds of processor and of disk.
    fn demand(batch: f64) -> (f64, f64) {
        (0.02 + 0.0004 * batch, 0.004 + 0.00002 * batch)
    }

    fn law(batch: f64, cpus: f64) -> f64 {
        let disk = demand(batch).1;
        let busy = 15.0 * cpus * disk;
        6000.0 / batch * (0.02 + 0.0004 * batch / cpus + 0.005 + disk / (1.0 - busy))
    }

    fn runs(batches: &[f64]) -> (Runs, Vec<Demand>) {
        let mut settings: Vec<(f64, f64)> = Vec::new();
        for &batch in batches {
            settings.extend(CPUS.map(|cpus| (batch, cpus)));
        }
        let column = |value: fn(&(f64, f64)) -> f64| settings.iter().map(value).collect();
        let runs = Runs::new(
            vec![
                ("batch".to_owned(), FactorColumn::Numeric(column(|at| at.0))),
                ("cpus".to_owned(), FactorColumn::Numeric(column(|at| at.1))),
            ],
            vec![("time".to_owned(), column(|at| law(at.0, at.1)))],
            None,
        );
        let demands = settings.iter().map(|&(batch, _)| Demand {
            cpu_s: 6000.0 / batch * demand(batch).0,
            disk_s: 6000.0 / batch * demand(batch).1,
        });
        (runs.expect("the columns fit"), demands.collect())
    }

    fn fit(batches: &[f64], sampled: bool) -> Result<Predictor, crate::predict::PredictorError> {
        let (runs, demands) = runs(batches);
        let options = PredictOptions {
            choice: Choice::Only(Kind::Queue),
            demands: sampled.then_some(demands),
            ..PredictOptions::default()
        };
        Predictor::fit(&runs, "time", &options)
    }

    #[test]
    fn demands_from_samples_need_fewer_runs_and_give_the_law_back() {
        let batches = [32.0, 128.0, 256.0];
        assert!(
            fit(&batches, false).is_err(),
            "six settings do not tell the table's law"
        );
        let found = fit(&batches, true).unwrap();
        assert_eq!(found.demand_source(), Some(DemandSource::Samples));
        for (batch, cpus) in [(64.0, 2.0), (192.0, 4.0), (256.0, 3.0)] {
            let ratio = found.beliefs(&[[batch, cpus]])[0].value() / law(batch, cpus);
            assert!((ratio - 1.0).abs() < 0.005, "{batch} {cpus}: {ratio}");
        }
        // How busy the disk is was never told, only how long it worked.
        let busy = found.disk_utilisation(&[128.0, 4.0]).unwrap();
        assert!((busy - 15.0 * 4.0 * demand(128.0).1).abs() < 0.02, "{busy}");
    }

    /// Each process beyond the first takes half a step of the others', as on a laptop, where
    /// the paper's cluster has 48 processors for 40 processes.
    #[test]
    fn processes_that_crowd_each_other_out_are_foretold() {
        let mut settings: Vec<(f64, f64, f64)> = Vec::new();
        for batch in [64.0, 128.0, 256.0, 512.0] {
            for cpus in CPUS {
                settings.extend([1.0, 2.0, 3.0].map(|jobs| (batch, cpus, jobs)));
            }
        }
        let column = |value: fn(&(f64, f64, f64)) -> f64| settings.iter().map(value).collect();
        let time = |&(batch, cpus, jobs): &(f64, f64, f64)| {
            let crowd = 1.0 + 0.5 * (cpus * jobs - 1.0);
            30_000.0 / batch * (0.004 + 0.0003 * batch / cpus) * crowd
        };
        let numeric = |name: &str, values| (name.to_owned(), FactorColumn::Numeric(values));
        let runs = Runs::new(
            vec![
                numeric("batch", column(|at| at.0)),
                numeric("cpus", column(|at| at.1)),
                numeric("jobs", column(|at| at.2)),
            ],
            vec![("time".to_owned(), settings.iter().map(time).collect())],
            None,
        );
        let options = PredictOptions {
            choice: Choice::Only(Kind::Queue),
            ..PredictOptions::default()
        };
        let found = Predictor::fit(&runs.unwrap(), "time", &options).unwrap();
        let r2 = found.comparison().score().unwrap().r2;
        assert!(r2 > 0.9, "{r2}");
    }

    #[test]
    fn demands_without_processor_time_are_not_used() {
        let (runs, mut demands) = runs(&[32.0, 64.0, 128.0, 256.0, 512.0]);
        demands[3].cpu_s = 0.0;
        let options = PredictOptions {
            choice: Choice::Only(Kind::Queue),
            demands: Some(demands),
            ..PredictOptions::default()
        };
        let found = Predictor::fit(&runs, "time", &options).unwrap();
        assert_eq!(found.demand_source(), Some(DemandSource::Table));
    }
}
