//! The terminal, taken over and given back on every way out.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, BufWriter, Stderr, stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours. There is one terminal, and a panic anywhere
/// has to give it back.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// A screen's worth of bytes, sent at once so that no frame is seen half drawn.
const FRAME_BYTES: usize = 64 * 1024;

/// The full screen. Dropping it gives the terminal back.
pub(super) struct Surface {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

impl Surface {
    /// Takes the terminal behind stderr over.
    pub(super) fn open() -> io::Result<Self> {
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // A report on the other screen would vanish with it.
                give_back();
                report(panic);
            }));
        });
        let writer = BufWriter::with_capacity(FRAME_BYTES, stderr());
        let terminal = Terminal::new(CrosstermBackend::new(writer))?;
        let mut surface = Self { terminal };
        surface.take()?;
        Ok(surface)
    }

    /// Takes the terminal again after [`Surface::give_back`].
    pub(super) fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(stderr(), EnterAlternateScreen)?;
        self.forget()
    }

    /// Draws everything anew with the next frame. `Terminal::clear` would do the
    /// same, but asks the terminal where its cursor is and waits for an answer
    /// that some never give.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Gives the terminal back for a while.
    pub(super) fn give_back(&mut self) {
        give_back();
    }

    /// Whether there is anything to draw on: a panic elsewhere may have given
    /// the terminal back.
    pub(super) fn is_taken(&self) -> bool {
        TAKEN.load(Ordering::SeqCst)
    }

    pub(super) fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<BufWriter<Stderr>>> {
        &mut self.terminal
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // The terminal may be gone; then there is nothing to give back.
        let _ = disable_raw_mode();
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
    }
}
