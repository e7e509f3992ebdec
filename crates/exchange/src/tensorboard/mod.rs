//! Event files that TensorBoard shows: what runs reported and used as scalars, and
//! their settings in its hyper-parameter tab.
//!
//! A run is a directory of its own below the one that TensorBoard is given.
//! Resources are drawn over the run's seconds, everything else over its steps.

mod protobuf;
mod record;

use crate::{ExportError, Progress, Source};
use paceline_files::AtomicFile;
use paceline_model::{EventKind, Level, Measure, Verdict, WorkerId};
use paceline_records::{Manifest, Run, WallTime};
use protobuf::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

/// The version of `HParamsPluginData` that is written, the only one there is.
const HPARAMS_VERSION: i64 = 0;

/// Writes one event file for each run below `dir`, and returns them.
///
/// # Errors
/// If a record cannot be read or a file cannot be written.
pub fn write(
    source: &Source,
    dir: &Path,
    progress: &mut Progress<'_>,
) -> Result<Vec<PathBuf>, ExportError> {
    let mut files = Vec::new();
    for (done, one) in source.runs.iter().enumerate() {
        progress(done, source.runs.len(), &one.id);
        let run = one.open()?;
        let manifest = run.manifest();
        let mut file = EventFile::create(&dir.join(&one.id), manifest.start.started)?;
        file.settings(manifest)?;
        file.metrics(&run)?;
        file.resources(&run)?;
        file.end(manifest)?;
        files.push(file.finish()?);
    }
    Ok(files)
}

struct EventFile {
    path: PathBuf,
    started: WallTime,
    file: BufWriter<AtomicFile>,
}

impl EventFile {
    fn create(dir: &Path, started: WallTime) -> Result<Self, ExportError> {
        paceline_files::create_directory(dir).map_err(|source| ExportError::Directory {
            path: dir.to_owned(),
            source,
        })?;
        let seconds = started.0 / 1_000_000;
        let path = dir.join(format!("events.out.tfevents.{seconds:010}.paceline"));
        let file = BufWriter::new(AtomicFile::create(&path)?);
        let mut events = Self {
            path,
            started,
            file,
        };
        let version = Message::new()
            .double(1, events.wall(0.0))
            .text(3, "brain.Event:2");
        events.put(version)?;
        Ok(events)
    }

    /// Seconds since 1970 of a moment of the run.
    fn wall(&self, elapsed_s: f64) -> f64 {
        self.started.0 as f64 / 1e6 + elapsed_s
    }

    fn put(&mut self, event: Message) -> Result<(), ExportError> {
        let record = record::framed(&event.into_bytes());
        let written = self.file.write_all(&record);
        written.map_err(|source| paceline_files::WriteError::new(&self.path, source).into())
    }

    fn scalar(
        &mut self,
        tag: &str,
        step: i64,
        elapsed_s: f64,
        value: f64,
    ) -> Result<(), ExportError> {
        let plugin = Message::new().message(1, Message::new().text(1, "scalars"));
        let value = Message::new()
            .text(1, tag)
            .float(2, value as f32)
            .message(9, plugin);
        self.summary(step, elapsed_s, value)
    }

    fn summary(&mut self, step: i64, elapsed_s: f64, value: Message) -> Result<(), ExportError> {
        let event = Message::new()
            .double(1, self.wall(elapsed_s))
            .integer(2, step)
            .message(5, Message::new().message(1, value));
        self.put(event)
    }

    /// One of the summaries that the hyper-parameter tab is made of.
    fn hparams(&mut self, tag: &str, field: u64, content: Message) -> Result<(), ExportError> {
        let data = Message::new()
            .integer(1, HPARAMS_VERSION)
            .message(field, content);
        let plugin = Message::new().text(1, "hparams").message(2, data);
        let metadata = Message::new().message(1, plugin);
        let value = Message::new()
            .text(1, &format!("_hparams_/{tag}"))
            .message(9, metadata);
        self.summary(0, 0.0, value)
    }

