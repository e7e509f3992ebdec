//! What a worker found out in an iteration, and the ranges of parameters that
//! servers hold.

use std::ops::Range;

use paceline_kernels::AlignedBuffer;
use paceline_nets::Layout;

/// A gradient as it travels: all of the dense part, and of the table the rows
/// that the batch touched.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The dense part.
    pub(crate) dense: AlignedBuffer,
    /// The touched rows of the table, ascending.
    pub(crate) rows: Vec<u32>,
    /// Their values, row after row.
    pub(crate) cells: Vec<f32>,
}

/// A part of an [`Update`] that concerns one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) dense: &'a [f32],
    pub(crate) rows: &'a [u32],
    pub(crate) cells: &'a [f32],
}

impl Update {
    /// Nothing, for a model with this layout.
    pub(crate) fn none(layout: &Layout) -> Self {
        Self {
            dense: AlignedBuffer::zeroed(layout.dense().len()),
            rows: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Nothing again.
    pub(crate) fn clear(&mut self) {
        self.dense.fill(0.0);
        self.rows.clear();
        self.cells.clear();
    }

    /// What concerns the server that holds `span`.
    pub(crate) fn within(&self, span: &Span) -> Part<'_> {
        let first = self.rows.partition_point(|row| *row < span.rows.start);
        let last = self.rows.partition_point(|row| *row < span.rows.end);
        Part {
            dense: &self.dense[span.dense.clone()],
            rows: &self.rows[first..last],
            cells: &self.cells[first * span.stride..last * span.stride],
        }
    }

    /// Adds another update of the same model.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, value) in self.dense.iter_mut().zip(other.dense.iter()) {
            *sum += value;
        }
        if other.rows.is_empty() {
            return;
        }
        let stride = other.cells.len() / other.rows.len();
        let (mut rows, mut cells) = (Vec::new(), Vec::new());
        let (mut mine, mut theirs) = (0, 0);
        while mine < self.rows.len() || theirs < other.rows.len() {
            let own = self.rows.get(mine).copied().unwrap_or(u32::MAX);
            let row = own.min(other.rows.get(theirs).copied().unwrap_or(u32::MAX));
            rows.push(row);
            let start = cells.len();
            cells.resize(start + stride, 0.0);
            let parts = [(&*self, &mut mine), (other, &mut theirs)];
            for (part, place) in parts {
                if part.rows.get(*place) == Some(&row) {
                    let values = &part.cells[*place * stride..][..stride];
                    for (sum, value) in cells[start..].iter_mut().zip(values) {
                        *sum += value;
                    }
                    *place += 1;
                }
            }
        }
        (self.rows, self.cells) = (rows, cells);
    }

    /// Shrinks the update to the norm `limit` if `scale` times its norm is
    /// larger.
    pub(crate) fn clip(&mut self, limit: f32, scale: f64) {
        let square: f64 = self
            .dense
            .iter()
            .chain(&self.cells)
            .map(|value| f64::from(*value) * f64::from(*value))
            .sum();
        let norm = scale * square.sqrt();
        if norm > f64::from(limit) {
            let shrink = (f64::from(limit) / norm) as f32;
            for value in self.dense.iter_mut().chain(&mut self.cells) {
                *value *= shrink;
            }
        }
    }
}

/// The range of parameters that one server holds: consecutive values of the
/// flat buffer, cut on whole registers, and within the table on whole rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its part of the dense values.
    pub(crate) dense: Range<usize>,
    /// Its rows of the table.
    pub(crate) rows: Range<u32>,
    /// Values from one row of the table to the next.
    pub(crate) stride: usize,
    /// Where the table begins in the flat buffer.
    table: usize,
    /// Where the flat buffer ends; the last rows' padding belongs to the last.
    end: usize,
}

impl Span {
    /// All parameters.
    pub(crate) fn whole(layout: &Layout) -> Self {
        let mut spans = Self::cut(layout, 1);
        spans.pop().expect("one part was asked for")
    }

