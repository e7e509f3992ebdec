//! The model matrix: which column stands for which part of which term.

mod coding;

use crate::formula::{ModelFrame, TermOrder, VariableData};
use crate::lstsq::Scalar;

/// How the levels of a categorical variable become columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contrast {
    /// Each level against the first.
    #[default]
    Treatment,
    /// Each level but the last against the mean of all; the last is minus their sum.
    Sum,
}

/// The recipe of a model matrix. Values are computed block by block, so that the
/// matrix of a million rows never exists as a whole.
#[derive(Clone, Debug)]
pub struct ModelMatrix<'a> {
    frame: &'a ModelFrame,
    columns: Vec<MatrixColumn>,
    /// Powers of two that bring each numeric variable to at most one.
    scales: Vec<f64>,
}

/// One column of a model matrix.
#[derive(Clone, Debug)]
pub struct MatrixColumn {
    name: String,
    label: String,
    term: Option<usize>,
    parts: Vec<Part>,
    scale: f64,
}

/// One factor of a column's entries.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Number {
        variable: usize,
    },
    /// The value for each level of a categorical variable.
    Coded {
        variable: usize,
        values: Vec<f64>,
    },
}

impl Part {
    /// The variable it follows.
    pub(crate) fn variable(&self) -> usize {
        match self {
            Part::Number { variable } | Part::Coded { variable, .. } => *variable,
        }
    }
}

impl MatrixColumn {
    /// What its entries are the product of.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its name, such as `Intercept`, `epochs` or `network[T.wifi]:epochs`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in people's words, such as `network wifi vs lan with epochs`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The term it belongs to, by index into the frame's terms; `None` is the
    /// intercept.
    pub fn term(&self) -> Option<usize> {
        self.term
    }

    /// Entries are multiplied by this power of two before they are used.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }
}

impl<'a> ModelMatrix<'a> {
    /// Codes a frame. `contrast` applies to categorical variables without a
    /// contrast of their own.
    ///
    /// A categorical variable is coded by contrasts where the terms before it
    /// already span its margin and by one indicator per level where they do not,
    /// so that each term spans what it adds to the terms written before it,
    /// whatever the contrast (the rule of patsy, which corrects R's in models
    /// without margins). An interaction written before its main effects leaves
    /// them nothing, as in R.
    pub fn new(frame: &'a ModelFrame, contrast: Contrast) -> ModelMatrix<'a> {
        ModelMatrix::coded(frame, TermOrder::Written, |own| own.unwrap_or(contrast))
    }

    /// Codes every categorical variable by `contrast`, whatever the formula says,
    /// and lets main effects have their margins even where an interaction is
    /// written before them.
    pub(crate) fn marginal(frame: &'a ModelFrame, contrast: Contrast) -> ModelMatrix<'a> {
        ModelMatrix::coded(frame, TermOrder::ByDegree, |_| contrast)
    }

    fn coded(
        frame: &'a ModelFrame,
        order: TermOrder,
        choose: impl Fn(Option<Contrast>) -> Contrast,
    ) -> ModelMatrix<'a> {
        let scales: Vec<f64> = frame
            .variables()
            .iter()
            .map(|variable| match variable.data() {
                VariableData::Numeric { values, .. } => scale_of(values),
                VariableData::Categorical { .. } => 1.0,
            })
            .collect();
        let mut columns = Vec::new();
        if frame.has_intercept() {
            columns.push(MatrixColumn {
                name: "Intercept".to_owned(),
                label: "intercept".to_owned(),
                term: None,
                parts: Vec::new(),
                scale: 1.0,
            });
        }
        let codings = coding::codings(frame, order);
        for (index, blocks) in codings.iter().enumerate() {
            for block in blocks {
                columns.extend(coding::columns(frame, index, block, &scales, &choose));
            }
        }
        ModelMatrix {
            frame,
            columns,
            scales,
        }
    }

    /// The frame this matrix codes.
    pub fn frame(&self) -> &'a ModelFrame {
        self.frame
    }

    /// The columns in model order.
    pub fn columns(&self) -> &[MatrixColumn] {
        &self.columns
    }

    /// A column's name in people's words.
    pub(crate) fn label_of(&self, name: &str) -> String {
        let found = self.columns.iter().find(|column| column.name == name);
        found.map_or_else(|| name.to_owned(), |column| column.label.clone())
    }

    /// The entries of one column, unscaled.
    pub fn column_values(&self, column: usize) -> Vec<f64> {
        let rows: Vec<u32> = (0..self.frame.len() as u32).collect();
        let mut values = vec![0.0; rows.len()];
        self.fill_column::<f64>(column, &rows, &mut values);
        let scale = self.columns[column].scale;
        for value in &mut values {
            *value /= scale;
        }
        values
    }

    /// Writes the scaled entries of these rows, column-major.
    pub(crate) fn fill<S: Scalar>(&self, rows: &[u32], block: &mut [S]) {
        for (index, values) in block
            .chunks_exact_mut(rows.len())
            .take(self.columns.len())
            .enumerate()
        {
            self.fill_column(index, rows, values);
        }
    }

