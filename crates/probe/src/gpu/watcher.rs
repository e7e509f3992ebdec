//! A thread that asks a driver, so that nobody waits for one that hangs.

use super::card::{Card, Driver};
use crate::budget::thread_cpu_time;
use crate::counter::Tick;
use paceline_model::{GapReason, Micros};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How long a sample waits for an answer. Drivers answer within a few milliseconds;
/// one that does not is not waited for again until it has.
const PATIENCE: Duration = Duration::from_millis(100);

/// From when on a driver that has never answered is missed. Loading one may take
/// seconds where no process keeps it loaded.
const LOADING: Micros = Micros(5_000_000);

/// Drivers that hang keep their threads. With this many, nobody is asked any more.
const MOST_THREADS: usize = 16;

static THREADS: AtomicUsize = AtomicUsize::new(0);

/// What a driver answered.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) cards: Vec<Card>,
    /// CPU time of the thread that asked, from its beginning.
    pub(crate) cpu: Duration,
}

/// Asks one driver, one question at a time. When it is dropped, the thread ends as
/// soon as its driver lets it.
#[derive(Debug)]
pub(crate) struct Watcher {
    ask: SyncSender<()>,
    answers: Receiver<Report>,
    /// For how long an answer is outstanding.
    waiting: Option<Micros>,
    has_answered: bool,
    has_ended: bool,
}

impl Watcher {
    /// Starts a thread that opens a driver and asks it whenever it is told to.
    /// Without a driver, or without a thread, there is nothing to watch.
    pub(crate) fn spawn<D: Driver>(open: impl FnOnce() -> Option<D> + Send + 'static) -> Self {
        let (ask, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(2);
        if THREADS.fetch_add(1, Ordering::Relaxed) < MOST_THREADS {
            let thread = Builder::new().name("paceline-gpu".to_owned());
            let body = move || {
                let counted = Counted;
                if let Some(driver) = open() {
                    serve(driver, &asked, &answer);
                }
                drop(counted);
            };
            // Without a thread the channels are closed, which says the same as a
            // driver that is not there.
            if thread.spawn(body).is_err() {
                drop(Counted);
            }
        } else {
            drop(Counted);
        }
        Self {
            ask,
            answers,
            waiting: None,
            has_answered: false,
            has_ended: false,
        }
    }

    /// Asks for a reading without waiting for it.
    pub(crate) fn prepare(&mut self) {
        if self.waiting.is_none() && !self.has_ended {
            self.has_ended = self.ask.try_send(()).is_err();
            self.waiting = (!self.has_ended).then_some(Micros::ZERO);
        }
    }

    /// Hands every answer that is there to `receive`, the newest last, and asks
    /// again. What should be there and is not is noted.
    pub(crate) fn read(&mut self, tick: &mut Tick, mut receive: impl FnMut(Report, &mut Tick)) {
        if let Some(waited) = self.waiting {
            match self.answers.try_recv() {
                Ok(report) => {
                    self.waiting = None;
                    self.has_answered = true;
                    receive(report, tick);
                }
                Err(TryRecvError::Empty) => {
                    let waited = Micros(waited.0.saturating_add(tick.interval.0));
                    self.waiting = Some(waited);
                    if self.has_answered || waited >= LOADING {
                        tick.note(GapReason::Unreadable);
                    }
                    return;
                }
                Err(TryRecvError::Disconnected) => self.end(),
            }
        }
        self.prepare();
        if self.waiting.is_some() {
            match self.answers.recv_timeout(PATIENCE) {
                Ok(report) => {
                    self.waiting = None;
                    self.has_answered = true;
                    receive(report, tick);
                }
                Err(RecvTimeoutError::Timeout) if self.has_answered => {
                    tick.note(GapReason::Unreadable);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.end(),
            }
        }
        if self.has_ended && self.has_answered {
            tick.note(GapReason::Unreadable);
        }
    }

    /// True if there is no driver: there never will be anything to read.
    pub(crate) fn is_idle(&self) -> bool {
        self.has_ended && !self.has_answered
    }

    fn end(&mut self) {
        self.waiting = None;
        self.has_ended = true;
    }
}

/// Gives a thread's place back.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut driver: impl Driver, asked: &Receiver<()>, answer: &SyncSender<Report>) {
    let mut looked = now();
    while asked.recv().is_ok() {
        let mut cards = Vec::new();
        driver.read(&mut cards);
        let report = Report {
            cards,
            cpu: thread_cpu_time(),
        };
        if answer.send(report).is_err() {
            return;
        }
        let before = std::mem::replace(&mut looked, now());
        driver.look(looked.saturating_duration_since(before));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a glimpse stands for the real time since the one before"
)]
fn now() -> Instant {
    Instant::now()
}
