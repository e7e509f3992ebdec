//! Tables that fit the terminal.

use super::columns::{columns, printable, truncate};
use super::style::Style;

/// The gap between two columns.
const GAP: usize = 2;
/// A text column is not cut below this many columns of the terminal.
const NARROWEST: usize = 6;

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
    /// Decimal points below each other.
    Point,
}

/// The heading and alignment of one column.
#[derive(Debug, Clone)]
pub struct Column {
    heading: String,
    align: Align,
    optional: bool,
}

impl Column {
    /// Words: to the left, cut with `…` where the table does not fit.
    #[must_use]
    pub fn words(heading: &str) -> Self {
        Self::new(heading, Align::Left)
    }

    /// Whole numbers and amounts with a unit: to the right, never cut before a
    /// column of words is.
    #[must_use]
    pub fn amounts(heading: &str) -> Self {
        Self::new(heading, Align::Right)
    }

    /// Numbers with a fraction: decimal points below each other.
    #[must_use]
    pub fn decimals(heading: &str) -> Self {
        Self::new(heading, Align::Point)
    }

    /// Leaves the column out where the table does not fit otherwise; the
    /// rightmost optional column goes first.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    fn new(heading: &str, align: Align) -> Self {
        Self {
            heading: printable(heading),
            align,
            optional: false,
        }
    }
}

/// A table under construction: a heading line, then rows and rules.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
enum Line {
    Row { cells: Vec<String>, strong: bool },
    Rule,
}

impl Table {
    /// A table with these columns and no rows yet.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            lines: Vec::new(),
        }
    }

    /// Adds a row. Cells beyond the last column are dropped, missing ones are
    /// empty.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.push_row(cells, false)
    }

    /// Adds a row that a terminal shows in bold.
    pub fn strong_row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.push_row(cells, true)
    }

    /// Adds a rule between the row before and the row after.
    pub fn rule(&mut self) -> &mut Self {
        self.lines.push(Line::Rule);
        self
    }

    /// The table as lines of at most `width` columns, each ended by a newline.
    #[must_use]
    pub fn render(&self, width: usize, style: Style) -> String {
        let layout = self.layout(width);
        let rule = "─".repeat(layout.total());
        let headings: Vec<&str> = self.columns.iter().map(|c| c.heading.as_str()).collect();
        let mut out = String::new();
        push_line(&mut out, &style.strong(&layout.line(&headings, true)));
        push_line(&mut out, &style.dim(&rule));
        for line in &self.lines {
            match line {
                Line::Rule => push_line(&mut out, &style.dim(&rule)),
                Line::Row { cells, strong } => {
                    let text = layout.line(cells, false);
                    let text = if *strong { style.strong(&text) } else { text };
                    push_line(&mut out, &text);
                }
            }
        }
        out
    }

    fn push_row<T: AsRef<str>>(
        &mut self,
        cells: impl IntoIterator<Item = T>,
        strong: bool,
    ) -> &mut Self {
        let mut cells: Vec<String> = cells
            .into_iter()
            .map(|cell| printable(cell.as_ref()))
            .collect();
        cells.resize(self.columns.len(), String::new());
        self.lines.push(Line::Row { cells, strong });
        self
    }

    /// Leaves out optional columns from the right, then cuts words, widest
    /// column first, then cuts whatever is widest, until the table fits.
    fn layout(&self, width: usize) -> Layout {
        let mut layout = Layout {
            slots: (0..self.columns.len()).map(|i| self.slot(i)).collect(),
        };
        while layout.total() > width {
            if let Some(slot) = layout
                .slots
                .iter_mut()
                .rev()
                .find(|s| s.shown && s.optional)
            {
                slot.shown = false;
                continue;
            }
            let excess = layout.total() - width;
            let widest = |slots: &mut Vec<Slot>, words: bool, least: usize| {
                slots
                    .iter_mut()
                    .filter(|s| s.shown && s.width > least && (!words || s.align == Align::Left))
                    .max_by_key(|s| s.width)
                    .map(|s| s.width -= excess.min(s.width - least).clamp(1, 4))
            };
            if widest(&mut layout.slots, true, NARROWEST).is_none()
                && widest(&mut layout.slots, false, 1).is_none()
            {
                break;
            }
        }
        layout
    }

    fn slot(&self, index: usize) -> Slot {
        let column = &self.columns[index];
        let cells = || {
            self.lines.iter().filter_map(move |line| match line {
                Line::Row { cells, .. } => Some(cells[index].as_str()),
                Line::Rule => None,
            })
        };
        let tail = match column.align {
            Align::Point => cells()
                .map(|c| columns(split_point(c).1))
                .max()
                .unwrap_or(0),
            Align::Left | Align::Right => 0,
        };
        let body = match column.align {
            Align::Point => {
                let head = cells()
                    .map(|c| columns(split_point(c).0))
                    .max()
                    .unwrap_or(0);
                head + tail
            }
            Align::Left | Align::Right => cells().map(columns).max().unwrap_or(0),
        };
        Slot {
            align: column.align,
            optional: column.optional,
            shown: true,
            width: body.max(columns(&column.heading)),
            tail,
        }
    }
}

