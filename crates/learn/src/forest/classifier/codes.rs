//! Features as small whole numbers.

use super::Splits;
use crate::{Rows, Threads};

/// Every feature as the number of the bin that its value lies in, column after
/// column. Bins are in order of value, so a cut between bins is a cut between
/// values.
pub(super) struct Codes {
    pub(super) table: Table,
    /// A narrow table once more, row after row; empty beside a wide one.
    pub(super) by_row: Vec<u8>,
    pub(super) bins: Vec<Bins>,
    pub(super) rows: usize,
}

/// As narrow as the bins allow: the narrower, the more rows share a cache line.
pub(super) enum Table {
    Narrow(Vec<u8>),
    Wide(Vec<u32>),
}

/// The bins of one feature: the least and the largest value in each.
#[derive(Debug, PartialEq)]
pub(super) struct Bins {
    least: Vec<f32>,
    largest: Vec<f32>,
}

/// The number of a bin.
pub(super) trait Code: Copy + Ord + Default + Send + Sync {
    fn new(bin: usize) -> Self;
    fn index(self) -> usize;
}

impl Code for u8 {
    fn new(bin: usize) -> Self {
        bin as Self
    }
    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self)
    }
}

impl Code for u32 {
    fn new(bin: usize) -> Self {
        bin as Self
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// Columns that are read from the rows together: one cache line of values.
const TOGETHER: usize = 16;
const NARROW_BINS: usize = 256;

impl Codes {
    pub(super) fn new(rows: Rows<'_>, splits: Splits, threads: Threads) -> Self {
        let columns = rows.columns();
        let source = Source::new(rows);
        let groups = columns.div_ceil(TOGETHER);
        let bins: Vec<Bins> = threads
            .map(groups, |group| {
                let values = source.columns(group * TOGETHER, TOGETHER);
                let each = values.chunks_exact(rows.rows().max(1));
                each.map(|values| Bins::of(values, splits)).collect()
            })
            .into_iter()
            .flat_map(|bins: Vec<Bins>| bins)
            .collect();
        let narrow = bins.iter().all(|bins| bins.least.len() <= NARROW_BINS);
        let table = if narrow {
            Table::Narrow(encode(&source, &bins, rows.rows(), threads))
        } else {
            Table::Wide(encode(&source, &bins, rows.rows(), threads))
        };
        let by_row = match &table {
            Table::Narrow(table) => row_after_row(table, columns, rows.rows(), threads),
            Table::Wide(_) => Vec::new(),
        };
        Self {
            table,
            by_row,
            bins,
            rows: rows.rows(),
        }
    }
}

/// The same table, row after row instead of column after column.
fn row_after_row(table: &[u8], columns: usize, rows: usize, threads: Threads) -> Vec<u8> {
    /// A block of so many rows and columns stays in the nearest cache.
    const BLOCK: usize = 64;
    let parts = threads.map(rows.div_ceil(BLOCK), |block| {
        let start = block * BLOCK;
        let count = BLOCK.min(rows - start);
        let mut lines = vec![0; count * columns];
        for column in 0..columns {
            let codes = &table[column * rows + start..][..count];
            for (line, &code) in lines.chunks_exact_mut(columns).zip(codes) {
                line[column] = code;
            }
        }
        lines
    });
    parts.concat()
}

fn encode<C: Code>(source: &Source<'_>, bins: &[Bins], rows: usize, threads: Threads) -> Vec<C> {
    let groups: Vec<&[Bins]> = bins.chunks(TOGETHER).collect();
    let parts = threads.map(groups.len(), |group| {
        let values = source.columns(group * TOGETHER, TOGETHER);
        let columns = values.chunks_exact(rows.max(1)).zip(groups[group]);
        let mut codes = Vec::with_capacity(values.len());
        for (values, bins) in columns {
            bins.encode(values, &mut codes);
        }
        codes
    });
    parts.concat()
}

/// Where the values of columns come from.
enum Source<'a> {
    Dense(crate::DenseRows<'a>),
    /// The values other than zero by column: where a column begins, and the row
    /// and value of each.
    Sparse {
        starts: Vec<usize>,
        entries: Vec<(u32, f32)>,
        rows: usize,
    },
}

impl<'a> Source<'a> {
    fn new(rows: Rows<'a>) -> Self {
        let sparse = match rows {
            Rows::Dense(rows) => return Self::Dense(rows),
            Rows::Sparse(rows) => rows,
        };
        let mut starts = vec![0; sparse.columns() + 1];
        for row in 0..sparse.rows() {
            for &place in sparse.row(row).0 {
                starts[place as usize + 1] += 1;
            }
        }
        for column in 0..sparse.columns() {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0.0); sparse.stored()];
        for row in 0..sparse.rows() {
            let (places, values) = sparse.row(row);
            for (&place, &value) in places.iter().zip(values) {
                entries[next[place as usize]] = (row as u32, value);
                next[place as usize] += 1;
            }
        }
        Self::Sparse {
            starts,
            entries,
            rows: sparse.rows(),
        }
    }

    /// Some columns one after another, fewer at the end. Negative zero is zero.
    fn columns(&self, first: usize, count: usize) -> Vec<f32> {
        match self {
            Self::Dense(dense) => {
                let count = count.min(dense.columns() - first);
                let rows = dense.rows();
                let mut values = vec![0.0; count * rows];
                for row in 0..rows {
                    let cells = &dense.row(row)[first..first + count];
                    for (column, &cell) in cells.iter().enumerate() {
                        values[column * rows + row] = cell + 0.0;
                    }
                }
                values
            }
            Self::Sparse {
                starts,
                entries,
                rows,
            } => {
                let count = count.min(starts.len() - 1 - first);
                let mut values = vec![0.0; count * rows];
                for column in 0..count {
                    let range = starts[first + column]..starts[first + column + 1];
                    for &(row, value) in &entries[range] {
                        values[column * rows + row as usize] = value + 0.0;
                    }
                }
                values
            }
        }
    }
}

impl Bins {
    fn of(values: &[f32], splits: Splits) -> Self {
        if let Some(distinct) = few_distinct(values) {
            return Self::join(&distinct, &[], splits);
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let mut distinct = Vec::new();
        let mut counts = Vec::new();
        for run in sorted.chunk_by(|a, b| a == b) {
            distinct.push(run[0]);
            counts.push(run.len());
        }
        Self::join(&distinct, &counts, splits)
    }

    /// One bin per distinct value if so many are allowed, else bins of about
    /// equally many rows.
    fn join(distinct: &[f32], counts: &[usize], splits: Splits) -> Self {
        let most = match splits {
            Splits::Exact => distinct.len(),
            Splits::Histogram { bins } => bins,
        };
        if distinct.len() <= most {
            return Self {
                least: distinct.to_vec(),
                largest: distinct.to_vec(),
            };
        }
        let even = vec![1; distinct.len()];
        let counts = if counts.is_empty() { &even } else { counts };
        let mut left_rows: usize = counts.iter().sum();
        let mut bins = Self {
            least: Vec::with_capacity(most),
            largest: Vec::with_capacity(most),
        };
        let mut at = 0;
        while at < distinct.len() {
            let left_bins = most - bins.least.len();
            let share = left_rows.div_ceil(left_bins);
            let start = at;
            let mut rows = 0;
            while at < distinct.len() && (rows == 0 || rows + counts[at] / 2 < share) {
                rows += counts[at];
                at += 1;
            }
            if left_bins == 1 {
                at = distinct.len();
            }
            bins.least.push(distinct[start]);
            bins.largest.push(distinct[at - 1]);
            left_rows = left_rows.saturating_sub(rows);
        }
        bins
    }

    fn encode<C: Code>(&self, values: &[f32], codes: &mut Vec<C>) {
        let mut last = (f32::NAN, C::default());
        codes.extend(values.iter().map(|&value| {
            if value != last.0 {
                let bin = self.largest.partition_point(|&largest| largest < value);
                last = (value, C::new(bin));
            }
            last.1
        }));
    }

    /// A threshold `t` with `below ≤ t < above` for every value of both bins, as
    /// near to the middle as the precision allows.
    pub(super) fn threshold(&self, below: usize, above: usize) -> f32 {
        let (low, high) = (self.largest[below], self.least[above]);
        let middle = (0.5 * (f64::from(low) + f64::from(high))) as f32;
        if middle < high { middle } else { low }
    }
}

/// The distinct values in order, if there are at most as many as narrow codes.
fn few_distinct(values: &[f32]) -> Option<Vec<f32>> {
    let mut distinct: Vec<f32> = Vec::new();
    let mut last = f32::NAN;
    for &value in values {
        if value == last {
            continue;
        }
        last = value;
        let place = distinct.partition_point(|&known| known < value);
        if distinct.get(place) != Some(&value) {
            if distinct.len() == NARROW_BINS {
                return None;
            }
            distinct.insert(place, value);
        }
    }
    Some(distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_bin_each_and_many_share_bins_of_equal_size() {
        let few: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
        let bins = Bins::of(&few, Splits::Histogram { bins: 256 });
        assert_eq!(bins.least, (0..7).map(|i| i as f32).collect::<Vec<_>>());
        assert_eq!(bins.least, bins.largest);

        let many: Vec<f32> = (0..10_000).map(|i| (i * 7919 % 10_000) as f32).collect();
        let bins = Bins::of(&many, Splits::Histogram { bins: 64 });
        assert_eq!(bins.least.len(), 64);
        assert_eq!((bins.least[0], bins.largest[63]), (0.0, 9999.0));
        let mut codes: Vec<u8> = Vec::new();
        bins.encode(&many, &mut codes);
        let mut sizes = [0; 64];
        for (&code, &value) in codes.iter().zip(&many) {
            let code = usize::from(code);
            assert!((bins.least[code]..=bins.largest[code]).contains(&value));
            sizes[code] += 1;
        }
        assert!(
            sizes.iter().all(|size| (150..=163).contains(size)),
            "{sizes:?}"
        );
        assert_eq!(Bins::of(&many, Splits::Exact).least.len(), 10_000);
    }

    #[test]
    fn one_frequent_value_leaves_bins_for_the_others() {
        let values: Vec<f32> = (0..4000)
            .map(|i| if i % 4 == 0 { i as f32 } else { 0.0 })
            .collect();
        let bins = Bins::of(&values, Splits::Histogram { bins: 16 });
        assert_eq!((bins.least[0], bins.largest[0]), (0.0, 0.0));
        assert_eq!(bins.least.len(), 16);
    }

    #[test]
    fn a_threshold_separates_neighbours_that_have_no_middle() {
        let next = 1.0_f32.next_up();
        let bins = Bins::of(&[1.0, next], Splits::Exact);
        assert_eq!(bins.threshold(0, 1), 1.0);
    }
}
