//! Jobs of kind `spark-submit`: what their commands are, and what is refused.

use paceline_model::Level;
use paceline_study::{Capabilities, CheckpointUse, RawStudy, RunFacts, Study};

fn study(text: &str) -> Study {
    RawStudy::parse("study.toml", text)
        .and_then(|raw| raw.check(&Capabilities::ALL))
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// The first problem of a study with this job and these factors.
fn problem(job: &str, factors: &str) -> String {
    let text = format!("[job]\n{job}\n[factors]\n{factors}\n");
    RawStudy::parse("study.toml", &text)
        .and_then(|raw| raw.check(&Capabilities::ALL))
        .expect_err("the study is wrong")
        .to_string()
}

fn argv(study: &Study, levels: &[Level]) -> Vec<String> {
    let facts = RunFacts {
        checkpoint_dir: "/c".to_owned(),
        checkpoint: CheckpointUse::None,
        constants: Vec::new(),
        event_log_dir: "/r/spark".to_owned(),
        seed: 7,
        run_id: "t1-r0".into(),
        run_dir: "/r/work".into(),
        replicate: 0,
        program: "/usr/bin/paceline".into(),
    };
    study
        .command_for(levels, &facts)
        .expect("the levels fit")
        .argv
}

const STUDY: &str = r#"
[job]
kind = "spark-submit"
application = "train.py"
args = ["--rate", "{rate}", 3]
master = "spark://10.0.0.1:7077"
executor_memory = "600m"
extra = ["--name", "mine"]
"spark.sql.adaptive.enabled" = false

[factors]
executors = [1, 3]
executor_cores = [1, 2]
"spark.sql.shuffle.partitions" = [8, 64]
rate = [0.1, 0.2]
"#;

#[test]
fn settings_and_placeholders_reach_the_command() {
    let study = study(STUDY);
    let levels = [
        Level::Integer(3),
        Level::Integer(2),
        Level::Integer(64),
        Level::Number(0.2),
    ];
    let expected = "spark-submit --master spark://10.0.0.1:7077 \
        --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file:///r/spark \
        --conf spark.eventLog.compress=false --conf spark.executor.memory=600m \
        --conf spark.dynamicAllocation.enabled=false --conf spark.executor.instances=3 \
        --conf spark.executor.cores=2 --conf spark.cores.max=6 \
        --conf spark.sql.adaptive.enabled=false --conf spark.sql.shuffle.partitions=64 \
        --name mine train.py --rate 0.2 3";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(argv(&study, &levels), expected);
}

#[test]
fn a_study_reads_back_as_it_was_meant() {
    let first = study(STUDY);
    let again = study(&first.to_toml());
    assert_eq!(first, again);
    assert_eq!(first.fingerprint(), again.fingerprint());
}

#[test]
fn a_setting_has_an_environment_variable_that_shells_can_name() {
    let study = study(STUDY);
    let facts = RunFacts {
        checkpoint_dir: String::new(),
        checkpoint: CheckpointUse::None,
        constants: Vec::new(),
        event_log_dir: String::new(),
        seed: 7,
        run_id: "r".into(),
        run_dir: "/r".into(),
        replicate: 0,
        program: "p".into(),
    };
    let levels = [
        Level::Integer(3),
        Level::Integer(2),
        Level::Integer(64),
        Level::Number(0.2),
    ];
    let env = study.command_for(&levels, &facts).unwrap().env;
    assert!(env.contains(&(
        "PACELINE_SPARK_SQL_SHUFFLE_PARTITIONS".to_owned(),
        "64".to_owned()
    )));
}

#[test]
fn what_cannot_be_realised_is_refused_with_a_reason() {
    let spark = "kind = \"spark-submit\"\napplication = \"a.py\"";
    let check = |job: &str, factors: &str, parts: &[&str]| {
        let told = problem(job, factors);
        for part in parts {
            assert!(told.contains(part), "{part}:\n{told}");
        }
    };
    check(
        "kind = \"train\"\nmodel = \"softmax\"",
        "executors = [1, 2]",
        &[
            "study.toml:5",
            "the trainer has no `executors`",
            "spark-submit",
        ],
    );
    check(
        "command = [\"a\", \"{x}\"]",
        "x = [1, 2]\n\"spark.ui.port\" = [1, 2]",
        &["`spark.ui.port` has no meaning for a command"],
    );
    check(
        &format!("{spark}\nmaster = \"local[2]\""),
        "executors = [1, 2]",
        &["does nothing on a local master", "local[{cores}]"],
    );
    check(
        spark,
        "spark.ui.port = [1, 2]",
        &["lacks its quotes", "\"spark.ui.port\" = …"],
    );
    check(
        &format!("{spark}\nspark.ui.port = 1"),
        "executors = [1, 2]",
        &["lacks its quotes"],
    );
    check(
        spark,
        "batch = [1, 2]",
        &["factor `batch` has no use in the command"],
    );
    check(spark, "executors = [0, 2]", &["whole numbers from 1"]);
    check(
        "kind = \"spark-submit\"",
        "executors = [1, 2]",
        &["no `application`"],
    );
    check(
        &format!("{spark}\nexecutor = 2"),
        "executors = [1, 2]",
        &["`executor`", "executors"],
    );
    check(
        &format!("{spark}\nargs = \"{{batch}}\""),
        "executors = [1, 2]",
        &["a list of texts"],
    );
}
