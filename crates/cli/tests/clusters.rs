//! Runs and studies on several hosts, reached by a real `sshd`: what every engine
//! promises, and what remains when anything is killed.

mod support;

use paceline_agent::{SshOptions, ssh_engine};
use paceline_model::{ExitStatus, Lifecycle, Outcome};
use paceline_records::Run;
use paceline_testkit::{EngineContract, skipped, wait_until};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use support::sshd::{Hosts, agents, processes};
use support::{paceline, run, signal};

/// Hosts for a test, or a stated reason why there are none.
fn hosts(dir: &Path, count: usize) -> Option<Hosts> {
    match Hosts::start(&dir.join("hosts"), count) {
        Ok(hosts) => Some(hosts),
        Err(why) => {
            skipped(why);
            None
        }
    }
}

fn write(dir: &Path, file: &str, text: &str) {
    std::fs::write(dir.join(file), text).expect("a test may write to its own directory");
}

/// A time that no other test sleeps for, as a mark of a test's own processes.
fn mark(number: u32) -> String {
    format!(
        "{}",
        10_000_000 + u64::from(std::process::id()) * 10 + u64::from(number)
    )
}

#[test]
fn the_ssh_engine_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 2) else {
        return;
    };
    let engine = ssh_engine(SshOptions {
        hosts: hosts.names.clone(),
        config: Some(hosts.config()),
        address: None,
        silence: Duration::from_secs(20),
        ships_program: false,
        ships: None,
        program: env!("CARGO_BIN_EXE_paceline").into(),
        key: format!("contract{}", std::process::id()),
        sockets: dir.path().join("sockets"),
    })
    .unwrap();
    EngineContract {
        engine: &engine,
        hasty: &engine,
        nodes: 2,
    }
    .check();
}

#[test]
fn a_run_has_the_samples_logs_and_exits_of_every_node() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 2) else {
        return;
    };
    write(dir.path(), "engine.toml", &hosts.engine(""));
    // The one that fails waits for the other, which it would end.
    let there = dir.path().join("there");
    let script = format!(
        "echo rank $RANK; echo \"{{\\\"score\\\": 3}}\" >>\"$PACELINE_EVENTS\"; sleep 0.5; \
         if [ $RANK = 0 ]; then touch {there}; exit 0; fi; \
         until [ -e {there} ]; do sleep 0.1; done; sleep 2; exit 3",
        there = there.display()
    );
    let words = "run --quiet --interval 100ms --out record --engine engine.toml --";
    let words = words.split(' ').chain(["sh", "-c", script.as_str()]);
    let ran = run(dir.path(), words);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let record = Run::open(&dir.path().join("record")).unwrap();
    let nodes: Vec<String> = record
        .nodes()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(nodes, hosts.names);
    for (node, samples) in record.samples().unwrap() {
        assert!(samples.len() >= 2, "{node} has {} samples", samples.len());
    }
    let manifest = record.manifest();
    let end = manifest.end.as_ref().unwrap();
    assert_eq!(end.outcome, Outcome::Exited(3));
    assert_eq!(end.responses.get("score"), Some(&3.0));
    let cluster = manifest.start.cluster.as_ref().unwrap();
    assert_eq!(cluster.engine, "ssh");
    assert_eq!(cluster.nodes.len(), 2);
    let exits: Vec<ExitStatus> = {
        let mut exits: Vec<_> = record
            .events()
            .unwrap()
            .iter()
            .filter_map(|event| match event.lifecycle() {
                Some(Lifecycle::Exited(status)) => Some((event.worker, status)),
                _ => None,
            })
            .collect();
        exits.sort_by_key(|(worker, _)| *worker);
        exits.into_iter().map(|(_, status)| status).collect()
    };
    assert_eq!(exits, [ExitStatus::Exited(0), ExitStatus::Exited(3)]);
    for worker in 0..2 {
        let log = dir.path().join(format!("record/log/worker{worker}.out"));
        assert_eq!(
            std::fs::read_to_string(log).unwrap(),
            format!("rank {worker}\n")
        );
    }
    let shown = run(dir.path(), ["show", "record", "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let second = &shown["cluster"]["nodes"][1];
    assert_eq!(second["node"], hosts.names[1].as_str(), "{shown}");
}

#[test]
fn one_failed_rank_ends_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 2) else {
        return;
    };
    write(dir.path(), "engine.toml", &hosts.engine(""));
    let script = format!("if [ $RANK = 1 ]; then exit 9; fi; exec sleep {}", mark(1));
    let words = "run --quiet --out record --engine engine.toml --".split(' ');
    let ran = run(dir.path(), words.chain(["sh", "-c", &script]));
    assert_eq!(ran.code, Some(9), "{}", ran.err);
    assert!(processes(&["sleep", &mark(1)]).is_empty());
}

