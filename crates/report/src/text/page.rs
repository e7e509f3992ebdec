//! What text is laid out for.

use super::Style;

/// A terminal, or a file that stands for one.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// Whether emphasis is shown.
    pub style: Style,
}
