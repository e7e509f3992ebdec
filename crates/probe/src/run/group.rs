//! What the run's cgroup has counted.

use crate::cgroup::GroupPaths;
use crate::counter::{Counter, Tick};
use crate::node::{DeviceNumber, Node, Stalled};
use crate::scan::{lines, number, value_of, words};
use crate::source::{Buffer, Source};
use paceline_model::{Measure, Readings};

/// The files of a group. Each may be absent: a group holds what its hierarchy
/// offers.
///
/// Bytes of disks come from v2 alone. The v1 `blkio` controller charges
/// buffered writes to the root group, whoever wrote them
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst), so that
/// `/proc/<pid>/io` is the better witness there.
#[derive(Debug)]
pub(crate) struct GroupUsage {
    cpu: Cpu,
    memory: Source,
    memory_peak: Source,
    io: Source,
    io_read: Counter,
    io_written: Counter,
    throttle: Source,
    throttled_ns: Counter,
    pressure: [Stalled; 3],
    from_zero: bool,
}

#[derive(Debug)]
enum Cpu {
    /// `cpu.stat` of v2, in microseconds, which exists in every group, even
    /// where no controller is enabled.
    Unified {
        stat: Source,
        user: Counter,
        system: Counter,
    },
    /// `cpuacct` of v1: the sum in nanoseconds, and its two parts in clock
    /// ticks.
    Accounting {
        usage: Source,
        stat: Source,
        total: Counter,
        parts: [Counter; 2],
    },
    Absent,
}

impl GroupUsage {
    /// `from_zero`: everything the group has ever counted is the run's.
    pub(crate) fn open(paths: &GroupPaths, from_zero: bool) -> Self {
        let file = |directory: &Option<std::path::PathBuf>, name: &str| match directory {
            Some(directory) => Source::open(directory.join(name)),
            None => Source::absent(),
        };
        let cpu = if paths.unified.is_some() {
            Cpu::Unified {
                stat: file(&paths.unified, "cpu.stat"),
                user: Counter::default(),
                system: Counter::default(),
            }
        } else if paths.cpuacct.is_some() {
            Cpu::Accounting {
                usage: file(&paths.cpuacct, "cpuacct.usage"),
                stat: file(&paths.cpuacct, "cpuacct.stat"),
                total: Counter::default(),
                parts: Default::default(),
            }
        } else {
            Cpu::Absent
        };
        let (memory, memory_peak) = if paths.memory.is_some() {
            (
                file(&paths.memory, "memory.usage_in_bytes"),
                file(&paths.memory, "memory.max_usage_in_bytes"),
            )
        } else {
            (
                file(&paths.unified, "memory.current"),
                file(&paths.unified, "memory.peak"),
            )
        };
        let stalled = |name, measure| Stalled::new(file(&paths.unified, name), measure, None);
        Self {
            cpu,
            memory,
            memory_peak,
            io: file(&paths.unified, "io.stat"),
            io_read: Counter::default(),
            io_written: Counter::default(),
            throttle: file(&paths.throttle, "cpu.stat"),
            throttled_ns: Counter::default(),
            pressure: [
                stalled("cpu.pressure", Measure::RunPsiCpuSome),
                stalled("memory.pressure", Measure::RunPsiMemorySome),
                stalled("io.pressure", Measure::RunPsiIoSome),
            ],
            from_zero,
        }
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        node: &Node,
        buffer: &mut Buffer,
        readings: &mut Readings,
    ) {
        let at_zero = tick.is_baseline() && self.from_zero;
        let begin = |now: u64| if at_zero { 0 } else { now };
        self.cpu.read(begin, tick, buffer, readings);
        if let Some(bytes) = self.memory.read(buffer).and_then(number) {
            readings.set(Measure::RunMemCgroup, bytes as f64);
        }
        if let Some(bytes) = self.memory_peak.read(buffer).and_then(number) {
            readings.set(Measure::RunMemPeak, bytes as f64);
        }
        if let Some(text) = self.io.read(buffer) {
            let (read, written) = disk_bytes(text, |device| node.counts_disk(device));
            if let Some(bytes) = self.io_read.amount(begin(read), tick) {
                readings.set(Measure::RunDiskRead, bytes as f64);
            }
            if let Some(bytes) = self.io_written.amount(begin(written), tick) {
                readings.set(Measure::RunDiskWrite, bytes as f64);
            }
        }
        if let Some(text) = self.throttle.read(buffer) {
            let nanos = value_of(text, b"throttled_time")
                .or_else(|| value_of(text, b"throttled_usec").map(|micros| micros * 1000));
            // The limit may be one of an enclosing group, whose count began
            // long before the run.
            if let Some(nanos) = nanos
                && let Some(amount) = self.throttled_ns.amount(nanos, tick)
            {
                readings.set(Measure::RunCpuThrottled, amount as f64 / 1e9);
            }
        }
        for resource in &mut self.pressure {
            resource.read(tick, buffer, readings);
        }
    }
}

