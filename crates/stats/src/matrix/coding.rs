//! Which levels of which variable get a column of their own.
//!
//! The redundancy rule of patsy (N. J. Smith et al., patsy documentation,
//! "Redundancy and coding"): a term is expanded into the parts it would add to
//! an empty model, the parts already spanned by earlier terms are struck out,
//! and the rest is recombined into as few blocks as possible.

use super::{Contrast, MatrixColumn, Part};
use crate::formula::{Coding, ModelFrame, TermOrder, VariableData};

/// One block of columns of a term: its categorical variables, each with a column
/// for every level or for all but one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Variable and whether every level has a column.
    categorical: Vec<(usize, bool)>,
}

/// The blocks of each term, in the order of the frame's terms. `order` is the
/// order in which terms claim their margins.
pub(super) fn codings(frame: &ModelFrame, order: TermOrder) -> Vec<Vec<Block>> {
    let terms = frame.terms();
    let numeric = |variable: &usize| frame.variables()[*variable].coding() == Coding::Numeric;
    let mut blocks = vec![Vec::new(); terms.len()];
    // What is spanned so far: the numeric variables multiplied in, and the
    // categorical margin.
    let mut spanned: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    if frame.has_intercept() {
        spanned.push((Vec::new(), Vec::new()));
    }
    let mut sequence: Vec<usize> = (0..terms.len()).collect();
    if order == TermOrder::ByDegree {
        sequence.sort_by_key(|&index| terms[index].variables.len());
    }
    for index in sequence {
        let variables = &terms[index].variables;
        let mut numbers: Vec<usize> = variables.iter().copied().filter(numeric).collect();
        numbers.sort_unstable();
        let factors: Vec<usize> = variables.iter().copied().filter(|v| !numeric(v)).collect();
        let mut parts = Vec::new();
        for subset in subsets(&factors) {
            let mut key = subset.clone();
            key.sort_unstable();
            let entry = (numbers.clone(), key);
            if !spanned.contains(&entry) {
                spanned.push(entry);
                parts.push(Block {
                    categorical: subset
                        .into_iter()
                        .map(|variable| (variable, false))
                        .collect(),
                });
            }
        }
        while recombine(&mut parts) {}
        blocks[index] = parts;
    }
    blocks
}

/// All subsets, small ones first.
fn subsets(items: &[usize]) -> Vec<Vec<usize>> {
    // Each factor at least doubles the columns of its term, and a frame bounds
    // the columns, so a term has at most twelve factors.
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for &item in items {
        let with: Vec<Vec<usize>> = all
            .iter()
            .map(|subset| subset.iter().copied().chain([item]).collect())
            .collect();
        all.extend(with);
    }
    all.sort_by_key(Vec::len);
    all
}

/// Lets one block absorb another that lacks exactly one of its contrasts.
fn recombine(blocks: &mut Vec<Block>) -> bool {
    for short in 0..blocks.len() {
        for long in short + 1..blocks.len() {
            let extra: Vec<usize> = (0..blocks[long].categorical.len())
                .filter(|&k| {
                    !blocks[short]
                        .categorical
                        .contains(&blocks[long].categorical[k])
                })
                .collect();
            let grows = blocks[long].categorical.len() == blocks[short].categorical.len() + 1;
            if let ([k], true) = (extra.as_slice(), grows)
                && !blocks[long].categorical[*k].1
            {
                blocks[long].categorical[*k].1 = true;
                blocks.remove(short);
                return true;
            }
        }
    }
    false
}

/// The columns of one block, the first variable varying fastest.
pub(super) fn columns(
    frame: &ModelFrame,
    term: usize,
    block: &Block,
    scales: &[f64],
    choose: &impl Fn(Option<Contrast>) -> Contrast,
) -> Vec<MatrixColumn> {
    let mut columns = vec![MatrixColumn {
        name: String::new(),
        label: String::new(),
        term: Some(term),
        parts: Vec::new(),
        scale: 1.0,
    }];
    for &variable in &frame.terms()[term].variables {
        let label = frame.variables()[variable].label();
        let spoken = frame.variable_name(variable);
        match frame.variables()[variable].data() {
            VariableData::Numeric { .. } => {
                for column in &mut columns {
                    join(&mut column.name, ":", label);
                    join(&mut column.label, " with ", &spoken);
                    column.parts.push(Part::Number { variable });
                    column.scale *= scales[variable];
                }
            }
            VariableData::Categorical {
                levels, contrast, ..
            } => {
                let Some(&(_, full)) = block.categorical.iter().find(|(v, _)| *v == variable)
                else {
                    continue;
                };
                let codes = level_columns(levels, full, choose(*contrast));
                let spoken = spoken.as_str();
                columns = codes
                    .iter()
                    .flat_map(|(suffix, words, values)| {
                        columns.iter().map(move |column| {
                            let mut column = column.clone();
                            join(&mut column.name, ":", &format!("{label}[{suffix}]"));
                            join(&mut column.label, " with ", &format!("{spoken} {words}"));
                            column.parts.push(Part::Coded {
                                variable,
                                values: values.clone(),
                            });
                            column
                        })
                    })
                    .collect();
            }
        }
    }
    columns
}

fn join(name: &mut String, between: &str, part: &str) {
    if !name.is_empty() {
        name.push_str(between);
    }
    name.push_str(part);
}

/// The columns of one categorical variable: a name, the same in people's words,
/// and a value per level.
fn level_columns(
    levels: &[String],
    full: bool,
    contrast: Contrast,
) -> Vec<(String, String, Vec<f64>)> {
    let indicator = |which: usize| -> Vec<f64> {
        (0..levels.len())
            .map(|level| f64::from(u8::from(level == which)))
            .collect()
    };
    if full {
        return levels
            .iter()
            .enumerate()
            .map(|(which, level)| (level.clone(), level.clone(), indicator(which)))
            .collect();
    }
    let last = levels.len() - 1;
    match contrast {
        Contrast::Treatment => (1..levels.len())
            .map(|which| {
                let words = format!("{} vs {}", levels[which], levels[0]);
                (format!("T.{}", levels[which]), words, indicator(which))
            })
            .collect(),
        Contrast::Sum => (0..last)
            .map(|which| {
                let mut values = indicator(which);
                values[last] = -1.0;
                let words = format!("{} vs the mean", levels[which]);
                (format!("S.{}", levels[which]), words, values)
            })
            .collect(),
    }
}
