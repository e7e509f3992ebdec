//! Means of the response at the levels of factors, adjusted for the other terms.

use super::scale::Scale;
use crate::cells::Cells;
use crate::formula::{Coding, ModelFrame, VariableData};
use crate::marginal::{Margins, Setting};

/// Adjusted means by the values of one factor or of two.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustedMeans {
    /// The factors, in people's words.
    pub factors: Vec<String>,
    /// The means, the first factor varying slowest.
    pub cells: Vec<AdjustedMean>,
}

/// The response at one combination of values, by the model: the other factors
/// stand at their reference, so that the mean is not mixed up with theirs. Where
/// the model is of a transformed response, the typical value rather than the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustedMean {
    /// The value of each factor.
    pub values: Vec<String>,
    /// How many rows have these values.
    pub count: usize,
    /// The mean; `None` where the runs do not determine it.
    pub mean: Option<f64>,
    /// Its interval, where there is an error to draw it from.
    pub interval: Option<(f64, f64)>,
}

/// A factor of a model: a categorical variable, or a number with few values.
pub(super) struct Factor {
    pub(super) name: String,
    pub(super) levels: Vec<(String, Setting)>,
    /// The variables that follow it.
    pub(super) variables: Vec<usize>,
    of_row: Vec<u32>,
}

/// A factor with more values than this is a line, not a row of means.
const MOST_VALUES: usize = 12;

/// The factors of a model that have few values.
pub(super) fn factors(frame: &ModelFrame) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for (index, variable) in frame.variables().iter().enumerate() {
        let found = match (variable.data(), variable.columns().as_slice()) {
            (VariableData::Categorical { levels, codes, .. }, _) => Some(Factor {
                name: frame.variable_name(index),
                levels: levels
                    .iter()
                    .enumerate()
                    .map(|(level, text)| {
                        let variable = index;
                        (text.clone(), Setting::Level { variable, level })
                    })
                    .collect(),
                variables: vec![index],
                of_row: codes.clone(),
            }),
            (VariableData::Numeric { .. }, [column]) => {
                if let Some(known) = factors.iter_mut().find(|f| f.name == *column) {
                    known.variables.push(index);
                    continue;
                }
                frame
                    .column_values(column)
                    .and_then(|values| numbers(column, values, index))
            }
            _ => None,
        };
        factors.extend(found.filter(|factor| factor.levels.len() <= MOST_VALUES));
    }
    factors
}

fn numbers(column: &str, values: &[f64], index: usize) -> Option<Factor> {
    let mut distinct: Vec<f64> = Vec::new();
    for &value in values {
        if let Err(at) = distinct.binary_search_by(|known| known.total_cmp(&value)) {
            distinct.insert(at, value);
        }
        if distinct.len() > MOST_VALUES {
            return None;
        }
    }
    let of_row = values
        .iter()
        .map(|value| distinct.partition_point(|known| known < value) as u32)
        .collect();
    let level = |&value: &f64| {
        let column = column.to_owned();
        (value.to_string(), Setting::Value { column, value })
    };
    Some(Factor {
        name: column.to_owned(),
        levels: distinct.iter().map(level).collect(),
        variables: vec![index],
        of_row,
    })
}

/// The adjusted means of every factor with few values, and of every pair of them
/// whose interaction is in the model.
pub(super) fn adjusted_means(
    margins: &Margins<'_>,
    scale: &Scale,
) -> (Vec<AdjustedMeans>, Vec<AdjustedMeans>) {
    let frame = margins.fit().matrix().frame();
    let factors = factors(frame);
    let main = factors
        .iter()
        .map(|factor| means(margins, scale, &[factor]))
        .collect();
    let pairs = frame
        .terms()
        .iter()
        .filter(|term| term.variables.len() == 2)
        .filter_map(|term| {
            let find = |variable: usize| factors.iter().find(|f| f.variables.contains(&variable));
            let pair = [find(term.variables[0])?, find(term.variables[1])?];
            (pair[0].name != pair[1].name).then(|| means(margins, scale, &pair))
        })
        .collect();
    (main, pairs)
}

