//! The run's own processes.

mod group;
mod ledger;
mod member;
mod members;
mod sockets;
mod stat;

use crate::budget::Budget;
use crate::counter::Tick;
use crate::gpu::Gpus;
use crate::node::Node;
use crate::parts::Parts;
use crate::roots::Roots;
use crate::source::{Buffer, Source};
use crate::target::{Counted, Processes, Target};
use group::GroupUsage;
use ledger::Account;
use member::Member;
use members::{Newcomer, Search};
use paceline_model::{Measure, PartMeasure, Readings};
use sockets::Sockets;
use stat::{Files, Stat, Usage};
use std::path::PathBuf;

/// How many processes keep their files open: three each, far below the usual
/// limit of 1,024 open files.
const MOST_KEPT: usize = 64;

/// How many processes a sample lists one by one: the busiest.
const MOST_LISTED: usize = 64;

/// Up to how many threads context switches are counted. The kernel tells them
/// thread by thread only.
const MOST_SWITCHING: u64 = 32;

/// Everything a sample says about the run.
#[derive(Debug)]
pub(crate) struct Run {
    proc: PathBuf,
    processes: Option<Processes>,
    from_start: bool,
    /// When the probe began, in clock ticks since boot.
    began: u64,
    ticks_per_second: f64,
    page_bytes: u64,
    group: Option<GroupUsage>,
    sockets: Sockets,
    search: Search,
    /// Oldest first, so that parents are read before their children.
    members: Vec<Member>,
    /// The account of the process below which the run lives.
    reaper: Account,
    threads: u64,
    budget: Budget,
    newcomers: Vec<Newcomer>,
    listed: Vec<i32>,
    order: Vec<usize>,
}

impl Run {
    pub(crate) fn open(target: &Target, roots: &Roots, buffer: &mut Buffer) -> Self {
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let listed = match &target.cgroup {
            Some(paths) => Source::open(paths.procs.clone()),
            None => Source::absent(),
        };
        let from_start = target.counted == Counted::FromStart;
        let uptime = uptime_s(roots, buffer).unwrap_or(0.0);
        Self {
            proc: roots.proc.clone(),
            processes: target.processes,
            from_start,
            began: (uptime * ticks_per_second) as u64,
            ticks_per_second,
            page_bytes: rustix::param::page_size() as u64,
            group: target
                .cgroup
                .as_ref()
                .map(|paths| GroupUsage::open(paths, from_start)),
            sockets: Sockets::open(
                &roots.proc,
                target
                    .cgroup
                    .as_ref()
                    .and_then(|paths| paths.unified.as_deref()),
                from_start,
            ),
            search: Search::open(&roots.proc, listed),
            members: Vec::new(),
            reaper: Account::default(),
            threads: 0,
            budget: Budget::default(),
            newcomers: Vec::new(),
            listed: Vec::new(),
            order: Vec::new(),
        }
    }

    /// True if there is a run to speak of.
    pub(crate) fn is_any(&self) -> bool {
        self.processes.is_some() || self.group.is_some()
    }

    /// True if the process is one of the run's, as of the last reading.
    pub(crate) fn has(&self, pid: i32) -> bool {
        is_member(&self.members, pid)
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        node: &Node,
        gpus: &Gpus,
        buffer: &mut Buffer,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
    ) {
        if let Some(group) = &mut self.group {
            group.read(tick, node, buffer, readings);
        }
        self.admit(node.forks(), buffer);
        let reaper = self.read_reaper(buffer);
        let with_switches = self.threads <= MOST_SWITCHING;
        for member in &mut self.members {
            member.read(with_switches, buffer);
        }
        self.bury();
        let used = self.settle(tick, reaper);
        self.report(tick, &used, readings);
        self.report_proportional(tick, buffer, readings);
        let living = self
            .members
            .iter()
            .filter(|member| member.now.is_some_and(|now| !now.ended));
        self.sockets
            .read(living.map(|member| member.pid), tick, readings);
        self.list(gpus, parts);
    }

