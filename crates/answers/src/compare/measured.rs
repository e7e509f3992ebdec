//! What a record says of its run, in numbers that can be compared.

use crate::report::{Content, Recorded};
use indexmap::IndexMap;
use paceline_diagnose::{Node, Tally, Usage, diagnose, unusual};
use paceline_model::{RunValue, Verdict};
use paceline_records::{ReadTableError, WallTime};
use std::collections::BTreeMap;

/// What kind of thing a quantity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// How long the run took.
    Time,
    /// What it used.
    Resource,
    /// How long one of its phases took, as the job named them.
    Phase,
    /// How long something held it back.
    Held,
    /// What it reported last.
    Metric,
}

impl Kind {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Resource => "resource",
            Self::Phase => "phase",
            Self::Held => "held",
            Self::Metric => "metric",
        }
    }
}

/// In what a quantity is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Joules.
    Joules,
    /// Logical CPUs.
    Cpus,
    /// A bare number.
    Number,
}

/// Something that every run has a value of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    /// The name for programs.
    pub key: String,
    /// The name for people.
    pub name: String,
    /// What kind of thing.
    pub kind: Kind,
    /// Its unit.
    pub unit: Unit,
}

/// One run in numbers.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The run's id.
    pub id: String,
    /// When it began.
    pub started: WallTime,
    /// How it ended.
    pub verdict: Verdict,
    /// How it ended, in words.
    pub outcome: String,
    /// The machine of its first node: name and processor.
    pub machine: String,
    /// What else was at work, in words, if anything was.
    pub disturbed: Vec<String>,
    /// The values, by the quantity's key.
    pub values: IndexMap<String, (Quantity, f64)>,
}

impl Measured {
    /// What a record says; its samples and events must be readable.
    ///
    /// # Errors
    /// If they are not.
    pub fn of(record: Recorded) -> Result<Self, ReadTableError> {
        let Recorded { manifest, content } = record;
        let content = content?;
        let start = &manifest.start;
        let machine = start.machines.first();
        let node = Node {
            cpus: machine.map_or(1, |machine| machine.cpus_count as usize),
            memory_max_bytes: start.limits.memory_bytes,
        };
        let end = manifest.end.as_ref();
        let mut values = Values::default();
        if let Some(end) = end {
            values.add(
                "duration_s",
                "time",
                Kind::Time,
                Unit::Seconds,
                end.duration.as_secs(),
            );
        }
        let tally = resources(&content, &mut values);
        stretches(&content, node, &mut values);
        if let Some(end) = end {
            for (name, &value) in &end.responses {
                let key = format!("metric:{name}");
                values.add(&key, name, Kind::Metric, Unit::Number, value);
            }
        }
        Ok(Self {
            id: start.id.to_string(),
            started: start.started,
            verdict: end.map_or(Verdict::Unfinished, |end| end.outcome.verdict()),
            outcome: end.map_or("still running".to_owned(), |end| end.outcome.to_string()),
            machine: machine.map_or(String::new(), |m| {
                format!("{} ({} cpus)", m.node, m.cpus_count)
            }),
            disturbed: unusual(&tally, node)
                .iter()
                .filter(|unusual| unusual.is_disturbance())
                .map(ToString::to_string)
                .collect(),
            values: values.0,
        })
    }
}

#[derive(Default)]
struct Values(IndexMap<String, (Quantity, f64)>);

impl Values {
    fn add(&mut self, key: &str, name: &str, kind: Kind, unit: Unit, value: f64) {
        if !value.is_finite() {
            return;
        }
        let quantity = Quantity {
            key: key.to_owned(),
            name: name.to_owned(),
            kind,
            unit,
        };
        self.0.insert(key.to_owned(), (quantity, value));
    }
}

/// What the run used, as a study's table has it: samples of all nodes added up.
fn resources(content: &Content, values: &mut Values) -> Tally {
    let mut tally = Tally::default();
    for (_, samples) in &content.samples {
        samples.iter().for_each(|sample| tally.add(sample));
    }
    let of = |value| tally.value(value, None);
    let usage = Usage::from(&tally);
    let cpu = of(RunValue::CpuUser).zip(of(RunValue::CpuSystem));
    let net = |value| usage.net_is_own.then(|| of(value)).flatten();
    let rows = [
        (
            "cpu_s",
            "cpu time",
            Unit::Seconds,
            cpu.map(|(user, system)| user + system),
        ),
        (
            "mem_peak_bytes",
            "memory, peak",
            Unit::Bytes,
            of(RunValue::MemPeak),
        ),
        (
            "disk_read_bytes",
            "disk, read",
            Unit::Bytes,
            of(RunValue::DiskRead),
        ),
        (
            "disk_write_bytes",
            "disk, written",
            Unit::Bytes,
            of(RunValue::DiskWrite),
        ),
        (
            "net_rx_bytes",
            "network, received",
            Unit::Bytes,
            net(RunValue::NetRx),
        ),
        (
            "net_tx_bytes",
            "network, sent",
            Unit::Bytes,
            net(RunValue::NetTx),
        ),
        (
            "loopback_bytes",
            "loopback",
            Unit::Bytes,
            usage
                .loopback_bytes_per_s
                .filter(|_| usage.net_is_own)
                .map(|amount| amount.total),
        ),
        ("energy_j", "energy", Unit::Joules, of(RunValue::Energy)),
        (
            "gpu_busy_share",
            "gpu, busy",
            Unit::Number,
            of(RunValue::GpuBusy),
        ),
        (
            "gpu_mem_peak_bytes",
            "gpu memory, peak",
            Unit::Bytes,
            of(RunValue::GpuMem),
        ),
        (
            "others_cpus",
            "cpus of others",
            Unit::Cpus,
            usage.foreign_cpus.map(|amount| amount.mean),
        ),
    ];
    for (key, name, unit, value) in rows {
        if let Some(value) = value {
            values.add(key, name, Kind::Resource, unit, value);
        }
    }
    tally
}

/// How long phases took and what held the run, on its first node.
fn stretches(content: &Content, node: Node, values: &mut Values) {
    let Some((_, samples)) = content.samples.first() else {
        return;
    };
    let found = diagnose(samples, &content.events, node);
    let mut phases: BTreeMap<&str, f64> = BTreeMap::new();
    for phase in found.phases.iter().filter(|phase| phase.named) {
        *phases.entry(&phase.name).or_default() += phase.to.as_secs() - phase.from.as_secs();
    }
    for (name, seconds) in phases {
        let key = format!("phase:{name}");
        values.add(
            &key,
            &format!("phase {name}"),
            Kind::Phase,
            Unit::Seconds,
            seconds,
        );
    }
    for by in paceline_diagnose::Holder::ALL {
        let held = found.held.iter().find(|held| held.by == by);
        let seconds = held.map_or(0.0, |held| held.time.as_secs());
        let key = format!("held:{by}");
        values.add(
            &key,
            &format!("held by {by}"),
            Kind::Held,
            Unit::Seconds,
            seconds,
        );
    }
}
