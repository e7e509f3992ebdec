//! Runs, samples and events to write and read back.

#![allow(dead_code, reason = "each test binary uses its own part")]

use paceline_model::{
    Event, EventKind, GapReason, Level, Measure, Micros, NodeName, PartKind, PartMeasure,
    PartReading, RunId, Sample, Unit, WorkerId,
};
use paceline_records::{GitState, Limits, LogLimit, Machine, Start, WallTime};
use proptest::prelude::*;
use std::path::PathBuf;

pub(crate) fn node() -> NodeName {
    NodeName::from_host("gpu-01")
}

pub(crate) fn start() -> Start {
    Start {
        id: RunId::new("20261115-lenet-01").unwrap(),
        name: Some("first try".to_owned()),
        argv: ["python", "train.py", "--token=abc"]
            .map(str::to_owned)
            .to_vec(),
        cwd: PathBuf::from("/home/ada/lenet"),
        env: [
            ("PATH", "/usr/bin"),
            ("API_KEY", "abc"),
            ("PROXY", "http://ada:pw@proxy:3128"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect(),
        keep_env: Vec::new(),
        git: Some(GitState {
            commit: "5b80cca0".to_owned(),
            dirty: Some(true),
            diff_hash: Some("9f86d081".to_owned()),
        }),
        machines: vec![Machine {
            node: node(),
            os: "Debian GNU/Linux 13".to_owned(),
            kernel: "6.12.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: None,
            cpus_count: 2,
            memory_bytes: Some(24 << 30),
        }],
        started: WallTime(1_763_245_439_000_001),
        sample_interval: Micros(1_000_000),
        limits: Limits {
            cpus: Some(1.5),
            memory_bytes: None,
            timeout: Some(Micros(300_000_000)),
        },
        factors: [
            ("batch_size".to_owned(), Level::Integer(64)),
            ("sync".to_owned(), Level::Word("ssp:3".to_owned())),
            ("learning_rate".to_owned(), Level::Number(1.0)),
            ("augment".to_owned(), Level::Switch(true)),
        ]
        .into_iter()
        .collect(),
        log_limit: LogLimit::default(),
        cluster: None,
    }
}

/// A sample that has a value in every column, each different.
pub(crate) fn full_sample(second: u64) -> Sample {
    let part = |kind, name: &str| PartReading {
        kind,
        name: name.to_owned(),
        readings: PartMeasure::ALL
            .iter()
            .enumerate()
            .map(|(i, &m)| (m, value_of(second, i, m.name()).unwrap()))
            .collect(),
    };
    Sample {
        at: Micros(second * 1_000_000 + 17),
        interval: Micros(1_000_003),
        gap: (second % 5 == 4).then_some(GapReason::Late),
        readings: Measure::ALL
            .iter()
            .enumerate()
            .map(|(i, &m)| (m, value_of(second, i, m.name()).unwrap()))
            .collect(),
        parts: vec![
            part(PartKind::Core, "0"),
            part(PartKind::Disk, "vda"),
            part(PartKind::Interface, "eth0"),
            part(PartKind::Process, "4711 python"),
            part(PartKind::Gpu, "nvidia0 NVIDIA A100"),
        ],
    }
}

/// What [`full_sample`] has in a column of this position and name.
pub(crate) fn value_of(second: u64, column: usize, name: &str) -> Option<f64> {
    let whole = name.ends_with("_bytes") || name.ends_with("_count");
    Some(match whole {
        true => (second * 1000 + column as u64) as f64,
        false => second as f64 + column as f64 / 64.0,
    })
}

pub(crate) fn metric(second: u64, value: f64) -> Event {
    Event {
        at: Micros(second * 1_000_000),
        worker: Some(WorkerId(0)),
        kind: EventKind::Metric,
        step: Some(second),
        name: "loss".to_owned(),
        value: Some(value),
        text: None,
    }
}

/// Any samples of a node: times increase, counts are whole.
pub(crate) fn samples(at_most: usize) -> impl Strategy<Value = Vec<Sample>> {
    prop::collection::vec((1_u64..1 << 40, sample()), 0..=at_most).prop_map(|steps| {
        let mut at = 0;
        steps
            .into_iter()
            .map(|(step, mut sample)| {
                at += step;
                sample.at = Micros(at);
                sample
            })
            .collect()
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let readings = prop::collection::vec((prop::sample::select(Measure::ALL), number()), 0..80);
    let part = (
        prop::sample::select(&PartKind::ALL[..]),
        ".{0,12}",
        prop::collection::vec((prop::sample::select(PartMeasure::ALL), number()), 0..20),
    )
        .prop_map(|(kind, name, readings)| PartReading {
            kind,
            name,
            readings: readings
                .into_iter()
                .map(|(m, x)| (m, fit(m.unit(), x)))
                .collect(),
        });
    (
        0_u64..1 << 50,
        prop::option::of(prop::sample::select(&GapReason::ALL[..])),
        readings,
        prop::collection::vec(part, 0..4),
    )
        .prop_map(|(interval, gap, readings, parts)| Sample {
            at: Micros::ZERO,
            interval: Micros(interval),
            gap,
            readings: readings
                .into_iter()
                .map(|(m, x)| (m, fit(m.unit(), x)))
                .collect(),
            parts,
        })
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        0.0..1e6,
        (0.0..9e15_f64).prop_map(f64::floor),
        prop::num::f64::NORMAL
    ]
}

/// Counts are whole and doubles represent them exactly.
fn fit(unit: Unit, x: f64) -> f64 {
    match unit {
        Unit::Bytes | Unit::Count => x.clamp(-9e15, 9e15).trunc() + 0.0,
        Unit::Seconds
        | Unit::Megahertz
        | Unit::Share
        | Unit::Joules
        | Unit::Watts
        | Unit::Celsius => x,
    }
}

/// Any events, except that NaN, which does not equal itself, is left out.
pub(crate) fn events(at_most: usize) -> impl Strategy<Value = Vec<Event>> {
    let event = (
        0_u64..1 << 50,
        prop::option::of(any::<u32>()),
        prop::sample::select(&EventKind::ALL[..]),
        prop::option::of(any::<u64>()),
        ".{0,20}",
        prop::option::of(any::<f64>().prop_filter("equal to itself", |x| !x.is_nan())),
        prop::option::of("(?s).{0,40}"),
    )
        .prop_map(|(at, worker, kind, step, name, value, text)| Event {
            at: Micros(at),
            worker: worker.map(WorkerId),
            kind,
            step,
            name,
            value,
            text,
        });
    prop::collection::vec(event, 0..=at_most)
}