    /// Finds processes that have joined the run.
    fn admit(&mut self, forks: Option<u64>, buffer: &mut Buffer) {
        self.newcomers.clear();
        self.search.listed(buffer, &mut self.listed);
        let members = &self.members;
        let met = |pid| is_member(members, pid);
        self.search
            .look_up(&self.listed, met, buffer, &mut self.newcomers);
        while let Some(newcomer) = self.newcomers.pop() {
            self.join(newcomer);
        }
        let members = &self.members;
        let met = |pid| is_member(members, pid);
        self.search
            .newcomers(forks, met, buffer, &mut self.newcomers);
        // A child may have been found before its parent: repeat until nobody
        // else belongs to somebody who does.
        while let Some(index) = self.newcomers.iter().position(|n| self.belongs(n)) {
            let newcomer = self.newcomers.remove(index);
            self.join(newcomer);
        }
        self.search.dismiss(&self.newcomers);
    }

    fn belongs(&self, newcomer: &Newcomer) -> bool {
        let is_tied = match self.processes {
            Some(Processes::Below(reaper)) => newcomer.parent == reaper,
            // A process whose parent ended before it was seen has lost its
            // tie to the tree, but not to the group that the root leads.
            Some(Processes::Tree(root)) => newcomer.pid == root || newcomer.group == root,
            None => false,
        };
        is_tied || is_member(&self.members, newcomer.parent)
    }

    fn join(&mut self, newcomer: Newcomer) {
        let kept = self.members.iter().filter(|m| m.files.are_kept()).count();
        let files = Files::open(&self.proc, newcomer.pid, kept < MOST_KEPT);
        let is_old = !self.from_start && newcomer.start < self.began;
        let key = (newcomer.start, newcomer.pid);
        let place = self.members.partition_point(|m| (m.start, m.pid) < key);
        self.members
            .insert(place, Member::new(newcomer, files, is_old));
    }

    fn read_reaper(&self, buffer: &mut Buffer) -> Option<[u64; 4]> {
        let Some(Processes::Below(pid)) = self.processes else {
            return None;
        };
        let path = self.proc.join(pid.to_string()).join("stat");
        let text = buffer.read_once(&path).ok()?;
        Stat::parse(text).map(|stat| stat.reaped)
    }

    /// Takes processes that are gone off the list and tells those who wait for
    /// them what has already been counted.
    fn bury(&mut self) {
        for index in (0..self.members.len()).rev() {
            if self.members[index].now.is_some() {
                continue;
            }
            let gone = self.members.remove(index);
            let estate = gone.account.estate();
            if let Some(heir) = self.members.iter_mut().find(|m| m.pid == gone.parent) {
                heir.account.lose_child(&estate);
            } else if self.processes == Some(Processes::Below(gone.parent)) {
                self.reaper.lose_child(&estate);
            }
        }
    }

    fn settle(&mut self, tick: &Tick, reaper: Option<[u64; 4]>) -> Usage {
        let mut used = Usage::default();
        if let Some(reaped) = reaper {
            let mut total = Usage::default();
            total.0[..Usage::FIRST_IO].copy_from_slice(&reaped);
            add(&mut used, &self.reaper.settle(total, reaped));
        }
        // What the run's processes used before the baseline stays open until
        // the first sample, unless it is not to be counted.
        if tick.is_baseline() && self.from_start {
            return used;
        }
        for member in &mut self.members {
            add(&mut used, &member.settle());
        }
        used
    }

