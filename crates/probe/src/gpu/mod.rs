//! GPUs: how busy, how full, how warm, and what they move.
//!
//! A driver is asked by a thread of its own, at most once a second: a library that
//! is missing, too old or fails is a column that is absent, and one that hangs is a
//! gap with its reason. Amounts are those since the reading before, so that they
//! add up to the run's whatever the interval is.

mod amd;
mod card;
mod nvidia;
mod nvml;
mod offer;
mod watcher;

use crate::counter::Tick;
use crate::parts::Parts;
use crate::roots::Roots;
use amd::Amd;
use card::{Card, OnCard};
use nvidia::Nvidia;
use paceline_model::{GapReason, Measure, Micros, PartKind, PartMeasure, Readings};
use std::fs;
use std::path::Path;
use std::time::Duration;
use watcher::{Report, Watcher};

pub(crate) use offer::gpus as offer;

/// GPUs are asked no more often than this: what they tell is itself a mean over up
/// to a second.
const SHORTEST: Micros = Micros(1_000_000);

/// The link of the machine's own namespace of process ids, which every Linux kernel
/// numbers alike (`PROC_PID_INIT_INO`).
const OWN_NAMESPACE: &str = "pid:[4026531836]";

/// The amounts of a card, in the order of [`Known::totals`].
const AMOUNTS: [(PartMeasure, Measure, f64); 5] = [
    (PartMeasure::GpuPcieRx, Measure::NodeGpuPcieRx, 1.0),
    (PartMeasure::GpuPcieTx, Measure::NodeGpuPcieTx, 1.0),
    (PartMeasure::GpuNvlinkRx, Measure::NodeGpuNvlinkRx, 1.0),
    (PartMeasure::GpuNvlinkTx, Measure::NodeGpuNvlinkTx, 1.0),
    (PartMeasure::GpuEnergy, Measure::NodeGpuEnergy, 1e-6),
];

/// All GPUs of the node.
#[derive(Debug)]
pub(crate) struct Gpus {
    vendors: Vec<Vendor>,
    waited: Micros,
    /// Whether drivers and this probe mean the same by a process id. They tell those
    /// of the machine, which a container numbers anew.
    same_pids: bool,
}

/// One driver and its GPUs.
#[derive(Debug)]
struct Vendor {
    watcher: Watcher,
    cards: Vec<Known>,
    /// CPU time of its thread.
    cpu: Duration,
    /// Whether this tick has a reading.
    is_read: bool,
}

/// A GPU as it was last read.
#[derive(Debug)]
struct Known {
    now: Card,
    /// Readings of its counters, and what they grew by since the last sample.
    totals: [Option<u64>; 5],
    grown: [Option<u64>; 5],
}

impl Gpus {
    pub(crate) fn open(roots: &Roots) -> Self {
        let library = roots.nvml.clone();
        let mut watchers = vec![Watcher::spawn(move || Nvidia::open(&library).ok())];
        if let Some(amd) = Amd::open(roots) {
            watchers.push(Watcher::spawn(move || Some(amd)));
        }
        let mut gpus = Self {
            vendors: watchers.into_iter().map(Vendor::new).collect(),
            waited: Micros::ZERO,
            same_pids: is_own_namespace(roots),
        };
        // The beginning of the counters; loading a driver is not waited for.
        for vendor in &mut gpus.vendors {
            vendor.watcher.prepare();
        }
        gpus
    }

    /// Asks the drivers, if it is time to.
    pub(crate) fn read(&mut self, tick: &mut Tick) {
        self.vendors
            .iter_mut()
            .for_each(|vendor| vendor.is_read = false);
        // Half an interval of grace keeps a one-second probe at every tick.
        self.waited = Micros(self.waited.0.saturating_add(tick.interval.0));
        if tick.is_baseline() || self.waited.0 + tick.interval.0 / 2 < SHORTEST.0 {
            return;
        }
        self.waited = Micros::ZERO;
        self.vendors.retain(|vendor| !vendor.watcher.is_idle());
        for vendor in &mut self.vendors {
            vendor.read(tick);
        }
    }

