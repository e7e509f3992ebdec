//! `/proc/meminfo` and `/proc/vmstat`: memory, swap, page faults.

use crate::counter::{Counter, Tick};
use crate::roots::Roots;
use crate::scan::{lines, number, value_of, words};
use crate::source::{Buffer, Source};
use paceline_model::{Measure, Readings};

#[derive(Debug)]
pub(crate) struct Memory {
    meminfo: Source,
    vmstat: Source,
    page_bytes: u64,
    swap_in: Counter,
    swap_out: Counter,
    faults: Counter,
    faults_major: Counter,
}

impl Memory {
    pub(crate) fn open(roots: &Roots) -> Self {
        Self {
            meminfo: Source::open(roots.proc.join("meminfo")),
            vmstat: Source::open(roots.proc.join("vmstat")),
            page_bytes: rustix::param::page_size() as u64,
            swap_in: Counter::default(),
            swap_out: Counter::default(),
            faults: Counter::default(),
            faults_major: Counter::default(),
        }
    }

    pub(crate) fn read(&mut self, tick: &mut Tick, buffer: &mut Buffer, readings: &mut Readings) {
        if let Some(text) = self.meminfo.read(buffer) {
            let bytes = |key| value_of(text, key).map(|kib| (kib * 1024) as f64);
            if let Some(total) = bytes(b"MemTotal") {
                readings.set(Measure::NodeMemTotal, total);
            }
            if let Some(available) = bytes(b"MemAvailable") {
                readings.set(Measure::NodeMemAvailable, available);
            }
            if let (Some(total), Some(free)) = (bytes(b"SwapTotal"), bytes(b"SwapFree")) {
                readings.set(Measure::NodeSwapUsed, (total - free).max(0.0));
            }
        }
        if let Some(text) = self.vmstat.read(buffer) {
            for line in lines(text) {
                let (counter, measure, factor) = match line {
                    [b'p', b'g', b'f', b'a', b'u', b'l', b't', b' ', ..] => {
                        (&mut self.faults, Measure::NodePageFaults, 1)
                    }
                    [b'p', b'g', b'm', b'a', b'j', b'f', b'a', ..] => {
                        (&mut self.faults_major, Measure::NodePageFaultsMajor, 1)
                    }
                    [b'p', b's', b'w', b'p', b'i', b'n', ..] => {
                        (&mut self.swap_in, Measure::NodeSwapIn, self.page_bytes)
                    }
                    [b'p', b's', b'w', b'p', b'o', b'u', b't', ..] => {
                        (&mut self.swap_out, Measure::NodeSwapOut, self.page_bytes)
                    }
                    _ => continue,
                };
                let amount = words(line)
                    .nth(1)
                    .and_then(number)
                    .and_then(|now| counter.amount(now, tick));
                if let Some(amount) = amount {
                    readings.set(measure, (amount * factor) as f64);
                }
            }
        }
    }
}
