//! `paceline train --workers`: threads, processes, losses, and the record.

mod support;

use paceline_train::{Numbers, TensorFile};
use std::path::Path;
use support::run;

/// Rows that a test learns in a blink.
const BLOBS: &str = "--data=synthetic:blobs,rows=400,test=200,width=16,classes=3,seed=2";

/// The numbers of a run's checkpoint, as bits.
fn bits(record: &Path) -> Vec<u32> {
    let path = record.join("checkpoint/model.safetensors");
    let file = TensorFile::read(&path).expect("a checkpoint");
    let mut bits = Vec::new();
    for tensor in file.tensors.values() {
        let Numbers::F32(values) = &tensor.numbers else {
            panic!("parameters are of single precision");
        };
        bits.extend(values.iter().map(|value| value.to_bits()));
    }
    bits
}

fn train(dir: &Path, out: &str, more: &[&str]) -> support::Ran {
    let out = format!("--out={out}");
    let mut words = vec![
        "train",
        "mlp:16",
        BLOBS,
        "--batch-size=8",
        "--threads=1",
        "--epochs=6",
        "--workers=2",
        &out,
    ];
    words.extend_from_slice(more);
    run(dir, words)
}

#[test]
fn threads_and_processes_leave_the_same_checkpoint_and_say_who_waited() {
    let dir = tempfile::tempdir().unwrap();
    let threads = train(dir.path(), "threads", &[]);
    assert_eq!(threads.code, Some(0), "{}", threads.err);
    let processes = train(
        dir.path(),
        "processes",
        &["--spawn=processes", "--servers=2"],
    );
    assert_eq!(processes.code, Some(0), "{}", processes.err);
    assert!(
        processes.out.contains("all epochs done"),
        "{}",
        processes.out
    );
    assert!(bits(&dir.path().join("threads")) == bits(&dir.path().join("processes")));
    let shown = run(dir.path(), ["show", "processes"]);
    assert!(
        shown.out.contains("worker1") && shown.out.contains("mostly for"),
        "{}",
        shown.out
    );
}

#[test]
fn a_training_outlives_a_killed_worker_and_a_killed_server() {
    let dir = tempfile::tempdir().unwrap();
    let calm = train(dir.path(), "calm", &["--eval-every=10"]);
    assert_eq!(calm.code, Some(0), "{}", calm.err);
    let ran = train(
        dir.path(),
        "stormy",
        &[
            "--eval-every=10",
            "--spawn=processes",
            "--checkpoint-every=10",
            "--kill=worker1@step20",
            "--kill=server0@step50",
        ],
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("worker 1 has ended"), "{}", ran.out);
    assert!(ran.out.contains("server0 goes on from step"), "{}", ran.out);
    assert!(bits(&dir.path().join("calm")) == bits(&dir.path().join("stormy")));
}

#[test]
fn processes_without_a_server_leave_the_checkpoint_of_threads_also_if_one_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let calm = train(dir.path(), "calm", &["--sync=allreduce", "--eval-every=10"]);
    assert_eq!(calm.code, Some(0), "{}", calm.err);
    let ran = train(
        dir.path(),
        "stormy",
        &[
            "--sync=allreduce",
            "--eval-every=10",
            "--spawn=processes",
            "--kill=worker0@step20",
            "--kill=worker1@step60",
        ],
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("worker 0 has ended"), "{}", ran.out);
    assert!(ran.out.contains("go on together from step"), "{}", ran.out);
    assert!(bits(&dir.path().join("calm")) == bits(&dir.path().join("stormy")));
    let shown = run(dir.path(), ["show", "stormy"]);
    assert!(shown.out.contains("worker1"), "{}", shown.out);
}

/// A port that nobody listens on at this moment.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    listener.local_addr().expect("it is bound").port()
}

#[test]
fn processes_without_a_server_meet_by_tcp_too() {
    let dir = tempfile::tempdir().unwrap();
    let threads = train(dir.path(), "threads", &["--sync=allreduce"]);
    assert_eq!(threads.code, Some(0), "{}", threads.err);
    let port = free_port();
    let at = format!("--at=tcp://127.0.0.1:{port}");
    let processes = train(
        dir.path(),
        "processes",
        &["--sync=allreduce", "--spawn=processes", &at, "--tls"],
    );
    assert_eq!(processes.code, Some(0), "{}", processes.err);
    assert!(bits(&dir.path().join("threads")) == bits(&dir.path().join("processes")));
}

#[test]
fn a_training_that_must_not_lose_a_worker_ends_with_the_worlds_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let ran = train(
        dir.path(),
        "r",
        &[
            "--eval-every=10",
            "--spawn=processes",
            "--on-worker-loss=fail",
            "--kill=worker1@step20",
        ],
    );
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("worker 1 is lost"), "{}", ran.err);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    for (more, words) in [
        ("--sync=dist_sync", "did you mean `bsp`"),
        ("--sync=backup:2", "needs more than 2 workers"),
        ("--delay=1ms", "needs workers that are processes"),
        ("--slow=worker7:2x", "numbered from 0"),
        ("--slow=worker1", "worker1:2x"),
    ] {
        let ran = train(dir.path(), "r", &[more]);
        assert_eq!(ran.code, Some(2), "{more}: {}", ran.out);
        assert!(ran.err.contains(words), "{more}: {}", ran.err);
    }
    for (more, words) in [
        ("--kill=server0@1s", "have no servers"),
        ("--on-worker-loss=continue", "none of all"),
    ] {
        let both = ["--sync=allreduce", "--spawn=processes", more];
        let ran = train(dir.path(), "r", &both);
        assert_eq!(ran.code, Some(2), "{more}: {}", ran.out);
        assert!(ran.err.contains(words), "{more}: {}", ran.err);
    }
}
