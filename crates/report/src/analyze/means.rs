//! Mean responses at the levels of factors, for plots.

use crate::chart::{Interaction, InteractionLine, LevelMean, MainEffect};
use paceline_dist::StudentT;
use paceline_stats::analysis::Analysis;
use paceline_stats::table::{Column, ColumnData, Table};

/// A factor with more levels than this is a line, not a row of means.
const MOST_LEVELS: usize = 12;
/// A page shows so many pairs of factors, strongest first.
const MOST_PAIRS: usize = 9;

/// A factor of the model with the level of every fitted row.
pub(super) struct Factor<'a> {
    name: &'a str,
    levels: Vec<String>,
    of_point: Vec<u32>,
}

/// The factors that the model's terms name and that have few levels.
pub(super) fn factors<'a>(analysis: &Analysis, table: &'a Table) -> Vec<Factor<'a>> {
    table
        .columns()
        .iter()
        .filter(|column| {
            analysis
                .anova
                .rows
                .iter()
                .any(|row| names(&row.term).contains(&column.name()))
        })
        .filter_map(|column| factor(analysis, column))
        .collect()
}

/// The columns in a term such as `C(network):epochs`.
fn names(term: &str) -> Vec<&str> {
    term.split(':')
        .map(|part| {
            part.strip_prefix("C(")
                .and_then(|rest| rest.strip_suffix(')'))
                .map_or(part, |inner| {
                    inner.split(',').next().unwrap_or(inner).trim()
                })
        })
        .collect()
}

fn factor<'a>(analysis: &Analysis, column: &'a Column) -> Option<Factor<'a>> {
    let rows = || analysis.points.iter().map(|point| point.row as usize);
    let (levels, of_point) = match column.data() {
        ColumnData::Numeric(values) => {
            let mut levels: Vec<f64> = Vec::new();
            for row in rows() {
                if let Err(at) = levels.binary_search_by(|level| level.total_cmp(&values[row])) {
                    levels.insert(at, values[row]);
                }
                if levels.len() > MOST_LEVELS {
                    return None;
                }
            }
            let of_point = rows()
                .map(|row| {
                    let at = levels.partition_point(|level| *level < values[row]);
                    u32::try_from(at).expect("there are few levels")
                })
                .collect();
            (levels.iter().map(f64::to_string).collect(), of_point)
        }
        ColumnData::Categorical { levels, codes, .. } => {
            if levels.len() > MOST_LEVELS {
                return None;
            }
            (levels.clone(), rows().map(|row| codes[row]).collect())
        }
    };
    Some(Factor {
        name: column.name(),
        levels,
        of_point,
    })
}

/// The mean at each level, with the interval of each mean by its own spread.
pub(super) fn main_effects(
    analysis: &Analysis,
    factors: &[Factor<'_>],
    confidence: f64,
) -> Vec<MainEffect> {
    factors
        .iter()
        .map(|factor| {
            let mut sums = vec![Sums::default(); factor.levels.len()];
            for (point, &level) in analysis.points.iter().zip(&factor.of_point) {
                if let Some(sum) = sums.get_mut(level as usize) {
                    sum.add(point.observed);
                }
            }
            let levels = factor
                .levels
                .iter()
                .zip(&sums)
                .filter(|(_, s)| s.count > 0.0);
            MainEffect {
                factor: factor.name.to_owned(),
                levels: levels
                    .map(|(level, sums)| LevelMean {
                        level: level.clone(),
                        mean: sums.mean,
                        interval: sums.interval(confidence),
                    })
                    .collect(),
            }
        })
        .collect()
}

/// The pairs of factors whose interaction is in the model, strongest first.
pub(super) fn interactions(analysis: &Analysis, factors: &[Factor<'_>]) -> Vec<Interaction> {
    let mut terms: Vec<_> = analysis
        .anova
        .rows
        .iter()
        .filter(|row| row.term.matches(':').count() == 1)
        .collect();
    terms.sort_by(|a, b| b.sum_of_squares.total_cmp(&a.sum_of_squares));
    let find = |name: &str| factors.iter().find(|factor| factor.name == name);
    terms
        .iter()
        .filter_map(|row| match names(&row.term)[..] {
            [a, b] => Some(pair(analysis, find(a)?, find(b)?)),
            _ => None,
        })
        .take(MOST_PAIRS)
        .collect()
}

fn pair(analysis: &Analysis, a: &Factor<'_>, b: &Factor<'_>) -> Interaction {
    // The factor with more levels runs along the axis: fewer lines are easier
    // to tell apart.
    let (along, by) = if a.levels.len() >= b.levels.len() {
        (a, b)
    } else {
        (b, a)
    };
    let mut sums = vec![vec![Sums::default(); along.levels.len()]; by.levels.len()];
    let cells = along.of_point.iter().zip(&by.of_point);
    for (point, (&x, &line)) in analysis.points.iter().zip(cells) {
        let line = sums.get_mut(line as usize);
        if let Some(sum) = line.and_then(|line| line.get_mut(x as usize)) {
            sum.add(point.observed);
        }
    }
    Interaction {
        along: along.name.to_owned(),
        levels: along.levels.clone(),
        by: by.name.to_owned(),
        lines: by
            .levels
            .iter()
            .zip(&sums)
            .map(|(level, sums)| InteractionLine {
                level: level.clone(),
                means: sums
                    .iter()
                    .map(|s| (s.count > 0.0).then_some(s.mean))
                    .collect(),
            })
            .collect(),
    }
}

/// A running mean and sum of squared deviations (Welford, Technometrics 4,
/// 1962), which does not cancel for responses far from zero.
#[derive(Clone, Default)]
struct Sums {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let df = self.count - 1.0;
        let student = StudentT::new(df).ok()?;
        let reach = student.upper_quantile((1.0 - confidence) / 2.0);
        let half = reach * (self.squares / df / self.count).sqrt();
        Some((self.mean - half, self.mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_name_their_columns() {
        assert_eq!(names("C(network, Sum):epochs"), ["network", "epochs"]);
        assert_eq!(names("workers"), ["workers"]);
    }

    #[test]
    fn a_mean_of_one_value_has_no_interval() {
        let mut sums = Sums::default();
        sums.add(3.0);
        assert_eq!(sums.interval(0.95), None);
        sums.add(5.0);
        let (low, high) = sums.interval(0.95).expect("two values have a spread");
        // The t quantile of one degree of freedom is 12.7062.
        assert!((low + 8.7062).abs() < 1e-3 && (high - 16.7062).abs() < 1e-3);
    }
}
