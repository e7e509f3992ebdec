//! Bars and sparklines of block characters.

const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A horizontal bar that fills `fraction` of `width` columns, to an eighth of a
/// column. Anything above zero shows at least the thinnest mark; what lies
/// outside 0 to 1 is clipped, NaN is empty.
///
/// ```
/// use paceline_report::text::bar;
/// assert_eq!(bar(0.5, 5), "██▌");
/// assert_eq!(bar(0.001, 5), "▏");
/// ```
#[must_use]
pub fn bar(fraction: f64, width: usize) -> String {
    if fraction.is_nan() || fraction <= 0.0 {
        return String::new();
    }
    let eighths = ((fraction.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// One character per value, from the lowest to the highest value given. A
/// missing value is a blank; a constant series lies at the bottom.
///
/// ```
/// use paceline_report::text::sparkline;
/// assert_eq!(sparkline(&[Some(0.0), Some(1.0), None, Some(7.0)]), "▁▂ █");
/// ```
#[must_use]
pub fn sparkline(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied().filter(|v| v.is_finite());
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    values
        .iter()
        .map(|value| match value {
            Some(v) if v.is_finite() => {
                let share = if high > low {
                    (v - low) / (high - low)
                } else {
                    0.0
                };
                HEIGHTS[((share * 8.0) as usize).min(7)]
            }
            _ => ' ',
        })
        .collect()
}

/// A series shortened to `width` values, each the mean of its stretch; a stretch
/// without any value stays without.
#[must_use]
pub fn shorten(values: &[Option<f64>], width: usize) -> Vec<Option<f64>> {
    if values.len() <= width || width == 0 {
        return values.to_vec();
    }
    (0..width)
        .map(|i| {
            let stretch = &values[i * values.len() / width..(i + 1) * values.len() / width];
            let known: Vec<f64> = stretch.iter().flatten().copied().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns;

    #[test]
    fn a_bar_never_leaves_its_width() {
        for eighth in 0..=80 {
            let fraction = f64::from(eighth) / 64.0;
            assert!(columns(&bar(fraction, 8)) <= 8);
        }
        assert_eq!(bar(f64::NAN, 8), "");
        assert_eq!(bar(-1.0, 8), "");
        assert_eq!(bar(f64::INFINITY, 3), "███");
    }

    #[test]
    fn a_gap_stays_a_gap() {
        assert_eq!(sparkline(&[Some(3.0), None, Some(3.0)]), "▁ ▁");
        assert_eq!(
            shorten(&[Some(1.0), Some(3.0), None, None], 2),
            [Some(2.0), None]
        );
    }
}
