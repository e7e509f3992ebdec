//! An append-only journal with one writer: the state of a study is its replay.
//!
//! A journal is lines of JSON, `{"crc32":"1a2b3c4d","entry":…}`, the checksum
//! being that of the entry's text. Entries are of any type that serde knows;
//! their format belongs to whoever defines them.
//!
//! A writer that dies leaves at most one incomplete line, the last. A reader
//! leaves it out and says so; the next writer removes it. A bad line with a good
//! one behind it is damage, and an error.

use crate::disk::{At, WriteRecordError, sync_dir};
use crate::lock::{LockError, WriterLock, is_held};
use paceline_files::AppendFile;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const PREFIX: &str = "{\"crc32\":\"";
const MIDDLE: &str = "\",\"entry\":";
const SUFFIX: &str = "}";

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadJournalError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line in the middle is not what was written.
    #[error("{path} is damaged at line {line}, byte {offset}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The offset of its first byte.
        offset: u64,
    },
    /// A line is whole, but not an entry that this version knows.
    #[error("line {line} of {path} is not an entry that this version of Paceline knows")]
    Entry {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Why a journal could not be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenJournalError {
    /// Another process writes to it.
    #[error("another process is writing to {path}")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadJournalError),
    /// It cannot be created, repaired or locked.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay<T> {
    /// The entries, in the order they were appended.
    pub entries: Vec<T>,
    /// Bytes of an incomplete last line, which were left out.
    pub cut_bytes: u64,
}

/// Reads a journal, which another process may be writing; one that does not
/// exist has no entries.
///
/// # Errors
/// If it cannot be read, or is damaged other than by a crash.
pub fn replay<T: DeserializeOwned>(path: &Path) -> Result<Replay<T>, ReadJournalError> {
    match paceline_files::open_regular(path, u64::MAX) {
        Ok(file) => read(path, &file).map(|(replay, _)| replay),
        Err(error) if error.is_absent() => Ok(Replay {
            entries: Vec::new(),
            cut_bytes: 0,
        }),
        Err(error) => Err(ReadJournalError::Io {
            path: path.to_owned(),
            source: error.into_io(),
        }),
    }
}

/// Whether a process is writing to the journal.
///
/// # Errors
/// If that cannot be found out.
pub fn is_live(path: &Path) -> Result<bool, ReadJournalError> {
    is_held(path).map_err(|source| ReadJournalError::Io {
        path: path.to_owned(),
        source,
    })
}

/// The one writer of a journal. The lock is given up when it is dropped, or
/// when its process dies.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: AppendFile,
    /// Set when a failed write could not be undone.
    torn: bool,
    line: Vec<u8>,
    entries: PhantomData<fn(&T)>,
    _lock: WriterLock,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens a journal for writing, creates it if need be, and returns what it
    /// says so far. An incomplete last line is removed.
    ///
    /// # Errors
    /// If another process writes to it, or it can be neither read nor written.
    pub fn open(path: &Path) -> Result<(Self, Replay<T>), OpenJournalError> {
        let existed = match AppendFile::create_shared(path) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(WriteRecordError::io(path, error).into()),
        };
        let lock = match WriterLock::acquire(path) {
            Ok(lock) => lock,
            Err(LockError::Held) => {
                return Err(OpenJournalError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(LockError::Io(error)) => return Err(WriteRecordError::io(path, error).into()),
        };
        let mut file = AppendFile::resume(path).at(path)?;
        let (replay, good_bytes) = read(path, file.file())?;
        if replay.cut_bytes > 0 {
            file.truncate(good_bytes).at(path)?;
            file.sync().at(path)?;
        }
        if !existed {
            let dir = path.parent().filter(|dir| *dir != Path::new(""));
            sync_dir(dir.unwrap_or(Path::new(".")))?;
        }
        let journal = Self {
            path: path.to_owned(),
            file,
            torn: false,
            line: Vec::new(),
            entries: PhantomData,
            _lock: lock,
        };
        Ok((journal, replay))
    }

    /// Appends an entry with one `write(2)`: the end of this process does not
    /// lose it. Call [`Journal::sync`] where the machine's must not either.
    ///
    /// # Errors
    /// If it cannot be written; the journal is then as before.
    pub fn append(&mut self, entry: &T) -> Result<(), WriteRecordError> {
        if self.torn {
            return Err(WriteRecordError::Closed {
                path: self.path.clone(),
            });
        }
        self.line.clear();
        self.line.extend_from_slice(PREFIX.as_bytes());
        self.line.extend_from_slice(b"00000000");
        self.line.extend_from_slice(MIDDLE.as_bytes());
        let entry_at = self.line.len();
        serde_json::to_writer(&mut self.line, entry).map_err(|error| WriteRecordError::Entry {
            path: self.path.clone(),
            source: error,
        })?;
        let checksum = format!("{:08x}", crc32fast::hash(&self.line[entry_at..]));
        self.line[PREFIX.len()..PREFIX.len() + 8].copy_from_slice(checksum.as_bytes());
        self.line.extend_from_slice(SUFFIX.as_bytes());
        self.line.push(b'\n');
        if let Err(error) = self.file.append(&self.line) {
            // A full disk may have taken a part of the line.
            self.torn = self.file.truncate(self.file.length()).is_err();
            return Err(WriteRecordError::io(&self.path, error));
        }
        Ok(())
    }

    /// Waits until everything appended has reached the disk.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn sync(&self) -> Result<(), WriteRecordError> {
        self.file.sync().at(&self.path)
    }
}

