//! `/proc/diskstats`: bytes, requests and busy time of each disk.

use crate::counter::{Counter, Tick};
use crate::parts::Parts;
use crate::roots::Roots;
use crate::scan::{lines, number, numbers, words};
use crate::source::{Buffer, Source};
use paceline_model::{GapReason, Measure, PartKind, PartMeasure, Readings};
use std::path::PathBuf;

/// The unit of the sector columns, whatever the device's own sector is
/// (Documentation/admin-guide/iostats.rst).
const SECTOR_BYTES: u64 = 512;

/// The major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceNumber {
    pub(crate) major: u64,
    pub(crate) minor: u64,
}

/// Disks that do work of their own.
///
/// A partition's requests are those of its disk. A device-mapper or RAID
/// device passes its requests on to other disks, a loop device to the disk
/// that holds its file. Counting any of them would count bytes twice. RAM
/// disks, zram included, are memory.
#[derive(Debug)]
pub(crate) struct Disks {
    stats: Source,
    blocks: PathBuf,
    devices: Vec<Device>,
}

#[derive(Debug)]
struct Device {
    number: DeviceNumber,
    name: String,
    counted: bool,
    seen: u64,
    reads: Counter,
    read_sectors: Counter,
    writes: Counter,
    written_sectors: Counter,
    busy_ms: Counter,
}

#[derive(Debug, Default)]
struct Total {
    devices: u32,
    in_flight: u64,
    amounts: u32,
    read: u64,
    written: u64,
    reads: u64,
    writes: u64,
    busy_ms: u64,
}

impl Disks {
    pub(crate) fn open(roots: &Roots) -> Self {
        Self {
            stats: Source::open(roots.proc.join("diskstats")),
            blocks: roots.sys.join("block"),
            devices: Vec::new(),
        }
    }

    pub(crate) fn counts(&self, number: DeviceNumber) -> bool {
        self.devices.iter().any(|d| d.number == number && d.counted)
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        buffer: &mut Buffer,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
    ) {
        let Some(text) = self.stats.read(buffer) else {
            return;
        };
        let mut total = Total::default();
        let mut next = 0;
        for line in lines(text) {
            let mut fields = words(line);
            let (Some(major), Some(minor), Some(name)) = (
                fields.next().and_then(number),
                fields.next().and_then(number),
                fields.next(),
            ) else {
                continue;
            };
            let number = DeviceNumber { major, minor };
            let known = |device: &Device| device.number == number && device.name.as_bytes() == name;
            let index = match self.devices.get(next) {
                Some(device) if known(device) => next,
                _ => match self.devices.iter().position(known) {
                    Some(index) => index,
                    None => {
                        let device = Device::meet(number, name, &self.blocks, text);
                        if device.counted && !tick.is_baseline() {
                            tick.note(GapReason::DeviceChanged);
                        }
                        self.devices.push(device);
                        self.devices.len() - 1
                    }
                },
            };
            next = index + 1;
            let device = &mut self.devices[index];
            device.seen = tick.number;
            if device.counted
                && let Some(values) = numbers(&mut fields)
            {
                device.read(values, tick, &mut total, parts);
            }
        }
        let this = tick.number;
        for gone in self.devices.extract_if(.., |d| d.seen != this) {
            if gone.counted {
                tick.note(GapReason::DeviceChanged);
            }
        }
        total.report(readings);
    }
}

impl Device {
    fn meet(number: DeviceNumber, name: &[u8], blocks: &std::path::Path, stats: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).into_owned();
        Self {
            counted: works_itself(&name, blocks, stats),
            number,
            name,
            seen: 0,
            reads: Counter::default(),
            read_sectors: Counter::default(),
            writes: Counter::default(),
            written_sectors: Counter::default(),
            busy_ms: Counter::default(),
        }
    }

    fn read(
        &mut self,
        values: [u64; 10],
        tick: &mut Tick,
        total: &mut Total,
        parts: &mut Parts<'_>,
    ) {
        let [reads, _, read, _, writes, _, written, _, in_flight, busy] = values;
        // Busy time is kept in 32 bits of milliseconds: it wraps every 50 days.
        let most_busy = tick.interval.0 / 1000 * 2 + 1000;
        let part = parts.push(PartKind::Disk, &self.name);
        part.set(PartMeasure::DiskInFlight, in_flight as f64);
        total.devices += 1;
        total.in_flight += in_flight;
        let amounts = (
            self.reads.amount(reads, tick),
            self.read_sectors.amount(read, tick),
            self.writes.amount(writes, tick),
            self.written_sectors.amount(written, tick),
            self.busy_ms.amount_u32(busy, most_busy, tick),
        );
        // One counter that went back means that the whole device was reset.
        let (Some(reads), Some(read), Some(writes), Some(written), Some(busy)) = amounts else {
            return;
        };
        part.set(PartMeasure::DiskReads, reads as f64);
        part.set(PartMeasure::DiskRead, (read * SECTOR_BYTES) as f64);
        part.set(PartMeasure::DiskWrites, writes as f64);
        part.set(PartMeasure::DiskWrite, (written * SECTOR_BYTES) as f64);
        part.set(PartMeasure::DiskBusy, busy as f64 / 1e3);
        total.amounts += 1;
        total.reads += reads;
        total.read += read * SECTOR_BYTES;
        total.writes += writes;
        total.written += written * SECTOR_BYTES;
        total.busy_ms = total.busy_ms.max(busy);
    }
}

impl Total {
    fn report(&self, readings: &mut Readings) {
        if self.devices > 0 {
            readings.set(Measure::NodeDiskInFlight, self.in_flight as f64);
        }
        if self.amounts > 0 {
            readings.set(Measure::NodeDiskRead, self.read as f64);
            readings.set(Measure::NodeDiskWrite, self.written as f64);
            readings.set(Measure::NodeDiskReads, self.reads as f64);
            readings.set(Measure::NodeDiskWrites, self.writes as f64);
            readings.set(Measure::NodeDiskBusy, self.busy_ms as f64 / 1e3);
        }
    }
}

fn works_itself(name: &str, blocks: &std::path::Path, stats: &[u8]) -> bool {
    if ["loop", "ram", "zram", "dm-", "md"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        return false;
    }
    // sysfs writes `!` for the slash in names such as `cciss/c0d0`.
    let block = blocks.join(name.replace('/', "!"));
    if blocks.is_dir() {
        let stacked =
            std::fs::read_dir(block.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
        return block.exists() && !stacked;
    }
    !is_partition_by_name(name, stats)
}

/// Without sysfs: `sda1` and `nvme0n1p2` are partitions of the `sda` and
/// `nvme0n1` that are listed, too.
fn is_partition_by_name(name: &str, stats: &[u8]) -> bool {
    lines(stats)
        .filter_map(|line| words(line).nth(2))
        .any(|disk| {
            let Some(rest) = name.as_bytes().strip_prefix(disk) else {
                return false;
            };
            let digits = match disk.last() {
                Some(b) if b.is_ascii_digit() => rest.strip_prefix(b"p").unwrap_or(b""),
                _ => rest,
            };
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_from_disks_without_sysfs() {
        let stats =
            b" 8 0 sda 0\n 8 1 sda1 0\n 259 0 nvme0n1 0\n 259 1 nvme0n1p1 0\n 254 16 sdaa 0\n";
        let partition = |name| is_partition_by_name(name, stats);
        assert!(partition("sda1") && partition("nvme0n1p1"));
        assert!(!partition("sda") && !partition("nvme0n1") && !partition("sdaa"));
    }
}
