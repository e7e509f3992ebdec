//! Chooses a model from a table where no formula is given.

use std::collections::HashSet;

use super::{AnalysisOptions, AnalyzeError, fit_options, frame, require_column};
use crate::fit::{FitError, fit};
use crate::formula::{Formula, ModelFrame};
use crate::matrix::{Contrast, ModelMatrix};
use crate::table::{Column, ColumnData, MISSING_CODE, Table};

/// The model to fit.
pub(super) struct Model {
    pub(super) formula: String,
    pub(super) frame: ModelFrame,
    pub(super) notes: Vec<String>,
}

/// A numeric column with at most this many values, each repeated, is a factor.
const MOST_LEVELS: usize = 8;
/// Interactions are estimated only if this many degrees of freedom are left.
const LEAST_ERROR_DF: usize = 3;
/// More columns than this are never chosen unasked.
const MOST_COLUMNS: usize = 512;

/// The model of the formula, or one chosen from the table.
pub(super) fn model(
    table: &Table,
    response: &str,
    options: &AnalysisOptions<'_>,
) -> Result<Model, AnalyzeError> {
    if let Some(formula) = options.formula {
        let parsed = Formula::parse(formula)?;
        let named = parsed.response_columns().contains(&response)
            || same_text(parsed.response_text(), response);
        if !named {
            return Err(AnalyzeError::OtherResponse {
                formula: parsed.response_text().to_owned(),
                response: response.to_owned(),
            });
        }
        let frame = frame(formula, table, options)?;
        return Ok(Model {
            formula: formula.to_owned(),
            frame,
            notes: Vec::new(),
        });
    }
    require_column(table, response)?;
    let Candidates { factors, mut notes } = candidates(table, response, options)?;
    if factors.is_empty() {
        return Err(AnalyzeError::NoFactors {
            response: response.to_owned(),
            notes,
        });
    }
    let left = written(response);
    let names: Vec<&str> = factors.iter().map(|f| f.text.as_str()).collect();
    let main = format!("{left} ~ {}", names.join(" + "));
    if factors.len() > 1 {
        match with_interactions(table, &main, &names, &factors, options)? {
            Interactions::Kept(model) => return Ok((*model).with_notes(notes)),
            Interactions::Dropped(why) => notes.push(why),
        }
    }
    notes.push(format!("the model was chosen: main effects ({main})"));
    let frame = frame(&main, table, options)?;
    Ok(Model {
        formula: main,
        frame,
        notes,
    })
}

/// Whether two texts differ in spaces only.
fn same_text(a: &str, b: &str) -> bool {
    let bare = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    bare(a) == bare(b)
}

impl Model {
    fn with_notes(mut self, mut before: Vec<String>) -> Model {
        before.append(&mut self.notes);
        self.notes = before;
        self
    }
}

struct Candidate {
    text: String,
    columns: usize,
}

struct Candidates {
    factors: Vec<Candidate>,
    notes: Vec<String>,
}

