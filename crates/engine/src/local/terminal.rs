//! Lending the terminal to the command.
//!
//! The command runs in its own process group. If Paceline sits in the
//! foreground of a terminal, only that group may read from it, so the command
//! gets the foreground while it runs and Paceline takes it back afterwards.

use super::kernel;
use rustix::process::{Pid, Signal};
use std::io::{IsTerminal, stdin};

/// The terminal, while it is lent.
pub(super) struct Lent {
    own: Pid,
    /// Who has it; nobody before the command has started.
    to: Option<Pid>,
}

impl Lent {
    /// The terminal, if there is one and its foreground is ours to lend.
    pub(super) fn available() -> Option<Self> {
        let own = rustix::process::getpgrp();
        if !stdin().is_terminal() || foreground() != Some(own) {
            return None;
        }
        // The command's output and the status are written while the command has
        // the foreground; under `stty tostop` that would stop us.
        kernel::block_sigttou();
        Some(Self { own, to: None })
    }

    /// Says that the command leads `group` and has taken the foreground.
    pub(super) fn lend_to(&mut self, group: Pid) {
        self.to = Some(group);
    }

    /// The command was stopped. After Ctrl-Z the whole job stops, until the shell
    /// continues it. A command that was continued in the background and then
    /// fetched by `fg` stops when it reads: it gets the foreground.
    pub(super) fn suspended(&self) {
        let Some(group) = self.to else { return };
        if foreground() != Some(self.own) {
            self.take_back();
            kernel::stop_own_group();
        }
        // In the background there is nothing to lend.
        if foreground() == Some(self.own) {
            give_to(group);
        }
        let _ = rustix::process::kill_process_group(group, Signal::CONT);
    }

    /// Takes the foreground, unless the shell has it: then it is not ours.
    fn take_back(&self) {
        if self.to.is_none() || foreground() == self.to {
            give_to(self.own);
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.take_back();
    }
}

/// Stops this process and the others of its job, as Ctrl-Z does where it is no
/// key of our own. Returns when the shell has continued them, and at once if
/// there is no shell that could.
pub fn stop_own_job() {
    kernel::stop_own_group();
}

fn foreground() -> Option<Pid> {
    rustix::termios::tcgetpgrp(stdin()).ok()
}

fn give_to(group: Pid) {
    // The terminal may be gone; then there is nothing to give.
    let _ = kernel::without_sigttou(|| rustix::termios::tcsetpgrp(stdin(), group));
}