    /// What the process has on all GPUs: bytes, and its share of them. Nothing if no
    /// driver lists it.
    pub(crate) fn of_process(&self, pid: i32) -> Option<(Option<u64>, Option<f64>)> {
        let mut found: Option<(Option<u64>, Option<f64>)> = None;
        for process in self.processes().filter(|process| process.pid == pid) {
            let (mem, busy) = found.unwrap_or_default();
            let add = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
            found = Some((
                add(mem, process.mem),
                busy.map_or(process.busy, |a| Some(a + process.busy.unwrap_or(0.0))),
            ));
        }
        found
    }

    fn processes(&self) -> impl Iterator<Item = &OnCard> {
        let told = self.same_pids;
        self.cards()
            .filter(move |_| told)
            .flat_map(|card| card.now.processes.iter().flatten())
    }

    fn cards(&self) -> impl Iterator<Item = &Known> {
        let read = self.vendors.iter().filter(|vendor| vendor.is_read);
        read.flat_map(|vendor| &vendor.cards)
    }

    /// Enters what was read. `is_run` tells the run's own processes; nothing if there
    /// is no run.
    pub(crate) fn report(
        &mut self,
        tick: &mut Tick,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
        is_run: Option<&dyn Fn(i32) -> bool>,
    ) {
        if self.cards().next().is_none() {
            return;
        }
        if self.cards().any(|card| card.now.lost) {
            tick.note(GapReason::Unreadable);
        }
        self.report_node(readings);
        if let Some(is_run) = is_run {
            self.report_run(readings, is_run);
        }
        let same_pids = self.same_pids;
        for vendor in self.vendors.iter_mut().filter(|vendor| vendor.is_read) {
            for card in &mut vendor.cards {
                let part = parts.push(PartKind::Gpu, &card.now.name);
                for (measure, value) in card.now.levels() {
                    if let Some(value) = value {
                        part.set(measure, value);
                    }
                }
                for (grown, (measure, _, scale)) in card.grown.iter_mut().zip(AMOUNTS) {
                    if let Some(amount) = grown.take() {
                        part.set(measure, amount as f64 * scale);
                    }
                }
                let listed = card.now.processes.as_ref().filter(|_| same_pids);
                if let (Some(listed), Some(is_run)) = (listed, is_run) {
                    let count = listed.iter().filter(|it| is_run(it.pid)).count();
                    part.set(PartMeasure::GpuProcesses, count as f64);
                }
            }
        }
    }

    fn report_node(&self, readings: &mut Readings) {
        let count = self.cards().count() as f64;
        readings.set(Measure::NodeGpus, count);
        // A sum over GPUs of which one does not tell would be a lie; better none.
        let all = |value: &dyn Fn(&Known) -> Option<f64>| -> Option<Vec<f64>> {
            self.cards().map(value).collect()
        };
        let sum = |value: &dyn Fn(&Known) -> Option<f64>| all(value).map(|v| v.iter().sum::<f64>());
        let bytes = |value: Option<u64>| value.map(|bytes| bytes as f64);
        let levels = [
            (
                Measure::NodeGpuBusy,
                sum(&|card| card.now.busy).map(|sum| sum / count),
            ),
            (Measure::NodeGpuMem, sum(&|card| bytes(card.now.mem_used))),
            (
                Measure::NodeGpuMemTotal,
                sum(&|card| bytes(card.now.mem_total)),
            ),
            (Measure::NodeGpuPower, sum(&|card| card.now.power_w)),
            (
                Measure::NodeGpuTemperature,
                all(&|card| card.now.temperature).and_then(|v| v.into_iter().reduce(f64::max)),
            ),
        ];
        for (measure, value) in levels {
            if let Some(value) = value {
                readings.set(measure, value);
            }
        }
        for (index, (_, measure, scale)) in AMOUNTS.into_iter().enumerate() {
            if let Some(sum) = sum(&|card| bytes(card.grown[index])) {
                readings.set(measure, sum * scale);
            }
        }
    }

