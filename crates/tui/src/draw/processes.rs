//! The run's processes, the largest first.

use super::{heading, left, put, right, styled};
use crate::draw::Palette;
use crate::state::{Process, State};
use paceline_report::number::{ABSENT, bytes, rate};
use paceline_report::text::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

type Show = fn(&Process) -> String;

/// Columns right of the command, the last given up first.
const COLUMNS: [(&str, usize, Show); 5] = [
    ("cpu", 6, |process| format!("{:.0}%", process.cpus * 100.0)),
    ("memory", 9, |process| bytes(process.memory)),
    ("threads", 9, |process| format!("{:.0}", process.threads)),
    ("read", 11, |process| maybe_rate(process.disk_read)),
    ("written", 11, |process| maybe_rate(process.disk_write)),
];
const PID: usize = 8;
/// A command's name needs at least this much.
const COMMAND: usize = 12;

pub(super) fn draw(area: Rect, buf: &mut Buffer, state: &State, palette: &Palette) {
    let hidden = state
        .processes
        .len()
        .saturating_sub(usize::from(area.height.saturating_sub(2)));
    let note = match hidden {
        0 => format!("by {}", state.sort.name()),
        hidden => format!("by {}, {hidden} more", state.sort.name()),
    };
    heading(area, buf, "processes", &note, palette);
    let mut room = usize::from(area.width).saturating_sub(PID + 1 + COMMAND);
    let shown: Vec<_> = COLUMNS
        .iter()
        .take_while(|(_, width, _)| {
            let fits = room >= *width;
            room = room.saturating_sub(*width);
            fits
        })
        .collect();
    let taken: usize = shown.iter().map(|(_, width, _)| width).sum();
    let command = usize::from(area.width).saturating_sub(PID + 1 + taken);
    let names: String = shown
        .iter()
        .map(|(name, width, _)| right(name, *width))
        .collect();
    let names = format!("{} {}{names}", right("pid", PID), left("command", command));
    put(buf, area, 1, Line::styled(names, palette.dim));
    for (row, process) in (2..area.height).zip(&state.processes) {
        let amounts: String = shown
            .iter()
            .map(|(_, width, show)| right(&show(process), *width))
            .collect();
        let line = Line::from(vec![
            styled(right(&process.pid, PID), palette.dim),
            styled(
                format!(" {}", left(&printable(&process.command), command)),
                palette.strong,
            ),
            styled(amounts, Default::default()),
        ]);
        put(buf, area, row, line);
    }
}

fn maybe_rate(amount: Option<f64>) -> String {
    amount.map_or(ABSENT.to_owned(), |amount| rate(amount, "B"))
}
