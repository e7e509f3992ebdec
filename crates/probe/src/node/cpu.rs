//! `/proc/stat`: CPU time of the node and of each core, run queue, switches.

use crate::counter::{Counter, Tick};
use crate::parts::Parts;
use crate::roots::Roots;
use crate::scan::{lines, number, numbers, words};
use crate::source::{Buffer, Source};
use paceline_model::{GapReason, Measure, PartKind, PartMeasure, Readings};

#[derive(Debug)]
pub(crate) struct Cpu {
    stat: Source,
    ticks_per_second: f64,
    total: Times,
    cores: Vec<Core>,
    switches: Counter,
    forks: Option<u64>,
}

#[derive(Debug)]
struct Core {
    name: String,
    seen: u64,
    times: Times,
}

/// The counters of one `cpu` line.
#[derive(Debug, Default)]
struct Times {
    user: Counter,
    system: Counter,
    idle: Counter,
    iowait: Counter,
    steal: Counter,
}

/// The amounts of one `cpu` line, in seconds.
#[derive(Debug)]
struct Amounts {
    user: Option<f64>,
    system: Option<f64>,
    idle: Option<f64>,
    iowait: Option<f64>,
    steal: Option<f64>,
}

impl Times {
    /// `line` holds user, nice, system, idle, iowait, irq, softirq, steal
    /// (proc(5)). Guest time is part of user time and is not added again.
    fn read(&mut self, line: [u64; 8], per_second: f64, tick: &mut Tick) -> Amounts {
        let [user, nice, system, idle, iowait, irq, softirq, steal] = line;
        // Idle and iowait are estimates of the kernel that may step back by a
        // few ticks whenever a core wakes; a second is far above that.
        let slack = per_second as u64;
        let seconds = |ticks: Option<u64>| ticks.map(|t| t as f64 / per_second);
        Amounts {
            user: seconds(self.user.amount(user + nice, tick)),
            system: seconds(self.system.amount(system + irq + softirq, tick)),
            idle: seconds(self.idle.amount_unsteady(idle, slack, tick)),
            iowait: seconds(self.iowait.amount_unsteady(iowait, slack, tick)),
            steal: seconds(self.steal.amount_unsteady(steal, slack, tick)),
        }
    }
}

impl Cpu {
    pub(crate) fn open(roots: &Roots) -> Self {
        Self {
            stat: Source::open(roots.proc.join("stat")),
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            total: Times::default(),
            cores: Vec::new(),
            switches: Counter::default(),
            forks: None,
        }
    }

    pub(crate) fn forks(&self) -> Option<u64> {
        self.forks
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        buffer: &mut Buffer,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
    ) {
        self.forks = None;
        let Some(text) = self.stat.read(buffer) else {
            return;
        };
        let mut next_core = 0;
        for line in lines(text) {
            let mut fields = words(line);
            let Some(key) = fields.next() else { continue };
            match key {
                b"cpu" => {
                    if let Some(times) = numbers(&mut fields) {
                        let amounts = self.total.read(times, self.ticks_per_second, tick);
                        set(readings, Measure::NodeCpuUser, amounts.user);
                        set(readings, Measure::NodeCpuSystem, amounts.system);
                        set(readings, Measure::NodeCpuIdle, amounts.idle);
                        set(readings, Measure::NodeCpuIowait, amounts.iowait);
                        set(readings, Measure::NodeCpuSteal, amounts.steal);
                    }
                }
                b"ctxt" => {
                    if let Some(count) = fields.next().and_then(number) {
                        let amount = self.switches.amount(count, tick).map(|n| n as f64);
                        set(readings, Measure::NodeContextSwitches, amount);
                    }
                }
                b"processes" => self.forks = fields.next().and_then(number),
                b"procs_running" => {
                    if let Some(count) = fields.next().and_then(number) {
                        // The thread that reads this line is running, too.
                        let others = count.saturating_sub(1) as f64;
                        readings.set(Measure::NodeRunQueue, others);
                    }
                }
                b"procs_blocked" => {
                    if let Some(count) = fields.next().and_then(number) {
                        readings.set(Measure::NodeBlocked, count as f64);
                    }
                }
                _ if key.starts_with(b"cpu") => {
                    if let Some(times) = numbers(&mut fields) {
                        let core = find_core(&mut self.cores, next_core, &key[3..], tick);
                        next_core = core + 1;
                        let core = &mut self.cores[core];
                        let amounts = core.times.read(times, self.ticks_per_second, tick);
                        let part = parts.push(PartKind::Core, &core.name);
                        for (measure, amount) in [
                            (PartMeasure::CpuUser, amounts.user),
                            (PartMeasure::CpuSystem, amounts.system),
                            (PartMeasure::CpuIowait, amounts.iowait),
                            (PartMeasure::CpuSteal, amounts.steal),
                        ] {
                            if let Some(amount) = amount {
                                part.set(measure, amount);
                            }
                        }
                        // A core that has just come online has no amounts yet.
                        if part.is_empty() {
                            parts.pop();
                        }
                    }
                }
                _ => {}
            }
        }
        let before = self.cores.len();
        self.cores.retain(|core| core.seen == tick.number);
        if self.cores.len() != before {
            tick.note(GapReason::DeviceChanged);
        }
    }
}

/// The index of the core called `name`, which is where the last reading had it
/// unless cores came or went.
fn find_core(cores: &mut Vec<Core>, expected: usize, name: &[u8], tick: &mut Tick) -> usize {
    let matches = |core: &Core| core.name.as_bytes() == name;
    let found = match cores.get(expected) {
        Some(core) if matches(core) => Some(expected),
        _ => cores.iter().position(matches),
    };
    let index = found.unwrap_or_else(|| {
        if !tick.is_baseline() {
            tick.note(GapReason::DeviceChanged);
        }
        cores.push(Core {
            name: String::from_utf8_lossy(name).into_owned(),
            seen: 0,
            times: Times::default(),
        });
        cores.len() - 1
    });
    cores[index].seen = tick.number;
    index
}

fn set(readings: &mut Readings, measure: Measure, amount: Option<f64>) {
    if let Some(amount) = amount {
        readings.set(measure, amount);
    }
}
