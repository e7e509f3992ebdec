//! Prints what a decision costs on this machine: nanoseconds per iteration of a
//! worker, in which it locks the coordinator once and calls `update_and_read`.
//!
//! The workers take turns on one thread, so the lock is never contended: the
//! figure is what the rules add to an iteration, not what waiting does. It is
//! the lowest of many short repetitions, since other processes only add to it.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use paceline_sync::{Clock, Coordinator, Sender, Settings, Tick};

const REPETITIONS: usize = 50;
const ITERATIONS: u64 = 12_800;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:>18} {:>8} {:>14}",
        "model", "workers", "ns/iteration"
    )?;
    for model in [
        "bsp",
        "ssp:3",
        "async",
        "backup:1",
        "dynamic-ssp:1..8",
        "local:16",
    ] {
        for workers in [2, 8, 64] {
            let mut lowest = Duration::MAX;
            for _ in 0..REPETITIONS {
                lowest = lowest.min(measure(model, workers)?);
            }
            let each = lowest.as_secs_f64() * 1e9 / ITERATIONS as f64;
            writeln!(out, "{model:>18} {workers:>8} {each:>14.1}")?;
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "an example that measures has to read the clock"
)]
fn measure(model: &str, workers: u32) -> Result<Duration, Box<dyn std::error::Error>> {
    let settings = Settings::new(model.parse()?, workers)?;
    let mut coordinator = Coordinator::new(settings);
    let mut actions = Vec::with_capacity(2 * workers as usize + 2);
    for id in 0..workers {
        coordinator.join(Sender::first(id), Tick(0), &mut actions)?;
    }
    let stride = settings.consistency().iterations_per_update();
    let shared = Mutex::new(coordinator);
    let start = Instant::now();
    for update in 0..ITERATIONS / u64::from(workers) {
        for id in 0..workers {
            let now = Tick(update * u64::from(workers) + u64::from(id));
            actions.clear();
            let mut coordinator = shared.lock().map_err(|_| "a thread panicked")?;
            coordinator.update_and_read(
                Sender::first(id),
                Clock(update * stride),
                now,
                &mut actions,
            )?;
            drop(coordinator);
            black_box(&actions);
        }
    }
    Ok(start.elapsed())
}
