//! What the command reports, with a small trend.

use super::{heading, left, put, right, spark, styled};
use crate::draw::Palette;
use crate::state::State;
use paceline_report::number::significant;
use paceline_report::text::{columns, printable};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Columns of a value.
const VALUE: usize = 10;
/// Names get what they need within these.
const NAME: std::ops::RangeInclusive<usize> = 6..=18;

pub(super) fn draw(area: Rect, buf: &mut Buffer, state: &State, palette: &Palette) {
    let step = state
        .metrics
        .values()
        .filter_map(|metric| metric.step)
        .max();
    let note = step.map_or(String::new(), |step| format!("step {step}"));
    heading(area, buf, "metrics", &note, palette);
    let longest = state.metrics.keys().map(|name| columns(name)).max();
    let width = usize::from(area.width);
    let name_width = longest
        .unwrap_or(0)
        .clamp(*NAME.start(), *NAME.end())
        .min(width.saturating_sub(VALUE + 8).max(*NAME.start()));
    for (row, (name, metric)) in (1..area.height).zip(&state.metrics) {
        let value = match metric.last.is_nan() {
            true => "NaN".to_owned(),
            false => significant(metric.last, 4),
        };
        let value_style = match metric.last.is_finite() {
            true => palette.strong,
            false => palette.bad,
        };
        let line = Line::from(vec![
            styled(left(&printable(name), name_width), palette.dim),
            styled(right(&value, VALUE), value_style),
        ]);
        put(buf, area, row, line);
        let taken = u16::try_from(name_width + VALUE + 2)
            .expect("few columns")
            .min(area.width);
        let chart = Rect {
            x: area.x + taken,
            y: area.y + row,
            width: area.width - taken,
            height: 1,
        };
        let known = || metric.history.newest(usize::from(chart.width)).flatten();
        let low = known().fold(f64::INFINITY, f64::min);
        let high = known().fold(f64::NEG_INFINITY, f64::max);
        spark::draw(chart, buf, &metric.history, (low, high), palette.line);
    }
}
