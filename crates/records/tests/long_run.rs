//! A run of a day, as fast as it can be written: memory stays flat.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Measure, Micros, Outcome, Sample, WorkerId};
use paceline_records::{End, Run, RunWriter, Stream};
use specimen::{metric, node, start};
use std::fs;

/// A day of samples, one a second.
const SECONDS: u64 = 86_400;

/// Resident memory of this process, in KiB: now, and the most so far.
fn memory() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap()
    };
    (field("VmRSS:"), field("VmHWM:"))
}

#[test]
fn memory_is_flat_over_a_day_of_samples_events_and_output() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    let line = [b'x'; 999];
    let mut early = 0;
    for second in 1..=SECONDS {
        let sample = Sample {
            at: Micros(second * 1_000_000),
            interval: Micros(1_000_000),
            gap: None,
            readings: Measure::ALL[..4]
                .iter()
                .map(|&it| (it, second as f64))
                .collect(),
            parts: Vec::new(),
        };
        writer.sample(&node(), &sample).unwrap();
        writer.event(&metric(second, 0.5)).unwrap();
        log.append(&line).unwrap();
        if second == SECONDS / 10 {
            early = memory().0;
        }
    }
    let (late, _) = memory();
    println!("resident after a tenth {early} KiB, after a day {late} KiB");
    assert!(late < early + 8 * 1024, "{early} KiB became {late} KiB");
    let end = End::new(Outcome::Exited(0), Micros(SECONDS * 1_000_000));
    writer.finish(end).unwrap();
    let (_, most) = memory();
    println!("at most {most} KiB while the record was closed");
    assert!(most < early + 96 * 1024, "{most} KiB to close the record");
    let run = Run::open(&dir).unwrap();
    let samples = run.samples_of(&node()).unwrap();
    assert_eq!(samples.map(Result::unwrap).count() as u64, SECONDS);
}
