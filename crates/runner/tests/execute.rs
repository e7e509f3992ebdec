//! `execute` without processes: limits, interrupts, and what the record says.

use paceline_engine::fake::{Call, FakeEngine, Step};
use paceline_engine::{Command, Ending, Launch, Leftovers, Message, StartError, Stdin, Usage};
use paceline_model::{
    Event, ExitStatus, GapReason, Lifecycle, Measure, Micros, NodeName, Outcome, RunId, Sample,
    WorkerId,
};
use paceline_probe::{Cost, Interval};
use paceline_records::{Limits, LogLimit, Machine, Run, RunWriter, Start, WallTime};
use paceline_runner::{ExecuteError, Executed, Execution, GRACE, Interrupt, Observer, execute};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const WORKER: WorkerId = WorkerId(0);
const SAMPLED: Ending = Ending {
    leftovers: 0,
    memory_kills: 0,
    probe: Some(Cost {
        cpu_s: 0.01,
        samples: 1,
        rss_bytes: None,
    }),
};

fn node() -> NodeName {
    NodeName::from_host("test")
}

fn writer(dir: &Path) -> RunWriter {
    let start = Start {
        id: RunId::new("run-1").expect("a name"),
        name: None,
        argv: vec!["job".to_owned()],
        cwd: dir.to_owned(),
        env: Default::default(),
        keep_env: Vec::new(),
        git: None,
        machines: vec![Machine {
            node: node(),
            os: "Linux".to_owned(),
            kernel: String::new(),
            architecture: String::new(),
            cpu_model: None,
            cpus_count: 1,
            memory_bytes: None,
        }],
        started: WallTime(1_763_245_439_000_000),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: Default::default(),
        log_limit: LogLimit::default(),
        cluster: None,
    };
    RunWriter::create(&dir.join("run"), start).expect("an empty directory can be written to")
}

fn execution(dir: &Path, timeout: Option<Duration>) -> Execution {
    Execution {
        launch: Launch {
            nodes: Vec::new(),
            run: RunId::new("run-1").expect("a name"),
            commands: vec![Command {
                worker: WORKER,
                rank: None,
                argv: vec!["job".into()],
                env: Vec::new(),
                cwd: None,
                cpus: None,
                tee_out: None,
                tee_err: None,
            }],
            stdin: Stdin::Null,
            memory_max: None,
            interval: Interval::new(Duration::from_secs(1)).expect("long enough"),
            leftovers: Leftovers::Leave,
        },
        patterns: Vec::new(),
        reports: dir.join("reports.jsonl"),
        timeout,
    }
}

fn started() -> Step {
    Step::Tell(Message::Started {
        worker: WORKER,
        at: Micros::ZERO,
        pid: 4711,
    })
}

fn exited(at: Duration, status: ExitStatus) -> Step {
    Step::Tell(Message::Exited {
        worker: WORKER,
        at: at.into(),
        status,
        usage: Usage::default(),
    })
}

fn sample(second: u64, gap: Option<GapReason>) -> Sample {
    Sample {
        at: Micros(second * 1_000_000),
        interval: Micros(1_000_000),
        gap,
        readings: [(Measure::RunCpuUser, 0.5)].into_iter().collect(),
        parts: Vec::new(),
    }
}

/// Executes what `engine` plays; the second value is what was asked of the run.
fn play(
    dir: &Path,
    engine: FakeEngine,
    timeout: Option<Duration>,
    interrupt: &Arc<Interrupt>,
    observer: &mut dyn Observer,
) -> (Result<Executed, ExecuteError>, Vec<Call>) {
    let done = execute(
        &engine,
        execution(dir, timeout),
        engine.clock(),
        writer(dir),
        interrupt,
        observer,
    );
    (done, engine.finish())
}

/// Executes a run that nobody interrupts.
fn outcome_of(steps: Vec<Step>, timeout: Option<Duration>) -> (Outcome, Vec<Call>) {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = FakeEngine::new(steps, SAMPLED);
    let (done, calls) = play(dir.path(), engine, timeout, &Interrupt::new(), &mut ());
    let end = done.expect("a closed record").manifest.end;
    (end.expect("a closed record has an end").outcome, calls)
}

#[test]
fn a_run_within_its_limit_is_left_alone() {
    let second = Duration::from_secs(1);
    let steps = vec![
        started(),
        Step::Advance(second),
        exited(second, ExitStatus::Exited(0)),
    ];
    let found = outcome_of(steps, Some(2 * second));
    assert_eq!(found, (Outcome::Exited(0), vec![]));
}

#[test]
fn a_run_beyond_its_limit_is_asked_to_end_and_killed_only_after_its_grace() {
    let limit = Duration::from_secs(10);
    let stubborn = vec![
        started(),
        Step::Advance(limit),
        Step::Await(Call::Signal(SIGTERM)),
        Step::Advance(GRACE),
        Step::Await(Call::Kill),
        exited(limit + GRACE, ExitStatus::Signalled(SIGKILL)),
    ];
    let (outcome, calls) = outcome_of(stubborn, Some(limit));
    assert_eq!(outcome, Outcome::TimedOut);
    assert_eq!(calls[..2], [Call::Signal(SIGTERM), Call::Kill]);

    let willing = vec![
        started(),
        Step::Advance(limit),
        Step::Await(Call::Signal(SIGTERM)),
        exited(limit, ExitStatus::Signalled(SIGTERM)),
    ];
    let found = outcome_of(willing, Some(limit));
    assert_eq!(found, (Outcome::TimedOut, vec![Call::Signal(SIGTERM)]));

    let just_done = vec![
        started(),
        Step::Advance(limit),
        Step::Await(Call::Signal(SIGTERM)),
        exited(limit, ExitStatus::Exited(0)),
    ];
    let (outcome, _) = outcome_of(just_done, Some(limit));
    assert_eq!(
        outcome,
        Outcome::Exited(0),
        "it finished its work all the same"
    );
}

