//! The recent past of one number.

use std::collections::VecDeque;

/// How many readings are remembered: more than any terminal has columns.
const MOST: usize = 512;

/// Readings in the order they came. A reading that is missing stays a gap.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    values: VecDeque<Option<f64>>,
    peak: Option<f64>,
}

impl History {
    pub(super) fn push(&mut self, value: Option<f64>) {
        if self.values.len() == MOST {
            self.values.pop_front();
        }
        let value = value.filter(|value| value.is_finite());
        self.values.push_back(value);
        self.peak = match (self.peak, value) {
            (Some(peak), Some(value)) => Some(peak.max(value)),
            (peak, value) => peak.or(value),
        };
    }

    /// The newest reading, if it is not a gap.
    pub(super) fn last(&self) -> Option<f64> {
        self.values.back().copied().flatten()
    }

    /// The highest reading ever, forgotten ones included.
    pub(super) fn peak(&self) -> Option<f64> {
        self.peak
    }

    /// The newest `count` readings, oldest first.
    pub(super) fn newest(&self, count: usize) -> impl Iterator<Item = Option<f64>> + '_ {
        let skipped = self.values.len().saturating_sub(count);
        self.values.iter().skip(skipped).copied()
    }

    /// Whether anything was ever read.
    pub(super) fn is_known(&self) -> bool {
        self.peak.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_outlives_the_reading_and_gaps_stay_gaps() {
        let mut history = History::default();
        history.push(Some(9.0));
        for _ in 0..MOST {
            history.push(Some(1.0));
        }
        history.push(None);
        assert_eq!(history.peak(), Some(9.0));
        assert_eq!(history.last(), None);
        assert_eq!(history.newest(2).collect::<Vec<_>>(), [Some(1.0), None]);
        assert_eq!(history.newest(usize::MAX).count(), MOST);
    }
}
