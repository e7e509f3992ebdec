//! Output of any size and form is kept within its limit, and what is missing is stated.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Micros, Outcome, WorkerId};
use paceline_records::{
    End, LogLimit, LogSummary, Run, RunWriter, State, Stream, WriteRecordError,
};
use proptest::prelude::*;
use std::fs;
use std::io::Read;
use std::path::Path;

const LIMIT: LogLimit = LogLimit {
    head_bytes: 10_000,
    tail_bytes: 30_000,
};

fn writer(dir: &Path) -> RunWriter {
    let mut start = specimen::start();
    start.log_limit = LIMIT;
    RunWriter::create(dir, start).unwrap()
}

/// Bytes whose position can be read off them, newlines and non-text included.
fn output(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(4) as u32)
        .flat_map(|i| (i.wrapping_mul(0x9E37_79B9)).to_le_bytes())
        .take(bytes)
        .collect()
}

fn expected(output: &[u8]) -> (LogSummary, Vec<u8>) {
    let (head, tail) = (LIMIT.head_bytes as usize, LIMIT.tail_bytes as usize);
    let dropped = output.len().saturating_sub(head + tail);
    let mut kept = output[..output.len().min(head)].to_vec();
    if dropped > 0 {
        kept.extend(
            format!("\n[paceline: {dropped} bytes of output were not kept here]\n").into_bytes(),
        );
    }
    if output.len() > head {
        kept.extend_from_slice(&output[head + dropped..]);
    }
    let summary = LogSummary {
        worker: WorkerId(3),
        stream: Stream::Err,
        written_bytes: output.len() as u64,
        dropped_bytes: dropped as u64,
    };
    (summary, kept)
}

fn assert_log(dir: &Path, state: State, (summary, kept): &(LogSummary, Vec<u8>)) {
    let run = Run::open(dir).unwrap();
    assert_eq!(run.state(), state);
    let logs = run.logs().unwrap();
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].summary, *summary);
    let mut bytes = Vec::new();
    logs[0].open().unwrap().read_to_end(&mut bytes).unwrap();
    // Not `assert_eq`: nobody reads a hundred kilobytes of difference.
    assert!(
        bytes == *kept,
        "{} bytes instead of {}",
        bytes.len(),
        kept.len()
    );
}

fn check(output: &[u8], chunk: usize) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = writer(&dir);
    let log = writer.log(WorkerId(3), Stream::Err).unwrap();
    for bytes in output.chunks(chunk) {
        log.append(bytes).unwrap();
    }
    let expected = expected(output);
    assert_log(&dir, State::Live, &expected);
    let interrupted = parent.path().join("interrupted");
    copy(&dir, &interrupted);
    let manifest = writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    assert_eq!(manifest.logs, std::slice::from_ref(&expected.0));
    assert_log(&dir, State::Finished, &expected);
    assert!(fs::read(dir.join("log/worker3.err")).unwrap() == expected.1);

    assert_log(&interrupted, State::Interrupted, &expected);
    Run::seal(&interrupted).unwrap();
    assert_log(&interrupted, State::Finished, &expected);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_first_and_the_last_bytes_are_kept(bytes in 0_usize..120_000, chunk in 1_usize..20_000) {
        check(&output(bytes), chunk.max(bytes / 500));
    }
}

#[test]
fn limits_are_exact_to_the_byte() {
    for bytes in [0, 1, 9_999, 10_000, 10_001, 39_999, 40_000, 40_001] {
        check(&output(bytes), 4096);
    }
}

#[test]
fn a_flood_never_takes_more_than_its_limit_on_disk() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = writer(&dir);
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    let bytes = output(7_001);
    for _ in 0..200 {
        log.append(&bytes).unwrap();
        let on_disk: u64 = ["live", "log"]
            .iter()
            .flat_map(|sub| fs::read_dir(dir.join(sub)).unwrap())
            .map(|entry| entry.unwrap())
            .filter(|entry| !entry.file_name().to_str().unwrap().ends_with(".wal"))
            .map(|entry| entry.metadata().unwrap().len())
            .sum();
        let segment = (LIMIT.tail_bytes / 8).max(4096);
        assert!(on_disk <= LIMIT.head_bytes + LIMIT.tail_bytes + 2 * segment);
    }
}

#[test]
fn a_process_that_outlives_its_run_is_told_that_the_record_is_closed() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = writer(&dir);
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    log.append(b"before\n").unwrap();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    let error = log.append(b"after\n").unwrap_err();
    assert!(matches!(error, WriteRecordError::Closed { .. }), "{error}");
    assert_eq!(fs::read(dir.join("log/worker0.out")).unwrap(), b"before\n");
}

#[test]
fn both_callers_of_one_stream_write_to_one_log() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = writer(&dir);
    writer
        .log(WorkerId(0), Stream::Out)
        .unwrap()
        .append(b"a")
        .unwrap();
    writer
        .log(WorkerId(0), Stream::Out)
        .unwrap()
        .append(b"b")
        .unwrap();
    assert_eq!(fs::read(dir.join("log/worker0.out")).unwrap(), b"ab");
}

#[test]
fn a_crash_while_the_record_is_closed_does_not_double_the_log() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = writer(&dir);
    let output = output(50_000);
    writer
        .log(WorkerId(3), Stream::Err)
        .unwrap()
        .append(&output)
        .unwrap();
    writer
        .sample(&specimen::node(), &specimen::full_sample(1))
        .unwrap();
    drop(writer);
    let closed = parent.path().join("closed");
    copy(&dir, &closed);
    let whole = Run::seal(&closed).unwrap();
    // The crash came after the log and the tables, just before the manifest.
    fs::copy(closed.join("log/worker3.err"), dir.join("log/worker3.err")).unwrap();
    fs::copy(closed.join("events.parquet"), dir.join("events.parquet")).unwrap();
    fs::write(dir.join(".manifest.json.tmp"), "{\"format").unwrap();
    assert_log(&dir, State::Interrupted, &expected(&output));
    let sealed = Run::seal(&dir).unwrap();
    assert_eq!(sealed.manifest(), whole.manifest());
    assert_eq!(sealed.samples().unwrap(), whole.samples().unwrap());
    assert_log(&dir, State::Finished, &expected(&output));
    assert!(!dir.join(".manifest.json.tmp").exists());
}
