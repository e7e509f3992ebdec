/// A symmetric matrix, stored in full, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricMatrix {
    size: usize,
    entries: Vec<f64>,
}

impl SymmetricMatrix {
    /// All zeros.
    pub fn zeros(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
        }
    }

    /// The matrix with these entries `(i, j)`, of which those with `j <= i` are
    /// asked for, row after row.
    pub fn from_lower(size: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(size);
        for i in 0..size {
            for j in 0..=i {
                matrix.set(i, j, entry(i, j));
            }
        }
        matrix
    }

    /// How many rows there are, and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// One entry.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.size + j]
    }

    /// One row, which is also a column.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.size..][..self.size]
    }

    /// Sets an entry and its mirror image.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * self.size + j] = value;
        self.entries[j * self.size + i] = value;
    }

    /// The same matrix with this value along its diagonal.
    pub fn with_diagonal(&self, value: f64) -> Self {
        let mut changed = self.clone();
        for entry in changed.entries.iter_mut().step_by(self.size + 1) {
            *entry = value;
        }
        changed
    }

    /// Adds a number to every entry of the diagonal.
    pub fn add_to_diagonal(&mut self, value: f64) {
        for entry in self.entries.iter_mut().step_by(self.size + 1) {
            *entry += value;
        }
    }

    /// Adds `weight` times the outer product of a vector with itself.
    ///
    /// # Panics
    ///
    /// If the vector is not as long as the matrix is wide.
    pub fn add_outer_product(&mut self, vector: &[f64], weight: f64) {
        assert_eq!(vector.len(), self.size, "a number for every column");
        for (i, x) in vector.iter().enumerate() {
            if *x == 0.0 {
                continue;
            }
            let row = &mut self.entries[i * self.size..(i + 1) * self.size];
            for (entry, y) in row.iter_mut().zip(vector) {
                *entry += weight * x * y;
            }
        }
    }

    /// The entries, row after row.
    pub(crate) fn into_entries(self) -> Vec<f64> {
        self.entries
    }
}
