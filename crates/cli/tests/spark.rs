//! Spark applications as `paceline run` and studies submit them.

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use support::run;

/// A `spark-submit` that leaves a real log where its arguments say, and refuses
/// what the real one would.
fn fake_submit(dir: &Path, fixture: &str) {
    let log = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../spark/oracle")
        .join(fixture);
    let script = format!(
        "#!/bin/sh\n\
         for word; do case $word in spark.eventLog.dir=file://*) dir=${{word#*file://}};; esac; done\n\
         [ -n \"$dir\" ] || {{ echo 'no event log'; exit 0; }}\n\
         [ -d \"$dir\" ] || {{ echo \"File file:$dir does not exist\" >&2; exit 1; }}\n\
         cp {} \"$dir/app-1\"\n\
         echo \"$@\"\n",
        log.display()
    );
    let path = dir.join("spark-submit");
    fs::write(&path, script).expect("the directory is writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

fn expected(name: &str) -> Value {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spark/oracle/expected.json");
    let text = fs::read_to_string(oracle).expect("the oracle's numbers are there");
    serde_json::from_str::<Value>(&text).expect("they are JSON")[name].clone()
}

#[test]
fn a_submitted_application_is_told_in_sparks_terms() {
    let dir = tempfile::tempdir().unwrap();
    fake_submit(dir.path(), "lost.jsonl");
    let submitted = run(
        dir.path(),
        ["run", "--out", "r", "--", "./spark-submit", "app.py"],
    );
    assert_eq!(submitted.code, Some(0), "{}", submitted.err);
    assert!(
        submitted.err.contains("added for Spark's event log"),
        "{}",
        submitted.err
    );
    assert!(
        submitted
            .out
            .contains("spark.eventLog.compress=false app.py"),
        "{}",
        submitted.out
    );

    let shown = run(dir.path(), ["show", "r", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let expected = expected("lost");
    let application = &shown["spark"][0];
    let driver = expected["driver_ms"].as_f64().unwrap() / 1e3;
    assert_eq!(application["measures"]["spark_driver_s"], driver);
    assert_eq!(
        application["executors"][1]["removed"],
        "Command exited with code 137"
    );
    let failed = expected["totals"]["failed"].as_f64();
    assert_eq!(
        application["measures"]["spark_failed_tasks"].as_f64(),
        failed
    );
    // The same numbers are metrics of the run.
    assert_eq!(shown["responses"]["spark_driver_s"], driver, "{shown:#}");
    let text = run(dir.path(), ["show", "r"]).out;
    for part in ["held by", "Command exited with code 137", "estimate"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn settings_of_the_users_own_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    fake_submit(dir.path(), "skew.jsonl");
    let own = [
        "./spark-submit",
        "--conf",
        "spark.eventLog.enabled=false",
        "a.py",
    ];
    let ran = run(
        dir.path(),
        ["run", "--out", "r", "--"].into_iter().chain(own),
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "no event log\n"));
    assert!(
        ran.err.contains("goes where the command says"),
        "{}",
        ran.err
    );
    assert!(!dir.path().join("r/spark").exists());
}

#[test]
fn an_application_without_a_log_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("spark-submit"), "#!/bin/sh\ntrue\n").unwrap();
    let path = dir.path().join("spark-submit");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = run(
        dir.path(),
        ["run", "--out", "r", "--", "./spark-submit", "a.py"],
    );
    assert!(
        ran.err.contains("Spark has left no event log"),
        "{}",
        ran.err
    );
    assert!(!dir.path().join("r/spark").exists());
}

#[test]
fn a_study_has_sparks_measures_as_responses() {
    let dir = tempfile::tempdir().unwrap();
    fake_submit(dir.path(), "sql.jsonl");
    let study = r#"
[job]
kind = "spark-submit"
submit = "./spark-submit"
application = "app.py"
master = "spark://h:7077"

[factors]
executors = [1, 2]
"spark.sql.shuffle.partitions" = [8, 64]

[responses]
gc = { metric = "spark_gc_s" }
busy = "1 - spark_idle_share"
"#;
    fs::write(dir.path().join("study.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "study.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = fs::read_to_string(dir.path().join("study.study/table.csv")).unwrap();
    let header = table.lines().next().unwrap();
    assert!(header.contains("spark.sql.shuffle.partitions"), "{header}");
    let gc = expected("sql")["totals"]["gc_ms"].as_f64().unwrap() / 1e3;
    assert_eq!(table.matches(&format!(",{gc},")).count(), 4, "{table}");
    // The names of settings go through the analysis as they are.
    let told = run(
        dir.path(),
        ["analyze", "study.study", "--response", "duration_s"],
    );
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    assert!(
        told.out.contains("spark.sql.shuffle.partitions"),
        "{}",
        told.out
    );
}

#[test]
fn spark_itself_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let found = run(
        dir.path(),
        [
            "run",
            "--quiet",
            "--out",
            "r0",
            "--",
            "spark-submit",
            "--version",
        ],
    );
    if found.code != Some(0) {
        paceline_testkit::skipped("spark-submit does not run here (pip install pyspark, and Java)");
        return;
    }
    fs::write(
        dir.path().join("app.py"),
        "from pyspark import SparkContext\n\
         sc = SparkContext()\n\
         print(sc.parallelize(range(6), 3).map(lambda i: (i % 2, 1)).reduceByKey(lambda a, b: a + b, 2).collect())\n\
         sc.stop()\n",
    )
    .unwrap();
    let words = [
        "run",
        "--out",
        "r",
        "--",
        "spark-submit",
        "--master",
        "local[2]",
        "app.py",
    ];
    let ran = run(dir.path(), words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let shown = run(dir.path(), ["show", "r", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let measures = &shown["spark"][0]["measures"];
    assert_eq!(measures["spark_stages"], 2.0, "{shown:#}");
    assert_eq!(measures["spark_tasks"], 5.0);
    assert_eq!(measures["spark_slots"], 2.0);
}
