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
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
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
