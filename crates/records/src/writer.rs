//! Writing a record while its run lives.

use crate::close::close;
use crate::disk::{At, WriteRecordError, sync_dir, write_whole};
use crate::json::StartJson;
use crate::layout;
use crate::lock::{LockError, WriterLock, is_held};
use crate::log::LogWriter;
use crate::manifest::{End, Manifest, Start};
use crate::redact;
use crate::sync::Syncer;
use crate::wal::{EventCodec, SampleCodec, WalWriter};
use paceline_model::Stream;
use paceline_model::{Event, Micros, NodeName, Sample, WorkerId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be begun. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum CreateRunError {
    /// Another process is writing a record there.
    #[error("another run is being recorded in {dir}")]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory holds something already, a record or anything else.
    #[error("{dir} is not empty")]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// There is a file of that name.
    #[error("{dir} is not a directory")]
    NotADirectory {
        /// The path.
        dir: PathBuf,
    },
    /// A file of the record could not be created or written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
}

/// The record of a run that lives, and the only process that may write to it.
///
/// Everything appended has reached the kernel when the method returns: the end
/// of this process at any instant loses nothing before it. Dropping the writer
/// without [`RunWriter::finish`] leaves an interrupted record.
pub struct RunWriter {
    // Declared first, so that it stops before the files are closed.
    syncer: Syncer,
    dir: PathBuf,
    manifest: Manifest,
    nodes: Vec<NodeLog>,
    events: WalWriter<EventCodec>,
    logs: Vec<LogWriter>,
    // Declared last: the directory is in use until everything else is closed.
    _lock: WriterLock,
}

struct NodeLog {
    node: NodeName,
    samples: WalWriter<SampleCodec>,
    last: Option<Micros>,
}

impl RunWriter {
    /// Begins a record in `dir`, which must be absent or empty, and opens every
    /// output, so that nothing that could fail early fails late. Secrets in
    /// `start` are replaced before anything is written.
    ///
    /// The directory appears whole, with `start.json` in it; if it existed, that
    /// file appears last. A process that is killed before may leave a hidden
    /// directory beside it, which nothing reads.
    ///
    /// # Errors
    /// If the directory is in use, not empty or cannot be written to.
    pub fn create(dir: &Path, start: Start) -> Result<Self, CreateRunError> {
        let manifest = Manifest {
            written_by: format!("paceline {}", env!("CARGO_PKG_VERSION")),
            start: redact::start(start),
            end: None,
            logs: Vec::new(),
        };
        let lock = match fs::metadata(dir) {
            Ok(metadata) if !metadata.is_dir() => {
                return Err(CreateRunError::NotADirectory {
                    dir: dir.to_owned(),
                });
            }
            Ok(_) => furnish_existing(dir, &manifest)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => furnish_new(dir, &manifest)?,
            Err(error) => return Err(WriteRecordError::io(dir, error).into()),
        };
        let syncer = Syncer::start().at(dir)?;
        let events_path = layout::events_wal(dir);
        let events = WalWriter::create(&events_path)?;
        sync_dir(&dir.join(layout::LIVE))?;
        syncer.add(events.syncer().at(&events_path)?);
        let nodes: Vec<NodeName> = manifest
            .start
            .machines
            .iter()
            .map(|machine| machine.node.clone())
            .collect();
        let mut writer = Self {
            syncer,
            dir: dir.to_owned(),
            manifest,
            nodes: Vec::new(),
            events,
            logs: Vec::new(),
            _lock: lock,
        };
        for node in &nodes {
            writer.node(node)?;
        }
        writer.sync()?;
        Ok(writer)
    }

    /// The record's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the record says about the run's start, secrets replaced.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.manifest.start
    }

    /// Appends one sample of a node with one `write(2)`.
    ///
    /// # Errors
    /// If it cannot be written, or is not later than the node's sample before.
    pub fn sample(&mut self, node: &NodeName, sample: &Sample) -> Result<(), WriteRecordError> {
        self.check_sync()?;
        let index = self.node(node)?;
        let log = &mut self.nodes[index];
        if let Some(previous) = log.last.filter(|&last| sample.at <= last) {
            return Err(WriteRecordError::OutOfOrder {
                node: node.clone(),
                at: sample.at,
                previous,
            });
        }
        log.samples.append(sample)?;
        log.last = Some(sample.at);
        Ok(())
    }

    /// Appends one event with one `write(2)`. A name or text beyond 64 KiB is
    /// cut, and says by how much.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteRecordError> {
        self.check_sync()?;
        self.events.append(event)
    }

    /// Where a worker's output goes. A second call returns the same log.
    ///
    /// # Errors
    /// If its file cannot be created.
    pub fn log(&mut self, worker: WorkerId, stream: Stream) -> Result<LogWriter, WriteRecordError> {
        if let Some(log) = self.logs.iter().find(|log| log.is_for(worker, stream)) {
            return Ok(log.clone());
        }
        let limit = self.manifest.start.log_limit;
        let log = LogWriter::create(&self.dir, worker, stream, limit)?;
        self.logs.push(log.clone());
        Ok(log)
    }

    /// Waits until every sample and event so far has reached the disk. A thread
    /// does so every two seconds without being asked.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn sync(&self) -> Result<(), WriteRecordError> {
        self.events.sync()?;
        for log in &self.nodes {
            log.samples.sync()?;
        }
        Ok(())
    }

    /// Closes the record: tables, then the manifest, atomically and last.
    ///
    /// # Errors
    /// If a file cannot be written. The record is then an interrupted one, and
    /// nothing of it is lost.
    pub fn finish(self, end: End) -> Result<Manifest, WriteRecordError> {
        self.check_sync()?;
        let Self {
            syncer,
            dir,
            manifest,
            nodes,
            events,
            logs,
            _lock,
        } = self;
        drop(syncer);
        for log in &logs {
            log.close();
        }
        drop((nodes, events));
        close(&dir, manifest, |_| end)
    }

    /// The position of a node's log, which is created when first needed.
    fn node(&mut self, node: &NodeName) -> Result<usize, WriteRecordError> {
        let node = layout::recorded_node(node);
        if let Some(index) = self.nodes.iter().position(|log| log.node == *node) {
            return Ok(index);
        }
        let path = layout::samples_wal(&self.dir, &node);
        let samples = WalWriter::create(&path)?;
        // What is synced in a file that has no name is lost all the same.
        sync_dir(&self.dir.join(layout::LIVE))?;
        self.syncer.add(samples.syncer().at(&path)?);
        self.nodes.push(NodeLog {
            node: node.into_owned(),
            samples,
            last: None,
        });
        Ok(self.nodes.len() - 1)
    }

    /// A failed sync means that the disk lost data which the kernel had taken.
    fn check_sync(&self) -> Result<(), WriteRecordError> {
        match self.syncer.take_failure() {
            Some((path, error)) => Err(WriteRecordError::io(&path, error)),
            None => Ok(()),
        }
    }
}

