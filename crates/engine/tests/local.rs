//! The local engine against real processes.

use paceline_engine::{
    Command, Engine, Launch, Leftovers, LocalEngine, Message, RunClock, StartError, Stdin,
};
use paceline_model::{ExitStatus, Measure, NodeName, RunId, Sample, Stream, WorkerId};
use paceline_probe::{Interval, Roots};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Everything one run told, sorted by kind.
#[derive(Default)]
struct Told {
    out: Vec<u8>,
    err: Vec<u8>,
    samples: Vec<Sample>,
    exits: Vec<(WorkerId, ExitStatus)>,
    user_s: f64,
    leftovers: u32,
    last_was_the_end: bool,
}

fn shell(worker: u32, script: &str) -> Command {
    Command {
        worker: WorkerId(worker),
        rank: None,
        argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
        env: Vec::new(),
        cwd: None,
        cpus: None,
        tee_out: None,
        tee_err: None,
    }
}

fn launch(test: &str, commands: Vec<Command>) -> Launch {
    Launch {
        run: RunId::new(&format!("engine-{test}-{}", std::process::id())).expect("a valid id"),
        commands,
        nodes: Vec::new(),
        stdin: Stdin::Null,
        memory_max: None,
        interval: Interval::new(Duration::from_millis(100)).expect("not too short"),
        leftovers: Leftovers::End,
    }
}

fn engine() -> LocalEngine {
    LocalEngine::new(NodeName::from_host("test"), Roots::default(), false)
}

fn run(launch: Launch) -> Result<Told, StartError> {
    let (sender, messages) = sync_channel(64);
    let _job = engine().start(launch, RunClock::start(), sender)?;
    Ok(collect(&messages))
}

fn collect(messages: &Receiver<Message>) -> Told {
    let mut told = Told::default();
    for message in messages {
        told.last_was_the_end = matches!(message, Message::Ended(_));
        match message {
            Message::Output {
                stream: Stream::Out,
                bytes,
                ..
            } => told.out.extend(bytes),
            Message::Output {
                stream: Stream::Err,
                bytes,
                ..
            } => told.err.extend(bytes),
            Message::Sample { sample, .. } => told.samples.push(*sample),
            Message::Exited {
                worker,
                status,
                usage,
                ..
            } => {
                told.exits.push((worker, status));
                told.user_s += usage.cpu_user_s;
            }
            Message::Ended(ending) => told.leftovers = ending.leftovers,
            Message::Started { .. }
            | Message::Suspended { .. }
            | Message::Reports { .. }
            | Message::Noticed { .. } => {}
        }
    }
    told
}

#[test]
fn output_exit_code_and_a_last_sample_are_told() {
    let told = run(launch(
        "basic",
        vec![shell(0, "echo out; echo err >&2; exit 7")],
    ))
    .unwrap();
    assert_eq!(told.out, b"out\n");
    assert_eq!(told.err, b"err\n");
    assert_eq!(told.exits, [(WorkerId(0), ExitStatus::Exited(7))]);
    assert!(
        !told.samples.is_empty(),
        "even the shortest run has a sample"
    );
    assert!(told.last_was_the_end);
}

#[test]
fn a_missing_program_is_named_and_nothing_is_told() {
    let mut command = shell(0, "");
    command.argv[0] = "/no/such/program".into();
    match run(launch("missing", vec![command])) {
        Err(StartError::NotFound(name)) => assert_eq!(name, "/no/such/program"),
        other => panic!("expected NotFound, got {:?}", other.map(|told| told.exits)),
    }
}

#[test]
fn a_missing_working_directory_is_not_taken_for_a_missing_program() {
    let mut command = shell(0, "true");
    command.cwd = Some("/no/such/directory".into());
    let result = run(launch("cwd", vec![command]));
    assert!(
        matches!(result, Err(StartError::NoDirectory(_))),
        "{:?}",
        result.err()
    );
}

#[test]
fn when_the_second_command_cannot_start_the_first_is_ended() {
    let mut second = shell(1, "");
    second.argv[0] = "/no/such/program".into();
    let (sender, messages) = sync_channel(64);
    let started = engine().start(
        launch("half", vec![shell(0, "exec sleep 600"), second]),
        RunClock::start(),
        sender,
    );
    assert!(matches!(started.err(), Some(StartError::NotFound(_))));
    // The channel closes only when every thread of the first command is gone.
    assert!(
        messages
            .iter()
            .all(|message| matches!(message, Message::Output { .. }))
    );
}

#[test]
fn several_commands_end_together_and_keep_their_own_exit() {
    let told = run(launch(
        "gang",
        vec![
            shell(0, "exit 0"),
            shell(1, "exit 3"),
            shell(2, "kill -9 $$"),
        ],
    ))
    .unwrap();
    let mut exits = told.exits;
    exits.sort_by_key(|&(worker, _)| worker);
    assert_eq!(
        exits,
        [
            (WorkerId(0), ExitStatus::Exited(0)),
            (WorkerId(1), ExitStatus::Exited(3)),
            (WorkerId(2), ExitStatus::Signalled(9)),
        ]
    );
}

#[test]
fn a_daemon_that_holds_the_output_open_does_not_hold_the_run() {
    // The daemon inherits stdout and lives on: the end of the stream never comes.
    let told = run(launch(
        "daemon",
        vec![shell(0, "echo before; setsid sleep 600 & exit 0")],
    ))
    .unwrap();
    assert_eq!(told.out, b"before\n");
    assert_eq!(told.exits, [(WorkerId(0), ExitStatus::Exited(0))]);
}

#[test]
fn cpu_time_of_children_that_exited_early_is_sampled() {
    let burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let script = format!("({burn}) & ({burn}) & wait; ({burn})");
    let told = run(launch("forks", vec![shell(0, &script)])).unwrap();
    let sampled: f64 = told
        .samples
        .iter()
        .filter_map(|s| s.readings.get(Measure::RunCpuUser))
        .sum();
    // The kernel's own account is the reference; a clock tick per process may differ.
    assert!(
        (sampled - told.user_s).abs() <= 0.05 + 0.02 * told.user_s,
        "sampled {sampled} s, the kernel says {} s",
        told.user_s
    );
}

#[test]
fn a_signal_reaches_the_whole_process_group() {
    let (sender, messages) = sync_channel(64);
    let script = "trap 'exit 42' TERM; echo ready; sleep 600 & wait";
    let job = engine()
        .start(
            launch("signal", vec![shell(0, script)]),
            RunClock::start(),
            sender,
        )
        .unwrap();
    let ready = messages
        .iter()
        .any(|message| matches!(message, Message::Output { .. }));
    assert!(ready);
    job.signal(15);
    let told = collect(&messages);
    assert_eq!(told.exits, [(WorkerId(0), ExitStatus::Exited(42))]);
}

#[test]
fn a_killed_run_ends_even_if_it_ignores_every_signal() {
    let (sender, messages) = sync_channel(64);
    let script = "trap '' TERM INT HUP; echo ready; while :; do sleep 1; done";
    let job = engine()
        .start(
            launch("kill", vec![shell(0, script)]),
            RunClock::start(),
            sender,
        )
        .unwrap();
    assert!(
        messages
            .iter()
            .any(|message| matches!(message, Message::Output { .. }))
    );
    job.kill();
    assert_eq!(
        collect(&messages).exits,
        [(WorkerId(0), ExitStatus::Signalled(9))]
    );
}
