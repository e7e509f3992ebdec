//! The worker's side: which iteration is next, and whether the cache will do.

use std::num::NonZeroUsize;

use crate::{Clock, Consistency};

/// A worker's clock and what it knows of the parameters it has cached, per
/// server.
///
/// A life of a worker has one: [`Self::welcome`] from every server first, then
/// for each iteration [`Self::start`], reads where [`Self::must_read`] says so,
/// the computation, [`Self::finish`]. A worker that was told to join anew starts
/// with a new one.
#[derive(Debug, Clone)]
pub struct WorkerClock {
    consistency: Consistency,
    /// The first iteration of the present round; rounds of more than one
    /// iteration exist under `local` only.
    round: Clock,
    /// Iterations completed in the present round.
    done: u64,
    servers: Vec<Cache>,
}

/// What a worker holds from one server.
#[derive(Debug, Clone, Copy, Default)]
struct Cache {
    welcome: Option<Clock>,
    version: Option<Clock>,
    /// The iteration that the server told the worker to start last.
    told: Option<Clock>,
}

/// An iteration that may be computed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The iteration.
    pub clock: Clock,
    /// How many clocks the parameters lag behind it: the staleness seen. Later
    /// updates than the lag tells may be in them.
    pub staleness: u64,
}

impl WorkerClock {
    /// The clock of a worker that uses this many servers.
    #[must_use]
    pub fn new(consistency: Consistency, servers: NonZeroUsize) -> Self {
        Self {
            consistency,
            round: Clock::ZERO,
            done: 0,
            servers: vec![Cache::default(); servers.get()],
        }
    }

