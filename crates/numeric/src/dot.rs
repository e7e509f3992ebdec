/// The inner product of the numbers that both slices have, in double precision.
///
/// Eight sums side by side, then their sum, then what is left over: an order of
/// additions that is fixed here, so that results keep their bits, and that the
/// compiler can do in vector registers. One running sum it may not reorder.
#[inline]
pub fn dot<A, B>(a: &[A], b: &[B]) -> f64
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    const LANES: usize = 8;
    let (a_whole, a_rest) = a.as_chunks::<LANES>();
    let (b_whole, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_whole.iter().zip(b_whole) {
        for lane in 0..LANES {
            sums[lane] += a[lane].into() * b[lane].into();
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest: f64 = rest.map(|(&a, &b)| a.into() * b.into()).sum();
    sums.iter().sum::<f64>() + rest
}

/// The inner product as one running sum, from the first pair to the last.
///
/// For results that are recorded under this order of additions: the search for
/// optimal designs, whose ties another rounding would break otherwise, and the
/// weights of linear classifiers. New code uses [`dot`].
#[inline]
pub fn dot_in_order(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean length.
#[inline]
pub fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_every_length_and_type_agree() {
        for len in 0..40_u16 {
            let a: Vec<f64> = (0..len).map(|i| f64::from(i) - 7.0).collect();
            let b: Vec<f64> = (0..len).map(|i| f64::from(i * i % 11)).collect();
            let narrow = |values: &[f64]| values.iter().map(|x| *x as f32).collect::<Vec<_>>();
            // Small whole numbers: no order of additions rounds.
            let exact = dot_in_order(&a, &b);
            assert_eq!(dot(&a, &b), exact);
            assert_eq!(dot(&narrow(&a), &b), exact);
            assert_eq!(dot(&narrow(&a), &narrow(&b)), exact);
            assert_eq!(norm(&a), dot_in_order(&a, &a).sqrt());
        }
    }
}
