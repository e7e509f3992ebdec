//! The terminal, shared by a command's output and one line of status below it.

use parking_lot::{Mutex, MutexGuard};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A screen with output above and, if stderr is a terminal, a status line.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<State>>);

struct State {
    /// Nothing if there is no terminal or the user wants none.
    status: Option<String>,
    /// Whether the cursor is where a line begins.
    fresh: bool,
    out_is_terminal: bool,
    /// Why output could not be passed on; a reader that has gone is no reason.
    failure: Option<io::Error>,
}

impl Screen {
    /// `quiet` leaves the status line out.
    pub(crate) fn new(quiet: bool) -> Self {
        let status = (!quiet && io::stderr().is_terminal()).then(String::new);
        let out_is_terminal = io::stdout().is_terminal();
        Self(Arc::new(Mutex::new(State {
            status,
            fresh: true,
            out_is_terminal,
            failure: None,
        })))
    }

    /// Shows `line` as the status; nothing if there is no status line.
    pub(crate) fn status(&self, line: String) {
        let mut state = self.lock();
        if state.status.is_some() {
            state.erase();
            state.status = Some(line);
            state.draw();
        }
    }

    /// Says something above the status line.
    pub(crate) fn print(&self, line: &str) {
        let state = self.lock();
        state.erase();
        // With stderr closed there is nobody to tell.
        let _ = writeln!(io::stderr(), "{line}");
        state.draw();
    }

    /// Whether anybody would see a status.
    pub(crate) fn has_status(&self) -> bool {
        self.lock().status.is_some()
    }

    /// Takes the status line away for good.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.erase();
        if state.status.take().is_some() && !state.fresh {
            // The command's last line has no end; what we print next is ours.
            let _ = io::stderr().write_all(b"\n");
        }
    }

    /// Why output could not be passed on, if it could not.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.lock().failure.take()
    }

    /// Remembers why output could not be passed on.
    fn noted(&self, written: io::Result<()>) -> io::Result<()> {
        written.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::BrokenPipe {
                self.lock().failure.get_or_insert(error);
            }
            kind.into()
        })
    }

    /// A writer for a command's output.
    pub(crate) fn writer(&self, to: To) -> Box<dyn Write + Send> {
        Box::new(Passage {
            screen: self.clone(),
            to,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn erase(&self) {
        if self.fresh
            && self
                .status
                .as_ref()
                .is_some_and(|status| !status.is_empty())
        {
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }

    /// Only on a fresh line: a status would cut the command's own line in two.
    fn draw(&self) {
        if let Some(status) = self.status.as_ref().filter(|_| self.fresh) {
            let _ = io::stderr().write_all(status.as_bytes());
        }
    }
}

struct Passage {
    screen: Screen,
    to: To,
}

impl Write for Passage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shared = {
            let state = self.screen.lock();
            state.status.is_some() && (self.to == To::Err || state.out_is_terminal)
        };
        if !shared {
            // Not the terminal with the status line: nobody to coordinate with.
            self.screen.noted(write_to(self.to, bytes))?;
            return Ok(bytes.len());
        }
        let mut state = self.screen.lock();
        state.erase();
        let written = write_to(self.to, bytes);
        state.fresh = bytes.last().is_none_or(|&last| last == b'\n');
        state.draw();
        drop(state);
        self.screen.noted(written).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_to(to: To, bytes: &[u8]) -> io::Result<()> {
    match to {
        To::Out => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        To::Err => io::stderr().lock().write_all(bytes),
    }
}
