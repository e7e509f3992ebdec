//! The command of one run.

use crate::builtin::{BuiltInFactor, FactorOwner};
use crate::job::{Job, Program};
use crate::study::Study;
use crate::template::Template;
use crate::usage::variable;
use paceline_model::Level;

/// What differs between two runs of the same trial.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The run's own seed.
    pub seed: u64,
    /// The name of the run.
    pub run_id: String,
    /// The run's own directory, absolute.
    pub run_dir: String,
    /// Which run of its trial, from 0.
    pub replicate: u32,
    /// Paceline's own program, which the built-in trainer is part of.
    pub program: String,
    /// The directory in which the run finds what it goes on from, if there is
    /// anything, and leaves what another may go on from; absolute.
    pub checkpoint_dir: String,
    /// What the built-in trainer does there. Any other command decides itself.
    pub checkpoint: CheckpointUse,
    /// Constants of `[fixed]`, or options of a training, that this run has
    /// otherwise.
    pub constants: Vec<(String, Level)>,
    /// The directory in which a Spark application leaves its event log; absolute.
    pub event_log_dir: String,
}

/// What the built-in trainer does with a run's checkpoint directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointUse {
    /// Nothing: hundreds of runs would leave hundreds of models that nobody asked
    /// for.
    #[default]
    None,
    /// It leaves its model there.
    Keep,
    /// It goes on from the model there, and leaves its own.
    Resume,
}

/// The model's file in a checkpoint directory.
const MODEL_FILE: &str = "model.safetensors";

/// The subcommand of [`RunFacts::program`] that trains in its own process.
pub const TRAINER: &str = "trainer";

impl RunFacts {
    /// The placeholders that stand for them. A factor or constant named `seed`
    /// takes the place of the run's own.
    pub const NAMES: &'static [&'static str] =
        &["seed", "run_id", "run_dir", "replicate", "checkpoint_dir"];

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "seed" => Some(self.seed.to_string()),
            "run_id" => Some(self.run_id.clone()),
            "run_dir" => Some(self.run_dir.clone()),
            "replicate" => Some(self.replicate.to_string()),
            "checkpoint_dir" => Some(self.checkpoint_dir.clone()),
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
    /// Neither `[job]`, `[fixed]` nor `[factors]` says what to train.
    #[error("the job does not name a model")]
    NoModel,
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
    /// Whether a run may have another value of this constant: it stands under
    /// `[fixed]`, or is an option of the built-in trainer.
    #[must_use]
    pub fn takes_constant(&self, name: &str) -> bool {
        let fixed = self.fixed.iter().any(|(own, _)| own == name);
        let varied = self.factors.iter().any(|factor| factor.name == name);
        let trainers = BuiltInFactor::from_name(name)
            .is_some_and(|factor| factor.owner == FactorOwner::Trainer);
        fixed || (!varied && trainers && matches!(self.job, Job::Train(_)))
    }

    /// The command of a run whose factors have these levels, in the order of
    /// [`Study::factors`].
    ///
    /// # Errors
    /// If a training has no model, or the number of levels is wrong.
    pub fn command_for(
        &self,
        levels: &[Level],
        facts: &RunFacts,
    ) -> Result<CommandLine, CommandError> {
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
        let instead = |name: &str| facts.constants.iter().find(|(own, _)| own == name);
        let fixed = fixed.map(|(name, level)| (name, instead(name).map_or(level, |(_, own)| own)));
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
        let (argv, mut env, cwd) = match &self.job {
            Job::Command(job) => {
                let argv = match &job.program {
                    Program::Arguments(arguments) => arguments.iter().map(fill).collect(),
                    Program::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), fill(text)],
                };
                let env = job
                    .env
                    .iter()
                    .map(|(name, template)| (name.clone(), fill(template)));
                (argv, env.collect(), job.cwd.as_ref().map(fill))
            }
            Job::Train(job) => {
                let options = job
                    .options
                    .iter()
                    .chain(&facts.constants)
                    .map(|(name, level)| (name.as_str(), level.to_string()))
                    .chain(assigned.iter().cloned());
                (trainer(options, facts)?, Vec::new(), None)
            }
            Job::SparkSubmit(job) => {
                let env = job
                    .env
                    .iter()
                    .map(|(name, template)| (name.clone(), fill(template)));
                let argv = job.argv(&assigned, &fill, facts);
                (argv, env.collect(), job.cwd.as_ref().map(fill))
            }
        };
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
        Ok(CommandLine { argv, cwd, env })
    }
}

/// The trainer's command: the model, then an option for everything else that is
/// not the runner's own. What varies comes after what is fixed, and wins.
fn trainer<'a>(
    options: impl Iterator<Item = (&'a str, String)>,
    facts: &RunFacts,
) -> Result<Vec<String>, CommandError> {
    let mut chosen: Vec<(&str, String)> = Vec::new();
    for (name, value) in options {
        let is_runners = BuiltInFactor::from_name(name)
            .is_some_and(|factor| factor.owner != FactorOwner::Trainer);
        if is_runners {
            continue;
        }
        match chosen.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => chosen.push((name, value)),
        }
    }
    let model = chosen
        .iter()
        .position(|(name, _)| *name == "model")
        .ok_or(CommandError::NoModel)?;
    let (_, model) = chosen.remove(model);
    let mut argv = vec![facts.program.clone(), TRAINER.to_owned(), model];
    let has = |name: &str| chosen.iter().any(|(own, _)| *own == name);
    if !has("seed") {
        argv.extend(["--seed".to_owned(), facts.seed.to_string()]);
    }
    let said = ["checkpoint", "checkpoint_every", "no_checkpoint"];
    let model_file = format!("{}/{MODEL_FILE}", facts.checkpoint_dir);
    match facts.checkpoint {
        CheckpointUse::None if !said.iter().any(|name| has(name)) => {
            argv.push("--no-checkpoint".to_owned());
        }
        CheckpointUse::None => {}
        CheckpointUse::Keep | CheckpointUse::Resume => {
            chosen.retain(|(name, _)| !["checkpoint", "no_checkpoint"].contains(name));
            argv.push(format!("--checkpoint={model_file}"));
        }
    }
    if facts.checkpoint == CheckpointUse::Resume {
        argv.push(format!("--resume={model_file}"));
    }
    for (name, value) in chosen {
        let flag = format!("--{}", name.replace('_', "-"));
        match value.as_str() {
            "true" => argv.push(flag),
            "false" => {}
            _ => argv.push(format!("{flag}={value}")),
        }
    }
    Ok(argv)
}
