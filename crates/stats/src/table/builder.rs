//! Turns text cells into typed columns, one row or one chunk at a time.

use std::collections::HashMap;

use super::column::sort_levels;
use super::{Column, ColumnData, FirstText, MISSING_CODE, MakeTableError, Table};

/// Collects text cells and decides per column whether it holds numbers.
///
/// A column whose cells are all numbers is numeric. A column with text is
/// categorical; if most of its cells are numbers, the first text cell is
/// remembered, and using the column without `C(…)` is an error that names it.
/// The texts ``, `NA`, `NaN`, `nan`, `N/A`, `null` and `None` are missing values.
/// Numbers that end up as level names are written in their shortest form.
#[derive(Clone, Debug)]
pub struct TableBuilder {
    names: Vec<String>,
    columns: Vec<Growing>,
}

/// Why text cells do not make a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildTableError {
    /// There is no column.
    #[error("the table has no columns")]
    NoColumns,
    /// There is no data row.
    #[error("the table has a header but no rows")]
    NoRows,
    /// A row has too few or too many cells.
    #[error("row {row} has {cells} cells where the header has {columns}")]
    RaggedRow {
        /// The data row, counted from one.
        row: usize,
        /// How many cells it has.
        cells: usize,
        /// How many columns the header names.
        columns: usize,
    },
    /// The finished columns do not fit together.
    #[error(transparent)]
    Make(#[from] MakeTableError),
}

#[derive(Clone, Debug)]
enum Growing {
    Numbers(Vec<f64>),
    Labels(Labels),
}

#[derive(Clone, Debug)]
struct Labels {
    levels: Vec<String>,
    by_name: HashMap<String, u32>,
    codes: Vec<u32>,
    last: u32,
    numbers: usize,
    texts: usize,
    first_text: FirstText,
}

impl TableBuilder {
    pub(super) fn new(names: Vec<String>) -> TableBuilder {
        let columns = names.iter().map(|_| Growing::Numbers(Vec::new())).collect();
        TableBuilder { names, columns }
    }

    /// Reserves room for this many further rows.
    pub fn reserve(&mut self, rows: usize) {
        for column in &mut self.columns {
            match column {
                Growing::Numbers(values) => values.reserve(rows),
                Growing::Labels(labels) => labels.codes.reserve(rows),
            }
        }
    }

    /// Adds one row of cells.
    ///
    /// # Errors
    ///
    /// When the number of cells differs from the number of columns.
    pub fn push_row<'a>(
        &mut self,
        cells: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), BuildTableError> {
        let row = self.columns.first().map_or(0, Growing::len);
        let mut count = 0;
        for cell in cells {
            if let Some(column) = self.columns.get_mut(count) {
                column.push(cell);
            }
            count += 1;
        }
        if count == self.columns.len() {
            return Ok(());
        }
        // The table is given up on a ragged row, but it must stay rectangular
        // for callers that report the error and go on.
        for column in &mut self.columns {
            column.truncate(row);
        }
        Err(BuildTableError::RaggedRow {
            row: row + 1,
            cells: count,
            columns: self.columns.len(),
        })
    }

    /// The finished table.
    ///
    /// # Errors
    ///
    /// When there is nothing in it, or the columns do not fit together.
    pub fn finish(self) -> Result<Table, BuildTableError> {
        if self.names.is_empty() {
            return Err(BuildTableError::NoColumns);
        }
        let columns: Vec<Column> = self
            .names
            .into_iter()
            .zip(self.columns)
            .map(|(name, growing)| Column::with_data(name, growing.finish()))
            .collect();
        let table = Table::new(columns)?;
        if table.rows() == 0 {
            return Err(BuildTableError::NoRows);
        }
        Ok(table)
    }
}

impl Growing {
    fn len(&self) -> usize {
        match self {
            Growing::Numbers(values) => values.len(),
            Growing::Labels(labels) => labels.codes.len(),
        }
    }

    fn truncate(&mut self, rows: usize) {
        match self {
            Growing::Numbers(values) => values.truncate(rows),
            Growing::Labels(labels) => labels.codes.truncate(rows),
        }
    }

    fn push(&mut self, cell: &str) {
        let cell = cell.trim();
        match self {
            Growing::Numbers(values) => match number(cell) {
                Some(value) => values.push(value),
                None => {
                    let mut labels = Labels::after(values, cell);
                    labels.push(cell);
                    *self = Growing::Labels(labels);
                }
            },
            Growing::Labels(labels) => labels.push(cell),
        }
    }

    fn finish(self) -> ColumnData {
        match self {
            Growing::Numbers(values) => ColumnData::Numeric(values),
            Growing::Labels(labels) => labels.finish(),
        }
    }
}

