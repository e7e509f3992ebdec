//! Which part of the screen shows what.
//!
//! The command's output and the resources are always there; processes and
//! metrics need a screen of fifteen lines.

use crate::state::State;
use ratatui::layout::Rect;

/// From this height on, sparklines have two rows each.
const TALL: u16 = 34;
/// From this height on, there is room for processes and metrics.
const MIDDLE: u16 = 15;
/// More rows would only be empty most of the time.
const MIDDLE_MOST: u16 = 12;
/// From this width on, metrics stand beside the processes.
const WIDE: u16 = 72;

/// The areas of one screen.
pub(super) struct Layout {
    pub(super) header: Rect,
    pub(super) resources: Rect,
    /// How many rows each resource has.
    pub(super) spark_rows: u16,
    pub(super) processes: Option<Rect>,
    pub(super) metrics: Option<Rect>,
    pub(super) log: Rect,
    pub(super) footer: Rect,
}

impl Layout {
    pub(super) fn new(screen: Rect, state: &State) -> Self {
        // One column of air on both sides, if there is any to spare.
        let margin = u16::from(screen.width >= 60);
        let mut rest = Rect {
            x: screen.x + margin,
            width: screen.width - 2 * margin,
            ..screen
        };
        let footer = cut_bottom(&mut rest, 1);
        let header = cut_top(&mut rest, if screen.height < 12 { 1 } else { 2 });
        let roomy = screen.height >= 20;
        if roomy {
            cut_top(&mut rest, 1);
        }
        let shown = super::resources::count(state);
        let spark_rows = if screen.height >= TALL { 2 } else { 1 };
        let wanted = if screen.height < MIDDLE {
            shown.min(rest.height / 2)
        } else {
            shown * spark_rows
        };
        let resources = cut_top(&mut rest, wanted);
        let (mut processes, mut metrics) = (None, None);
        if screen.height >= MIDDLE {
            if roomy {
                cut_top(&mut rest, 1);
            }
            // A share of the screen and not of what there is to list: processes
            // that come and go must not move everything else.
            let rows = (rest.height * 3 / 7).min(MIDDLE_MOST);
            let mut middle = cut_top(&mut rest, rows);
            if roomy {
                cut_top(&mut rest, 1);
            }
            if state.metrics.is_empty() {
                processes = Some(middle);
            } else if middle.width >= WIDE {
                let width = middle.width * 3 / 5;
                let left = Rect { width, ..middle };
                middle.x += width + 3;
                middle.width -= width + 3;
                (processes, metrics) = (Some(left), Some(middle));
            } else {
                metrics = Some(middle);
            }
        }
        Self {
            header,
            resources,
            spark_rows,
            processes,
            metrics,
            log: rest,
            footer,
        }
    }
}

fn cut_top(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    let cut = Rect {
        height: rows,
        ..*rest
    };
    rest.y += rows;
    rest.height -= rows;
    cut
}

fn cut_bottom(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    rest.height -= rows;
    Rect {
        y: rest.y + rest.height,
        height: rows,
        ..*rest
    }
}