impl Cpu {
    fn read(
        &mut self,
        begin: impl Fn(u64) -> u64,
        tick: &mut Tick,
        buffer: &mut Buffer,
        readings: &mut Readings,
    ) {
        let (user, system) = match self {
            Self::Absent => return,
            Self::Unified { stat, user, system } => {
                let Some(text) = stat.read(buffer) else {
                    return;
                };
                let mut seconds = |counter: &mut Counter, key| {
                    let micros = counter.amount(begin(value_of(text, key)?), tick)?;
                    Some(micros as f64 / 1e6)
                };
                (seconds(user, b"user_usec"), seconds(system, b"system_usec"))
            }
            Self::Accounting {
                usage,
                stat,
                total,
                parts,
            } => {
                let now = usage.read(buffer).and_then(number);
                let nanos = now.and_then(|now| total.amount(begin(now), tick));
                let Some(text) = stat.read(buffer) else {
                    return;
                };
                let [user, system] = [(0, &b"user"[..]), (1, b"system")].map(|(part, key)| {
                    let ticks = value_of(text, key)?;
                    Some((ticks, parts[part].amount(begin(ticks), tick)?))
                });
                split(nanos, user, system)
            }
        };
        if let Some(user) = user {
            readings.set(Measure::RunCpuUser, user);
        }
        if let Some(system) = system {
            readings.set(Measure::RunCpuSystem, system);
        }
    }
}

/// Divides an exact sum in the proportion of its two parts, which are only
/// known in ticks: of this interval or, where it is shorter than a tick, of
/// the whole run so far. Each part is `(so far, within the interval)`.
fn split(
    nanos: Option<u64>,
    user: Option<(u64, u64)>,
    system: Option<(u64, u64)>,
) -> (Option<f64>, Option<f64>) {
    let (Some(nanos), Some(user), Some(system)) = (nanos, user, system) else {
        return (None, None);
    };
    let share = |user: u64, system: u64| match user + system {
        0 => None,
        sum => Some(user as f64 / sum as f64),
    };
    let share = share(user.1, system.1)
        .or_else(|| share(user.0, system.0))
        .unwrap_or(1.0);
    let seconds = nanos as f64 / 1e9;
    (Some(seconds * share), Some(seconds * (1.0 - share)))
}

/// Adds up `8:0 rbytes=1 wbytes=2 …` over the devices that count.
fn disk_bytes(text: &[u8], counts: impl Fn(DeviceNumber) -> bool) -> (u64, u64) {
    let (mut read, mut written) = (0, 0);
    for line in lines(text) {
        let mut fields = words(line);
        let device = fields.next().and_then(|word| {
            let colon = word.iter().position(|&b| b == b':')?;
            Some(DeviceNumber {
                major: number(&word[..colon])?,
                minor: number(&word[colon + 1..])?,
            })
        });
        if !device.is_some_and(&counts) {
            continue;
        }
        for field in fields {
            if let Some(bytes) = field.strip_prefix(b"rbytes=") {
                read += number(bytes).unwrap_or(0);
            } else if let Some(bytes) = field.strip_prefix(b"wbytes=") {
                written += number(bytes).unwrap_or(0);
            }
        }
    }
    (read, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_split_by_ticks_and_stays_exact() {
        let (user, system) = split(Some(1_000_000_000), Some((500, 75)), Some((500, 25)));
        assert_eq!((user, system), (Some(0.75), Some(0.25)));
        let (user, system) = split(Some(1_000_000), Some((90, 0)), Some((10, 0)));
        assert!((user.unwrap() - 0.0009).abs() < 1e-12);
        assert!((system.unwrap() - 0.0001).abs() < 1e-12);
        assert_eq!(split(None, Some((1, 1)), Some((1, 1))), (None, None));
    }

    #[test]
    fn bytes_of_stacked_devices_are_not_added_again() {
        let text = b"254:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n\
            252:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n";
        assert_eq!(disk_bytes(text, |device| device.major == 254), (100, 200));
    }
}
