//! Real logs of Spark 3.5, against numbers that `oracle/expected.py` computed.

use paceline_spark::{
    Application, Cause, Held, LogNotice, Measure, ReadLogError, Totals, find, read,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn oracle(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("oracle")
        .join(name)
}

fn fixture(name: &str) -> (Application, Value) {
    let application = read(&oracle(&format!("{name}.jsonl"))).expect("a fixture is whole");
    let all: Value = serde_json::from_str(
        &fs::read_to_string(oracle("expected.json")).expect("a fixture is whole"),
    )
    .expect("a fixture is whole");
    (application, all[name].clone())
}

fn check_totals(totals: &Totals, expected: &Value, whose: &str) {
    let pairs = [
        ("tasks", totals.tasks),
        ("failed", totals.failed),
        ("duration_ms", totals.duration_ms),
        ("run_ms", totals.run_ms),
        ("cpu_ns", totals.cpu_ns),
        ("gc_ms", totals.gc_ms),
        ("deserialize_ms", totals.deserialize_ms),
        ("scheduler_delay_ms", totals.scheduler_delay_ms),
        ("fetch_wait_ms", totals.fetch_wait_ms),
        ("shuffle_remote_bytes", totals.shuffle_remote_bytes),
        ("shuffle_local_bytes", totals.shuffle_local_bytes),
        ("shuffle_write_bytes", totals.shuffle_write_bytes),
        ("spilled_disk_bytes", totals.spilled_disk_bytes),
    ];
    for (name, value) in pairs {
        assert_eq!(Some(value), expected[name].as_u64(), "{name} of {whose}");
    }
}

fn check(name: &str) {
    let (application, expected) = fixture(name);
    assert_eq!(application.notices, []);
    assert_eq!(Some(application.name.as_str()), expected["name"].as_str());
    let numbers = [
        ("wall_ms", application.wall_ms()),
        ("driver_ms", application.driver_ms()),
        ("jobs", application.jobs.len() as u64),
        ("slots", u64::from(application.slots())),
        ("peak_executors", u64::from(application.peak_executors())),
    ];
    for (key, value) in numbers {
        assert_eq!(Some(value), expected[key].as_u64(), "{key} of {name}");
    }
    let idle = expected["idle_share"].as_f64().expect("a fixture is whole");
    // Both divide the same whole numbers.
    assert!((application.idle_share() - idle).abs() < 1e-12, "{name}");
    check_totals(&application.totals, &expected["totals"], name);

    let mut stages: Vec<_> = application.stages.iter().collect();
    stages.sort_by_key(|stage| (stage.id, stage.attempt));
    let wanted = expected["stages"].as_array().expect("a fixture is whole");
    assert_eq!(stages.len(), wanted.len());
    for (stage, wanted) in stages.iter().zip(wanted) {
        let whose = format!("stage {}.{} of {name}", stage.id, stage.attempt);
        assert_eq!(Some(u64::from(stage.id)), wanted["id"].as_u64());
        assert_eq!(stage.wall_ms(), wanted["wall_ms"].as_u64(), "{whose}");
        assert_eq!(stage.median_ms(), wanted["median_ms"].as_f64(), "{whose}");
        let longest = stage.longest_ms().map(u64::from);
        assert_eq!(longest, wanted["longest_ms"].as_u64(), "{whose}");
        check_totals(&stage.totals, wanted, &whose);
    }
    let wanted = expected["executors"]
        .as_array()
        .expect("a fixture is whole");
    assert_eq!(application.executors.len(), wanted.len());
    for (executor, wanted) in application.executors.iter().zip(wanted) {
        let whose = format!("executor {} of {name}", executor.id);
        assert_eq!(Some(executor.id.as_str()), wanted["id"].as_str());
        assert_eq!(Some(u64::from(executor.cores)), wanted["cores"].as_u64());
        let slot_ms = application.slot_ms_of(executor);
        assert_eq!(Some(slot_ms), wanted["slot_ms"].as_u64(), "{whose}");
        check_totals(&executor.totals, wanted, &whose);
    }

    let held = Held::of(&application).expect("a fixture is whole");
    let replayed = |slots: u32| expected["replayed_ms"][slots.to_string()].as_u64();
    assert_eq!(
        Some(held.simulated_ms),
        replayed(application.slots()),
        "{name}"
    );
    assert_eq!(Some(held.critical_ms), replayed(1000), "{name}");
    for row in &held.what_if {
        if let Some(wanted) = replayed(row.slots) {
            assert_eq!(row.wall_ms, Some(wanted), "{} slots of {name}", row.slots);
        }
    }
    let saved = |cause| {
        let saving = held.savings.iter().find(|saving| saving.cause == cause);
        held.simulated_ms - saving.map_or(0, |saving| saving.saved_ms)
    };
    let wanted = |key: &str| {
        expected[key]
            .as_u64()
            .expect("a fixture is whole")
            .min(held.simulated_ms)
    };
    assert_eq!(saved(Cause::Skew), wanted("replayed_even_ms"), "{name}");
    assert_eq!(
        saved(Cause::Driver),
        wanted("replayed_without_driver_ms"),
        "{name}"
    );
}

#[test]
fn a_skewed_local_application() {
    check("skew");
    let (application, _) = fixture("skew");
    let (stage, skew) = application.most_skewed().unwrap();
    assert_eq!(stage.id, 0);
    assert!(skew > 2.0, "{skew}");
}

#[test]
fn stages_side_by_side_on_three_executors() {
    check("sql");
}

#[test]
fn a_lost_executor_and_failed_tasks() {
    check("lost");
    let (application, _) = fixture("lost");
    let lost: Vec<_> = application
        .executors
        .iter()
        .filter(|it| it.removed.is_some())
        .collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(
        lost[0].reason.as_deref(),
        Some("Command exited with code 137")
    );
}

#[test]
fn every_measure_has_a_finite_value_and_a_name_of_its_own() {
    let (application, _) = fixture("sql");
    let held = Held::of(&application);
    let mut names: Vec<&str> = Measure::ALL.iter().map(|measure| measure.name()).collect();
    for measure in Measure::ALL {
        let value = measure.of(&application, held.as_ref()).unwrap();
        assert!(
            value.is_finite() && value >= 0.0,
            "{}: {value}",
            measure.name()
        );
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Measure::ALL.len());
}

#[test]
fn a_log_that_is_being_written_counts_as_far_as_it_goes() {
    let text = fs::read_to_string(oracle("skew.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("local-1.inprogress");
    let cut = text.find("SparkListenerJobEnd").unwrap() + 40;
    fs::write(&path, &text[..cut]).unwrap();
    let application = read(&path).unwrap();
    let line = text[..cut].lines().count() as u64;
    assert_eq!(
        application.notices,
        [LogNotice::Unfinished, LogNotice::CutLine { line }]
    );
    assert_eq!(application.totals.tasks, 12);
    assert!(Held::of(&application).is_some());
}

#[test]
fn a_log_cut_or_damaged_anywhere_never_panics() {
    let bytes = fs::read(oracle("lost.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    for step in 0..120 {
        let at = step * bytes.len() / 120;
        fs::write(&path, &bytes[..at]).unwrap();
        if let Ok(application) = read(&path) {
            let _ = Held::of(&application);
        }
        let mut wrong = bytes.clone();
        for byte in wrong.iter_mut().skip(at).take(7) {
            *byte = b'9';
        }
        fs::write(&path, &wrong).unwrap();
        if let Ok(application) = read(&path) {
            let _ = Held::of(&application);
        }
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_told_and_the_rest_counts() {
    let text = fs::read_to_string(oracle("skew.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(20, "{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let application = read(&path).unwrap();
    assert_eq!(
        application.notices,
        [LogNotice::BadLines {
            count: 1,
            first: 21
        }]
    );
    assert_eq!(application.totals, fixture("skew").0.totals);
}

#[test]
fn a_rolled_log_is_read_in_the_order_of_its_numbers() {
    let text = fs::read_to_string(oracle("skew.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let folder = tempfile::tempdir().unwrap();
    let rolled = folder.path().join("eventlog_v2_local-1");
    fs::create_dir(&rolled).unwrap();
    fs::write(rolled.join("appstatus_local-1"), "").unwrap();
    fs::write(rolled.join(".appstatus_local-1.crc"), "crc").unwrap();
    // Ten comes after nine, although not as a word.
    for (index, part) in [(9, &lines[..30]), (10, &lines[30..])] {
        let file = rolled.join(format!("events_{index}_local-1"));
        fs::write(file, part.join("\n") + "\n").unwrap();
    }
    assert_eq!(find(folder.path()).unwrap(), std::slice::from_ref(&rolled));
    let whole = fixture("skew").0;
    assert_eq!(read(&rolled).unwrap(), whole);
    // What was compacted stands for the files before it.
    fs::write(rolled.join("events_8_local-1"), "no event\n").unwrap();
    fs::rename(
        rolled.join("events_9_local-1"),
        rolled.join("events_9_local-1.compact"),
    )
    .unwrap();
    assert_eq!(read(&rolled).unwrap(), whole);
}

#[test]
fn a_compressed_log_is_read_or_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.snappy");
    let mut bytes = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for part in fs::read(oracle("skew.jsonl")).unwrap().chunks(32 * 1024) {
        let block = snap::raw::Encoder::new().compress_vec(part).unwrap();
        bytes.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
        bytes.extend(block);
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap(), fixture("skew").0);
    // Half of the last block is missing.
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    let cut = read(&path).unwrap();
    assert!(matches!(
        cut.notices[..],
        [LogNotice::Unfinished, LogNotice::Damaged { .. }]
    ));

    fs::write(&path, b"\x28\xb5\x2f\xfd and more").unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(
        error,
        ReadLogError::Compressed { codec: "zstd", .. }
    ));
    assert!(error.to_string().contains("spark.eventLog.compress=false"));
}

#[test]
fn what_is_no_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "",
        "\n\n",
        "hello\n",
        "{\"Event\":\"SparkListenerLogStart\"}\n",
    ] {
        let path = folder.path().join("file");
        fs::write(&path, text).unwrap();
        let error = read(&path).unwrap_err();
        assert!(
            matches!(error, ReadLogError::NoApplication { .. }),
            "{text}"
        );
    }
    let missing = read(&folder.path().join("missing")).unwrap_err();
    assert!(matches!(missing, ReadLogError::Read { .. }));
    assert_eq!(find(&folder.path().join("missing")).unwrap().len(), 0);
}
