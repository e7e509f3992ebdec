//! The probe beside real processes whose usage the kernel tells: CPU seconds
//! within 2%, bytes within 1%.
//!
//! `/proc` tells four CPU times of a process, each rounded down to a clock tick
//! of 10 ms: loads that are measured through it use two seconds and more, of
//! which four ticks are at most 2%.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a failure that nobody expects ends it with its place"
)]

use paceline_model::{Measure, Micros, RunId, Sample};
use paceline_probe::cgroup::{Layout, Limits, RunGroup};
use paceline_probe::{Counted, Interval, Probe, Processes, Roots, Sampler, Target};
use paceline_testkit::{skipped, wait_until};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A `paceline-load` that stays until it is let go.
struct Load {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Load {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test against real processes has to start them"
    )]
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(paceline_testkit::load_binary())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// What the kernel has charged, once the work is done.
    fn charged(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits until the process has ended, but leaves it to be waited for.
    fn wait_until_ended(&self) {
        let pid = Pid::from_raw(self.pid()).unwrap();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), options).unwrap();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

fn tree(load: &Load) -> Target {
    Target {
        processes: Some(Processes::Tree(load.pid())),
        ..Target::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "real processes run in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Samples ten times a second from another thread until `end` returns, and
/// then once more.
fn samples_until(target: &Target, end: impl FnOnce()) -> Vec<Sample> {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&samples);
    let probe = Probe::new(target, Micros::ZERO).unwrap();
    let interval = Interval::new(Interval::SHORTEST).unwrap();
    let sampler = Sampler::spawn(probe, interval, now(), move |sample| {
        keep.lock().unwrap().push(sample);
    })
    .unwrap();
    end();
    let cost = sampler.stop().unwrap();
    let samples = std::mem::take(&mut *samples.lock().unwrap());
    assert_eq!(cost.samples, samples.len() as u64);
    samples
}

fn total(samples: &[Sample], measure: Measure) -> f64 {
    let values = samples.iter().map(|sample| sample.readings.get(measure));
    values.map(|value| value.unwrap_or(f64::NAN)).sum()
}

fn cpu_s(samples: &[Sample]) -> f64 {
    total(samples, Measure::RunCpuUser) + total(samples, Measure::RunCpuSystem)
}

fn peak(samples: &[Sample], measure: Measure) -> f64 {
    let values = samples.iter().filter_map(|s| s.readings.get(measure));
    values.fold(0.0, f64::max)
}

#[track_caller]
fn assert_within(measured: f64, known: f64, share: f64) {
    let off = (measured - known).abs() / known;
    assert!(
        off <= share,
        "measured {measured}, known {known}: {:.2}% off, {:.0}% allowed",
        off * 100.0,
        share * 100.0
    );
}

fn charged_cpu_s(charged: &serde_json::Value) -> f64 {
    charged["cpu_s"].as_f64().unwrap() + charged["children_cpu_s"].as_f64().unwrap()
}

#[test]
fn cpu_time_of_two_threads_agrees_with_getrusage() {
    let mut load = Load::start(&["hold", "cpu", "1", "2"]);
    let mut charged = None;
    let samples = samples_until(&tree(&load), || charged = Some(load.charged()));
    assert_within(cpu_s(&samples), charged_cpu_s(&charged.unwrap()), 0.02);
    assert_eq!(peak(&samples, Measure::RunProcesses), 1.0);
}

#[test]
fn cpu_time_of_children_that_exit_early_agrees_with_getrusage() {
    // 100 children of 25 ms: many live and die between two readings.
    let mut load = Load::start(&["hold", "forks", "100", "0.025"]);
    let mut charged = None;
    let samples = samples_until(&tree(&load), || charged = Some(load.charged()));
    assert_within(cpu_s(&samples), charged_cpu_s(&charged.unwrap()), 0.02);
}

#[test]
fn cpu_time_of_children_of_children_is_counted_once() {
    // 8 children with 8 children each: both kinds are seen alive or not.
    let mut load = Load::start(&["hold", "forks", "8", "0.04", "2"]);
    let mut charged = None;
    let samples = samples_until(&tree(&load), || charged = Some(load.charged()));
    assert_within(cpu_s(&samples), charged_cpu_s(&charged.unwrap()), 0.02);
}

#[test]
fn a_root_that_has_ended_still_has_its_account_until_it_is_waited_for() {
    let mut load = Load::start(&["forks", "10", "0.25"]);
    let samples = samples_until(&tree(&load), || load.wait_until_ended());
    assert_within(cpu_s(&samples), charged_cpu_s(&load.charged()), 0.02);
    let last = samples.last().unwrap();
    assert_eq!(last.readings.get(Measure::RunProcesses), Some(0.0));
    assert_eq!(last.readings.get(Measure::RunMemRss), Some(0.0));
}

#[test]
fn memory_agrees_with_getrusage() {
    let mut load = Load::start(&["hold", "memory", "400000000"]);
    let mut charged = None;
    let samples = samples_until(&tree(&load), || charged = Some(load.charged()));
    let known = charged.unwrap()["max_rss_bytes"].as_f64().unwrap();
    assert!(known > 400e6);
    assert_within(peak(&samples, Measure::RunMemRss), known, 0.01);
}

#[test]
fn proportional_memory_is_no_more_than_resident_memory() {
    let mut load = Load::start(&["hold", "memory", "10000000"]);
    load.charged();
    let sample = samples_until(&tree(&load), || ()).pop().unwrap();
    let rss = sample.readings.get(Measure::RunMemRss).unwrap();
    // The baseline has read it already; a small process is read often enough
    // to be seen again within a few seconds, but not at once.
    if let Some(pss) = sample.readings.get(Measure::RunMemPss) {
        assert!(pss > 10e6 && pss <= rss);
    }
}

#[test]
fn bytes_that_were_written_and_synced_are_known_to_the_byte() {
    const BYTES: f64 = 50e6;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join("data");
    let mut load = Load::start(&["hold", "disk", "50000000", file.to_str().unwrap()]);
    let samples = samples_until(&tree(&load), || {
        load.charged();
    });
    assert_within(total(&samples, Measure::RunDiskWrite), BYTES, 0.01);
    assert_within(total(&samples, Measure::RunIoWrite), BYTES, 0.01);
}

#[test]
fn bytes_that_were_synced_went_to_some_disk_of_the_node() {
    const BYTES: f64 = 50e6;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join("data");
    let samples = samples_until(&Target::default(), || {
        Load::start(&["disk", "50000000", file.to_str().unwrap()]).charged();
    });
    // Others may write at the same time, so that only the least is certain.
    let written = total(&samples, Measure::NodeDiskWrite);
    assert!(written >= BYTES * 0.99, "{written}");
    let busy = total(&samples, Measure::NodeDiskBusy);
    let length: f64 = samples.iter().map(|s| s.interval.as_secs()).sum();
    assert!(busy > 0.0 && busy < length * 1.1, "{busy} of {length}");
}

#[test]
fn bytes_that_were_sent_over_loopback_are_counted_at_the_interface() {
    const BYTES: f64 = 200e6;
    // The interface counts headers and acknowledgements, too: with segments of
    // up to 64 KiB they are less than one per cent. Others may use loopback at
    // the same time, which can only add, so that the least of three counts.
    let attempt = || {
        let samples = samples_until(&Target::default(), || {
            Load::start(&["net", "200000000"]).charged();
        });
        total(&samples, Measure::NodeLoopback)
    };
    let sent = (0..3).map(|_| attempt()).fold(f64::INFINITY, f64::min);
    assert!(sent >= BYTES, "{sent}");
    assert_within(sent, BYTES, 0.01);
}

#[test]
fn the_node_is_at_least_as_busy_as_one_of_its_processes() {
    let mut charged = None;
    let samples = samples_until(&Target::default(), || {
        charged = Some(Load::start(&["cpu", "1"]).charged());
    });
    let node = total(&samples, Measure::NodeCpuUser) + total(&samples, Measure::NodeCpuSystem);
    assert!(node > charged_cpu_s(&charged.unwrap()) * 0.98, "{node}");
    let used: f64 = samples.iter().map(|sample| sample.interval.as_secs()).sum();
    let at = samples.last().unwrap().at.as_secs();
    assert!(
        (used - at).abs() < 1e-5,
        "intervals add up to the run's time"
    );
}

#[test]
fn a_process_that_was_already_at_work_counts_from_the_baseline_on() {
    let mut load = Load::start(&["hold", "cpu", "0.5"]);
    load.charged();
    let target = Target {
        counted: Counted::FromBaseline,
        ..tree(&load)
    };
    let samples = samples_until(&target, || ());
    assert!(cpu_s(&samples) < 0.05);
}

/// A group for a run, where this machine lets us make one.
fn group(name: &str, limits: &Limits) -> Option<RunGroup> {
    group_in(&Layout::detect(&Roots::default()), name, limits)
}

fn group_in(layout: &Layout, name: &str, limits: &Limits) -> Option<RunGroup> {
    let run = RunId::new(&format!("test-{}-{name}", std::process::id())).unwrap();
    match RunGroup::create(layout, &run, limits) {
        Ok(group) => Some(group),
        Err(error) => {
            skipped(error);
            None
        }
    }
}

/// Starts a load that is in `group` before it runs.
#[expect(
    clippy::disallowed_methods,
    reason = "a test against real processes has to start them"
)]
fn start_in(group: &RunGroup, words: &[&str]) -> Load {
    // A shell that waits for a line is put into the group and then becomes
    // the load, which needs no code between fork and exec.
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read line; exec \"$0\" \"$@\""])
        .arg(paceline_testkit::load_binary())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    group.add(child.id()).unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"go\n").unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    Load { child, output }
}

