//! Products of rows with weights, for dense and sparse rows.

use crate::{DenseRows, Rows, SparseRows};
use paceline_numeric::dot;

/// Rows as the solvers use them.
pub(super) trait Matrix: Sync {
    fn rows(&self) -> usize;
    /// The inner product of a row with weights.
    fn dot(&self, row: usize, weights: &[f64]) -> f64;
    /// Adds a multiple of a row to weights.
    fn add_to(&self, row: usize, factor: f64, weights: &mut [f64]);
    /// Adds a multiple of the squares of a row.
    fn add_squares_to(&self, row: usize, factor: f64, sums: &mut [f64]);
}

impl Matrix for DenseRows<'_> {
    fn rows(&self) -> usize {
        DenseRows::rows(self)
    }

    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        let values = self.row(row);
        dot(values, &weights[..values.len()])
    }

    fn add_to(&self, row: usize, factor: f64, weights: &mut [f64]) {
        for (weight, &value) in weights.iter_mut().zip(self.row(row)) {
            *weight += factor * f64::from(value);
        }
    }

    fn add_squares_to(&self, row: usize, factor: f64, sums: &mut [f64]) {
        for (sum, &value) in sums.iter_mut().zip(self.row(row)) {
            *sum += factor * f64::from(value) * f64::from(value);
        }
    }
}

impl Matrix for SparseRows<'_> {
    fn rows(&self) -> usize {
        SparseRows::rows(self)
    }

    fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        let (places, values) = self.row(row);
        let mut sums = [0.0; 4];
        let (place_fours, place_rest) = places.as_chunks::<4>();
        let (value_fours, value_rest) = values.as_chunks::<4>();
        for (places, values) in place_fours.iter().zip(value_fours) {
            for lane in 0..4 {
                sums[lane] += f64::from(values[lane]) * weights[places[lane] as usize];
            }
        }
        let rest = place_rest.iter().zip(value_rest);
        let rest: f64 = rest
            .map(|(&place, &value)| f64::from(value) * weights[place as usize])
            .sum();
        sums.iter().sum::<f64>() + rest
    }

    fn add_to(&self, row: usize, factor: f64, weights: &mut [f64]) {
        let (places, values) = self.row(row);
        for (&place, &value) in places.iter().zip(values) {
            weights[place as usize] += factor * f64::from(value);
        }
    }

    fn add_squares_to(&self, row: usize, factor: f64, sums: &mut [f64]) {
        let (places, values) = self.row(row);
        for (&place, &value) in places.iter().zip(values) {
            sums[place as usize] += factor * f64::from(value) * f64::from(value);
        }
    }
}

/// Dense rows that are mostly zeros, compressed.
pub(super) struct Compressed {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f32>,
    columns: usize,
}

/// A sparse value costs about as much time as three dense ones, which are loaded
/// and multiplied several at a time.
const SPARSE_COST: usize = 3;

impl Compressed {
    /// `None` if the rows are sparse already or hold too few zeros to gain.
    pub(super) fn of(rows: Rows<'_>) -> Option<Self> {
        let Rows::Dense(dense) = rows else {
            return None;
        };
        let flat = dense.as_flat();
        let stored = flat.iter().filter(|&&value| value != 0.0).count();
        if stored * SPARSE_COST > flat.len() {
            return None;
        }
        let mut compressed = Self {
            starts: vec![0],
            places: Vec::with_capacity(stored),
            values: Vec::with_capacity(stored),
            columns: dense.columns(),
        };
        for row in 0..dense.rows() {
            for (&value, place) in dense.row(row).iter().zip(0..) {
                if value != 0.0 {
                    compressed.places.push(place);
                    compressed.values.push(value);
                }
            }
            compressed.starts.push(compressed.values.len());
        }
        Some(compressed)
    }

    pub(super) fn rows(&self) -> SparseRows<'_> {
        SparseRows::new(&self.starts, &self.places, &self.values, self.columns)
            .expect("compressed from checked rows")
    }
}

/// A binary problem: rows, their labels ±1, and the constant feature.
pub(super) struct Problem<'a, M> {
    pub(super) matrix: &'a M,
    pub(super) labels: Vec<f64>,
    /// The value of the constant feature, whose weight is the last; zero if there
    /// is none.
    pub(super) bias: f64,
    pub(super) columns: usize,
}

impl<M: Matrix> Problem<'_, M> {
    pub(super) fn rows(&self) -> usize {
        self.labels.len()
    }

    /// How many weights there are, the constant's included.
    pub(super) fn weights(&self) -> usize {
        self.columns + 1
    }

    pub(super) fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        self.matrix.dot(row, weights) + self.bias * weights[self.columns]
    }

    pub(super) fn add_to(&self, row: usize, factor: f64, weights: &mut [f64]) {
        self.matrix.add_to(row, factor, weights);
        weights[self.columns] += factor * self.bias;
    }

    pub(super) fn add_squares_to(&self, row: usize, factor: f64, sums: &mut [f64]) {
        self.matrix.add_squares_to(row, factor, sums);
        sums[self.columns] += factor * self.bias * self.bias;
    }
}

impl<M: Matrix> Problem<'_, M> {
    /// The squared length of each row, the constant feature included.
    pub(super) fn row_squares(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.weights()];
        let square = |row| {
            self.add_to(row, 1.0, &mut weights);
            let square = self.dot(row, &weights);
            self.add_to(row, -1.0, &mut weights);
            square
        };
        (0..self.rows()).map(square).collect()
    }
}

/// A solved binary problem.
pub(super) struct Solved {
    /// One weight per feature and that of the constant feature.
    pub(super) weights: Vec<f64>,
    pub(super) converged: bool,
}
