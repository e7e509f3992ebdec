//! Reading a record, whatever state it is in.
//!
//! More than 600 lines: the reading of a run and its inline tests belong together.

mod ended;
mod samples;

pub use samples::Samples;

use ended::Ending;

use crate::close::{close, end_notice, nodes_in_live};
use crate::disk::WriteRecordError;
use crate::iterations::{logs_in_live, read_log};
use crate::json::{FieldError, FileJson, ManifestJson, StartJson, VersionJson};
use crate::layout;
use crate::lock::{LockError, WriterLock, is_held};
use crate::log::{LogFile, ScanError, open_logs, verify_logs};
use crate::manifest::{End, LogLimit, Manifest};
use crate::table::{EventRows, IterationRows, TableReader};
use crate::wal::{Codec, EventCodec, SampleCodec, WalError, WalReader};
use indexmap::IndexMap;
use paceline_files::sealed::{self, Seal};
use paceline_model::{Event, Iteration, Micros, NodeName, Outcome, RunNotice, Sample, WorkerId};
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenRunError {
    /// There is no such directory.
    #[error("{dir} does not exist")]
    Absent {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory holds no record.
    #[error("{dir} is not the record of a run")]
    NotARun {
        /// The directory.
        dir: PathBuf,
    },
    /// A newer Paceline wrote it.
    #[error("{path} has format version {found}, this Paceline reads up to {supported}")]
    TooNew {
        /// The file that says so.
        path: PathBuf,
        /// The record's version.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the JSON that it should be.
    #[error("{path} is damaged or was not written by Paceline")]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The checksum is absent or another.
    #[error("{path} is damaged: its checksum is not that of its content")]
    Checksum {
        /// The file.
        path: PathBuf,
    },
    /// A field holds what it cannot.
    #[error("{path} is damaged or was not written by Paceline")]
    Field {
        /// The file.
        path: PathBuf,
        /// Which field, and why.
        source: FieldError,
    },
    /// The logs of an interrupted run cannot be read.
    #[error(transparent)]
    Table(#[from] ReadTableError),
}

/// Why a table of a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadTableError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not the one that the manifest describes.
    #[error(
        "{path} is not the file that was recorded: {found_bytes} bytes, recorded were {expected_bytes}, or another checksum"
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// The size in the manifest.
        expected_bytes: u64,
        /// The size of the file.
        found_bytes: u64,
    },
    /// The file is not Parquet, or damaged.
    #[error("{path} is not a readable Parquet file")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        source: parquet::errors::ParquetError,
    },
    /// A column is absent, of another type, or holds what it cannot.
    #[error("column `{column}` of {path} is not what a record has there")]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A log of a run that has not been closed is damaged.
    #[error("cannot read {path}")]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: WalError,
    },
    /// The record has been closed since it was opened: it is to be opened again.
    #[error("the record in {dir} has been closed since it was opened")]
    Ended {
        /// The directory.
        dir: PathBuf,
    },
    /// The record has no samples of this node.
    #[error("the record in {dir} has no samples of {node}")]
    NoSuchNode {
        /// The directory.
        dir: PathBuf,
        /// The node.
        node: NodeName,
    },
}

impl ReadTableError {
    pub(crate) fn altered(path: &Path, expected: &FileJson, found: &FileJson) -> Self {
        Self::Altered {
            path: path.to_owned(),
            expected_bytes: expected.bytes,
            found_bytes: found.bytes,
        }
    }

    pub(crate) fn from_wal(path: &Path, source: WalError) -> Self {
        Self::Log {
            path: path.to_owned(),
            source,
        }
    }
}

/// Why an interrupted record could not be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealRunError {
    /// The run is still being recorded.
    #[error("the run in {dir} is still being recorded")]
    Live {
        /// The directory.
        dir: PathBuf,
    },
    /// The record cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// The tables or the manifest cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
}

/// Whether a record is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The record is closed and does not change any more.
    Finished,
    /// Its writer lives.
    Live,
    /// Its writer died before it could close the record.
    Interrupted,
}

/// A record, opened for reading. Reading never writes.
#[derive(Debug)]
pub struct Run {
    dir: PathBuf,
    state: State,
    manifest: Manifest,
    /// The tables of a finished record.
    files: IndexMap<String, FileJson>,
}

