use paceline_data::{DataSet, Features};
use paceline_kernels::{AlignedBuffer, Kernels, prefetch};
use paceline_nets::{Batch, Csr, Input, Inputs};

/// How many rows ahead a shuffled batch is fetched: about the time that memory
/// takes to answer.
const ROWS_AHEAD: usize = 6;

/// Memory into which the rows of one thread's share of a batch are gathered.
///
/// Rows of bytes are widened here, so that a data set of images stays a quarter
/// of its size and mostly in cache.
pub(crate) struct Feed {
    kernels: Kernels,
    dense: AlignedBuffer,
    ids: Vec<u32>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<u32>,
}

impl Feed {
    /// Memory for at most `rows` rows of this kind. Sparse rows have no bound
    /// of their own: that memory grows with the largest share seen.
    pub(crate) fn new(input: Input, rows: usize) -> Self {
        let (dense, ids) = match input {
            Input::Dense { width } => (rows * width, 0),
            Input::Sparse { .. } => (0, 0),
            Input::Tokens { length, .. } => (0, rows * length),
        };
        Self {
            kernels: Kernels::detect(),
            dense: AlignedBuffer::zeroed(dense),
            ids: vec![0; ids],
            starts: Vec::with_capacity(rows + 1),
            columns: Vec::new(),
            values: Vec::new(),
            labels: Vec::with_capacity(rows),
        }
    }

    /// Gathers `rows` of `data`.
    pub(crate) fn gather(
        &mut self,
        data: &DataSet,
        rows: impl Iterator<Item = u32> + Clone,
    ) -> Batch<'_> {
        let labels = data.labels();
        self.labels.clear();
        let inputs = match data.features() {
            Features::Bytes {
                values,
                width,
                scale,
            } => {
                let fetch = |row: u32| prefetch(&values[row as usize * width..][..*width]);
                rows.clone().take(ROWS_AHEAD).for_each(fetch);
                let mut upcoming = rows.clone().skip(ROWS_AHEAD);
                for (place, row) in rows.enumerate() {
                    upcoming.next().into_iter().for_each(fetch);
                    self.labels.push(labels[row as usize]);
                    let from = &values[row as usize * width..][..*width];
                    let to = &mut self.dense[place * width..][..*width];
                    self.kernels.widen(from, *scale, to);
                }
                Inputs::Dense {
                    values: &self.dense[..self.labels.len() * width],
                    width: *width,
                }
            }
            Features::Dense { values, width } => {
                let fetch = |row: u32| prefetch(&values[row as usize * width..][..*width]);
                rows.clone().take(ROWS_AHEAD).for_each(fetch);
                let mut upcoming = rows.clone().skip(ROWS_AHEAD);
                for (place, row) in rows.enumerate() {
                    upcoming.next().into_iter().for_each(fetch);
                    self.labels.push(labels[row as usize]);
                    let from = &values[row as usize * width..][..*width];
                    self.dense[place * width..][..*width].copy_from_slice(from);
                }
                Inputs::Dense {
                    values: &self.dense[..self.labels.len() * width],
                    width: *width,
                }
            }
            Features::Sparse(matrix) => {
                self.starts.clear();
                self.columns.clear();
                self.values.clear();
                self.starts.push(0);
                for row in rows {
                    self.labels.push(labels[row as usize]);
                    let (columns, values) = matrix.row(row as usize);
                    self.columns.extend_from_slice(columns);
                    self.values.extend_from_slice(values);
                    self.starts.push(self.columns.len());
                }
                Inputs::Sparse(Csr {
                    starts: &self.starts,
                    columns: &self.columns,
                    values: &self.values,
                })
            }
            Features::Tokens { ids, length, .. } => {
                for (place, row) in rows.enumerate() {
                    self.labels.push(labels[row as usize]);
                    let from = &ids[row as usize * length..][..*length];
                    self.ids[place * length..][..*length].copy_from_slice(from);
                }
                Inputs::Tokens {
                    ids: &self.ids[..self.labels.len() * length],
                    length: *length,
                }
            }
        };
        Batch {
            inputs,
            labels: &self.labels,
        }
    }
}

/// What a model must read to learn from `data`.
pub fn input_of(data: &DataSet) -> Input {
    match data.features() {
        Features::Bytes { width, .. } | Features::Dense { width, .. } => {
            Input::Dense { width: *width }
        }
        Features::Sparse(matrix) => Input::Sparse {
            width: matrix.width(),
        },
        Features::Tokens {
            length, vocabulary, ..
        } => Input::Tokens {
            length: *length,
            vocabulary: *vocabulary,
        },
    }
}