/// The entries, and how long the good part of the file is.
fn read<T: DeserializeOwned>(
    path: &Path,
    file: &File,
) -> Result<(Replay<T>, u64), ReadJournalError> {
    let damaged = |line, offset| ReadJournalError::Damaged {
        path: path.to_owned(),
        line,
        offset,
    };
    let mut source = BufReader::new(file);
    let mut text = Vec::new();
    let mut entries = Vec::new();
    let mut good_bytes = 0;
    let mut number = 0;
    let mut bad: Option<(u64, u64)> = None;
    let mut all_bytes = 0;
    loop {
        text.clear();
        let length = source
            .read_until(b'\n', &mut text)
            .map_err(|source| ReadJournalError::Io {
                path: path.to_owned(),
                source,
            })? as u64;
        if length == 0 {
            break;
        }
        number += 1;
        let offset = all_bytes;
        all_bytes += length;
        // A disk that lost its power may hold a later line and not this one: the
        // hole reads as zeros, which no text has. What follows was never synced.
        if text.contains(&0) {
            all_bytes = file_length(path, file)?.max(all_bytes);
            break;
        }
        let Some(entry) = entry_of(&text) else {
            let &mut (line, offset) = bad.get_or_insert((number, offset));
            // A writer that dies leaves the beginning of a line, without its end;
            // and a line whose end alone is wrong was whole once.
            let whole_once = text.split_last().is_some_and(|(_, rest)| {
                let mut line = rest.to_vec();
                line.push(b'\n');
                entry_of(&line).is_some()
            });
            if text.ends_with(b"\n") || whole_once || ends_with_entry(&text) {
                return Err(damaged(line, offset));
            }
            continue;
        };
        if let Some((line, offset)) = bad {
            return Err(damaged(line, offset));
        }
        entries.push(
            serde_json::from_slice(entry).map_err(|source| ReadJournalError::Entry {
                path: path.to_owned(),
                line: number,
                source,
            })?,
        );
        good_bytes = all_bytes;
    }
    let replay = Replay {
        entries,
        cut_bytes: all_bytes - good_bytes,
    };
    Ok((replay, good_bytes))
}

