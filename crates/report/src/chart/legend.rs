//! The key above a chart.

use super::look::Look;
use super::svg::{Anchor, Path, Svg, fit_text, text_width};

const ROW: f64 = 20.0;
const SWATCH: f64 = 26.0;

/// Draws the key in rows as wide as the chart and gives the height it took.
pub(crate) fn draw(svg: &mut Svg, entries: &[(Look, String)], width: f64) -> f64 {
    let (mut x, mut y) = (4.0, 14.0);
    for (look, text) in entries {
        let text = fit_text(text, width - SWATCH - 16.0);
        let needed = SWATCH + 6.0 + text_width(&text) + 14.0;
        if x > 4.0 && x + needed > width {
            (x, y) = (4.0, y + ROW);
        }
        let middle = y - 4.0;
        svg.path(
            &look.line_class(),
            &Path::segment((x, middle), (x + SWATCH, middle)),
        );
        let mut marker = Path::default();
        look.mark(&mut marker, x + SWATCH / 2.0, middle);
        svg.path(&look.marker_class(), &marker);
        svg.text("", x + SWATCH + 6.0, y, Anchor::Start, &text);
        x += needed;
    }
    if entries.is_empty() { 0.0 } else { y + 8.0 }
}
