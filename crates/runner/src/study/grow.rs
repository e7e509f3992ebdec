//! A study whose runs are decided while it goes on.

use super::opening::OpenStudyError;
use super::plan::{run_seed, unplanned};
use super::session::{Session, Settings};
use paceline_model::{Level, RunId};
use paceline_records::WriteRecordError;
use paceline_records::study::{Plan, PlannedRun, PlannedTrial, StudyDir};
use paceline_study::Study;

impl Session {
    /// As [`Session::open`], but a new study begins without any run: whoever
    /// opened it adds them with [`Session::grow`].
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_growing(
        dir: StudyDir,
        study: Study,
        settings: Settings,
    ) -> Result<Self, OpenStudyError> {
        Self::open_planned(dir, study, settings, |study| Ok(unplanned(study)))
    }

    /// Plans `count` more runs of these levels, in the order of the factors. They
    /// are on disk before this returns, so that a session that dies goes on with
    /// the same runs and the same seeds.
    ///
    /// # Errors
    /// If the plan cannot be written; then nothing has changed.
    pub fn grow(&mut self, levels: &[Level], count: usize) -> Result<(), WriteRecordError> {
        self.grow_from(levels, &vec![None; count])
    }

    /// As [`Session::grow`], with a run for each of `from`: one that goes on from the
    /// checkpoint of another has that one's seed, because it is the same training.
    ///
    /// # Errors
    /// As [`Session::grow`].
    pub fn grow_from(
        &mut self,
        levels: &[Level],
        from: &[Option<RunId>],
    ) -> Result<(), WriteRecordError> {
        let mut plan = self.plan.clone();
        let trial = trial_of(&mut plan, levels);
        extend(&mut plan, trial, from);
        self.replace_plan(plan)
    }

    /// Goes on with a plan that has more runs than before.
    pub(super) fn replace_plan(&mut self, plan: Plan) -> Result<(), WriteRecordError> {
        let planned = self.plan.runs.len();
        plan.write(&self.dir.plan())?;
        self.plan = plan;
        let shared = self.shared.get_mut();
        self.plan.runs[planned..]
            .iter()
            .for_each(|run| shared.progress.add(run));
        Ok(())
    }
}

/// The trial of these levels, by position: levels that were planned before are the
/// same trial, replicated further.
pub(super) fn trial_of(plan: &mut Plan, levels: &[Level]) -> u32 {
    let known = plan.trials.iter().position(|trial| trial.levels == levels);
    let at = known.unwrap_or(plan.trials.len());
    if known.is_none() {
        let coded = levels.iter().enumerate();
        let coded = coded.map(|(factor, level)| coded_as(plan, factor, level));
        plan.trials.push(PlannedTrial {
            coded: coded.collect(),
            levels: levels.to_vec(),
        });
    }
    at as u32
}

/// What a level is in the coded units of the plan's design: as where it was planned,
/// and between or beyond two planned numbers on the line through the nearest two.
/// Without a design there is no coding, and numbers stand for themselves.
fn coded_as(plan: &Plan, factor: usize, level: &Level) -> f64 {
    let mut planned = plan.trials.iter();
    if let Some(same) = planned.find(|trial| trial.levels[factor] == *level) {
        return same.coded[factor];
    }
    let Some(value) = level.as_number() else {
        return 0.0;
    };
    let pairs = plan.trials.iter().filter_map(|trial| {
        let number = trial.levels[factor].as_number()?;
        Some((number, trial.coded[factor]))
    });
    let mut pairs: Vec<(f64, f64)> = pairs.collect();
    pairs.sort_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()));
    pairs.dedup_by(|a, b| a.0 == b.0);
    match pairs.as_slice() {
        [(x0, y0), (x1, y1), ..] => y0 + (value - x0) * (y1 - y0) / (x1 - x0),
        _ => value,
    }
}

/// Plans a run of the trial for each of `from`.
pub(super) fn extend(plan: &mut Plan, trial: u32, from: &[Option<RunId>]) {
    let before = plan.runs.iter().filter(|run| run.trial == trial).count();
    // As many digits as the runs before them have.
    let digits = plan.runs.first();
    let digits = digits.map_or(4, |run| run.id.as_str().len().saturating_sub(1));
    for (replicate, continues) in (before..).zip(from) {
        let standard = plan.runs.len() as u32;
        let mut known = plan.runs.iter();
        let parent = known.find(|run| Some(&run.id) == continues.as_ref());
        let seed = parent.map_or_else(|| run_seed(plan.seed, standard), |run| run.seed);
        plan.runs.push(PlannedRun {
            id: RunId::new(&format!("r{:0digits$}", standard + 1)).expect("a letter and digits"),
            trial,
            replicate: replicate as u32,
            block: 0,
            standard,
            seed,
            continues: continues.clone(),
            promise: None,
            constants: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_return_are_replicates_of_the_same_trial() {
        let mut plan = Plan {
            fingerprint: String::new(),
            seed: 1,
            factors: vec!["x".to_owned()],
            responses: Vec::new(),
            trials: Vec::new(),
            runs: Vec::new(),
        };
        let (a, b) = ([Level::Number(0.5)], [Level::Integer(2)]);
        let grow = |plan: &mut Plan, levels: &[Level], from: &[Option<RunId>]| {
            let trial = trial_of(plan, levels);
            extend(plan, trial, from);
        };
        grow(&mut plan, &a, &[None, None]);
        grow(&mut plan, &b, &[None]);
        grow(&mut plan, &a, &[None]);
        let runs: Vec<(&str, u32, u32)> = plan
            .runs
            .iter()
            .map(|run| (run.id.as_str(), run.trial, run.replicate))
            .collect();
        assert_eq!(
            runs,
            [
                ("r0001", 0, 0),
                ("r0002", 0, 1),
                ("r0003", 1, 0),
                ("r0004", 0, 2)
            ]
        );
        let mut seeds: Vec<u64> = plan.runs.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 4, "every run has its own seed");
        // One that goes on from another is the same training.
        let parent = plan.runs[1].clone();
        grow(&mut plan, &b, &[Some(parent.id.clone())]);
        let child = &plan.runs[4];
        assert_eq!(
            (child.seed, &child.continues),
            (parent.seed, &Some(parent.id))
        );
    }

    #[test]
    fn a_level_between_those_of_a_design_is_coded_between_theirs() {
        let trial = |batch: i64, sync: &str, coded: [f64; 2]| PlannedTrial {
            levels: vec![Level::Integer(batch), Level::Word(sync.to_owned())],
            coded: coded.to_vec(),
        };
        let mut plan = Plan {
            fingerprint: String::new(),
            seed: 1,
            factors: vec!["batch_size".to_owned(), "sync".to_owned()],
            responses: Vec::new(),
            trials: vec![
                trial(64, "bsp", [-1.0, -1.0]),
                trial(128, "async", [1.0, 1.0]),
            ],
            runs: Vec::new(),
        };
        let mut coded = |batch: i64, sync: &str| {
            let at = trial_of(&mut plan, &trial(batch, sync, [0.0, 0.0]).levels);
            plan.trials[at as usize].coded.clone()
        };
        assert_eq!(coded(96, "bsp"), [0.0, -1.0]);
        assert_eq!(coded(128, "bsp"), [1.0, -1.0]);
        assert_eq!(coded(160, "async"), [2.0, 1.0]);
    }
}
