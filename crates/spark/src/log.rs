//! Finding and reading event logs: one file, or a folder of files that were
//! rolled; complete, still being written, or damaged.

use crate::application::{Application, Builder};
use crate::event::Line;
use crate::snappy::{MAGIC, Unsnap};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The longest line that is read. Plans of large queries take megabytes.
const LONGEST: usize = 64 << 20;
/// How many logs of one folder are looked at.
const MOST_LOGS: usize = 1_000;
/// How the folder of a rolled log is named.
const ROLLED: &str = "eventlog_v2_";

/// Why a log tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReadLogError {
    /// It cannot be opened or read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is compressed in a way that is not read here.
    #[error(
        "{path} is compressed with {codec}, which is not read here; set \
         spark.eventLog.compress=false, or spark.eventLog.compression.codec=snappy"
    )]
    Compressed {
        /// The file.
        path: PathBuf,
        /// Spark's name of the codec.
        codec: &'static str,
    },
    /// No line of it is an event that names an application.
    #[error("{path} is no event log of Spark: no application starts in it")]
    NoApplication {
        /// The file or folder.
        path: PathBuf,
    },
}

/// What a reader should know of a log that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogNotice {
    /// The application was still running, or its driver was killed.
    Unfinished,
    /// The last line was only half written.
    CutLine {
        /// Its number, from 1.
        line: u64,
    },
    /// Lines are no events.
    BadLines {
        /// How many.
        count: u64,
        /// The number of the first, from 1.
        first: u64,
    },
    /// Lines were too long to be read.
    LongLines {
        /// How many.
        count: u64,
    },
    /// A file ends in something unreadable; what stood before counts.
    Damaged {
        /// What was wrong.
        error: String,
    },
    /// More than is kept: the simulation leaves these tasks out.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were left out.
        left_out: u64,
    },
}

impl fmt::Display for LogNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished => f.write_str(
                "the log does not say that the application ended: it was killed, or it still runs",
            ),
            Self::CutLine { line } => write!(f, "line {line} of the log, its last, is incomplete"),
            Self::BadLines { count: 1, first } => {
                write!(f, "line {first} of the log is no event and was left out")
            }
            Self::BadLines { count, first } => write!(
                f,
                "{count} lines of the log, the first is line {first}, are no events and were left out"
            ),
            Self::LongLines { count } => write!(
                f,
                "{count} lines of the log are longer than {} MiB and were left out",
                LONGEST >> 20
            ),
            Self::Damaged { error } => {
                write!(f, "the log is damaged; what follows was left out: {error}")
            }
            Self::TooMany { what, left_out } => {
                write!(f, "{left_out} {what} beyond what is kept were left out")
            }
        }
    }
}

/// The event logs in a folder, in the order of their names. None if there is no
/// such folder.
///
/// # Errors
/// If the folder cannot be read.
pub fn find(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut logs = Vec::new();
    for entry in entries.take(MOST_LOGS) {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Hadoop puts a hidden checksum beside every file.
        if name.starts_with('.') || name.starts_with('_') {
            continue;
        }
        if entry.path().is_file() || name.starts_with(ROLLED) {
            logs.push(entry.path());
        }
    }
    logs.sort();
    Ok(logs)
}

/// Reads a log: a file, or the folder of a rolled one.
///
/// Memory is bounded whatever the length; a damaged part is told in the
/// application's notices, and everything else counts.
///
/// # Errors
/// If nothing of an application can be read.
pub fn read(path: &Path) -> Result<Application, ReadLogError> {
    let failed = |source| ReadLogError::Read {
        path: path.to_owned(),
        source,
    };
    let files = match fs::metadata(path).map_err(failed)?.is_dir() {
        true => rolled(path).map_err(failed)?,
        false => vec![path.to_owned()],
    };
    let mut builder = Builder::default();
    let mut reading = Reading::default();
    for file in &files {
        let input = File::open(file).map_err(failed)?;
        read_file(file, input, &mut builder, &mut reading)?;
    }
    let mut application = builder
        .finish()
        .ok_or_else(|| ReadLogError::NoApplication {
            path: path.to_owned(),
        })?;
    application.notices.extend(reading.notices());
    Ok(application)
}

