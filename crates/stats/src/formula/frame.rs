//! A formula checked against a table: the response and variables of every
//! complete row.

use super::origin::{Origin, Shape, spoken};
use crate::matrix::Contrast;

/// What to do with a row that misses a value the formula uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingPolicy {
    /// Leave the row out and count it, as R and statsmodels do.
    #[default]
    Drop,
    /// Refuse the table, naming the first such row.
    Refuse,
}

/// The order in which terms enter the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermOrder {
    /// As written.
    #[default]
    Written,
    /// Main effects first, then two-factor interactions and so on, as R does.
    ByDegree,
}

/// How a formula is brought to a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameOptions {
    /// What to do with incomplete rows.
    pub missing: MissingPolicy,
    /// The order of the terms.
    pub order: TermOrder,
}

/// The response and the variables of a formula in every complete row.
#[derive(Clone, Debug)]
pub struct ModelFrame {
    pub(super) response: Variable,
    pub(super) variables: Vec<Variable>,
    pub(super) terms: Vec<Term>,
    pub(super) intercept: bool,
    pub(super) rows: Vec<u32>,
    pub(super) dropped: usize,
    /// Numeric columns that variables are computed from, in every row of the
    /// frame.
    pub(super) sources: Vec<(String, Vec<f64>)>,
}

/// One variable, evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub(super) label: String,
    pub(super) data: VariableData,
    pub(super) origin: Origin,
}

/// The values of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum VariableData {
    /// Numbers, with the digits beyond `f64` where arithmetic produced them.
    Numeric {
        /// The values.
        values: Vec<f64>,
        /// What `values` lack, row by row; empty when they lack nothing.
        low: Vec<f64>,
    },
    /// Categories; only levels that occur are listed.
    Categorical {
        /// The level names in coding order.
        levels: Vec<String>,
        /// One index into `levels` per row.
        codes: Vec<u32>,
        /// The contrast asked for in the formula.
        contrast: Option<Contrast>,
    },
}

/// How a variable is coded; shorthand for what callers ask most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As a number.
    Numeric,
    /// As categories.
    Categorical,
}

/// A term: the interaction of one or more variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its name, such as `epochs:batch_size`.
    pub label: String,
    /// Indices of its variables in the frame.
    pub variables: Vec<usize>,
}

impl Term {
    /// Whether every variable of `other` is in this term.
    pub fn contains(&self, other: &Term) -> bool {
        other
            .variables
            .iter()
            .all(|index| self.variables.contains(index))
    }
}

impl Variable {
    /// The name as written.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The name in people's words: `batch_size` for `C(batch_size)`, `x²` for
    /// `I(x^2)`.
    pub fn name(&self) -> String {
        spoken(&self.origin, &self.label)
    }

    /// The column, if the variable is a column as it stands or as categories.
    pub fn column(&self) -> Option<&str> {
        match &self.origin {
            Origin::Column(name) => Some(name),
            Origin::Expression(_) | Origin::Computed => None,
        }
    }

    /// The columns behind it.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.origin.columns()
    }

    /// How it follows its column, if it is made of a single one.
    pub(crate) fn shape(&self) -> Option<Shape> {
        self.origin.shape()
    }

    /// Its value where its columns have the values that `lookup` gives.
    pub(crate) fn value_at(&self, lookup: &impl Fn(&str) -> f64) -> Option<f64> {
        self.origin.value(lookup)
    }

    /// The values.
    pub fn data(&self) -> &VariableData {
        &self.data
    }

    /// Whether it enters as a number or as categories.
    pub fn coding(&self) -> Coding {
        match self.data {
            VariableData::Numeric { .. } => Coding::Numeric,
            VariableData::Categorical { .. } => Coding::Categorical,
        }
    }
}

impl ModelFrame {
    /// The response.
    pub fn response(&self) -> &Variable {
        &self.response
    }

    /// The response's values.
    pub fn response_values(&self) -> &[f64] {
        match &self.response.data {
            VariableData::Numeric { values, .. } => values,
            VariableData::Categorical { .. } => &[],
        }
    }

    /// The variables, in the order they are first mentioned.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The terms, in model order, without the intercept.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether the model has an intercept.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// How many rows are complete.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is complete. A resolved formula always has rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For each row of the frame, the row of the table, counted from zero.
    pub fn table_rows(&self) -> &[u32] {
        &self.rows
    }

    /// How many rows of the table were left out for missing values.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The same model of another response, given for every row of the frame.
    ///
    /// # Panics
    ///
    /// When `values` has not one finite value per row.
    pub fn with_response(&self, label: impl Into<String>, values: Vec<f64>) -> ModelFrame {
        assert_eq!(
            values.len(),
            self.len(),
            "one response per row of the frame"
        );
        assert!(
            values.iter().all(|value| value.is_finite()),
            "a response is finite"
        );
        ModelFrame {
            response: Variable {
                label: label.into(),
                data: VariableData::Numeric {
                    values,
                    low: Vec::new(),
                },
                origin: Origin::Computed,
            },
            ..self.clone()
        }
    }