fn candidates(
    table: &Table,
    response: &str,
    options: &AnalysisOptions<'_>,
) -> Result<Candidates, AnalyzeError> {
    let mut notes = Vec::new();
    let mut factors = Vec::new();
    let mut measured = Vec::new();
    let names: Vec<&str> = match options.factors {
        Some(names) => {
            for name in names {
                require_column(table, name)?;
            }
            names.iter().map(String::as_str).collect()
        }
        None => table.columns().iter().map(Column::name).collect(),
    };
    let used = |name: &&str| *name != response && Some(*name) != options.run_order;
    let names: Vec<&str> = names.into_iter().filter(used).collect();
    let centred = centre_points(table, &names);
    for name in names {
        let Some(column) = table.column(name) else {
            continue;
        };
        let asked = options.factors.is_some();
        match role(column) {
            Role::Levels(3) if centred.contains(&name) => {
                notes.push(format!(
                    "`{name}` takes its middle value only at centre points and enters as a \
                     straight line; the centre points tell whether it bends"
                ));
                factors.push(Candidate {
                    text: written(name),
                    columns: 1,
                });
            }
            Role::Constant => notes.push(format!("`{name}` never varies and was left out")),
            Role::Identifier if !asked => notes.push(format!(
                "`{name}` names almost every row differently and was left out"
            )),
            Role::Measured if !asked => measured.push(column),
            Role::Measured | Role::Line => factors.push(Candidate {
                text: written(name),
                columns: 1,
            }),
            Role::Identifier => factors.push(Candidate {
                text: written(name),
                columns: distinct(column).saturating_sub(1),
            }),
            Role::Levels(levels) => {
                let text = match column.data() {
                    ColumnData::Numeric(_) if levels > 2 => {
                        notes.push(format!(
                            "`{name}` takes {levels} values and enters as categories; \
                             write `{name}` in a formula for a straight line"
                        ));
                        format!("C({})", written(name))
                    }
                    _ => written(name),
                };
                let columns = match column.data() {
                    ColumnData::Numeric(_) if levels == 2 => 1,
                    _ => levels - 1,
                };
                factors.push(Candidate { text, columns });
            }
        }
    }
    // A table of nothing but measurements is a regression: they are all there is.
    let regression = factors.is_empty();
    for column in measured {
        match regression {
            true => factors.push(Candidate {
                text: written(column.name()),
                columns: 1,
            }),
            false => notes.push(format!(
                "`{}` has a different value in most rows, so it looks measured rather than set, \
                 and was left out; name it in a formula to use it",
                column.name()
            )),
        }
    }
    Ok(Candidates { factors, notes })
}

/// The numbers of a two-level design with centre points: three values each, and
/// the middle one in the same rows for all of them.
fn centre_points<'a>(table: &Table, names: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<(&str, Vec<bool>)> = Vec::new();
    for &name in names {
        let Some(values) = table.column(name).and_then(Column::as_numeric) else {
            continue;
        };
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let middle: Vec<bool> = values.iter().map(|&v| v > low && v < high).collect();
        let mut inner = values
            .iter()
            .zip(&middle)
            .filter(|(_, is)| **is)
            .map(|(v, _)| *v);
        let Some(first) = inner.next() else {
            continue;
        };
        if inner.all(|value| value == first) {
            found.push((name, middle));
        }
    }
    let together = |(_, rows): &&(&'a str, Vec<bool>)| {
        found.iter().filter(|(_, other)| other == rows).count() > 1
    };
    found
        .iter()
        .filter(together)
        .map(|(name, _)| *name)
        .collect()
}

enum Role {
    Constant,
    /// Few values, each repeated.
    Levels(usize),
    /// Numbers with many values that still repeat.
    Line,
    /// Numbers that hardly repeat.
    Measured,
    /// Text that hardly repeats.
    Identifier,
}

fn role(column: &Column) -> Role {
    let rows = column.len() - column.missing();
    let values = distinct(column);
    let repeats = values * 2 <= rows;
    match column.data() {
        _ if values <= 1 => Role::Constant,
        ColumnData::Categorical { .. } if repeats || values == 2 => Role::Levels(values),
        ColumnData::Categorical { .. } => Role::Identifier,
        ColumnData::Numeric(_) if values == 2 || (values <= MOST_LEVELS && repeats) => {
            Role::Levels(values)
        }
        ColumnData::Numeric(_) if repeats => Role::Line,
        ColumnData::Numeric(_) => Role::Measured,
    }
}

fn distinct(column: &Column) -> usize {
    match column.data() {
        ColumnData::Numeric(values) => {
            let bits: HashSet<u64, crate::cells::QuickHash> = values
                .iter()
                .filter(|value| !value.is_nan())
                .map(|value| (value + 0.0).to_bits())
                .collect();
            bits.len()
        }
        ColumnData::Categorical { codes, .. } => {
            let seen: HashSet<u32, crate::cells::QuickHash> = codes
                .iter()
                .copied()
                .filter(|&code| code != MISSING_CODE)
                .collect();
            seen.len()
        }
    }
}

