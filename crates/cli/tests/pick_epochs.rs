//! The number of epochs as a variable, from what recorded runs reported.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Ran, run};
use tempfile::TempDir;

/// Larger batches are quicker and learn more slowly; the law is in the script.
const STUDY: &str = r#"
[job]
command = ["sh", "train.sh", "{batch_size}", "{seed}"]
[factors]
batch_size = [64, 128, 256, 512, 1024]
[design]
kind = "full"
replicates = 2
[responses]
time = "seconds"
accuracy = "accuracy"
"#;

/// Twelve epochs, the first of which is called `first`.
fn script(first: u32) -> String {
    format!(
        r#"awk -v batch="$1" -v seed="$2" 'BEGIN {{
    srand(seed)
    for (epoch = 1; epoch <= 12; epoch++) {{
        seconds = 4 + epoch * (2 + 960 / batch) * (1 + 0.02 * rand())
        end = 0.97 - 0.00002 * batch
        accuracy = end - (0.2 + 0.0003 * batch) * epoch ^ -0.8 + 0.004 * (rand() - 0.5)
        printf "{{\"epoch\": %d, \"accuracy\": %.4f, \"seconds\": %.2f}}\n",
            epoch - 1 + {first}, accuracy, seconds
    }}
}}'"#
    )
}

fn true_seconds(batch: f64, epochs: f64) -> f64 {
    4.0 + epochs * (2.0 + 960.0 / batch) * 1.01
}

fn true_accuracy(batch: f64, epochs: f64) -> f64 {
    0.97 - 0.00002 * batch - (0.2 + 0.0003 * batch) * epochs.powf(-0.8)
}

/// A study that has been run.
fn study(script: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("s.toml"), STUDY).expect("the study is written");
    std::fs::write(dir.path().join("train.sh"), script).expect("the script is written");
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    dir
}

