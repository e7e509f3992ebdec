//! Processes that sum their gradients among themselves.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use paceline_train::{
    Checkpoint, Ending, Evaluation, External, Launcher, Notice, ProgressReport, TrainError, Watch,
};
use paceline_wire::{Member, Role, Token};

use crate::processes::{
    Chance, Children, LONG, PLAN, Plan, Told, meeting, on_threads_instead, run,
};
use crate::support::bits;

const REDUCE: Plan = Plan {
    sync: "allreduce",
    ..PLAN
};

const LONG_REDUCE: Plan = Plan {
    sync: "allreduce",
    ..LONG
};

#[test]
fn processes_without_a_server_end_with_the_bits_of_threads_and_of_a_server() {
    // With two workers a sum has one order. With three, recursive doubling adds
    // the first two and then the third, as a server does.
    for (data, optimizer, workers) in [
        ("blobs", "adam", 1),
        ("blobs", "adam", 2),
        ("blobs", "momentum", 3),
        ("sparse", "adagrad", 2),
    ] {
        let plan = Plan {
            data,
            optimizer,
            workers,
            ..REDUCE
        };
        let run = run(&plan, &[]);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps);
        assert_eq!(run.told.evaluations.len(), 3);
        assert!(found.workers.iter().all(|worker| worker.iterations == 60));
        assert!(
            run.parameters == on_threads_instead(&plan),
            "{data}, {workers} workers: threads"
        );
        let served = Plan {
            sync: "bsp",
            ..plan
        };
        assert!(
            run.parameters == on_threads_instead(&served),
            "{data}, {workers} workers: a server"
        );
    }
}

#[test]
fn a_gradient_that_leaves_in_buckets_gives_the_same_bits() {
    let plan = Plan {
        data: "wide",
        // Beyond the trial of whether buckets leave early or late.
        steps: 40,
        ..REDUCE
    };
    let run = run(&plan, &[]);
    let found = run.outcome.unwrap();
    assert_eq!(found.outcome.ending, Ending::Steps);
    assert!(found.workers.iter().all(|worker| worker.bytes_sent > 0));
    assert!(run.parameters == on_threads_instead(&plan));
}

#[test]
fn whoever_is_killed_is_replaced_and_the_result_is_the_same() {
    let expected = on_threads_instead(&LONG_REDUCE);
    for kills in [
        &["worker0@step20"][..],
        &["worker1@step20"],
        &["worker1@step20", "worker0@step60", "worker1@step100"],
        // All at once: the trainer's last snapshot remains.
        &["worker0@step20", "worker1@step20"],
    ] {
        let run = run(&LONG_REDUCE, kills);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps, "{kills:?}");
        assert_eq!(run.told.evaluations.len(), 10, "{kills:?}");
        let told = run.told.notices.join("; ");
        assert!(told.contains("started again"), "{kills:?}: {told}");
        assert!(told.contains("go on together"), "{kills:?}: {told}");
        assert!(run.parameters == expected, "{kills:?}");
    }
}

/// One run with random kills of any workers, several at once among them.
/// Whatever the seed, it ends with all its steps done and the bits of a training
/// that nobody disturbed.
fn campaign(seed: u64) {
    let mut chance = Chance::of(seed);
    let workers = 2 + chance.below(2) as u32;
    let plan = Plan {
        workers,
        optimizer: ["momentum", "adam"][chance.below(2) as usize],
        ..LONG_REDUCE
    };
    let kills: Vec<String> = (0..1 + chance.below(4))
        .map(|_| {
            let worker = chance.below(u64::from(workers));
            format!("worker{worker}@step{}", 10 * chance.below(18))
        })
        .collect();
    let words: Vec<&str> = kills.iter().map(String::as_str).collect();
    let story = format!("seed {seed}: {workers} workers, {kills:?}");
    let run = run(&plan, &words);
    let found = run
        .outcome
        .unwrap_or_else(|error| panic!("{story}: {error}"));
    assert_eq!(found.outcome.ending, Ending::Steps, "{story}");
    let steps: Vec<u64> = run.told.evaluations.iter().map(|one| one.steps).collect();
    let due: Vec<u64> = (1..=10).map(|n| 20 * n).collect();
    assert_eq!(steps, due, "{story}");
    assert!(run.parameters == on_threads_instead(&plan), "{story}");
}

