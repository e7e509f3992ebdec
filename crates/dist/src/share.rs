//! What a count says about a share.

use crate::fisher_f::FisherF;

/// The interval of Clopper and Pearson (1934) for the probability behind `kept`
/// successes in `of` trials. It holds the truth with at least the probability
/// `coverage`, however few there are; without trials it says nothing.
///
/// # Panics
///
/// If more were kept than there were.
///
/// ```
/// let (low, high) = paceline_dist::clopper_pearson(9, 10, 0.95);
/// assert!((low - 0.5550).abs() < 1e-4 && (high - 0.9975).abs() < 1e-4);
/// ```
pub fn clopper_pearson(kept: u64, of: u64, coverage: f64) -> (f64, f64) {
    assert!(kept <= of, "{kept} of {of} cannot be kept");
    let tail = 0.5 * (1.0 - coverage);
    let (k, n) = (kept as f64, of as f64);
    let quantile = |df1: f64, df2: f64| FisherF::new(df1, df2).map(|f| f.upper_quantile(tail));
    let low = match quantile(2.0 * (n - k + 1.0), 2.0 * k) {
        Ok(f) => k / (k + (n - k + 1.0) * f),
        // None was kept.
        Err(_) => 0.0,
    };
    let high = match quantile(2.0 * (k + 1.0), 2.0 * (n - k)) {
        Ok(f) => (k + 1.0) * f / (n - k + (k + 1.0) * f),
        // All were kept.
        Err(_) => 1.0,
    };
    (low, high)
}
