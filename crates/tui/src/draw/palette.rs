//! The few styles the view uses. Colour is never the only sign of anything.

use ratatui::style::{Color, Modifier, Style};

/// How each kind of text looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    /// Headings and keys.
    pub(super) strong: Style,
    /// Labels and rules.
    pub(super) dim: Style,
    /// Sparklines.
    pub(super) line: Style,
    /// All is well.
    pub(super) good: Style,
    /// Look here.
    pub(super) warning: Style,
    /// It failed.
    pub(super) bad: Style,
}

impl Palette {
    /// The terminal's own sixteen colours, so that it fits the user's theme;
    /// without `colour`, bold and dim alone.
    pub(crate) fn new(colour: bool) -> Self {
        let tint = |color, plain: Modifier| match colour {
            true => Style::new().fg(color),
            false => Style::new().add_modifier(plain),
        };
        Self {
            strong: Style::new().add_modifier(Modifier::BOLD),
            dim: Style::new().add_modifier(Modifier::DIM),
            line: tint(Color::Cyan, Modifier::empty()),
            good: tint(Color::Green, Modifier::empty()),
            warning: tint(Color::Yellow, Modifier::BOLD),
            bad: tint(Color::Red, Modifier::BOLD),
        }
    }
}
