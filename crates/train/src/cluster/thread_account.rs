//! What the kernel says of a thread: how long it was executed, and how long it would
//! have been had a CPU been free.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A reading costs a system call, which an iteration of a few microseconds would
/// notice.
const AT_MOST_EVERY: Duration = Duration::from_millis(1);

/// The scheduler's account of the thread that opened it.
#[derive(Debug)]
pub(crate) struct ThreadAccount {
    /// None where the kernel keeps no such account.
    file: Option<File>,
    last: Spent,
    read_at: Duration,
}

/// On what a thread spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// It was executed.
    pub(crate) on_cpu: Duration,
    /// It could have been.
    pub(crate) runnable: Duration,
}

impl ThreadAccount {
    /// The account of the calling thread from now on.
    pub(crate) fn open(now: Duration) -> Self {
        let mut account = Self {
            file: File::open("/proc/thread-self/schedstat").ok(),
            last: Spent::default(),
            read_at: now,
        };
        account.last = account.read().unwrap_or_default();
        account
    }

    /// What was spent since the last time that this said anything; nothing if that is
    /// not long ago.
    pub(crate) fn since_last(&mut self, now: Duration) -> Spent {
        if now.saturating_sub(self.read_at) < AT_MOST_EVERY {
            return Spent::default();
        }
        let Some(spent) = self.read() else {
            return Spent::default();
        };
        self.read_at = now;
        let before = std::mem::replace(&mut self.last, spent);
        Spent {
            on_cpu: spent.on_cpu.saturating_sub(before.on_cpu),
            runnable: spent.runnable.saturating_sub(before.runnable),
        }
    }

    fn read(&self) -> Option<Spent> {
        let mut bytes = [0; 64];
        let length = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        parse(str::from_utf8(&bytes[..length]).ok()?)
    }
}

/// Nanoseconds executed, nanoseconds runnable, and how often it was executed.
fn parse(text: &str) -> Option<Spent> {
    let mut numbers = text.split_ascii_whitespace();
    let mut time = || numbers.next()?.parse().ok().map(Duration::from_nanos);
    Some(Spent {
        on_cpu: time()?,
        runnable: time()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_now_and_then() {
        let spent = parse("123456 789 12\n").unwrap();
        assert_eq!(spent.on_cpu, Duration::from_nanos(123_456));
        assert_eq!(spent.runnable, Duration::from_nanos(789));
        assert_eq!(parse("12"), None);
        let mut account = ThreadAccount::open(Duration::ZERO);
        assert_eq!(
            account.since_last(Duration::from_micros(10)),
            Spent::default()
        );
    }
}
