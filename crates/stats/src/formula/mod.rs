//! The formula language of R and statsmodels.
//!
//! `y ~ a + b*c + a:b` names a response and the terms that may explain it.
//! [`Formula::parse`] reads what was typed; [`Formula::frame`] checks it against
//! a table and yields a [`ModelFrame`], the only thing a fit accepts.
//!
//! | Written | Meaning |
//! |---|---|
//! | `a + b`, `a - b` | with, without |
//! | `a:b` | the interaction alone |
//! | `a*b` | `a + b + a:b` |
//! | `a/b` | `a + a:b` |
//! | `(a + b + c)^2`, `**2` | all terms up to the second order |
//! | `1`, `0`, `-1` | the intercept, no intercept |
//! | `.` | every other column of the table |
//! | `C(x)`, `C(x, Sum)`, `C(x, Treatment)` | `x` as categories |
//! | `log(x)`, `log2`, `log10`, `log1p`, `sqrt`, `exp`, `abs` | a transformed column |
//! | `I(x^2 + 1)` | arithmetic |
//! | `` `batch size` ``, `Q("batch size")` | a column whose name is not a word |
//!
//! Powers bind tightest, then `:`, then `*` and `/`, then `+` and `-`, as in R.
//! Terms keep the order in which they are written, because type I sums of
//! squares depend on it; [`TermOrder::ByDegree`] sorts as R does.

mod error;
mod expand;
mod expression;
mod frame;
mod origin;
mod parse;
mod resolve;
mod token;

pub use error::{
    FormulaProblem, ParseFormulaError, ParseProblem, ResolveFormulaError, ResolveProblem, Span,
};
pub use frame::{
    Coding, FrameOptions, MissingPolicy, ModelFrame, Term, TermOrder, Variable, VariableData,
};

pub(crate) use origin::Shape;

use expression::Expression;

use crate::table::Table;

/// A formula as it was typed, grammatical but not yet checked against a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    source: String,
    response: Expression,
    terms: parse::Node,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    ///
    /// When the text is not a formula; the error points at the offending token.
    pub fn parse(source: &str) -> Result<Formula, ParseFormulaError> {
        parse::parse(source)
    }

    /// The text it was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The response as it was written.
    pub fn response_text(&self) -> &str {
        &self.source[self.response.span.start..self.response.span.end]
    }

    /// The columns that the response is made of.
    pub fn response_columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        self.response.columns(&mut |name, _| columns.push(name));
        columns
    }

    /// Checks the formula against a table and evaluates its variables.
    ///
    /// # Errors
    ///
    /// When a column is unknown or of the wrong kind, when a value is not
    /// finite, or when values are missing and [`MissingPolicy::Refuse`] is set.
    pub fn frame(
        &self,
        table: &Table,
        options: &FrameOptions,
    ) -> Result<ModelFrame, ResolveFormulaError> {
        resolve::resolve(self, table, options)
    }
}