#[test]
fn six_groups_with_random_kills_end_with_the_bits_of_an_undisturbed_one() {
    for seed in 0..6 {
        campaign(seed);
    }
}

#[test]
#[ignore = "takes a minute: the campaign in full"]
fn a_hundred_groups_with_random_kills_end_with_the_bits_of_an_undisturbed_one() {
    for seed in 0..100 {
        campaign(seed);
    }
}

#[test]
fn a_group_that_must_not_lose_a_worker_fails_and_names_it() {
    for (policy, kill, expected) in [
        ("fail", "worker1@step20", 1),
        ("fail", "worker0@step20", 0),
        ("continue", "worker1@step20", 1),
    ] {
        let plan = Plan {
            policy,
            ..LONG_REDUCE
        };
        let error = run(&plan, &[kill]).outcome.unwrap_err();
        assert!(
            matches!(&error, TrainError::Lost { worker, .. } if *worker == expected),
            "{policy}: {error}"
        );
    }
}

/// Sends a signal to a worker's process at the first evaluation.
struct Stopping {
    told: Told,
    rank: u32,
    started: Arc<Mutex<Vec<(Member, u32)>>>,
}

impl Watch for Stopping {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        if self.told.evaluations.is_empty() {
            let started = self.started.lock().expect("nobody panics");
            let process = started.iter().find(|(member, _)| member.rank == self.rank);
            let (_, process) = process.expect("the worker was started");
            #[expect(clippy::disallowed_methods, reason = "a process is stopped")]
            let sent = Command::new("kill")
                .args(["-STOP", &process.to_string()])
                .status()
                .expect("there is a kill");
            assert!(sent.success());
        }
        self.told.evaluated(evaluation);
    }

    fn noticed(&mut self, notice: &Notice) {
        self.told.noticed(notice);
    }
}

fn with_a_stopped_worker(plan: &Plan, rank: u32) -> (Result<Ending, TrainError>, Told, Vec<u32>) {
    let dir = tempfile::tempdir().expect("a directory");
    let token = Token::random().expect("a token");
    let mut session = plan.session(&dir.path().join("model.safetensors"));
    let mut crew = Children::new(plan, dir.path(), &token);
    let mut watch = Stopping {
        told: Told::default(),
        rank,
        started: Arc::clone(&crew.started),
    };
    let outcome = session.run_on_processes(
        &meeting(dir.path(), plan.servers, token),
        &mut crew,
        &[],
        &mut watch,
        &AtomicBool::new(false),
    );
    let ending = outcome.map(|found| found.outcome.ending);
    (ending, watch.told, bits(session.parameters()))
}

#[test]
fn a_worker_that_falls_silent_is_named_and_replaced() {
    let plan = Plan {
        timeout: 1,
        workers: 3,
        ..LONG_REDUCE
    };
    for rank in [0, 2] {
        let (ending, told, parameters) = with_a_stopped_worker(&plan, rank);
        assert_eq!(ending.unwrap(), Ending::Steps);
        let told = told.notices.join("; ");
        let named = format!("worker {rank} is lost: it was silent for 1.0 s");
        assert!(told.contains(&named), "{told}");
        assert!(parameters == on_threads_instead(&plan));
    }
}

#[test]
fn a_worker_that_falls_silent_ends_a_training_that_must_not_lose_it() {
    let plan = Plan {
        timeout: 1,
        policy: "fail",
        ..LONG_REDUCE
    };
    let (ending, _, _) = with_a_stopped_worker(&plan, 1);
    let error = ending.unwrap_err();
    assert!(
        matches!(error, TrainError::Lost { worker: 1, .. }),
        "{error}"
    );
}

/// Asks for the end at the second evaluation.
struct Interrupting<'a>(Told, &'a AtomicBool);

