//! Whether time passed in which nobody could look.
//!
//! A runner that is stopped (Ctrl-Z, a debugger, a frozen container) sees a
//! command's exit when it goes on, not when it was; a machine that sleeps makes
//! its clocks disagree. Either way a run's times are not the command's alone.

use paceline_model::RunNotice;
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often the clocks are read.
const TICK: Duration = Duration::from_millis(100);
/// A tick that is later than this was not just waiting for a CPU.
const LEAST_S: f64 = 0.5;

/// Time of a run in which nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Standstill {
    /// In seconds: Paceline itself did not run.
    pub stopped_s: f64,
    /// In seconds: the machine slept. The run's own clock does not count it.
    pub suspended_s: f64,
}

impl Standstill {
    /// What the user should know of it; nothing if there was none.
    pub(crate) fn notices(&self) -> Vec<RunNotice> {
        let millis = |seconds: f64| (1e3 * seconds).round() as u64;
        let stopped = (self.stopped_s > 0.0).then(|| RunNotice::StoodStill {
            millis: millis(self.stopped_s),
        });
        let slept = (self.suspended_s > 0.0).then(|| RunNotice::MachineSlept {
            millis: millis(self.suspended_s),
        });
        stopped.into_iter().chain(slept).collect()
    }
}

/// Two clocks, read together.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Seconds in which the machine was awake.
    awake_s: f64,
    /// Seconds since it was started, sleep included.
    boot_s: f64,
}

/// Adds up what readings of the clocks show.
#[derive(Debug)]
struct Account {
    last: Reading,
    found: Standstill,
}

impl Account {
    fn new(first: Reading) -> Self {
        Self {
            last: first,
            found: Standstill::default(),
        }
    }

    fn read(&mut self, now: Reading) {
        let awake = now.awake_s - self.last.awake_s;
        let late = awake - TICK.as_secs_f64();
        if late >= LEAST_S {
            self.found.stopped_s += late;
        }
        let asleep = now.boot_s - self.last.boot_s - awake;
        if asleep >= LEAST_S {
            self.found.suspended_s += asleep;
        }
        self.last = now;
    }
}

/// A thread that reads the clocks while a run lasts.
pub(crate) struct Watch {
    account: Arc<Mutex<Account>>,
    stop: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch. Without a thread the clocks are compared at the end only.
    pub(crate) fn begin() -> Self {
        let account = Arc::new(Mutex::new(Account::new(now())));
        let (stop, stopped) = sync_channel::<()>(1);
        let shared = Arc::clone(&account);
        let body = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let mut account = shared.lock();
                account.read(now());
            }
        };
        let thread = Builder::new()
            .name("paceline-watch".to_owned())
            .stack_size(128 * 1024)
            .spawn(body)
            .ok();
        Self {
            account,
            stop,
            thread,
        }
    }

    /// What was found. The last reading is made here: whoever was stopped until a
    /// moment ago may be asked before the thread has looked.
    pub(crate) fn end(self) -> Standstill {
        let has_thread = self.thread.is_some();
        let mut account = self.account.lock();
        if has_thread {
            account.read(now());
        }
        account.found
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended by itself, with the end of the channel.
        let _ = self.stop.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn now() -> Reading {
    let seconds = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    Reading {
        awake_s: seconds(ClockId::Monotonic),
        boot_s: seconds(ClockId::Boottime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds an account with what both clocks advance by.
    fn check(steps: &[(f64, f64)], expected: Standstill) {
        let mut reading = Reading {
            awake_s: 100.0,
            boot_s: 900.0,
        };
        let mut account = Account::new(reading);
        for (awake, boot) in steps {
            reading.awake_s += awake;
            reading.boot_s += boot;
            account.read(reading);
        }
        let found = account.found;
        assert!(
            (found.stopped_s - expected.stopped_s).abs() < 1e-9,
            "{found:?}"
        );
        assert!(
            (found.suspended_s - expected.suspended_s).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn ticks_that_wait_for_a_cpu_are_no_standstill() {
        check(
            &[(0.1, 0.1), (0.35, 0.35), (0.55, 0.55)],
            Standstill::default(),
        );
    }

    #[test]
    fn a_stopped_runner_and_a_sleeping_machine_are_told_apart() {
        let stopped = Standstill {
            stopped_s: 4.0,
            suspended_s: 0.0,
        };
        check(&[(0.1, 0.1), (4.1, 4.1), (0.1, 0.1)], stopped);
        let asleep = Standstill {
            stopped_s: 0.0,
            suspended_s: 60.0,
        };
        check(&[(0.1, 60.1)], asleep);
        assert_eq!(
            asleep.notices(),
            [RunNotice::MachineSlept { millis: 60_000 }]
        );
        let told = stopped.notices()[0].to_string();
        assert!(told.contains("stood still for 4.0 s"), "{told}");
    }
}
