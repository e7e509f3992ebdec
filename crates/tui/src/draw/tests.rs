//! What people see, at three sizes.

use super::{Palette, draw};
use crate::input::Action;
use crate::state::{State, Title};
use paceline_model::{
    Event, EventKind, Measure, Micros, PartKind, PartMeasure, PartReading, Sample, WorkerId,
};
use paceline_model::{ExitStatus, Lifecycle, Stream};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A screen as text, one line per row.
fn screen(state: &State, (width, height): (u16, u16), paused: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let palette = Palette::new(true);
    terminal
        .draw(|frame| draw(frame, state, paused, &palette))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| {
        let row: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn new() -> State {
    State::new(Title {
        name: "mnist".to_owned(),
        command: "python train.py --batch-size 128".to_owned(),
        cpus: 4,
    })
}

/// A minute of a run that loads data, then computes.
fn minute() -> State {
    let mut state = new();
    for second in 1..=60_u64 {
        state.sample(&sample(second));
        if second.is_multiple_of(5) {
            state.event(&metric("loss", second, 2.3 / (second as f64)));
            state.event(&metric("accuracy", second, 1.0 - 0.9 / second as f64));
            let line = format!("epoch {} of 20\n", second / 5);
            state.output(Stream::Out, line.as_bytes());
        }
    }
    state.output(Stream::Err, b"\x1b[33mwarning:\x1b[0m the cache is cold\n");
    state.output(Stream::Err, b" 40%|####      |\r 60%|######    |");
    state.elapsed = Micros(60_400_000);
    state
}

fn sample(second: u64) -> Sample {
    let loads = second <= 20;
    let wave = (second % 7) as f64;
    let readings = [
        (
            Measure::RunCpuUser,
            if loads { 0.3 } else { 3.2 + 0.1 * wave },
        ),
        (Measure::RunCpuSystem, 0.1),
        (Measure::RunMemRss, 2e8 + 2e7 * second as f64),
        (
            Measure::RunDiskRead,
            if loads { 8e7 + 5e6 * wave } else { 0.0 },
        ),
        (
            Measure::RunDiskWrite,
            if second.is_multiple_of(10) { 3e7 } else { 0.0 },
        ),
        (Measure::NodeNetRx, 1200.0 * wave),
        (Measure::NodeNetTx, 300.0),
        (Measure::NodePsiIoSome, if loads { 0.6 } else { 0.0 }),
        (Measure::NodePsiCpuSome, 0.04),
    ];
    let process = |name: &str, cpu: f64, rss: f64| PartReading {
        kind: PartKind::Process,
        name: name.to_owned(),
        readings: [
            (PartMeasure::CpuUser, cpu),
            (PartMeasure::CpuSystem, 0.02),
            (PartMeasure::MemRss, rss),
            (PartMeasure::Threads, 4.0),
            (PartMeasure::DiskRead, 0.0),
            (PartMeasure::DiskWrite, 2.5e6),
        ]
        .into_iter()
        .collect(),
    };
    Sample {
        at: Micros(second * 1_000_000),
        interval: Micros(1_000_000),
        gap: None,
        // The machine was asleep: nothing is known of these seconds.
        readings: match second {
            31..=33 => Default::default(),
            _ => readings.into_iter().collect(),
        },
        parts: vec![
            process("4712 loader", 0.12, 9e8),
            process("4711 python", 3.18, 3.1e8),
            process("4713 loader", 0.12, 3e7),
        ],
    }
}

fn metric(name: &str, step: u64, value: f64) -> Event {
    Event {
        at: Micros(1),
        worker: Some(WorkerId(0)),
        kind: EventKind::Metric,
        step: Some(step),
        name: name.to_owned(),
        value: Some(value),
        text: None,
    }
}

fn lifecycle(what: Lifecycle) -> Event {
    Event::of_process(Micros(1), WorkerId(0), what)
}

#[test]
fn a_large_terminal_shows_everything() {
    insta::assert_snapshot!(screen(&minute(), (120, 40), false));
}

#[test]
fn a_common_terminal_shows_everything_smaller() {
    insta::assert_snapshot!(screen(&minute(), (80, 24), false));
}

#[test]
fn a_tiny_terminal_keeps_resources_and_output() {
    insta::assert_snapshot!(screen(&minute(), (40, 10), false));
}

#[test]
fn before_the_first_sample_nothing_is_claimed() {
    insta::assert_snapshot!(screen(&new(), (80, 24), false));
}

#[test]
fn no_size_is_too_small() {
    let state = minute();
    for width in 0..=30 {
        for height in 0..=20 {
            screen(&state, (width, height), true);
        }
    }
}

#[test]
fn asking_twice_is_announced_and_the_exit_is_shown() {
    let mut state = new();
    state.act(Action::End);
    let ending = screen(&state, (80, 24), false);
    assert!(
        ending.contains("ending") && ending.contains("q kill"),
        "{ending}"
    );
    state.event(&lifecycle(Lifecycle::Exited(ExitStatus::Signalled(9))));
    assert!(screen(&state, (80, 24), false).contains("signal 9"));
}

#[test]
fn a_stopped_command_and_a_held_picture_say_so() {
    let mut state = new();
    state.event(&lifecycle(Lifecycle::Stopped));
    let stopped = screen(&state, (80, 24), true);
    assert!(
        stopped.contains("stopped") && stopped.contains("paused"),
        "{stopped}"
    );
    state.event(&lifecycle(Lifecycle::Continued));
    assert!(screen(&state, (80, 24), false).contains("runs"));
}

#[test]
fn sorting_by_memory_puts_the_largest_first() {
    let mut state = minute();
    let first = |state: &State| state.processes[0].pid.clone();
    assert_eq!(first(&state), "4711");
    state.act(Action::Sort);
    assert_eq!(first(&state), "4712");
    state.sample(&sample(61));
    assert_eq!(first(&state), "4712");
}

#[test]
fn scrolling_back_ends_at_the_first_line_and_forth_at_the_last() {
    let mut state = minute();
    state.act(Action::Back(1_000_000));
    let back = screen(&state, (80, 24), false);
    assert!(
        back.contains("epoch 1 of 20") && back.contains("lines below"),
        "{back}"
    );
    state.act(Action::Latest);
    assert!(screen(&state, (80, 24), false).contains("60%|"));
}

#[test]
fn a_loss_that_is_not_a_number_is_shown_as_such() {
    let mut state = new();
    state.event(&metric("loss", 1, f64::NAN));
    assert!(screen(&state, (80, 24), false).contains("NaN"));
}

#[test]
fn names_from_the_command_cannot_move_the_cursor() {
    let mut state = new();
    state.title.name = "a\x1b[2Jb".to_owned();
    state.event(&metric("lo\nss\x1b[H", 1, 0.5));
    let shown = screen(&state, (80, 24), false);
    assert!(!shown.contains('\x1b'), "{shown:?}");
}
