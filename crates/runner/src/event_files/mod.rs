//! TensorBoard's event files as metrics: the numbers that frameworks write for it
//! below a run's working directory are the run's, without a change to the code.
//!
//! [`records`] reads the frames, [`message`] the numbers in them, [`places`] finds
//! the files, and [`writer`] says whose a file is. Everything is bounded: folders,
//! files, bytes at a time, and the share of the run that looking may take.

mod message;
mod places;
mod records;
mod writer;

use crate::reports::{Report, ReportKind, is_name};
use paceline_engine::RunClock;
use paceline_model::{Micros, RunNotice};
use places::Places;
use records::Records;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use writer::Writer;

/// How many files of a run are followed; a training has a few per process.
const MOST_FILES: usize = 64;
/// How much of a file is read at one look, so that none can hold the reader.
const AT_ONCE: u64 = 1 << 20;
/// The shortest time between two looks for files that are new.
const LOOK: Duration = Duration::from_secs(1);
/// Looking may take this share of the time, one in so many.
const SHARE: u32 = 1_000;
/// The time of a file's birth is the kernel's clock tick, which may be a little
/// before the start that was measured.
const TICK: Duration = Duration::from_millis(20);

/// A number of an event file, with the time at which it was written.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) at: Micros,
    pub(crate) report: Report,
}

/// Follows the event files of one run.
pub(crate) struct EventFiles {
    clock: RunClock,
    run_dir: PathBuf,
    places: Places,
    /// When to look for new files again.
    next_look: Micros,
    followed: Vec<Followed>,
    /// Files that are not the run's, or too many.
    passed: HashSet<PathBuf>,
    left_out: u64,
    damaged: Vec<(PathBuf, u64)>,
    failed: Vec<(PathBuf, String)>,
}

struct Followed {
    path: PathBuf,
    /// Empty once it is damaged or cannot be read.
    file: Option<File>,
    records: Records,
    /// What its tags begin with.
    prefix: String,
    rank: Option<u32>,
}