/// A column's name as a formula writes it.
fn written(name: &str) -> String {
    let word = name
        .chars()
        .enumerate()
        .all(|(index, c)| c.is_alphabetic() || c == '_' || (index > 0 && c.is_alphanumeric()));
    match word && !name.is_empty() {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

enum Interactions {
    Kept(Box<Model>),
    Dropped(String),
}

/// Adds two-factor interactions where the design supports them, leaving out those
/// it cannot tell from other terms.
fn with_interactions(
    table: &Table,
    main: &str,
    names: &[&str],
    factors: &[Candidate],
    options: &AnalysisOptions<'_>,
) -> Result<Interactions, AnalyzeError> {
    let mains: usize = factors.iter().map(|factor| factor.columns).sum();
    let pairs: usize = (0..factors.len())
        .map(|a| {
            let others = factors[..a].iter().map(|b| b.columns).sum::<usize>();
            factors[a].columns * others
        })
        .sum();
    let columns = 1 + mains + pairs;
    let too_many = |columns: usize, rows: usize| {
        Interactions::Dropped(format!(
            "two-factor interactions were left out: with them the model would have {columns} \
             parameters for {rows} runs"
        ))
    };
    let rows = table.rows();
    if columns + LEAST_ERROR_DF > rows || columns > MOST_COLUMNS {
        return Ok(too_many(columns, rows));
    }
    let left = main.split('~').next().unwrap_or_default().trim_end();
    let mut formula = format!("{left} ~ ({})^2", names.join(" + "));
    let mut notes = Vec::new();
    let mut chosen = frame(&formula, table, options)?;
    if supported_by_sample(&chosen, options) {
        return Ok(Interactions::kept(formula, chosen, notes));
    }
    let matrix = ModelMatrix::new(&chosen, Contrast::Treatment);
    match fit(&matrix, &fit_options(options)) {
        Err(FitError::NoResidualDegrees { parameters, runs }) => {
            return Ok(too_many(parameters, runs));
        }
        Err(error) => return Err(error.into()),
        Ok(fitted) if fitted.residual_df() < LEAST_ERROR_DF => {
            return Ok(too_many(fitted.rank(), fitted.observations()));
        }
        Ok(fitted) => {
            let estimable =
                |term: usize| fitted.coefficients().iter().any(|c| c.term == Some(term));
            let lost: Vec<usize> = (0..chosen.terms().len())
                .filter(|&term| !estimable(term))
                .collect();
            for &term in &lost {
                let name = chosen.term_name(term);
                let same = fitted
                    .aliases()
                    .iter()
                    .find(|alias| alias.term == Some(term))
                    .map(|alias| alias.combination_of(|name| fitted.matrix().label_of(name)))
                    .unwrap_or_default();
                notes.push(format!(
                    "`{name}` was left out: in these runs it equals {same}"
                ));
                formula.push_str(&format!(" - {}", interaction(&chosen, term)));
            }
            if !lost.is_empty() {
                chosen = frame(&formula, table, options)?;
            }
        }
    }
    Ok(Interactions::kept(formula, chosen, notes))
}

impl Interactions {
    fn kept(formula: String, frame: ModelFrame, mut notes: Vec<String>) -> Interactions {
        notes.push(format!(
            "the model was chosen: main effects and two-factor interactions ({formula})"
        ));
        Interactions::Kept(Box::new(Model {
            formula,
            frame,
            notes,
        }))
    }
}

/// Whether a sample of a large table already tells all columns apart; the whole
/// table then does too, and need not be fitted twice.
fn supported_by_sample(frame: &ModelFrame, options: &AnalysisOptions<'_>) -> bool {
    const LARGE: usize = 100_000;
    if frame.len() < LARGE {
        return false;
    }
    let sample = frame.sample();
    let matrix = ModelMatrix::new(&sample, Contrast::Treatment);
    fit(&matrix, &fit_options(options)).is_ok_and(|fit| fit.aliases().is_empty())
}

/// A term of a chosen model as a formula writes it.
fn interaction(frame: &ModelFrame, term: usize) -> String {
    let variables = &frame.terms()[term].variables;
    let texts: Vec<String> = variables
        .iter()
        .map(|&variable| {
            let label = frame.variables()[variable].label();
            match label.starts_with("C(") {
                true => label.to_owned(),
                false => written(label),
            }
        })
        .collect();
    texts.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_words_are_quoted() {
        assert_eq!(written("batch_size"), "batch_size");
        assert_eq!(written("batch size"), "`batch size`");
        assert_eq!(written("2nd"), "`2nd`");
        assert_eq!(written("a.b"), "`a.b`");
    }
}
