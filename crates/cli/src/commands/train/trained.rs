//! A model that was trained, taken out of its checkpoint.

use super::job::{checkpoint_of, unreadable};
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_data::{DataSpec, Holdout, Options, Split, TextOptions};
use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_nets::{Model, ModelSpec};
use paceline_train::{Checkpoint, Compute, TensorFile, input_of};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Rows that are scored at a time.
const AT_ONCE: usize = 1024;

/// A trained model with the data it is asked about.
pub(crate) struct Trained {
    /// The checkpoint file.
    pub(crate) path: PathBuf,
    /// What the model is called.
    pub(crate) model: ModelSpec,
    /// The data, divided as for training.
    pub(crate) data: Split,
    /// Steps it was trained for.
    pub(crate) steps: u64,
    parameters: AlignedBuffer,
    compute: Compute,
}

impl Trained {
    /// Opens the checkpoint that `named` (a run, or a file) means, and `data`,
    /// or without it the data that the model was trained on.
    pub(crate) fn open(named: &Path, data: Option<&str>, threads: usize) -> Result<Self, Failure> {
        let path = checkpoint_of(named);
        let file = TensorFile::read(&path).map_err(|error| {
            Failure::record(error).hint("name a run of `paceline train`, or a checkpoint file")
        })?;
        let word = |key: &str| {
            file.words.get(key).cloned().ok_or_else(|| {
                Failure::record(anyhow!("{} does not say its {key}", path.display()))
            })
        };
        let model: ModelSpec = parsed(&word("model")?, &path)?;
        let data_word = match data {
            Some(data) => data.to_owned(),
            None => word("data")?,
        };
        let spec: DataSpec = data_word.parse().map_err(Failure::user)?;
        let mut options = Options {
            seed: parsed(&word("seed")?, &path)?,
            text: parsed::<TextOptions>(&word("text")?, &path)?,
            ..Options::default()
        };
        let test = word("test")?;
        if test != "none" {
            options.holdout = parsed::<Holdout>(&test, &path)?;
        }
        let split = paceline_data::open(&spec, &options).map_err(unreadable)?;
        let built: Arc<dyn Model> = model
            .build(
                input_of(&split.train),
                split.train.classes(),
                Kernels::detect(),
            )
            .map_err(|error| {
                Failure::user(error).hint(format!("the model was trained on {data_word}"))
            })?
            .into();
        let checkpoint = Checkpoint::from_file(built.layout(), file, &path).map_err(|error| {
            Failure::user(error).hint("are these rows of the form the model was trained on?")
        })?;
        Ok(Self {
            path,
            model,
            data: split,
            steps: checkpoint.progress.steps,
            parameters: checkpoint.parameters,
            compute: Compute::new(built, threads, AT_ONCE),
        })
    }

    /// Loss and hits on the test rows.
    pub(crate) fn evaluate(&mut self) -> paceline_nets::Tally {
        self.compute.evaluate(&self.data.test, &self.parameters)
    }

    /// The score of each class for each test row.
    pub(crate) fn scores(&mut self) -> Vec<f32> {
        self.compute.scores(&self.data.test, &self.parameters)
    }
}

fn parsed<T: FromStr>(word: &str, path: &Path) -> Result<T, Failure>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    word.parse().map_err(|error: T::Err| {
        Failure::record(anyhow::Error::new(error).context(format!(
            "{} was made by another version of Paceline",
            path.display()
        )))
    })
}
