/// A matrix in somebody's slice, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

/// A row-major matrix in somebody's slice, to be written.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix whose rows begin `stride` values apart.
    ///
    /// # Panics
    ///
    /// If rows overlap or the slice is too short.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        check(values.len(), rows, columns, stride);
        Self {
            values,
            rows,
            columns,
            row_stride: stride,
            column_stride: 1,
        }
    }

    /// The same values with rows as columns.
    pub fn transposed(self) -> Self {
        Self {
            values: self.values,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// The first `columns` columns.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn narrowed(self, columns: usize) -> Self {
        assert!(columns <= self.columns, "there are fewer columns");
        Self { columns, ..self }
    }

    /// The slice that holds the matrix.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

impl<'a> MatrixMut<'a> {
    /// A row-major matrix whose rows begin `stride` values apart.
    ///
    /// # Panics
    ///
    /// If rows overlap or the slice is too short.
    pub fn new(values: &'a mut [f32], rows: usize, columns: usize, stride: usize) -> Self {
        check(values.len(), rows, columns, stride);
        Self {
            values,
            rows,
            columns,
            stride,
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

/// Every value that the kernels reach lies inside the slice: they rely on it.
fn check(len: usize, rows: usize, columns: usize, stride: usize) {
    assert!(
        columns <= stride || rows <= 1,
        "a row's stride covers its columns"
    );
    if rows > 0 && columns > 0 {
        let last = (rows - 1)
            .checked_mul(stride)
            .and_then(|start| start.checked_add(columns));
        assert!(
            last.is_some_and(|last| last <= len),
            "a {rows} x {columns} matrix of stride {stride} does not fit into {len} values"
        );
    }
}
