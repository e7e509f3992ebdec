//! `paceline compare` and `run --repeat`: real commands, real records.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;
use support::{paceline, run, signal};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A command that reports a value and takes a line in `ran`.
fn says(value: u32) -> String {
    format!("echo x >> ran; echo '{{\"value\": {value}}}'")
}

fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn two_commands_are_run_in_turn_and_what_differs_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (says(1), says(2));
    let args = [
        "compare", "--repeat", "7", "--warmup", "1", "--format", "json", "--page", "c.html",
    ];
    let commands = ["--", "sh", "-c", &a, "---", "sh", "-c", &b];
    let ran = run(dir.path(), args.iter().chain(&commands));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(lines_of(&dir.path().join("ran")), 16);
    let answer = json(&ran.out);
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["groups"][0]["done"], 7);
    assert_eq!(answer["groups"][1]["done"], 7);
    assert_eq!(answer["time"][0]["counts"], serde_json::json!([7, 7]));
    let moved = answer["moved"].as_array().unwrap();
    let value = moved
        .iter()
        .find(|one| one["quantity"] == "metric:value")
        .unwrap();
    assert_eq!(value["finding"], "differs");
    assert_eq!(value["ratio"], 2.0);
    // In every round both commands were run, one after the other.
    let series = answer["source"].as_str().unwrap();
    let mut started: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(dir.path().join(series)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Ok(manifest) = fs::read_to_string(path.join("manifest.json")) {
            let started_at = json(&manifest)["started"].as_str().unwrap().to_owned();
            started.push((started_at, name));
        }
    }
    started.sort();
    assert_eq!(started.len(), 16);
    for round in started.chunks(2) {
        let of = |at: usize| round[at].1.split('-').next().unwrap().to_owned();
        assert_eq!(of(0), of(1), "{started:?}");
    }
    let page = fs::read_to_string(dir.path().join("c.html")).unwrap();
    assert!(
        page.contains("id=\"overlay\"") && page.contains("beside"),
        "no overlay"
    );
    // The same directory again, from its records alone.
    let again = run(dir.path(), ["compare", series]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.out.contains("value +100.0%"), "{}", again.out);
    assert_eq!(lines_of(&dir.path().join("ran")), 16);
}

