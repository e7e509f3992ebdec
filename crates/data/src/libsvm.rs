//! LIBSVM's sparse text: a label, then `column:value` with ascending columns.

use crate::classes::Classes;
use crate::csr::Csr;
use crate::error::{OpenDataError, Unexpected, excerpt};
use crate::lines::{Line, Lines};
use crate::number::{number, whole};
use crate::source::Source;

/// Rows as the file numbers their columns, which may begin at zero or at one.
#[derive(Debug, Default)]
pub(crate) struct SparseRows {
    pub(crate) labels: Vec<u32>,
    indptr: Vec<u64>,
    columns: Vec<u32>,
    values: Vec<f32>,
    has_column_zero: bool,
    largest_column: Option<u32>,
}

pub(crate) fn read(source: Source<'_>, classes: &mut Classes) -> Result<SparseRows, OpenDataError> {
    let mut lines = Lines::new(source);
    let path = lines.path();
    let mut rows = SparseRows {
        indptr: vec![0],
        ..SparseRows::default()
    };
    while let Some(line) = lines.next()? {
        rows.push(line, classes)
            .map_err(|(at, what)| line.malformed(&path, at, what))?;
    }
    Ok(rows)
}

impl SparseRows {
    fn push(&mut self, line: Line<'_>, classes: &mut Classes) -> Result<(), (usize, Unexpected)> {
        let bytes = line.bytes;
        let mut at = blanks(bytes, 0);
        if matches!(bytes.get(at), None | Some(b'#')) {
            return Ok(());
        }
        let label = at..token_end(bytes, at);
        at = label.end;
        let label = &bytes[label];
        let is_number = number(label).is_some_and(|(_, length)| length == label.len());
        if !is_number {
            let start = at - label.len();
            let what = Unexpected::new("a label, which is a number", excerpt(label));
            return Err((start, what));
        }
        let class = classes
            .index(label)
            .map_err(|what| (at - label.len(), what))?;
        let row_start = self.columns.len();
        // The least column that ascends.
        let mut least = 0_u64;
        loop {
            at = blanks(bytes, at);
            if matches!(bytes.get(at), None | Some(b'#')) {
                break;
            }
            let Some((column, length)) = whole(&bytes[at..]) else {
                return Err((at, no_column(&bytes[at..token_end(bytes, at)])));
            };
            if bytes.get(at + length) != Some(&b':') {
                let found = excerpt(&bytes[at..token_end(bytes, at)]);
                return Err((at, Unexpected::new("`column:value`", found)));
            }
            if u64::from(column) < least {
                let what = Unexpected::new("columns in ascending order", format!("`{column}`"));
                return Err((at, what));
            }
            least = u64::from(column) + 1;
            at += length + 1;
            let Some((value, length)) = number(&bytes[at..]) else {
                let found = excerpt(&bytes[at..token_end(bytes, at)]);
                return Err((at, Unexpected::new("a finite number", found)));
            };
            let end = at + length;
            if !matches!(bytes.get(end), None | Some(b' ' | b'\t')) {
                let found = excerpt(&bytes[end..token_end(bytes, end)]);
                return Err((end, Unexpected::new("a space after the value", found)));
            }
            at = end;
            self.columns.push(column);
            self.values.push(value);
        }
        let row = &self.columns[row_start..];
        self.has_column_zero |= row.first() == Some(&0);
        self.largest_column = self.largest_column.max(row.last().copied());
        self.indptr.push(self.columns.len() as u64);
        self.labels.push(class);
        Ok(())
    }

    /// Whether some row has a column 0, so that columns count from zero.
    pub(crate) fn has_column_zero(&self) -> bool {
        self.has_column_zero
    }

    /// The rows as a matrix, with columns counted from zero.
    pub(crate) fn into_csr(mut self, from_zero: bool) -> (Csr, Vec<u32>) {
        let shift = u32::from(!from_zero);
        for column in &mut self.columns {
            *column -= shift;
        }
        let width = self
            .largest_column
            .map_or(0, |largest| (largest - shift) as usize + 1);
        let csr = Csr::new(self.indptr, self.columns, self.values, width)
            .expect("columns ascend and the width exceeds the largest");
        (csr, self.labels)
    }
}

fn no_column(token: &[u8]) -> Unexpected {
    let what = Unexpected::new("`column:value`", excerpt(token));
    if token.starts_with(b"qid:") {
        what.hint("ranking queries (qid) are not supported; remove them")
    } else {
        what
    }
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

fn token_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes
        .get(at)
        .is_some_and(|byte| !matches!(byte, b' ' | b'\t'))
    {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<(Csr, Vec<u32>, Vec<String>), OpenDataError> {
        let mut classes = Classes::default();
        let rows = read(Source::embedded("rows.libsvm", text), &mut classes)?;
        let from_zero = rows.has_column_zero();
        let (csr, labels) = rows.into_csr(from_zero);
        Ok((csr, labels, classes.ranked().0))
    }

    #[test]
    fn rows_comments_and_empty_rows_are_read() {
        let text = b"+1 1:0.5 3:-2 # note\n\n# only a comment\n-1\n1\t2:1e1 \n";
        let (csr, labels, names) = parse(text).unwrap();
        assert_eq!(names, ["-1", "1"]);
        assert_eq!(labels, [0, 1, 0]);
        assert_eq!(csr.width(), 3);
        assert_eq!(csr.indptr(), [0, 2, 2, 3]);
        assert_eq!(csr.row(0), (&[0, 2][..], &[0.5, -2.0][..]));
        assert_eq!(csr.row(2), (&[1][..], &[10.0][..]));
    }

    #[test]
    fn a_column_zero_makes_all_columns_count_from_zero() {
        let (csr, ..) = parse(b"1 0:1 2:1\n0 1:1\n").unwrap();
        assert_eq!((csr.indices(), csr.width()), (&[0, 2, 1][..], 3));
    }

    #[test]
    fn malformed_rows_are_named_with_their_place() {
        for (text, expected) in [
            (
                &b"x 1:2\n"[..],
                "1:1: expected a label, which is a number, found `x`",
            ),
            (b"1 1:2\n1 3\n", "2:3: expected `column:value`, found `3`"),
            (b"1 a:2", "1:3: expected `column:value`, found `a:2`"),
            (b"1 1:", "1:5: expected a finite number, found nothing"),
            (b"1 1:nan", "1:5: expected a finite number, found `nan`"),
            (
                b"1 1:2x",
                "1:6: expected a space after the value, found `x`",
            ),
            (
                b"1 2:1 2:1",
                "1:7: expected columns in ascending order, found `2`",
            ),
            (
                b"1 qid:1 2:1",
                "1:3: expected `column:value`, found `qid:1`",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.to_string(), format!("rows.libsvm:{expected}"));
        }
    }
}
