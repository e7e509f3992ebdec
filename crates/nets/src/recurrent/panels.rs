use paceline_kernels::{Finish, Kernels, Matrix, MatrixMut, Start};

/// A factor of many products, copied once into panels of few columns, which a
/// product reads in place. A recurrent step has few rows, so that copying the
/// weights for each step would cost a good part of the product.
pub(super) struct Panels<'a> {
    values: &'a [f32],
    depth: usize,
    columns: usize,
    width: usize,
}

/// Columns of a panel for products of `rows` rows: the kernels' register tiles
/// are 6 rows of 64 columns or 8 rows of 48, and rows that a tile leaves over
/// are slow.
fn panel_width(rows: usize) -> usize {
    if rows.is_multiple_of(8) && !rows.is_multiple_of(6) {
        48
    } else {
        64
    }
}

impl<'a> Panels<'a> {
    /// Copies a row-major matrix of `depth` rows and `columns` columns.
    /// `to` holds as many values.
    pub(super) fn of(
        matrix: &[f32],
        depth: usize,
        columns: usize,
        rows: usize,
        to: &'a mut [f32],
    ) -> Self {
        let width = panel_width(rows);
        let mut rest = &mut to[..depth * columns];
        for first in (0..columns).step_by(width) {
            let width = width.min(columns - first);
            let (panel, after) = rest.split_at_mut(depth * width);
            for (row, line) in panel.chunks_exact_mut(width).enumerate() {
                line.copy_from_slice(&matrix[row * columns + first..][..width]);
            }
            rest = after;
        }
        Self {
            values: to,
            depth,
            columns,
            width,
        }
    }

    /// Copies the transposed of a row-major matrix of `columns` rows and
    /// `depth` columns.
    pub(super) fn transposed(
        kernels: Kernels,
        matrix: &[f32],
        depth: usize,
        columns: usize,
        rows: usize,
        to: &'a mut [f32],
    ) -> Self {
        let width = panel_width(rows);
        let mut rest = &mut to[..depth * columns];
        for first in (0..columns).step_by(width) {
            let width = width.min(columns - first);
            let (panel, after) = rest.split_at_mut(depth * width);
            kernels.transpose(
                Matrix::new(&matrix[first * depth..], width, depth, depth),
                MatrixMut::new(panel, depth, width, width),
            );
            rest = after;
        }
        Self {
            values: to,
            depth,
            columns,
            width,
        }
    }

    /// `c = start + a · self` for row-major `a` and `c` of `rows` rows.
    pub(super) fn multiply(
        &self,
        kernels: Kernels,
        a: &[f32],
        rows: usize,
        c: &mut [f32],
        start: Start<'_>,
    ) {
        for first in (0..self.columns).step_by(self.width) {
            let width = self.width.min(self.columns - first);
            let panel = &self.values[first * self.depth..][..width * self.depth];
            kernels.gemm(
                Matrix::new(a, rows, self.depth, self.depth),
                Matrix::new(panel, self.depth, width, width),
                MatrixMut::new(&mut c[first..], rows, width, self.columns),
                start,
                Finish::Plain,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_multiply_as_the_whole_matrix_does() {
        let (depth, columns) = (5, 130);
        let kernels = Kernels::detect();
        let matrix: Vec<f32> = (0..depth * columns)
            .map(|i| (i as f32 * 0.3).sin())
            .collect();
        let mut turned = vec![0.0; depth * columns];
        for row in 0..depth {
            for column in 0..columns {
                turned[column * depth + row] = matrix[row * columns + column];
            }
        }
        for rows in [1, 7, 8] {
            let a: Vec<f32> = (0..rows * depth).map(|i| (i as f32 * 0.7).cos()).collect();
            let mut expected = vec![0.5; rows * columns];
            kernels.gemm(
                Matrix::new(&a, rows, depth, depth),
                Matrix::new(&matrix, depth, columns, columns),
                MatrixMut::new(&mut expected, rows, columns, columns),
                Start::Keep,
                Finish::Plain,
            );
            let mut memory = vec![f32::NAN; depth * columns];
            let mut found = vec![0.5; rows * columns];
            Panels::of(&matrix, depth, columns, rows, &mut memory).multiply(
                kernels,
                &a,
                rows,
                &mut found,
                Start::Keep,
            );
            assert_eq!(found, expected);
            memory.fill(f32::NAN);
            let mut found = vec![0.5; rows * columns];
            Panels::transposed(kernels, &turned, depth, columns, rows, &mut memory).multiply(
                kernels,
                &a,
                rows,
                &mut found,
                Start::Keep,
            );
            assert_eq!(found, expected);
        }
    }
}