    /// All parameters in `count` parts of about the same size, some of them
    /// empty if there is less to hold than servers.
    pub(crate) fn cut(layout: &Layout, count: usize) -> Vec<Self> {
        let table = layout.dense().end;
        let (rows, stride) = layout
            .table()
            .map_or((0, 1), |part| (part.rows, part.stride.max(1)));
        let place = |number: usize| {
            let flat = layout.len() * number / count;
            let dense = (flat.min(table) / AlignedBuffer::LANES) * AlignedBuffer::LANES;
            let row = if number == count {
                rows
            } else {
                (flat.saturating_sub(table) / stride).min(rows)
            };
            (if flat >= table { table } else { dense }, row)
        };
        let number = |row: usize| u32::try_from(row).expect("a table numbers its rows by 32 bits");
        (0..count)
            .map(|part| {
                let ((dense, row), (dense_end, row_end)) = (place(part), place(part + 1));
                Self {
                    dense: dense..dense_end,
                    rows: number(row)..number(row_end),
                    stride,
                    table,
                    end: if part + 1 == count { layout.len() } else { 0 },
                }
            })
            .collect()
    }

    /// The values of the flat buffer that it covers.
    pub(crate) fn flat(&self) -> Range<usize> {
        let row = |number: u32| self.table + number as usize * self.stride;
        let start = if self.dense.end < self.table || !self.dense.is_empty() {
            self.dense.start
        } else {
            row(self.rows.start)
        };
        let end = if self.dense.end < self.table {
            self.dense.end
        } else {
            row(self.rows.end)
        };
        start..end.max(self.end).max(start)
    }

    /// How many values it holds.
    pub(crate) fn len(&self) -> usize {
        self.flat().len()
    }

    /// Where a row of the table lies among the values it holds.
    pub(crate) fn row(&self, row: u32) -> Range<usize> {
        let start = self.dense.len() + (row - self.rows.start) as usize * self.stride;
        start..start + self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(table: bool) -> Layout {
        let mut builder = Layout::builder();
        builder.matrix("weight", 30, 10, 16);
        builder.vector("bias", 10, 10);
        if table {
            builder.table("words", 77, 3, 3);
        }
        builder.build()
    }

    #[test]
    fn spans_cover_every_value_once() {
        for table in [false, true] {
            let layout = layout(table);
            for count in 1..20 {
                let mut next = 0;
                let (mut dense, mut row) = (0, 0);
                for span in Span::cut(&layout, count) {
                    assert_eq!(span.flat().start, next, "{count}: {span:?}");
                    assert_eq!((span.dense.start, span.rows.start), (dense, row));
                    next = span.flat().end;
                    (dense, row) = (span.dense.end, span.rows.end);
                }
                assert_eq!(next, layout.len());
                assert_eq!(dense, layout.dense().end);
                assert_eq!(row, if table { 77 } else { 0 });
            }
        }
    }

    #[test]
    fn a_part_is_what_the_span_holds() {
        let layout = layout(true);
        let mut update = Update::none(&layout);
        update.rows = vec![2, 40, 76];
        update.cells = (0..9).map(|cell| cell as f32).collect();
        let mut found = Vec::new();
        for span in Span::cut(&layout, 3) {
            let part = update.within(&span);
            assert_eq!(part.dense.len(), span.dense.len());
            assert_eq!(part.cells.len(), 3 * part.rows.len());
            for row in part.rows {
                assert!(span.row(*row).end <= span.len());
            }
            found.extend_from_slice(part.cells);
        }
        assert_eq!(found, update.cells);
    }

    #[test]
    fn updates_are_added_row_by_row() {
        let mut sum = Update::none(&layout(true));
        let mut other = sum.clone();
        (sum.rows, sum.cells) = (vec![1, 5], vec![1.0, 1.0, 1.0, 5.0, 5.0, 5.0]);
        (other.rows, other.cells) = (vec![0, 5], vec![2.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
        (sum.dense[3], other.dense[3]) = (1.0, 2.0);
        sum.add(&other);
        assert_eq!(sum.rows, [0, 1, 5]);
        assert_eq!(sum.cells, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 8.0, 8.0, 8.0]);
        assert_eq!(sum.dense[3].to_bits(), 3.0_f32.to_bits());
    }

    #[test]
    fn an_update_is_clipped_to_the_limit() {
        let mut update = Update::none(&layout(true));
        update.dense[0] = 3.0;
        update.rows = vec![0];
        update.cells = vec![4.0, 0.0, 0.0];
        update.clip(10.0, 1.0);
        assert_eq!(update.dense[0].to_bits(), 3.0_f32.to_bits());
        update.clip(5.0, 2.0);
        assert_eq!((update.dense[0], update.cells[0]), (1.5, 2.0));
    }
}
