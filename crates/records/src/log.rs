//! The output of a worker: all of it, or its beginning and its end.
//!
//! While the run lives, `log/<worker>.<stream>` holds the first bytes, as they
//! come. What exceeds them goes to segments in `live/`, each named by the offset
//! of its first byte; old ones are removed. When the record is closed, the last
//! bytes are appended to the file, after a line that says what was dropped.
//! Each of these files has its checksums in `live/` ([`crate::sums`]).

use crate::WriteRecordError;
use crate::disk::At;
use crate::json::FileJson;
use crate::layout;
use crate::manifest::{LogLimit, LogSummary, Notice};
use crate::run::ReadTableError;
use crate::sums::{SummedFile, sums_of, verify};
use crate::table::sum_of;
use paceline_files::AppendFile;
use paceline_model::{Stream, WorkerId};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Takes one output stream of one worker. Clones write to the same stream.
#[derive(Debug, Clone)]
pub struct LogWriter {
    log: Arc<Mutex<OpenLog>>,
}

impl LogWriter {
    pub(crate) fn create(
        dir: &Path,
        worker: WorkerId,
        stream: Stream,
        limit: LogLimit,
    ) -> Result<Self, WriteRecordError> {
        let path = layout::log_file(dir, worker, stream);
        let head = SummedFile::create(&path, &layout::log_sums(dir, worker, stream))?;
        let log = OpenLog {
            dir: dir.to_owned(),
            id: (worker, stream),
            limit,
            head,
            path,
            written: 0,
            segments: VecDeque::new(),
            current: None,
            closed: false,
        };
        Ok(Self {
            log: Arc::new(Mutex::new(log)),
        })
    }

