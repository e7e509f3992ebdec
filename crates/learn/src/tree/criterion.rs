//! How good a cut is.

/// Scores the cuts of one feature in one node.
///
/// The implementation holds the target and the weight of each row. A row that
/// was drawn twice into a bootstrap sample is one row of weight two.
pub(crate) trait Criterion {
    /// Looks at a node before its features are scanned; true if its targets are
    /// all equal, so that no cut can improve it.
    fn enter(&mut self, rows: &[u32]) -> bool;

    /// The best cut of the entered node along one feature, if any cut leaves
    /// `min_leaf` rows on both sides. `ascending` holds the node's rows in
    /// order of the feature, `values` the feature by row.
    fn best_cut(&mut self, ascending: &[u32], values: &[f64], min_leaf: usize) -> Option<Cut>;
}

/// A cut of a node's rows in order of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    /// How many rows go left.
    pub(crate) left: usize,
    /// How much the criterion improves, comparable within one node only.
    pub(crate) gain: f64,
}

/// Keeps the first of the best cuts.
pub(super) struct Best(Option<Cut>);

impl Best {
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn offer(&mut self, left: usize, gain: f64) {
        if self.0.is_none_or(|best| gain > best.gain) {
            self.0 = Some(Cut { left, gain });
        }
    }

    pub(super) fn found(self) -> Option<Cut> {
        self.0
    }
}