fn json(dir: &Path, words: &[&str]) -> Value {
    let ran = run(dir, words.iter().chain(&["--format", "json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the output is JSON")
}

const PICK: [&str; 4] = ["pick", "s.study", "--maximize", "accuracy"];

fn pick(dir: &Path, more: &[&str]) -> Ran {
    run(dir, PICK.iter().chain(more))
}

#[test]
fn batch_size_and_epochs_are_picked_together() {
    let dir = study(&script(1));
    let words = [&PICK[..], &["--slo", "60s", "--epochs-free"]].concat();
    let found = json(dir.path(), &words);
    assert_eq!(found["runs"], 10);
    assert_eq!(found["considered"], 60);
    let at = &found["verdict"]["pick"]["configuration"];
    let (batch, epochs) = (
        at["batch_size"].as_f64().unwrap(),
        at["epochs"].as_f64().unwrap(),
    );
    assert!(true_seconds(batch, epochs) <= 60.0, "{at}");
    // No other configuration that keeps the limit comfortably is better by 1%.
    let batches = [64.0, 128.0, 256.0, 512.0, 1024.0];
    let all = batches
        .iter()
        .flat_map(|&b| (1..=12).map(move |e| (b, f64::from(e))));
    let possible = all
        .filter(|&(b, e)| true_seconds(b, e) <= 57.0)
        .map(|(b, e)| true_accuracy(b, e))
        .fold(0.0, f64::max);
    assert!(true_accuracy(batch, epochs) >= 0.99 * possible, "{at}");
    // All twelve epochs of a configuration that is as quick learn less.
    assert!(true_accuracy(batch, epochs) > true_accuracy(512.0, 12.0));
}

#[test]
fn more_epochs_than_were_run_are_considered_when_asked_and_flagged() {
    let dir = study(&script(1));
    let words = [&PICK[..], &["--slo", "300s", "--epochs-free=30"]].concat();
    let found = json(dir.path(), &words);
    let picked = &found["verdict"]["pick"];
    let accuracy = &picked["responses"]["accuracy"];
    assert_eq!(accuracy["extrapolated"], true, "{picked:#}");
    let epochs = picked["configuration"]["epochs"].as_f64().unwrap();
    let batch = picked["configuration"]["batch_size"].as_f64().unwrap();
    assert!(epochs > 12.0 && epochs <= 30.0);
    let off = accuracy["value"].as_f64().unwrap() - true_accuracy(batch, epochs);
    assert!(off.abs() < 0.005, "{picked:#}");
    let text = pick(dir.path(), &["--slo", "300s", "--epochs-free=30"]).out;
    assert!(text.contains("outside what was run"), "{text}");
    pick(dir.path(), &["--epochs-free=37"]).fails(2, "--epochs-free=36 at most");
}

#[test]
fn epochs_that_are_counted_from_zero_are_counted_from_one() {
    let dir = study(&script(0));
    let found = json(dir.path(), &["predict", "s.study", "--curve"]);
    let curves = &found["curves"];
    assert_eq!(curves["run_up_to"], 12.0);
    assert_eq!(curves["counted_from_zero_by_runs"], true);
    let accuracy = &curves["responses"][1];
    assert_eq!(accuracy["shape"], "levels_off");
    assert!((accuracy["rate"].as_f64().unwrap() - 0.8).abs() < 0.05);
    assert_eq!(curves["responses"][0]["shape"], "grows");
    for at in accuracy["configurations"].as_array().unwrap() {
        let batch = at["configuration"]["batch_size"].as_f64().unwrap();
        let end = at["curve"]["asymptote"].as_f64().unwrap();
        assert!((end - (0.97 - 0.00002 * batch)).abs() < 0.02, "{at:#}");
        assert_eq!(at["points"].as_array().unwrap().len(), 12);
    }
}

#[test]
fn a_configuration_and_a_number_of_epochs_are_predicted_from_the_curves() {
    let dir = study(&script(1));
    let words = [
        "predict",
        "s.study",
        "--curve",
        "--responses",
        "accuracy",
        "--at",
        "batch_size=200,epochs=20",
    ];
    let found = json(dir.path(), &words);
    let accuracy = &found["predictions"][0]["responses"]["accuracy"];
    let truth = true_accuracy(200.0, 20.0);
    let value = |key: &str| accuracy[key].as_f64().unwrap();
    assert!((value("value") - truth).abs() < 0.005, "{accuracy}");
    assert!(value("low") < truth && truth < value("high"), "{accuracy}");
    let text = run(dir.path(), words).out;
    assert!(text.contains("accuracy levels off"), "{text}");
}

#[test]
fn a_pick_says_when_the_epochs_could_be_free() {
    let dir = study(&script(1));
    let ran = pick(dir.path(), &["--slo", "60s"]);
    assert!(ran.err.contains("--epochs-free"), "{}", ran.err);
    let ran = pick(dir.path(), &["--slo", "60s", "--epochs-free"]);
    assert!(!ran.err.contains("hint:"), "{}", ran.err);
}

#[test]
fn runs_that_did_not_report_their_epochs_say_how_to() {
    let dir = study("echo '{\"accuracy\": 0.9, \"seconds\": 3}'");
    pick(dir.path(), &["--epochs-free"]).fails(2, "{\"epoch\": 1, \"accuracy\": 0.9}");
    let ran = pick(dir.path(), &["--predictor", "linear"]);
    assert!(!ran.err.contains("--epochs-free"), "{}", ran.err);

    let dir = study("for e in 1 2 3; do echo \"{\\\"epoch\\\": $e, \\\"seconds\\\": 3}\"; done");
    pick(dir.path(), &["--epochs-free"]).fails(2, "none of the 10 runs");
}

#[test]
fn a_plain_table_has_no_epochs() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.csv"), "x,time\n1,2\n2,3\n").unwrap();
    let words = [
        "pick",
        "t.csv",
        "--factors",
        "x",
        "--minimize",
        "time",
        "--epochs-free",
    ];
    run(dir.path(), words).fails(2, "name the directory of a study");
}