struct Layout {
    slots: Vec<Slot>,
}

struct Slot {
    align: Align,
    optional: bool,
    shown: bool,
    width: usize,
    /// The widest part behind a decimal point.
    tail: usize,
}

impl Layout {
    fn total(&self) -> usize {
        let shown = self.slots.iter().filter(|s| s.shown);
        let (count, width) = shown.fold((0, 0), |(n, w), s| (n + 1, w + s.width));
        width + GAP * usize::saturating_sub(count, 1)
    }

    fn line<T: AsRef<str>>(&self, cells: &[T], heading: bool) -> String {
        let shown = self.slots.iter().zip(cells).filter(|(slot, _)| slot.shown);
        let padded: Vec<String> = shown
            .map(|(slot, cell)| slot.pad(cell.as_ref(), heading))
            .collect();
        padded.join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

impl Slot {
    fn pad(&self, cell: &str, heading: bool) -> String {
        let cell = truncate(cell, self.width);
        let missing = self.width - columns(&cell);
        match self.align {
            Align::Left => cell + &" ".repeat(missing),
            Align::Point if !heading => {
                let after = self.tail.saturating_sub(columns(split_point(&cell).1));
                let after = after.min(missing);
                " ".repeat(missing - after) + &cell + &" ".repeat(after)
            }
            Align::Point | Align::Right => " ".repeat(missing) + &cell,
        }
    }
}

/// The part up to the decimal point, and the point with what follows. Without a
/// point the tail begins at the exponent, the unit or the end.
fn split_point(cell: &str) -> (&str, &str) {
    let digits = cell.bytes().any(|b| b.is_ascii_digit());
    let at = cell.find('.').or_else(|| {
        if digits {
            cell.find(['e', '%', ' '])
        } else {
            None
        }
    });
    cell.split_at(at.unwrap_or(cell.len()))
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([
            Column::words("term"),
            Column::amounts("df"),
            Column::decimals("sum of squares"),
            Column::decimals("p").optional(),
        ]);
        table
            .row(["learning_rate", "1", "0.06591", "2.99e-14"])
            .row(["epochs:learning_rate:batch_size", "1", "12.5", "0.0431"])
            .rule()
            .strong_row(["学習率", "289", "100", "–"]);
        table
    }

    #[test]
    fn decimal_points_stand_below_each_other() {
        insta::assert_snapshot!(sample().render(100, Style::Plain));
    }

    #[test]
    fn a_narrow_terminal_drops_optional_columns_and_then_cuts_words() {
        insta::assert_snapshot!(sample().render(40, Style::Plain));
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in 12..100 {
            for line in sample().render(width, Style::Plain).lines() {
                assert!(columns(line) <= width, "{line:?} at {width}");
            }
        }
    }

    #[test]
    fn emphasis_adds_nothing_but_escape_sequences() {
        let plain = sample().render(60, Style::Plain);
        let mut ansi = sample().render(60, Style::Ansi);
        assert_ne!(plain, ansi);
        for code in ["\x1b[1m", "\x1b[2m", "\x1b[0m"] {
            ansi = ansi.replace(code, "");
        }
        assert_eq!(plain, ansi);
    }

    #[test]
    fn a_table_without_rows_is_its_heading() {
        let table = Table::new([Column::words("a"), Column::amounts("b")]);
        assert_eq!(table.render(80, Style::Plain), "a  b\n────\n");
    }
}
