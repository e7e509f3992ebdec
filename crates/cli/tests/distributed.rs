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

/// The sum of a column of `show --iterations --format csv`, by worker.
fn sums(dir: &Path, record: &str, column: &str) -> Vec<f64> {
    let shown = run(dir, ["show", record, "--iterations", "--format=csv"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let mut lines = shown.out.lines();
    let heads: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    let place = |name: &str| {
        heads
            .iter()
            .position(|head| *head == name)
            .expect("a column")
    };
    let (worker, wanted) = (place("worker"), place(column));
    // A worker that completed nothing has no row.
    let mut sums = vec![0.0; 2];
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number: usize = cells[worker].parse().expect("a worker");
        sums[number] += cells[wanted].parse::<f64>().expect("a number");
    }
    sums
}

/// What the workers reported last of themselves under `key`.
fn totals(dir: &Path, record: &str, key: &str) -> Vec<f64> {
    let shown = run(dir, ["show", record, "--format=json"]);
    let whole: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    let workers = whole["workers"].as_array().expect("workers").iter();
    workers
        .map(|worker| worker[key].as_f64().expect("a number"))
        .collect()
}

#[test]
fn every_iteration_of_every_worker_is_in_the_record() {
    let dir = tempfile::tempdir().unwrap();
    for (out, more) in [
        ("bsp", &["--sync=bsp"][..]),
        ("reduced", &["--sync=allreduce"]),
        ("late", &["--sync=backup:1", "--slow=worker1:3x"]),
        (
            "stale",
            &["--sync=async", "--spawn=processes", "--servers=2"],
        ),
    ] {
        let ran = train(dir.path(), out, more);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for column in ["iterations", "dropped"] {
            assert_eq!(
                sums(dir.path(), out, column),
                totals(dir.path(), out, column),
                "{out}"
            );
        }
        for column in [
            "computing_s",
            "waiting_s",
            "sending_s",
            "receiving_s",
            "serialising_s",
            "on_wire_s",
            "queued_s",
            "sent_bytes",
        ] {
            let (rows, all) = (
                sums(dir.path(), out, column),
                totals(dir.path(), out, column),
            );
            for (rows, all) in rows.iter().zip(all) {
                // Reports are rounded to microseconds.
                assert!((rows - all).abs() <= 1e-6, "{out} {column}: {rows} {all}");
            }
        }
        let shown = run(dir.path(), ["show", out, "--iterations"]);
        assert!(shown.out.contains("99th percentile"), "{}", shown.out);
    }
    // Of 400 rows in batches of 8 for two workers, six epochs are 150 steps.
    assert_eq!(sums(dir.path(), "bsp", "iterations"), [150.0, 150.0]);
    let plain = run(dir.path(), ["show", "bsp", "--format=csv"]);
    assert_eq!(plain.code, Some(2), "{}", plain.out);
}

/// One answer to who straggles, wherever it is asked.
#[test]
fn a_worker_that_sleeps_is_named_with_its_cause_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    // Far slower than a busy machine makes any other.
    let ran = train(dir.path(), "slow", &["--slow=worker1:100x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = |words: &[&str]| -> serde_json::Value {
        let told = run(dir.path(), words);
        assert_eq!(told.code, Some(0), "{}", told.err);
        serde_json::from_str(&told.out).unwrap()
    };
    let found = json(&["diagnose", "slow", "--format=json"]);
    assert_eq!(found["version"], 1);
    assert_eq!(found["straggler"]["worker"], 1, "{found}");
    // A busy machine delays whoever wakes up.
    let reason = &found["straggler"]["excess"][0]["reason"];
    assert!(reason == "asleep" || reason == "cpu_share", "{found}");
    assert_eq!(found["what_if"][0]["what"], "no_straggler");
    let shown = json(&["show", "slow", "--format=json"]);
    assert_eq!(shown["straggler"], found["straggler"]);
    let told = run(dir.path(), ["diagnose", "slow"]);
    assert!(told.out.contains("straggler: worker1"), "{}", told.out);
    let wrong = run(dir.path(), ["diagnose", "nobody"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
}

/// A link of 100 kB/s carries the updates of two workers for far longer than they
/// compute: that is the wire's time, not a wait for a peer; and every iteration ends
/// where its parts do.
#[test]
fn time_on_a_slow_link_is_not_waiting_for_a_peer() {
    let dir = tempfile::tempdir().unwrap();
    for sync in ["bsp", "async", "allreduce"] {
        let sync_flag = format!("--sync={sync}");
        let more = [&sync_flag, "--spawn=processes", "--bandwidth=100kB"];
        let ran = train(dir.path(), sync, &more);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let sum = |column| sums(dir.path(), sync, column).iter().sum::<f64>();
        let (wire, waiting) = (sum("on_wire_s"), sum("waiting_s"));
        assert!(wire > 2.0 * waiting, "{sync}: {wire} {waiting}");
        let listed = run(dir.path(), ["show", sync, "--iterations", "--format=json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
        let rows = listed["iterations"].as_array().unwrap();
        let parts = |row: &serde_json::Value| -> f64 {
            let names = [
                "waiting_s",
                "receiving_s",
                "computing_s",
                "sending_s",
                "serialising_s",
                "on_wire_s",
                "queued_s",
            ];
            names.iter().map(|name| row[name].as_f64().unwrap()).sum()
        };
        for worker in [0, 1] {
            let own: Vec<_> = rows.iter().filter(|row| row["worker"] == worker).collect();
            let at = |row: &serde_json::Value| row["elapsed_s"].as_f64().unwrap();
            let (first, last) = (own[0], own[own.len() - 1]);
            let summed: f64 = own.iter().map(|row| parts(row)).sum();
            let passed = at(last) + parts(last) - at(first);
            assert!(
                (summed - passed).abs() <= 0.02 * passed,
                "{summed} {passed}"
            );
        }
    }
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
    let shown = run(dir.path(), ["show", "stormy"]);
    assert!(
        shown.out.contains("worker 1 has ended") && shown.out.contains("server0 goes on from"),
        "{}",
        shown.out
    );
    let report = run(dir.path(), ["report", "stormy"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    let page = std::fs::read_to_string(dir.path().join("stormy.html")).unwrap();
    assert!(page.contains("member_replaced: worker 1 has ended"));
    // It was killed when the trainer heard of step 20, and had not come far.
    let iterations = totals(dir.path(), "stormy", "iterations");
    assert!(iterations[1] >= 100.0, "{iterations:?}");
    let rows = sums(dir.path(), "stormy", "iterations");
    assert!(rows[1] >= 100.0, "{rows:?}");
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
        ("--compress=fp16", "needs workers that are processes"),
        ("--compress=gzip", "no way to compress"),
        ("--slow=worker7:2x", "numbered from 0"),
        ("--slow=worker1", "worker1:2x"),
    ] {
        let ran = train(dir.path(), "r", &[more]);
        assert_eq!(ran.code, Some(2), "{more}: {}", ran.out);
        assert!(ran.err.contains(words), "{more}: {}", ran.err);
    }
    for (more, words) in [
        ("--kill=server0@1s", "have no servers"),
        ("--on-worker-loss=continue", "fewer workers"),
    ] {
        let both = ["--sync=allreduce", "--spawn=processes", more];
        let ran = train(dir.path(), "r", &both);
        assert_eq!(ran.code, Some(2), "{more}: {}", ran.out);
        assert!(ran.err.contains(words), "{more}: {}", ran.err);
    }
}

#[test]
fn a_training_resumes_with_the_compression_it_was_made_with_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let first = train(
        dir.path(),
        "r",
        &["--spawn=processes", "--compress=topk:5%"],
    );
    assert_eq!(first.code, Some(0), "{}", first.err);
    let other = [
        "--spawn=processes",
        "--compress=fp16",
        "--resume=r",
        "--steps=200",
    ];
    let refused = train(dir.path(), "s", &other);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(
        refused.err.contains("--compress topk:5%"),
        "{}",
        refused.err
    );
    let same = ["--spawn=processes", "--compress=topk:5%", "--resume=r"];
    let resumed = train(dir.path(), "t", &same);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let reduced = train(
        dir.path(),
        "u",
        &["--spawn=processes", "--sync=allreduce", "--compress=fp16"],
    );
    assert!(reduced.err.contains("send whole sums"), "{}", reduced.err);
}
