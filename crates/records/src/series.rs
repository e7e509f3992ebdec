//! Commands that are run several times: what was asked for, and where each run is.
//!
//! A series is a directory with `series.json`, which is written before the first
//! run and never again, and one record per run below it. What has been done is
//! what has a finished record: there is no second account of it that could
//! differ. A run that was cut short keeps its record and is run again in another
//! directory beside it.

use crate::disk::{WriteRecordError, write_file};
use crate::layout::LOCK;
use crate::lock::{LockError, WriterLock};
use crate::{OpenRunError, Run, SealRunError, State};
use paceline_files::sealed::{self, Seal};
use paceline_files::{ReadError, read_regular};
use paceline_model::Verdict;
use paceline_numeric::Chance;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of a series' own file.
const FILE: &str = "series.json";
const VERSION: u32 = 1;
/// A series of a thousand words takes a few kilobytes.
const MOST_BYTES: u64 = 16 << 20;
/// The streams of the seed, one for each round.
const STREAM: u64 = 0x5e41;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The commands, word by word.
    pub commands: Vec<Vec<String>>,
    /// Where they start.
    pub cwd: PathBuf,
    /// Everything else that a run depends on, in words: limits, variables.
    pub conditions: Vec<String>,
    /// How often each command is measured.
    pub repeat: u32,
    /// How often each is run before, without being measured.
    pub warmup: u32,
    /// What the order follows from.
    pub seed: u64,
}

/// One run of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeriesRun {
    /// The command, by its number from zero.
    pub command: usize,
    /// The round, from zero.
    pub round: u32,
    /// Whether it only warms up.
    pub warmup: bool,
}

impl Series {
    /// Every run in its order: rounds of all commands, each round in an order of
    /// its own, so that what changes on the machine meanwhile meets all alike.
    #[must_use]
    pub fn runs(&self) -> Vec<SeriesRun> {
        let rounds = [(true, self.warmup), (false, self.repeat)];
        let mut runs = Vec::new();
        for (warmup, rounds) in rounds {
            for round in 0..rounds {
                let mut order: Vec<usize> = (0..self.commands.len()).collect();
                if !warmup {
                    Chance::new(self.seed, STREAM + u64::from(round)).shuffle(&mut order);
                }
                runs.extend(order.into_iter().map(|command| SeriesRun {
                    command,
                    round,
                    warmup,
                }));
            }
        }
        runs
    }

    /// Where the `attempt`-th attempt at a run is recorded, from one.
    #[must_use]
    pub fn place(&self, dir: &Path, run: SeriesRun, attempt: u32) -> PathBuf {
        let kind = if run.warmup { "w" } else { "r" };
        let letter = letter(run.command);
        let again = match attempt {
            0 | 1 => String::new(),
            attempt => format!(".{attempt}"),
        };
        dir.join(format!("{kind}{:03}-{letter}{again}", run.round + 1))
    }

    /// Writes what is asked for into a directory, which is made.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn write(&self, dir: &Path) -> Result<(), WriteRecordError> {
        let failed = |error| WriteRecordError::io(dir, error);
        if let Some(parent) = dir.parent().filter(|it| !it.as_os_str().is_empty()) {
            paceline_files::create_directory(parent).map_err(failed)?;
        }
        // The user may have made it already.
        if !dir.is_dir() {
            paceline_files::create_private_directory(dir).map_err(failed)?;
        }
        let json = SeriesJson {
            version: VERSION,
            commands: self.commands.clone(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            conditions: self.conditions.clone(),
            repeat: self.repeat,
            warmup: self.warmup,
            seed: self.seed,
        };
        let text = serde_json::to_string_pretty(&json).expect("words and numbers are JSON");
        let text = sealed::seal(&text).expect("a series is an object");
        write_file(&dir.join(FILE), text.as_bytes())
    }

    /// Reads it again; nothing where there is none.
    ///
    /// # Errors
    /// If it cannot be read, is damaged or of a newer version.
    pub fn read(dir: &Path) -> Result<Option<Self>, ReadSeriesError> {
        let path = dir.join(FILE);
        let text = match read_regular(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_absent() => return Ok(None),
            Err(source) => return Err(ReadSeriesError::Read { path, source }),
        };
        let damaged = || ReadSeriesError::Damaged { path: path.clone() };
        if sealed::check(&text) != Seal::Whole {
            return Err(damaged());
        }
        let json: SeriesJson = serde_json::from_slice(&text).map_err(|_| damaged())?;
        if json.version > VERSION {
            return Err(ReadSeriesError::TooNew {
                path,
                found: json.version,
            });
        }
        Ok(Some(Self {
            commands: json.commands,
            cwd: PathBuf::from(json.cwd),
            conditions: json.conditions,
            repeat: json.repeat,
            warmup: json.warmup,
            seed: json.seed,
        }))
    }

