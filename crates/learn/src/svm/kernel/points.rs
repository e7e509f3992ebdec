//! The rows that kernels compare, laid out for speed.

use super::products::KernelBlock;
use super::{SupportVectors, SvmKernel};
use crate::Rows;
use paceline_kernels::Kernels;

/// Owned rows, dense or sparse as they came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Points {
    Dense(DensePoints),
    Sparse(SparsePoints),
}

/// Dense rows whose length is filled up with zeros to whole vectors.
#[derive(Debug, Clone)]
pub(super) struct DensePoints {
    /// The rows begin at `start`, where an address is a multiple of a cache line.
    values: Vec<f32>,
    start: usize,
    stride: usize,
    columns: usize,
    squares: Vec<f32>,
}

/// Sparse rows in compressed form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SparsePoints {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f32>,
    columns: usize,
    squares: Vec<f32>,
}

/// The longest vector of any instruction set, in numbers; also a cache line.
const LANES: usize = 16;

impl PartialEq for DensePoints {
    /// Where the rows begin is not part of what they are.
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns && self.flat().eq(other.flat())
    }
}

impl DensePoints {
    pub(super) fn from_flat(flat: impl Iterator<Item = f32>, rows: usize, columns: usize) -> Self {
        let stride = columns.next_multiple_of(LANES);
        let mut values = vec![0.0; rows * stride + LANES];
        let start = values
            .as_ptr()
            .align_offset(LANES * size_of::<f32>())
            .min(LANES);
        let mut flat = flat;
        for row in values[start..].chunks_exact_mut(stride).take(rows) {
            for value in &mut row[..columns] {
                *value = flat.next().expect("the caller counted rows and columns");
            }
        }
        let mut points = Self {
            values,
            start,
            stride,
            columns,
            squares: Vec::new(),
        };
        points.squares = (0..rows as u32)
            .map(|row| sum_of_squares(points.row(row)))
            .collect();
        points
    }

    /// One row with the zeros that fill it up.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> &[f32] {
        &self.values[self.start + row as usize * self.stride..][..self.stride]
    }

    #[inline(always)]
    pub(super) fn square(&self, row: u32) -> f32 {
        self.squares[row as usize]
    }

    fn flat(&self) -> impl Iterator<Item = &f32> {
        let rows = 0..self.squares.len() as u32;
        rows.flat_map(|row| &self.row(row)[..self.columns])
    }
}

impl SparsePoints {
    pub(super) fn new(
        starts: Vec<usize>,
        places: Vec<u32>,
        values: Vec<f32>,
        columns: usize,
    ) -> Self {
        let squares = starts
            .windows(2)
            .map(|range| sum_of_squares(&values[range[0]..range[1]]))
            .collect();
        Self {
            starts,
            places,
            values,
            columns,
            squares,
        }
    }

    fn row(&self, row: u32) -> (&[u32], &[f32]) {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// One row is spread out, and the others look up what they share with it.
    /// Products are added up by ascending column, so that they are the same
    /// whichever of two rows is spread out.
    fn kernel_block(
        &self,
        kernel: SvmKernel,
        rows: &[u32],
        right: &Self,
        right_rows: &[u32],
        out: &mut [f32],
    ) {
        let mut spread = vec![0.0_f32; self.columns];
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(right_rows.len())) {
            let (places, values) = self.row(row);
            for (&place, &value) in places.iter().zip(values) {
                spread[place as usize] = value;
            }
            for (&other, out) in right_rows.iter().zip(&mut *out) {
                let (places, values) = right.row(other);
                let products = places.iter().zip(values);
                let sum: f64 = products
                    .map(|(&place, &value)| f64::from(value) * f64::from(spread[place as usize]))
                    .sum();
                *out = sum as f32;
            }
            for &place in places {
                spread[place as usize] = 0.0;
            }
            let squares = right_rows.iter().map(|&row| right.squares[row as usize]);
            kernel.apply(out, self.squares[row as usize], squares);
        }
    }
}

fn sum_of_squares(values: &[f32]) -> f32 {
    let sum: f64 = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    sum as f32
}

