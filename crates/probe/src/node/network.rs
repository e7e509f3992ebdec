//! `/proc/net/dev` and `/proc/net/snmp`: interfaces and TCP retransmits.

use crate::counter::{Counter, Tick};
use crate::parts::Parts;
use crate::roots::Roots;
use crate::scan::{lines, number, numbers, words};
use crate::source::{Buffer, Source};
use paceline_model::{GapReason, Measure, PartKind, PartMeasure, Readings};
use std::path::{Path, PathBuf};

/// The interfaces of the probe's network namespace.
///
/// A packet for a container passes the network card, a bridge and a virtual
/// pair and is counted by each. The node's totals therefore add up the cards
/// alone, which sysfs tells by their `device`. Where there is no card, as
/// inside a container, they add up every interface that is not built on top
/// of another one.
#[derive(Debug)]
pub(crate) struct Network {
    dev: Source,
    snmp: Source,
    class: PathBuf,
    interfaces: Vec<Interface>,
    retransmits: Counter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Loopback,
    Card,
    /// No card, and not built on one that is listed.
    Endpoint,
    /// A bridge, bond, VLAN, or an interface that only passes packets on.
    Stacked,
}

#[derive(Debug)]
struct Interface {
    name: String,
    role: Role,
    seen: u64,
    rx: [Counter; 4],
    tx: [Counter; 4],
    amounts: Option<Amounts>,
}

/// Bytes, packets, errors, drops within the interval.
#[derive(Debug, Clone, Copy)]
struct Amounts {
    rx: [u64; 4],
    tx: [u64; 4],
}

impl Network {
    pub(crate) fn open(roots: &Roots) -> Self {
        Self {
            dev: Source::open(roots.proc.join("net/dev")),
            snmp: Source::open(roots.proc.join("net/snmp")),
            class: roots.sys.join("class/net"),
            interfaces: Vec::new(),
            retransmits: Counter::default(),
        }
    }

    pub(crate) fn read(
        &mut self,
        tick: &mut Tick,
        buffer: &mut Buffer,
        readings: &mut Readings,
        parts: &mut Parts<'_>,
    ) {
        if let Some(text) = self.dev.read(buffer) {
            self.read_interfaces(text, tick);
            self.report(readings, parts);
        }
        if let Some(text) = self.snmp.read(buffer)
            && let Some(count) = retransmitted(text)
            && let Some(amount) = self.retransmits.amount(count, tick)
        {
            readings.set(Measure::NodeTcpRetransmits, amount as f64);
        }
    }

    fn read_interfaces(&mut self, text: &[u8], tick: &mut Tick) {
        let (mut next, mut changed) = (0, Vec::new());
        for line in lines(text) {
            // The two lines of headings have a bar instead of a colon.
            let Some(colon) = line.iter().rposition(|&b| b == b':') else {
                continue;
            };
            let name = line[..colon].trim_ascii();
            let Some(values) = numbers::<12>(&mut words(&line[colon + 1..])) else {
                continue;
            };
            let known = |interface: &Interface| interface.name.as_bytes() == name;
            let index = match self.interfaces.get(next) {
                Some(interface) if known(interface) => next,
                _ => match self.interfaces.iter().position(known) {
                    Some(index) => index,
                    None => {
                        let interface = Interface::meet(name, &self.class);
                        changed.push(interface.role);
                        self.interfaces.push(interface);
                        self.interfaces.len() - 1
                    }
                },
            };
            next = index + 1;
            self.interfaces[index].read(values, tick);
        }
        let gone = self
            .interfaces
            .extract_if(.., |i| i.seen != tick.number)
            .map(|interface| interface.role);
        changed.extend(gone);
        // Containers that start and stop change nothing about the totals.
        if !tick.is_baseline() && changed.contains(&self.outward()) {
            tick.note(GapReason::DeviceChanged);
        }
    }

    /// The interfaces that the node's totals add up.
    fn outward(&self) -> Role {
        if self.interfaces.iter().any(|i| i.role == Role::Card) {
            Role::Card
        } else {
            Role::Endpoint
        }
    }