    /// The same model with further numeric variables, each a term of its own.
    pub(crate) fn with_terms(&self, added: Vec<(String, Vec<f64>)>) -> ModelFrame {
        let mut frame = self.clone();
        for (label, values) in added {
            frame.terms.push(Term {
                label: label.clone(),
                variables: vec![frame.variables.len()],
            });
            frame.variables.push(Variable {
                label,
                data: VariableData::Numeric {
                    values,
                    low: Vec::new(),
                },
                origin: Origin::Computed,
            });
        }
        frame
    }

    /// The values of a numeric column that a variable is made of.
    pub(crate) fn column_values(&self, name: &str) -> Option<&[f64]> {
        let plain =
            self.variables
                .iter()
                .find_map(|variable| match (&variable.origin, &variable.data) {
                    (Origin::Column(own), VariableData::Numeric { values, .. }) if own == name => {
                        Some(values.as_slice())
                    }
                    _ => None,
                });
        plain.or_else(|| {
            let source = self.sources.iter().find(|(own, _)| own == name);
            source.map(|(_, values)| values.as_slice())
        })
    }

    /// A term in people's words: `batch_size with workers` for
    /// `C(batch_size):workers`.
    pub fn term_name(&self, term: usize) -> String {
        let names: Vec<String> = self.terms[term]
            .variables
            .iter()
            .map(|&variable| self.variable_name(variable))
            .collect();
        match names.as_slice() {
            [first, others @ ..] if !others.is_empty() => match others {
                [last] => format!("{first} with {last}"),
                [most @ .., last] => format!("{first} with {} and {last}", most.join(", ")),
                [] => first.clone(),
            },
            _ => names.concat(),
        }
    }

    /// A variable in people's words, told from others of the same column.
    pub fn variable_name(&self, variable: usize) -> String {
        let own = &self.variables[variable];
        let name = own.name();
        let shared = self
            .variables
            .iter()
            .enumerate()
            .any(|(other, variable_)| other != variable && variable_.name() == name);
        match (shared, own.coding()) {
            (false, _) => name,
            (true, Coding::Categorical) => format!("{name} as categories"),
            (true, Coding::Numeric) => format!("{name} as a number"),
        }
    }

    /// Whether a variable takes at most `limit` distinct values.
    pub(crate) fn has_at_most(&self, limit: usize, variable: usize) -> bool {
        match &self.variables[variable].data {
            VariableData::Categorical { levels, .. } => levels.len() <= limit,
            VariableData::Numeric { values, .. } => {
                let mut seen: Vec<f64> = Vec::with_capacity(limit);
                values.iter().all(|value| {
                    if !seen.contains(value) {
                        seen.push(*value);
                    }
                    seen.len() <= limit
                })
            }
        }
    }

    /// The same model in some of its rows only.
    pub(crate) fn pick(&self, rows: &[u32]) -> ModelFrame {
        fn picked<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
            match values.is_empty() {
                true => Vec::new(),
                false => rows.iter().map(|&row| values[row as usize]).collect(),
            }
        }
        let thin = |variable: &Variable| Variable {
            label: variable.label.clone(),
            origin: variable.origin.clone(),
            data: match &variable.data {
                VariableData::Numeric { values, low } => VariableData::Numeric {
                    values: picked(values, rows),
                    low: picked(low, rows),
                },
                VariableData::Categorical {
                    levels,
                    codes,
                    contrast,
                } => VariableData::Categorical {
                    levels: levels.clone(),
                    codes: picked(codes, rows),
                    contrast: *contrast,
                },
            },
        };
        ModelFrame {
            response: thin(&self.response),
            variables: self.variables.iter().map(thin).collect(),
            terms: self.terms.clone(),
            intercept: self.intercept,
            rows: picked(&self.rows, rows),
            dropped: self.dropped,
            sources: self
                .sources
                .iter()
                .map(|(name, values)| (name.clone(), picked(values, rows)))
                .collect(),
        }
    }

    /// The same model in about ten thousand rows, evenly taken, which show a
    /// design as well as a million do.
    pub(crate) fn sample(&self) -> ModelFrame {
        const ROWS: usize = 10_000;
        let step = (self.len() / ROWS).max(1);
        let rows: Vec<u32> = (0..self.len() as u32).step_by(step).collect();
        self.pick(&rows)
    }

    /// The same model with every numeric variable measured from the middle of
    /// its range, which takes the collinearity of interactions with their main
    /// effects away where the design itself has none.
    pub(crate) fn centred(&self) -> ModelFrame {
        let variables = self
            .variables
            .iter()
            .map(|variable| match &variable.data {
                VariableData::Categorical { .. } => variable.clone(),
                VariableData::Numeric { values, .. } => {
                    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let middle = f64::midpoint(low, high);
                    Variable {
                        label: variable.label.clone(),
                        origin: Origin::Computed,
                        data: VariableData::Numeric {
                            values: values.iter().map(|value| value - middle).collect(),
                            low: Vec::new(),
                        },
                    }
                }
            })
            .collect();
        ModelFrame {
            variables,
            ..self.clone()
        }
    }
}
