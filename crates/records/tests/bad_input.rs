//! Directories and files that are not what they should be.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Micros, Outcome, WorkerId};
use paceline_records::{
    CreateRunError, End, OpenRunError, ReadTableError, Run, RunWriter, SealRunError, State, Stream,
    WriteRecordError, list,
};
use specimen::{full_sample, metric, node, start};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A finished record in a directory that vanishes with the first value.
fn finished() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.sample(&node(), &full_sample(1)).unwrap();
    writer.event(&metric(1, 0.5)).unwrap();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    (parent, dir)
}

fn interrupted() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    for second in 1..4 {
        writer.sample(&node(), &full_sample(second)).unwrap();
        writer.event(&metric(second, 0.5)).unwrap();
    }
    drop(writer);
    (parent, dir)
}

/// The whole chain of causes, as the user reads it, with the directory left out.
fn words(error: &dyn Error, dir: &Path) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text.replace(dir.to_str().unwrap(), "DIR")
}

fn check_open(dir: &Path, expected: &str) {
    let error = Run::open(dir).unwrap_err();
    assert_eq!(words(&error, dir), expected);
}

fn check_create(dir: &Path, expected: &str) {
    let error = RunWriter::create(dir, start()).err().unwrap();
    assert_eq!(words(&error, dir), expected);
}

#[test]
fn a_second_run_into_the_same_directory_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let writer = RunWriter::create(&dir, start()).unwrap();
    check_create(&dir, "another run is being recorded in DIR");
    assert!(matches!(Run::seal(&dir), Err(SealRunError::Live { .. })));
    drop(writer);
    check_create(&dir, "DIR is not empty");
    Run::seal(&dir).unwrap();
    check_create(&dir, "DIR is not empty");
    // Nothing that the refused ones prepared is left.
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

#[test]
fn a_directory_that_holds_other_things_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("thesis.tex"), "").unwrap();
    check_create(parent.path(), "DIR is not empty");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    check_create(&parent.path().join("thesis.tex"), "DIR is not a directory");
    let error = RunWriter::create(&parent.path().join("thesis.tex/run"), start());
    assert!(matches!(
        error,
        Err(CreateRunError::Write(WriteRecordError::Io { .. }))
    ));
}

#[test]
fn an_empty_directory_and_missing_parents_will_do() {
    let parent = tempfile::tempdir().unwrap();
    for dir in [parent.path().join("a/b/c"), parent.path().join("a/b")] {
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
            fs::create_dir(&dir).unwrap();
        }
        let writer = RunWriter::create(&dir, start()).unwrap();
        assert_eq!(Run::open(&dir).unwrap().state(), State::Live);
        drop(writer);
        assert_eq!(Run::open(&dir).unwrap().state(), State::Interrupted);
    }
}

#[test]
fn what_is_not_a_record_is_told_apart_from_what_is_damaged() {
    let parent = tempfile::tempdir().unwrap();
    check_open(parent.path(), "DIR is not the record of a run");
    check_open(&parent.path().join("nothing"), "DIR does not exist");

    let (_keep, dir) = finished();
    fs::write(dir.join("manifest.json"), "").unwrap();
    check_open(
        &dir,
        "DIR/manifest.json is damaged or was not written by Paceline: \
         EOF while parsing a value at line 1 column 0",
    );
    fs::write(dir.join("manifest.json"), "{\"format_version\": 1}").unwrap();
    check_open(
        &dir,
        "DIR/manifest.json is damaged or was not written by Paceline: missing field `duration_s` at line 1 column 21",
    );
}

#[test]
fn a_field_that_holds_what_it_cannot_is_named() {
    let (_keep, dir) = finished();
    let path = dir.join("manifest.json");
    let good = fs::read_to_string(&path).unwrap();
    let forged = good.replace("20261115-lenet-01", "../../etc");
    fs::write(&path, &forged).unwrap();
    check_open(
        &dir,
        "DIR/manifest.json is damaged: its checksum is not that of its content",
    );
    reseal(&path, serde_json::from_str(&forged).unwrap());
    check_open(
        &dir,
        "DIR/manifest.json is damaged or was not written by Paceline: `id` is not valid: \
         `.` at position 1 cannot be in a run id (letters, digits, `-`, `_`, `.` can)",
    );
}

