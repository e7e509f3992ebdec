//! Tables that read well in a terminal and in a Markdown page.

use std::fmt;

/// A table of Markdown; all columns but the first are aligned right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins with the names of the columns.
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self {
            rows: vec![columns.iter().map(|name| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.rows[0].len(), "a row fills every column");
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let lengths = self.rows.iter().map(|row| row[column].chars().count());
            lengths.max().unwrap_or(0).max(3)
        };
        for (index, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                let wide = width(column);
                if column == 0 {
                    write!(f, "| {cell:wide$} ")?;
                } else {
                    write!(f, "| {cell:>wide$} ")?;
                }
            }
            writeln!(f, "|")?;
            if index == 0 {
                write!(f, "|{}", "-".repeat(width(0) + 2))?;
                for column in 1..columns {
                    write!(f, "|{}:", "-".repeat(width(column) + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// A rate in the digits that a benchmark can tell: `1,230,000`.
pub(crate) fn rate(value: f64) -> String {
    // Three digits; a fourth would be noise.
    let unit = 10f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
    let rounded = ((value / unit).round() * unit) as u64;
    let digits = rounded.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many times one rate is another: `2.53×`.
pub(crate) fn times(ours: f64, theirs: f64) -> String {
    format!("{:.2}×", ours / theirs)
}

/// What stands where nothing was measured.
pub(crate) const NOTHING: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["task", "rate"]);
        table.row(["softmax".to_owned(), rate(4_056_789.0)]);
        assert_eq!(
            table.to_string(),
            "| task    |      rate |\n|---------|----------:|\n| softmax | 4,060,000 |\n"
        );
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(rate(112_345.0), "112,000");
        assert_eq!(rate(987.4), "987");
        assert_eq!(rate(9_999.0), "10,000");
        assert_eq!(rate(0.0), "0");
    }
}
