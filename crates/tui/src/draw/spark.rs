//! Sparklines that tell a zero from a gap.

use crate::history::History;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The newest readings, the latest at the right edge, between `low` and `high`.
/// A reading always leaves a mark; a gap is blank.
pub(super) fn draw(
    area: Rect,
    buf: &mut Buffer,
    history: &History,
    (low, high): (f64, f64),
    style: Style,
) {
    let width = usize::from(area.width);
    let values: Vec<Option<f64>> = history.newest(width).collect();
    let indent = width - values.len();
    let steps = f64::from(area.height) * 8.0;
    for (i, value) in values.into_iter().enumerate() {
        let Some(value) = value else { continue };
        let share = if high > low {
            ((value - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let filled = ((share * steps).round() as u16).max(1);
        let x = area.x + u16::try_from(indent + i).expect("at most the width, which is a u16");
        for row in 0..area.height {
            let above = filled.saturating_sub(row * 8).min(8);
            if above > 0 {
                let symbol = EIGHTHS[usize::from(above) - 1];
                let y = area.bottom() - 1 - row;
                buf.set_string(x, y, symbol, style);
            }
        }
    }
}
