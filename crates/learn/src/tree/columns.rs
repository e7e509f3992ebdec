//! Features column by column, with their rows in ascending order.

use crate::Features;

/// Features column by column, sorted once for all trees of an ensemble.
pub(crate) struct Columns {
    values: Vec<f64>,
    ascending: Vec<u32>,
    rows: usize,
}

impl Columns {
    pub(crate) fn new(features: &Features) -> Self {
        let rows = features.rows();
        let mut values = Vec::with_capacity(rows * features.columns());
        let mut ascending = Vec::with_capacity(rows * features.columns());
        let all = u32::try_from(rows).expect("a table has at most u32::MAX rows");
        for column in 0..features.columns() {
            let start = values.len();
            values.extend(features.column(column));
            let column = &values[start..];
            let mut order: Vec<u32> = (0..all).collect();
            // The sort is stable, so equal values stay in row order and a tree
            // does not depend on how the sort is implemented.
            order.sort_by(|&a, &b| column[a as usize].total_cmp(&column[b as usize]));
            ascending.extend(order);
        }
        Self {
            values,
            ascending,
            rows,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn count(&self) -> usize {
        self.values.len() / self.rows.max(1)
    }

    /// The values of one feature, by row.
    pub(crate) fn values(&self, column: usize) -> &[f64] {
        &self.values[column * self.rows..][..self.rows]
    }

    /// The rows in ascending order of one feature.
    pub(crate) fn ascending(&self, column: usize) -> &[u32] {
        &self.ascending[column * self.rows..][..self.rows]
    }
}
