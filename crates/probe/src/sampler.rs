//! The shell: a thread that owns the clock and takes one sample per tick.

use crate::cadence::{Cadence, Interval};
use crate::probe::{Cost, Probe};
use paceline_model::{Micros, Sample};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that samples until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<Cost>>,
}

/// Why sampling could not begin.
#[derive(Debug, thiserror::Error)]
pub enum SpawnSamplerError {
    /// The system has no thread left.
    #[error("cannot start the sampling thread")]
    Thread(#[source] std::io::Error),
}

/// Why sampling had no orderly end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StopSamplerError {
    /// The thread had panicked, in the probe or in the caller's function.
    #[error("the sampling thread panicked")]
    Panicked,
}

impl Sampler {
    /// Starts a thread that calls `receive` with one sample per `interval`.
    ///
    /// `start` is the instant that the samples' times count from, the same
    /// that `probe` was opened with. `receive` runs on the sampling thread: if
    /// it blocks, as a full bounded channel does, ticks are skipped and the
    /// next sample says that it is late, so that a slow reader costs samples
    /// and never memory.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn spawn(
        mut probe: Probe,
        interval: Interval,
        start: Instant,
        mut receive: impl FnMut(Sample) + Send + 'static,
    ) -> Result<Self, SpawnSamplerError> {
        let (stop, stopped) = sync_channel::<()>(1);
        let body = move || {
            let cadence = Cadence::new(interval, elapsed(start));
            loop {
                let now = elapsed(start);
                let wait = Duration::from(cadence.next_after(now).since(now));
                let is_last = match stopped.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                let mut sample = probe.sample(elapsed(start));
                sample.gap = sample.gap.or(cadence.judge(sample.interval));
                receive(sample);
                if is_last {
                    return probe.cost();
                }
            }
        };
        let thread = Builder::new()
            .name("paceline-probe".to_owned())
            .spawn(body)
            .map_err(SpawnSamplerError::Thread)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Takes a last sample at once, waits until it has been received, and says
    /// what sampling has cost.
    ///
    /// # Errors
    /// If the thread had panicked.
    pub fn stop(mut self) -> Result<Cost, StopSamplerError> {
        self.finish().unwrap_or(Err(StopSamplerError::Panicked))
    }

    fn finish(&mut self) -> Option<Result<Cost, StopSamplerError>> {
        // A closed channel tells the thread as well as a message does.
        drop(self.stop.take());
        let thread = self.thread.take()?;
        Some(thread.join().map_err(|_| StopSamplerError::Panicked))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // Whoever drops a sampler without stopping it does not ask for its
        // cost; a panic has already been reported by its thread.
        let _ = self.finish();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sampling thread is the shell that owns the clock"
)]
fn elapsed(start: Instant) -> Micros {
    Micros::from(Instant::now().saturating_duration_since(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn hourly(receive: impl FnMut(Sample) + Send + 'static) -> Sampler {
        let probe = Probe::new(&Target::default(), Micros::ZERO).unwrap();
        let interval = Interval::new(Duration::from_secs(3600)).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the sampler runs in real time")]
        let start = Instant::now();
        Sampler::spawn(probe, interval, start, receive).unwrap()
    }

    #[test]
    fn stopping_takes_one_last_sample_at_once() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let sampler = hourly(move |sample| sender.send(sample).unwrap());
        let cost = sampler.stop().unwrap();
        assert_eq!(cost.samples, 1);
        let samples: Vec<Sample> = receiver.iter().collect();
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].gap, None);
    }

    #[test]
    fn a_sampler_that_is_dropped_leaves_no_thread_behind() {
        let (sender, receiver) = std::sync::mpsc::channel();
        drop(hourly(move |sample| sender.send(sample).unwrap()));
        assert_eq!(receiver.iter().count(), 1);
    }

    #[test]
    fn a_receiver_that_panics_is_reported_and_not_passed_on() {
        let sampler = hourly(|_| panic!("on purpose"));
        assert_eq!(sampler.stop(), Err(StopSamplerError::Panicked));
    }
}