    /// What is recorded of every run, in their order; a failed run is run again if
    /// `failed_again`.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn standing(
        &self,
        dir: &Path,
        failed_again: bool,
    ) -> Result<Vec<(SeriesRun, Standing)>, OpenRunError> {
        let runs = self.runs().into_iter();
        runs.map(|run| Ok((run, self.standing_of(dir, run, failed_again)?)))
            .collect()
    }

    fn standing_of(
        &self,
        dir: &Path,
        run: SeriesRun,
        failed_again: bool,
    ) -> Result<Standing, OpenRunError> {
        for attempt in 1.. {
            let place = self.place(dir, run, attempt);
            match Run::open(&place) {
                Ok(record) => {
                    let end = record.manifest().end.as_ref();
                    match (record.state(), end.map(|end| end.outcome.verdict())) {
                        (State::Live, _) => return Ok(Standing::Live(place)),
                        (State::Finished, Some(Verdict::Done)) => return Ok(Standing::Done(place)),
                        (State::Finished, Some(Verdict::Failed)) if !failed_again => {
                            return Ok(Standing::Failed(place));
                        }
                        // Nobody knows what it would have come to: it is run again.
                        _ => {}
                    }
                }
                Err(OpenRunError::Absent { .. }) => return Ok(Standing::ToDo(place)),
                // Killed before anything was written: there is nothing to keep.
                Err(OpenRunError::NotARun { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("some place is free")
    }

    /// Closes the records that a killed Paceline has left open.
    ///
    /// # Errors
    /// If one cannot be read or written.
    pub fn seal_interrupted(&self, dir: &Path) -> Result<(), SealRunError> {
        for run in self.runs() {
            for attempt in 1.. {
                let place = self.place(dir, run, attempt);
                match Run::open(&place) {
                    Ok(record) if record.state() == State::Interrupted => {
                        Run::seal(&place)?;
                    }
                    Ok(_) | Err(OpenRunError::NotARun { .. }) => {}
                    Err(_) => break,
                }
            }
        }
        Ok(())
    }
}

/// The right to add runs to a series, given up when dropped.
#[derive(Debug)]
pub struct SeriesLock {
    _lock: WriterLock,
}

impl SeriesLock {
    /// Takes the lock of the series in a directory; nothing if somebody else has it.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn take(dir: &Path) -> std::io::Result<Option<Self>> {
        match WriterLock::acquire(&dir.join(LOCK)) {
            Ok(lock) => Ok(Some(Self { _lock: lock })),
            Err(LockError::Held) => Ok(None),
            Err(LockError::Io(error)) => Err(error),
        }
    }
}

/// Where a run of a series stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It did what it was asked to; its record.
    Done(PathBuf),
    /// It did not; its record.
    Failed(PathBuf),
    /// It is being recorded by somebody else.
    Live(PathBuf),
    /// It is to be run, and recorded here.
    ToDo(PathBuf),
}

/// `a`, `b`, …, `z`, `aa`: a command's name for people.
#[must_use]
pub fn letter(command: usize) -> String {
    let last = char::from(b'a' + (command % 26) as u8);
    match command / 26 {
        0 => last.to_string(),
        rest => format!("{}{last}", letter(rest - 1)),
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct SeriesJson {
    version: u32,
    commands: Vec<Vec<String>>,
    cwd: String,
    conditions: Vec<String>,
    repeat: u32,
    warmup: u32,
    seed: u64,
}

/// Why a series could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadSeriesError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: ReadError,
    },
    /// The file is not as it was written.
    #[error("{path} is damaged or was not written by Paceline")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A newer Paceline wrote it.
    #[error("{path} has format version {found}, this Paceline reads up to {VERSION}")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn series(commands: usize) -> Series {
        Series {
            commands: (0..commands).map(|i| vec![format!("c{i}")]).collect(),
            cwd: PathBuf::from("/tmp"),
            conditions: vec!["cpus 2".to_owned()],
            repeat: 20,
            warmup: 2,
            seed: 7,
        }
    }

    #[test]
    fn every_round_has_every_command_once_and_the_orders_differ() {
        let series = series(3);
        let runs = series.runs();
        assert_eq!(runs.len(), 66);
        assert_eq!(runs, series.runs());
        assert!(runs[..6].iter().all(|run| run.warmup));
        let orders: BTreeSet<Vec<usize>> = runs[6..]
            .chunks(3)
            .map(|round| round.iter().map(|run| run.command).collect())
            .collect();
        for order in &orders {
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 3);
        }
        assert!(orders.len() > 3, "{orders:?}");
    }

    #[test]
    fn what_was_written_is_read_and_a_changed_bit_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("runs/s");
        assert_eq!(Series::read(&place).unwrap(), None);
        let series = series(2);
        series.write(&place).unwrap();
        assert_eq!(Series::read(&place).unwrap(), Some(series));
        let file = place.join(FILE);
        let good = std::fs::read(&file).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            assert!(Series::read(&place).is_err(), "byte {at}");
        }
    }

    #[test]
    fn commands_have_letters() {
        let names: Vec<String> = [0, 1, 25, 26, 27, 52].map(letter).to_vec();
        assert_eq!(names, ["a", "b", "z", "aa", "ab", "ba"]);
    }
}
