//! Runs on the nodes of a real Ray cluster. One test, because a cluster takes a
//! while: what every engine promises, and what remains when anything is killed or
//! refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_agent::{RayApi, RayOptions, ray_engine};
use paceline_model::Outcome;
use paceline_records::Run;
use paceline_testkit::{EngineContract, skipped, wait_within};
use std::path::Path;
use std::time::Duration;
use support::real_cluster::{CLUSTER_PATIENCE, ENGINE_WAIT, RealCluster};
use support::sshd::{ancestors, processes, processes_with};
use support::{paceline, run, signal};

#[test]
fn the_ray_engine_keeps_its_promises() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = match RealCluster::start("ray", dir.path(), 2) {
        Ok(cluster) => cluster,
        Err(why) => return skipped(why),
    };
    let token = std::fs::read_to_string(cluster.value("token_file")).unwrap();
    let api = RayApi::new(&cluster.value("dashboard"), Some(&token)).unwrap();
    it_keeps_the_contract(&cluster, &api);
    the_token_is_nowhere(&cluster, &api, &dir.path().join("token"), token.trim());
    a_killed_task_loses_the_run(&cluster, &dir.path().join("task"));
    after_a_killed_controller_nothing_is_left(&cluster, &api, &dir.path().join("controller"));
    what_the_cluster_does_not_have_is_refused_in_time(&cluster, &dir.path().join("refused"));
    assert_eq!(open_jobs(&api), 0);
}

fn it_keeps_the_contract(cluster: &RealCluster, api: &RayApi) {
    let engine = |wait: Duration| {
        ray_engine(RayOptions {
            api: api.clone(),
            bundle: Vec::new(),
            python: cluster.value("python"),
            most_nodes: 1,
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

/// Jobs that have not ended.
fn open_jobs(api: &RayApi) -> usize {
    let jobs = api.ask("GET /api/jobs/", b"").unwrap();
    let jobs: serde_json::Value = serde_json::from_str(&jobs).unwrap();
    let jobs = jobs.as_array().unwrap().iter();
    let is_open =
        |job: &&serde_json::Value| matches!(job["status"].as_str(), Some("PENDING" | "RUNNING"));
    jobs.filter(is_open).count()
}

fn make(dir: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join(file), text).unwrap();
}

/// Neither Ray's token nor the agents' is in a record, and the agents' is in
/// nothing that the dashboard shows.
fn the_token_is_nowhere(cluster: &RealCluster, api: &RayApi, dir: &Path, token: &str) {
    let wait = ENGINE_WAIT.as_secs();
    let engine = cluster.engine(&format!("nodes = 2\nwait = \"{wait}s\""));
    let without: Vec<&str> = engine
        .lines()
        .filter(|it| !it.starts_with("token_file"))
        .collect();
    make(dir, "engine.toml", &without.join("\n"));
    let words = "run --quiet --out record --engine engine.toml -- sh -c".split(' ');
    let ran = paceline(
        dir,
        words.chain(["echo $RANK; tr '\\0' '\\n' </proc/$PPID/environ"]),
    )
    .env("RAY_AUTH_TOKEN", token)
    .output()
    .unwrap();
    let ran = support::Ran::from(ran);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for entry in walk(&dir.join("record")) {
        let bytes = std::fs::read(&entry).unwrap();
        let is_there = bytes.windows(token.len()).any(|it| it == token.as_bytes());
        assert!(!is_there, "{}", entry.display());
    }
    let record = Run::open(&dir.join("record")).unwrap();
    let job = record
        .manifest()
        .start
        .cluster
        .as_ref()
        .unwrap()
        .job
        .clone();
    let shown = api
        .ask(&format!("GET /api/jobs/{}", job.unwrap()), b"")
        .unwrap();
    assert!(shown.contains("internal_kv_get"), "{shown}");
    assert!(!shown.contains("\"token\\\""), "{shown}");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

fn mark(number: u32) -> String {
    format!("{}", 30_000_000 + std::process::id() * 10 + number)
}

fn a_killed_task_loses_the_run(cluster: &RealCluster, dir: &Path) {
    let mark = mark(1);
    let child = cluster.sleeping(dir, 2, &mark);
    // Another test may have a cluster of Ray as well.
    let sleeping = processes(&["sleep", &mark]);
    let mut above = sleeping.iter().flat_map(|pid| ancestors(*pid));
    let tasks = processes_with(b"ray::hold");
    let task = above.find(|pid| tasks.contains(pid));
    signal(task.expect("a task is above its commands"), "KILL");
    let ran = support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    wait_within(CLUSTER_PATIENCE, "nothing is left", || {
        processes(&["sleep", &mark]).is_empty()
    });
    let record = Run::open(&dir.join("record")).unwrap();
    assert_eq!(
        record.manifest().end.as_ref().unwrap().outcome,
        Outcome::Lost
    );
}

fn after_a_killed_controller_nothing_is_left(cluster: &RealCluster, api: &RayApi, dir: &Path) {
    let mark = mark(2);
    let mut child = cluster.sleeping(dir, 2, &mark);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_within(CLUSTER_PATIENCE, "nothing is left", || {
        processes(&["sleep", &mark]).is_empty() && open_jobs(api) == 0
    });
}

fn what_the_cluster_does_not_have_is_refused_in_time(cluster: &RealCluster, dir: &Path) {
    let refused = |more: &str, from: &str, to: &str, what: &str| {
        make(dir, "engine.toml", &cluster.engine(more).replace(from, to));
        let words = "run --quiet --out record --engine engine.toml -- true".split(' ');
        run(dir, words).fails(3, what);
    };
    let bundle = "wait = \"5s\"\nbundle = { CPU = 64 }";
    refused(
        bundle,
        "",
        "",
        "were not free within 5 s; the cluster has 2 nodes",
    );
    make(dir, "wrong", "0123456789abcdef0123456789abcdef");
    let token = cluster.value("token_file");
    refused("", &token, "wrong", "the token is missing or wrong");
    let dashboard = cluster.value("dashboard");
    refused("", &dashboard, "http://127.0.0.1:9", "does not answer");
    refused("", "python = \"", "python = \"/no/such", "/no/such");
    assert!(!dir.join("record").exists());
}
