//! The whole machine.

mod cpu;
mod disk;
mod energy;
mod frequency;
mod memory;
mod network;
mod pressure;

use crate::counter::Tick;
use crate::parts::Parts;
use crate::roots::Roots;
use crate::source::Buffer;
use paceline_model::Readings;

pub(crate) use disk::DeviceNumber;
pub(crate) use energy::{zone_name, zones};
pub(crate) use pressure::Stalled;

/// Everything a sample says about the node.
#[derive(Debug)]
pub(crate) struct Node {
    cpu: cpu::Cpu,
    memory: memory::Memory,
    disk: disk::Disks,
    network: network::Network,
    pressure: pressure::Pressure,
    frequency: frequency::Frequency,
    energy: energy::Energy,
}

impl Node {
    pub(crate) fn open(roots: &Roots) -> Self {
        Self {
            cpu: cpu::Cpu::open(roots),
            memory: memory::Memory::open(roots),
            disk: disk::Disks::open(roots),
            network: network::Network::open(roots),
            pressure: pressure::Pressure::open(roots),
            frequency: frequency::Frequency::open(roots),
            energy: energy::Energy::open(roots),
        }
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        buffer: &mut Buffer,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
    ) {
        self.cpu.read(tick, buffer, readings, parts);
        self.memory.read(tick, buffer, readings);
        self.disk.read(tick, buffer, readings, parts);
        self.network.read(tick, buffer, readings, parts);
        self.pressure.read(tick, buffer, readings);
        self.frequency.read(tick, buffer, readings);
        self.energy.read(tick, buffer, readings);
    }

    /// How many processes and threads the machine has started since it booted,
    /// as of the last reading.
    pub(crate) fn forks(&self) -> Option<u64> {
        self.cpu.forks()
    }

    /// True if the device is one whose bytes count as the node's.
    pub(crate) fn counts_disk(&self, device: DeviceNumber) -> bool {
        self.disk.counts(device)
    }
}