impl Run {
    /// Opens the record in `dir`, whatever state it is in.
    ///
    /// # Errors
    /// If there is none, or it cannot be read by this version.
    pub fn open(dir: &Path) -> Result<Self, OpenRunError> {
        if let Some(run) = Self::open_finished(dir)? {
            return Ok(run);
        }
        let start_path = dir.join(layout::START);
        let Some(json) = read_json::<StartJson>(&start_path)? else {
            // The writer may have closed the record since the first look.
            return Self::open_finished(dir)?.map_or_else(|| Err(nothing_in(dir)), Ok);
        };
        let mut manifest = json.check().map_err(|source| OpenRunError::Field {
            path: start_path,
            source,
        })?;
        let lock = dir.join(layout::LOCK);
        let live = is_held(&lock).map_err(|source| OpenRunError::Io { path: lock, source })?;
        // A writer that closed the record after the first look has let go of its lock.
        if !live && let Some(run) = Self::open_finished(dir)? {
            return Ok(run);
        }
        let state = if live {
            State::Live
        } else {
            State::Interrupted
        };
        if state == State::Interrupted {
            let end = interrupted_end(dir, manifest.start.log_limit);
            let logs = scan(open_logs(dir, manifest.start.log_limit));
            // Another process may be sealing the record, and removes what is read here.
            if let Some(run) = Self::open_finished(dir)? {
                return Ok(run);
            }
            manifest.end = Some(end?);
            manifest.logs = logs?.into_iter().map(|log| log.summary).collect();
        }
        Ok(Self {
            dir: dir.to_owned(),
            state,
            manifest,
            files: IndexMap::new(),
        })
    }

    fn open_finished(dir: &Path) -> Result<Option<Self>, OpenRunError> {
        let path = dir.join(layout::MANIFEST);
        let Some(json) = read_json::<ManifestJson>(&path)? else {
            return Ok(None);
        };
        let (manifest, files) = json
            .check()
            .map_err(|source| OpenRunError::Field { path, source })?;
        Ok(Some(Self {
            dir: dir.to_owned(),
            state: State::Finished,
            manifest,
            files,
        }))
    }

    /// Closes the record of a run whose writer died, so that it is like any other:
    /// as its log says if the run had ended, else as interrupted. A finished
    /// record is left as it is.
    ///
    /// # Errors
    /// If the run still lives, or the record can be neither read nor written.
    pub fn seal(dir: &Path) -> Result<Self, SealRunError> {
        Self::seal_with(dir, IndexMap::new())
    }

    /// As [`Run::seal`], with the results of a run that had ended.
    ///
    /// # Errors
    /// If the run still lives, or the record can be neither read nor written.
    pub fn seal_with(dir: &Path, responses: IndexMap<String, f64>) -> Result<Self, SealRunError> {
        let run = Self::open(dir)?;
        match run.state {
            State::Finished => return Ok(run),
            State::Live => {
                return Err(SealRunError::Live {
                    dir: dir.to_owned(),
                });
            }
            State::Interrupted => {}
        }
        let lock = dir.join(layout::LOCK);
        let held = match WriterLock::acquire(&lock) {
            Ok(held) => held,
            Err(LockError::Held) => {
                return Err(SealRunError::Live {
                    dir: dir.to_owned(),
                });
            }
            Err(LockError::Io(error)) => return Err(WriteRecordError::io(&lock, error).into()),
        };
        // Another process may have sealed it between the look and the lock.
        if let Some(run) = Self::open_finished(dir)? {
            return Ok(run);
        }
        let known = run.manifest.end.clone();
        close(dir, run.manifest, |last| match known {
            Some(mut end) if end.outcome != Outcome::Interrupted => {
                // What is wrong with the logs is said once more when they are converted.
                let closed = RunNotice::ClosedFromLog.name();
                end.notices.retain(|notice| notice.name == closed);
                end.responses = responses;
                end
            }
            _ => End::new(Outcome::Interrupted, last),
        })?;
        drop(held);
        Ok(Self::open(dir)?)
    }

    /// The record's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the record was complete when it was opened.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// What the record says about the run. A live run has no end; that of an
    /// interrupted one is its last entry.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The nodes that have samples, in the order of their names.
    ///
    /// # Errors
    /// If the directory of a run that is not finished cannot be read.
    pub fn nodes(&self) -> Result<Vec<NodeName>, ReadTableError> {
        match self.state {
            State::Finished => {
                let mut nodes: Vec<NodeName> = self
                    .files
                    .keys()
                    .filter_map(|name| layout::node_of_table(name))
                    .collect();
                nodes.sort();
                Ok(nodes)
            }
            State::Live | State::Interrupted => {
                let nodes = scan(nodes_in_live(&self.dir))?;
                self.check_not_closed()?;
                Ok(nodes)
            }
        }
    }