    fn report(&mut self, tick: &Tick, used: &Usage, readings: &mut Readings) {
        let (mut processes, mut threads, mut resident) = (0u64, 0, 0);
        let (mut switches, mut all_io) = (Some(0), true);
        for member in &self.members {
            let Some(now) = member.now else { continue };
            all_io &= now.io.is_some() || now.ended;
            if now.ended {
                continue;
            }
            processes += 1;
            threads += now.threads;
            resident += now.resident_pages * self.page_bytes;
            switches = switches.zip(member.own.switches).map(|(a, b)| a + b);
        }
        self.threads = threads;
        readings.set(Measure::RunProcesses, processes as f64);
        readings.set(Measure::RunThreads, threads as f64);
        readings.set(Measure::RunMemRss, resident as f64);
        if tick.is_baseline() {
            return;
        }
        let [user, system, minor, major, io_read, io_write, read, written] = used.0;
        // The group's own account is exact; the processes' is in clock ticks.
        if readings.get(Measure::RunCpuUser).is_none() {
            let seconds = |ticks: u64| ticks as f64 / self.ticks_per_second;
            readings.set(Measure::RunCpuUser, seconds(user));
            readings.set(Measure::RunCpuSystem, seconds(system));
        }
        readings.set(Measure::RunPageFaults, (minor + major) as f64);
        readings.set(Measure::RunPageFaultsMajor, major as f64);
        // A sum that lacks a process would be a lie; better none.
        if all_io {
            readings.set(Measure::RunIoRead, io_read as f64);
            readings.set(Measure::RunIoWrite, io_write as f64);
            if readings.get(Measure::RunDiskRead).is_none() {
                readings.set(Measure::RunDiskRead, read as f64);
                readings.set(Measure::RunDiskWrite, written as f64);
            }
        }
        if let Some(switches) = switches {
            readings.set(Measure::RunContextSwitches, switches as f64);
        }
    }

    fn report_proportional(&mut self, tick: &Tick, buffer: &mut Buffer, readings: &mut Readings) {
        let members = &self.members;
        let sum = self.budget.spend(tick.interval, || {
            let mut sum = 0;
            for member in members {
                if member.now.is_some_and(|now| !now.ended) {
                    // A process that ends meanwhile has no memory any more.
                    sum += member.files.proportional_bytes(buffer).unwrap_or(0);
                }
            }
            sum
        });
        if let Some(bytes) = sum.filter(|&bytes| bytes > 0) {
            readings.set(Measure::RunMemPss, bytes as f64);
        }
    }

    fn list(&mut self, gpus: &Gpus, parts: &mut Parts<'_>) {
        let members = &self.members;
        self.order.clear();
        self.order.extend(0..members.len());
        if self.order.len() > MOST_LISTED {
            self.order.sort_by_key(|&index| {
                let member = &members[index];
                let ticks = member.own.user_ticks + member.own.system_ticks;
                let resident = member.now.map_or(0, |now| now.resident_pages);
                std::cmp::Reverse((ticks, resident))
            });
            self.order.truncate(MOST_LISTED);
            self.order.sort_unstable();
        }
        for &index in &self.order {
            let member = &members[index];
            if let Some(part) = member.list(self.ticks_per_second, self.page_bytes, parts)
                && let Some((mem, busy)) = gpus.of_process(member.pid)
            {
                if let Some(bytes) = mem {
                    part.set(PartMeasure::GpuMem, bytes as f64);
                }
                if let Some(busy) = busy {
                    part.set(PartMeasure::GpuBusy, busy);
                }
            }
        }
    }
}

fn is_member(members: &[Member], pid: i32) -> bool {
    members.iter().any(|member| member.pid == pid)
}

fn add(sum: &mut Usage, amount: &Usage) {
    for field in 0..Usage::FIELDS {
        sum.0[field] += amount.0[field];
    }
}

/// Seconds since boot, as the processes' start times count them.
fn uptime_s(roots: &Roots, buffer: &mut Buffer) -> Option<f64> {
    let text = buffer.read_once(&roots.proc.join("uptime")).ok()?;
    let word = crate::scan::words(text).next()?;
    std::str::from_utf8(word).ok()?.parse().ok()
}