impl Labels {
    /// The labels of a column that was numeric until `text` appeared.
    fn after(values: &[f64], text: &str) -> Labels {
        let mut labels = Labels {
            levels: Vec::new(),
            by_name: HashMap::new(),
            codes: Vec::with_capacity(values.len() + 1),
            last: MISSING_CODE,
            numbers: 0,
            texts: 0,
            first_text: FirstText {
                row: values.len() + 1,
                value: text.to_owned(),
            },
        };
        for &value in values {
            labels.push_number(value);
        }
        labels
    }

    fn push_number(&mut self, value: f64) {
        if value.is_nan() {
            self.codes.push(MISSING_CODE);
            return;
        }
        self.numbers += 1;
        self.push_level(&value.to_string());
    }

    fn push(&mut self, cell: &str) {
        match number(cell) {
            Some(value) => self.push_number(value),
            None => {
                self.texts += 1;
                self.push_level(cell);
            }
        }
    }

    fn push_level(&mut self, name: &str) {
        // Designs repeat levels in runs; comparing with the last one is cheaper
        // than hashing.
        let same = self
            .levels
            .get(self.last as usize)
            .is_some_and(|level| level == name);
        if !same {
            self.last = match self.by_name.get(name) {
                Some(&code) => code,
                None => {
                    let code = self.levels.len() as u32;
                    self.levels.push(name.to_owned());
                    self.by_name.insert(name.to_owned(), code);
                    code
                }
            };
        }
        self.codes.push(self.last);
    }

    fn finish(self) -> ColumnData {
        let mut sorted = self.levels.clone();
        sort_levels(&mut sorted);
        let position: HashMap<&str, u32> = sorted
            .iter()
            .enumerate()
            .map(|(code, level)| (level.as_str(), code as u32))
            .collect();
        let renamed: Vec<u32> = self
            .levels
            .iter()
            .map(|level| position[level.as_str()])
            .collect();
        let codes = self
            .codes
            .iter()
            .map(|&code| match renamed.get(code as usize) {
                Some(&new) => new,
                None => MISSING_CODE,
            })
            .collect();
        let mostly_numbers = self.numbers > self.texts;
        ColumnData::Categorical {
            levels: sorted,
            codes,
            first_text: mostly_numbers.then_some(self.first_text),
        }
    }
}

/// The number a cell holds: NaN for a missing value, `None` for text.
fn number(cell: &str) -> Option<f64> {
    match cell {
        "" | "NA" | "N/A" | "null" | "None" => Some(f64::NAN),
        _ => cell.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(rows: &[&[&str]]) -> Result<Table, BuildTableError> {
        let mut builder = Table::builder(["x", "y"]);
        for row in rows {
            builder.push_row(row.iter().copied())?;
        }
        builder.finish()
    }

    #[test]
    fn numbers_stay_numbers_and_blanks_are_missing() {
        let table = build(&[&["1", "2.5"], &["", "NA"], &["3", "-1e3"]]).unwrap();
        assert_eq!(table.column("x").unwrap().missing(), 1);
        assert_eq!(table.column("y").unwrap().as_numeric().unwrap()[2], -1000.0);
    }

    #[test]
    fn text_makes_a_column_categorical_with_sorted_levels() {
        let table = build(&[&["wifi", "1"], &["lan", "2"], &["wifi", "3"]]).unwrap();
        let ColumnData::Categorical {
            levels,
            codes,
            first_text,
        } = table.column("x").unwrap().data()
        else {
            panic!("text is categorical");
        };
        assert_eq!(levels, &["lan", "wifi"]);
        assert_eq!(codes, &[1, 0, 1]);
        assert_eq!(first_text, &None);
    }

    #[test]
    fn a_stray_text_among_numbers_is_remembered_with_its_row() {
        let table = build(&[&["1", "0"], &["2", "0"], &["2s", "0"], &["3", "0"]]).unwrap();
        let ColumnData::Categorical { first_text, .. } = table.column("x").unwrap().data() else {
            panic!("text makes it categorical");
        };
        assert_eq!(
            first_text,
            &Some(FirstText {
                row: 3,
                value: "2s".into()
            })
        );
    }

    #[test]
    fn a_ragged_row_is_refused_with_its_number() {
        let error = build(&[&["1", "2"], &["1"]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 2 has 1 cells where the header has 2"
        );
    }

    #[test]
    fn an_empty_table_is_refused() {
        assert_eq!(build(&[]).unwrap_err(), BuildTableError::NoRows);
    }

    #[test]
    fn numeric_levels_sort_by_value() {
        let table = build(&[
            &["128", "0"],
            &["64", "0"],
            &["auto", "0"],
            &["max", "0"],
            &["min", "0"],
        ])
        .unwrap();
        let ColumnData::Categorical { levels, .. } = table.column("x").unwrap().data() else {
            panic!("text makes it categorical");
        };
        assert_eq!(levels, &["128", "64", "auto", "max", "min"]);
        let column = Column::from_labels("b", &["128", "64"]);
        let ColumnData::Categorical { levels, .. } = column.data() else {
            panic!("labels are categorical");
        };
        assert_eq!(levels, &["64", "128"]);
    }
}