    /// What the run has on GPUs, if every driver tells the processes.
    fn report_run(&self, readings: &mut Readings, is_run: &dyn Fn(i32) -> bool) {
        if !self.same_pids || self.cards().any(|card| card.now.processes.is_none()) {
            return;
        }
        let (mut cards, mut busy, mut mem) = (0u32, Some(0.0), Some(0));
        for card in self.cards() {
            let listed = card.now.processes.iter().flatten();
            let mut is_on = false;
            for process in listed.filter(|process| is_run(process.pid)) {
                is_on = true;
                mem = mem.zip(process.mem).map(|(a, b)| a + b);
            }
            if is_on {
                cards += 1;
                busy = busy.zip(card.now.busy).map(|(a, b)| a + b);
            }
        }
        readings.set(Measure::RunGpus, f64::from(cards));
        if cards > 0 {
            if let Some(busy) = busy {
                readings.set(Measure::RunGpuBusy, busy / f64::from(cards));
            }
            if let Some(mem) = mem {
                readings.set(Measure::RunGpuMem, mem as f64);
            }
        }
    }

    /// CPU time that the drivers' threads have used.
    pub(crate) fn cpu(&self) -> Duration {
        self.vendors.iter().map(|vendor| vendor.cpu).sum()
    }
}

impl Vendor {
    fn new(watcher: Watcher) -> Self {
        Self {
            watcher,
            cards: Vec::new(),
            cpu: Duration::ZERO,
            is_read: false,
        }
    }

    fn read(&mut self, tick: &mut Tick) {
        let (cards, cpu, is_read) = (&mut self.cards, &mut self.cpu, &mut self.is_read);
        self.watcher.read(tick, |report, tick| {
            let Report {
                cards: now,
                cpu: spent,
            } = report;
            *cpu = spent;
            *is_read = true;
            let names = |a: &Known, b: &Card| a.now.name == b.name;
            let is_same =
                cards.len() == now.len() && cards.iter().zip(&now).all(|(a, b)| names(a, b));
            if !is_same {
                if !cards.is_empty() {
                    tick.note(GapReason::DeviceChanged);
                }
                *cards = now.into_iter().map(Known::new).collect();
                return;
            }
            for (card, now) in cards.iter_mut().zip(now) {
                card.update(now, tick);
            }
        });
    }
}

impl Known {
    fn new(now: Card) -> Self {
        Self {
            totals: now.totals(),
            grown: [None; 5],
            now,
        }
    }

    fn update(&mut self, now: Card, tick: &mut Tick) {
        for (index, total) in now.totals().into_iter().enumerate() {
            // A reading that fails keeps the last one, so that nothing is lost.
            let Some(total) = total else { continue };
            if let Some(before) = self.totals[index].replace(total) {
                match total.checked_sub(before) {
                    Some(more) => self.grown[index] = Some(self.grown[index].unwrap_or(0) + more),
                    None => tick.note(GapReason::CounterReset),
                }
            }
        }
        self.now = now;
    }
}

impl Card {
    fn totals(&self) -> [Option<u64>; 5] {
        [
            self.pcie_rx,
            self.pcie_tx,
            self.nvlink_rx,
            self.nvlink_tx,
            self.energy_uj,
        ]
    }

    fn levels(&self) -> [(PartMeasure, Option<f64>); 5] {
        let bytes = |value: Option<u64>| value.map(|bytes| bytes as f64);
        [
            (PartMeasure::GpuBusy, self.busy),
            (PartMeasure::GpuMem, bytes(self.mem_used)),
            (PartMeasure::GpuMemTotal, bytes(self.mem_total)),
            (PartMeasure::GpuPower, self.power_w),
            (PartMeasure::GpuTemperature, self.temperature),
        ]
    }
}

fn is_own_namespace(roots: &Roots) -> bool {
    fs::read_link(roots.proc.join("self/ns/pid")).is_ok_and(|link| link == Path::new(OWN_NAMESPACE))
}