    /// The samples of one node, in order and a few at a time.
    ///
    /// # Errors
    /// If the node has none or its tables cannot be read.
    pub fn samples_of(&self, node: &NodeName) -> Result<Samples, ReadTableError> {
        match self.state {
            State::Finished => {
                let file = |name: &str| {
                    self.files
                        .get(name)
                        .ok_or_else(|| ReadTableError::NoSuchNode {
                            dir: self.dir.clone(),
                            node: node.clone(),
                        })
                };
                let (samples, parts) = (layout::samples_table(node), layout::parts_table(node));
                Samples::from_tables(
                    (&self.dir.join(&samples), file(&samples)?),
                    (&self.dir.join(&parts), file(&parts)?),
                    self.manifest.start.started,
                )
            }
            State::Live | State::Interrupted => {
                let path = layout::samples_wal(&self.dir, node);
                match self.open_wal::<SampleCodec>(&path)? {
                    Some(log) => Ok(Samples::from_log(path, log)),
                    None => Err(ReadTableError::NoSuchNode {
                        dir: self.dir.clone(),
                        node: node.clone(),
                    }),
                }
            }
        }
    }

    /// Every sample of every node.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn samples(&self) -> Result<Vec<(NodeName, Vec<Sample>)>, ReadTableError> {
        self.nodes()?
            .into_iter()
            .map(|node| {
                let samples = self.samples_of(&node)?.collect::<Result<_, _>>()?;
                Ok((node, samples))
            })
            .collect()
    }

    /// Every event, in the order they were recorded.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn events(&self) -> Result<Vec<Event>, ReadTableError> {
        let mut events = Vec::new();
        if self.state != State::Finished {
            let path = layout::events_wal(&self.dir);
            if let Some(mut log) = self.open_wal::<EventCodec>(&path)? {
                while let Some(event) = log
                    .next()
                    .map_err(|error| ReadTableError::from_wal(&path, error))?
                {
                    events.push(event);
                }
            }
            return Ok(events);
        }
        let Some(expected) = self.files.get(layout::EVENTS) else {
            return Ok(events);
        };
        let path = self.dir.join(layout::EVENTS);
        let mut table = TableReader::open(&path, EventRows::fields(), expected)?;
        while let Some(chunk) = table.next()? {
            for row in 0..chunk.rows() {
                let event = EventRows::get(&chunk, self.manifest.start.started, row);
                events.push(event.map_err(|cell| ReadTableError::Column {
                    path: path.clone(),
                    column: cell.column.to_owned(),
                })?);
            }
        }
        Ok(events)
    }

    /// Passes the iterations that workers wrote down to `each`, worker by
    /// worker and each in its order: they may be more than fit the memory.
    ///
    /// # Errors
    /// If the table, or a log of a run that is not finished, cannot be read.
    pub fn each_iteration(
        &self,
        mut each: impl FnMut(WorkerId, Iteration),
    ) -> Result<(), ReadTableError> {
        if self.state != State::Finished {
            let logs = scan(logs_in_live(&self.dir));
            for (worker, path) in logs? {
                let read = read_log(
                    &path,
                    |error| ReadTableError::from_wal(&path, error),
                    |row| {
                        each(worker, row);
                        Ok(())
                    },
                );
                // A log that vanished meanwhile is no failure of the file system.
                if read.is_err() {
                    self.check_not_closed()?;
                }
                read?;
            }
            return self.check_not_closed();
        }
        let Some(expected) = self.files.get(layout::ITERATIONS) else {
            return Ok(());
        };
        let path = self.dir.join(layout::ITERATIONS);
        let mut table = TableReader::open(&path, IterationRows::fields(), expected)?;
        while let Some(chunk) = table.next()? {
            for row in 0..chunk.rows() {
                let (worker, iteration) =
                    IterationRows::get(&chunk, row).map_err(|cell| ReadTableError::Column {
                        path: path.clone(),
                        column: cell.column.to_owned(),
                    })?;
                each(worker, iteration);
            }
        }
        Ok(())
    }

    /// The logs, by worker and stream.
    ///
    /// # Errors
    /// If the directory of a run that is not finished cannot be read.
    pub fn logs(&self) -> Result<Vec<LogFile>, ReadTableError> {
        match self.state {
            State::Finished => Ok(self
                .manifest
                .logs
                .iter()
                .map(|summary| {
                    let name = layout::log_table(summary.worker, summary.stream);
                    let sum = self.files.get(&name).cloned();
                    LogFile::closed(&self.dir, summary.clone(), sum)
                })
                .collect()),
            State::Live | State::Interrupted => {
                let logs = scan(open_logs(&self.dir, self.manifest.start.log_limit));
                // Files that vanished meanwhile are no failure of the file system.
                self.check_not_closed()?;
                logs
            }
        }
    }

    /// The logs of a record are removed after its manifest has appeared: what
    /// was read before this check was read whole.
    fn check_not_closed(&self) -> Result<(), ReadTableError> {
        if self.dir.join(layout::MANIFEST).exists() {
            return Err(ReadTableError::Ended {
                dir: self.dir.clone(),
            });
        }
        Ok(())
    }

    /// Nothing if the log was never created.
    fn open_wal<C: Codec>(&self, path: &Path) -> Result<Option<WalReader<C>>, ReadTableError> {
        match WalReader::open(path) {
            Ok(log) => Ok(Some(log)),
            Err(WalError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.check_not_closed()?;
                Ok(None)
            }
            Err(error) => Err(ReadTableError::from_wal(path, error)),
        }
    }
}

