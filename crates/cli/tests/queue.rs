//! `paceline queue` as a user meets it.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Ran, run};

fn queue(args: &str) -> Ran {
    in_dir(Path::new("."), args)
}

fn in_dir(dir: &Path, args: &str) -> Ran {
    run(dir, std::iter::once("queue").chain(args.split_whitespace()))
}

/// What `--format json` says, after a success.
#[track_caller]
fn json(args: &str) -> Value {
    let ran = queue(&format!("{args} --format json"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the output is JSON")
}

#[track_caller]
fn near(value: &Value, expected: f64, tolerance: f64) {
    let found = value.as_f64().expect("a number");
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

/// Paper 002, section IV-B, with its rates per second. The M/M/1 figures are as
/// printed. For M/M/4 the paper prints E[T] = 11.005, which is its arrival rate;
/// its own formula gives 0.5075, and its E[N] = 5.584 agrees with that. Its rates
/// are rounded to four digits, hence the tolerances.
#[test]
fn the_example_of_paper_002_is_reproduced_and_its_slip_is_not() {
    let one = &json("--service 3.085/s --utilisation 0.8")["queues"][0];
    assert_eq!(one["model"], "M/M/1");
    near(&one["arrivals_per_s"], 2.468, 1e-9);
    near(&one["jobs_mean"], 4.0, 1e-9);
    near(&one["response_mean_s"], 4.0 / 2.468, 1e-9);
    let four = &json("--service 3.439/s --utilisation 0.8 --servers 4")["queues"][0];
    assert_eq!(four["model"], "M/M/4");
    near(&four["arrivals_per_s"], 11.005, 5e-4);
    near(&four["response_mean_s"], 0.5075, 5e-4);
    near(&four["jobs_mean"], 5.584, 5e-3);
}

#[test]
fn arrivals_are_a_rate_or_a_time_between_two() {
    let rate = &json("--arrivals 3/min --service 12s")["queues"][0];
    for same in [
        "--every 20s --service 12s",
        "--arrivals 180/h --service 5/min",
    ] {
        let other = &json(same)["queues"][0];
        near(
            &other["response_mean_s"],
            rate["response_mean_s"].as_f64().unwrap(),
            1e-9,
        );
    }
}

#[test]
fn percentiles_are_given_where_they_are_known_and_said_to_be_unknown_elsewhere() {
    let known = &json("--every 20s --service 12s")["queues"][0];
    // One server: exponential with the mean response, 30 s.
    near(&known["response_s"]["p95"], 30.0 * 20.0_f64.ln(), 1e-9);
    let general = queue("--every 5s --service 12s --servers 4 --cv 0.8");
    assert!(general.out.contains("M/G/4"), "{}", general.out);
    assert!(general.out.contains("approximate (Allen and Cunneen)"));
    assert!(general.out.contains("percentiles are unknown"));
    let exact = &json("--every 20s --service 12s --cv 0.8")["queues"][0];
    assert_eq!(exact["exact"], true);
    // Pollaczek and Khinchine: 18 s of waiting times (1 + 0.64) / 2.
    near(&exact["waiting_mean_s"], 18.0 * 0.82, 1e-9);
}

#[test]
fn a_finite_queue_turns_jobs_away_and_is_stable_under_any_load() {
    let loss = &json("--arrivals 2/s --service 1s --servers 2 --capacity 2")["queues"][0];
    assert_eq!(loss["model"], "M/M/2/2");
    near(&loss["loss_probability"], 0.4, 1e-12);
    queue("--arrivals 2/s --service 1s --servers 3 --capacity 2").fails(2, "--capacity");
}

#[test]
fn an_unstable_queue_is_said_to_be_with_the_rate_that_would_do() {
    let ran = queue("--arrivals 6/min --service 12s");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("unstable"), "{}", ran.out);
    assert!(ran.out.contains("below 5 jobs a minute"), "{}", ran.out);
    assert!(!ran.out.contains('-'), "no negative time: {}", ran.out);
    let ran = queue("--arrivals 6/min --service 12s --format json");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(told["queues"][0]["stable"], false);
    near(&told["queues"][0]["stable_below_per_s"], 1.0 / 12.0, 1e-12);
    assert_eq!(queue("--utilisation 1 --service 12s").code, Some(1));
    // One of several numbers of servers suffices.
    let some = queue("--arrivals 6/min --service 12s --servers 1..2");
    assert_eq!(some.code, Some(0), "{}", some.err);
    assert!(some.out.contains("unstable"), "{}", some.out);
}

#[test]
fn a_promise_gives_the_arrivals_that_each_number_of_servers_can_take() {
    let told = json("--service 10s --servers 1..3 --promise 0.95:60s");
    let lines = told["promise"]["capacities"].as_array().expect("a list");
    assert_eq!(lines.len(), 3);
    // One server has a closed form: μ − ln 20 / t.
    let expected = 0.1 - 20.0_f64.ln() / 60.0;
    near(&lines[0]["arrivals_per_s"], expected, 1e-12);
    let one = queue("--service 10s --servers 4 --promise 95%:60s");
    let sentence = "With 4 servers, 95% within 60 s up to";
    assert!(one.out.starts_with(sentence), "{}", one.out);
    let never = queue("--service 30s --promise 0.95:60s");
    assert_eq!(never.code, Some(1), "{}", never.err);
    assert!(never.out.contains("cannot be promised"), "{}", never.out);
}

#[test]
fn jobs_that_circulate_are_analysed_exactly() {
    let told = json("--closed 1 --station cpu=0.12s --station disk=0.03s --think 1s");
    near(&told["round_mean_s"], 1.15, 1e-12);
    // Two jobs, one station: it is always busy.
    let busy = json("--closed 2 --station cpu=500ms");
    near(&busy["throughput_per_s"], 2.0, 1e-12);
    near(&busy["stations"][0]["utilisation"], 1.0, 1e-12);
    queue("--closed 0 --station cpu=1s").fails(2, "at least one job");
    queue("--closed 2").fails(2, "no station");
    queue("--closed 2 --station cpu=0s").fails(2, "no station has a demand above zero");
    queue("--closed 2 --station cpu=1s --station cpu=2s").fails(2, "named twice");
}

#[test]
fn service_is_estimated_from_a_table_and_the_rows_that_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let table = "batch,kind,duration_s\n64,a,10\n64,b,14\n32,a,30\n32,b,nan\n";
    std::fs::write(dir.path().join("t.csv"), table).unwrap();
    let told = in_dir(
        dir.path(),
        "--from t.csv --given batch=64 --every 20s --format json",
    );
    assert_eq!(told.code, Some(0), "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(told["queues"][0]["model"], "M/G/1");
    near(&told["queues"][0]["service_mean_s"], 12.0, 1e-9);
    let variation = 8.0_f64.sqrt() / 12.0;
    near(&told["queues"][0]["service_cv"], variation, 1e-12);
    for (args, what) in [
        ("--from t.csv --given batch=63", "no row has batch = 63"),
        ("--from t.csv --given bach=64", "did you mean `batch`?"),
        ("--from t.csv --given batch=32", "at least 2 are needed"),
        (
            "--from t.csv --service-column kind",
            "does not hold numbers",
        ),
        ("--from absent.csv", "there is no file"),
    ] {
        in_dir(dir.path(), &format!("{args} --every 20s")).fails(2, what);
    }
}

#[test]
fn what_makes_no_queue_is_refused_with_its_place_and_a_hint() {
    for (args, what) in [
        (
            "--arrivals inf/s --service 3s",
            "--arrivals: `inf/s` is not",
        ),
        ("--arrivals -1/s --service 3s", "--arrivals: `-1/s` is not"),
        ("--arrivals 0/s --service 3s", "--arrivals: `0/s` is not"),
        ("--arrivals 3 --service 3s", "--arrivals: `3` is not a rate"),
        ("--every 0s --service 3s", "--every: `0s`"),
        ("--every 3s --service -3s", "--service: `-3s`"),
        ("--every 3s --service nan", "--service: `nan`"),
        ("--every 3s --service 2s --cv -1", "--cv: service cannot"),
        ("--utilisation -0.5 --service 3s", "--utilisation: servers"),
        ("--utilisation nan --service 3s", "--utilisation: servers"),
        ("--service 3s --promise 1:60s", "--promise: 1 is not"),
        ("--service 3s --promise 0.95", "--promise: `0.95` is not"),
        ("--service 3s", "nothing says how many jobs arrive"),
        ("--every 3s", "nothing says how long a job takes"),
    ] {
        let ran = queue(args);
        ran.fails(2, what);
        assert!(ran.err.contains("hint: "), "{args}: {}", ran.err);
        assert!(ran.out.is_empty(), "{args}: {}", ran.out);
    }
    queue("--every 3s --service 2s --servers 0").fails(2, "at least one server");
    queue("--every 3s --service 2s --servers 3..2").fails(2, "ends before it begins");
}
