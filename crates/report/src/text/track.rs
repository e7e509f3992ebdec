//! What was stated and what came, drawn with characters.

/// Half the width of a track, in half-widths of its interval.
const REACH: f64 = 2.0;

/// A stated interval with its prediction, a limit and what came. Each side of the
/// interval is as long as the other, so that tracks below each other can be
/// compared: `├` and `┤` are its ends, `┼` the prediction, `┃` the limit, at the edge
/// if it lies beyond, and `●` what came; an arrow is what came far outside.
///
/// ```
/// use paceline_report::text::track;
/// let drawn = track((8.0, 10.0, 12.0), Some(13.0), Some(11.0), 21);
/// assert_eq!(drawn, "     ├────┼──●─┤  ┃  ");
/// ```
#[must_use]
pub fn track(
    stated: (f64, f64, f64),
    limit: Option<f64>,
    came: Option<f64>,
    width: usize,
) -> String {
    let mut line = vec![' '; width];
    if width < 5 {
        return line.into_iter().collect();
    }
    let last = (width - 1) as f64;
    let column = |t: f64| {
        ((t + REACH) / (2.0 * REACH) * last)
            .round()
            .clamp(0.0, last) as usize
    };
    let (from, to) = (column(-1.0), column(1.0));
    line[from..=to].fill('─');
    line[from] = '├';
    line[to] = '┤';
    line[column(0.0)] = '┼';
    if let Some(limit) = limit {
        line[column(place(stated, limit))] = '┃';
    }
    if let Some(came) = came {
        let at = place(stated, came);
        line[column(at)] = match at {
            _ if at < -REACH => '◂',
            _ if at > REACH => '▸',
            _ => '●',
        };
    }
    line.into_iter().collect()
}

/// Where a value lies: 0 at the prediction, −1 and 1 at the ends of the interval.
pub(crate) fn place((low, predicted, high): (f64, f64, f64), value: f64) -> f64 {
    let off = value - predicted;
    if off == 0.0 {
        return 0.0;
    }
    let half = if off > 0.0 {
        high - predicted
    } else {
        predicted - low
    };
    off / half.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_far_outside_is_an_arrow_and_an_interval_without_width_has_a_place() {
        let drawn = |came| track((8.0, 10.0, 12.0), None, Some(came), 9);
        assert_eq!(drawn(99.0), "  ├─┼─┤ ▸");
        assert_eq!(drawn(0.0), "◂ ├─┼─┤  ");
        assert_eq!(drawn(10.0), "  ├─●─┤  ");
        assert_eq!(track((1.0, 1.0, 1.0), None, Some(1.0), 9), "  ├─●─┤  ");
        assert_eq!(track((1.0, 1.0, 1.0), None, Some(2.0), 9), "  ├─┼─┤ ▸");
        assert_eq!(track((1.0, 2.0, 3.0), None, None, 3), "   ");
    }

    #[test]
    fn the_ends_of_an_unequal_interval_are_where_its_ends_are() {
        assert_eq!(place((9.0, 10.0, 14.0), 14.0), 1.0);
        assert_eq!(place((9.0, 10.0, 14.0), 9.0), -1.0);
        assert_eq!(place((9.0, 10.0, 14.0), 12.0), 0.5);
    }
}
