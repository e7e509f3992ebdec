//! What is written is what is read, in every state of a record.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Event, Micros, Outcome, Sample, WorkerId};
use paceline_records::{End, Notice, Overhead, Run, RunWriter, State, Stream};
use proptest::prelude::*;
use specimen::{events, full_sample, metric, node, samples, start};
use std::io::Read;

fn check(samples: &[Sample], events: &[Event]) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    for sample in samples {
        writer.sample(&node(), sample).unwrap();
    }
    for event in events {
        writer.event(event).unwrap();
    }
    let read_back = |state| {
        let run = Run::open(&dir).unwrap();
        assert_eq!(run.state(), state);
        assert_eq!(run.samples().unwrap(), [(node(), samples.to_vec())]);
        assert_eq!(run.events().unwrap(), events);
    };
    read_back(State::Live);
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    read_back(State::Finished);

    // The same once more, without the end.
    let dir = parent.path().join("killed");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    for sample in samples {
        writer.sample(&node(), sample).unwrap();
    }
    for event in events {
        writer.event(event).unwrap();
    }
    drop(writer);
    let last = samples.iter().map(|s| s.at);
    let last = last.chain(events.iter().map(|e| e.at)).max();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.state(), State::Interrupted);
    let end = run.manifest().end.clone().unwrap();
    assert_eq!(
        end,
        End::new(Outcome::Interrupted, last.unwrap_or_default())
    );
    let sealed = Run::seal(&dir).unwrap();
    assert_eq!(sealed.state(), State::Finished);
    assert_eq!(sealed.manifest(), run.manifest());
    assert_eq!(sealed.samples().unwrap(), [(node(), samples.to_vec())]);
    assert_eq!(sealed.events().unwrap(), events);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_samples_and_events_are_read_as_they_were_written(samples in samples(6), events in events(6)) {
        check(&samples, &events);
    }
}

#[test]
fn tables_longer_than_a_row_group_are_read_as_they_were_written() {
    let samples: Vec<Sample> = (0..5000).map(full_sample).collect();
    let events: Vec<Event> = (0..5000).map(|i| metric(i, i as f64)).collect();
    check(&samples, &events);
}

#[test]
fn a_reported_nan_stays_nan() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.event(&metric(1, f64::NAN)).unwrap();
    let mut end = End::new(Outcome::Exited(0), Micros(1));
    end.responses.insert("loss".to_owned(), f64::NAN);
    end.responses.insert("best".to_owned(), f64::NEG_INFINITY);
    writer.finish(end).unwrap();
    let run = Run::open(&dir).unwrap();
    assert!(run.events().unwrap()[0].value.unwrap().is_nan());
    let responses = &run.manifest().end.as_ref().unwrap().responses;
    assert!(responses["loss"].is_nan());
    assert_eq!(responses["best"], f64::NEG_INFINITY);
}

#[test]
fn a_directory_whose_name_is_not_unicode_is_no_reason_to_fail() {
    use std::os::unix::ffi::OsStringExt;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut odd = start();
    odd.cwd = std::ffi::OsString::from_vec(b"/home/\xFFda".to_vec()).into();
    odd.limits.cpus = Some(f64::NAN);
    let mut end = End::new(Outcome::NotStarted, Micros::ZERO);
    end.overhead = Some(Overhead {
        cpu_s: f64::NAN,
        mem_peak_bytes: None,
    });
    RunWriter::create(&dir, odd).unwrap().finish(end).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.manifest().start.cwd.to_str(), Some("/home/\u{FFFD}da"));
    assert_eq!(run.manifest().start.limits.cpus, None);
}

#[test]
fn the_manifest_says_what_it_was_told_without_the_secrets() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    log.append(b"epoch 1\n").unwrap();
    let end = End {
        outcome: Outcome::Signalled(9),
        duration: Micros(123_456_789),
        responses: [("accuracy".to_owned(), 0.1 + 0.2)].into_iter().collect(),
        notices: vec![Notice {
            name: "noisy_host".to_owned(),
            text: "8% of the time was stolen".to_owned(),
            advice: Some("use another host".to_owned()),
        }],
        overhead: Some(Overhead {
            cpu_s: 0.25,
            mem_peak_bytes: Some(12 << 20),
        }),
    };
    let written = writer.finish(end.clone()).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(*run.manifest(), written);
    assert_eq!(written.end, Some(end));
    let mut expected = start();
    expected.argv[2] = "--token=[redacted]".to_owned();
    expected.env["API_KEY"] = "[redacted]".to_owned();
    expected.env["PROXY"] = "http://[redacted]@proxy:3128".to_owned();
    assert_eq!(written.start, expected);
    assert!(written.start.env.keys().eq(expected.env.keys()));

    let logs = run.logs().unwrap();
    let mut text = String::new();
    logs[0].open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "epoch 1\n");

    let mut names: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["events.parquet", "log", "manifest.json", "samples"]);
}
