//! Stated intervals with what came, one under the other.

use super::svg::{Anchor, Path, Svg, fit_text, text_width};
use super::{Chart, look::Look};
use crate::text::place;

const ROW: f64 = 26.0;
const WIDTH: f64 = 760.0;
/// Half the width of a track, in half-widths of its interval.
const REACH: f64 = 2.2;

/// One stated interval.
#[derive(Debug, Clone)]
pub struct Track {
    /// What it is about.
    pub label: String,
    /// The lower end, the prediction and the upper end.
    pub stated: (f64, f64, f64),
    /// The limit that was to be kept.
    pub limit: Option<f64>,
    /// What came, and whether it is what was promised.
    pub came: Option<(f64, bool)>,
    /// What came, in words, at the right.
    pub note: String,
}

/// Every interval at the same place and width, whatever its unit: what came lies
/// within the band or outside.
#[must_use]
pub fn tracks(title: &str, description: &str, rows: &[Track]) -> Chart {
    let widest = |texts: &mut dyn Iterator<Item = &str>, most: f64| {
        texts.map(text_width).fold(0.0, f64::max).min(most)
    };
    let left = widest(&mut rows.iter().map(|r| r.label.as_str()), 210.0) + 14.0;
    let right = WIDTH - widest(&mut rows.iter().map(|r| r.note.as_str()), 230.0) - 18.0;
    let x = |at: f64| {
        let share = (at.clamp(-REACH, REACH) + REACH) / (2.0 * REACH);
        left + share * (right - left)
    };
    let bottom = 8.0 + rows.len() as f64 * ROW;
    let mut svg = Svg::default();
    let band = Path::rectangle(x(-1.0), 4.0, x(1.0) - x(-1.0), bottom - 4.0);
    svg.path(&format!("area {}", Look::Series(0).class()), &band);
    let mut grid = Path::default();
    for at in [-1.0, 1.0] {
        grid.move_to(x(at), 4.0).line_to(x(at), bottom);
    }
    svg.path("x", &grid);
    svg.path("x d4", &Path::segment((x(0.0), 4.0), (x(0.0), bottom)));
    for (at, label) in [(-1.0, "lower end"), (0.0, "predicted"), (1.0, "upper end")] {
        svg.text("m", x(at), bottom + 16.0, Anchor::Middle, label);
    }
    for (i, row) in rows.iter().enumerate() {
        let middle = 8.0 + (i as f64 + 0.5) * ROW;
        let baseline = middle + 4.0;
        let label = fit_text(&row.label, left - 14.0);
        svg.text("", left - 10.0, baseline, Anchor::End, &label);
        let whole = Path::segment((x(-REACH), middle), (x(REACH), middle));
        svg.path("g", &whole);
        if let Some(limit) = row.limit {
            // At the edge if it lies beyond.
            let at = x(place(row.stated, limit));
            let mark = Path::segment((at, middle - 9.0), (at, middle + 9.0));
            svg.titled_path("l k", &mark, "the limit");
        }
        if let Some((came, kept)) = row.came {
            let at = x(place(row.stated, came));
            let title = format!("{}: {}", row.label, row.note);
            // Told apart by their form as well: a dot, or a cross.
            if kept {
                let mut dot = Path::default();
                dot.move_to(at, middle).relative("h0");
                svg.titled_path(&format!("dot {}", Look::Series(2).class()), &dot, &title);
            } else {
                let mut cross = Path::segment((at - 5.0, middle - 5.0), (at + 5.0, middle + 5.0));
                cross
                    .move_to(at - 5.0, middle + 5.0)
                    .line_to(at + 5.0, middle - 5.0);
                svg.titled_path(&format!("l {}", Look::Series(5).class()), &cross, &title);
            }
        }
        let note = fit_text(&row.note, WIDTH - right - 12.0);
        svg.text("", right + 12.0, baseline, Anchor::Start, &note);
    }
    Chart::new(title, description, WIDTH, bottom + 26.0, svg)
}
