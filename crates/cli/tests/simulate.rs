//! `paceline simulate`: trainings on clusters that exist on paper.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::run;

fn answer(dir: &std::path::Path, words: &str) -> Value {
    let words = words.split_whitespace().chain(["--format", "json"]);
    let ran = run(dir, words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["simulated"], true);
    answer
}

fn cases(dir: &std::path::Path, words: &str) -> Vec<Value> {
    answer(dir, words)["cases"].as_array().unwrap().clone()
}

#[test]
fn every_combination_is_a_case_and_a_seed_gives_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let words = "simulate --compute 10ms --variation 0.3 --size 1MB --bandwidth 100MB \
                 --workers 1,8 --servers 1,2 --sync bsp,async,allreduce --iterations 30 --updates 1000";
    let found = cases(dir.path(), words);
    // Without a server their number makes no difference.
    assert_eq!(found.len(), 2 * 2 * 2 + 2);
    assert_eq!(found, cases(dir.path(), words));
    for case in &found {
        let shares = ["computing_share", "waiting_share", "communicating_share"];
        let sum: f64 = shares
            .iter()
            .map(|share| case[*share].as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-9, "{case}");
        let updates = case["updates_per_s"].as_f64().unwrap();
        let to_target = case["seconds_to_target"].as_f64().unwrap();
        assert!((updates * to_target / 1000.0 - 1.0).abs() < 1e-9, "{case}");
    }
    let other = cases(dir.path(), &format!("{words} --seed 9"));
    assert_ne!(found, other);
}

#[test]
fn a_record_gives_computing_times_and_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let train = "train softmax --data mnist:2000 --epochs 2 --workers 2 --spawn threads \
                 --sync bsp --quiet --out record";
    let ran = run(dir.path(), train.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let words = "simulate --from record --workers 2,64 --sync bsp --placement machine:2";
    let found = answer(dir.path(), words);
    let mean = found["measured"]["computing_mean_s"].as_f64().unwrap();
    assert_eq!(found["measured"]["workers"], 2);
    for case in found["cases"].as_array().unwrap() {
        // Two cores compute no faster than that; a third is for the luck of the draws.
        let updates = case["updates_per_s"].as_f64().unwrap();
        assert!(updates > 0.0 && updates < 1.3 * 2.0 / mean, "{found}");
    }
    run(dir.path(), ["run", "-q", "--out", "plain", "--", "true"]);
    run(dir.path(), ["simulate", "--from", "plain"]).fails(2, "has no iterations of workers");
}

#[test]
fn what_is_no_cluster_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (words, said) in [
        ("--workers 4", "--compute"),
        (
            "--compute 1ms --size 1MB --workers 0",
            "at least one worker",
        ),
        (
            "--compute 1ms --size 1MB --servers 0",
            "the number of servers is 0",
        ),
        (
            "--compute 1ms --size 1MB --slow 99:2",
            "there is no worker 99",
        ),
        ("--compute 1ms --size 1MB --slow 1:-2", "must be above zero"),
        ("--compute 1ms --size 1MB --variation -1", "must be"),
        ("--compute 1ms --size 1MB --variation nan", "must be"),
        (
            "--compute 1ms --size 1MB --bandwidth 0",
            "it must be above zero",
        ),
        ("--compute 1ms --size 1MB --iterations 1", "at least two"),
        (
            "--compute 1ms --size 1MB --iterations 4000000000",
            "lower --iterations",
        ),
        (
            "--compute 1ms --size 1MB --workers 4000000000 --iterations 2",
            "lower --iterations",
        ),
        (
            "--compute 1ms --size 1MB --placement machine:0",
            "the number of cores is 0",
        ),
        (
            "--compute 1ms --size 1MB --placement there",
            "not apart, beside or machine:CORES",
        ),
        (
            "--compute 1ms --size 1MB --sync hogwild",
            "did you mean `async`?",
        ),
        (
            "--compute 1ms --size 1MB --updates 5 --staleness-cost -1",
            "is no share of the updates",
        ),
        (
            "--compute 1ms --size 1MB --sync allreduce --lose-every 1s",
            "neither losses nor later joins",
        ),
    ] {
        let words: Vec<&str> = ["simulate"]
            .into_iter()
            .chain(words.split_whitespace())
            .collect();
        run(dir.path(), words).fails(2, said);
    }
}
