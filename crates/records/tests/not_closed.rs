//! A run that had ended when its recorder was killed is closed from its log.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Event, EventKind, Micros, Outcome, WorkerId};
use paceline_records::{Run, RunWriter, State};
use specimen::{full_sample, metric, node, start};

fn lifecycle(second: u64, worker: Option<u32>, name: &str, text: &str) -> Event {
    Event {
        at: Micros(second * 1_000_000),
        worker: worker.map(WorkerId),
        kind: EventKind::Lifecycle,
        step: None,
        name: name.to_owned(),
        value: None,
        text: Some(text.to_owned()),
    }
}

/// Records events, lets the writer die, and looks at what the record says before
/// and after it was closed.
fn check(events: &[Event], expected: Outcome, seconds: u64) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.sample(&node(), &full_sample(9)).unwrap();
    writer.event(&metric(1, 0.5)).unwrap();
    for event in events {
        writer.event(event).unwrap();
    }
    drop(writer);
    let responses = [("time".to_owned(), 3.0)].into_iter().collect();
    let before = Run::open(&dir).unwrap();
    assert_eq!(before.state(), State::Interrupted);
    let after = Run::seal_with(&dir, responses).unwrap();
    assert_eq!(after.state(), State::Finished);
    for run in [&before, &after] {
        let end = run.manifest().end.as_ref().unwrap();
        assert_eq!(end.outcome, expected);
        let from_log = end.notices.iter().filter(|it| it.name == "closed_from_log");
        match expected {
            Outcome::Interrupted => assert_eq!(from_log.count(), 0),
            _ => {
                assert_eq!(from_log.count(), 1);
                assert_eq!(end.duration, Micros(seconds * 1_000_000));
            }
        }
    }
    let end = after.manifest().end.as_ref().unwrap();
    let kept = usize::from(expected != Outcome::Interrupted);
    assert_eq!(end.responses.len(), kept);
}

#[test]
fn a_command_that_had_exited_is_done() {
    let start = lifecycle(1, Some(0), "start", "process 7");
    let exit = |text| lifecycle(4, Some(0), "exit", text);
    check(std::slice::from_ref(&start), Outcome::Interrupted, 0);
    check(&[start.clone(), exit("exit code 0")], Outcome::Exited(0), 3);
    check(&[start.clone(), exit("exit code 3")], Outcome::Exited(3), 3);
    check(&[start.clone(), exit("signal 9")], Outcome::Signalled(9), 3);
    check(&[start, exit("signal 2")], Outcome::Cancelled, 3);
}

#[test]
fn a_run_is_over_when_all_its_commands_are() {
    let starts = [0, 1].map(|worker| lifecycle(1, Some(worker), "start", "process 7"));
    let first = lifecycle(3, Some(1), "exit", "exit code 0");
    let second = lifecycle(6, Some(0), "exit", "exit code 0");
    let mut events = starts.to_vec();
    events.push(first);
    check(&events, Outcome::Interrupted, 0);
    events.push(second);
    check(&events, Outcome::Exited(0), 5);
}

#[test]
fn a_run_that_was_asked_to_end_says_by_whom() {
    let events = |asked: &str, exit: &str| {
        vec![
            lifecycle(1, Some(0), "start", "process 7"),
            lifecycle(2, None, asked, ""),
            lifecycle(3, Some(0), "exit", exit),
        ]
    };
    check(&events("time_limit", "signal 15"), Outcome::TimedOut, 2);
    check(&events("stop_asked", "exit code 1"), Outcome::Cancelled, 2);
    check(&events("stop_asked", "exit code 0"), Outcome::Exited(0), 2);
}
