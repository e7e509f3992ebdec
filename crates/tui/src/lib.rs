//! `paceline run --tui`: the whole screen for one run.
//!
//! The run feeds a state: samples, events and output as they come. A thread
//! of its own draws that state and reads keys, so that a slow terminal never
//! holds the record up. Drawing is a pure function of the state.
//!
//! This crate deliberately records nothing and decides nothing about the run: what
//! is seen here is in the record, whether anybody watches or not.

mod draw;
mod escapes;
mod history;
mod input;
mod log;
mod state;
mod surface;

pub use state::Title;

use draw::{Palette, draw};
use input::{Action, action};
use paceline_engine::RunClock;
use paceline_model::{Event, NodeName, Sample, Stream};
use paceline_runner::{Interrupt, Observer};
use parking_lot::{Mutex, MutexGuard};
use ratatui::crossterm::event;
use signal_hook::consts::signal::{SIGCONT, SIGINT, SIGTSTP};
use state::State;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use surface::Surface;

/// How long a change may wait for its frame. Ten frames a second look smooth
/// and cost little.
const TICK: Duration = Duration::from_millis(100);

/// A live view of a run. Dropping it gives the terminal back.
pub struct View {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the run writes and the screen reads.
struct Shared {
    state: Mutex<State>,
    /// Counts changes, so that an unchanged picture is not drawn again.
    changes: AtomicU64,
    closed: AtomicBool,
}

impl View {
    /// Takes the terminal over and shows the run. Keys that end the command go
    /// to `interrupt`, as a signal would.
    ///
    /// # Errors
    /// If the terminal cannot be taken over.
    pub fn open(
        title: Title,
        clock: RunClock,
        interrupt: Arc<Interrupt>,
        colour: bool,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(title)),
            changes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        let screen = Screen {
            surface: Surface::open()?,
            shared: Arc::clone(&shared),
            interrupt,
            clock,
            palette: Palette::new(colour),
            held: None,
        };
        let thread = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || screen.show())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// A writer for a command's output.
    #[must_use]
    pub fn writer(&self, stream: Stream) -> Box<dyn Write + Send> {
        Box::new(Passage {
            shared: Arc::clone(&self.shared),
            stream,
        })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Observer for View {
    fn sample(&mut self, _node: &NodeName, sample: &Sample) {
        self.shared.change(|state| state.sample(sample));
    }

    fn event(&mut self, event: &Event) {
        self.shared.change(|state| state.event(event));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

struct Passage {
    shared: Arc<Shared>,
    stream: Stream,
}

impl Write for Passage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.shared.change(|state| state.output(self.stream, bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The side that draws and listens to keys.
struct Screen {
    surface: Surface,
    shared: Arc<Shared>,
    interrupt: Arc<Interrupt>,
    clock: RunClock,
    palette: Palette,
    /// The picture that is held still.
    held: Option<State>,
}

impl Screen {
    /// Shows the run until it is closed. A terminal that fails is left alone:
    /// the run goes on and is recorded.
    fn show(mut self) {
        let mut drawn = None;
        while !self.shared.closed.load(Ordering::SeqCst) && self.surface.is_taken() {
            let seconds = self.clock.now().as_secs() as u64;
            let due = Some((self.shared.changes.load(Ordering::SeqCst), seconds));
            if due != drawn {
                if self.draw().is_err() {
                    return;
                }
                drawn = due;
            }
            match event::poll(TICK).and_then(|any| any.then(event::read).transpose()) {
                Ok(Some(event)) => {
                    if let Some(action) = action(&event) {
                        if self.act(action).is_err() {
                            return;
                        }
                        drawn = None;
                    }
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let (shared, palette) = (&self.shared, &self.palette);
        let (held, now) = (&self.held, self.clock.now());
        // The state is locked while cells are computed, not while the terminal
        // takes them.
        self.surface.terminal().draw(|frame| match held {
            Some(held) => draw(frame, held, true, palette),
            None => {
                let mut state = shared.lock();
                state.elapsed = now;
                draw(frame, &state, false, palette);
            }
        })?;
        Ok(())
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        self.shared.change(|state| state.act(action));
        if let Some(held) = &mut self.held {
            held.act(action);
        }
        match action {
            Action::End => self.interrupt.deliver(SIGINT),
            Action::Pause => {
                self.held = match self.held.take() {
                    Some(_) => None,
                    None => Some(self.shared.lock().clone()),
                };
            }
            Action::Suspend => {
                self.interrupt.deliver(SIGTSTP);
                self.surface.give_back();
                paceline_engine::host::stop_own_job();
                // Here the shell has continued us.
                self.surface.take()?;
                self.interrupt.deliver(SIGCONT);
            }
            Action::Redraw => self.surface.forget()?,
            Action::Sort | Action::Back(_) | Action::Forth(_) | Action::Latest => {}
        }
        Ok(())
    }
}
