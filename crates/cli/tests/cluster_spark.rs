//! Runs and studies on the executors of a real Spark cluster. One test, because a
//! cluster takes a while: what every engine promises, that executors and cores are
//! what a level says, and what remains when anything is killed or refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_agent::{SparkOptions, spark_engine};
use paceline_model::Outcome;
use paceline_records::Run;
use paceline_testkit::{EngineContract, skipped, wait_within};
use std::path::Path;
use std::time::Duration;
use support::real_cluster::{CLUSTER_PATIENCE, ENGINE_WAIT, RealCluster};
use support::sshd::{processes, processes_with};
use support::{run, signal};

#[test]
fn the_spark_engine_keeps_its_promises() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = match RealCluster::start("spark", dir.path(), 2) {
        Ok(cluster) => cluster,
        Err(why) => return skipped(why),
    };
    it_keeps_the_contract(&cluster);
    executors_and_cores_are_what_a_level_says(&cluster, &dir.path().join("levels"));
    a_killed_executor_loses_the_run_and_not_the_next(&cluster, &dir.path().join("executor"));
    after_a_killed_controller_nothing_is_left(&cluster, &dir.path().join("controller"));
    what_the_cluster_does_not_have_is_refused_in_time(&cluster, &dir.path().join("refused"));
    assert_eq!(launchers(dir.path()), Vec::<u32>::new());
}

fn it_keeps_the_contract(cluster: &RealCluster) {
    let python = cluster.value("python");
    let engine = |wait: Duration| {
        spark_engine(SparkOptions {
            master: Some(cluster.value("master")),
            executor_memory: Some("600m".to_owned()),
            conf: Vec::new(),
            python: python.clone(),
            executor_python: Some(python.clone()),
            home: None,
            requests: Vec::new(),
            address: None,
            silence: Duration::from_secs(20),
            wait,
            ships_program: false,
            program: env!("CARGO_BIN_EXE_paceline").into(),
            key: format!("contract{}-{}", std::process::id(), wait.as_secs()),
        })
        .unwrap()
    };
    let (patient, hasty) = (engine(ENGINE_WAIT), engine(Duration::from_secs(5)));
    EngineContract {
        engine: &patient,
        hasty: &hasty,
        nodes: 2,
    }
    .check();
}

fn make(dir: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join(file), text).unwrap();
}

fn executors_and_cores_are_what_a_level_says(cluster: &RealCluster, dir: &Path) {
    let study = format!(
        "[job]\ncommand = [\"sh\", \"-c\", \"echo $RANK $WORLD_SIZE $(nproc) $(hostname)\"]\n\
         [factors]\nexecutors = [1, 2]\nexecutor_cores = [1, 2]\n\
         [design]\norder = \"standard\"\n[responses]\ntime = \"duration_s\"\n{}",
        cluster.engine(&format!("wait = \"{}s\"", ENGINE_WAIT.as_secs()))
    );
    make(dir, "study.toml", &study);
    let ran = run(dir, ["study", "run", "study.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut applications = Vec::new();
    for (index, (executors, cores)) in [(1, 1), (2, 1), (1, 2), (2, 2)].into_iter().enumerate() {
        let place = dir.join(format!("study.study/runs/r{}.1", index + 1));
        let record = Run::open(&place).unwrap();
        let cluster = record.manifest().start.cluster.clone().unwrap();
        assert_eq!(
            (cluster.engine.as_str(), cluster.nodes.len()),
            ("spark", executors)
        );
        for rank in 0..executors {
            let log = place.join(format!("log/worker{rank}.out"));
            let said = std::fs::read_to_string(log).unwrap();
            let words: Vec<&str> = said.split_whitespace().collect();
            assert_eq!(
                words[..3],
                [rank.to_string(), executors.to_string(), cores.to_string()]
            );
            assert_eq!(words[3], cluster.nodes[rank].node.as_str());
        }
        applications.push((cluster.job.unwrap(), cluster.queued.0));
    }
    // Runs of one shape share an application, and only the first waits for it.
    assert_eq!(applications[0].0, applications[1].0);
    assert_eq!(applications[2].0, applications[3].0);
    assert_ne!(applications[0].0, applications[2].0);
    let waited: Vec<bool> = applications.iter().map(|(_, queued)| *queued > 0).collect();
    assert_eq!(waited, [true, false, true, false]);
}

/// The processes that hold an application, of runs that began in `dir`: they stay
/// where their run was started.
fn launchers(dir: &Path) -> Vec<u32> {
    let mut found = processes_with(b"paceline-spark");
    found.retain(|pid| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    });
    found
}

fn mark(number: u32) -> String {
    format!("{}", 20_000_000 + std::process::id() * 10 + number)
}

fn a_killed_executor_loses_the_run_and_not_the_next(cluster: &RealCluster, dir: &Path) {
    let mark = mark(1);
    let child = cluster.sleeping(dir, 2, &mark);
    // Those of the application before may still be about to end.
    let record = Run::open(&dir.join("record")).unwrap();
    let application = record.manifest().start.cluster.clone().unwrap().job;
    let executors = cluster.processes_with(&application.unwrap());
    assert_eq!(executors.len(), 2, "{executors:?}");
    signal(executors[0], "KILL");
    let ran = support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    wait_within(CLUSTER_PATIENCE, "nothing is left", || {
        processes(&["sleep", &mark]).is_empty()
    });
    let record = Run::open(&dir.join("record")).unwrap();
    let end = record.manifest().end.as_ref().unwrap();
    assert_eq!(end.outcome, Outcome::Lost);
    let words = "run --quiet --out next --engine engine.toml -- true".split(' ');
    let ran = run(dir, words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn after_a_killed_controller_nothing_is_left(cluster: &RealCluster, dir: &Path) {
    let mark = mark(2);
    let mut child = cluster.sleeping(dir, 2, &mark);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_within(CLUSTER_PATIENCE, "nothing is left", || {
        processes(&["sleep", &mark]).is_empty()
            && launchers(dir).is_empty()
            && cluster
                .processes_with("CoarseGrainedExecutorBackend")
                .is_empty()
    });
}

fn what_the_cluster_does_not_have_is_refused_in_time(cluster: &RealCluster, dir: &Path) {
    let engine = cluster.engine("nodes = 1\nexecutor_cores = 64\nwait = \"15s\"");
    make(dir, "engine.toml", &engine);
    let words = "run --quiet --out record --engine engine.toml -- true".split(' ');
    run(dir, words).fails(3, "of 1 executors with 64 cores each, 0 came within 15 s");
    make(
        dir,
        "engine.toml",
        &engine.replace("python = \"", "python = \"/no/such"),
    );
    let words = "run --quiet --out record --engine engine.toml -- true".split(' ');
    run(dir, words).fails(3, "cannot start `/no/such");
    assert!(!dir.join("record").exists());
}
