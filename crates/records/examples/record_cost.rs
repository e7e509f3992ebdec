//! Measures what recording costs: a sample, a short run, the end of a long one.
//!
//! `record_cost [DIR]` writes below DIR, by default the temporary directory.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example measures and prints, and may fail"
)]

use paceline_model::{
    Measure, Micros, NodeName, Outcome, PartKind, PartMeasure, PartReading, RunId, Sample,
};
use paceline_records::{End, Limits, LogLimit, RunWriter, Start, WallTime};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const RUNS: u32 = 200;
const SAMPLES: u64 = 86_400;
const PARTS: usize = 20;

fn main() {
    let below = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let parent = tempfile::tempdir_in(below).unwrap();
    let node = NodeName::from_host("node");

    let (mut create, mut finish) = (Duration::ZERO, Duration::ZERO);
    for i in 0..RUNS {
        let begin = Instant::now();
        let dir = parent.path().join(i.to_string());
        let mut writer = RunWriter::create(&dir, start()).unwrap();
        create += begin.elapsed();
        writer.sample(&node, &sample(1)).unwrap();
        let begin = Instant::now();
        writer
            .finish(End::new(Outcome::Exited(0), Micros(1)))
            .unwrap();
        finish += begin.elapsed();
    }
    println!(
        "a run of one sample: {:.2?} to begin, {:.2?} to end (mean of {RUNS})",
        create / RUNS,
        finish / RUNS
    );

    let mut writer = RunWriter::create(&parent.path().join("long"), start()).unwrap();
    let samples: Vec<Sample> = (0..100).map(sample).collect();
    let begin = Instant::now();
    for second in 0..SAMPLES {
        let mut sample = samples[second as usize % samples.len()].clone();
        sample.at = Micros((second + 1) * 1_000_000);
        writer.sample(&node, &sample).unwrap();
    }
    println!(
        "a sample with {PARTS} parts: {:.2?} (mean of {SAMPLES}, a clone of it included)",
        begin.elapsed() / SAMPLES as u32
    );
    let before = peak_memory_kb();
    let begin = Instant::now();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    println!(
        "the end of a run of {SAMPLES} samples: {:.2?}, peak memory {} kB before and {} kB after",
        begin.elapsed(),
        before,
        peak_memory_kb()
    );
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn sample(second: u64) -> Sample {
    let part = |i: usize| PartReading {
        kind: PartKind::Process,
        name: format!("{} python", 4711 + i),
        readings: PartMeasure::ALL
            .iter()
            .map(|&m| (m, (second * 31 % 17 + i as u64) as f64))
            .collect(),
    };
    Sample {
        at: Micros((second + 1) * 1_000_000),
        interval: Micros(1_000_000),
        gap: None,
        readings: Measure::ALL
            .iter()
            .enumerate()
            .map(|(i, &m)| (m, (second * 37 % 101 + i as u64) as f64))
            .collect(),
        parts: (0..PARTS).map(part).collect(),
    }
}

fn start() -> Start {
    Start {
        id: RunId::new("cost").unwrap(),
        name: None,
        argv: vec!["true".to_owned()],
        cwd: "/".into(),
        env: Default::default(),
        keep_env: Vec::new(),
        git: None,
        machines: Vec::new(),
        started: WallTime(1_763_245_439_000_000),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: Default::default(),
        log_limit: LogLimit::default(),
        cluster: None,
    }
}
