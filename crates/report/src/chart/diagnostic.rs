//! Charts that show whether a model may be believed.

use super::Chart;
use super::look::Look;
use super::plot::{Mark, Panel, Plot};
use super::scale::Axis;
use crate::number::{count, significant};

/// Below this many points no trend is drawn: it would follow single points.
const TREND_FROM: usize = 40;

/// Residuals against fitted values, with the means of twenty stretches of equal
/// count as a trend. A trend or a funnel says that the model lacks something.
#[must_use]
pub fn residuals_and_fitted(response: &str, points: &[(f64, f64)]) -> Chart {
    let mut panel = Panel::new(
        Axis::linear(&format!("fitted {response}")),
        Axis::linear("residual"),
    )
    .mark(Mark::Level {
        look: Look::Ink,
        at: 0.0,
        label: String::new(),
    })
    .mark(Mark::Points {
        look: Look::Series(0),
        at: points.to_vec(),
    });
    let trend = trend(points);
    let described = if trend.len() > 1 {
        panel = panel.mark(Mark::Line {
            look: Look::Series(1),
            through: trend,
        });
        " The dashed line is the mean residual over stretches of neighbouring fitted values."
    } else {
        ""
    };
    Plot::new(
        "Residuals against fitted values",
        &format!(
            "{} residuals of {response}. An even cloud around zero supports the model; a bend \
             or a funnel does not.{described}",
            count(points.len() as u64)
        ),
    )
    .panel(panel)
    .size(480.0, 320.0)
    .draw()
}

/// Means over up to twenty stretches of equal count. Equal fitted values stay
/// together, since their order would be arbitrary.
fn trend(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() < TREND_FROM {
        return Vec::new();
    }
    let mut sorted: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let target = sorted.len().div_ceil(20);
    let mut means = Vec::new();
    let mut start = 0;
    while start < sorted.len() {
        let mut end = (start + target).min(sorted.len());
        while end < sorted.len() && sorted[end].0 == sorted[end - 1].0 {
            end += 1;
        }
        let stretch = &sorted[start..end];
        let n = stretch.len() as f64;
        means.push((
            stretch.iter().map(|p| p.0).sum::<f64>() / n,
            stretch.iter().map(|p| p.1).sum::<f64>() / n,
        ));
        start = end;
    }
    means
}

/// The straight line that normal residuals follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QqLine {
    /// Where the line is at quantile zero.
    pub intercept: f64,
    /// Its rise for each standard deviation.
    pub slope: f64,
}

/// Ordered residuals against normal quantiles, with the line they follow if they
/// are normal.
#[must_use]
pub fn quantile_quantile(points: &[(f64, f64)], line: QqLine) -> Chart {
    let panel = Panel::new(
        Axis::linear("normal quantile"),
        Axis::linear("ordered residual"),
    )
    .mark(Mark::Slope {
        look: Look::Quiet,
        intercept: line.intercept,
        slope: line.slope,
    })
    .mark(Mark::Points {
        look: Look::Series(0),
        at: points.to_vec(),
    });
    Plot::new(
        "Normal Q–Q plot of the residuals",
        &format!(
            "{} ordered residuals against the quantiles of a normal distribution. Normal \
             residuals follow the dashed line; ends that leave it are heavier or lighter tails.",
            count(points.len() as u64)
        ),
    )
    .panel(panel)
    .size(480.0, 320.0)
    .draw()
}

/// Cook's distance of each row as `(row number, distance)`, with the limit above
/// which a row deserves a look. At most five rows are named.
#[must_use]
pub fn cooks_distance(distances: &[(f64, f64)], limit: f64) -> Chart {
    let mut largest: Vec<(f64, f64)> = distances
        .iter()
        .copied()
        .filter(|(_, distance)| *distance > limit)
        .collect();
    let above = largest.len();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.truncate(5);
    let mut panel = Panel::new(
        Axis::linear("row of the table"),
        Axis::linear("Cook's distance").including(0.0),
    )
    .mark(Mark::Stems {
        look: Look::Series(0),
        at: distances.to_vec(),
    })
    .mark(Mark::Points {
        look: Look::Series(0),
        at: largest.clone(),
    })
    .mark(Mark::Level {
        look: Look::Series(1),
        at: limit,
        label: format!("limit {}", significant(limit, 2)),
    });
    for &(row, distance) in &largest {
        panel = panel.mark(Mark::Label {
            at: (row, distance),
            text: format!("row {row}"),
        });
    }
    Plot::new(
        "Cook's distance",
        &format!(
            "How far each of {} rows moves the fit. {} exceed the limit of {}.",
            count(distances.len() as u64),
            count(above as u64),
            significant(limit, 3)
        ),
    )
    .panel(panel)
    .size(480.0, 320.0)
    .draw()
}

/// Predictions against what was measured, as `(actual, predicted)`; a perfect
/// prediction lies on the dashed line.
#[must_use]
pub fn predicted_and_actual(quantity: &str, points: &[(f64, f64)]) -> Chart {
    let both = || points.iter().flat_map(|p| [p.0, p.1]);
    let (low, high) = both()
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    // The same ends on both axes, so that the diagonal is the diagonal.
    let same = |label: &str| {
        let axis = Axis::linear(label);
        if low <= high {
            axis.including(low).including(high)
        } else {
            axis
        }
    };
    let panel = Panel::new(
        same(&format!("actual {quantity}")),
        same(&format!("predicted {quantity}")),
    )
    .mark(Mark::Slope {
        look: Look::Quiet,
        intercept: 0.0,
        slope: 1.0,
    })
    .mark(Mark::Points {
        look: Look::Series(0),
        at: points.to_vec(),
    });
    Plot::new(
        &format!("Predicted and actual {quantity}"),
        &format!(
            "{} predictions against what was measured. Points on the dashed line are predicted \
             exactly; above it the prediction is too high.",
            count(points.len() as u64)
        ),
    )
    .panel(panel)
    .size(420.0, 400.0)
    .draw()
}