/// Interrupts the run so many times once its command has started.
struct Impatient(Arc<Interrupt>, usize);

impl Observer for Impatient {
    fn event(&mut self, event: &Event) {
        if let Some(Lifecycle::Started { .. }) = event.lifecycle() {
            (0..self.1).for_each(|_| self.0.deliver(SIGINT));
        }
    }
}

fn interrupted(times: usize, last: Call, status: ExitStatus) -> (Outcome, Vec<Call>) {
    let dir = tempfile::tempdir().expect("a directory");
    let interrupt = Interrupt::new();
    let steps = vec![
        started(),
        Step::Await(last),
        exited(Duration::from_secs(1), status),
    ];
    let engine = FakeEngine::new(steps, SAMPLED);
    let mut observer = Impatient(Arc::clone(&interrupt), times);
    let (done, calls) = play(dir.path(), engine, None, &interrupt, &mut observer);
    let end = done.expect("a closed record").manifest.end;
    (end.expect("a closed record has an end").outcome, calls)
}

#[test]
fn an_interrupt_is_passed_on_and_a_second_one_kills() {
    let first = interrupted(1, Call::Signal(SIGINT), ExitStatus::Exited(1));
    assert_eq!(first, (Outcome::Cancelled, vec![Call::Signal(SIGINT)]));

    let second = interrupted(2, Call::Kill, ExitStatus::Signalled(SIGKILL));
    let calls = vec![Call::Signal(SIGINT), Call::Kill];
    assert_eq!(second, (Outcome::Cancelled, calls));
}

#[test]
fn an_interrupt_before_the_start_ends_the_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    interrupt.deliver(SIGTERM);
    let steps = vec![
        started(),
        Step::Await(Call::Kill),
        exited(Duration::ZERO, ExitStatus::Signalled(SIGKILL)),
    ];
    let engine = FakeEngine::new(steps, SAMPLED);
    let (done, calls) = play(dir.path(), engine, None, &interrupt, &mut ());
    let end = done.unwrap().manifest.end.unwrap();
    assert_eq!((end.outcome, calls), (Outcome::Cancelled, vec![Call::Kill]));
}

#[test]
fn leftovers_suspensions_and_a_blind_probe_are_told_in_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let stop = |stopped, second: u64| {
        Step::Tell(Message::Suspended {
            worker: WORKER,
            stopped,
            at: Micros(second * 1_000_000),
        })
    };
    let steps = vec![
        started(),
        stop(true, 1),
        stop(false, 2),
        exited(Duration::from_secs(3), ExitStatus::Exited(0)),
    ];
    let ending = Ending {
        leftovers: 2,
        memory_kills: 0,
        probe: None,
    };
    let engine = FakeEngine::new(steps, ending);
    let (done, _) = play(dir.path(), engine, None, &Interrupt::new(), &mut ());
    let end = done.unwrap().manifest.end.unwrap();
    let told: Vec<_> = end.notices.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(told, ["leftover_processes", "suspended", "not_sampled"]);
    assert_eq!(end.notices[0].text, "2 processes outlived the command");
    assert_eq!(end.overhead, None);
}

#[test]
fn a_run_that_cannot_be_recorded_is_killed_and_awaited() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let steps = vec![
        started(),
        Step::Do(Box::new(move || {
            std::fs::remove_dir_all(&run).expect("the record was there");
        })),
        // A node that nobody announced needs a file of its own.
        Step::Tell(Message::Sample {
            node: NodeName::from_host("elsewhere"),
            sample: Box::new(sample(1, None)),
        }),
        Step::Await(Call::Kill),
        exited(Duration::from_secs(2), ExitStatus::Signalled(SIGKILL)),
    ];
    let engine = FakeEngine::new(steps, SAMPLED);
    let (done, calls) = play(dir.path(), engine, None, &Interrupt::new(), &mut ());
    assert!(matches!(done, Err(ExecuteError::Record(_))), "{done:?}");
    assert_eq!(calls, [Call::Kill]);
}

#[test]
fn a_command_that_does_not_start_leaves_a_record_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::refusing(StartError::NotFound("job".to_owned()));
    let done = execute(
        &engine,
        execution(dir.path(), None),
        engine.clock(),
        writer(dir.path()),
        &Interrupt::new(),
        &mut (),
    );
    assert!(matches!(done, Err(ExecuteError::Start(_))), "{done:?}");
    let run = Run::open(&dir.path().join("run")).unwrap();
    let end = run.manifest().end.clone().unwrap();
    assert_eq!(end.outcome, Outcome::NotStarted);
}

#[test]
fn a_missed_sample_is_a_gap_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let late = Sample {
        interval: Micros(3_000_000),
        ..sample(4, Some(GapReason::Late))
    };
    let told = [sample(1, None), late];
    let mut steps = vec![started()];
    steps.extend(told.iter().map(|sample| {
        Step::Tell(Message::Sample {
            node: node(),
            sample: Box::new(sample.clone()),
        })
    }));
    steps.push(exited(Duration::from_secs(4), ExitStatus::Exited(0)));
    let engine = FakeEngine::new(steps, SAMPLED);
    let (done, _) = play(dir.path(), engine, None, &Interrupt::new(), &mut ());
    drop(done.unwrap());
    let run = Run::open(&dir.path().join("run")).unwrap();
    let samples = run.samples_of(&node()).unwrap();
    let kept: Vec<Sample> = samples.map(|sample| sample.unwrap()).collect();
    assert_eq!(kept, told, "two rows: nothing is interpolated between them");
}
