//! A training that has been checked.

use super::args::JobArgs;
use super::data;
use super::distributed::{Plan, Spawn};
use crate::failure::Failure;
use anyhow::Context;
use paceline_data::{DataSpec, Options, Split};
use paceline_kernels::Kernels;
use paceline_nets::{Model, ModelSpec};
use paceline_train::{
    Checkpoint, CheckpointSettings, ClusterSession, Defaults, Goal, Session, Settings, TensorFile,
    TrainingIdentity, input_of,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of a checkpoint in a run's directory.
const CHECKPOINT: &str = "checkpoint/model.safetensors";

/// More threads than any machine has for one worker; each needs memory.
const MOST_THREADS: usize = 1024;

/// What to train on what, and how.
pub(crate) struct Job {
    pub(super) model: ModelSpec,
    pub(super) data: DataSpec,
    options: Options,
    settings: Settings,
    /// How the user names the data: on another host they may be elsewhere.
    typed: [(&'static str, String); 3],
    resume: Option<PathBuf>,
    plan: Option<Plan>,
}

/// A training that is ready to begin.
pub(super) enum Opened {
    /// With one worker.
    Single(Box<Session>),
    /// With several.
    Several(Box<ClusterSession>, Box<Plan>),
}

impl Job {
    /// Checks everything that can be checked without reading data. `run_dir`
    /// is where a checkpoint goes that has no place of its own.
    pub(super) fn check(args: &JobArgs, run_dir: Option<&Path>) -> Result<Self, Failure> {
        let word = args.model.as_deref().unwrap_or_default();
        let model: ModelSpec = word.parse().map_err(|error| {
            Failure::user(error).hint("`paceline train --list` shows all models")
        })?;
        let (data, options) = data::wanted(args)?;
        let seed = options.seed;
        let defaults = Defaults::of(&model);
        let plan = args.cluster.check()?;
        let threads = match args.threads {
            Some(threads) if threads.get() > MOST_THREADS => {
                return Err(Failure::user(anyhow::anyhow!(
                    "--threads {threads}: a worker computes with at most {MOST_THREADS}"
                )));
            }
            Some(threads) => threads.get(),
            None => match &plan {
                // External a worker has a host for itself, or the user says.
                Some(plan) if plan.spawn != Spawn::Hosts => {
                    (usable_cpus()? / plan.cluster.workers.get() as usize).max(1)
                }
                _ => usable_cpus()?,
            },
        };
        let is_bounded = args.epochs.is_some() || args.steps.is_some() || args.time.is_some();
        let goal = Goal {
            // A condition may never hold: without another bound, it has one.
            epochs: args.epochs.or_else(|| {
                (!is_bounded).then_some(match args.until {
                    Some(_) => defaults.epochs * 20,
                    None => defaults.epochs,
                })
            }),
            steps: args.steps,
            time: args.time,
            until: args.until,
            patience: args.patience,
        };
        let mut settings = Settings {
            batch_size: args.batch_size.map_or(defaults.batch_size, Into::into),
            threads,
            seed,
            optimizer: args.optimizer.unwrap_or(defaults.optimizer),
            rate: args.learning_rate.unwrap_or(defaults.rate),
            schedule: args.schedule.unwrap_or(defaults.schedule),
            decay: args.weight_decay as f32,
            clip: args.clip.map(|norm| norm as f32),
            goal,
            evaluate_every: args.eval_every,
            checkpoint: None,
        };
        settings.checkpoint = checkpoint_place(args, run_dir).map(|path| CheckpointSettings {
            path,
            every: args.checkpoint_every,
            // Known when the data have been read.
            words: BTreeMap::new(),
        });
        Ok(Self {
            model,
            data,
            options,
            settings,
            typed: [
                ("data", args.data.clone()),
                ("text", args.text.clone()),
                (
                    "test",
                    args.test.map_or("none".to_owned(), |test| test.to_string()),
                ),
            ],
            resume: args.resume.clone(),
            plan,
        })
    }

    /// Reads the data and builds the model, at its start or where a checkpoint
    /// stands.
    pub(super) fn open(mut self) -> Result<Opened, Failure> {
        let split = data::read(&self.data, &self.options)?;
        let identity = self.identity(&split);
        let settings = &mut self.settings;
        if let Some(checkpoint) = &mut settings.checkpoint {
            checkpoint.words = identity.words();
        }
        // No batch has more rows than there are: memory is made for as many.
        settings.batch_size = settings.batch_size.min(split.train.rows()).max(1);
        let input = input_of(&split.train);
        let name = self.model.to_string();
        let model: Arc<dyn Model> = self
            .model
            .build(input, split.train.classes(), Kernels::detect())
            .map_err(|error| {
                Failure::user(error).hint("`paceline train --list` says what each model reads")
            })?
            .into();
        let Some(from) = self.resume else {
            return match self.plan {
                None => Ok(Opened::Single(Box::new(Session::new(
                    model,
                    split,
                    self.settings,
                )))),
                Some(plan) => {
                    let cluster = plan.cluster.clone();
                    ClusterSession::new(&name, model, split, self.settings, cluster)
                        .map(|session| Opened::Several(Box::new(session), Box::new(plan)))
                        .map_err(Failure::user)
                }
            };
        };
        let path = checkpoint_of(&from)?;
        let file = TensorFile::read(&path).map_err(Failure::record)?;
        agree(&file, &identity, &path)?;
        let checkpoint =
            Checkpoint::from_file(model.layout(), file, &path).map_err(Failure::record)?;
        match self.plan {
            None => Ok(Opened::Single(Box::new(Session::resume(
                model,
                split,
                self.settings,
                checkpoint,
            )))),
            Some(plan) => {
                let cluster = plan.cluster.clone();
                ClusterSession::resume(&name, model, split, self.settings, cluster, checkpoint)
                    .map(|session| Opened::Several(Box::new(session), Box::new(plan)))
                    .map_err(Failure::user)
            }
        }
    }

    /// Reads no checkpoint: members get their state from the trainer, whose
    /// files they may not see.
    pub(super) fn without_resuming(mut self) -> Self {
        self.resume = None;
        self
    }

    /// What is trained, as a checkpoint says it and members must agree on it.
    fn identity(&self, split: &Split) -> TrainingIdentity {
        let cluster = self.plan.as_ref().map(|plan| &plan.cluster);
        let identity =
            TrainingIdentity::new(&self.model.to_string(), split, &self.settings, cluster);
        let threads = self.settings.threads.to_string();
        self.typed
            .iter()
            .fold(identity, |identity, (name, value)| {
                identity.with_local(name, value.clone())
            })
            .with_local("threads", threads)
    }

    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Where a checkpoint goes, if one is to be written.
pub(super) fn checkpoint_place(args: &JobArgs, run_dir: Option<&Path>) -> Option<PathBuf> {
    match (&args.checkpoint, run_dir) {
        _ if args.no_checkpoint => None,
        (Some(path), _) => Some(path.clone()),
        (None, Some(dir)) => Some(dir.join(CHECKPOINT)),
        (None, None) => None,
    }
}

/// The checkpoint that a user means by a run or a file.
pub(crate) fn checkpoint_of(named: &Path) -> Result<PathBuf, Failure> {
    if named.is_file() {
        return Ok(named.to_owned());
    }
    Ok(crate::records::find(Some(named))?.join(CHECKPOINT))
}

/// A resumed training goes on only as what it was.
fn agree(file: &TensorFile, identity: &TrainingIdentity, path: &Path) -> Result<(), Failure> {
    let Some((key, was, now)) = identity.difference_from(&file.words) else {
        return Ok(());
    };
    let path = path.display();
    if key == "data_content" {
        return Err(Failure::user(anyhow::anyhow!(
            "{path} was trained on other data: on {was}, not {now}"
        ))
        .hint("resume with the data it was trained on, or start anew without --resume"));
    }
    let flag = key.replace('_', "-");
    Err(Failure::user(anyhow::anyhow!(
        "{path} was trained with {key} `{was}`, not `{now}`"
    ))
    .hint(format!(
        "resume with --{flag} {was}, or start anew without --resume"
    )))
}

/// How many CPUs this process may use.
pub(crate) fn usable_cpus() -> Result<usize, Failure> {
    paceline_engine::host::usable_cpus()
        .map(|cpus| cpus.cores().len())
        .context("cannot read this process's cpus")
        .map_err(Failure::world)
}

pub(crate) fn unreadable(error: paceline_data::OpenDataError) -> Failure {
    Failure::user(error)
}
