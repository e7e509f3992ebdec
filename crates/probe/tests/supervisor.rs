//! A supervisor that counts everything below it. This is a test binary of its
//! own, because every child of the process belongs to the one test.

use paceline_model::{Measure, Micros};
use paceline_probe::{Probe, Processes, Target, become_subreaper};
use rustix::process::{WaitId, WaitIdOptions, getpid, waitid};
use std::process::{Command, Stdio};

#[test]
fn orphans_and_what_was_never_seen_count_below_their_reaper() {
    // The binary is built by cargo, whose own children must not count.
    let load = paceline_testkit::load_binary();
    become_subreaper().unwrap();
    let target = Target {
        processes: Some(Processes::Below(getpid().as_raw_nonzero().get())),
        ..Target::default()
    };
    let mut probe = Probe::new(&target, Micros::ZERO).unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "a test against real processes has to start them"
    )]
    let mut command = Command::new(load);
    command.args(["orphan", "2"]).stdout(Stdio::null());
    let parent = command.spawn().unwrap();
    drop(parent);
    // Both the parent and its orphan end here, and no reading has seen either.
    while waitid(WaitId::All, WaitIdOptions::EXITED).is_ok() {}
    let sample = probe.sample(Micros(1_000_000));
    let cpu_s = sample.readings.get(Measure::RunCpuUser).unwrap()
        + sample.readings.get(Measure::RunCpuSystem).unwrap();
    assert!((cpu_s - 2.0).abs() < 0.04, "{cpu_s} s");
    assert_eq!(sample.readings.get(Measure::RunProcesses), Some(0.0));
}
