//! Which processes belong to the run.

use super::stat::Stat;
use crate::scan::{lines, number};
use crate::source::{Buffer, Source, open};
use rustix::fd::OwnedFd;
use rustix::fs::{RawDir, SeekFrom, seek};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// The lowest limit of process numbers that Linux ships with. After half as
/// many new processes a number may have come round.
const NUMBERS: u64 = 32_768;

/// A process that was not known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newcomer {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) start: u64,
}

/// Finds processes that the probe has not met.
///
/// The kernel counts how many tasks were ever started. While that number
/// stands still there is nobody new, and the search costs nothing; otherwise
/// one listing of `/proc` names everybody, and only unknown numbers are read.
#[derive(Debug)]
pub(crate) struct Search {
    proc: PathBuf,
    directory: Option<OwnedFd>,
    /// The members that the run's cgroup lists, descendants aside.
    listed: Source,
    /// Processes that are known not to be the run's, ascending.
    foreign: Vec<i32>,
    forks: Option<u64>,
    pids: Vec<i32>,
}

impl Search {
    pub(crate) fn open(proc: &Path, listed: Source) -> Self {
        Self {
            directory: open(proc).ok(),
            proc: proc.to_owned(),
            listed,
            foreign: Vec::new(),
            forks: None,
            pids: Vec::new(),
        }
    }

    /// Appends to `found` every process that is neither foreign nor `known`.
    /// `forks` is how many tasks the machine has started so far, if it tells.
    pub(crate) fn newcomers(
        &mut self,
        forks: Option<u64>,
        known: impl Fn(i32) -> bool,
        buffer: &mut Buffer,
        found: &mut Vec<Newcomer>,
    ) {
        if forks.is_some() && forks == self.forks {
            return;
        }
        let started = forks
            .zip(self.forks)
            .map(|(now, before)| now.wrapping_sub(before));
        if started.is_none_or(|count| count > NUMBERS / 2) {
            self.foreign.clear();
        }
        self.forks = forks;
        self.pids.clear();
        let Some(directory) = &self.directory else {
            return;
        };
        if list(directory, &mut self.pids).is_err() {
            return;
        }
        self.pids.sort_unstable();
        let pids = &self.pids;
        self.foreign.retain(|pid| pids.binary_search(pid).is_ok());
        for &pid in &self.pids {
            if known(pid) || self.foreign.binary_search(&pid).is_ok() {
                continue;
            }
            found.extend(meet(&self.proc, pid, buffer));
        }
    }

    /// Appends to `found` every process of `listed` that is not `known`, even
    /// one that was taken for foreign before it joined the cgroup.
    pub(crate) fn look_up(
        &mut self,
        listed: &[i32],
        known: impl Fn(i32) -> bool,
        buffer: &mut Buffer,
        found: &mut Vec<Newcomer>,
    ) {
        for &pid in listed.iter().filter(|&&pid| !known(pid)) {
            self.foreign.retain(|&stranger| stranger != pid);
            found.extend(meet(&self.proc, pid, buffer));
        }
    }

    /// Remembers processes that turned out to be somebody else's.
    pub(crate) fn dismiss(&mut self, strangers: &[Newcomer]) {
        self.foreign.extend(strangers.iter().map(|s| s.pid));
        self.foreign.sort_unstable();
    }

    /// The numbers in the cgroup's list.
    pub(crate) fn listed(&mut self, buffer: &mut Buffer, pids: &mut Vec<i32>) {
        pids.clear();
        if let Some(text) = self.listed.read(buffer) {
            let numbers = lines(text).filter_map(number);
            pids.extend(numbers.filter_map(|n| i32::try_from(n).ok()));
            pids.sort_unstable();
        }
    }
}

fn meet(proc: &Path, pid: i32, buffer: &mut Buffer) -> Option<Newcomer> {
    let path = proc.join(pid.to_string()).join("stat");
    let stat = Stat::parse(buffer.read_once(&path).ok()?)?;
    Some(Newcomer {
        pid,
        parent: stat.parent,
        group: stat.group,
        start: stat.start,
    })
}

fn list(directory: &OwnedFd, pids: &mut Vec<i32>) -> rustix::io::Result<()> {
    seek(directory, SeekFrom::Start(0))?;
    let mut space = [MaybeUninit::uninit(); 8 << 10];
    let mut entries = RawDir::new(directory, &mut space);
    while let Some(entry) = entries.next() {
        let name = entry?;
        let name = name.file_name().to_bytes();
        if name.iter().all(u8::is_ascii_digit)
            && let Some(pid) = number(name).and_then(|n| i32::try_from(n).ok())
        {
            pids.push(pid);
        }
    }
    Ok(())
}
