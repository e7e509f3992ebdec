use super::*;
use paceline_numeric::Chance;
use paceline_records::WallTime;
use std::time::{Duration, SystemTime};

fn run(at: u64, values: &[(&str, Kind, f64)]) -> Measured {
    let values = values.iter().map(|(key, kind, value)| {
        let quantity = Quantity {
            key: (*key).to_owned(),
            name: (*key).to_owned(),
            kind: *kind,
            unit: Unit::Number,
        };
        ((*key).to_owned(), (quantity, *value))
    });
    Measured {
        id: format!("r{at}"),
        started: WallTime::from(SystemTime::UNIX_EPOCH + Duration::from_secs(at)),
        verdict: Verdict::Done,
        outcome: "done".to_owned(),
        machine: "m".to_owned(),
        disturbed: Vec::new(),
        values: values.collect(),
    }
}

fn group(label: &str, from: u64, times: &[f64]) -> Group {
    let runs = times.iter().zip(from..);
    Group {
        label: label.to_owned(),
        what: label.to_owned(),
        runs: runs
            .map(|(time, at)| {
                run(
                    at,
                    &[
                        ("duration_s", Kind::Time, *time),
                        ("cpu_s", Kind::Resource, time * 0.5),
                    ],
                )
            })
            .collect(),
    }
}

const A: [f64; 6] = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8];

#[test]
fn what_is_apart_differs_and_what_is_not_does_not() {
    let slower: Vec<f64> = A.iter().map(|time| time * 1.3).collect();
    let answer = compare(vec![group("A", 0, &A), group("B", 0, &slower)], true).unwrap();
    assert_eq!(answer.times[0].finding, Finding::Differs);
    assert!((answer.times[0].change().unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(answer.others[0].finding, Finding::Differs);
    assert!(answer.cautions.is_empty(), "{:?}", answer.cautions);
    let same = compare(vec![group("A", 0, &A), group("B", 0, &A)], true).unwrap();
    assert_eq!(same.times[0].finding, Finding::NotShown);
}

#[test]
fn one_run_against_one_says_that_nothing_can_be_known() {
    let answer = compare(vec![group("A", 0, &[1.0]), group("B", 9, &[9.0])], true).unwrap();
    assert_eq!(answer.times[0].finding, Finding::Unknown);
    assert!(answer.times[0].welch.is_none() && answer.times[0].ranks.is_none());
    assert!(answer.cautions[0].contains("cannot be known from one run"));
    // Nor does one run against many.
    let answer = compare(vec![group("A", 0, &A), group("B", 9, &[90.0])], true).unwrap();
    assert_eq!(answer.times[0].finding, Finding::Unknown);
}

#[test]
fn three_of_each_are_too_few_and_an_outlier_decides_nothing() {
    let answer = compare(
        vec![
            group("A", 0, &[1.0, 1.01, 1.02]),
            group("B", 0, &[2.0, 2.01, 2.02]),
        ],
        true,
    )
    .unwrap();
    assert_eq!(answer.times[0].finding, Finding::Disagree);
    assert!(answer.cautions[0].contains("at least 4"));
    let mut outlier = A;
    outlier[0] = 100.0;
    let answer = compare(vec![group("A", 0, &A), group("B", 0, &outlier)], true).unwrap();
    assert_ne!(answer.times[0].finding, Finding::Differs);
}

#[test]
fn equal_commands_rarely_differ_however_many_there_are() {
    // Of 300 comparisons of four equal commands each, the family's error rate is
    // 5%: 99.99% of such experiments have fewer than 31 false findings.
    let mut chance = Chance::new(3, 0);
    let mut found = 0;
    for _ in 0..300 {
        let groups = (0..4).map(|i| {
            let times: Vec<f64> = (0..8).map(|_| 10.0 + chance.normal()).collect();
            group(&i.to_string(), 0, &times)
        });
        let answer = compare(groups.collect(), true).unwrap();
        let differs = |compared: &Compared| compared.finding == Finding::Differs;
        found += usize::from(answer.times.iter().any(differs));
    }
    assert!(found < 31, "{found}");
}

#[test]
fn order_failures_and_machines_are_said() {
    let slower: Vec<f64> = A.iter().map(|time| time * 1.3).collect();
    let mut late = group("B", 1000, &slower);
    late.runs[5].verdict = Verdict::Failed;
    late.runs[0].machine = "n".to_owned();
    late.runs[1].disturbed = vec!["x".to_owned()];
    let answer = compare(vec![group("A", 0, &A), late], false).unwrap();
    assert_eq!(answer.times[0].counts, (6, 5));
    let all = answer.cautions.join("\n");
    for said in [
        "1 of 6 runs of B failed",
        "All runs of A came before",
        "different machines",
        "1 of 5 runs of B were disturbed",
    ] {
        assert!(all.contains(said), "{said}: {all}");
    }
    let interleaved = compare(vec![group("A", 0, &A), group("B", 3, &slower)], false).unwrap();
    assert!(
        interleaved.cautions.is_empty(),
        "{:?}",
        interleaved.cautions
    );
}

#[test]
fn a_group_without_a_done_run_and_a_single_group_are_refused() {
    assert!(matches!(
        compare(vec![group("A", 0, &A)], true),
        Err(CompareError::TooFew(1))
    ));
    let mut failed = group("B", 0, &[1.0]);
    failed.runs[0].verdict = Verdict::Failed;
    assert!(matches!(
        compare(vec![group("A", 0, &A), failed], true),
        Err(CompareError::NoneDone { .. })
    ));
}

#[test]
fn json_has_a_version_and_says_what_was_found() {
    let slower: Vec<f64> = A.iter().map(|time| time * 1.3).collect();
    let answer = compare(vec![group("A", 0, &A), group("B", 0, &slower)], true).unwrap();
    let json = answer.json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["time"][0]["finding"], "differs");
    assert_eq!(json["groups"][1]["done"], 6);
}
