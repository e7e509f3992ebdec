//! A training session on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use paceline_kernels::AlignedBuffer;
use paceline_nets::{Layout, Segment};

use crate::optimizer::{Optimizer, OptimizerState};
use crate::tensors::{Numbers, ReadTensorsError, Tensor, TensorFile, WriteTensorsError};

/// The version of the words below. A later reader refuses a newer one.
const FORMAT: &str = "1";

/// A training session as it stood after some step: enough to go on as if it
/// had never stopped.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The flat parameters.
    pub parameters: AlignedBuffer,
    /// The optimizer and what it remembers.
    pub optimizer: OptimizerState,
    /// How far training had come.
    pub progress: Progress,
    /// What was trained on what and how, in the caller's words, so that a
    /// checkpoint explains itself and a mismatched `--resume` is refused.
    pub words: BTreeMap<String, String>,
}

/// How far training has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Steps taken.
    pub steps: u64,
    /// Epochs completed.
    pub epochs: u64,
    /// Rows of the current epoch that have been seen.
    pub position: u64,
    /// Training time.
    pub elapsed: Duration,
    /// Sum of losses since the last evaluation.
    pub loss_sum: f64,
    /// Hits since the last evaluation.
    pub hits: u64,
    /// Rows since the last evaluation.
    pub rows: u64,
    /// The best test loss of an evaluation.
    pub best_loss: Option<f64>,
    /// Evaluations since the best one.
    pub stale: u32,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadCheckpointError {
    /// The file is unreadable.
    #[error(transparent)]
    Read(#[from] ReadTensorsError),
    /// The file lacks something or has it in another form.
    #[error("{path}: {what}")]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl Checkpoint {
    /// Writes the checkpoint atomically. Tensors are stored without padding
    /// under their segment's name, so that any safetensors reader has the
    /// plain weights.
    pub fn write(&self, layout: &Layout, path: &Path) -> Result<(), WriteTensorsError> {
        let mut words = self.words.clone();
        let mut put = |key: &str, value: String| words.insert(format!("paceline.{key}"), value);
        let progress = &self.progress;
        put("format", FORMAT.to_owned());
        put("optimizer", self.optimizer.optimizer.to_string());
        put("optimizer_steps", self.optimizer.steps.to_string());
        put("steps", progress.steps.to_string());
        put("epochs", progress.epochs.to_string());
        put("position", progress.position.to_string());
        put("elapsed_ns", progress.elapsed.as_nanos().to_string());
        put("loss_sum", float_word(progress.loss_sum));
        put("hits", progress.hits.to_string());
        put("rows", progress.rows.to_string());
        put(
            "best_loss",
            progress.best_loss.map_or("none".into(), float_word),
        );
        put("stale", progress.stale.to_string());
        let mut tensors = BTreeMap::new();
        for segment in layout.segments() {
            tensors.insert(segment.name.clone(), pack(segment, &self.parameters));
            for (number, moment) in self.optimizer.moments.iter().enumerate() {
                tensors.insert(moment_name(number, segment), pack(segment, moment));
            }
        }
        TensorFile { words, tensors }.write(path)
    }

    /// Reads a checkpoint of a model with this layout.
    pub fn read(layout: &Layout, path: &Path) -> Result<Self, LoadCheckpointError> {
        Self::from_file(layout, TensorFile::read(path)?, path)
    }

    /// Takes a checkpoint out of a file that has been read.
    pub fn from_file(
        layout: &Layout,
        mut file: TensorFile,
        path: &Path,
    ) -> Result<Self, LoadCheckpointError> {
        let content = |what: String| LoadCheckpointError::Content {
            path: path.to_owned(),
            what,
        };
        let mut take = |key: &str| {
            file.words
                .remove(&format!("paceline.{key}"))
                .ok_or_else(|| content(format!("the checkpoint does not say its {key}")))
        };
        let format = take("format")?;
        if format != FORMAT {
            return Err(content(format!(
                "the checkpoint has format {format}, this version reads format {FORMAT}"
            )));
        }
        let optimizer: Optimizer = take("optimizer")?
            .parse()
            .map_err(|error| content(format!("{error}")))?;
        let mut number = |key: &str| -> Result<u64, LoadCheckpointError> {
            let word = take(key)?;
            word.parse()
                .map_err(|_| content(format!("{key} is `{word}`, not a whole number")))
        };
        let optimizer_steps = number("optimizer_steps")?;
        let mut progress = Progress {
            steps: number("steps")?,
            epochs: number("epochs")?,
            position: number("position")?,
            elapsed: Duration::from_nanos(number("elapsed_ns")?),
            hits: number("hits")?,
            rows: number("rows")?,
            stale: u32::try_from(number("stale")?).unwrap_or(u32::MAX),
            loss_sum: 0.0,
            best_loss: None,
        };
        let mut float = |key: &str| -> Result<Option<f64>, LoadCheckpointError> {
            let word = take(key)?;
            if word == "none" {
                return Ok(None);
            }
            word_float(&word)
                .map(Some)
                .ok_or_else(|| content(format!("{key} is `{word}`, not the bits of a number")))
        };
        progress.loss_sum = float("loss_sum")?.unwrap_or_default();
        progress.best_loss = float("best_loss")?;
        let mut parameters = AlignedBuffer::zeroed(layout.len());
        let mut state = OptimizerState::new(optimizer, layout.len());
        state.steps = optimizer_steps;
        for segment in layout.segments() {
            let mut fill = |name: &str, flat: &mut AlignedBuffer| {
                file.tensors
                    .remove(name)
                    .ok_or_else(|| format!("the checkpoint has no tensor `{name}`"))
                    .and_then(|tensor| unpack(segment, name, &tensor, flat))
            };
            fill(&segment.name, &mut parameters).map_err(content)?;
            for (number, moment) in state.moments.iter_mut().enumerate() {
                fill(&moment_name(number, segment), moment).map_err(content)?;
            }
        }
        if let Some(name) = file.tensors.keys().next() {
            return Err(content(format!(
                "the checkpoint has a tensor `{name}` that this model lacks"
            )));
        }
        Ok(Self {
            parameters,
            optimizer: state,
            progress,
            words: file.words,
        })
    }
}

fn moment_name(number: usize, segment: &Segment) -> String {
    format!("optimizer.{}.{}", number + 1, segment.name)
}

fn pack(segment: &Segment, flat: &[f32]) -> Tensor {
    let values = flat[segment.range()]
        .chunks(segment.stride.max(1))
        .take(segment.rows)
        .flat_map(|row| row[..segment.columns].iter().copied())
        .collect();
    Tensor::floats(vec![segment.rows, segment.columns], values)
}

fn unpack(segment: &Segment, name: &str, tensor: &Tensor, flat: &mut [f32]) -> Result<(), String> {
    let expected = [segment.rows, segment.columns];
    let Numbers::F32(values) = &tensor.numbers else {
        return Err(format!("tensor `{name}` is not of single precision"));
    };
    if tensor.shape != expected {
        return Err(format!(
            "tensor `{name}` has shape {:?}, the model wants {expected:?}",
            tensor.shape
        ));
    }
    let rows = flat[segment.range()].chunks_mut(segment.stride.max(1));
    for (row, from) in rows.zip(values.chunks(segment.columns.max(1))) {
        row[..segment.columns].copy_from_slice(from);
    }
    Ok(())
}

/// A number as its bits: text that comes back the same.
fn float_word(value: f64) -> String {
    format!("{:016x}", value.to_bits())
}

fn word_float(word: &str) -> Option<f64> {
    u64::from_str_radix(word, 16).ok().map(f64::from_bits)
}

/// Writes checkpoints while training goes on.
///
/// One may be waiting while another is written; a third is dropped, because by
/// then a fresher one is due soon. The last of a session is always written.
pub(crate) struct CheckpointWriter {
    queue: Option<SyncSender<Checkpoint>>,
    failures: Receiver<WriteTensorsError>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointWriter {
    pub(crate) fn start(layout: Layout, path: PathBuf) -> Self {
        let (queue, waiting) = sync_channel::<Checkpoint>(1);
        let (report, failures) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || {
                for checkpoint in waiting {
                    if let Err(error) = checkpoint.write(&layout, &path) {
                        // The session ends at the first failure, so that a
                        // second has nobody to tell.
                        let _ = report.try_send(error);
                        return;
                    }
                }
            })
            .expect("the system starts a thread");
        Self {
            queue: Some(queue),
            failures,
            thread: Some(thread),
        }
    }

    /// Hands over a checkpoint if the writer keeps up. An error is of an
    /// earlier one.
    pub(crate) fn offer(
        &self,
        checkpoint: impl FnOnce() -> Checkpoint,
    ) -> Result<bool, WriteTensorsError> {
        if let Ok(error) = self.failures.try_recv() {
            return Err(error);
        }
        let queue = self.queue.as_ref().expect("a writer is closed only once");
        Ok(queue.try_send(checkpoint()).is_ok())
    }

    /// Writes the last checkpoint and waits for it.
    pub(crate) fn close(self, last: Checkpoint) -> Result<(), WriteTensorsError> {
        let queue = self.queue.as_ref().expect("a writer is closed only once");
        // A writer that has failed is gone; its reason follows below.
        let _ = queue.send(last);
        self.finish()
    }

    /// Waits until everything handed over is written.
    pub(crate) fn finish(mut self) -> Result<(), WriteTensorsError> {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            thread
                .join()
                .expect("the checkpoint thread reports its failures");
        }
        self.failures.try_recv().map_or(Ok(()), Err)
    }
}
