//! Loops over the entries of a sparse row.
//!
//! There is one path for all machines: gather and scatter instructions were
//! measured slower than scalar loads here, because the time goes to cache
//! misses. What helps is to fetch the rows to come.

/// The dot product of a sparse row with dense weights.
///
/// # Panics
///
/// If a column lies outside the weights.
pub fn sparse_dot(columns: &[u32], values: &[f32], weights: &[f32]) -> f32 {
    // Four sums, because each addition waits for the one before it.
    let mut sums = [0.0_f32; 4];
    let (column_blocks, column_rest) = columns.as_chunks::<4>();
    let (value_blocks, value_rest) = values.as_chunks::<4>();
    for (columns, values) in column_blocks.iter().zip(value_blocks) {
        for lane in 0..4 {
            sums[lane] += weights[columns[lane] as usize] * values[lane];
        }
    }
    let mut sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (column, value) in column_rest.iter().zip(value_rest) {
        sum += weights[*column as usize] * value;
    }
    sum
}

/// Adds `factor` times a sparse row to dense weights. A column that occurs
/// twice is added twice.
///
/// # Panics
///
/// If a column lies outside the weights.
pub fn sparse_axpy(factor: f32, columns: &[u32], values: &[f32], weights: &mut [f32]) {
    for (column, value) in columns.iter().zip(values) {
        weights[*column as usize] += factor * value;
    }
}

/// Asks for the memory of `values`, without waiting for it.
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    let per_line = (64 / size_of::<T>().max(1)).max(1);
    for line in values.chunks(per_line) {
        prefetch_line(line.as_ptr());
    }
}

#[inline(always)]
fn prefetch_line<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the prefetch instruction has no safe name")]
    // SAFETY: every x86-64 machine has the instruction, and it never faults,
    // whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_product_is_that_of_the_dense_row() {
        let weights: Vec<f32> = (0..50).map(|index| (index as f32 * 0.7).sin()).collect();
        for entries in 0..20_u32 {
            let columns: Vec<u32> = (0..entries).map(|entry| entry * 2 + 1).collect();
            let values: Vec<f32> = columns.iter().map(|column| *column as f32 * 0.1).collect();
            let expected: f64 = columns
                .iter()
                .zip(&values)
                .map(|(column, value)| f64::from(weights[*column as usize]) * f64::from(*value))
                .sum();
            let dot = sparse_dot(&columns, &values, &weights);
            assert!((expected - f64::from(dot)).abs() < 1e-5);
        }
    }

    #[test]
    fn a_repeated_column_is_added_each_time() {
        let mut weights = [1.0; 4];
        sparse_axpy(0.5, &[3, 1, 3], &[2.0, 4.0, 6.0], &mut weights);
        assert_eq!(weights, [1.0, 3.0, 1.0, 5.0]);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_column_outside_the_weights_is_refused() {
        sparse_dot(&[4], &[1.0], &[0.0; 4]);
    }

    #[test]
    fn fetching_is_harmless_for_any_slice() {
        prefetch::<f32>(&[]);
        prefetch(&[1.0_f64; 100]);
    }
}
