//! Brings a formula to a table: finds its columns, evaluates its variables, and
//! keeps the complete rows.

use std::collections::HashMap;

use super::Formula;
use super::error::{ResolveFormulaError, ResolveProblem, Span};
use super::expand::{Expansion, Mention, expand};
use super::expression::Expression;
use super::frame::{
    Coding, FrameOptions, MissingPolicy, ModelFrame, Term, TermOrder, Variable, VariableData,
};
use super::origin::Origin;
use crate::cells::QuickHash;
use crate::matrix::Contrast;
use crate::table::{Column, ColumnData, MISSING_CODE, Table};

/// The triangle of this many columns takes 32 MiB, and a second or two to
/// eliminate for each term.
const MOST_COLUMNS: usize = 2_048;

pub(super) fn resolve(
    formula: &Formula,
    table: &Table,
    options: &FrameOptions,
) -> Result<ModelFrame, ResolveFormulaError> {
    let resolver = Resolver {
        source: formula.source(),
        table,
    };
    let mut response_columns = Vec::new();
    formula
        .response
        .columns(&mut |name, span| response_columns.push((name, span)));
    for &(name, span) in &response_columns {
        resolver.numeric_column(name, span)?;
    }
    let others: Vec<&str> = table
        .columns()
        .iter()
        .map(Column::name)
        .filter(|name| response_columns.iter().all(|(used, _)| used != name))
        .collect();
    let expansion = expand(formula.source(), &formula.terms, &others)?;
    resolver.check(&expansion, &response_columns)?;
    let (rows, dropped) = resolver.complete_rows(&expansion, &formula.response, options.missing)?;
    let response = resolver.response(formula, &rows)?;
    let variables = expansion
        .mentions
        .iter()
        .map(|(label, mention)| resolver.variable(label, mention, &rows, expansion.intercept))
        .collect::<Result<Vec<_>, _>>()?;
    let mut terms: Vec<Term> = expansion
        .terms
        .iter()
        .map(|indices| Term {
            label: indices
                .iter()
                .map(|&index| variables[index].label.as_str())
                .collect::<Vec<_>>()
                .join(":"),
            variables: indices.clone(),
        })
        .collect();
    resolver.bound_columns(&terms, &variables, formula.terms.span)?;
    if options.order == TermOrder::ByDegree {
        terms.sort_by_key(|term| term.variables.len());
    }
    let sources = resolver.sources(&variables, &rows);
    Ok(ModelFrame {
        response,
        variables,
        terms,
        intercept: expansion.intercept,
        rows,
        dropped,
        sources,
    })
}

struct Resolver<'a> {
    source: &'a str,
    table: &'a Table,
}

impl<'a> Resolver<'a> {
    fn error(&self, span: Span, problem: ResolveProblem) -> ResolveFormulaError {
        ResolveFormulaError::new(self.source, span, problem)
    }

