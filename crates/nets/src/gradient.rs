use std::ops::Range;

use paceline_kernels::AlignedBuffer;

use crate::Layout;

/// The gradient of a shard of a batch: one flat buffer as the parameters, and
/// the table rows that the shard touched.
///
/// Rows of the table that are not listed are zero. [`Gradient::begin`] restores
/// that at the start of a step by clearing only the rows listed before, so that
/// a step on a large vocabulary costs what its words cost.
#[derive(Clone, Debug)]
pub struct Gradient {
    values: AlignedBuffer,
    dense: Range<usize>,
    stride: usize,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Gradient {
    /// A zero gradient of a model with this layout.
    pub fn new(layout: &Layout) -> Self {
        let (rows, stride) = layout
            .table()
            .map_or((0, 0), |part| (part.rows, part.stride));
        Self {
            values: AlignedBuffer::zeroed(layout.len()),
            dense: layout.dense(),
            stride,
            touched: Vec::new(),
            is_touched: vec![false; rows],
        }
    }

    /// Makes ready for a new step: no row is touched, the table is zero. The
    /// dense part keeps its old values, which a model overwrites.
    pub fn begin(&mut self) {
        let table = self.dense.end;
        for row in self.touched.drain(..) {
            let start = table + row as usize * self.stride;
            self.values[start..start + self.stride].fill(0.0);
            self.is_touched[row as usize] = false;
        }
    }

    /// The dense part, to be overwritten.
    pub fn dense_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.dense.clone()]
    }

    /// The gradient of one row of the table, to be added to; the row counts as
    /// touched from now on.
    pub fn row_mut(&mut self, row: u32) -> &mut [f32] {
        let mark = &mut self.is_touched[row as usize];
        if !*mark {
            *mark = true;
            self.touched.push(row);
        }
        let start = self.dense.end + row as usize * self.stride;
        &mut self.values[start..start + self.stride]
    }

    /// The dense part.
    pub fn dense(&self) -> &[f32] {
        &self.values[self.dense.clone()]
    }

    /// The gradient of one row of the table.
    pub fn row(&self, row: u32) -> &[f32] {
        let start = self.dense.end + row as usize * self.stride;
        &self.values[start..start + self.stride]
    }

    /// The touched rows of the table, each once, in the order of first touch.
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// The whole flat buffer.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The whole flat buffer, for a reduction or a rescaling in place. Rows
    /// that are not touched must stay zero.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_step_clears_exactly_the_rows_touched_before() {
        let mut builder = Layout::builder();
        builder.vector("bias", 4, 4);
        builder.table("words", 10, 3, 3);
        let mut gradient = Gradient::new(&builder.build());
        gradient.row_mut(7)[1] = 2.0;
        gradient.row_mut(2)[0] = 1.0;
        gradient.row_mut(7)[2] = 3.0;
        assert_eq!(gradient.touched(), [7, 2]);
        assert_eq!(gradient.row(7), [0.0, 2.0, 3.0]);
        gradient.begin();
        assert!(gradient.touched().is_empty());
        assert!(gradient.values().iter().all(|value| *value == 0.0));
    }
}
