//! From the picture to the screen, and nothing else: the same state gives the
//! same cells.

mod layout;
mod log;
mod metrics;
mod palette;
mod processes;
mod resources;
mod spark;
#[cfg(test)]
mod tests;

pub(super) use palette::Palette;

use super::state::{Progress, State};
use layout::Layout;
use paceline_model::ExitStatus;
use paceline_report::number;
use paceline_report::text::{columns, printable, truncate};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

/// Draws the picture. `paused` says that it is held still.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, paused: bool, palette: &Palette) {
    let area = frame.area();
    let layout = Layout::new(area, state);
    let buf = frame.buffer_mut();
    header(layout.header, buf, state, palette);
    resources::draw(layout.resources, layout.spark_rows, buf, state, palette);
    if let Some(area) = layout.processes {
        processes::draw(area, buf, state, palette);
    }
    if let Some(area) = layout.metrics {
        metrics::draw(area, buf, state, palette);
    }
    log::draw(layout.log, buf, state, palette);
    footer(layout.footer, buf, state, paused, palette);
}

fn header(area: Rect, buf: &mut Buffer, state: &State, palette: &Palette) {
    let (how, style) = match &state.progress {
        Progress::Running => ("runs".to_owned(), palette.good),
        Progress::Stopped => ("stopped".to_owned(), palette.warning),
        Progress::Ending => ("ending".to_owned(), palette.warning),
        Progress::Ended(ExitStatus::Exited(0)) => ("done".to_owned(), palette.good),
        Progress::Ended(status) => (status.to_string(), palette.bad),
    };
    // Whole seconds: tenths would flicker without telling anything.
    let seconds = state.elapsed.as_secs().floor();
    let right = Line::from(vec![
        Span::styled(how, style),
        Span::raw("  "),
        Span::raw(number::duration(seconds)),
    ]);
    let room = usize::from(area.width).saturating_sub(right.width() + 2);
    let name = truncate(&printable(&state.title.name), room);
    put(buf, area, 0, Line::styled(name, palette.strong));
    put_right(buf, area, 0, right);
    let command = truncate(&printable(&state.title.command), area.width.into());
    put(buf, area, 1, Line::styled(command, palette.dim));
}

fn footer(area: Rect, buf: &mut Buffer, state: &State, paused: bool, palette: &Palette) {
    let end = match state.progress {
        Progress::Ending => "kill",
        _ => "end the command",
    };
    let pause = if paused { "go on" } else { "pause" };
    let keys = [("q", end), ("p", pause), ("s", "sort"), ("↑↓", "output")];
    let mut spans = Vec::new();
    if paused {
        spans.push(Span::styled("paused", palette.warning));
        spans.push(Span::raw("   "));
    }
    for (key, meaning) in keys {
        spans.push(Span::styled(key, palette.strong));
        spans.push(Span::styled(format!(" {meaning}   "), palette.dim));
    }
    put(buf, area, 0, Line::from(spans));
}

/// A heading with a rule to the right edge, and a word at its end.
fn heading(area: Rect, buf: &mut Buffer, title: &str, note: &str, palette: &Palette) {
    let note = match note {
        "" => String::new(),
        note => format!(" {note}"),
    };
    let width = usize::from(area.width);
    let rule = "─".repeat(width.saturating_sub(columns(title) + 1 + columns(&note)));
    let line = Line::from(vec![
        Span::styled(format!("{title} "), palette.strong),
        Span::styled(rule, palette.dim),
        Span::styled(note, palette.dim),
    ]);
    put(buf, area, 0, line);
}

/// Writes a line at row `row` of `area`, if there is such a row.
fn put(buf: &mut Buffer, area: Rect, row: u16, line: Line<'_>) {
    if row < area.height {
        line.render(row_of(area, row), buf);
    }
}

fn put_right(buf: &mut Buffer, area: Rect, row: u16, line: Line<'_>) {
    if row < area.height {
        line.right_aligned().render(row_of(area, row), buf);
    }
}

fn row_of(area: Rect, row: u16) -> Rect {
    Rect {
        y: area.y + row,
        height: 1,
        ..area
    }
}

/// `text` in a column of `width`, at its right edge.
fn right(text: &str, width: usize) -> String {
    let text = truncate(text, width);
    format!("{}{text}", " ".repeat(width - columns(&text)))
}

/// `text` in a column of `width`, at its left edge.
fn left(text: &str, width: usize) -> String {
    let text = truncate(text, width);
    format!("{text}{}", " ".repeat(width - columns(&text)))
}

fn styled(text: String, style: Style) -> Span<'static> {
    Span::styled(text, style)
}