#[test]
fn a_comparison_that_is_killed_goes_on_and_counts_no_half_run() {
    let dir = tempfile::tempdir().unwrap();
    // The fourth run waits for somebody to kill Paceline.
    let waits = "echo x >> ran; [ $(wc -l < ran) -ne 4 ] || [ -e go ] || { touch waiting; exec sleep 600; }";
    let args = [
        "compare", "--repeat", "3", "--warmup", "0", "--format", "json", "--", "sh", "-c", waits,
        "---", "sh", "-c", waits,
    ];
    let mut first = paceline(dir.path(), args)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let waiting = dir.path().join("waiting");
    // Two minutes are for ever.
    for _ in 0..2400 {
        if waiting.exists() {
            break;
        }
        assert!(first.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(waiting.exists(), "the fourth run does not come");
    signal(first.id(), "KILL");
    first.wait().unwrap();
    fs::write(dir.path().join("go"), "").unwrap();
    let ran = run(dir.path(), args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("where 3 of 6 runs are done"),
        "{}",
        ran.err
    );
    let answer = json(&ran.out);
    assert_eq!(answer["groups"][0]["done"], 3);
    assert_eq!(answer["groups"][1]["done"], 3);
    // Seven starts: the one that was killed is in no group.
    assert_eq!(lines_of(&dir.path().join("ran")), 7);
    // Ended: the same command begins anew.
    let anew = run(dir.path(), args);
    assert_eq!(anew.code, Some(0), "{}", anew.err);
    assert!(!anew.err.contains("goes on with"), "{}", anew.err);
    assert_eq!(lines_of(&dir.path().join("ran")), 13);
}

#[test]
fn one_run_against_one_says_what_cannot_be_known() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        assert_eq!(
            run(dir.path(), ["run", "-q", "--out", name, "--", "true"]).code,
            Some(0)
        );
    }
    let ran = run(dir.path(), ["compare", "a", "b"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("cannot be known"), "{}", ran.out);
    let ran = run(dir.path(), ["compare", "a", "b", "--format", "json"]);
    assert_eq!(json(&ran.out)["time"][0]["finding"], "unknown");
    assert_eq!(json(&ran.out)["time"][0]["welch"], Value::Null);
}

#[test]
fn a_command_is_repeated_and_summed_up() {
    let dir = tempfile::tempdir().unwrap();
    let says = says(5);
    let args = [
        "run", "--repeat", "3", "--warmup", "1", "--out", "r", "--", "sh", "-c", &says,
    ];
    let ran = run(dir.path(), args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 4, "{}", ran.out);
    assert!(
        ran.err.contains("3 runs done") && ran.err.contains("paceline compare r OTHER"),
        "{}",
        ran.err
    );
    let json_args = [
        "run", "--repeat", "2", "--out", "s", "--format", "json", "--", "sh", "-c", &says,
    ];
    let told = json(&run(dir.path(), json_args).out);
    assert_eq!((&told["version"], &told["done"]), (&1.into(), &2.into()));
    assert_eq!(told["quantities"]["metric:value"]["mean"], 5.0);
    // The directories of both are groups of runs.
    let ran = run(dir.path(), ["compare", "r", "s", "--format", "json"]);
    assert_eq!(
        json(&ran.out)["time"][0]["counts"],
        serde_json::json!([3, 2]),
        "{}",
        ran.err
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    run(path, ["compare"]).fails(2, "nothing to compare");
    run(path, ["compare", "nowhere", "b"]).fails(2, "there is no run `nowhere`");
    run(path, ["compare", "--", "true"]).fails(2, "needs two commands");
    run(path, ["compare", "--", "true", "---"]).fails(2, "needs two commands");
    run(path, ["compare", "--", "no-such-program", "---", "true"]).fails(2, "no-such-program");
    assert!(!path.join("runs").exists());
    run(path, ["run", "--repeat", "0", "true"]).fails(2, "--repeat");
    run(path, ["run", "--warmup", "1", "true"]).fails(2, "--repeat");
    // A run that fails ends the comparison; it is no measurement.
    let failing = [
        "compare", "-q", "--repeat", "2", "--out", "f", "--", "true", "---", "false",
    ];
    run(path, failing).fails(1, "failed with exit code 1");
    let ignored = [
        "compare",
        "-q",
        "--repeat",
        "2",
        "--out",
        "g",
        "--ignore-failures",
    ];
    let ignored = ignored.iter().chain(&["--", "true", "---", "false"]);
    run(path, ignored).fails(2, "no run of B");
    // Another question does not get the records of this one.
    let other = [
        "compare", "-q", "--repeat", "2", "--out", "f", "--", "true", "---", "true",
    ];
    run(path, other).fails(2, "other commands or conditions");
    // What is damaged is not believed.
    let series = path.join("f/series.json");
    let text = fs::read_to_string(&series)
        .unwrap()
        .replace("\"repeat\": 2", "\"repeat\": 3");
    fs::write(&series, text).unwrap();
    run(path, ["compare", "f"]).fails(4, "series.json is damaged");
}

#[test]
fn the_runs_of_a_study_are_grouped_by_what_they_do() {
    let dir = tempfile::tempdir().unwrap();
    let study = r#"
[job]
command = ["sh", "-c", '''printf '\173"value": %s\175\n' "$1"''', "sh", "{x}00"]
[factors]
x = [1, 2]
[design]
kind = "full"
replicates = 4
[responses]
value = "value"
"#;
    fs::write(dir.path().join("s.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = run(dir.path(), ["runs", "s.toml", "--format", "json"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let answer = json(&told.out);
    assert_eq!(
        (&answer["version"], &answer["runs"]),
        (&1.into(), &8.into())
    );
    let quantities = answer["quantities"].as_array().unwrap();
    assert!(quantities.contains(&"value".into()) && quantities.contains(&"duration_s".into()));
    let text = run(dir.path(), ["runs", "s.toml"]);
    assert!(text.out.contains("8 runs"), "{}", text.out);
    run(dir.path(), ["runs", "nowhere"]).fails(2, "nowhere");
}