impl Watch for Interrupting<'_> {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        self.0.evaluated(evaluation);
        if self.0.evaluations.len() == 2 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_training_that_was_interrupted_and_resumed_ends_with_the_bits_of_one_that_was_not() {
    let plan = Plan {
        optimizer: "adam",
        workers: 3,
        steps: 1000,
        ..REDUCE
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let token = Token::random().unwrap();
    let mut session = plan.session(&path);
    let mut crew = Children::new(&plan, dir.path(), &token);
    let stop = AtomicBool::new(false);
    let found = session
        .run_on_processes(
            &meeting(dir.path(), 1, token.clone()),
            &mut crew,
            &[],
            &mut Interrupting(Told::default(), &stop),
            &stop,
        )
        .unwrap();
    assert_eq!(found.outcome.ending, Ending::Interrupted);
    let kept = Checkpoint::read(session.layout(), &path).unwrap();
    assert!((40..1000).contains(&kept.progress.steps));
    assert_eq!(kept.progress.steps, found.outcome.progress.steps);

    let mut session = plan.resumed(&path);
    let mut crew = Children::new(&plan, dir.path(), &token);
    let found = session
        .run_on_processes(
            &meeting(dir.path(), 1, token),
            &mut crew,
            &[],
            &mut Told::default(),
            &AtomicBool::new(false),
        )
        .unwrap();
    assert_eq!(found.outcome.ending, Ending::Steps);
    assert!(bits(session.parameters()) == on_threads_instead(&plan));
}

/// Workers that this test starts, and a trainer that does not.
fn elsewhere(plan: &Plan, told: &[Plan], watch: &mut dyn Watch) -> Result<Ending, TrainError> {
    let dir = tempfile::tempdir().expect("a directory");
    let token = Token::random().expect("a token");
    let mut session = plan.session(&dir.path().join("model.safetensors"));
    let mut meeting = meeting(dir.path(), 1, token.clone());
    meeting.patience = std::time::Duration::from_secs(20);
    let mut crews: Vec<Children> = told
        .iter()
        .map(|plan| Children::new(plan, dir.path(), &token))
        .collect();
    for (rank, crew) in (0..).zip(&mut crews) {
        let member = Member {
            role: Role::Worker,
            rank,
            incarnation: 0,
        };
        crew.start(member).expect("a process starts");
    }
    session
        .run_on_processes(&meeting, &mut External, &[], watch, &AtomicBool::new(false))
        .map(|found| {
            assert!(bits(session.parameters()) == on_threads_instead(plan));
            found.outcome.ending
        })
}

#[test]
fn workers_that_somebody_else_starts_meet_at_the_trainer() {
    let mut told = Told::default();
    let ending = elsewhere(&REDUCE, &[REDUCE, REDUCE], &mut told).unwrap();
    assert_eq!(ending, Ending::Steps);
}

/// Asks for the end as soon as something is noticed.
struct StopsAtANotice<'a>(&'a AtomicBool, Vec<String>);

impl Watch for StopsAtANotice<'_> {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, _: &Evaluation) {}

    fn noticed(&mut self, notice: &Notice) {
        self.1.push(notice.to_string());
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_worker_that_was_told_to_train_something_else_is_not_let_in() {
    let dir = tempfile::tempdir().unwrap();
    let token = Token::random().unwrap();
    let mut session = REDUCE.session(&dir.path().join("model.safetensors"));
    let other = Plan {
        optimizer: "adam",
        ..REDUCE
    };
    let mut crew = Children::new(&other, dir.path(), &token);
    let stop = AtomicBool::new(false);
    let mut watch = StopsAtANotice(&stop, Vec::new());
    let found = session
        .run_on_processes(
            &meeting(dir.path(), 1, token),
            &mut crew,
            &[],
            &mut watch,
            &stop,
        )
        .unwrap();
    assert_eq!(found.outcome.ending, Ending::Interrupted);
    let told = watch.1.join("; ");
    assert!(told.contains("its optimizer is adam"), "{told}");
}