#[test]
fn a_record_of_a_newer_format_is_refused_by_its_version() {
    for (_keep, dir, file) in [
        {
            let (k, d) = finished();
            (k, d, "manifest.json")
        },
        {
            let (k, d) = interrupted();
            (k, d, "start.json")
        },
    ] {
        // A newer format may have none of today's fields.
        fs::write(dir.join(file), "{\"format_version\": 7}").unwrap();
        check_open(
            &dir,
            &format!("DIR/{file} has format version 7, this Paceline reads up to 2"),
        );
        assert!(matches!(
            Run::open(&dir),
            Err(OpenRunError::TooNew {
                found: 7,
                supported: 2,
                ..
            })
        ));
        let listed = list(dir.parent().unwrap()).unwrap();
        assert!(matches!(
            listed[0].summary,
            Err(OpenRunError::TooNew { found: 7, .. })
        ));
    }
}

#[test]
fn a_table_that_is_truncated_foreign_or_absent_is_not_read() {
    let (_keep, dir) = finished();
    let table = dir.join("samples/gpu-01.parquet");
    let good = fs::read(&table).unwrap();
    let run = Run::open(&dir).unwrap();

    for length in [0, 4, good.len() / 2, good.len() - 1] {
        fs::write(&table, &good[..length]).unwrap();
        assert!(matches!(run.samples(), Err(ReadTableError::Altered { .. })));
    }
    for position in (0..good.len()).step_by(97) {
        let mut flipped = good.clone();
        flipped[position] ^= 1;
        fs::write(&table, flipped).unwrap();
        assert!(matches!(run.samples(), Err(ReadTableError::Altered { .. })));
    }
    fs::copy(dir.join("events.parquet"), &table).unwrap();
    assert!(matches!(run.samples(), Err(ReadTableError::Altered { .. })));
    fs::remove_file(&table).unwrap();
    let error = run.samples().unwrap_err();
    assert_eq!(
        words(&error, &dir),
        "cannot read DIR/samples/gpu-01.parquet: No such file or directory (os error 2)"
    );
    fs::write(&table, good).unwrap();
    assert_eq!(run.samples().unwrap()[0].1, [full_sample(1)]);
}

/// Writes JSON with a checksum that is right.
fn reseal(path: &Path, mut json: serde_json::Value) {
    json.as_object_mut().unwrap().remove("crc32");
    let text = paceline_files::sealed::seal(&json.to_string()).unwrap();
    fs::write(path, text).unwrap();
}

/// Puts `bytes` in the place of a table and makes the manifest agree.
fn forge(dir: &Path, table: &str, bytes: &[u8]) {
    fs::write(dir.join(table), bytes).unwrap();
    let path = dir.join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["files"][table] = serde_json::json!({
        "bytes": bytes.len(),
        "crc32": format!("{:08x}", crc32fast::hash(bytes)),
    });
    reseal(&path, manifest);
}

#[test]
fn a_foreign_table_is_refused_even_if_the_manifest_vouches_for_it() {
    let (_keep, dir) = finished();
    let table = "samples/gpu-01.parquet";
    let events = fs::read(dir.join("events.parquet")).unwrap();
    forge(&dir, table, &events);
    let error = Run::open(&dir).unwrap().samples().unwrap_err();
    assert_eq!(
        words(&error, &dir),
        "column `interval_s` of DIR/samples/gpu-01.parquet is not what a record has there"
    );
    forge(&dir, table, b"PAR1 but nothing else");
    let error = Run::open(&dir).unwrap().samples().unwrap_err();
    assert!(matches!(error, ReadTableError::Parquet { .. }), "{error}");
    // Parts without their samples are not what was written.
    let parts = fs::read(dir.join("samples/gpu-01.parts.parquet")).unwrap();
    forge(&dir, "events.parquet", &parts);
    let error = Run::open(&dir).unwrap().events().unwrap_err();
    assert!(
        matches!(&error, ReadTableError::Column { column, .. } if column == "kind"),
        "{error}"
    );
}

