//! Signals that Paceline receives, on their way to the commands it runs.

use crate::failure::Failure;
use anyhow::Context;
use paceline_runner::Interrupt;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::sync::Arc;

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
            signals
                .forever()
                .for_each(|signal| interrupt.deliver(signal))
        })
        .context("cannot start a thread")
        .map_err(Failure::world)?;
    Ok(())
}