fn means(margins: &Margins<'_>, scale: &Scale, factors: &[&Factor]) -> AdjustedMeans {
    // Each interval costs the square of the model's size; those of pairs in large
    // models are not worth it.
    const LARGE: usize = 100;
    let with_intervals = factors.len() == 1 || margins.fit().rank() <= LARGE;
    let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
    for factor in factors {
        combinations = combinations
            .iter()
            .flat_map(|chosen| {
                (0..factor.levels.len()).map(|level| {
                    let mut chosen = chosen.clone();
                    chosen.push(level);
                    chosen
                })
            })
            .collect();
    }
    let mut counts = vec![0_usize; combinations.len()];
    let rows = factors.first().map_or(0, |factor| factor.of_row.len());
    for row in 0..rows {
        let at = factors.iter().fold(0, |at, factor| {
            at * factor.levels.len() + factor.of_row[row] as usize
        });
        counts[at] += 1;
    }
    let cells = combinations
        .iter()
        .zip(counts)
        .map(|(chosen, count)| {
            let levels = chosen
                .iter()
                .zip(factors)
                .map(|(&level, factor)| &factor.levels[level]);
            let (values, settings): (Vec<String>, Vec<Setting>) = levels.cloned().unzip();
            let weights = margins.weights(&settings);
            // The mean of a combination that was never run is a guess of the
            // model's; a plot shows it only where there are rows.
            let mean = weights.as_ref().and_then(|weights| margins.value(weights));
            let interval = weights
                .filter(|_| with_intervals)
                .and_then(|weights| margins.estimate(&weights))
                .map(|estimate| scale.back_interval(estimate.lower, estimate.upper));
            AdjustedMean {
                values,
                count,
                mean: mean.map(|mean| scale.back(mean)),
                interval,
            }
        })
        .collect();
    AdjustedMeans {
        factors: factors.iter().map(|factor| factor.name.clone()).collect(),
        cells,
    }
}

/// Combinations of the levels of a categorical term that were never run, as
/// `a = 2 with b = 3`, at most so many.
pub(super) fn empty_cells(frame: &ModelFrame, term: usize, most: usize) -> Vec<String> {
    let variables = &frame.terms()[term].variables;
    let mut sizes = Vec::new();
    for &variable in variables {
        match frame.variables()[variable].data() {
            VariableData::Categorical { levels, .. } => sizes.push(levels.len()),
            VariableData::Numeric { .. } => return Vec::new(),
        }
    }
    let total = sizes.iter().copied().fold(1_usize, usize::saturating_mul);
    if total > 100_000 {
        return Vec::new();
    }
    let mut seen = vec![false; total];
    let cells = Cells::by_variables(frame, variables);
    let code = |variable: usize, row: usize| match frame.variables()[variable].data() {
        VariableData::Categorical { codes, .. } => codes[row] as usize,
        VariableData::Numeric { .. } => 0,
    };
    for &row in &cells.first_row {
        let at = variables
            .iter()
            .zip(&sizes)
            .fold(0, |at, (&variable, size)| {
                at * size + code(variable, row as usize)
            });
        seen[at] = true;
    }
    let describe = |mut at: usize| {
        let mut parts = Vec::new();
        for (&variable, size) in variables.iter().zip(&sizes).rev() {
            if let VariableData::Categorical { levels, .. } = frame.variables()[variable].data() {
                let name = frame.variable_name(variable);
                parts.push(format!("{name} = {}", levels[at % size]));
            }
            at /= size;
        }
        parts.reverse();
        parts.join(" with ")
    };
    (0..total)
        .filter(|&at| !seen[at])
        .take(most)
        .map(describe)
        .collect()
}

/// Whether every variable of a term is categorical.
pub(super) fn categorical(frame: &ModelFrame, term: usize) -> bool {
    let mut variables = frame.terms()[term].variables.iter();
    variables.all(|&variable| frame.variables()[variable].coding() == Coding::Categorical)
}
