//! Intervals drawn with characters.

/// An estimate with its interval on an axis from `axis.0` to `axis.1`, `width`
/// columns long, with zero marked where the axis holds it. An end beyond the
/// axis is an arrow; an estimate that does not exist is blank.
///
/// ```
/// use paceline_report::text::interval;
/// assert_eq!(interval((1.0, 2.0, 3.0), (-2.0, 4.0), 13), "    │ ├─●─┤  ");
/// ```
#[must_use]
pub fn interval((low, estimate, high): (f64, f64, f64), axis: (f64, f64), width: usize) -> String {
    let span = axis.1 - axis.0;
    let mut line = vec![' '; width];
    if width < 2 || span.is_nan() || span <= 0.0 {
        return line.into_iter().collect();
    }
    let last = (width - 1) as f64;
    let column = |value: f64| ((value - axis.0) / span * last).round();
    let inside = |value: f64| (axis.0..=axis.1).contains(&value);
    if inside(0.0) {
        line[column(0.0) as usize] = '│';
    }
    if low.is_finite() && high.is_finite() {
        let from = column(low).clamp(0.0, last) as usize;
        let to = column(high).clamp(0.0, last) as usize;
        line[from..=to].fill('─');
        line[from] = if inside(low) { '├' } else { '◂' };
        line[to] = if inside(high) { '┤' } else { '▸' };
    }
    if inside(estimate) {
        line[column(estimate) as usize] = '●';
    }
    line.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_the_axis_is_an_arrow() {
        assert_eq!(interval((-9.0, 1.0, 9.0), (0.0, 2.0), 5), "◂─●─▸");
    }

    #[test]
    fn what_does_not_exist_is_blank() {
        assert_eq!(
            interval((f64::NAN, f64::NAN, f64::NAN), (1.0, 2.0), 3),
            "   "
        );
        assert_eq!(interval((1.0, 1.0, 1.0), (1.0, 1.0), 3), "   ");
    }
}
