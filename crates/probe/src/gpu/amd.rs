//! AMD's GPUs, from the files of the `amdgpu` driver.

use super::card::{Card, Driver, OnCard};
use crate::roots::Roots;
use crate::scan::{number, value_of};
use crate::source::{Buffer, Source};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the kernel tells of each GPU.
pub(crate) struct Amd {
    cards: Vec<Known>,
    /// Where the compute driver lists its processes.
    processes: PathBuf,
    buffer: Buffer,
}

struct Known {
    name: String,
    busy: Source,
    mem_used: Source,
    mem_total: Source,
    power: Source,
    temperature: Source,
    metrics: Source,
    /// Its number at the compute driver, which names the files of its processes.
    compute_id: Option<u64>,
    /// What was read at least once, in the order of `read`.
    had: [bool; 5],
}

impl Amd {
    /// The GPUs of this machine; nothing if there is none.
    pub(crate) fn open(roots: &Roots) -> Option<Self> {
        let drm = roots.sys.join("class/drm");
        let mut cards: Vec<(u64, PathBuf)> = fs::read_dir(&drm)
            .ok()?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                // `card0` is a GPU, `card0-DP-1` a socket of it.
                let index = name.to_str()?.strip_prefix("card")?.parse().ok()?;
                Some((index, drm.join(name).join("device")))
            })
            .filter(|(_, device)| device.join("gpu_busy_percent").exists())
            .collect();
        cards.sort();
        let compute = compute_ids(roots);
        let cards: Vec<Known> = cards
            .into_iter()
            .map(|(index, device)| Known::open(index, &device, &compute))
            .collect();
        (!cards.is_empty()).then(|| Self {
            cards,
            processes: roots.sys.join("class/kfd/kfd/proc"),
            buffer: Buffer::new(),
        })
    }

    /// The GPUs' names.
    pub(crate) fn describe(&self) -> String {
        let names: Vec<&str> = self.cards.iter().map(|card| &*card.name).collect();
        format!("{} (amdgpu)", names.join(", "))
    }
}

impl Known {
    fn open(index: u64, device: &Path, compute: &[(PathBuf, u64)]) -> Self {
        let file = |name: &str| Source::open(device.join(name));
        let sensors = sensors(device);
        let sensor = |names: &[&str]| {
            let found = names
                .iter()
                .map(|name| sensors.join(name))
                .find(|p| p.exists());
            found.map_or_else(Source::absent, Source::open)
        };
        let product = fs::read_to_string(device.join("product_name")).unwrap_or_default();
        let product = match product.trim() {
            "" => "AMD GPU",
            product => product,
        };
        let real = fs::canonicalize(device).ok();
        let compute_id = compute
            .iter()
            .find(|(path, _)| Some(path) == real.as_ref())
            .map(|&(_, id)| id);
        Self {
            name: format!("card{index} {product}"),
            busy: file("gpu_busy_percent"),
            mem_used: file("mem_info_vram_used"),
            mem_total: file("mem_info_vram_total"),
            power: sensor(&["power1_average", "power1_input"]),
            // The junction, where there is one, is what the chip is limited by.
            temperature: sensor(&["temp2_input", "temp1_input"]),
            metrics: file("gpu_metrics"),
            compute_id,
            had: [false; 5],
        }
    }

    fn read(&mut self, buffer: &mut Buffer) -> Card {
        let mut value = |source: &mut Source| source.read(buffer).and_then(number);
        let busy = value(&mut self.busy);
        let values = [
            busy,
            value(&mut self.mem_used),
            value(&mut self.mem_total),
            value(&mut self.power),
            value(&mut self.temperature),
        ];
        let mut card = Card {
            name: self.name.clone(),
            busy: values[0].map(|percent| percent.min(100) as f64 / 100.0),
            mem_used: values[1],
            mem_total: values[2],
            power_w: values[3].map(|microwatts| microwatts as f64 / 1e6),
            temperature: values[4].map(|thousandths| thousandths as f64 / 1e3),
            energy_uj: self.metrics.read(buffer).and_then(energy_uj),
            ..Card::default()
        };
        for (had, value) in self.had.iter_mut().zip(values) {
            card.lost |= *had && value.is_none();
            *had |= value.is_some();
        }
        card
    }
}