/// Makes a directory that holds `start.json` from the first instant.
fn furnish_new(dir: &Path, manifest: &Manifest) -> Result<WriterLock, CreateRunError> {
    let Some(name) = dir.file_name() else {
        // `..` of something absent: no name to build the directory under.
        paceline_files::create_directory(dir).at(dir)?;
        return furnish_existing(dir, manifest);
    };
    let parent = match dir.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    paceline_files::create_directory(parent).at(parent)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.new", std::process::id()));
    let staging = parent.join(hidden);
    paceline_files::create_private_directory(&staging).at(&staging)?;
    let furnished = furnish(&staging, manifest).and_then(|lock| {
        // Replaces an empty directory that appeared meanwhile, and no other.
        match paceline_files::rename(&staging, dir) {
            Ok(()) => Ok(lock),
            Err(error) if is_occupied(&error) => Err(refuse(dir)),
            Err(error) => Err(WriteRecordError::io(dir, error).into()),
        }
    });
    match furnished {
        Ok(lock) => {
            sync_dir(parent)?;
            Ok(lock)
        }
        Err(error) => {
            // Its hidden name keeps readers away, so a failure here costs only space.
            let _ = paceline_files::remove_directory(&staging);
            Err(error)
        }
    }
}

fn furnish_existing(dir: &Path, manifest: &Manifest) -> Result<WriterLock, CreateRunError> {
    if fs::read_dir(dir).at(dir)?.next().is_some() {
        return Err(refuse(dir));
    }
    furnish(dir, manifest)
}

/// Takes the lock and writes what is known; `start.json` makes it a record.
fn furnish(dir: &Path, manifest: &Manifest) -> Result<WriterLock, CreateRunError> {
    let lock_path = dir.join(layout::LOCK);
    let lock = match WriterLock::acquire(&lock_path) {
        Ok(lock) => lock,
        Err(LockError::Held) => return Err(refuse(dir)),
        Err(LockError::Io(error)) => return Err(WriteRecordError::io(&lock_path, error).into()),
    };
    // Two processes can find the directory empty; the one that comes second
    // finds the other's files, even if that one has gone.
    if fs::read_dir(dir).at(dir)?.count() > 1 {
        return Err(refuse(dir));
    }
    for sub in [layout::LIVE, layout::LOG, layout::SAMPLES] {
        let sub = dir.join(sub);
        paceline_files::create_private_directory(&sub).at(&sub)?;
    }
    let json = StartJson::new(&manifest.start, &manifest.written_by);
    let text = crate::json::to_text(&json);
    write_whole(&dir.join(layout::START), text.as_bytes())?;
    Ok(lock)
}

fn refuse(dir: &Path) -> CreateRunError {
    let dir = dir.to_owned();
    match is_held(&dir.join(layout::LOCK)) {
        Ok(true) => CreateRunError::InUse { dir },
        // If the lock cannot be looked at, the directory is not empty all the same.
        Ok(false) | Err(_) => CreateRunError::NotEmpty { dir },
    }
}

fn is_occupied(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
    )
}
