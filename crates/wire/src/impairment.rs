//! A slower network than there is, for experiments.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::deadline::{Deadline, now};
use crate::stream::Stream;
use crate::write_half::SendError;

/// A slower network than there is: every frame takes at least `delay`, and no
/// more than `bandwidth` bytes leave in a second.
///
/// It is applied where frames are sent, on a thread of its own: the sender
/// goes on at once, as it would with a real network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// How long a frame travels, one way.
    pub delay: Duration,
    /// Bytes in a second; `None` leaves the bandwidth alone.
    pub bandwidth: Option<f64>,
}

impl Impairment {
    /// The network as it is.
    pub const NONE: Self = Self {
        delay: Duration::ZERO,
        bandwidth: None,
    };

    /// Whether it changes anything.
    pub fn is_none(&self) -> bool {
        self.delay.is_zero() && self.bandwidth.is_none()
    }
}

/// When each frame has passed a link that serves one after the other: a token
/// bucket that holds one frame.
#[derive(Debug)]
pub(crate) struct Schedule {
    impairment: Impairment,
    link_free: Option<Instant>,
}

impl Schedule {
    pub(crate) fn new(impairment: Impairment) -> Self {
        Self {
            impairment,
            link_free: None,
        }
    }

    /// When a frame of `bytes`, handed over at `now`, arrives: it waits for the
    /// link, takes its own time on it, and then travels.
    pub(crate) fn arrival(&mut self, bytes: usize, now: Instant) -> Instant {
        let begins = self.link_free.map_or(now, |free| free.max(now));
        let on_link = self
            .impairment
            .bandwidth
            .map_or(0.0, |rate| bytes as f64 / rate);
        // A rate of zero or less would block for ever; a year is long enough.
        let on_link = Duration::try_from_secs_f64(on_link)
            .unwrap_or(A_YEAR)
            .min(A_YEAR);
        let leaves = begins + on_link;
        self.link_free = Some(leaves);
        leaves + self.impairment.delay.min(A_YEAR)
    }
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// How many bytes may be on their way before the sender waits: the window of
/// an ordinary connection, generous enough for a model of ten million numbers.
const IN_FLIGHT: usize = 64 << 20;

/// Frames on their way through an impaired link.
#[derive(Debug)]
pub(crate) struct ImpairedLink {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<(Instant, Vec<u8>)>,
    queued_bytes: usize,
    schedule: Schedule,
    ended: bool,
    failed: bool,
}

impl ImpairedLink {
    pub(crate) fn start(
        stream: Arc<Stream>,
        impairment: Impairment,
        send_timeout: Duration,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                queued_bytes: 0,
                schedule: Schedule::new(impairment),
                ended: false,
                failed: false,
            }),
            changed: Condvar::new(),
        });
        let thread = std::thread::Builder::new()
            .name("wire-impaired".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || deliver(&shared, &stream, send_timeout)
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues a frame; waits only while too much is on its way.
    pub(crate) fn send(&self, frame: Vec<u8>, deadline: Deadline) -> Result<(), SendError> {
        let mut state = self.shared.lock();
        while state.queued_bytes > IN_FLIGHT && !state.failed {
            let remaining = deadline.remaining().unwrap_or(A_YEAR);
            if remaining.is_zero() {
                return Err(SendError::TimedOut);
            }
            self.shared.changed.wait_for(&mut state, remaining);
        }
        if state.failed {
            return Err(SendError::Closed);
        }
        let arrival = state.schedule.arrival(frame.len(), now());
        state.queued_bytes += frame.len();
        state.queue.push_back((arrival, frame));
        self.shared.changed.notify_all();
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for ImpairedLink {
    /// What was sent still arrives, as it does when a socket is closed.
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has ended its deliveries; nothing is left.
            let _ = thread.join();
        }
    }
}

fn deliver(shared: &Shared, stream: &Stream, send_timeout: Duration) {
    let mut state = shared.lock();
    loop {
        let Some((due, _)) = state.queue.front() else {
            if state.ended {
                return;
            }
            shared.changed.wait(&mut state);
            continue;
        };
        let early = due.saturating_duration_since(now());
        if !early.is_zero() {
            shared.changed.wait_for(&mut state, early);
            continue;
        }
        let (_, frame) = state.queue.pop_front().expect("the front was just seen");
        drop(state);
        let written = stream.write_all(&frame, Deadline::after(send_timeout));
        state = shared.lock();
        state.queued_bytes -= frame.len();
        if written.is_err() {
            stream.shut_down();
            state.failed = true;
            state.queue.clear();
            state.queued_bytes = 0;
            shared.changed.notify_all();
            return;
        }
        shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_at_the_bandwidth_and_arrive_after_the_delay() {
        let start = now();
        let ms = Duration::from_millis;
        let mut link = Schedule::new(Impairment {
            delay: ms(10),
            bandwidth: Some(1000.0),
        });
        assert_eq!(link.arrival(100, start), start + ms(110));
        // The second waits for the first, but their travels overlap.
        assert_eq!(link.arrival(100, start), start + ms(210));
        // After a pause the link is free at once.
        assert_eq!(link.arrival(50, start + ms(1000)), start + ms(1060));
    }

    #[test]
    fn absurd_bandwidths_delay_and_do_not_panic() {
        for rate in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
            let start = now();
            let mut link = Schedule::new(Impairment {
                delay: Duration::MAX,
                bandwidth: Some(rate),
            });
            assert!(link.arrival(1000, start) >= start + A_YEAR);
        }
    }
}
