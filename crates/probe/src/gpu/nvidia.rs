//! NVIDIA's GPUs.

use super::card::{Card, Driver, OnCard};
use super::nvml::{Device, Failed, Field, Nvml, OpenError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the library tells of each GPU.
pub(crate) struct Nvidia {
    nvml: Nvml,
    devices: Vec<Known>,
}

struct Known {
    device: Device,
    name: String,
    /// The newest entry of the driver's list of shares that was seen.
    seen: u64,
    pcie: Pcie,
}

/// Where bytes over PCIe come from.
enum Pcie {
    /// The driver counts them.
    Counted,
    /// It does not (before version 565): one glimpse of 20 ms per reading, taken
    /// for the time between two readings. Bytes received and sent so far.
    Glimpsed([u64; 2]),
    Absent,
}

impl Nvidia {
    pub(crate) fn open(library: &Path) -> Result<Self, OpenError> {
        let nvml = Nvml::open(library)?;
        let devices = nvml.devices().map_err(OpenError::Init)?;
        let known = devices.into_iter().enumerate().map(|(index, device)| {
            let model = nvml.name(device).unwrap_or_default();
            let counted = nvml.field(device, Field::PcieReceived).is_ok();
            Known {
                device,
                name: format!("nvidia{index} {model}").trim_end().to_owned(),
                seen: 0,
                pcie: match counted {
                    true => Pcie::Counted,
                    false => Pcie::Glimpsed([0; 2]),
                },
            }
        });
        let devices = known.collect();
        Ok(Self { nvml, devices })
    }

    /// What `doctor` says: the driver's version and the GPUs.
    pub(crate) fn describe(library: PathBuf) -> Result<String, OpenError> {
        let this = Self::open(&library)?;
        let driver = this.nvml.driver_version();
        let driver = driver.unwrap_or_else(|_| "unknown".to_owned());
        let names: Vec<&str> = this.devices.iter().map(|known| &*known.name).collect();
        Ok(match names.is_empty() {
            true => format!("NVIDIA driver {driver}, no GPU"),
            false => format!("{} (NVIDIA driver {driver})", names.join(", ")),
        })
    }
}

impl Driver for Nvidia {
    fn read(&mut self, cards: &mut Vec<Card>) {
        let nvml = &self.nvml;
        cards.extend(self.devices.iter_mut().map(|known| known.read(nvml)));
    }

    fn look(&mut self, since_last: Duration) {
        for known in &mut self.devices {
            known.look(&self.nvml, since_last);
        }
    }
}

impl Known {
    fn read(&mut self, nvml: &Nvml) -> Card {
        let mut card = Card {
            name: self.name.clone(),
            ..Card::default()
        };
        let device = self.device;
        let lost = &mut card.lost;
        // What is not supported is absent; what fails is a gap.
        fn told<T>(result: Result<T, Failed>, lost: &mut bool) -> Option<T> {
            *lost |= matches!(result, Err(Failed::Code(_)));
            result.ok()
        }
        let busy = told(nvml.busy_percent(device), lost);
        card.busy = busy.map(|percent| f64::from(percent.min(100)) / 100.0);
        if let Some((total, used)) = told(nvml.memory(device), lost) {
            card.mem_total = Some(total);
            card.mem_used = Some(used);
        }
        card.power_w = told(nvml.power_mw(device), lost).map(|mw| f64::from(mw) / 1e3);
        card.temperature = told(nvml.temperature(device), lost).map(f64::from);
        card.energy_uj = told(nvml.energy_mj(device), lost).map(|mj| mj.saturating_mul(1000));
        let kib = |result: Result<u64, Failed>| result.ok().map(|kib| kib.saturating_mul(1024));
        card.nvlink_rx = kib(nvml.field(device, Field::NvlinkReceived));
        card.nvlink_tx = kib(nvml.field(device, Field::NvlinkSent));
        match &self.pcie {
            Pcie::Counted => {
                card.pcie_rx = told(nvml.field(device, Field::PcieReceived), lost);
                card.pcie_tx = told(nvml.field(device, Field::PcieSent), lost);
            }
            Pcie::Glimpsed([received, sent]) => {
                card.pcie_rx = Some(*received);
                card.pcie_tx = Some(*sent);
            }
            Pcie::Absent => {}
        }
        card.processes = self.processes(nvml, &mut card.lost);
        card
    }

    fn processes(&mut self, nvml: &Nvml, lost: &mut bool) -> Option<Vec<OnCard>> {
        let listed = match nvml.processes(self.device) {
            Ok(listed) => listed,
            Err(failed) => {
                *lost |= matches!(failed, Failed::Code(code) if code != 4);
                return None;
            }
        };
        let shares = nvml.shares(self.device, self.seen).ok();
        let newest = shares.iter().flatten().map(|share| share.at).max();
        self.seen = newest.unwrap_or(self.seen);
        let share_of = |pid: i32| {
            let of_pid = || shares.iter().flatten().filter(|share| share.pid == pid);
            let count = of_pid().count();
            let sum: u32 = of_pid().map(|share| share.percent.min(100)).sum();
            (count > 0).then(|| f64::from(sum) / 100.0 / count as f64)
        };
        let on_card = listed.into_iter().map(|process| OnCard {
            pid: process.pid,
            mem: process.bytes,
            busy: share_of(process.pid),
        });
        Some(on_card.collect())
    }

    fn look(&mut self, nvml: &Nvml, since_last: Duration) {
        let Pcie::Glimpsed(bytes) = &mut self.pcie else {
            return;
        };
        match nvml.pcie_kb_per_s(self.device) {
            Ok((received, sent)) => {
                for (bytes, kb_per_s) in bytes.iter_mut().zip([received, sent]) {
                    *bytes += (f64::from(kb_per_s) * 1e3 * since_last.as_secs_f64()) as u64;
                }
            }
            Err(_) => self.pcie = Pcie::Absent,
        }
    }
}