    fn column(&self, name: &str, span: Span) -> Result<&'a Column, ResolveFormulaError> {
        self.table.column(name).ok_or_else(|| {
            let problem = ResolveProblem::UnknownColumn {
                name: name.to_owned(),
                nearest: self.table.nearest_name(name).map(str::to_owned),
            };
            self.error(span, problem)
        })
    }

    fn numeric_column(&self, name: &str, span: Span) -> Result<&'a [f64], ResolveFormulaError> {
        let column = self.column(name, span)?;
        match column.data() {
            ColumnData::Numeric(values) => Ok(values),
            ColumnData::Categorical { first_text, .. } => {
                let column = name.to_owned();
                let problem = match first_text.clone() {
                    Some(text) => ResolveProblem::TextInNumericColumn {
                        column,
                        row: text.row,
                        value: text.value,
                    },
                    None => ResolveProblem::NotNumeric { column },
                };
                Err(self.error(span, problem))
            }
        }
    }

    /// Checks every mention before any value is computed, so that the first
    /// error in reading order is the one reported.
    fn check(
        &self,
        expansion: &Expansion<'_>,
        response: &[(&str, Span)],
    ) -> Result<(), ResolveFormulaError> {
        for mention in &expansion.unused {
            for (name, span) in mention.columns() {
                self.column(name, span)?;
            }
        }
        for (_, mention) in &expansion.mentions {
            match mention {
                Mention::Expression(expression) if expression.as_column().is_some() => {
                    let name = expression.as_column().unwrap_or_default();
                    self.plain_column(name, expression.span)?;
                    if let [(only, _)] = response
                        && *only == name
                    {
                        let problem = ResolveProblem::ResponseAmongTerms(name.to_owned());
                        return Err(self.error(expression.span, problem));
                    }
                }
                Mention::Expression(expression) => {
                    let mut columns = Vec::new();
                    expression.columns(&mut |name, span| columns.push((name, span)));
                    for (name, span) in columns {
                        self.numeric_column(name, span)?;
                    }
                }
                Mention::Categories { column, span, .. } => {
                    self.column(column, *span)?;
                }
                Mention::Other { column, span } => {
                    self.plain_column(column, *span)?;
                }
            }
        }
        Ok(())
    }

    /// A column used by its bare name, whatever its kind.
    fn plain_column(&self, name: &str, span: Span) -> Result<&'a Column, ResolveFormulaError> {
        let column = self.column(name, span)?;
        if let ColumnData::Categorical {
            first_text: Some(text),
            ..
        } = column.data()
        {
            let problem = ResolveProblem::TextInNumericColumn {
                column: name.to_owned(),
                row: text.row,
                value: text.value.clone(),
            };
            return Err(self.error(span, problem));
        }
        Ok(column)
    }

    fn complete_rows(
        &self,
        expansion: &Expansion<'_>,
        response: &Expression,
        policy: MissingPolicy,
    ) -> Result<(Vec<u32>, usize), ResolveFormulaError> {
        let mut used: Vec<(&str, Span)> = Vec::new();
        response.columns(&mut |name, span| used.push((name, span)));
        for (_, mention) in &expansion.mentions {
            used.extend(mention.columns());
        }
        let mut complete = vec![true; self.table.rows()];
        for &(name, span) in &used {
            let column = self.column(name, span)?;
            let missing: Box<dyn Fn(usize) -> bool> = match column.data() {
                ColumnData::Numeric(values) => Box::new(|row| values[row].is_nan()),
                ColumnData::Categorical { codes, .. } => Box::new(|row| codes[row] == MISSING_CODE),
            };
            for (row, complete) in complete.iter_mut().enumerate() {
                if missing(row) {
                    *complete = false;
                    if policy == MissingPolicy::Refuse {
                        let problem = ResolveProblem::Missing {
                            variable: name.to_owned(),
                            row: row + 1,
                        };
                        return Err(self.error(span, problem));
                    }
                }
            }
        }
        let rows: Vec<u32> = complete
            .iter()
            .enumerate()
            .filter(|(_, complete)| **complete)
            .map(|(row, _)| row as u32)
            .collect();
        if rows.is_empty() {
            let whole = Span {
                start: 0,
                end: self.source.len(),
            };
            return Err(self.error(whole, ResolveProblem::NoCompleteRow));
        }
        let dropped = self.table.rows() - rows.len();
        Ok((rows, dropped))
    }

    fn response(&self, formula: &Formula, rows: &[u32]) -> Result<Variable, ResolveFormulaError> {
        let text = formula.response_text();
        let label = match formula.response.as_column() {
            Some(name) => name.to_owned(),
            None => text.chars().filter(|c| !c.is_whitespace()).collect(),
        };
        let data = self.numbers(&formula.response, rows)?;
        Ok(Variable {
            label,
            data,
            origin: Origin::of(&formula.response),
        })
    }

    fn variable(
        &self,
        label: &str,
        mention: &Mention<'_>,
        rows: &[u32],
        intercept: bool,
    ) -> Result<Variable, ResolveFormulaError> {
        let (data, span) = match mention {
            Mention::Expression(expression) => {
                let data = match expression.as_column() {
                    Some(name) => self.plain(name, expression.span, rows)?,
                    None => self.numbers(expression, rows)?,
                };
                (data, expression.span)
            }
            Mention::Other { column, span } => (self.plain(column, *span, rows)?, *span),
            Mention::Categories {
                column,
                contrast,
                span,
            } => {
                let column = self.column(column, *span)?;
                (categories(column, rows, *contrast), *span)
            }
        };
        let only = match &data {
            VariableData::Categorical { levels, .. } => {
                (levels.len() < 2).then(|| levels.first().cloned().unwrap_or_default())
            }
            // Without an intercept a constant column may stand for it.
            VariableData::Numeric { values, low } => {
                (intercept && low.is_empty() && values.iter().all(|&value| value == values[0]))
                    .then(|| values[0].to_string())
            }
        };
        if let Some(level) = only {
            let problem = ResolveProblem::OneLevel {
                variable: label.to_owned(),
                level,
            };
            return Err(self.error(span, problem));
        }
        let origin = match mention {
            Mention::Expression(expression) => Origin::of(expression),
            Mention::Other { column, .. } | Mention::Categories { column, .. } => {
                Origin::Column((*column).to_owned())
            }
        };
        Ok(Variable {
            label: label.to_owned(),
            data,
            origin,
        })
    }

    /// The numeric columns behind variables that are not columns themselves.
    fn sources(&self, variables: &[Variable], rows: &[u32]) -> Vec<(String, Vec<f64>)> {
        let mut sources: Vec<(String, Vec<f64>)> = Vec::new();
        let computed = variables.iter().filter(|variable| {
            variable.column().is_none() || variable.coding() == Coding::Categorical
        });
        for name in computed.flat_map(Variable::columns) {
            let known = sources.iter().any(|(known, _)| known == name);
            let values = self.table.column(name).and_then(Column::as_numeric);
            if let (false, Some(values)) = (known, values) {
                let picked = rows.iter().map(|&row| values[row as usize]).collect();
                sources.push((name.to_owned(), picked));
            }
        }
        sources
    }

    fn plain(
        &self,
        name: &str,
        span: Span,
        rows: &[u32],
    ) -> Result<VariableData, ResolveFormulaError> {
        let column = self.plain_column(name, span)?;
        match column.data() {
            ColumnData::Numeric(values) => {
                let picked: Vec<f64> = rows.iter().map(|&row| values[row as usize]).collect();
                self.require_finite(name, span, rows, &picked)?;
                Ok(VariableData::Numeric {
                    values: picked,
                    low: Vec::new(),
                })
            }
            ColumnData::Categorical { .. } => Ok(categories(column, rows, None)),
        }
    }

    fn numbers(
        &self,
        expression: &Expression,
        rows: &[u32],
    ) -> Result<VariableData, ResolveFormulaError> {
        let mut columns: Vec<(&str, &[f64])> = Vec::new();
        let mut failure = None;
        expression.columns(&mut |name, span| match self.numeric_column(name, span) {
            Ok(values) => columns.push((name, values)),
            Err(error) => failure = failure.take().or(Some(error)),
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let mut values = Vec::with_capacity(rows.len());
        let mut low = Vec::with_capacity(rows.len());
        for &row in rows {
            let value = expression.evaluate(&|name| {
                columns
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map_or(f64::NAN, |(_, values)| values[row as usize])
            });
            values.push(value.high());
            low.push(value.low());
        }
        if low.iter().all(|&value| value == 0.0) {
            low = Vec::new();
        }
        let text = &self.source[expression.span.start..expression.span.end];
        self.require_finite(text, expression.span, rows, &values)?;
        Ok(VariableData::Numeric { values, low })
    }

    /// Refuses models whose matrix could not be factored in reasonable memory,
    /// before anything is built for them.
    fn bound_columns(
        &self,
        terms: &[Term],
        variables: &[Variable],
        span: Span,
    ) -> Result<(), ResolveFormulaError> {
        let mut total = 0_usize;
        for term in terms {
            let levels = |&index: &usize| match variables[index].data() {
                VariableData::Numeric { .. } => 1,
                VariableData::Categorical { levels, .. } => levels.len(),
            };
            let columns = term
                .variables
                .iter()
                .map(levels)
                .fold(1_usize, usize::saturating_mul);
            total = total.saturating_add(columns);
            if total > MOST_COLUMNS {
                let problem = ResolveProblem::TooManyColumns {
                    term: term.label.clone(),
                    limit: MOST_COLUMNS,
                };
                return Err(self.error(span, problem));
            }
        }
        Ok(())
    }

    fn require_finite(
        &self,
        text: &str,
        span: Span,
        rows: &[u32],
        values: &[f64],
    ) -> Result<(), ResolveFormulaError> {
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(index) => {
                let problem = ResolveProblem::NotFinite {
                    expression: text.to_owned(),
                    row: rows[index] as usize + 1,
                    value: values[index],
                };
                Err(self.error(span, problem))
            }
        }
    }
}