/// The end of a run whose writer died: its last entry.
fn interrupted_end(dir: &Path, limit: LogLimit) -> Result<End, OpenRunError> {
    let mut end = End::new(Outcome::Interrupted, Micros::ZERO);
    for node in scan(nodes_in_live(dir))? {
        let path = layout::samples_wal(dir, &node);
        extend_end::<SampleCodec>(&path, &mut end, |sample| sample.at)?;
    }
    let mut ending = Ending::default();
    extend_end::<EventCodec>(&layout::events_wal(dir), &mut end, |event| {
        ending.take(event);
        event.at
    })?;
    for (_, path) in scan(logs_in_live(dir))? {
        let failed = |error| ReadTableError::from_wal(&path, error);
        end.notices.extend(read_log(&path, failed, |_| Ok(()))?);
    }
    end.notices.extend(scan(verify_logs(dir, limit))?);
    // What stands in the log has happened, whether the record was closed or not.
    if let Some((outcome, duration)) = ending.end() {
        end.outcome = outcome;
        end.duration = duration;
        end.notices.push(RunNotice::ClosedFromLog.into());
    }
    Ok(end)
}

fn extend_end<C: Codec>(
    path: &Path,
    end: &mut End,
    mut at: impl FnMut(&C::Item) -> Micros,
) -> Result<(), ReadTableError> {
    let failed = |error| ReadTableError::from_wal(path, error);
    let mut log = match WalReader::<C>::open(path) {
        Ok(log) => log,
        Err(WalError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    while let Some(item) = log.next().map_err(failed)? {
        end.duration = end.duration.max(at(&item));
    }
    let notice = end_notice(path, &log).map_err(|error| failed(WalError::Io(error)))?;
    end.notices.extend(notice);
    Ok(())
}

fn scan<T>(result: Result<T, ScanError>) -> Result<T, ReadTableError> {
    result.map_err(|ScanError { path, source }| ReadTableError::Io { path, source })
}

fn nothing_in(dir: &Path) -> OpenRunError {
    let dir = dir.to_owned();
    if dir.exists() {
        OpenRunError::NotARun { dir }
    } else {
        OpenRunError::Absent { dir }
    }
}

/// A plan of a million runs has a tenth of it; what is larger is another file.
const LARGEST_JSON: u64 = 1 << 30;

/// Reads a file of the record whose version this Paceline knows; nothing if
/// there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, OpenRunError> {
    let text = match paceline_files::read_regular(path, LARGEST_JSON) {
        Ok(text) => text,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => {
            return Err(OpenRunError::Io {
                path: path.to_owned(),
                source: error.into_io(),
            });
        }
    };
    let invalid = |source| OpenRunError::Json {
        path: path.to_owned(),
        source,
    };
    let seal = sealed::check(&text);
    if seal == Seal::Broken {
        return Err(OpenRunError::Checksum {
            path: path.to_owned(),
        });
    }
    let VersionJson { format_version } = serde_json::from_slice(&text).map_err(invalid)?;
    if format_version > crate::FORMAT_VERSION {
        return Err(OpenRunError::TooNew {
            path: path.to_owned(),
            found: format_version,
            supported: crate::FORMAT_VERSION,
        });
    }
    // Nothing has ever had version 0, and what should have a checksum and has none
    // was cut or changed there.
    if format_version == 0 || (format_version >= crate::SEALED_SINCE && seal != Seal::Whole) {
        return Err(OpenRunError::Checksum {
            path: path.to_owned(),
        });
    }
    serde_json::from_slice(&text).map(Some).map_err(invalid)
}
