//! Medians and quantiles.

/// The median: the middle value, or the mean of the two middle ones.
///
/// Reorders the values. The caller has at least one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp);
    midpoint(
        lower.expect("an even count above zero has a lower half"),
        upper,
    )
}

/// The smallest value that at least the fraction `q` of the values do not
/// exceed: the inverse of the empirical distribution function.
///
/// Reorders the values. The caller has at least one.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> f64 {
    let rank = (q * values.len() as f64).ceil() as usize;
    let index = rank.clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// The median of values that are sorted and stand for `weight` copies each.
pub(crate) fn sorted_weighted_median(values: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let half = 0.5 * values.clone().map(|(_, weight)| weight).sum::<f64>();
    let mut cumulated = 0.0;
    let mut at_half = None;
    let mut last = 0.0;
    for (value, weight) in values {
        if let Some(lower) = at_half {
            return midpoint(lower, value);
        }
        cumulated += weight;
        last = value;
        if cumulated > half {
            return value;
        }
        if cumulated == half {
            at_half = Some(value);
        }
    }
    last
}

/// The mean of two numbers, without overflow.
pub(crate) fn midpoint(a: f64, b: f64) -> f64 {
    0.5 * a + 0.5 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
    }

    #[test]
    fn a_weight_counts_as_copies() {
        let weighted = [(1.0, 2.0), (2.0, 1.0), (5.0, 1.0)];
        assert_eq!(sorted_weighted_median(weighted.into_iter()), 1.5);
        let weighted = [(1.0, 1.0), (2.0, 1.0), (5.0, 3.0)];
        assert_eq!(sorted_weighted_median(weighted.into_iter()), 5.0);
    }

    #[test]
    fn quantiles_are_observed_values() {
        let mut values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&mut values, 0.0), 1.0);
        assert_eq!(quantile(&mut values, 0.2), 1.0);
        assert_eq!(quantile(&mut values, 0.21), 2.0);
        assert_eq!(quantile(&mut values, 1.0), 5.0);
    }
}
