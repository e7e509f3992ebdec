//! Writing SVG: few bytes, escaped text, estimated widths.

use crate::html::escape;
use std::fmt::Write as _;

/// The size of ordinary text in a chart, in pixels.
pub(crate) const FONT: f64 = 12.0;

/// A fragment of SVG under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Svg(String);

/// Where a text's anchor point lies within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A path of the given class: `d` comes from [`Path`].
    pub(crate) fn path(&mut self, class: &str, d: &Path) {
        if !d.0.is_empty() {
            let _ = write!(self.0, "<path class=\"{class}\" d=\"{}\"/>", d.0);
        }
    }

    /// As [`Svg::path`], with a text that a pointer shows.
    pub(crate) fn titled_path(&mut self, class: &str, d: &Path, title: &str) {
        let title = escape(title);
        let _ = write!(
            self.0,
            "<path class=\"{class}\" d=\"{}\"><title>{title}</title></path>",
            d.0
        );
    }

    /// A line of text with its baseline at `y`.
    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = attribute("class", class);
        let (x, y, text) = (round(x), round(y), escape(text));
        let _ = write!(
            self.0,
            "<text{class} x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"
        );
    }

    /// A line of text that reads upwards, centred at the point.
    pub(crate) fn upward_text(&mut self, x: f64, y: f64, text: &str) {
        let (x, y, text) = (round(x), round(y), escape(text));
        let _ = write!(
            self.0,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{text}</text>"
        );
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The geometry of a path in absolute moves and relative strokes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn move_to(&mut self, x: f64, y: f64) -> &mut Self {
        let _ = write!(self.0, "M{} {}", round(x), round(y));
        self
    }

    pub(crate) fn line_to(&mut self, x: f64, y: f64) -> &mut Self {
        let _ = write!(self.0, "L{} {}", round(x), round(y));
        self
    }

    /// A fixed piece of relative path commands.
    pub(crate) fn relative(&mut self, commands: &str) -> &mut Self {
        self.0.push_str(commands);
        self
    }

    pub(crate) fn close(&mut self) -> &mut Self {
        self.0.push('Z');
        self
    }

    pub(crate) fn segment(from: (f64, f64), to: (f64, f64)) -> Self {
        let mut path = Self::default();
        path.move_to(from.0, from.1).line_to(to.0, to.1);
        path
    }

    pub(crate) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Self {
        let mut path = Self::default();
        path.move_to(x, y)
            .line_to(x + width, y)
            .line_to(x + width, y + height)
            .line_to(x, y + height)
            .close();
        path
    }
}

/// A coordinate to a tenth of a pixel, without a trailing zero.
pub(crate) fn round(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths == 0.0 {
        "0".to_owned()
    } else if tenths % 10.0 == 0.0 {
        format!("{}", tenths / 10.0)
    } else {
        format!("{:.1}", tenths / 10.0)
    }
}

/// An upper estimate of a text's width in pixels. The font is the reader's, so
/// only an estimate is possible; it errs to the wide side so that nothing is
/// clipped.
pub(crate) fn text_width(text: &str) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '(' | ')' => 0.36,
            'f' | 'r' | 't' | ' ' | '-' => 0.42,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
            'A'..='Z' => 0.76,
            c if c.is_ascii() => 0.62,
            c => 0.62 * crate::text::columns(c.encode_utf8(&mut [0; 4])) as f64,
        })
        .sum();
    em * FONT
}

/// A text cut with `…` to an estimated width in pixels.
pub(crate) fn fit_text(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let room = width - text_width("…");
    let mut used = 0.0;
    for c in text.chars() {
        used += text_width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() {
        String::new()
    } else {
        format!(" {name}=\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(round(12.0), "12");
        assert_eq!(round(12.345), "12.3");
        assert_eq!(round(-0.04), "0");
    }

    #[test]
    fn cut_text_fits() {
        assert_eq!(fit_text("cost", 100.0), "cost");
        assert!(text_width(&fit_text("epochs:learning_rate:batch_size", 90.0)) <= 90.0);
    }
}
