//! A pick beside jobs that run already.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Ran, run};
use tempfile::TempDir;

/// Beside `jobs − 1` others a job takes so many times as long.
fn slowdown(jobs: f64) -> f64 {
    1.0 + 0.4 * (jobs - 1.0) + 0.02 * jobs * (jobs - 1.0)
}

fn alone(batch: f64, cpus: f64) -> f64 {
    20.0 + 76_800.0 / batch / cpus
}

/// Two replicates of every combination, within one percent of the law.
fn table() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut text = "batch_size,cpus,side_by_side,time,accuracy\n".to_owned();
    let mut wobble = 0_u32;
    for batch in [64.0, 128.0, 256.0, 512.0_f64] {
        for cpus in [2.0, 4.0] {
            for jobs in [1.0, 2.0, 4.0] {
                for _ in 0..2 {
                    wobble = (wobble * 7 + 3) % 11;
                    let scatter = f64::from(wobble) - 5.0;
                    let time = alone(batch, cpus) * slowdown(jobs) * (1.0 + 0.002 * scatter);
                    let accuracy = 0.98 - 0.01 * (batch / 64.0).log2() + 0.0002 * scatter;
                    text += &format!("{batch},{cpus},{jobs},{time},{accuracy}\n");
                }
            }
        }
    }
    std::fs::write(dir.path().join("runs.csv"), text).expect("the table is written");
    dir
}

const PICK: [&str; 8] = [
    "pick",
    "runs.csv",
    "--factors",
    "batch_size,cpus,side_by_side",
    "--maximize",
    "accuracy",
    "--role",
    "jobs=side_by_side",
];

fn pick(dir: &Path, more: &[&str]) -> Ran {
    run(dir, PICK.iter().chain(more))
}

fn json(dir: &Path, more: &[&str], code: i32) -> Value {
    let ran = pick(dir, &[more, &["--format", "json"]].concat());
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the output is JSON")
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().expect("a number")
}

#[test]
fn the_interference_is_that_of_the_table_and_ends_follow_processor_sharing() {
    let dir = table();
    let job = "name=old,start=-60s,batch_size=128,cpus=4";
    let found = json(
        dir.path(),
        &["--given", "batch_size=256,cpus=4", "--running", job],
        0,
    );
    let interference = &found["interference"];
    assert!(
        (number(interference, "contention") - 0.4).abs() < 0.05,
        "{interference}"
    );
    // Alone for a minute, then both share until the newcomer is done.
    let rate = slowdown(2.0);
    let (old, new) = (&found["jobs"][0], &found["jobs"][1]);
    let newcomer = alone(256.0, 4.0) * rate;
    let left = alone(128.0, 4.0) - 60.0;
    let expected = newcomer + left - alone(256.0, 4.0);
    assert!(
        (number(new, "ends_expected_s") / newcomer - 1.0).abs() < 0.03,
        "{found:#}"
    );
    assert!(
        (number(old, "ends_expected_s") / expected - 1.0).abs() < 0.03,
        "{found:#}"
    );
    assert!(
        (number(old, "ends_without_pick_s") / left - 1.0).abs() < 0.03,
        "{found:#}"
    );
    assert_eq!(old["promise"], "none");
}

#[test]
fn the_pick_breaks_no_promise_that_stands() {
    let dir = table();
    // Alone the old job ends in 261 s; a newcomer of 64 would hold it up by 113 s.
    let job = "start=-60s,batch_size=64,cpus=4,deadline=400s";
    let more = ["--given", "cpus=4", "--running", job];
    let found = json(dir.path(), &more, 0);
    let chosen = number(&found["pick"]["configuration"], "batch_size");
    assert!(chosen > 64.0 && chosen < 512.0, "{found:#}");
    assert_eq!(found["jobs"][0]["promise"], "kept");
    assert!(number(&found["jobs"][0], "ends_latest_s") <= 340.0);
    // Without the promise nothing holds it back.
    let free = json(
        dir.path(),
        &[
            "--given",
            "cpus=4",
            "--running",
            "start=-60s,batch_size=64,cpus=4",
        ],
        0,
    );
    assert_eq!(free["pick"]["configuration"]["batch_size"], 64);
    let text = pick(dir.path(), &more).out;
    assert!(
        text.contains("When jobs end, from now") && text.contains("kept"),
        "{text}"
    );
}

