//! One process of the run.

use super::ledger::Account;
use super::members::Newcomer;
use super::stat::{Files, Stat, Usage};
use crate::parts::Parts;
use crate::source::Buffer;
use paceline_model::{PartKind, PartMeasure, PartReadings, ProcessName};

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) pid: i32,
    pub(crate) start: u64,
    pub(crate) parent: i32,
    pub(crate) files: Files,
    pub(crate) account: Account,
    /// `<pid> <command>`, and the command as the kernel spells it.
    name: String,
    command: Vec<u8>,
    /// How often it was read.
    readings: u32,
    /// True if the process was there before the run is counted, so that its
    /// first reading only sets the beginning.
    is_old: bool,
    before: Option<Reading>,
    /// The reading of this tick; none if the process is gone.
    pub(crate) now: Option<Reading>,
    /// What it did itself within this tick.
    pub(crate) own: Own,
}

/// One reading of a process that still has an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The process only waits to be waited for.
    pub(crate) ended: bool,
    pub(crate) threads: u64,
    pub(crate) resident_pages: u64,
    own: [u64; 4],
    reaped: [u64; 4],
    pub(crate) io: Option<[u64; 4]>,
    pub(crate) switches: Option<u64>,
}

/// What one process did itself within one tick, children aside.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Own {
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    /// Bytes of children that it waited for included.
    pub(crate) disk: Option<(u64, u64)>,
    pub(crate) switches: Option<u64>,
}

impl Member {
    pub(crate) fn new(newcomer: Newcomer, files: Files, is_old: bool) -> Self {
        Self {
            pid: newcomer.pid,
            start: newcomer.start,
            parent: newcomer.parent,
            files,
            account: Account::default(),
            name: String::new(),
            command: Vec::new(),
            readings: 0,
            is_old,
            before: None,
            now: None,
            own: Own::default(),
        }
    }

    /// Reads the process's files; afterwards `now` is empty if it is gone.
    pub(crate) fn read(&mut self, with_switches: bool, buffer: &mut Buffer) {
        self.before = self.now.take().or(self.before);
        let Ok(text) = self.files.stat(buffer) else {
            return;
        };
        let Some(stat) = Stat::parse(text).filter(|stat| stat.start == self.start) else {
            return;
        };
        self.parent = stat.parent;
        let is_renamed = self.command != stat.command;
        if is_renamed {
            self.command.clear();
            self.command.extend_from_slice(stat.command);
        }
        let mut reading = Reading {
            ended: stat.has_ended(),
            threads: stat.threads,
            resident_pages: 0,
            own: stat.own,
            reaped: stat.reaped,
            io: None,
            switches: None,
        };
        if !reading.ended {
            reading.resident_pages = self.files.resident_pages(buffer).unwrap_or(0);
            if with_switches {
                reading.switches = self.files.switches(buffer);
            }
        }
        reading.io = self.files.io(buffer);
        self.now = Some(reading);
        // A process that had been forked and not yet become another program at its
        // first reading has had its own environment since.
        if is_renamed || (self.readings == 1 && !reading.ended) {
            self.rename(buffer);
        }
        self.readings = self.readings.saturating_add(1);
    }

    /// Names it, with what it is of a distributed program.
    fn rename(&mut self, buffer: &mut Buffer) {
        let mut name = ProcessName {
            pid: self.pid.unsigned_abs(),
            command: &String::from_utf8_lossy(&self.command),
            loads_for: None,
            rank: self.files.rank(buffer),
        };
        name.loads_for = name.is_data_loader().then_some(self.parent.unsigned_abs());
        self.name = name.to_string();
    }

    /// Enters the reading into the account and returns what is new: of the
    /// process, and of children it waited for that were not counted before.
    pub(crate) fn settle(&mut self) -> Usage {
        let Some(now) = self.now else {
            return Usage::default();
        };
        let is_first_of_old = std::mem::take(&mut self.is_old);
        let mut total = self.account.total;
        for field in 0..Usage::FIRST_IO {
            total.0[field] = now.own[field] + now.reaped[field];
        }
        if let Some(io) = now.io {
            total.0[Usage::FIRST_IO..].copy_from_slice(&io);
        }
        let io_before = (
            self.account.total.0[Usage::DISK_READ],
            self.account.total.0[Usage::DISK_WRITE],
        );
        let amount = self.account.settle(total, now.reaped);
        let (own, switches) = match self.before {
            Some(before) => (before.own, before.switches),
            None => ([0; 4], Some(0)),
        };
        self.own = Own {
            user_ticks: now.own[Usage::USER].saturating_sub(own[Usage::USER]),
            system_ticks: now.own[Usage::SYSTEM].saturating_sub(own[Usage::SYSTEM]),
            disk: now.io.map(|_| {
                (
                    total.0[Usage::DISK_READ].saturating_sub(io_before.0),
                    total.0[Usage::DISK_WRITE].saturating_sub(io_before.1),
                )
            }),
            // Threads that ended took their count along: the rest may be less.
            switches: now
                .switches
                .zip(switches)
                .map(|(now, before)| now.saturating_sub(before)),
        };
        if is_first_of_old {
            self.own = Own::default();
            return Usage::default();
        }
        amount
    }

    /// Lists the process in a sample, if it is still there.
    pub(crate) fn list<'p>(
        &self,
        ticks_per_second: f64,
        page_bytes: u64,
        parts: &'p mut Parts<'_>,
    ) -> Option<&'p mut PartReadings> {
        let now = self.now?;
        let part = parts.push(PartKind::Process, &self.name);
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second;
        part.set(PartMeasure::CpuUser, seconds(self.own.user_ticks));
        part.set(PartMeasure::CpuSystem, seconds(self.own.system_ticks));
        part.set(
            PartMeasure::MemRss,
            (now.resident_pages * page_bytes) as f64,
        );
        part.set(PartMeasure::Threads, now.threads as f64);
        if let Some((read, written)) = self.own.disk {
            part.set(PartMeasure::DiskRead, read as f64);
            part.set(PartMeasure::DiskWrite, written as f64);
        }
        Some(part)
    }
}
