//! A record of each format version stays readable.
//!
//! `compat/v1/` is what [`write_the_record_of_this_version`] wrote when that
//! version was current. It is never written again: a change of the format makes
//! a new directory and a new test beside this one.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Micros, Outcome, WorkerId};
use paceline_records::{End, Notice, Overhead, Run, RunWriter, State, Stream};
use specimen::{full_sample, metric, node, start};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn compat() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("compat")
}

fn end() -> End {
    End {
        outcome: Outcome::Exited(3),
        duration: Micros(4_500_000),
        responses: [
            ("accuracy".to_owned(), 0.1 + 0.2),
            ("loss".to_owned(), f64::INFINITY),
        ]
        .into_iter()
        .collect(),
        notices: vec![Notice {
            name: "noisy_host".to_owned(),
            text: "8% of the time was stolen".to_owned(),
            advice: None,
        }],
        overhead: Some(Overhead {
            cpu_s: 0.002,
            mem_peak_bytes: Some(9 << 20),
        }),
    }
}

#[test]
fn version_1_finished_is_readable() {
    let run = Run::open(&compat().join("v1/finished")).unwrap();
    assert_eq!(run.state(), State::Finished);
    let manifest = run.manifest();
    assert_eq!(manifest.end, Some(end()));
    assert_eq!(manifest.start.id, start().id);
    assert_eq!(manifest.start.factors, start().factors);
    assert_eq!(manifest.start.machines, start().machines);
    assert_eq!(manifest.start.git, start().git);
    assert_eq!(manifest.start.started, start().started);
    check_content(&run, 4);
}

#[test]
fn version_1_interrupted_is_readable() {
    // The last bytes of the node's log are missing, as after a crash.
    let run = Run::open(&compat().join("v1/interrupted")).unwrap();
    assert_eq!(run.state(), State::Interrupted);
    let end = run.manifest().end.as_ref().unwrap();
    assert_eq!(end.outcome, Outcome::Interrupted);
    assert_eq!(end.notices.len(), 1);
    check_content(&run, 3);
}

fn check_content(run: &Run, seconds: u64) {
    // Measures that later versions add are missing in the record, and others
    // keep their values.
    let (found_node, found) = run.samples().unwrap().remove(0);
    assert_eq!(found_node, node());
    assert_eq!(found.len() as u64, seconds);
    let names: serde_json::Value =
        serde_json::from_slice(&fs::read(compat().join("v1/columns.json")).unwrap()).unwrap();
    for (i, sample) in found.iter().enumerate() {
        let expected = full_sample(i as u64 + 1);
        assert_eq!(sample.at, expected.at);
        assert_eq!(sample.interval, expected.interval);
        assert_eq!(sample.gap, expected.gap);
        assert_eq!(sample.parts.len(), 4);
        for (column, name) in names["samples"].as_array().unwrap().iter().enumerate() {
            let name = name.as_str().unwrap();
            let measure = paceline_model::Measure::from_name(name);
            let value = measure.and_then(|measure| sample.readings.get(measure));
            assert_eq!(
                value,
                specimen::value_of(i as u64 + 1, column, name),
                "{name}"
            );
        }
    }
    assert_eq!(run.events().unwrap(), [metric(1, 0.5), metric(2, 0.25)]);
    let logs = run.logs().unwrap();
    let mut text = String::new();
    logs[0].open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "epoch 1\nepoch 2\n");
}

#[test]
#[ignore = "writes compat/v1, once"]
fn write_the_record_of_this_version() {
    let root = compat().join("v1");
    for name in ["finished", "interrupted"] {
        let mut writer = RunWriter::create(&root.join(name), start()).unwrap();
        let log = writer.log(WorkerId(0), Stream::Out).unwrap();
        log.append(b"epoch 1\nepoch 2\n").unwrap();
        for second in 1..=4 {
            writer.sample(&node(), &full_sample(second)).unwrap();
        }
        writer.event(&metric(1, 0.5)).unwrap();
        writer.event(&metric(2, 0.25)).unwrap();
        if name == "finished" {
            writer.finish(end()).unwrap();
        } else {
            drop(writer);
            let log = root.join("interrupted/live/samples-gpu-01.wal");
            let bytes = fs::read(&log).unwrap();
            fs::write(&log, &bytes[..bytes.len() - 100]).unwrap();
        }
    }
    let columns = serde_json::json!({
        "samples": paceline_model::Measure::ALL.iter().map(|m| m.name()).collect::<Vec<_>>(),
    });
    fs::write(root.join("columns.json"), format!("{columns:#}\n")).unwrap();
}
