//! Waiting in tests: for a condition, never for a time.

use std::time::Duration;

/// How long a condition may take to hold on a machine that is busy with other
/// tests. A test that comes this far has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Looks again and again until `condition` holds.
///
/// # Panics
/// If it does not hold within a minute; `what` says what was awaited.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, condition);
}

/// The same, for what is known to take longer than other things: the daemons of a
/// cluster need their time. The patience is only ever used up by a failure.
///
/// # Panics
/// If it does not hold within that time.
#[track_caller]
pub fn wait_within(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let tries = patience.as_millis() / PAUSE.as_millis();
    for _ in 0..tries {
        if condition() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("in vain: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_looked_at_until_it_holds() {
        let mut looks = 0;
        wait_until("three looks", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }
}