#[test]
fn if_nothing_keeps_every_promise_the_nearest_is_told_and_the_exit_is_one() {
    let dir = table();
    let job = "start=-60s,batch_size=64,cpus=4,deadline=380s";
    let more = ["--given", "batch_size=64,cpus=4", "--running", job];
    let found = json(dir.path(), &more, 1);
    assert_eq!(found["promises_kept"], false);
    assert_eq!(found["jobs"][0]["promise"], "broken");
    let text = pick(dir.path(), &more);
    assert!(
        text.out.contains("No configuration keeps every promise"),
        "{}",
        text.out
    );
    // A promise that nobody can keep any more is not the newcomer's fault.
    let late = "start=-60s,batch_size=64,cpus=4,deadline=100s";
    let found = json(dir.path(), &["--given", "cpus=4", "--running", late], 0);
    assert_eq!(found["jobs"][0]["promise"], "broken anyway");
    // The newcomer's own deadline counts beside the others.
    let slow = [
        "--given",
        "batch_size=512,cpus=4",
        "--slo",
        "70s",
        "--running",
        job,
    ];
    assert_eq!(json(dir.path(), &slow, 1)["jobs"][1]["promise"], "broken");
    // A limit that no configuration keeps even alone is the same outcome.
    let more = ["--limit", "accuracy >= 0.999", "--running", job];
    assert!(
        pick(dir.path(), &more)
            .out
            .contains("Nothing meets the limits")
    );
}

#[test]
fn jobs_can_be_listed_in_a_file() {
    let dir = table();
    let jobs = "name,start,batch_size,cpus,deadline\na,-60,128,4,\nb,-30,256,2,600\n";
    std::fs::write(dir.path().join("jobs.csv"), jobs).unwrap();
    let found = json(
        dir.path(),
        &["--given", "cpus=4", "--slo", "10m", "--running", "jobs.csv"],
        0,
    );
    let jobs = found["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().filter_map(|job| job["name"].as_str()).collect();
    assert_eq!(names, ["a", "b", "the pick"]);
    assert_eq!(
        (number(&jobs[0], "start_s"), &jobs[0]["promised_s"]),
        (-60.0, &Value::Null)
    );
    assert_eq!(number(&jobs[1], "promised_s"), 570.0);
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let dir = table();
    let check = |more: &[&str], what: &str| pick(dir.path(), more).fails(2, what);
    check(
        &["--running", "batch_size=64"],
        "does not say when it started",
    );
    check(
        &["--running", "start=-9s,batch_size=64"],
        "factor `cpus` is not set",
    );
    check(
        &["--running", "start=-9s,batch_size=64,cpu=4"],
        "there is no factor `cpu`",
    );
    check(
        &["--running", "start=then,batch_size=64"],
        "`then` is no start",
    );
    check(&["--running", "absent.csv"], "there is no file");
    check(&["--contention", "1"], "--running");
    let job = ["--running", "start=-9s,batch_size=64,cpus=4"];
    check(
        &[&job[..], &["--contention=-1"]].concat(),
        "not zero or more",
    );
    check(
        &[&job[..], &["--suggest", "1"]].concat(),
        "cannot be used with",
    );
    // Without the role nobody knows that jobs ran side by side.
    let words: Vec<&str> = PICK[..6].iter().chain(&job).copied().collect();
    let words = [&words[..], &["--given", "side_by_side=1"]].concat();
    run(dir.path(), words).fails(2, "--contention 1 is a fair share");
}