impl Driver for Amd {
    fn read(&mut self, cards: &mut Vec<Card>) {
        let first = cards.len();
        for known in &mut self.cards {
            cards.push(known.read(&mut self.buffer));
        }
        // Without the compute driver nobody tells the processes.
        let Ok(listed) = fs::read_dir(&self.processes) else {
            return;
        };
        let pids: Vec<i32> = listed
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        for (known, card) in self.cards.iter().zip(&mut cards[first..]) {
            let Some(id) = known.compute_id else { continue };
            let on_card = pids.iter().filter_map(|&pid| {
                let file = self.processes.join(format!("{pid}/vram_{id}"));
                let bytes = self.buffer.read_once(&file).ok().and_then(number)?;
                // The compute driver opens every GPU for every process.
                (bytes > 0).then_some(OnCard {
                    pid,
                    mem: Some(bytes),
                    busy: None,
                })
            });
            card.processes = Some(on_card.collect());
        }
    }

    fn look(&mut self, _since_last: Duration) {}
}

/// The directory of the device's sensors, of which there is one.
fn sensors(device: &Path) -> PathBuf {
    let parent = device.join("hwmon");
    let first = fs::read_dir(&parent)
        .ok()
        .and_then(|mut list| list.next()?.ok());
    first.map_or(parent, |entry| entry.path())
}

/// The compute driver's numbers of GPUs, by their devices.
fn compute_ids(roots: &Roots) -> Vec<(PathBuf, u64)> {
    let nodes = roots.sys.join("class/kfd/kfd/topology/nodes");
    let Ok(list) = fs::read_dir(nodes) else {
        return Vec::new();
    };
    let ids = list.filter_map(|entry| {
        let node = entry.ok()?.path();
        let id = number(&fs::read(node.join("gpu_id")).ok()?)?;
        let properties = fs::read(node.join("properties")).ok()?;
        let minor = value_of(&properties, b"drm_render_minor")?;
        let device = roots.sys.join(format!("class/drm/renderD{minor}/device"));
        // A processor is a node as well, with the number 0.
        (id != 0).then_some((fs::canonicalize(device).ok()?, id))
    });
    ids.collect()
}

/// The energy counter of the driver's binary table `gpu_metrics`, whose layout is
/// that of `struct gpu_metrics_v1_…` in the kernel's `kgd_pp_interface.h`: size,
/// format and content revision come first. It counts 2⁻¹⁶ J.
fn energy_uj(table: &[u8]) -> Option<u64> {
    let (&format, &content) = (table.get(2)?, table.get(3)?);
    let at = match (format, content) {
        (1, 1..=4) => 24,
        (1, 5) => 88,
        _ => return None,
    };
    let bytes = table.get(at..at + 8)?;
    let counts = u64::from_le_bytes(bytes.try_into().ok()?);
    // All ones: this chip does not count.
    (counts != u64::MAX).then(|| (u128::from(counts) * 1_000_000 / 65_536) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_read_where_each_layout_has_it_and_nowhere_else() {
        let table = |content: u8, at: usize, counts: u64| {
            let mut bytes = vec![0; 120];
            bytes[2..4].copy_from_slice(&[1, content]);
            bytes[at..at + 8].copy_from_slice(&counts.to_le_bytes());
            bytes
        };
        assert_eq!(energy_uj(&table(3, 24, 65_536)), Some(1_000_000));
        assert_eq!(energy_uj(&table(5, 88, 131_072)), Some(2_000_000));
        assert_eq!(energy_uj(&table(3, 24, u64::MAX)), None);
        assert_eq!(energy_uj(&table(9, 24, 65_536)), None);
        assert_eq!(energy_uj(&table(3, 24, 1)[..30]), None);
        assert_eq!(energy_uj(b""), None);
    }
}