fn file_length(path: &Path, file: &File) -> Result<u64, ReadJournalError> {
    match file.metadata() {
        Ok(metadata) => Ok(metadata.len()),
        Err(source) => Err(ReadJournalError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Whether a bad line holds a good one at its end: then the newline before that
/// one was lost, which no crash does.
fn ends_with_entry(line: &[u8]) -> bool {
    (1..line.len()).any(|start| entry_of(&line[start..]).is_some())
}

/// The entry of a line that is whole, newline included.
fn entry_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(PREFIX.as_bytes())?;
    let (checksum, rest) = rest.split_first_chunk::<8>()?;
    let entry = rest
        .strip_prefix(MIDDLE.as_bytes())?
        .strip_suffix(b"\n")?
        .strip_suffix(SUFFIX.as_bytes())?;
    let found = format!("{:08x}", crc32fast::hash(entry));
    (found.as_bytes() == checksum).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::fs;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Entry {
        Leased { run: String, attempt: u32 },
        Finished { run: String, note: String },
    }

    fn entries() -> Vec<Entry> {
        (0..4)
            .map(|i| {
                let run = format!("run-{i}");
                match i % 2 {
                    0 => Entry::Leased { run, attempt: i },
                    _ => Entry::Finished {
                        run,
                        note: "line\nbreak \"}\n{\"crc32\":\"".to_owned(),
                    },
                }
            })
            .collect()
    }

    /// A journal's file, and where each of its lines ends.
    fn specimen(path: &Path) -> (Vec<u8>, Vec<usize>) {
        let (mut journal, replay) = Journal::open(path).unwrap();
        assert_eq!(replay.entries, []);
        let mut ends = vec![0];
        for entry in &entries() {
            journal.append(entry).unwrap();
            ends.push(fs::metadata(path).unwrap().len() as usize);
        }
        (fs::read(path).unwrap(), ends)
    }

    #[test]
    fn a_journal_cut_at_any_byte_goes_on_after_its_last_whole_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let (bytes, ends) = specimen(&path);
        for length in 0..=bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let whole = ends.iter().filter(|&&end| end <= length).count() - 1;
            let expected = Replay {
                entries: entries()[..whole].to_vec(),
                cut_bytes: (length - ends[whole]) as u64,
            };
            assert_eq!(replay(&path).unwrap(), expected, "cut at byte {length}");

            let (mut journal, replayed) = Journal::open(&path).unwrap();
            assert_eq!(replayed, expected);
            journal.append(&entries()[0]).unwrap();
            drop(journal);
            let after: Replay<Entry> = replay(&path).unwrap();
            assert_eq!(after.entries.len(), whole + 1);
            assert_eq!(after.cut_bytes, 0);
        }
    }

    #[test]
    fn a_byte_changed_anywhere_is_never_taken_for_an_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let (bytes, ends) = specimen(&path);
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x04;
            fs::write(&path, &changed).unwrap();
            match replay::<Entry>(&path) {
                Ok(_) => panic!("byte {position} was trusted"),
                Err(ReadJournalError::Damaged { offset, .. }) => {
                    let line = ends.iter().rfind(|&&end| end <= position);
                    assert_eq!(Some(&(offset as usize)), line);
                }
                Err(error) => panic!("byte {position}: {error}"),
            }
        }
    }

    #[test]
    fn a_second_writer_is_told_so_and_a_reader_is_not_kept_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        assert!(!is_live(&path).unwrap());
        assert_eq!(replay::<Entry>(&path).unwrap().entries, []);
        assert!(!path.exists());
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&entries()[0]).unwrap();
        journal.sync().unwrap();
        assert!(is_live(&path).unwrap());
        assert!(matches!(
            Journal::<Entry>::open(&path),
            Err(OpenJournalError::InUse { .. })
        ));
        assert_eq!(replay::<Entry>(&path).unwrap().entries, entries()[..1]);
        drop(journal);
        assert!(!is_live(&path).unwrap());
        let (_, replay) = Journal::<Entry>::open(&path).unwrap();
        assert_eq!(replay.entries, entries()[..1]);
    }

    #[test]
    fn every_line_is_json_that_other_tools_can_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let (bytes, _) = specimen(&path);
        for (line, entry) in String::from_utf8(bytes).unwrap().lines().zip(entries()) {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["entry"], serde_json::to_value(entry).unwrap());
        }
    }

    #[test]
    fn an_entry_of_another_version_is_named_by_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        specimen(&path);
        let error = replay::<u32>(&path).unwrap_err();
        assert!(
            matches!(error, ReadJournalError::Entry { line: 1, .. }),
            "{error}"
        );
    }
}
