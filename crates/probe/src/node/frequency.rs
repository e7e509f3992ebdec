//! Clock rates of the cores, where the kernel has a frequency driver.

use crate::counter::Tick;
use crate::roots::Roots;
use crate::scan::number;
use crate::source::{Buffer, Source};
use paceline_model::{Measure, Micros, Readings};

/// Reading a rate may interrupt the core it asks, so that of many cores only
/// these many, evenly spread, are asked.
const MOST_CORES: usize = 8;

/// And no more often than this: rates follow the load within milliseconds, and
/// a sample can only show a glimpse of them at any interval.
const SHORTEST: Micros = Micros(1_000_000);

/// The mean of `scaling_cur_freq`. Virtual machines mostly have no such file;
/// the constant that `/proc/cpuinfo` then shows is no measurement, so the
/// column is absent there.
#[derive(Debug)]
pub(crate) struct Frequency {
    cores: Vec<Source>,
    waited: Micros,
}

impl Frequency {
    pub(crate) fn open(roots: &Roots) -> Self {
        let cpus = roots.sys.join("devices/system/cpu");
        let mut paths = Vec::new();
        for number in 0usize.. {
            let cpu = cpus.join(format!("cpu{number}"));
            if !cpu.is_dir() {
                break;
            }
            let file = cpu.join("cpufreq/scaling_cur_freq");
            if file.exists() {
                paths.push(file);
            }
        }
        let step = paths.len().div_ceil(MOST_CORES).max(1);
        Self {
            cores: paths.into_iter().step_by(step).map(Source::open).collect(),
            waited: SHORTEST,
        }
    }

    pub(crate) fn read(&mut self, tick: &Tick, buffer: &mut Buffer, readings: &mut Readings) {
        // Half an interval of grace keeps a one-second probe at every tick.
        self.waited = Micros(self.waited.0.saturating_add(tick.interval.0));
        if self.cores.is_empty() || self.waited.0 + tick.interval.0 / 2 < SHORTEST.0 {
            return;
        }
        self.waited = Micros::ZERO;
        let (mut sum_khz, mut count) = (0, 0u32);
        for core in &mut self.cores {
            if let Some(khz) = core.read(buffer).and_then(number) {
                sum_khz += khz;
                count += 1;
            }
        }
        if count > 0 {
            let mhz = sum_khz as f64 / f64::from(count) / 1e3;
            readings.set(Measure::NodeCpuFrequency, mhz);
        }
    }
}
