//! The record behind each run of a study, and what its samples say it used.

use super::{Results, StudyResults};
use paceline_advise::predict::{Demand, Role, Roles};
use paceline_model::Measure;
use paceline_records::{OpenRunError, ReadTableError, Run};
use std::path::PathBuf;

impl StudyResults {
    /// Where the records of the runs at these positions are.
    pub(super) fn records_at(&self, positions: &[usize]) -> Vec<PathBuf> {
        let state = &self.state;
        let dirs = positions.iter().filter_map(|&position| {
            let (attempt, _) = state.whole(position)?;
            Some(state.dir.attempt(&state.plan.runs[position].id, attempt))
        });
        dirs.collect()
    }
}

impl Results {
    /// Where the record of each row is; `None` for a plain table.
    fn record_dirs(&self) -> Option<Vec<PathBuf>> {
        let study = self.study()?;
        Some(study.records_at(&study.counted()))
    }

    /// The record of each row, opened when it is asked for; `None` for a plain
    /// table, which has none.
    pub(super) fn recorded(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = Result<Run, OpenRunError>> + use<>> {
        let dirs = self.record_dirs()?;
        Some(dirs.into_iter().map(|dir| Run::open(&dir)))
    }
}

/// What runs used, or why that is not known.
pub enum Demands {
    /// Of every run, in the order of the table.
    Recorded(Vec<Demand>),
    /// Not known, for this reason.
    Unknown(String),
}

impl Results {
    /// What each run used by its samples; nothing is read if no law asks for it.
    #[must_use]
    pub fn demands(&self, roles: &Roles) -> Demands {
        let plays = |role| roles.position(role).is_some();
        let law = plays(Role::BatchSize) && (plays(Role::Cpus) || plays(Role::Concurrency));
        let recorded = self.recorded().filter(|_| law);
        let Some(recorded) = recorded else {
            return Demands::Unknown("a plain table has no samples".to_owned());
        };
        let mut demands = Vec::with_capacity(recorded.len());
        for run in recorded {
            let run = match run {
                Ok(run) => run,
                Err(_) => return Demands::Unknown("a run's record cannot be opened".to_owned()),
            };
            let id = run.manifest().start.id.as_str().to_owned();
            match used(&run) {
                Ok(demand) if demand.is_usable() => demands.push(demand),
                Ok(_) => {
                    return Demands::Unknown(format!("the samples of {id} show no processor time"));
                }
                Err(error) => return Demands::Unknown(format!("{id}: {error}")),
            }
        }
        Demands::Recorded(demands)
    }

    /// The demands for a predictor of that response: they are those of the run, so
    /// the response must be its duration, within a half.
    #[must_use]
    pub fn demands_of(&self, demands: &Demands, response: &str) -> Option<Vec<Demand>> {
        let Demands::Recorded(demands) = demands else {
            return None;
        };
        let column = |name| self.table.column(name)?.as_numeric();
        let mut pairs = column(response)?.iter().zip(column("duration_s")?);
        let is_duration = pairs.all(|(value, duration)| (value / duration - 1.0).abs() <= 0.5);
        is_duration.then(|| demands.clone())
    }
}

/// The sums of a run's samples over all nodes.
fn used(run: &Run) -> Result<Demand, ReadTableError> {
    let mut demand = Demand {
        cpu_s: 0.0,
        disk_s: 0.0,
    };
    for node in run.nodes()? {
        for sample in run.samples_of(&node)? {
            let readings = sample?.readings;
            let read = |measure| readings.get(measure).unwrap_or(0.0);
            demand.cpu_s += read(Measure::RunCpuUser) + read(Measure::RunCpuSystem);
            demand.disk_s += read(Measure::NodeDiskBusy);
        }
    }
    Ok(demand)
}