    /// Appends bytes as the worker wrote them; they need not be text or whole lines.
    ///
    /// # Errors
    /// If they cannot be written, or the record has been closed: a process that
    /// outlives its run may still write.
    pub fn append(&self, bytes: &[u8]) -> Result<(), WriteRecordError> {
        self.lock().append(bytes)
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    pub(crate) fn is_for(&self, worker: WorkerId, stream: Stream) -> bool {
        self.lock().id == (worker, stream)
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, OpenLog> {
        // A panic between two writes leaves a log that is merely shorter.
        self.log.lock()
    }
}

#[derive(Debug)]
struct OpenLog {
    dir: PathBuf,
    id: (WorkerId, Stream),
    limit: LogLimit,
    path: PathBuf,
    head: SummedFile,
    /// Bytes of the stream so far.
    written: u64,
    /// Complete and current segments by their first byte's offset.
    segments: VecDeque<(u64, PathBuf)>,
    current: Option<SummedFile>,
    closed: bool,
}

impl OpenLog {
    /// Segments are an eighth of the tail: at most that much is kept in excess.
    fn segment_bytes(&self) -> u64 {
        (self.limit.tail_bytes / 8).max(4096)
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<(), WriteRecordError> {
        if self.closed {
            return Err(WriteRecordError::Closed {
                path: self.path.clone(),
            });
        }
        let room = self.limit.head_bytes.saturating_sub(self.written);
        if room > 0 {
            let (now, later) = split(bytes, room);
            self.head.append(now)?;
            self.written += now.len() as u64;
            bytes = later;
        }
        while !bytes.is_empty() {
            let room = self.segment_room()?;
            let (now, later) = split(bytes, room);
            self.current
                .as_mut()
                .expect("segment_room opened one")
                .append(now)?;
            self.written += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Bytes that the current segment still takes, at least one.
    fn segment_room(&mut self) -> Result<u64, WriteRecordError> {
        if let Some((start, _)) = self.segments.back() {
            let room = (start + self.segment_bytes()).saturating_sub(self.written);
            if room > 0 {
                return Ok(room);
            }
        }
        let (worker, stream) = self.id;
        let path = layout::log_segment(&self.dir, worker, stream, self.written);
        self.current = Some(SummedFile::create(&path, &sums_of(&path))?);
        self.segments.push_back((self.written, path));
        // The oldest segment goes once those behind it hold the whole tail.
        while let Some((second, _)) = self.segments.get(1) {
            if self.written - second < self.limit.tail_bytes {
                break;
            }
            let (_, oldest) = self.segments.pop_front().expect("there are two");
            paceline_files::remove_file(&oldest).at(&oldest)?;
            let sums = sums_of(&oldest);
            paceline_files::remove_file(&sums).at(&sums)?;
        }
        Ok(self.segment_bytes())
    }
}

fn split(bytes: &[u8], room: u64) -> (&[u8], &[u8]) {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    bytes.split_at(room.min(bytes.len()))
}

/// A log as it lies on disk, in one file or in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// How much there is of it.
    pub summary: LogSummary,
    /// The file that holds the log, or its beginning while the run lives.
    pub path: PathBuf,
    /// Bytes of `path` that belong to the stream's beginning.
    head_bytes: u64,
    /// The tail's pieces: file, and how many of its first bytes to skip.
    tail: Vec<(PathBuf, u64)>,
    /// What the file of a closed record must be; version 1 did not say.
    sum: Option<FileJson>,
}

impl LogFile {
    /// Reads the log from its first byte: the beginning, a line that says what
    /// was dropped, the end.
    ///
    /// # Errors
    /// If a file cannot be opened, or is not the one that was recorded.
    pub fn open(&self) -> Result<impl Read + use<>, ReadTableError> {
        let failed = |path: &Path, source| ReadTableError::Io {
            path: path.to_owned(),
            source,
        };
        let open = |path: &Path| {
            paceline_files::open_regular(path, u64::MAX)
                .map_err(|error| failed(path, error.into_io()))
        };
        let mut head = open(&self.path)?;
        if let Some(expected) = &self.sum {
            let found = sum_of(&head).map_err(|error| failed(&self.path, error))?;
            if found != *expected {
                return Err(ReadTableError::altered(&self.path, expected, &found));
            }
            head.rewind().map_err(|error| failed(&self.path, error))?;
        }
        let head = head.take(self.head_bytes);
        let mut tail: Box<dyn Read + Send> = Box::new(io::empty());
        for (path, skip) in &self.tail {
            let mut file = open(path)?;
            file.seek(SeekFrom::Start(*skip))
                .map_err(|error| failed(path, error))?;
            tail = Box::new(tail.chain(file));
        }
        // The file of a closed record has the line already.
        let gap = if self.tail.is_empty() {
            String::new()
        } else {
            gap_line(&self.summary)
        };
        Ok(head.chain(io::Cursor::new(gap)).chain(tail))
    }

    /// A log of a closed record: one file.
    pub(crate) fn closed(dir: &Path, summary: LogSummary, sum: Option<FileJson>) -> Self {
        Self {
            path: layout::log_file(dir, summary.worker, summary.stream),
            summary,
            head_bytes: u64::MAX,
            tail: Vec::new(),
            sum,
        }
    }
}

/// What is wrong with the logs of a record that nobody writes any more.
pub(crate) fn verify_logs(dir: &Path, limit: LogLimit) -> Result<Vec<Notice>, ScanError> {
    let mut notices = Vec::new();
    for log in open_logs(dir, limit)? {
        let LogSummary { worker, stream, .. } = log.summary;
        let head_sums = layout::log_sums(dir, worker, stream);
        // An attempt to close the record may have appended the tail already.
        let head = (log.path, head_sums, limit.head_bytes);
        let tail = log.tail.into_iter().map(|(path, _)| {
            let sums = sums_of(&path);
            (path, sums, u64::MAX)
        });
        for (path, sums, most) in std::iter::once(head).chain(tail) {
            let found = verify(&path, &sums, most).map_err(|source| ScanError { path, source })?;
            notices.extend(found);
        }
    }
    Ok(notices)
}

/// The logs of a record that is not closed.
pub(crate) fn open_logs(dir: &Path, limit: LogLimit) -> Result<Vec<LogFile>, ScanError> {
    let mut segments: BTreeMap<(WorkerId, Stream), Vec<(u64, PathBuf)>> = BTreeMap::new();
    for (name, path) in names(&dir.join(layout::LIVE))? {
        if let Some((id, offset)) = layout::segment_of_name(&name) {
            segments.entry(id).or_default().push((offset, path));
        }
    }
    let mut logs = Vec::new();
    for (name, path) in names(&dir.join(layout::LOG))? {
        let Some((worker, stream)) = layout::log_of_name(&name) else {
            continue;
        };
        let size = |path: &Path| {
            fs::metadata(path)
                .map(|m| m.len())
                .map_err(|source| ScanError {
                    path: path.to_owned(),
                    source,
                })
        };
        let head_bytes = size(&path)?.min(limit.head_bytes);
        let mut pieces = segments.remove(&(worker, stream)).unwrap_or_default();
        pieces.sort();
        let written_bytes = match pieces.last() {
            Some((start, last)) => start + size(last)?,
            None => head_bytes,
        };
        let first = pieces.first().map_or(written_bytes, |(start, _)| *start);
        let kept_from = written_bytes.saturating_sub(limit.tail_bytes).max(first);
        let tail = pieces
            .iter()
            .enumerate()
            // A piece that ends before the tail begins is not needed.
            .filter(|(i, _)| pieces.get(i + 1).is_none_or(|(next, _)| *next > kept_from))
            .map(|(_, (start, path))| (path.clone(), kept_from.saturating_sub(*start)))
            .collect();
        logs.push(LogFile {
            summary: LogSummary {
                worker,
                stream,
                written_bytes,
                dropped_bytes: kept_from.saturating_sub(head_bytes),
            },
            path,
            head_bytes,
            tail,
            sum: None,
        });
    }
    logs.sort_by_key(|log| (log.summary.worker, log.summary.stream));
    Ok(logs)
}

/// A directory or file of the record could not be looked at.
#[derive(Debug)]
pub(crate) struct ScanError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// The names and paths in a directory; none if it does not exist.
pub(crate) fn names(dir: &Path) -> Result<Vec<(String, PathBuf)>, ScanError> {
    let failed = |source| ScanError {
        path: dir.to_owned(),
        source,
    };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // Paceline's own names are all text; others are not its files.
        if let Ok(name) = entry.file_name().into_string() {
            names.push((name, entry.path()));
        }
    }
    Ok(names)
}

/// Joins each log's pieces into its file. May be repeated after a failure or a
/// crash: what an earlier attempt appended is cut first.
pub(crate) fn join_logs(
    dir: &Path,
    limit: LogLimit,
) -> Result<Vec<(LogSummary, FileJson)>, WriteRecordError> {
    let logs = open_logs(dir, limit)
        .map_err(|ScanError { path, source }| WriteRecordError::io(&path, source))?;
    let mut joined = Vec::with_capacity(logs.len());
    for log in logs {
        let path = &log.path;
        let mut file = AppendFile::resume(path).at(path)?;
        if !log.tail.is_empty() {
            file.truncate(log.head_bytes).at(path)?;
            file.append(gap_line(&log.summary).as_bytes()).at(path)?;
            for (piece, skip) in &log.tail {
                let mut piece_file = File::open(piece).at(piece)?;
                piece_file.seek(SeekFrom::Start(*skip)).at(piece)?;
                copy(&mut piece_file, &mut file).at(path)?;
            }
        }
        file.sync().at(path)?;
        let sum = File::open(path).and_then(|file| sum_of(&file)).at(path)?;
        joined.push((log.summary, sum));
    }
    Ok(joined)
}

fn copy(from: &mut impl Read, to: &mut AppendFile) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => to.append(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn gap_line(summary: &LogSummary) -> String {
    match summary.dropped_bytes {
        0 => String::new(),
        dropped => format!("\n[paceline: {dropped} bytes of output were not kept here]\n"),
    }
}