/// Lines so far, over all files of a log.
#[derive(Default)]
struct Reading {
    lines: u64,
    bad: u64,
    first_bad: u64,
    long: u64,
    cut: Option<u64>,
    damaged: Option<String>,
}

impl Reading {
    fn notices(self) -> Vec<LogNotice> {
        let mut notices = Vec::new();
        if self.bad > 0 {
            notices.push(LogNotice::BadLines {
                count: self.bad,
                first: self.first_bad,
            });
        }
        if self.long > 0 {
            notices.push(LogNotice::LongLines { count: self.long });
        }
        notices.extend(self.cut.map(|line| LogNotice::CutLine { line }));
        notices.extend(self.damaged.map(|error| LogNotice::Damaged { error }));
        notices
    }
}

/// The files of a rolled log in their order. A compacted file stands for all
/// that were written before it.
fn rolled(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<(u64, bool, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let index = name
            .strip_prefix("events_")
            .and_then(|rest| rest.split('_').next())
            .and_then(|index| index.parse().ok());
        if let Some(index) = index {
            files.push((index, name.ends_with(".compact"), entry.path()));
        }
    }
    files.sort();
    let newest = files.iter().rposition(|(_, compact, _)| *compact);
    if let Some(newest) = newest {
        files.drain(..newest);
    }
    Ok(files.into_iter().map(|(_, _, path)| path).collect())
}

fn read_file(
    path: &Path,
    mut input: File,
    builder: &mut Builder,
    reading: &mut Reading,
) -> Result<(), ReadLogError> {
    let failed = |source| ReadLogError::Read {
        path: path.to_owned(),
        source,
    };
    // By its first bytes, because a log in progress may end in anything.
    let mut head = Vec::new();
    (&mut input)
        .take(8)
        .read_to_end(&mut head)
        .map_err(failed)?;
    let codec = [
        (&b"\x28\xb5\x2f\xfd"[..], "zstd"),
        (b"LZ4Block", "lz4"),
        (b"ZV", "lzf"),
    ];
    if let Some((_, codec)) = codec.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(ReadLogError::Compressed {
            path: path.to_owned(),
            codec,
        });
    }
    let whole = head.as_slice().chain(input);
    let outcome = if head == MAGIC {
        read_lines(BufReader::new(Unsnap::new(whole)), builder, reading)
    } else {
        read_lines(BufReader::with_capacity(1 << 18, whole), builder, reading)
    };
    if let Err(error) = outcome {
        reading.damaged.get_or_insert(error.to_string());
    }
    Ok(())
}

fn read_lines(
    mut input: impl BufRead,
    builder: &mut Builder,
    reading: &mut Reading,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let (read, ended) = next_line(&mut input, &mut line)?;
        if read == 0 {
            return Ok(());
        }
        reading.lines += 1;
        if read > LONGEST {
            reading.long += 1;
            continue;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if is_of_no_use(text) {
            continue;
        }
        match serde_json::from_slice::<Line>(text) {
            Ok(event) => builder.take(event),
            Err(_) if !ended => reading.cut = Some(reading.lines),
            Err(_) => {
                if reading.bad == 0 {
                    reading.first_bad = reading.lines;
                }
                reading.bad += 1;
            }
        }
    }
}

/// True for a whole line of a kind that is not read, such as the plan of a query:
/// these may be large and many.
fn is_of_no_use(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"{\"Event\":\"") else {
        return false;
    };
    let unread = [
        &b"org.apache.spark.sql."[..],
        b"SparkListenerTaskStart",
        b"SparkListenerTaskGettingResult",
        b"SparkListenerBlock",
        b"SparkListenerStageExecutorMetrics",
    ];
    line.ends_with(b"}") && unread.iter().any(|kind| rest.starts_with(kind))
}

/// Reads to the end of a line, keeping at most [`LONGEST`] bytes of it. Returns
/// how many bytes it had and whether its end was there.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    let mut read = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok((read, false));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(buffer.len(), |end| end + 1);
        if read + count <= LONGEST {
            line.extend_from_slice(&buffer[..count]);
        }
        input.consume(count);
        read += count;
        if end.is_some() {
            return Ok((read, true));
        }
    }
}
