//! From a checked study to the runs that it will make.

use paceline_design::{Design, PlanError};
use paceline_model::RunId;
use paceline_numeric::splitmix64;
use paceline_records::study::{Plan, PlannedRun, PlannedTrial};
use paceline_study::{RequestError, Study};

/// Why a study cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanStudyError {
    /// The study's design cannot be asked for.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no such design.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Plans every trial and run, seeds included. The same study gives the same
/// plan on every machine.
///
/// # Errors
/// If the design cannot be made.
pub fn plan(study: &Study) -> Result<(Design, Plan), PlanStudyError> {
    let seed = study.design().seed;
    let design = study.design_request()?.plan(seed)?;
    let trials = (0..design.trial_count() as u32)
        .map(|trial| PlannedTrial {
            levels: design.levels(trial).collect(),
            coded: design.coded(trial).collect(),
        })
        .collect();
    let digits = design.runs().len().to_string().len();
    let runs = design
        .runs()
        .iter()
        .enumerate()
        .map(|(order, run)| PlannedRun {
            id: RunId::new(&format!("r{:0digits$}", order + 1)).expect("a letter and digits"),
            trial: run.trial,
            replicate: run.replicate,
            block: run.block,
            standard: run.standard,
            seed: run_seed(seed, run.standard),
            continues: None,
            promise: None,
            constants: Vec::new(),
        })
        .collect();
    let plan = Plan {
        trials,
        runs,
        ..unplanned(study)
    };
    Ok((design, plan))
}

/// The plan of a study before any run is planned.
pub(super) fn unplanned(study: &Study) -> Plan {
    let factors = study.factors().iter();
    let responses = study.responses().iter();
    Plan {
        fingerprint: study.fingerprint().as_str().to_owned(),
        seed: study.design().seed,
        factors: factors.map(|factor| factor.name.clone()).collect(),
        responses: responses.map(|response| response.name.clone()).collect(),
        trials: Vec::new(),
        runs: Vec::new(),
    }
}

/// A seed of its own for each run, from its place in the standard order:
/// randomising the order does not change what a run does. 31 bits, because many
/// libraries take no more.
pub(super) fn run_seed(study: u64, standard: u32) -> u64 {
    splitmix64(0, study.wrapping_add(u64::from(standard))) >> 33
}