#[test]
fn nothing_outlives_a_killed_agent_and_the_run_says_that_its_node_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 2) else {
        return;
    };
    write(dir.path(), "engine.toml", &hosts.engine(""));
    let second = mark(2);
    // One of them leaves the process group and the session of its command.
    let script = format!("echo up; setsid sleep {second} & exec sleep {second}");
    let words = "run --quiet --out record --engine engine.toml --".split(' ');
    let child = paceline(dir.path(), words.chain(["sh", "-c", &script]))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What a command printed has come only after the word that it was started.
    let is_up = |worker: u32| {
        let log = dir.path().join(format!("record/log/worker{worker}.out"));
        std::fs::read_to_string(log).is_ok_and(|text| text.contains("up"))
    };
    wait_until("both nodes run", || {
        processes(&["sleep", &second]).len() == 4 && is_up(0) && is_up(1)
    });
    let agents = agents(&hosts.names[1]);
    let [agent] = agents.as_slice() else {
        panic!("not one agent: {agents:?}");
    };
    signal(*agent, "KILL");
    let ran = support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    wait_until("nothing is left", || {
        processes(&["sleep", &second]).is_empty()
    });
    let record = Run::open(&dir.path().join("record")).unwrap();
    assert_eq!(
        record.manifest().end.as_ref().unwrap().outcome,
        Outcome::Lost
    );
    let events = record.events().unwrap();
    assert!(
        events.iter().any(|event| event.name == "node_lost"),
        "{events:?}"
    );
}

#[test]
fn after_a_killed_controller_nothing_is_left_and_the_same_command_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 2) else {
        return;
    };
    let third = mark(3);
    let study = format!(
        "[job]\ncommand = [\"sh\", \"-c\", \"echo $RANK >>{dir}/{{speed}}-{{replicate}}-{{nodes}}; \
         if [ -e {dir}/wait ]; then setsid sleep {third} & sleep {third}; fi\"]\n\
         [factors]\nspeed = [1, 2]\nnodes = [1, 2]\n\
         [responses]\ntime = \"duration_s\"\n{engine}",
        dir = dir.path().display(),
        engine = hosts.engine(""),
    );
    write(dir.path(), "study.toml", &study);
    write(dir.path(), "wait", "");
    let mut child = paceline(dir.path(), ["study", "run", "study.toml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a run takes place", || {
        matches!(processes(&["sleep", &third]).len(), 2 | 4)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // A rank that was about to start when the controller was killed still may: the
    // session is over when its agents are.
    wait_until("nothing is left of the first session", || {
        processes(&["sleep", &third]).is_empty()
            && hosts.names.iter().all(|host| agents(host).is_empty())
    });
    std::fs::remove_file(dir.path().join("wait")).unwrap();
    // What the interrupted run has written is written again.
    for entry in std::fs::read_dir(dir.path()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().contains("-0-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let ran = run(dir.path(), ["study", "run", "study.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (speed, nodes) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let path = dir.path().join(format!("{speed}-0-{nodes}"));
        let mut ranks: Vec<String> = std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        ranks.sort();
        let expected: Vec<String> = (0..nodes).map(|rank: i32| rank.to_string()).collect();
        assert_eq!(ranks, expected, "{}", path.display());
    }
    let table = std::fs::read_to_string(dir.path().join("study.study/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
}

#[test]
fn program_and_data_reach_hosts_where_nothing_is_installed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(hosts) = hosts(dir.path(), 1) else {
        return;
    };
    let project = dir.path().join("project");
    std::fs::create_dir(&project).unwrap();
    write(
        &project,
        "greet.sh",
        "echo hello from \"$(cat name.txt)\"; pwd\n",
    );
    write(&project, "name.txt", "far away");
    let engine = hosts
        .engine("data = \"ship\"\n")
        .replace("binary = \"shared\"", "binary = \"ship\"");
    write(&project, "engine.toml", &engine);
    let words = "run --quiet --out ../record --engine engine.toml -- sh greet.sh";
    let ran = run(&project, words.split(' '));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut lines = ran.out.lines();
    assert_eq!(lines.next(), Some("hello from far away"));
    let there = lines.next().unwrap();
    assert!(there.contains("/.cache/paceline/data/"), "{there}");
    std::fs::remove_dir_all(there).unwrap();
}

#[test]
fn what_an_engine_cannot_do_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let train = "[job]\nkind = \"train\"\nmodel = \"softmax\"\ndata = \"mnist\"\nepochs = 1\n\
                 [factors]\nnodes = [1, 2]\nbatch_size = [64, 128]\n";
    write(dir.path(), "train.toml", train);
    run(dir.path(), ["study", "run", "train.toml"]).fails(2, "does not act on `nodes`");
    let ssh = "[job]\ncommand = [\"true\"]\n[factors]\nnodes = [1, 3]\n\
               [engine]\nkind = \"ssh\"\nhosts = [\"a\", \"b\"]\n";
    write(dir.path(), "ssh.toml", ssh);
    run(dir.path(), ["study", "run", "ssh.toml"]).fails(2, "3 nodes are asked for");
    let words = ["run", "--engine", "ssh:no-such-host.invalid", "--", "true"];
    run(dir.path(), words).fails(3, "ssh does not reach no-such-host.invalid");
    run(
        dir.path(),
        ["run", "--engine", "nothing.toml", "--", "true"],
    )
    .fails(2, "nothing.toml");
    assert!(!dir.path().join("runs").exists());
}
