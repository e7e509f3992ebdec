//! What a run sends and receives, by real sockets: bytes to the last one, and
//! nobody else's.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a failure that nobody expects ends it with its place"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a test against real processes has to start them"
)]

use paceline_model::{Measure, Micros, Sample};
use paceline_probe::{Counted, Probe, Processes, Target};
use paceline_testkit::{skipped, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn of(pid: u32) -> Target {
    Target {
        processes: Some(Processes::Tree(pid as i32)),
        counted: Counted::FromBaseline,
        ..Target::default()
    }
}

fn me() -> Target {
    of(std::process::id())
}

/// Samples once a second of the run's time, whatever time it is.
struct Readings {
    probe: Probe,
    second: u64,
}

impl Readings {
    fn of(target: &Target) -> Self {
        let probe = Probe::new(target, Micros::ZERO).unwrap();
        Self { probe, second: 0 }
    }

    fn next(&mut self) -> Sample {
        self.second += 1;
        self.probe.sample(Micros(self.second * 1_000_000))
    }
}

#[track_caller]
fn check(sample: &Sample, expected: &[(Measure, f64)]) {
    for (measure, value) in expected {
        assert_eq!(
            sample.readings.get(*measure),
            Some(*value),
            "{}: {:?}",
            measure.name(),
            sample.readings
        );
    }
}

/// Both ends of a connection.
fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

fn pass(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    let sent = vec![7; bytes];
    let mut received = vec![0; bytes];
    std::thread::scope(|scope| {
        scope.spawn(|| from.write_all(&sent).unwrap());
        to.read_exact(&mut received).unwrap();
    });
}

const NOTHING: [(Measure, f64); 6] = [
    (Measure::RunNetRx, 0.0),
    (Measure::RunNetTx, 0.0),
    (Measure::RunNetBusy, 0.0),
    (Measure::RunTcpRetransmits, 0.0),
    (Measure::RunLoopbackRx, 0.0),
    (Measure::RunLoopbackTx, 0.0),
];

#[test]
fn loopback_bytes_are_counted_to_the_last_one_and_are_not_the_wires() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut old_one, mut old_other) = pair(&listener);
    pass(&mut old_one, &mut old_other, 50_000);
    let mut readings = Readings::of(&me());
    // What was sent before the baseline does not count.
    pass(&mut old_one, &mut old_other, 1_000);
    let (mut one, mut other) = pair(&listener);
    pass(&mut one, &mut other, 3_000_000);
    pass(&mut other, &mut one, 17);
    let first = readings.next();
    check(&first, &NOTHING[..4]);
    check(
        &first,
        &[
            (Measure::RunLoopbackTx, 3_001_017.0),
            (Measure::RunLoopbackRx, 3_001_017.0),
            (Measure::RunTcpSockets, 4.0),
        ],
    );
    check(&readings.next(), &NOTHING);
    pass(&mut one, &mut other, 5);
    check(
        &readings.next(),
        &[(Measure::RunLoopbackTx, 5.0), (Measure::RunLoopbackRx, 5.0)],
    );
}

#[test]
fn somebody_elses_traffic_is_not_a_sleepers() {
    let sleeper = Command::new(paceline_testkit::load_binary())
        .args(["hold", "sleep"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map(Guard)
        .unwrap();
    let mut readings = Readings::of(&of(sleeper.0.id()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut one, mut other) = pair(&listener);
    for _ in 0..3 {
        pass(&mut one, &mut other, 3_000_000);
        let sample = readings.next();
        check(&sample, &NOTHING);
        check(&sample, &[(Measure::RunTcpSockets, 0.0)]);
        assert!(sample.readings.get(Measure::NodeLoopback).unwrap() > 3e6);
    }
}

/// Sums until nothing is missing: the kernel tells of an end a moment later.
fn sum_of(readings: &mut Readings, measure: Measure, expected: f64) -> f64 {
    let mut sum = 0.0;
    wait_until("the ends are heard of", || {
        sum += readings.next().readings.get(measure).unwrap();
        sum >= expected
    });
    sum + readings.next().readings.get(measure).unwrap()
}

#[test]
fn a_connection_that_ended_between_two_readings_counts_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut one, mut other) = pair(&listener);
    let mut readings = Readings::of(&me());
    readings.next();
    pass(&mut one, &mut other, 70_000);
    drop((one, other));
    let sent = sum_of(&mut readings, Measure::RunLoopbackTx, 70_000.0);
    // The end of a stream counts as a byte.
    assert!((70_000.0..=70_002.0).contains(&sent), "{sent}");
}

#[test]
fn connections_that_were_never_seen_are_the_runs_if_it_listens_for_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut readings = Readings::of(&me());
    readings.next();
    for _ in 0..20 {
        let (mut one, mut other) = pair(&listener);
        pass(&mut one, &mut other, 1_000);
    }
    let received = sum_of(&mut readings, Measure::RunLoopbackRx, 20_000.0);
    assert!((20_000.0..=20_040.0).contains(&received), "{received}");
}

/// A child that ends with the test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two hosts joined by a cable, gone when dropped.
struct Cable([String; 2]);

impl Cable {
    fn new() -> Result<Self, String> {
        let pid = std::process::id();
        let cable = Self([format!("pcl-sock{pid}a"), format!("pcl-sock{pid}b")]);
        let [a, b] = &cable.0;
        ip(&["netns", "add", a])?;
        ip(&["netns", "add", b])?;
        ip(&[
            "link", "add", "eth0", "netns", a, "type", "veth", "peer", "name", "eth0", "netns", b,
        ])?;
        for (host, address) in [(a, "192.0.2.1/24"), (b, "192.0.2.2/24")] {
            ip(&["-n", host, "addr", "add", address, "dev", "eth0"])?;
            ip(&["-n", host, "link", "set", "eth0", "up"])?;
        }
        Ok(cable)
    }

    fn start(&self, host: usize, words: &[&str]) -> Guard {
        let child = Command::new("ip")
            .args(["netns", "exec", &self.0[host]])
            .arg(paceline_testkit::load_binary())
            .arg("hold")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Guard(child)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for host in &self.0 {
            let _ = ip(&["netns", "del", host]);
        }
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let run = Command::new("ip").args(words).output();
    let output = run.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn a_run_in_namespaces_of_its_own_has_its_bytes_on_the_wire() {
    const BYTES: f64 = 4_000_000.0;
    let cable = match Cable::new() {
        Ok(cable) => cable,
        Err(why) => return skipped(why),
    };
    let mut receiver = cable.start(1, &["receive", "192.0.2.2:7777"]);
    let mut output = BufReader::new(receiver.0.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    let mut received = Readings::of(&of(receiver.0.id()));
    received.next();
    let mut sender = cable.start(0, &["send", "192.0.2.2:7777", "4000000"]);
    let mut sent = Readings::of(&Target {
        counted: Counted::FromStart,
        ..of(sender.0.id())
    });
    BufReader::new(sender.0.stdout.take().unwrap())
        .read_line(&mut String::new())
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let sample = sent.next();
    // It may be over before the probe began: then nobody saw the socket.
    if let Some(bytes) = sample.readings.get(Measure::RunNetTx)
        && bytes > 0.0
    {
        assert!(bytes >= BYTES, "{bytes}");
        check(&sample, &[(Measure::RunLoopbackTx, 0.0)]);
    }
    let received = sum_of(&mut received, Measure::RunNetRx, BYTES);
    assert!((BYTES..=BYTES + 1.0).contains(&received), "{received}");
}
