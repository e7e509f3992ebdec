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
}

impl Lent {
    /// The terminal, if there is one and its foreground is ours to lend.
    pub(super) fn available() -> Option<Self> {
        let stdin = stdin();
        let own = rustix::process::getpgrp();
        let ours = stdin.is_terminal()
            && rustix::termios::tcgetpgrp(&stdin).is_ok_and(|foreground| foreground == own);
        ours.then_some(Self { own })
    }

    /// Takes the foreground back, lets the shell have it until it continues us,
    /// and lends it to `group` again. This is what Ctrl-Z and `fg` do.
    pub(super) fn suspend_with(&self, group: Pid) {
        give_to(self.own);
        // The whole job stops, as it would have without us in between.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        // Here the shell has continued us. In the background there is nothing to lend.
        let foreground = rustix::termios::tcgetpgrp(stdin()).is_ok_and(|group| group == self.own);
        if foreground {
            give_to(group);
        }
        let _ = rustix::process::kill_process_group(group, Signal::CONT);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        give_to(self.own);
    }
}

fn give_to(group: Pid) {
    // The terminal may be gone; then there is nothing to give.
    let _ = kernel::without_sigttou(|| rustix::termios::tcsetpgrp(stdin(), group));
}