/// The categories of a column in these rows, without the levels that do not occur.
fn categories(column: &Column, rows: &[u32], contrast: Option<Contrast>) -> VariableData {
    let (levels, codes): (Vec<String>, Vec<u32>) = match column.data() {
        ColumnData::Categorical { levels, codes, .. } => (
            levels.clone(),
            rows.iter().map(|&row| codes[row as usize]).collect(),
        ),
        ColumnData::Numeric(values) => distinct_values(values, rows),
    };
    let mut occurs = vec![false; levels.len()];
    for &code in &codes {
        occurs[code as usize] = true;
    }
    let mut next = 0;
    let renumbered: Vec<u32> = occurs
        .iter()
        .map(|&occurs| {
            next += u32::from(occurs);
            next.saturating_sub(1)
        })
        .collect();
    let levels = levels
        .into_iter()
        .zip(&occurs)
        .filter(|(_, occurs)| **occurs)
        .map(|(level, _)| level)
        .collect();
    let codes = codes
        .iter()
        .map(|&code| renumbered[code as usize])
        .collect();
    VariableData::Categorical {
        levels,
        codes,
        contrast,
    }
}

/// Numbers as categories, in order of value.
fn distinct_values(values: &[f64], rows: &[u32]) -> (Vec<String>, Vec<u32>) {
    let mut seen: HashMap<u64, u32, QuickHash> = HashMap::default();
    let found: Vec<u32> = rows
        .iter()
        .map(|&row| {
            let next = seen.len() as u32;
            // Adding zero makes -0.0 and 0.0 the same level.
            let bits = (values[row as usize] + 0.0).to_bits();
            *seen.entry(bits).or_insert(next)
        })
        .collect();
    let mut distinct: Vec<(f64, u32)> = seen
        .into_iter()
        .map(|(bits, found)| (f64::from_bits(bits), found))
        .collect();
    distinct.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sorted = vec![0; distinct.len()];
    for (code, &(_, found)) in distinct.iter().enumerate() {
        sorted[found as usize] = code as u32;
    }
    let levels = distinct
        .iter()
        .map(|(value, _)| value.to_string())
        .collect();
    let codes = found.iter().map(|&found| sorted[found as usize]).collect();
    (levels, codes)
}