    /// Server `server` takes the worker in, to start at `clock`.
    ///
    /// Servers may name different clocks after a crash. The worker starts at
    /// the lowest, and servers that are further ignore the updates they do not
    /// need.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn welcome(&mut self, server: usize, clock: Clock) {
        let cache = &mut self.servers[server];
        // A repeated welcome must not set back a worker that is under way.
        if cache.welcome.is_some() {
            return;
        }
        cache.welcome = Some(clock);
        if self.is_welcome() {
            let lowest = self.servers.iter().filter_map(|cache| cache.welcome).min();
            self.round = lowest.unwrap_or_default();
        }
    }

    /// Whether every server has taken the worker in.
    #[must_use]
    pub fn is_welcome(&self) -> bool {
        self.servers.iter().all(|cache| cache.welcome.is_some())
    }

    /// How many iterations are completed: the number of the next one.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.round.plus(self.done)
    }

    /// The iteration to name in a [read](crate::Message::Read).
    #[must_use]
    pub const fn read_clock(&self) -> Clock {
        self.round
    }

    /// Whether the parameters cached from this server are too old for the next
    /// iteration, so that they must be read first. Under `async` one read
    /// suffices for ever; how often to refresh is the caller's choice.
    ///
    /// # Panics
    /// If there is no such server.
    #[must_use]
    pub fn must_read(&self, server: usize) -> bool {
        let cache = &self.servers[server];
        let fresh = cache
            .version
            .is_some_and(|version| version >= self.consistency.oldest_usable(self.round));
        let told = cache.told.is_some_and(|clock| clock >= self.round);
        self.done == 0 && !fresh && !told
    }

    /// Server `server` answers a read: iteration `clock` may start, with
    /// parameters of this version. False if the answer is an old one that came
    /// late: its parameters must not replace newer ones.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn proceed(&mut self, server: usize, clock: Clock, version: Clock) -> bool {
        let round = self.round;
        let cache = &mut self.servers[server];
        if clock < round || cache.version.is_some_and(|held| held > version) {
            return false;
        }
        cache.version = Some(version);
        cache.told = Some(clock);
        true
    }

    /// The next iteration, if no server has to be asked first.
    ///
    /// If every server told the worker to skip ahead, it does, as far as the
    /// most cautious of them said.
    pub fn start(&mut self) -> Option<Start> {
        if !self.is_welcome() || (0..self.servers.len()).any(|server| self.must_read(server)) {
            return None;
        }
        if self.done == 0 {
            let skip = self
                .servers
                .iter()
                .map(|cache| cache.told.unwrap_or(self.round).max(self.round))
                .min();
            self.round = skip.unwrap_or(self.round);
        }
        let oldest = self
            .servers
            .iter()
            .map(|cache| cache.version.unwrap_or_default())
            .min()
            .unwrap_or_default();
        Some(Start {
            clock: self.clock(),
            staleness: self.clock().lead(oldest),
        })
    }

    /// An iteration is completed. If an update is due, the clock it carries in
    /// its [message](crate::Message::Update).
    pub fn finish(&mut self) -> Option<Clock> {
        self.done += 1;
        let length = self.consistency.iterations_per_update();
        if self.done < length {
            return None;
        }
        let computed = self.round;
        self.round = self.round.plus(length);
        self.done = 0;
        Some(computed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(model: &str, servers: usize) -> WorkerClock {
        let servers = NonZeroUsize::new(servers).unwrap();
        WorkerClock::new(model.parse().unwrap(), servers)
    }

    fn started(clock: u64, staleness: u64) -> Option<Start> {
        let clock = Clock(clock);
        Some(Start { clock, staleness })
    }

    #[test]
    fn a_cache_within_the_staleness_is_used_without_asking() {
        let mut worker = clock("ssp:2", 1);
        worker.welcome(0, Clock(0));
        assert!(worker.must_read(0), "there is nothing in the cache yet");
        assert!(worker.proceed(0, Clock(0), Clock(0)));
        for iteration in 0..3 {
            assert_eq!(worker.start(), started(iteration, iteration));
            assert_eq!(worker.finish(), Some(Clock(iteration)));
        }
        assert!(worker.must_read(0));
        assert_eq!(worker.start(), None);
        assert!(worker.proceed(0, Clock(3), Clock(1)));
        assert_eq!(worker.start(), started(3, 2));
    }

    #[test]
    fn only_the_servers_whose_parameters_are_too_old_are_asked() {
        let mut worker = clock("ssp:1", 2);
        worker.welcome(0, Clock(5));
        assert!(!worker.is_welcome());
        worker.welcome(1, Clock(5));
        assert!(worker.proceed(0, Clock(5), Clock(5)));
        assert!(worker.proceed(1, Clock(5), Clock(4)));
        assert_eq!(worker.start(), started(5, 1));
        worker.finish();
        assert!(!worker.must_read(0));
        assert!(worker.must_read(1));
    }

    #[test]
    fn a_worker_skips_as_far_as_every_server_says() {
        let mut worker = clock("backup:1", 2);
        worker.welcome(0, Clock(0));
        worker.welcome(1, Clock(0));
        assert!(worker.proceed(0, Clock(7), Clock(7)));
        assert_eq!(worker.start(), None, "server 1 has not answered");
        assert!(worker.proceed(1, Clock(5), Clock(5)));
        assert_eq!(worker.start(), started(5, 0));
    }

    #[test]
    fn a_late_answer_does_not_replace_newer_parameters() {
        let mut worker = clock("ssp:1", 1);
        worker.welcome(0, Clock(3));
        assert!(worker.proceed(0, Clock(3), Clock(3)));
        assert!(!worker.proceed(0, Clock(3), Clock(2)), "an older version");
        assert!(!worker.proceed(0, Clock(2), Clock(4)), "a former iteration");
    }

    #[test]
    fn a_round_of_local_steps_reads_once_and_sends_once() {
        let mut worker = clock("local:3", 1);
        worker.welcome(0, Clock(6));
        assert!(worker.proceed(0, Clock(6), Clock(6)));
        assert_eq!(worker.start(), started(6, 0));
        assert_eq!(worker.finish(), None);
        assert!(!worker.must_read(0));
        assert_eq!(worker.start(), started(7, 1));
        assert_eq!(worker.finish(), None);
        assert_eq!(worker.start(), started(8, 2));
        assert_eq!(worker.finish(), Some(Clock(6)));
        assert_eq!(worker.read_clock(), Clock(9));
        assert!(worker.must_read(0));
    }
}