    fn settings(&mut self, manifest: &Manifest) -> Result<(), ExportError> {
        if manifest.start.factors.is_empty() {
            return Ok(());
        }
        let mut start = Message::new();
        for (name, level) in &manifest.start.factors {
            let value = match level {
                Level::Integer(n) => Message::new().double(2, *n as f64),
                Level::Number(x) => Message::new().double(2, *x),
                Level::Switch(on) => Message::new().integer(4, i64::from(*on)),
                Level::Word(word) => Message::new().text(3, word),
            };
            let entry = Message::new().text(1, name).message(2, value);
            start = start.message(1, entry);
        }
        let group = manifest.start.id.as_str();
        let start = start.text(4, group).double(5, self.wall(0.0));
        self.hparams("session_start_info", 3, start)
    }

    fn end(&mut self, manifest: &Manifest) -> Result<(), ExportError> {
        let Some(end) = &manifest.end else {
            return Ok(());
        };
        if manifest.start.factors.is_empty() {
            return Ok(());
        }
        /// `Status`: success, failure, running.
        const STATUS: [i64; 3] = [1, 2, 3];
        let status = match end.outcome.verdict() {
            Verdict::Done => STATUS[0],
            Verdict::Failed => STATUS[1],
            Verdict::Unfinished => STATUS[2],
        };
        let at = self.wall(end.duration.as_secs());
        let end = Message::new().integer(1, status).double(2, at);
        self.hparams("session_end_info", 4, end)
    }

    /// What the run reported, and the responses that it did not report itself.
    fn metrics(&mut self, run: &Run) -> Result<(), ExportError> {
        let events = run.events()?;
        let reported = events.iter().filter(|one| one.kind == EventKind::Metric);
        let reported: Vec<_> = reported.filter_map(|one| Some((one, one.value?))).collect();
        let mut workers: BTreeMap<&str, BTreeSet<Option<WorkerId>>> = BTreeMap::new();
        for (event, _) in &reported {
            workers.entry(&event.name).or_default().insert(event.worker);
        }
        // Without a step of its own, a value's place is how many came before it.
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for (event, value) in &reported {
            let tag = match event.worker {
                Some(WorkerId(worker)) if workers[event.name.as_str()].len() > 1 => {
                    format!("{}/rank {worker}", event.name)
                }
                _ => event.name.clone(),
            };
            let count = counts.entry(tag.clone()).or_insert(0);
            let step = match event.step {
                Some(step) => i64::try_from(step).unwrap_or(i64::MAX),
                None => *count,
            };
            *count += 1;
            self.scalar(&tag, step, event.at.as_secs(), *value)?;
        }
        let end = run.manifest().end.as_ref();
        for (name, value) in end.into_iter().flat_map(|end| &end.responses) {
            if !counts.contains_key(name) {
                let at = end.map_or(0.0, |end| end.duration.as_secs());
                self.scalar(name, 0, at, *value)?;
            }
        }
        Ok(())
    }

    fn resources(&mut self, run: &Run) -> Result<(), ExportError> {
        let nodes = run.nodes()?;
        for node in &nodes {
            let place = match nodes.len() {
                1 => "resources".to_owned(),
                _ => format!("resources {node}"),
            };
            for sample in run.samples_of(node)? {
                let sample = sample?;
                let at = sample.at.as_secs();
                for &measure in Measure::ALL {
                    if let Some(value) = sample.readings.get(measure) {
                        let tag = format!("{place}/{}", measure.name());
                        self.scalar(&tag, at.round() as i64, at, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<PathBuf, ExportError> {
        let file = self.file.into_inner().map_err(IntoInnerError::into_error);
        let file = file.map_err(|source| paceline_files::WriteError::new(&self.path, source))?;
        file.commit()?;
        Ok(self.path)
    }
}