fn in_group(group: &RunGroup) -> Target {
    Target {
        cgroup: Some(group.paths().clone()),
        ..Target::default()
    }
}

#[test]
fn a_group_counts_children_that_nobody_waits_for() {
    let Some(group) = group("orphan", &Limits::default()) else {
        return;
    };
    let target = in_group(&group);
    let samples = samples_until(&target, || {
        let load = start_in(&group, &["orphan", "1"]);
        drop(load);
        // The orphan is the only member left.
        wait_until("the orphan ends", || group.members().unwrap().is_empty());
    });
    assert_within(cpu_s(&samples), 1.0, 0.02);
    let directory = group.paths().procs.parent().unwrap().to_owned();
    drop(group);
    assert!(!directory.exists(), "the group is removed with its owner");
}

#[test]
fn a_group_of_v1_alone_counts_to_the_nanosecond() {
    let layout = Layout {
        unified: None,
        unified_controllers: Vec::new(),
        ..Layout::detect(&Roots::default())
    };
    let Some(group) = group_in(&layout, "v1", &Limits::default()) else {
        return;
    };
    if group.paths().cpuacct.is_none() {
        skipped("there is no cpuacct controller");
        return;
    }
    let mut charged = None;
    let samples = samples_until(&in_group(&group), || {
        charged = Some(start_in(&group, &["forks", "10", "0.1"]).charged());
    });
    // The group also counts the shell that became the load and its end.
    assert_within(cpu_s(&samples), charged_cpu_s(&charged.unwrap()), 0.02);
}

