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
        let planned = self.plan.runs.len();
        let mut plan = self.plan.clone();
        extend(&mut plan, levels, from);
        plan.write(&self.dir.plan())?;
        self.plan = plan;
        let shared = self.shared.get_mut();
        self.plan.runs[planned..]
            .iter()
            .for_each(|run| shared.progress.add(run));
        Ok(())
    }
}

/// Levels that were planned before are the same trial, replicated further.
fn extend(plan: &mut Plan, levels: &[Level], from: &[Option<RunId>]) {
    let known = plan.trials.iter().position(|trial| trial.levels == levels);
    let trial = known.unwrap_or(plan.trials.len()) as u32;
    if known.is_none() {
        plan.trials.push(PlannedTrial {
            levels: levels.to_vec(),
            // Without a design there is no coding: numbers stand for themselves.
            coded: levels
                .iter()
                .map(|level| level.as_number().unwrap_or(0.0))
                .collect(),
        });
    }
    let before = plan.runs.iter().filter(|run| run.trial == trial).count();
    for (replicate, continues) in (before..).zip(from) {
        let standard = plan.runs.len() as u32;
        let mut known = plan.runs.iter();
        let parent = known.find(|run| Some(&run.id) == continues.as_ref());
        let seed = parent.map_or_else(|| run_seed(plan.seed, standard), |run| run.seed);
        plan.runs.push(PlannedRun {
            id: RunId::new(&format!("r{:04}", standard + 1)).expect("a letter and digits"),
            trial,
            replicate: replicate as u32,
            block: 0,
            standard,
            seed,
            continues: continues.clone(),
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
        extend(&mut plan, &a, &[None, None]);
        extend(&mut plan, &b, &[None]);
        extend(&mut plan, &a, &[None]);
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
        extend(&mut plan, &b, &[Some(parent.id.clone())]);
        let child = &plan.runs[4];
        assert_eq!(
            (child.seed, &child.continues),
            (parent.seed, &Some(parent.id))
        );
    }
}
