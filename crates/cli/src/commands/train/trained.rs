//! A model that was trained, taken out of its checkpoint.

use super::classic::unasked;
use super::data;
use super::job::checkpoint_of;
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_data::{DataSpec, Holdout, Options, Split, TextOptions};
use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_nets::{Model, ModelSpec};
use paceline_train::{
    Checkpoint, ClassicModel, ClassicSpec, Compute, Judged, TensorFile, input_of,
};
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
    pub(crate) model: String,
    /// The data, divided as for training.
    pub(crate) data: Split,
    /// Steps it was trained for; none if it was solved as a whole.
    pub(crate) steps: Option<u64>,
    threads: usize,
    machine: Machine,
}

/// What answers.
enum Machine {
    Gradient {
        parameters: AlignedBuffer,
        compute: Box<Compute>,
    },
    Classic(ClassicModel),
}

impl Trained {
    /// Opens the checkpoint that `named` (a run, or a file) means, and `data`,
    /// or without it the data that the model was trained on.
    pub(crate) fn open(named: &Path, data: Option<&str>, threads: usize) -> Result<Self, Failure> {
        let path = checkpoint_of(named)?;
        let file = TensorFile::read(&path).map_err(|error| {
            Failure::record(error).hint("name a run of `paceline train`, or a checkpoint file")
        })?;
        let word = |key: &str| {
            file.words.get(key).cloned().ok_or_else(|| {
                Failure::record(anyhow!("{} does not say its {key}", path.display()))
            })
        };
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
        let split = data::read(&spec, &options)?;
        let name = word("model")?;
        let family = name.split(':').next().unwrap_or_default();
        let (model, steps, machine) = if ClassicSpec::is_family(family) {
            let model = ClassicModel::from_file(file, &path).map_err(Failure::record)?;
            (model.spec().to_string(), None, Machine::Classic(model))
        } else {
            let model: ModelSpec = parsed(&name, &path)?;
            let (checkpoint, built) = by_gradient(&model, &split, file, &path, &data_word)?;
            let machine = Machine::Gradient {
                parameters: checkpoint.parameters,
                compute: Box::new(Compute::new(built, threads, AT_ONCE)),
            };
            let steps = Some(checkpoint.progress.steps);
            (model.to_string(), steps, machine)
        };
        Ok(Self {
            path,
            model,
            data: split,
            steps,
            threads,
            machine,
        })
    }

    /// How good it is on the test rows.
    pub(crate) fn evaluate(&mut self) -> Result<Judged, Failure> {
        match &mut self.machine {
            Machine::Gradient {
                parameters,
                compute,
            } => {
                let tally = compute.evaluate(&self.data.test, parameters);
                Ok(Judged {
                    rows: tally.rows,
                    hits: tally.hits,
                    loss: Some(tally.mean_loss()),
                })
            }
            Machine::Classic(model) => model.judge(&self.data.test, self.threads).map_err(unasked),
        }
    }

    /// The score of each class for each test row.
    pub(crate) fn scores(&mut self) -> Result<Vec<f32>, Failure> {
        match &mut self.machine {
            Machine::Gradient {
                parameters,
                compute,
            } => Ok(compute.scores(&self.data.test, parameters)),
            Machine::Classic(model) => model.scores(&self.data.test, self.threads).map_err(unasked),
        }
    }
}

fn by_gradient(
    model: &ModelSpec,
    split: &Split,
    file: TensorFile,
    path: &Path,
    data: &str,
) -> Result<(Checkpoint, Arc<dyn Model>), Failure> {
    let built: Arc<dyn Model> = model
        .build(
            input_of(&split.train),
            split.train.classes(),
            Kernels::detect(),
        )
        .map_err(|error| Failure::user(error).hint(format!("the model was trained on {data}")))?
        .into();
    let checkpoint = Checkpoint::from_file(built.layout(), file, path).map_err(|error| {
        Failure::user(error).hint("are these rows of the form the model was trained on?")
    })?;
    Ok((checkpoint, built))
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