impl Points {
    /// The named rows in the named order.
    pub(super) fn select(rows: Rows<'_>, chosen: &[u32]) -> Self {
        match rows {
            Rows::Dense(rows) => {
                let flat = chosen.iter().flat_map(|&row| rows.row(row as usize));
                let flat = flat.copied();
                Self::Dense(DensePoints::from_flat(flat, chosen.len(), rows.columns()))
            }
            Rows::Sparse(rows) => {
                let mut starts = vec![0];
                let mut places = Vec::new();
                let mut values = Vec::new();
                for &row in chosen {
                    let (at, found) = rows.row(row as usize);
                    places.extend(at);
                    values.extend(found);
                    starts.push(values.len());
                }
                Self::Sparse(SparsePoints::new(starts, places, values, rows.columns()))
            }
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.squares().len()
    }

    pub(super) fn columns(&self) -> usize {
        match self {
            Self::Dense(points) => points.columns,
            Self::Sparse(points) => points.columns,
        }
    }

    /// Kernel values of some rows with some rows of other points, which are of
    /// the same kind, row after row.
    pub(super) fn kernel_block(
        &self,
        kernel: SvmKernel,
        rows: &[u32],
        right: &Self,
        right_rows: &[u32],
        out: &mut [f32],
    ) {
        if rows.is_empty() || right_rows.is_empty() {
            return;
        }
        match (self, right) {
            (Self::Dense(left), Self::Dense(right)) => KernelBlock {
                kernel,
                left,
                left_rows: rows,
                right,
                right_rows,
                out,
            }
            .compute(Kernels::detect()),
            (Self::Sparse(left), Self::Sparse(right)) => {
                left.kernel_block(kernel, rows, right, right_rows, out);
            }
            _ => unreachable!("a machine converts rows to the kind of its support vectors"),
        }
    }

    /// The kernel value of each row with itself.
    pub(super) fn kernel_diagonal(&self, kernel: SvmKernel) -> Vec<f32> {
        let of = |&square: &f32| {
            let mut value = [square];
            kernel.apply(&mut value, square, std::iter::once(square));
            value[0]
        };
        self.squares().iter().map(of).collect()
    }

    /// All rows.
    pub(super) fn all(rows: Rows<'_>) -> Self {
        let all: Vec<u32> = (0..rows.rows() as u32).collect();
        Self::select(rows, &all)
    }

    /// The named rows, dense or sparse as these points are.
    pub(super) fn like(&self, rows: Rows<'_>, chosen: &[u32]) -> Self {
        match (self, rows) {
            (Self::Dense(_), Rows::Sparse(sparse)) => {
                let columns = sparse.columns();
                let mut flat = vec![0.0; chosen.len() * columns];
                for (&row, line) in chosen.iter().zip(flat.chunks_exact_mut(columns)) {
                    let (places, values) = sparse.row(row as usize);
                    for (&place, &value) in places.iter().zip(values) {
                        line[place as usize] = value;
                    }
                }
                Self::Dense(DensePoints::from_flat(
                    flat.into_iter(),
                    chosen.len(),
                    columns,
                ))
            }
            (Self::Sparse(_), Rows::Dense(dense)) => {
                let mut starts = vec![0];
                let mut places = Vec::new();
                let mut values = Vec::new();
                for &row in chosen {
                    for (&value, place) in dense.row(row as usize).iter().zip(0..) {
                        if value != 0.0 {
                            places.push(place);
                            values.push(value);
                        }
                    }
                    starts.push(values.len());
                }
                Self::Sparse(SparsePoints::new(starts, places, values, dense.columns()))
            }
            _ => Self::select(rows, chosen),
        }
    }

    /// Whether distances can be computed without overflow.
    pub(super) fn has_moderate_squares(&self) -> bool {
        self.squares().iter().all(|&square| square < f32::MAX / 8.0)
    }

    fn squares(&self) -> &[f32] {
        match self {
            Self::Dense(points) => &points.squares,
            Self::Sparse(points) => &points.squares,
        }
    }

    /// The rows as plain numbers.
    pub(super) fn to_stored(&self) -> SupportVectors {
        match self {
            Self::Dense(points) => SupportVectors::Dense(points.flat().copied().collect()),
            Self::Sparse(points) => SupportVectors::Sparse {
                starts: points.starts.iter().map(|&start| start as u64).collect(),
                places: points.places.clone(),
                values: points.values.clone(),
            },
        }
    }
}
