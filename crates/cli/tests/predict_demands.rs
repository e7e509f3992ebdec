//! The queue predictor takes its demands from recorded samples where there are any.

mod support;

use serde_json::Value;
use std::path::Path;
use support::run;
use tempfile::TempDir;

/// A loop that uses a processor, longer for smaller batches.
fn study() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = r#"
[job]
command = ["awk", "-v", "batch={batch_size}", "-v", "jobs={jobs}", "BEGIN {{ for (i = 0; i < 300000000 / batch; i++) s += i * jobs }}"]
[factors]
batch_size = [300, 600, 1200, 2400]
jobs = [1, 2]
[design]
kind = "full"
[responses]
time = "duration_s"
"#;
    std::fs::write(dir.path().join("s.toml"), study).expect("the study is written");
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    dir
}

fn predict(dir: &Path, table: &[&str]) -> (Value, String) {
    let words = [
        &["predict"],
        table,
        &["--responses", "time", "--predictor", "queue"],
    ]
    .concat();
    let text = run(dir, &words);
    assert_eq!(text.code, Some(0), "{}", text.err);
    let json = run(dir, words.iter().chain(&["--format", "json"]));
    (
        serde_json::from_str(&json.out).expect("the output is JSON"),
        text.out,
    )
}

#[test]
fn samples_are_used_if_there_are_any_and_the_table_if_not() {
    let dir = study();
    let (json, text) = predict(dir.path(), &["s.study"]);
    assert_eq!(json["responses"][0]["queue_demands_from"], "samples");
    assert!(text.contains("from the samples of 8 runs"), "{text}");
    let plain = ["s.study/table.csv", "--factors", "batch_size,jobs"];
    let (json, text) = predict(dir.path(), &plain);
    assert_eq!(json["responses"][0]["queue_demands_from"], "table");
    assert!(text.contains("a plain table has no samples"), "{text}");
}
