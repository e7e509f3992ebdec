/// Rows of a data set, gathered for one step of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// What the model sees.
    pub inputs: Inputs<'a>,
    /// The class of each row, from 0.
    pub labels: &'a [u32],
}

/// The inputs of a batch, row after row.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// `rows × width` values.
    Dense {
        /// The values, row-major, without gaps.
        values: &'a [f32],
        /// Values in a row.
        width: usize,
    },
    /// Rows of which most values are zero.
    Sparse(Csr<'a>),
    /// `rows × length` indexes into a vocabulary.
    Tokens {
        /// The indexes, row-major, without gaps.
        ids: &'a [u32],
        /// Tokens in a row.
        length: usize,
    },
}

/// Compressed sparse rows.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a> {
    /// Where each row's entries start; one more than there are rows.
    pub starts: &'a [usize],
    /// The column of each entry.
    pub columns: &'a [u32],
    /// The value of each entry.
    pub values: &'a [f32],
}

impl Csr<'_> {
    /// Columns and values of row `row`.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let entries = self.starts[row]..self.starts[row + 1];
        (&self.columns[entries.clone()], &self.values[entries])
    }
}

impl Batch<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }
}