    fn report(&self, readings: &mut Readings, parts: &mut Parts<'_>) {
        let outward = self.outward();
        let mut total: Option<Amounts> = None;
        for interface in &self.interfaces {
            let Some(amounts) = interface.amounts else {
                continue;
            };
            if interface.role == Role::Loopback {
                // What is sent over loopback is received there, too.
                let [bytes, ..] = amounts.tx;
                let before = readings.get(Measure::NodeLoopback).unwrap_or(0.0);
                readings.set(Measure::NodeLoopback, before + bytes as f64);
            } else if interface.role == outward {
                let sum = total.get_or_insert(Amounts {
                    rx: [0; 4],
                    tx: [0; 4],
                });
                for field in 0..4 {
                    sum.rx[field] += amounts.rx[field];
                    sum.tx[field] += amounts.tx[field];
                }
            }
            // Hosts of many containers have hundreds of idle virtual pairs.
            let idle = amounts.rx == [0; 4] && amounts.tx == [0; 4];
            if idle && interface.role != outward && interface.role != Role::Loopback {
                continue;
            }
            amounts.report_part(parts.push(PartKind::Interface, &interface.name));
        }
        if let Some(Amounts { rx, tx }) = total {
            readings.set(Measure::NodeNetRx, rx[0] as f64);
            readings.set(Measure::NodeNetTx, tx[0] as f64);
            readings.set(Measure::NodeNetRxPackets, rx[1] as f64);
            readings.set(Measure::NodeNetTxPackets, tx[1] as f64);
            readings.set(Measure::NodeNetErrors, (rx[2] + tx[2]) as f64);
            readings.set(Measure::NodeNetDrops, (rx[3] + tx[3]) as f64);
        }
    }
}

impl Interface {
    fn meet(name: &[u8], class: &Path) -> Self {
        let name = String::from_utf8_lossy(name).into_owned();
        Self {
            role: role(&name, class),
            name,
            seen: 0,
            rx: Default::default(),
            tx: Default::default(),
            amounts: None,
        }
    }

    fn read(&mut self, values: [u64; 12], tick: &mut Tick) {
        self.seen = tick.number;
        let all = |counters: &mut [Counter; 4], values: &[u64], tick: &mut Tick| {
            let mut amounts = [Some(0); 4];
            for field in 0..4 {
                amounts[field] = counters[field].amount(values[field], tick);
            }
            let [Some(a), Some(b), Some(c), Some(d)] = amounts else {
                return None;
            };
            Some([a, b, c, d])
        };
        let rx = all(&mut self.rx, &values[..4], tick);
        let tx = all(&mut self.tx, &values[8..], tick);
        self.amounts = rx.zip(tx).map(|(rx, tx)| Amounts { rx, tx });
    }
}

impl Amounts {
    fn report_part(&self, part: &mut paceline_model::PartReadings) {
        part.set(PartMeasure::NetRx, self.rx[0] as f64);
        part.set(PartMeasure::NetTx, self.tx[0] as f64);
        part.set(PartMeasure::NetRxPackets, self.rx[1] as f64);
        part.set(PartMeasure::NetTxPackets, self.tx[1] as f64);
        part.set(PartMeasure::NetErrors, (self.rx[2] + self.tx[2]) as f64);
        part.set(PartMeasure::NetDrops, (self.rx[3] + self.tx[3]) as f64);
    }
}

fn role(name: &str, class: &Path) -> Role {
    if name == "lo" {
        return Role::Loopback;
    }
    let directory = class.join(name);
    if directory.join("device").exists() {
        return Role::Card;
    }
    let stacked = std::fs::read_dir(&directory).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let entry = entry.file_name();
            let entry = entry.as_encoded_bytes();
            entry.starts_with(b"lower_") || entry == b"bridge" || entry == b"bonding"
        })
    });
    // Intermediate functional blocks mirror the queue of another interface.
    if stacked || name.starts_with("ifb") {
        Role::Stacked
    } else {
        Role::Endpoint
    }
}

/// `RetransSegs` of the two `Tcp:` lines, the first of which has the names.
fn retransmitted(text: &[u8]) -> Option<u64> {
    let mut tcp = lines(text).filter(|line| line.starts_with(b"Tcp:"));
    let column = words(tcp.next()?).position(|word| word == b"RetransSegs")?;
    words(tcp.next()?).nth(column).and_then(number)
}
