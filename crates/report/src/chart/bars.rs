//! Horizontal bars, with intervals where the values have them.

use super::scale::Axis;
use super::svg::{Anchor, Path, Svg, fit_text, text_width};
use super::{Chart, look::Look};

const ROW: f64 = 24.0;
const WIDTH: f64 = 640.0;

/// One bar.
#[derive(Debug, Clone)]
pub struct BarRow {
    /// What it stands for.
    pub label: String,
    /// How far it reaches.
    pub value: f64,
    /// The interval around the value, if it has one.
    pub interval: Option<(f64, f64)>,
    /// The value in words, at the right.
    pub note: String,
    /// Whether the bar is one that the text speaks of; the others are paler.
    pub prominent: bool,
}

/// Bars from zero, one under the other, in the order given.
#[must_use]
pub fn bars(title: &str, description: &str, axis: &str, rows: &[BarRow]) -> Chart {
    let widest = |texts: &mut dyn Iterator<Item = &str>, most: f64| {
        texts.map(text_width).fold(0.0, f64::max).min(most)
    };
    let left = widest(&mut rows.iter().map(|r| r.label.as_str()), 230.0) + 12.0;
    let right = WIDTH - widest(&mut rows.iter().map(|r| r.note.as_str()), 170.0) - 14.0;
    let values = rows.iter().flat_map(|row| {
        let (low, high) = row.interval.unwrap_or((row.value, row.value));
        [row.value, low, high]
    });
    let scale = Axis::linear(axis).including(0.0).scale(values, 5);
    let place = |value: f64| left + scale.place(value).clamp(0.0, 1.0) * (right - left);
    let bottom = 6.0 + rows.len() as f64 * ROW;

    let mut svg = Svg::default();
    let mut grid = Path::default();
    for (value, label) in &scale.ticks {
        let x = place(*value);
        grid.move_to(x, 4.0).line_to(x, bottom);
        svg.text("m", x, bottom + 16.0, Anchor::Middle, label);
    }
    svg.path("g", &grid);
    let zero = place(0.0);
    for (i, row) in rows.iter().enumerate() {
        let top = 6.0 + i as f64 * ROW;
        let baseline = top + ROW / 2.0 + 4.0;
        let label = fit_text(&row.label, left - 12.0);
        svg.text("", left - 8.0, baseline, Anchor::End, &label);
        if row.value.is_finite() {
            let end = place(row.value);
            let shape = Path::rectangle(zero.min(end), top + 4.0, (end - zero).abs(), ROW - 8.0);
            let class = format!(
                "bar {}{}",
                Look::Series(0).class(),
                if row.prominent { "" } else { " soft" }
            );
            svg.titled_path(&class, &shape, &format!("{}: {}", row.label, row.note));
        }
        if let Some((low, high)) = row.interval.filter(|(l, h)| l.is_finite() && h.is_finite()) {
            let middle = top + ROW / 2.0;
            let mut whisker = Path::segment((place(low), middle), (place(high), middle));
            whisker.move_to(place(low), middle - 3.5).relative("v7");
            whisker.move_to(place(high), middle - 3.5).relative("v7");
            svg.path("h k", &whisker);
        }
        let note = fit_text(&row.note, WIDTH - right - 8.0);
        svg.text("", WIDTH - 4.0, baseline, Anchor::End, &note);
    }
    svg.path("x", &Path::segment((zero, 4.0), (zero, bottom)));
    let label = fit_text(axis, WIDTH - 8.0);
    let half = text_width(&label) / 2.0;
    let centre = ((left + right) / 2.0).clamp(half, (WIDTH - half).max(half));
    svg.text("", centre, bottom + 36.0, Anchor::Middle, &label);
    Chart::new(title, description, WIDTH, bottom + 44.0, svg)
}
