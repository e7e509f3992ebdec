//! The loop of threads that share the coordinator's memory, as a caller writes
//! it: one lock per iteration, no message, no copy of an update.

use std::sync::{Condvar, Mutex};
use std::thread;

use crate::problem::Problem;
use paceline_sync::{Action, Clock, Consistency, Coordinator, Receipt, Sender, Settings, Tick};

const COORDINATES: usize = 3;

/// What the threads share, behind one mutex.
struct Shared {
    coordinator: Coordinator,
    parameters: Vec<f64>,
    /// What the open iteration gathered, in the order of the workers.
    gathered: Vec<Option<Vec<f64>>>,
    /// Which iteration each worker may start, until it does.
    turns: Vec<Option<Clock>>,
}

impl Shared {
    fn carry_out(&mut self, actions: &mut Vec<Action>) {
        for action in actions.drain(..) {
            match action {
                Action::Close { .. } => {
                    let gradients: Vec<_> =
                        self.gathered.iter_mut().filter_map(Option::take).collect();
                    for (i, parameter) in self.parameters.iter_mut().enumerate() {
                        *parameter = Problem::step(*parameter, gradients.iter().map(|g| g[i]));
                    }
                }
                Action::Proceed { to, clock, .. } => {
                    self.turns[to.worker.0 as usize] = Some(clock);
                }
                Action::Welcome { .. } | Action::Empty => {}
                other => panic!("nobody is lost among threads: {other:?}"),
            }
        }
    }
}

/// Trains with one thread per worker. The parameters and how many updates
/// counted.
fn train(consistency: Consistency, workers: u32, iterations: u64, seed: u64) -> (Vec<f64>, u64) {
    let problem = Problem::new(seed, COORDINATES);
    let settings = Settings::new(consistency, workers).expect("the model suits");
    let mut shared = Shared {
        coordinator: Coordinator::new(settings),
        parameters: problem.start(),
        gathered: vec![None; workers as usize],
        turns: vec![None; workers as usize],
    };
    // Time matters to dynamic-ssp only; here a step of time is a call.
    let mut actions = Vec::new();
    for id in 0..workers {
        let joined = shared
            .coordinator
            .join(Sender::first(id), Tick(0), &mut actions);
        joined.expect("there is room for it");
    }
    for id in 0..workers {
        let read = shared
            .coordinator
            .read(Sender::first(id), Clock(0), Tick(0), &mut actions);
        read.expect("it has joined");
    }
    shared.carry_out(&mut actions);

    let (shared, turned) = (Mutex::new(shared), Condvar::new());
    thread::scope(|scope| {
        for id in 0..workers {
            let (problem, shared, turned) = (&problem, &shared, &turned);
            scope.spawn(move || {
                let me = Sender::first(id);
                let mut actions = Vec::with_capacity(2 * workers as usize + 2);
                let mut guard = shared.lock().expect("no thread panicked");
                loop {
                    let clock = loop {
                        if let Some(clock) = guard.turns[id as usize].take() {
                            break clock;
                        }
                        guard = turned.wait(guard).expect("no thread panicked");
                    };
                    if clock.0 >= iterations {
                        break;
                    }
                    let parameters = guard.parameters.clone();
                    drop(guard);
                    let gradient = problem.gradient(id as usize, clock.0, &parameters);
                    guard = shared.lock().expect("no thread panicked");
                    let receipt =
                        guard
                            .coordinator
                            .update_and_read(me, clock, Tick(clock.0), &mut actions);
                    if receipt == Ok(Receipt::Counted) {
                        if consistency.gathers() {
                            guard.gathered[id as usize] = Some(gradient);
                        } else {
                            for (parameter, slope) in guard.parameters.iter_mut().zip(&gradient) {
                                *parameter = Problem::step(*parameter, [*slope]);
                            }
                        }
                    }
                    guard.carry_out(&mut actions);
                    turned.notify_all();
                }
                let left = guard.coordinator.leave(me, Tick(iterations), &mut actions);
                left.expect("it takes part until now");
                guard.carry_out(&mut actions);
                turned.notify_all();
            });
        }
    });
    let shared = shared.into_inner().expect("no thread panicked");
    (shared.parameters, shared.coordinator.total().counted)
}

#[test]
fn threads_in_bulk_synchronous_steps_equal_one_worker() {
    for workers in 1..5 {
        let (found, counted) = train(Consistency::Bsp, workers, 40, 11);
        let expected = Problem::new(11, COORDINATES).single_worker(workers as usize, 40);
        assert_eq!(found, expected, "bit for bit with {workers} workers");
        assert_eq!(counted, 40 * u64::from(workers));
    }
}

#[test]
fn threads_under_every_other_model_reach_the_end() {
    for model in ["ssp:0", "ssp:3", "async", "backup:1", "dynamic-ssp:1..8"] {
        let consistency = model.parse().expect("a word of the flag");
        let (found, counted) = train(consistency, 4, 60, 5);
        assert!(found.iter().all(|x| x.is_finite()));
        if !matches!(consistency, Consistency::Backup { .. }) {
            assert_eq!(counted, 240, "{model}");
        }
    }
}
