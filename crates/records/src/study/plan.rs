//! `plan.json`: what a study will run.

use crate::disk::{WriteRecordError, write_file};
use crate::json::LevelJson;
use crate::run::{OpenRunError, read_json};
use paceline_files::sealed;
use paceline_model::{Level, RunId, RunIdError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Every trial and run of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The fingerprint of the study that was planned.
    pub fingerprint: String,
    /// The seed of the design.
    pub seed: u64,
    /// The factors' names, in the study's order.
    pub factors: Vec<String>,
    /// The responses' names, in the study's order.
    pub responses: Vec<String>,
    /// The combinations of levels.
    pub trials: Vec<PlannedTrial>,
    /// The runs, in the order of execution.
    pub runs: Vec<PlannedRun>,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTrial {
    /// The levels, in the order of the factors.
    pub levels: Vec<Level>,
    /// The same in the design's coded units.
    pub coded: Vec<f64>,
}

/// One execution of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// Its name.
    pub id: RunId,
    /// Its trial, by position.
    pub trial: u32,
    /// Which repetition of the trial, from 0.
    pub replicate: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its place in the standard order, from 0.
    pub standard: u32,
    /// The seed that the run gets.
    pub seed: u64,
    /// The run whose checkpoint it goes on from.
    pub continues: Option<RunId>,
    /// The promise that it is made for, by its name in the study's ledger.
    pub promise: Option<String>,
    /// Constants of the study that it is made with other values of, such as the
    /// number of epochs: such a run is no replicate of its trial.
    pub constants: Vec<(String, Level)>,
}

/// Why a plan could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadPlanError {
    /// There is none.
    #[error("{0} does not exist")]
    Absent(std::path::PathBuf),
    /// It cannot be read or is damaged.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// A run's name is none.
    #[error("{path} names a run that cannot be")]
    RunId {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: RunIdError,
    },
    /// A run is of a trial that is not there, or a trial lacks levels.
    #[error("{path} does not hold together: run {run} has no whole trial")]
    Trial {
        /// The file.
        path: std::path::PathBuf,
        /// The run.
        run: RunId,
    },
}

#[derive(Serialize, Deserialize)]
struct PlanJson {
    format_version: u32,
    fingerprint: String,
    seed: u64,
    factors: Vec<String>,
    responses: Vec<String>,
    trials: Vec<TrialJson>,
    runs: Vec<RunJson>,
}

#[derive(Serialize, Deserialize)]
struct TrialJson {
    levels: Vec<LevelJson>,
    coded: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct RunJson {
    id: String,
    trial: u32,
    replicate: u32,
    block: u32,
    standard: u32,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continues: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promise: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    constants: Vec<(String, LevelJson)>,
}

impl Plan {
    /// Writes the plan, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteRecordError> {
        let json = PlanJson {
            format_version: crate::FORMAT_VERSION,
            fingerprint: self.fingerprint.clone(),
            seed: self.seed,
            factors: self.factors.clone(),
            responses: self.responses.clone(),
            trials: self
                .trials
                .iter()
                .map(|trial| TrialJson {
                    levels: trial.levels.iter().map(LevelJson::new).collect(),
                    coded: trial.coded.clone(),
                })
                .collect(),
            runs: self
                .runs
                .iter()
                .map(|run| RunJson {
                    id: run.id.as_str().to_owned(),
                    trial: run.trial,
                    replicate: run.replicate,
                    block: run.block,
                    standard: run.standard,
                    seed: run.seed,
                    continues: run.continues.as_ref().map(|id| id.as_str().to_owned()),
                    promise: run.promise.clone(),
                    constants: run
                        .constants
                        .iter()
                        .map(|(name, level)| (name.clone(), LevelJson::new(level)))
                        .collect(),
                })
                .collect(),
        };
        let text = serde_json::to_string(&json).expect("a plan has text keys only");
        let text = sealed::seal(&text).expect("a plan is an object");
        write_file(path, text.as_bytes())
    }

    /// Reads a plan and checks that it holds together.
    ///
    /// # Errors
    /// If it is absent, damaged or too new.
    pub fn read(path: &Path) -> Result<Self, ReadPlanError> {
        let json: PlanJson =
            read_json(path)?.ok_or_else(|| ReadPlanError::Absent(path.to_owned()))?;
        let factors = json.factors.len();
        let trials: Vec<PlannedTrial> = json
            .trials
            .into_iter()
            .map(|trial| PlannedTrial {
                levels: trial
                    .levels
                    .into_iter()
                    .map(LevelJson::into_level)
                    .collect(),
                coded: trial.coded,
            })
            .collect();
        let mut runs = Vec::with_capacity(json.runs.len());
        for run in json.runs {
            let id = RunId::new(&run.id).map_err(|source| ReadPlanError::RunId {
                path: path.to_owned(),
                source,
            })?;
            let whole = trials
                .get(run.trial as usize)
                .is_some_and(|trial| trial.levels.len() == factors && trial.coded.len() == factors);
            if !whole {
                return Err(ReadPlanError::Trial {
                    path: path.to_owned(),
                    run: id,
                });
            }
            let continues = run.continues.as_deref().map(RunId::new).transpose();
            runs.push(PlannedRun {
                id,
                trial: run.trial,
                replicate: run.replicate,
                block: run.block,
                standard: run.standard,
                seed: run.seed,
                continues: continues.map_err(|source| ReadPlanError::RunId {
                    path: path.to_owned(),
                    source,
                })?,
                promise: run.promise,
                constants: run
                    .constants
                    .into_iter()
                    .map(|(name, level)| (name, level.into_level()))
                    .collect(),
            });
        }
        Ok(Self {
            fingerprint: json.fingerprint,
            seed: json.seed,
            factors: json.factors,
            responses: json.responses,
            trials,
            runs,
        })
    }

    /// The levels of a run.
    #[must_use]
    pub fn levels(&self, run: &PlannedRun) -> &[Level] {
        &self.trials[run.trial as usize].levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            fingerprint: "f".to_owned(),
            seed: u64::MAX,
            factors: vec!["a".to_owned(), "b".to_owned()],
            responses: vec!["time".to_owned()],
            trials: vec![PlannedTrial {
                levels: vec![Level::Number(0.1), Level::Word("ssp:3".to_owned())],
                coded: vec![-1.0, 1.0],
            }],
            runs: vec![PlannedRun {
                id: RunId::new("r1").unwrap(),
                trial: 0,
                replicate: 2,
                block: 1,
                standard: 7,
                seed: 1 << 63,
                continues: Some(RunId::new("r0").unwrap()),
                promise: Some("p0001".to_owned()),
                constants: vec![("epochs".to_owned(), Level::Integer(9))],
            }],
        }
    }

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.json");
        plan().write(&path).unwrap();
        assert_eq!(Plan::read(&path).unwrap(), plan());
    }

    #[test]
    fn a_plan_that_does_not_hold_together_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.json");
        assert!(matches!(Plan::read(&path), Err(ReadPlanError::Absent(_))));
        let mut broken = plan();
        broken.runs[0].trial = 5;
        broken.write(&path).unwrap();
        assert!(matches!(
            Plan::read(&path),
            Err(ReadPlanError::Trial { .. })
        ));
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(Plan::read(&path), Err(ReadPlanError::Open(_))));
    }
}
