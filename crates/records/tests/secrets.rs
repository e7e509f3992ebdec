//! What must be caught and what must be left alone: `oracle/secrets.json`.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

use paceline_records::redact;
use serde_json::Value;

fn cases(kind: &str) -> Vec<Value> {
    let text = include_str!("../oracle/secrets.json");
    let all: Value = serde_json::from_str(text).unwrap();
    all[kind].as_array().unwrap().clone()
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().unwrap().iter();
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

/// The case before and after.
fn redacted(case: &Value) -> (Vec<String>, Vec<String>) {
    if case["env"].is_array() {
        let before = words(&case["env"]);
        let after = vec![before[0].clone(), redact::assigned(&before[0], &before[1])];
        return (before, after);
    }
    let before = words(&case["argv"]);
    let after = redact::argv(&before);
    (before, after)
}

#[test]
fn every_secret_of_the_list_is_redacted() {
    let secrets = cases("secrets");
    assert_eq!(secrets.len(), 100);
    let kept: Vec<String> = secrets
        .iter()
        .filter_map(|case| {
            let (_, after) = redacted(case);
            let secret = case["secret"].as_str().unwrap();
            let kept = after.iter().any(|word| word.contains(secret));
            kept.then(|| format!("{after:?}"))
        })
        .collect();
    assert!(kept.is_empty(), "{} kept:\n{}", kept.len(), kept.join("\n"));
}

#[test]
fn everything_harmless_of_the_list_is_left_alone() {
    let harmless = cases("harmless");
    assert_eq!(harmless.len(), 100);
    let changed: Vec<String> = harmless
        .iter()
        .filter_map(|case| {
            let (before, after) = redacted(case);
            (before != after).then(|| format!("{before:?} -> {after:?}"))
        })
        .collect();
    assert!(
        changed.is_empty(),
        "{} changed:\n{}",
        changed.len(),
        changed.join("\n")
    );
}
