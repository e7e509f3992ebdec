//! The last lines of the command's output.

use super::{heading, put, styled};
use crate::draw::Palette;
use crate::log::Line as Printed;
use crate::state::State;
use paceline_model::Stream;
use paceline_report::text::truncate;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub(super) fn draw(area: Rect, buf: &mut Buffer, state: &State, palette: &Palette) {
    if area.height == 0 {
        return;
    }
    let rows = usize::from(area.height - 1);
    // Scrolled beyond the first line there is nothing to see.
    let most = state.log.lines().count().saturating_sub(rows);
    let scrolled = state.scrolled.min(most);
    let note = match scrolled {
        0 => String::new(),
        lines => format!("{lines} lines below"),
    };
    heading(area, buf, "output", &note, palette);
    let mut shown: Vec<Printed<'_>> = state.log.lines().rev().skip(scrolled).take(rows).collect();
    shown.reverse();
    for (row, line) in (1..area.height).zip(&shown) {
        // A word rather than a colour alone tells stderr apart.
        let mark = match line.stream {
            Stream::Out => styled("  ".to_owned(), palette.dim),
            Stream::Err => styled("! ".to_owned(), palette.warning),
        };
        let text = truncate(&line.text(), usize::from(area.width).saturating_sub(2));
        put(buf, area, row, Line::from(vec![mark, text.into()]));
    }
}