#[test]
fn damage_in_the_middle_of_a_log_is_an_error_with_its_place() {
    let (_keep, dir) = interrupted();
    let log = dir.join("live/events.wal");
    let mut bytes = fs::read(&log).unwrap();
    bytes[8 + 12] ^= 1;
    fs::write(&log, bytes).unwrap();
    check_open(
        &dir,
        "cannot read DIR/live/events.wal: the log is damaged at byte 8",
    );
    assert!(matches!(Run::seal(&dir), Err(SealRunError::Open(_))));
    assert!(!dir.join("manifest.json").exists());
}

#[test]
fn an_incomplete_last_entry_is_left_out_and_the_record_says_so() {
    let (_keep, dir) = interrupted();
    let log = dir.join("live/samples-gpu-01.wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 3]).unwrap();
    let open = Run::open(&dir).unwrap();
    let sealed = Run::seal(&dir).unwrap();
    for run in [&open, &sealed] {
        let end = run.manifest().end.as_ref().unwrap();
        assert_eq!(end.outcome, Outcome::Interrupted);
        // The event of that second is whole.
        assert_eq!(end.duration, Micros(3_000_000));
        assert_eq!(end.notices.len(), 1);
        assert_eq!(end.notices[0].name, "cut_log");
        assert!(end.notices[0].text.contains("an incomplete entry"));
    }
    assert_eq!(
        sealed.samples().unwrap()[0].1,
        [full_sample(1), full_sample(2)]
    );
}

#[test]
fn a_record_without_its_logs_is_empty_but_opens() {
    let (_keep, dir) = interrupted();
    fs::remove_dir_all(dir.join("live")).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.samples().unwrap(), []);
    assert_eq!(run.events().unwrap(), []);
    assert_eq!(Run::seal(&dir).unwrap().state(), State::Finished);
}

#[test]
fn samples_that_go_back_in_time_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(&parent.path().join("run"), start()).unwrap();
    writer.sample(&node(), &full_sample(2)).unwrap();
    for second in [2, 1] {
        let error = writer.sample(&node(), &full_sample(second)).unwrap_err();
        assert!(
            matches!(error, WriteRecordError::OutOfOrder { .. }),
            "{error}"
        );
    }
    writer.sample(&node(), &full_sample(3)).unwrap();
}

#[test]
fn a_run_that_ends_while_it_is_read_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.sample(&node(), &full_sample(1)).unwrap();
    writer.log(WorkerId(0), Stream::Out).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.manifest().end, None);
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    assert!(matches!(
        run.samples_of(&node()),
        Err(ReadTableError::Ended { .. })
    ));
    assert!(matches!(run.events(), Err(ReadTableError::Ended { .. })));
    assert!(matches!(run.samples(), Err(ReadTableError::Ended { .. })));
    assert!(matches!(run.logs(), Err(ReadTableError::Ended { .. })));
}

#[test]
fn a_list_shows_every_record_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let live = RunWriter::create(&at("live"), start()).unwrap();
    drop(RunWriter::create(&at("interrupted"), start()).unwrap());
    let mut end = End::new(Outcome::Exited(3), Micros(2_500_000));
    end.responses.insert("accuracy".to_owned(), 0.9);
    RunWriter::create(&at("done"), start())
        .unwrap()
        .finish(end)
        .unwrap();
    fs::create_dir(at("other")).unwrap();
    fs::create_dir(at(".run.1.new")).unwrap();
    fs::write(at("notes.txt"), "").unwrap();
    fs::create_dir(at("broken")).unwrap();
    fs::write(at("broken/manifest.json"), "{").unwrap();

    let listed = list(parent.path()).unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|l| l.dir.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["done", "interrupted", "live", "broken"]);
    let done = listed[0].summary.as_ref().unwrap();
    assert_eq!(done.outcome, Some(Outcome::Exited(3)));
    assert_eq!(done.duration, Some(Micros(2_500_000)));
    assert_eq!(done.responses["accuracy"], 0.9);
    assert_eq!(done.factors, start().factors);
    let interrupted = listed[1].summary.as_ref().unwrap();
    assert_eq!(interrupted.state, State::Interrupted);
    assert_eq!(interrupted.outcome, Some(Outcome::Interrupted));
    let live_summary = listed[2].summary.as_ref().unwrap();
    assert_eq!(
        (live_summary.state, live_summary.outcome.clone()),
        (State::Live, None)
    );
    assert!(listed[3].summary.is_err());
    drop(live);
    assert!(list(&at("absent")).is_err());
}
