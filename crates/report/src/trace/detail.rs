//! How many points a page can afford.

/// What all time lines of a page may take together, as text.
const TRACE_BYTES: usize = 2_600_000;
/// What all learning curves of a page may take together, as text.
const CURVE_BYTES: usize = 1_000_000;
/// One point of a node's time lines: a time and the least and greatest value of
/// each resource, a third more as text.
const TRACE_POINT: usize = 67;
/// One point of a curve: step, time and value.
const CURVE_POINT: usize = 16;
/// More points than this on one line are more than screens have pixels, even
/// after zooming in a few times.
const MOST_POINTS: usize = 20_000;
/// Fewer points than this do not show the course of a run.
const LEAST_POINTS: usize = 24;

/// How many points each line may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Points of a node's time lines.
    pub trace_points: usize,
    /// Points of a learning curve.
    pub curve_points: usize,
    /// Runs whose time lines and curves the page can carry.
    pub runs: usize,
}

impl Detail {
    /// What a page affords for so many runs of so many nodes and metrics each.
    #[must_use]
    pub fn for_runs(runs: usize, nodes: usize, metrics: usize) -> Self {
        let traces = nodes.max(1);
        let affordable = TRACE_BYTES / (LEAST_POINTS * TRACE_POINT * traces);
        let runs = runs.clamp(1, affordable.max(1));
        let each = |bytes: usize, lines: usize, point: usize| {
            (bytes / (lines.max(1) * point)).clamp(LEAST_POINTS, MOST_POINTS)
        };
        Self {
            trace_points: each(TRACE_BYTES, runs * traces, TRACE_POINT),
            curve_points: each(CURVE_BYTES, runs * metrics.max(1), CURVE_POINT),
            runs,
        }
    }
}

/// The ends of `groups` that divide `count` things as evenly as can be.
pub(super) fn groups(
    count: usize,
    most: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> + Clone {
    let groups = count.min(most.max(1));
    (0..groups).map(move |i| i * count / groups..(i + 1) * count / groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_runs_get_fewer_points_each_and_never_too_few() {
        let one = Detail::for_runs(1, 1, 2);
        let thousand = Detail::for_runs(1_000, 1, 2);
        let many = Detail::for_runs(100_000, 4, 12);
        assert_eq!(one.trace_points, MOST_POINTS);
        assert!(thousand.runs == 1_000 && thousand.trace_points < 100);
        assert!(many.runs < 1_000 && many.trace_points == LEAST_POINTS);
    }

    #[test]
    fn groups_cover_everything_once() {
        for (count, most) in [(0, 5), (3, 5), (5, 5), (17, 5), (1_000, 7)] {
            let all: Vec<usize> = groups(count, most).flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            assert!(groups(count, most).count() <= most);
        }
    }
}
