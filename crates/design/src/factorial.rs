//! One-at-a-time, full factorial and regular two-level designs.

use crate::design::Points;
use crate::factor::{Factors, Setting};
use crate::fraction::Fraction;
use crate::request::Fence;

/// A control row of level positions, then each factor through its other levels.
pub(crate) fn one_at_a_time(factors: &Factors, control: &[u32]) -> Points {
    let mut points = Points::new(factors.len());
    let base: Vec<Setting> = control.iter().map(|level| Setting::Level(*level)).collect();
    points.push(base.iter().copied());
    for (position, factor) in factors.iter().enumerate() {
        for level in 0..factor.levels().len() as u32 {
            if level != control[position] {
                let mut row = base.clone();
                row[position] = Setting::Level(level);
                points.push(row);
            }
        }
    }
    points
}

/// How many combinations a full factorial has, `None` beyond what fits.
pub(crate) fn combinations(factors: &Factors) -> Option<usize> {
    factors.iter().try_fold(1_usize, |product, factor| {
        product.checked_mul(factor.levels().len())
    })
}

/// Every allowed combination of levels; the first factor changes fastest.
pub(crate) fn full(factors: &Factors, count: usize, fence: &Fence<'_>) -> Points {
    let mut points = Points::with_capacity(factors.len(), count);
    let mut row = vec![0_u32; factors.len()];
    let mut settings = vec![Setting::Level(0); factors.len()];
    for _ in 0..count {
        for (setting, level) in settings.iter_mut().zip(&row) {
            *setting = Setting::Level(*level);
        }
        if fence.is_open() || fence.allows(&settings) {
            points.push(settings.iter().copied());
        }
        for (level, factor) in row.iter_mut().zip(factors.iter()) {
            *level += 1;
            if (*level as usize) < factor.levels().len() {
                break;
            }
            *level = 0;
        }
    }
    points
}

/// The rows of a regular two-level design in Yates's standard order.
pub(crate) fn regular(factors: &Factors, fraction: &Fraction) -> Points {
    let ends: Vec<[Setting; 2]> = factors
        .iter()
        .map(|f| [f.end(false), f.end(true)])
        .collect();
    let runs = fraction.runs();
    let mut points = Points::with_capacity(factors.len(), runs as usize);
    for row in 0..runs {
        points.push((0..factors.len()).map(|i| ends[i][usize::from(fraction.is_high(row, i))]));
    }
    points
}
