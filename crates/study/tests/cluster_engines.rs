//! `[engine]` of kind `spark` and `ray`: what is read, what a run asks for, and
//! what is refused.

use paceline_model::Level;
use paceline_study::{Capabilities, RawStudy, Study};

fn read(text: &str) -> Result<Study, String> {
    RawStudy::parse("study.toml", text)
        .and_then(|raw| raw.check(&Capabilities::ALL))
        .map_err(|problems| problems.to_string())
}

fn with(job: &str, factors: &str, engine: &str) -> String {
    format!("[job]\n{job}\n[factors]\n{factors}\n[engine]\n{engine}\n")
}

const COMMAND: &str = "command = [\"true\"]";
const SPARK: &str = "kind = \"spark\"\nmaster = \"spark://h:7077\"";
const RAY: &str = "kind = \"ray\"\ndashboard = \"http://h:8265\"";

#[track_caller]
fn refused(text: &str, why: &str) {
    match read(text) {
        Err(problems) => assert!(problems.contains(why), "{problems}"),
        Ok(_) => panic!("not refused:\n{text}"),
    }
}

#[test]
fn settings_are_read_and_read_back() {
    let engine = format!(
        "{SPARK}\nnodes = 2\nexecutor_cores = 4\nexecutor_memory = \"2g\"\npython = \"/p\"\n\
         spark_home = \"/opt/spark\"\nwait = \"90s\"\naddress = \"10.0.0.1\"\n\
         conf = {{ \"spark.yarn.queue\" = \"q\", \"spark.x\" = 3 }}"
    );
    let study = read(&with(COMMAND, "nodes = [1, 2]", &engine)).unwrap();
    let spark = &study.engine().spark;
    assert_eq!(spark.master.as_deref(), Some("spark://h:7077"));
    assert_eq!(spark.executor_cores, Some(4));
    assert_eq!(spark.conf[1], ("spark.x".to_owned(), "3".to_owned()));
    let again = read(&study.to_toml()).unwrap();
    assert_eq!(again.engine(), study.engine());

    let engine = format!("{RAY}\ntoken_file = \"t\"\nbundle = {{ CPU = 2, GPU = 0.5 }}");
    let study = read(&with(COMMAND, "nodes = [1, 2]", &engine)).unwrap();
    let ray = &study.engine().ray;
    assert_eq!(ray.token_file.as_deref(), Some("t"));
    let bundle = [("CPU".to_owned(), 2.0), ("GPU".to_owned(), 0.5)];
    assert_eq!(ray.bundle, bundle);
    let again = read(&study.to_toml()).unwrap();
    assert_eq!(again.engine(), study.engine());
}

#[test]
fn executors_and_their_cores_are_what_a_run_asks_for() {
    let factors = "executors = [1, 3]\nexecutor_cores = [1, 2]";
    let study = read(&with(COMMAND, factors, SPARK)).unwrap();
    let share = study.share_of(&[Level::Integer(3), Level::Integer(2)]);
    assert_eq!((share.nodes, share.executor_cores), (3, Some(2)));
    assert!(!share.is_spread);
    let study = read(&with(COMMAND, "nodes = [1, 3]", SPARK)).unwrap();
    let share = study.share_of(&[Level::Integer(3)]);
    assert_eq!((share.nodes, share.executor_cores), (3, None));
    assert!(share.is_spread);
}

#[test]
fn what_cannot_be_realised_is_refused() {
    let factors = "executors = [1, 2]\nnodes = [1, 2]";
    refused(&with(COMMAND, factors, SPARK), "both say how many");
    let factors = "executor_memory = [\"1g\", \"2g\"]";
    refused(
        &with(COMMAND, factors, SPARK),
        "does not act on `executor_memory`",
    );
    // Other engines have no executors, and a command would have to read them.
    refused(
        &with(COMMAND, "executors = [1, 2]", RAY),
        "has no use in the command",
    );
    let submit = "kind = \"spark-submit\"\napplication = \"a.py\"";
    refused(
        &with(submit, "executors = [1, 2]", SPARK),
        "submitted from this machine",
    );
}

#[test]
fn an_engine_that_makes_no_sense_is_refused() {
    let check = |engine: &str, why: &str| refused(&with(COMMAND, "nodes = [1, 2]", engine), why);
    check(
        "kind = \"spark\"\nmaster = \"local[2]\"",
        "has no executors",
    );
    check(
        &format!("{SPARK}\nconf = {{ queue = \"q\" }}"),
        "no setting of Spark",
    );
    check(
        &format!("{SPARK}\nconf = {{ spark.yarn.queue = \"q\" }}"),
        "lacks its quotes",
    );
    for own in ["spark.master", "spark.cores.max", "spark.task.cpus"] {
        check(
            &format!("{SPARK}\nconf = {{ \"{own}\" = 1 }}"),
            "sets `spark",
        );
    }
    check(
        &format!("{SPARK}\nconf = {{ \"spark.x\" = [1] }}"),
        "text, a number",
    );
    check("kind = \"ray\"", "needs `dashboard`");
    check(
        "kind = \"ray\"\ndashboard = \"h:8265\"",
        "not http://HOST:PORT",
    );
    check(&format!("{RAY}\nbundle = {{ CPU = 0 }}"), "above zero");
    check(
        &format!("{RAY}\nmaster = \"x\""),
        "means nothing to engine \"ray\"",
    );
    for key in ["binary", "data"] {
        check(
            &format!("kind = \"slurm\"\n{key} = \"ship\""),
            &format!("copies nothing to its nodes: `{key}`"),
        );
    }
    check(
        &format!("{SPARK}\npartition = \"x\""),
        "means nothing to engine \"spark\"",
    );
}