#[test]
fn a_group_knows_its_peak_of_memory() {
    let Some(group) = group("memory", &Limits::default()) else {
        return;
    };
    let mut load = start_in(&group, &["hold", "memory", "200000000"]);
    let samples = samples_until(&in_group(&group), || {
        load.charged();
    });
    drop(load);
    if samples
        .last()
        .unwrap()
        .readings
        .get(Measure::RunMemPeak)
        .is_none()
    {
        skipped("there is no memory controller");
        return;
    }
    assert_within(peak(&samples, Measure::RunMemPeak), 200e6, 0.03);
}

#[test]
fn a_quota_holds_the_run_back_and_the_sample_says_so() {
    let limits = Limits {
        cpu_quota: Some(0.1),
        ..Limits::default()
    };
    let Some(group) = group("quota", &limits) else {
        return;
    };
    let mut load = start_in(&group, &["hold", "cpu", "0.2"]);
    let samples = samples_until(&in_group(&group), || {
        load.charged();
    });
    let throttled = total(&samples, Measure::RunCpuThrottled);
    // A machine that is busy otherwise may hold the load back as well, so that
    // only the fact is certain.
    assert!(throttled > 0.0, "{throttled}");
}

#[test]
fn a_memory_limit_and_a_set_of_cores_hold() {
    let limits = Limits {
        cpu_set: Some(paceline_probe::cgroup::CpuSet::parse("0").unwrap()),
        memory_bytes: Some(64 << 20),
        ..Limits::default()
    };
    let Some(group) = group("limits", &limits) else {
        return;
    };
    let mut load = start_in(&group, &["hold", "memory", "500000000"]);
    let status = load.child.wait().unwrap();
    assert!(!status.success(), "the kernel ends what exceeds the limit");
    let confined = start_in(&group, &["hold", "sleep"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", confined.pid())).unwrap();
    assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
}

#[test]
fn killing_a_group_leaves_nobody() {
    let Some(group) = group("kill", &Limits::default()) else {
        return;
    };
    let mut loads: Vec<Load> = (0..3)
        .map(|_| start_in(&group, &["hold", "cpu", "0"]))
        .collect();
    for load in &mut loads {
        load.charged();
    }
    group.kill_all().unwrap();
    for mut load in loads {
        assert!(!load.child.wait().unwrap().success());
    }
    assert_eq!(group.members().unwrap(), Vec::<i32>::new());
}