impl EventFiles {
    /// Follows what appears below `root` in the run recorded in `run_dir`.
    pub(crate) fn new(root: &Path, run_dir: &Path, clock: RunClock) -> Self {
        Self {
            clock,
            run_dir: run_dir.to_owned(),
            places: Places::new(root),
            next_look: LOOK.into(),
            followed: Vec::new(),
            passed: HashSet::new(),
            left_out: 0,
            damaged: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// What was written since the last look; files that are new are looked for once a
    /// second, or less often where that takes long.
    pub(crate) fn glance(&mut self) -> Vec<Found> {
        let now = self.clock.now();
        if now >= self.next_look {
            self.look(false);
            let cost = Duration::from(self.clock.now().since(now));
            self.next_look = Micros(now.0 + Micros::from(LOOK.max(cost * SHARE)).0);
        }
        self.read(AT_ONCE)
    }

    /// Everything that is there: a command has ended.
    pub(crate) fn settle(&mut self) -> Vec<Found> {
        self.look(true);
        // The length of a file is asked before it is read: a writer without end is
        // followed no further than it had come.
        self.read(u64::MAX)
    }

    /// What went wrong, for the user.
    pub(crate) fn notices(&self) -> Vec<RunNotice> {
        let damaged = self.damaged.iter().map(|(file, offset)| {
            let file = file.display().to_string();
            RunNotice::EventFileDamaged {
                file,
                offset: *offset,
            }
        });
        let failed = self.failed.iter().map(|(file, error)| {
            let file = file.display().to_string();
            RunNotice::EventFileUnreadable {
                file,
                error: error.clone(),
            }
        });
        let left_out = (self.left_out > 0).then_some(RunNotice::TooManyEventFiles {
            left_out: self.left_out,
            most: MOST_FILES,
        });
        damaged.chain(failed).chain(left_out).collect()
    }

    fn look(&mut self, afresh: bool) {
        let known = |path: &Path| self.followed.iter().any(|file| file.path == path);
        let found = self.places.find(&self.run_dir, afresh);
        let new: Vec<PathBuf> = found
            .into_iter()
            .filter(|path| !known(path) && !self.passed.contains(path))
            .collect();
        for path in new {
            let rank = match writer::of(&path, &self.run_dir) {
                Writer::Ours { rank } => rank,
                Writer::Nobody if self.is_new(&path) => None,
                Writer::Nobody | Writer::Another => {
                    self.passed.insert(path);
                    continue;
                }
            };
            if self.followed.len() == MOST_FILES {
                self.left_out += 1;
                self.passed.insert(path);
                continue;
            }
            let file = File::open(&path);
            if let Err(error) = &file {
                self.failed.push((path.clone(), error.to_string()));
            }
            self.followed.push(Followed {
                prefix: self.prefix(&path),
                file: file.ok(),
                path,
                records: Records::default(),
                rank,
            });
        }
    }

    /// Whether a file was made since the run began.
    fn is_new(&self, path: &Path) -> bool {
        let Ok(metadata) = path.metadata() else {
            return false;
        };
        let born = metadata.created().or_else(|_| metadata.modified());
        born.is_ok_and(|born| born + TICK >= self.clock.started_at())
    }

    /// What tells the tags of a file from those of another. TensorBoard calls each
    /// folder a run: below the first one with a file, its path says which, and Keras
    /// writes the same tags into `train` and `validation`.
    fn prefix(&self, path: &Path) -> String {
        let folder = path.parent().unwrap_or(path);
        let folders = self.followed.iter().filter_map(|file| file.path.parent());
        let above = folders
            .filter(|other| *other != folder && folder.starts_with(other))
            .min_by_key(|other| other.components().count());
        let below = above.and_then(|above| folder.strip_prefix(above).ok());
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let said = match below {
            Some(below) => below.to_string_lossy().into_owned(),
            None if ["validation", "val", "eval", "test"].contains(&&*name) => name.into_owned(),
            None => return String::new(),
        };
        format!("{said}/")
    }

    fn read(&mut self, most: u64) -> Vec<Found> {
        let now = self.clock.now();
        let began = self.clock.started_at();
        let mut found = Vec::new();
        for followed in &mut self.followed {
            let Some(file) = &mut followed.file else {
                continue;
            };
            let (prefix, rank) = (&followed.prefix, followed.rank);
            let told = |data: &[u8]| {
                let Some(told) = message::event(data) else {
                    return;
                };
                let at = run_time(told.wall_time, began).min(now);
                let step = u64::try_from(told.step).ok();
                found.extend(told.scalars.into_iter().filter_map(|(tag, value)| {
                    let name = format!("{prefix}{tag}");
                    let report = Report {
                        worker: rank,
                        step,
                        name,
                        kind: ReportKind::Metric(value),
                    };
                    is_name(&report.name).then_some(Found { at, report })
                }));
            };
            match follow(file, &mut followed.records, most, told) {
                Ok(Ok(())) => continue,
                Ok(Err(damaged)) => self.damaged.push((followed.path.clone(), damaged.offset)),
                Err(error) => self.failed.push((followed.path.clone(), error.to_string())),
            }
            followed.file = None;
        }
        found.sort_by_key(|found| found.at);
        found
    }
}

/// Reads on in a file, at most `most` bytes and no further than it reaches now.
fn follow(
    file: &mut File,
    records: &mut Records,
    most: u64,
    mut record: impl FnMut(&[u8]),
) -> io::Result<Result<(), records::Damaged>> {
    let mut left = file.metadata()?.len().min(most);
    let mut buffer = vec![0; 64 * 1024];
    while left > 0 {
        let room = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.read(&mut buffer[..room]) {
            Ok(0) => break,
            Ok(n) => {
                left -= n as u64;
                if let Err(damaged) = records.push(&buffer[..n], &mut record) {
                    return Ok(Err(damaged));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Ok(()))
}

/// The time in the run of a writer's wall time; what is no time in it is its start.
fn run_time(wall_time: f64, began: SystemTime) -> Micros {
    let began = began
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let since = Duration::try_from_secs_f64(wall_time)
        .unwrap_or_default()
        .saturating_sub(began);
    since.into()
}

#[cfg(test)]
mod tests;