    fn fill_column<S: Scalar>(&self, column: usize, rows: &[u32], values: &mut [S]) {
        values.fill(S::from_f64(1.0));
        for (position, part) in self.columns[column].parts.iter().enumerate() {
            let first = position == 0;
            match part {
                Part::Number { variable } => {
                    let scale = self.scales[*variable];
                    let (numbers, low) = self.numbers(*variable);
                    for (value, &row) in values.iter_mut().zip(rows) {
                        let row = row as usize;
                        let low = low.get(row).map_or(0.0, |low| low * scale);
                        let factor = S::from_parts(numbers[row] * scale, low);
                        *value = if first { factor } else { *value * factor };
                    }
                }
                Part::Coded {
                    variable,
                    values: coded,
                } => {
                    let codes = self.codes(*variable);
                    for (value, &row) in values.iter_mut().zip(rows) {
                        let factor = S::from_f64(coded[codes[row as usize] as usize]);
                        *value = if first { factor } else { *value * factor };
                    }
                }
            }
        }
    }

    fn numbers(&self, variable: usize) -> (&[f64], &[f64]) {
        match self.frame.variables()[variable].data() {
            VariableData::Numeric { values, low } => (values, low),
            VariableData::Categorical { .. } => (&[], &[]),
        }
    }

    fn codes(&self, variable: usize) -> &[u32] {
        match self.frame.variables()[variable].data() {
            VariableData::Categorical { codes, .. } => codes,
            VariableData::Numeric { .. } => &[],
        }
    }
}

/// The power of two that brings the largest of these values into [1/2, 1).
///
/// Scaling by a power of two is exact, and Householder's method does not depend
/// on it; it only keeps squares within range.
pub(crate) fn scale_of(values: &[f64]) -> f64 {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let exponent = largest.log2().floor().clamp(-1000.0, 1000.0) as i32 + 1;
    2.0_f64.powi(-exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Formula, FrameOptions};
    use crate::table::{Column, Table};

    fn table() -> Table {
        Table::new(vec![
            Column::numeric("y", vec![1.0, 2.0, 4.0, 3.0, 5.0, 9.0]),
            Column::from_labels("a", &["p", "q", "p", "q", "p", "q"]),
            Column::from_labels("b", &["u", "u", "v", "v", "w", "w"]),
            Column::numeric("x", vec![1.0, 2.0, 3.0, 5.0, 8.0, 13.0]),
        ])
        .unwrap()
    }

    fn names(formula: &str) -> Vec<String> {
        let frame = Formula::parse(formula)
            .unwrap()
            .frame(&table(), &FrameOptions::default())
            .unwrap();
        ModelMatrix::new(&frame, Contrast::Treatment)
            .columns()
            .iter()
            .map(|column| column.name().to_owned())
            .collect()
    }

    fn check(formula: &str, expected: &[&str]) {
        assert_eq!(names(formula), expected, "{formula}");
    }

    #[test]
    fn contrasts_are_reduced_where_the_margin_is_present() {
        check("y ~ a", &["Intercept", "a[T.q]"]);
        check("y ~ a - 1", &["a[p]", "a[q]"]);
        check("y ~ 0 + a + b", &["a[p]", "a[q]", "b[T.v]", "b[T.w]"]);
        check("y ~ x:a", &["Intercept", "x:a[p]", "x:a[q]"]);
        check("y ~ x + x:a", &["Intercept", "x", "x:a[T.q]"]);
        check(
            "y ~ a:b",
            &[
                "Intercept",
                "b[T.v]",
                "b[T.w]",
                "a[T.q]:b[u]",
                "a[T.q]:b[v]",
                "a[T.q]:b[w]",
            ],
        );
        check(
            "y ~ 0 + a:b",
            &[
                "a[p]:b[u]",
                "a[q]:b[u]",
                "a[p]:b[v]",
                "a[q]:b[v]",
                "a[p]:b[w]",
                "a[q]:b[w]",
            ],
        );
        check(
            "y ~ a + a:b",
            &[
                "Intercept",
                "a[T.q]",
                "a[p]:b[T.v]",
                "a[q]:b[T.v]",
                "a[p]:b[T.w]",
                "a[q]:b[T.w]",
            ],
        );
    }

    #[test]
    fn an_interaction_written_first_leaves_its_main_effects_nothing() {
        check(
            "y ~ a:b + a + b",
            &[
                "Intercept",
                "b[T.v]",
                "b[T.w]",
                "a[T.q]:b[u]",
                "a[T.q]:b[v]",
                "a[T.q]:b[w]",
            ],
        );
    }

    #[test]
    fn scaling_brings_the_largest_value_below_one() {
        for largest in [1.0, 3.0, 1e300, 1e-300, 0.5] {
            let scaled = largest * scale_of(&[largest]);
            assert!((0.5..=1.0).contains(&scaled), "{largest} becomes {scaled}");
        }
    }
}
