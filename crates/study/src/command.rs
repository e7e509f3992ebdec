//! The command of one run.

use crate::job::{Job, Program};
use crate::study::Study;
use crate::template::Template;
use crate::usage::variable;
use paceline_model::Level;

/// What differs between two runs of the same trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// The run's own seed.
    pub seed: u64,
    /// The name of the run.
    pub run_id: String,
    /// The run's own directory, absolute.
    pub run_dir: String,
    /// Which run of its trial, from 0.
    pub replicate: u32,
}

impl RunFacts {
    /// The placeholders that stand for them. A factor or constant named `seed`
    /// takes the place of the run's own.
    pub const NAMES: &'static [&'static str] = &["seed", "run_id", "run_dir", "replicate"];

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "seed" => Some(self.seed.to_string()),
            "run_id" => Some(self.run_id.clone()),
            "run_dir" => Some(self.run_dir.clone()),
            "replicate" => Some(self.replicate.to_string()),
            _ => None,
        }
    }
}

/// A command ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory it starts in, relative to the study file, if the study
    /// names one.
    pub cwd: Option<String>,
    /// Variables to add to the environment: the study's own, then one
    /// `PACELINE_…` for every factor, constant and fact of the run.
    pub env: Vec<(String, String)>,
}

/// Why a trial has no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The study runs the built-in trainer.
    #[error("the job is the built-in trainer, which has no command")]
    NotACommand,
    /// The trial does not fit the study.
    #[error("the trial has {found} levels, the study has {expected} factors")]
    LevelCount {
        /// How many factors there are.
        expected: usize,
        /// How many levels were given.
        found: usize,
    },
}

impl Study {
    /// The command of a run whose factors have these levels, in the order of
    /// [`Study::factors`].
    ///
    /// # Errors
    /// If the job is not a command, or the number of levels is wrong.
    pub fn command_for(
        &self,
        levels: &[Level],
        facts: &RunFacts,
    ) -> Result<CommandLine, CommandError> {
        let Job::Command(job) = &self.job else {
            return Err(CommandError::NotACommand);
        };
        if levels.len() != self.factors.len() {
            return Err(CommandError::LevelCount {
                expected: self.factors.len(),
                found: levels.len(),
            });
        }
        let varied = self
            .factors
            .iter()
            .map(|factor| factor.name.as_str())
            .zip(levels);
        let fixed = self
            .fixed
            .iter()
            .map(|(name, level)| (name.as_str(), level));
        let assigned: Vec<(&str, String)> = varied
            .chain(fixed)
            .map(|(name, level)| (name, level.to_string()))
            .collect();
        let value_of = |name: &str| {
            let level = assigned.iter().find(|(own, _)| *own == name);
            level
                .map(|(_, text)| text.clone())
                .or_else(|| facts.get(name))
        };
        let fill = |template: &Template| {
            template
                .fill(value_of)
                .expect("placeholders were checked against factors, constants and facts")
        };
        let argv = match &job.program {
            Program::Arguments(arguments) => arguments.iter().map(fill).collect(),
            Program::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), fill(text)],
        };
        let mut env: Vec<(String, String)> = job
            .env
            .iter()
            .map(|(name, template)| (name.clone(), fill(template)))
            .collect();
        let facts_not_assigned = RunFacts::NAMES
            .iter()
            .filter(|name| {
                !assigned
                    .iter()
                    .any(|(own, _)| own.eq_ignore_ascii_case(name))
            })
            .filter_map(|name| Some((variable(name), facts.get(name)?)));
        env.extend(
            assigned
                .iter()
                .map(|(name, text)| (variable(name), text.clone())),
        );
        env.extend(facts_not_assigned);
        Ok(CommandLine {
            argv,
            cwd: job.cwd.as_ref().map(fill),
            env,
        })
    }
}
