//! Named values and indented items.

use crate::number::count;
use crate::text::paragraph;

/// How far values hang to the right of their names.
const LEAD: usize = 19;

/// Named values and indented items, each within the width.
pub(super) struct Lines {
    pub(super) text: String,
    width: usize,
}

impl Lines {
    pub(super) fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    pub(super) fn add(&mut self, name: &str, value: &str) {
        let lead = format!("  {name:LEAD$}");
        self.text.push_str(&paragraph(&lead, value, self.width));
    }

    pub(super) fn say(&mut self, sentence: &str) {
        self.text.push_str(&paragraph("  ", sentence, self.width));
    }

    pub(super) fn item(&mut self, text: &str) {
        self.text.push_str(&paragraph("    ", text, self.width));
    }

    /// Says how many of a cut list are missing.
    pub(super) fn rest(&mut self, total: usize, shown: usize, what: &str) {
        if total > shown {
            let missing = count((total - shown) as u64);
            self.say(&format!("{missing} more {what} in --format json"));
        }
    }
}
