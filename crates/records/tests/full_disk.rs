//! A disk that fills up while a run is recorded.
//!
//! The test starts itself again on a small file system of its own, mounted in a
//! new mount namespace. Where that is not permitted, a limit on the size of
//! files stands in for it: it is reached in the same system calls.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Micros, Outcome, WorkerId};
use paceline_records::{End, Run, RunWriter, State, Stream, WriteRecordError};
use specimen::{full_sample, node, start};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `test` of this program under the script, which finds its directory in `$1`.
#[expect(
    clippy::disallowed_methods,
    reason = "a small disk needs a process of its own"
)]
fn rerun(script: &str, test: &str, dir: &Path) -> Output {
    Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(dir)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("PACELINE_SMALL_DISK", dir)
        .output()
        .unwrap()
}

const ON_TMPFS: &str = r#"dir=$1; shift
exec unshare --mount sh -c 'mount -t tmpfs -o size=512k none "$0" && exec "$@"' "$dir" "$@""#;
/// 200 blocks of 512 bytes (dash) or of 1 KiB (bash).
const WITH_LIMIT: &str = r#"shift; trap '' XFSZ; ulimit -f 200; exec "$@""#;

fn check(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut output = rerun(ON_TMPFS, test, dir.path());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.contains("running 1 test") {
        // No privilege to mount: the shell failed before the test began.
        output = rerun(WITH_LIMIT, test, dir.path());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("1 passed"), "{text}\n{errors}");
}

#[test]
fn a_disk_that_fills_up_stops_the_run_and_loses_nothing_before() {
    check("fill_with_samples");
}

#[test]
fn a_disk_that_fills_up_with_a_log_stops_the_run() {
    check("fill_with_log");
}

#[test]
fn a_disk_that_is_full_at_the_end_leaves_a_record_that_can_be_sealed_later() {
    check("fill_before_the_end");
}

#[test]
fn a_disk_that_is_full_at_the_start_leaves_nothing() {
    check("full_at_the_start");
}

fn small_disk() -> std::path::PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only way to tell the test where its disk is"
    )]
    std::env::var_os("PACELINE_SMALL_DISK").unwrap().into()
}

fn assert_full(error: &WriteRecordError, file: &str) {
    let WriteRecordError::DiskFull { path, .. } = error else {
        panic!("{error:?}");
    };
    assert!(path.ends_with(file), "{}", path.display());
}

#[test]
#[ignore = "run by the test above on its own disk"]
fn fill_with_samples() {
    let dir = small_disk().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    let mut written = Vec::new();
    let error = loop {
        let sample = full_sample(written.len() as u64 + 1);
        match writer.sample(&node(), &sample) {
            Ok(()) => written.push(sample),
            Err(error) => break error,
        }
    };
    assert_full(&error, "live/samples-gpu-01.wal");
    assert!(written.len() > 10);
    // The disk stays full: the record cannot be closed, and is not half closed.
    // Under a limit on the size of files there is room for smaller ones.
    let Err(error) = writer.finish(End::new(Outcome::Exited(0), Micros(1))) else {
        let run = Run::open(&dir).unwrap();
        assert_eq!(run.samples().unwrap(), [(node(), written)]);
        return;
    };
    assert!(
        matches!(error, WriteRecordError::DiskFull { .. }),
        "{error:?}"
    );
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.state(), State::Interrupted);
    assert_eq!(run.manifest().end.as_ref().unwrap().notices, []);
    assert_eq!(run.samples().unwrap(), [(node(), written)]);
    let hidden = fs::read_dir(&dir)
        .unwrap()
        .chain(fs::read_dir(dir.join("samples")).unwrap())
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.as_encoded_bytes().starts_with(b".")
        })
        .count();
    assert_eq!(hidden, 0, "half-written files were left");
}

#[test]
#[ignore = "run by the test above on its own disk"]
fn fill_with_log() {
    let dir = small_disk().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.sample(&node(), &full_sample(1)).unwrap();
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    let error = loop {
        if let Err(error) = log.append(&[b'x'; 10_000]) {
            break error;
        }
    };
    assert_full(&error, "log/worker0.out");
    drop(writer);
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.state(), State::Interrupted);
    assert_eq!(run.samples().unwrap(), [(node(), vec![full_sample(1)])]);
}

#[test]
#[ignore = "run by the test above on its own disk"]
fn fill_before_the_end() {
    let disk = small_disk();
    let dir = disk.join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    for second in 1..10 {
        writer.sample(&node(), &full_sample(second)).unwrap();
    }
    let ballast = disk.join("ballast");
    let mut file = File::create(&ballast).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    drop(file);
    let closed = writer.finish(End::new(Outcome::Exited(0), Micros(1)));
    // Under a limit on the size of files there is room for other files.
    if let Err(error) = closed {
        assert!(
            matches!(error, WriteRecordError::DiskFull { .. }),
            "{error:?}"
        );
        assert_eq!(Run::open(&dir).unwrap().state(), State::Interrupted);
        assert!(Run::seal(&dir).is_err());
        fs::remove_file(ballast).unwrap();
        Run::seal(&dir).unwrap();
    }
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.state(), State::Finished);
    assert_eq!(run.samples().unwrap()[0].1.len(), 9);
}

#[test]
#[ignore = "run by the test above on its own disk"]
fn full_at_the_start() {
    let disk = small_disk();
    let mut file = File::create(disk.join("ballast")).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    if let Err(error) = RunWriter::create(&disk.join("run"), start()) {
        assert!(
            error.to_string().starts_with("no space left to write"),
            "{error}"
        );
        assert_eq!(fs::read_dir(&disk).unwrap().count(), 1);
    }
}
