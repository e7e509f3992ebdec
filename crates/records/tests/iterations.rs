//! The iterations that workers write down themselves.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Iteration, Micros, Outcome, WorkerId};
use paceline_records::{End, IterationLog, Run, RunWriter, State, export_csv};
use specimen::start;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// An iteration of three microseconds and one nanosecond.
fn iteration(clock: u64) -> Iteration {
    Iteration {
        clock,
        iterations: 1,
        began: Duration::from_nanos(5_000_000_000 + 3_001 * clock),
        waiting: Duration::from_nanos(1_001 + clock % 7),
        waited_for: clock.is_multiple_of(3).then_some(WorkerId(1)),
        receiving: Duration::from_nanos(500),
        computing: Duration::from_nanos(1_000 - clock % 7),
        sending: Duration::from_nanos(200),
        serialising: Duration::from_nanos(100),
        on_wire: Duration::from_nanos(150),
        queued: Duration::from_nanos(50),
        rows: 100,
        sent_bytes: 31_400,
        received_bytes: 31_380,
        staleness: clock % 4,
        dropped: u64::from(clock.is_multiple_of(11)),
        on_cpu: Duration::from_nanos(clock % 17),
        runnable: Duration::from_nanos(clock % 19),
    }
}

fn write(dir: &Path, worker: u32, clocks: std::ops::Range<u64>) {
    let mut log = IterationLog::create(dir, WorkerId(worker)).unwrap();
    for clock in clocks {
        log.append(&iteration(clock));
    }
    log.close().unwrap();
}

fn read(dir: &Path) -> Vec<(WorkerId, Iteration)> {
    let mut rows = Vec::new();
    let run = Run::open(dir).unwrap();
    run.each_iteration(|worker, row| rows.push((worker, row)))
        .unwrap();
    rows
}

#[test]
fn iterations_of_every_life_are_read_as_they_were_written_in_every_state() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let writer = RunWriter::create(&dir, start()).unwrap();
    // More lives than one digit counts, and more rows than a row group holds.
    write(&dir, 1, 0..5_000);
    for life in 0..11 {
        write(&dir, 0, 10 * life..10 * life + 10);
    }
    let expected: Vec<(WorkerId, Iteration)> = (0..110)
        .map(|clock| (WorkerId(0), iteration(clock)))
        .chain((0..5_000).map(|clock| (WorkerId(1), iteration(clock))))
        .collect();
    assert!(read(&dir) == expected, "while it lives");
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    assert_eq!(Run::open(&dir).unwrap().state(), State::Finished);
    assert!(!dir.join("live").exists());
    assert!(read(&dir) == expected, "when it has ended");

    let csv = parent.path().join("csv");
    let files = export_csv(&Run::open(&dir).unwrap(), &csv).unwrap();
    assert!(files.contains(&csv.join("iterations.csv")));
    let text = fs::read_to_string(csv.join("iterations.csv")).unwrap();
    assert_eq!(text.lines().count(), 1 + expected.len());
    assert!(
        text.lines().nth(1).unwrap().contains("0.000001001"),
        "{}",
        &text[..400]
    );
}

#[test]
fn a_worker_that_dies_within_a_write_costs_its_last_block_and_a_notice() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let writer = RunWriter::create(&dir, start()).unwrap();
    write(&dir, 0, 0..600);
    let log = dir.join("live/iterations-worker0.0.wal");
    let length = fs::metadata(&log).unwrap().len();
    File::options()
        .write(true)
        .open(&log)
        .unwrap()
        .set_len(length - 5)
        .unwrap();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    let rows = read(&dir);
    assert!(rows.len() >= 300 && rows.len() < 600, "{}", rows.len());
    let run = Run::open(&dir).unwrap();
    let notices = &run.manifest().end.as_ref().unwrap().notices;
    assert!(notices[0].text.contains("iterations-worker0.0.wal"));
}

#[test]
fn a_run_without_a_training_has_no_iterations() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let writer = RunWriter::create(&dir, start()).unwrap();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    assert!(read(&dir).is_empty());
    assert!(!dir.join("iterations.parquet").exists());
}

#[test]
fn a_long_log_has_few_rows_and_the_sums_of_all() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let _writer = RunWriter::create(&dir, start()).unwrap();
    let (in_full, more) = (1 << 20, 1_001);
    write(&dir, 0, 0..in_full + more);
    let rows = read(&dir);
    assert_eq!(rows.len() as u64, in_full + more.div_ceil(2));
    let sum = |of: fn(&Iteration) -> u64| rows.iter().map(|(_, row)| of(row)).sum::<u64>();
    let all = |of: fn(&Iteration) -> u64| {
        (0..in_full + more)
            .map(iteration)
            .map(|row| of(&row))
            .sum::<u64>()
    };
    for of in [
        |row: &Iteration| row.iterations,
        |row: &Iteration| row.waiting.as_nanos() as u64,
        |row: &Iteration| row.computing.as_nanos() as u64,
        |row: &Iteration| row.on_wire.as_nanos() as u64,
        |row: &Iteration| row.queued.as_nanos() as u64,
        |row: &Iteration| row.runnable.as_nanos() as u64,
        |row: &Iteration| row.sent_bytes,
        |row: &Iteration| row.staleness,
        |row: &Iteration| row.dropped,
    ] {
        assert_eq!(sum(of), all(of));
    }
    // A row for two begins with the first of them and ends with the second.
    let (_, row) = rows[in_full as usize];
    assert_eq!((row.clock, row.iterations), (in_full, 2));
    assert_eq!(row.ended(), iteration(in_full + 1).ended());
}
