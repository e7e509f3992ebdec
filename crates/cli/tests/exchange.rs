//! `paceline export` and `import`, as other tools meet them.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod support;

use std::fs;
use std::path::Path;
use support::{paceline, run};

/// A study of two runs that print a loss at every step.
const STUDY: &str = r#"
name = "rates"

[job]
command = ["sh", "-c", ": rate {rate}; for i in 1 2 3; do echo '{{\"loss\": '$i', \"step\": '$i'}}'; done"]

[factors]
rate = [1, 2]

[responses]
loss = { metric = "loss" }
"#;

fn study(dir: &Path) {
    fs::write(dir.join("rates.toml"), STUDY).unwrap();
    let ran = run(dir, ["study", "run", "rates.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_study_becomes_one_set_of_tables_with_the_run_first() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    study(dir);
    for (to, ending) in [
        ("csv", "csv"),
        ("json", "jsonl"),
        ("parquet", "parquet"),
        ("arrow", "arrow"),
    ] {
        let ran = run(dir, ["export", "rates.toml", "--to", to, "--out", to]);
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.err);
        let expected = ["runs", "samples", "parts", "events"];
        let names: Vec<String> = expected.map(|name| format!("{to}/{name}.{ending}")).into();
        assert_eq!(ran.out.lines().collect::<Vec<_>>(), names);
    }
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let events = read("csv/events.csv");
    assert!(events.starts_with("run,time,elapsed_s,"), "{events}");
    assert!(read("csv/samples.csv").starts_with("run,node,time,"));
    assert_eq!(read("csv/runs.csv").lines().count(), 3);
    let of_losses = |line: &&str| line.contains(",metric,") && line.contains(",loss,");
    assert_eq!(events.lines().filter(of_losses).count(), 6, "{events}");
    for line in read("json/events.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(row["run"].is_string() && row["time"].is_string(), "{row}");
    }
    let arrow = fs::read(dir.join("arrow/runs.arrow")).unwrap();
    assert!(arrow.starts_with(b"ARROW1\0\0") && arrow.ends_with(b"ARROW1"));
}

#[test]
fn tensorboard_and_openmetrics_have_every_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    study(dir);
    let ran = run(
        dir,
        ["export", "rates.toml", "--to", "tensorboard", "--out", "tb"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 2);
    for file in ran.out.lines() {
        let bytes = fs::read(dir.join(file)).unwrap();
        let has = |what: &[u8]| bytes.windows(what.len()).any(|some| some == what);
        assert!(
            has(b"brain.Event:2") && has(b"_hparams_/session_start_info"),
            "{file}"
        );
    }
    let ran = run(
        dir,
        ["export", "rates.toml", "--to", "openmetrics", "--out", "om"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for file in ran.out.lines() {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        assert!(text.ends_with("# EOF\n"));
        assert!(text.contains("paceline_reported{run="), "{text}");
    }
}

#[test]
fn what_cannot_be_exported_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let ran = run(dir, ["run", "--quiet", "--out", "r", "--", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    run(dir, ["export", "none", "--to", "csv"]).fails(2, "none");
    run(dir, ["export", "r", "--to", "csv", "--out", "s3://b/p"]).fails(2, "s3://");
    run(dir, ["export", "r", "--to", "mlflow", "--out", "ftp://x"]).fails(2, "ftp://x");
    let mut unset = paceline(dir, ["export", "r", "--to", "mlflow"]);
    unset.env_remove("MLFLOW_TRACKING_URI");
    support::Ran::from(unset.output().unwrap()).fails(2, "no MLflow server");
    // Nobody listens at the port of a socket that is bound and does not listen.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    run(dir, ["export", "r", "--to", "mlflow", "--out", &url]).fails(3, "does not answer");
}

#[test]
fn a_table_of_another_tool_is_imported_and_analysed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut csv =
        "number,value,datetime_start,datetime_complete,params_lr,params_opt,state\n".to_owned();
    for (i, (lr, opt, value)) in [
        ("0.1", "sgd", 0.9),
        ("0.1", "adam", 0.8),
        ("0.01", "sgd", 0.7),
        ("0.01", "adam", 0.61),
        ("0.1", "sgd", 0.92),
        ("0.1", "adam", 0.79),
        ("0.01", "sgd", 0.72),
        ("0.01", "adam", 0.6),
    ]
    .into_iter()
    .enumerate()
    {
        csv +=
            &format!("{i},{value},2026-11-18 08:00:00,2026-11-18 08:00:0{i},{lr},{opt},COMPLETE\n");
    }
    csv += "8,,2026-11-18 08:00:00,,0.1,sgd,FAIL\n";
    fs::write(dir.join("trials.csv"), csv).unwrap();
    let ran = run(dir, ["import", "trials.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "trials.table.csv\n");
    assert!(ran.err.contains("9 runs (1 not done"), "{}", ran.err);
    let analysed = run(
        dir,
        [
            "analyze",
            "trials.table.csv",
            "--response",
            "value",
            "--by",
            "lr,opt",
        ],
    );
    assert_eq!(analysed.code, Some(0), "{}", analysed.err);
    assert!(analysed.out.contains("lr"), "{}", analysed.out);
    run(dir, ["import", "trials.csv"]).fails(2, "exists");
    run(dir, ["import", "none"]).fails(2, "none");
    fs::create_dir(dir.join("empty")).unwrap();
    run(dir, ["import", "empty"]).fails(2, "no run of a tool");
}

#[test]
fn a_directory_of_mlflow_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (name, status, lr) in [("one", 3, "0.1"), ("two", 4, "0.2")] {
        let run = dir.join("mlruns/0").join(name);
        fs::create_dir_all(run.join("params")).unwrap();
        fs::create_dir_all(run.join("metrics/test")).unwrap();
        let meta = format!(
            "end_time: 1700000002500\nlifecycle_stage: active\nrun_name: {name}\nstart_time: \
             1700000000000\nstatus: {status}\n"
        );
        fs::write(run.join("meta.yaml"), meta).unwrap();
        fs::write(run.join("params/lr"), lr).unwrap();
        fs::write(run.join("metrics/test/loss"), "1 0.9 0\n2 0.5 1\n").unwrap();
    }
    fs::write(dir.join("mlruns/0/meta.yaml"), "name: Default\n").unwrap();
    let ran = run(dir, ["import", "mlruns", "--out", "t.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = fs::read_to_string(dir.join("t.csv")).unwrap();
    let expected = "run,lr,test/loss,duration_s,outcome\r\none,0.1,0.5,2.5,done\r\n\
                    two,0.2,0.5,2.5,failed\r\n";
    assert_eq!(table, expected);
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let dir = tempfile::tempdir().unwrap();
    let check = |set: &[(&str, &str)], coloured: bool| {
        let mut command = paceline(dir.path(), ["show", "none"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(set.iter().copied());
        let ran = support::Ran::from(command.output().unwrap());
        assert_eq!(
            ran.err.contains("\x1b[1;31merror:\x1b[0m"),
            coloured,
            "{set:?}: {}",
            ran.err
        );
        assert_eq!(
            ran.err.starts_with("error: "),
            !coloured,
            "{set:?}: {}",
            ran.err
        );
    };
    check(&[], false);
    check(&[("CLICOLOR_FORCE", "1")], true);
    check(&[("CLICOLOR_FORCE", "0")], false);
    check(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false);
}

/// Needs a Python with the tools named in `crates/exchange/peers/check.py`, as
/// `$PACELINE_PEERS`.
#[test]
#[ignore = "needs pandas, polars, DuckDB and TensorBoard"]
fn the_tools_themselves_read_the_exports() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    study(dir);
    for to in [
        "csv",
        "json",
        "parquet",
        "arrow",
        "tensorboard",
        "openmetrics",
    ] {
        let ran = run(dir, ["export", "rates.toml", "--to", to, "--out", to]);
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.err);
    }
    #[expect(clippy::disallowed_methods, reason = "the test starts another tool")]
    let python = std::env::var_os("PACELINE_PEERS").expect("PACELINE_PEERS names a Python");
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/peers/check.py");
    #[expect(clippy::disallowed_methods, reason = "the test starts another tool")]
    let mut command = std::process::Command::new(python);
    let status = command.arg(check).arg(dir).status().unwrap();
    assert!(status.success());
}
