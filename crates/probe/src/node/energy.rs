//! Energy of processors and memory, where the kernel counts it (RAPL).

use crate::counter::{Counter, Tick};
use crate::roots::Roots;
use crate::scan::number;
use crate::source::{Buffer, Source};
use paceline_model::{Measure, Readings};
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's power zones. A package contains its cores, so that of the parts
/// only the memory is counted beside it; `psys`, which contains everything, and
/// the same packages seen another way (`intel-rapl-mmio`) are not.
#[derive(Debug)]
pub(crate) struct Energy {
    packages: Vec<Zone>,
    memory: Vec<Zone>,
}

#[derive(Debug)]
struct Zone {
    energy: Source,
    /// Where the counter begins again, in microjoules.
    range: u64,
    counter: Counter,
}

impl Energy {
    pub(crate) fn open(roots: &Roots) -> Self {
        let mut energy = Self {
            packages: Vec::new(),
            memory: Vec::new(),
        };
        for zone in zones(roots) {
            let list = match zone_name(&zone).as_str() {
                name if name.starts_with("package") => &mut energy.packages,
                "dram" => &mut energy.memory,
                _ => continue,
            };
            let range = fs::read(zone.join("max_energy_range_uj")).ok();
            list.push(Zone {
                energy: Source::open(zone.join("energy_uj")),
                range: range.as_deref().and_then(number).unwrap_or(u64::MAX),
                counter: Counter::default(),
            });
        }
        energy
    }

    pub(crate) fn read(&mut self, tick: &mut Tick, buffer: &mut Buffer, readings: &mut Readings) {
        for (zones, measure) in [
            (&mut self.packages, Measure::NodeCpuEnergy),
            (&mut self.memory, Measure::NodeDramEnergy),
        ] {
            // A sum that lacks a socket would be a lie; better none.
            let mut sum = (!zones.is_empty()).then_some(0);
            for zone in zones {
                let now = zone.energy.read(buffer).and_then(number);
                let amount = now.and_then(|now| zone.counter.amount_within(now, zone.range, tick));
                sum = sum.zip(amount).map(|(sum, amount)| sum + amount);
            }
            if let Some(microjoules) = sum {
                readings.set(measure, microjoules as f64 / 1e6);
            }
        }
    }
}

/// The directories of all zones, parts included, in the order of their names.
pub(crate) fn zones(roots: &Roots) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(roots.sys.join("class/powercap")) else {
        return Vec::new();
    };
    let mut zones: Vec<PathBuf> = list
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("intel-rapl:"))
        })
        .collect();
    zones.sort();
    zones
}

/// What a zone measures: `package-0`, `dram`.
pub(crate) fn zone_name(zone: &Path) -> String {
    let name = fs::read_to_string(zone.join("name")).unwrap_or_default();
    name.trim().to_owned()
}
