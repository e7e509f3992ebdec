//! Signals that Paceline receives, on their way to the commands it runs.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use anyhow::Context;
use paceline_runner::Interrupt;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::time::Duration;

/// How long Paceline may take to end after a SIGTERM: commands have some seconds
/// to close their files and are killed then, and the record has to be closed.
const LAST_RESORT: Duration = Duration::from_secs(25);

/// Ends Paceline if nothing else does: a disk or a process that hangs in the
/// kernel can hold it for ever. The record is then one of a run that was killed.
fn give_up_later() {
    let waiting = std::thread::Builder::new()
        .name("last-resort".to_owned())
        .stack_size(128 * 1024)
        .spawn(|| {
            std::thread::sleep(LAST_RESORT);
            output::tell("error: something hangs in the system; the record was not closed");
            std::process::exit(i32::from(Exit::Interrupted.code()));
        });
    // Without a thread there is nothing more that can be done about it.
    drop(waiting);
}

/// From now on, signals go to `interrupt` instead of ending Paceline, so that
/// the record can be closed.
pub(crate) fn pass_on(interrupt: &Arc<Interrupt>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])
        .context("cannot receive signals")
        .map_err(Failure::world)?;
    let interrupt = Arc::clone(interrupt);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .stack_size(128 * 1024)
        .spawn(move || {
            for signal in signals.forever() {
                interrupt.deliver(signal);
                if matches!(signal, SIGTERM | SIGHUP) {
                    give_up_later();
                }
            }
        })
        .context("cannot start a thread")
        .map_err(Failure::world)?;
    Ok(())
}
