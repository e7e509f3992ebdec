//! How a mark looks: colour, marker and dash, so that no two series differ by
//! colour alone.

use super::svg::Path;

/// The looks of a chart's marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The colour of the text.
    Ink,
    /// A quiet grey for what only guides the eye.
    Quiet,
    /// The colour, marker and dash of the n-th series; they repeat after six.
    Series(usize),
}

impl Look {
    /// The class that carries the colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Ink => "k",
            Self::Quiet => "q",
            Self::Series(n) => ["s0", "s1", "s2", "s3", "s4", "s5"][n % 6],
        }
    }

    /// The class of a line, dash included.
    pub(crate) fn line_class(self) -> String {
        let dash = match self {
            Self::Ink => "",
            Self::Quiet => " d1",
            Self::Series(n) => ["", " d1", " d2", " d3", " d4", " d5"][n % 6],
        };
        format!("l {}{dash}", self.class())
    }

    /// The class of markers: dots are round caps of zero-length strokes, the
    /// shortest way to write many of them.
    pub(crate) fn marker_class(self) -> String {
        let shape = match self.marker() {
            Marker::Dot => "dot",
            Marker::Square => "sqr",
            Marker::Cross | Marker::Ring => "out",
            Marker::Triangle | Marker::Diamond => "fil",
        };
        format!("{shape} {}", self.class())
    }

    /// Adds the marker at a point.
    pub(crate) fn mark(self, path: &mut Path, x: f64, y: f64) {
        match self.marker() {
            Marker::Dot | Marker::Square => path.move_to(x, y).relative("h0"),
            Marker::Triangle => path.move_to(x, y - 4.0).relative("l4 7h-8z"),
            Marker::Diamond => path
                .move_to(x, y - 4.5)
                .relative("l4.5 4.5-4.5 4.5-4.5-4.5z"),
            Marker::Cross => path.move_to(x - 3.0, y - 3.0).relative("l6 6m0-6l-6 6"),
            Marker::Ring => path
                .move_to(x - 3.5, y)
                .relative("a3.5 3.5 0 1 0 7 0 3.5 3.5 0 1 0-7 0"),
        };
    }

    fn marker(self) -> Marker {
        match self {
            Self::Ink => Marker::Dot,
            Self::Quiet => Marker::Ring,
            Self::Series(n) => [
                Marker::Dot,
                Marker::Square,
                Marker::Triangle,
                Marker::Diamond,
                Marker::Cross,
                Marker::Ring,
            ][n % 6],
        }
    }
}

#[derive(Clone, Copy)]
enum Marker {
    Dot,
    Square,
    Triangle,
    Diamond,
    Cross,
    Ring,
}
