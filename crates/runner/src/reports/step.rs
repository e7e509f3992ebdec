//! The step that a line of a log names.

use regex::{Captures, Regex};
use std::sync::LazyLock;

static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b|_)(?:(step)|(iter|iteration)|(epoch))s?[ \t]*[:=#\[(]*[ \t]*(\d{1,15})(\.\d+)?\b")
        .expect("the expression is constant")
});

/// The step that `line` names: a step before an iteration before an epoch.
pub(super) fn step_in(line: &str) -> Option<u64> {
    let places = PLACES.captures_iter(line).filter_map(|found| {
        let rank = (1..=3).find(|&group| found.get(group).is_some())?;
        Some((rank, number(&found)?))
    });
    places.min_by_key(|&(rank, _)| rank).map(|(_, step)| step)
}

/// The epoch that `line` names.
pub(super) fn epoch_in(line: &str) -> Option<u64> {
    let mut places = PLACES.captures_iter(line);
    let found = places.find(|found| found.get(3).is_some())?;
    number(&found)
}

/// A whole number, which may be written as `3.0`.
fn number(found: &Captures<'_>) -> Option<u64> {
    let fraction = found.get(5).map_or("", |fraction| fraction.as_str());
    let is_whole = fraction.trim_start_matches('.').bytes().all(|b| b == b'0');
    found[4].parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_place_counts() {
        assert_eq!(step_in("epoch 3 step 120: loss 0.5"), Some(120));
        assert_eq!(step_in("Epoch [3/10], Loss: 0.1"), Some(3));
        assert_eq!(step_in("Iteration 7, loss = 0.4"), Some(7));
        assert_eq!(step_in("epoch=2 | global_step=40"), Some(40));
        assert_eq!(step_in("a footstep 4"), None);
        assert_eq!(step_in("step 0.5 of the way"), None);
        assert_eq!(step_in("epoch 2.0: done"), Some(2));
        assert_eq!(epoch_in("Train Epoch: 4 [0/60000 (0%)]"), Some(4));
        assert_eq!(epoch_in("step 4"), None);
    }
}
