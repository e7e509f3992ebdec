//! Errors that point into the formula.

use std::fmt;

/// A range of bytes in the formula's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    pub(super) fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end,
        }
    }
}

/// A problem at a place in a formula. Its text is the message, the formula and
/// a line of carets under the offending token.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaProblem<P> {
    source: String,
    span: Span,
    problem: P,
}

/// Why a text is not a formula.
pub type ParseFormulaError = FormulaProblem<ParseProblem>;

/// Why a formula does not fit a table.
pub type ResolveFormulaError = FormulaProblem<ResolveProblem>;

/// What is wrong with the text of a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseProblem {
    /// The text is empty.
    #[error("the formula is empty; write something like `y ~ a + b`")]
    Empty,
    /// There is no `~`.
    #[error("a `~` is missing between the response and the terms")]
    NoTilde,
    /// There is more than one `~`.
    #[error("a formula has only one `~`")]
    SecondTilde,
    /// A character that no formula contains.
    #[error("`{0}` has no meaning in a formula")]
    UnknownCharacter(char),
    /// A quoted name without its closing quote.
    #[error("this name is not closed")]
    UnclosedName,
    /// A number that cannot be read.
    #[error("`{0}` is not a number")]
    BadNumber(String),
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What may stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// A parenthesis without its partner.
    #[error("this parenthesis is not closed")]
    UnclosedParenthesis,
    /// A function that does not exist.
    #[error("unknown function `{name}`{}", suggestion(.nearest))]
    UnknownFunction {
        /// What was written.
        name: String,
        /// The closest function.
        nearest: Option<String>,
    },
    /// A contrast that does not exist.
    #[error("unknown contrast `{0}`; there are `Treatment` and `Sum`")]
    UnknownContrast(String),
    /// A number where only 0 and 1 have a meaning.
    #[error("a number among terms is 0 or 1 (the intercept); write `I(…)` for arithmetic")]
    NumberAsTerm,
    /// An exponent that is not a small whole number.
    #[error("the power of a group of terms is a whole number from 1 to 12")]
    BadPower,
    /// More tokens than any formula needs.
    #[error("the formula has more than {limit} words and signs")]
    TooLong {
        /// The largest number accepted.
        limit: usize,
    },
    /// Parentheses too deep to be meant.
    #[error("parentheses are nested more than {limit} deep")]
    TooDeep {
        /// The deepest nesting accepted.
        limit: usize,
    },
}

/// What is wrong with a formula in view of a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveProblem {
    /// The table has no such column.
    #[error("there is no column `{name}`{}", suggestion(.nearest))]
    UnknownColumn {
        /// What was written.
        name: String,
        /// The closest column name.
        nearest: Option<String>,
    },
    /// Text was found in a column of numbers.
    #[error(
        "column `{column}` holds numbers, but row {row} has `{value}`; \
         write `C({column})` if its values are categories"
    )]
    TextInNumericColumn {
        /// The column.
        column: String,
        /// The data row, counted from one.
        row: usize,
        /// The text found.
        value: String,
    },
    /// Categories where a number is needed.
    #[error("column `{column}` holds categories and cannot be used as a number")]
    NotNumeric {
        /// The column.
        column: String,
    },
    /// A value that is infinite, or whose transformation is not a number.
    #[error("row {row}: `{expression}` is {value}")]
    NotFinite {
        /// The expression as written.
        expression: String,
        /// The data row, counted from one.
        row: usize,
        /// Its value.
        value: f64,
    },
    /// A factor that never varies.
    #[error("`{variable}` has one level only ({level}); a term needs at least two")]
    OneLevel {
        /// The variable.
        variable: String,
        /// Its only value.
        level: String,
    },
    /// The response is also a term.
    #[error("the response `{0}` cannot explain itself")]
    ResponseAmongTerms(String),
    /// A missing value under [`MissingPolicy::Refuse`](super::MissingPolicy::Refuse).
    #[error("row {row} misses a value of `{variable}`")]
    Missing {
        /// The variable.
        variable: String,
        /// The data row, counted from one.
        row: usize,
    },
    /// Every row misses a value.
    #[error("no row has a value for every variable of the formula")]
    NoCompleteRow,
    /// A term that needs more columns than can be worked with.
    #[error("the terms up to `{term}` need more than {limit} columns")]
    TooManyColumns {
        /// The term that exceeds the limit.
        term: String,
        /// The largest number accepted.
        limit: usize,
    },
    /// More terms than any analysis can use.
    #[error("the formula expands to more than {limit} terms")]
    TooManyTerms {
        /// The largest number accepted.
        limit: usize,
    },
}

impl<P> FormulaProblem<P> {
    pub(super) fn new(source: &str, span: Span, problem: P) -> FormulaProblem<P> {
        FormulaProblem {
            source: source.to_owned(),
            span,
            problem,
        }
    }

    /// The offending bytes of the formula.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What is wrong there.
    pub fn problem(&self) -> &P {
        &self.problem
    }

    /// The formula with a line of carets under the offending token.
    pub fn picture(&self) -> String {
        let flat = self.source.replace(['\n', '\r', '\t'], " ");
        let before = self.source[..self.span.start].chars().count();
        let marked = self.source[self.span.start..self.span.end].chars().count();
        format!(
            "  {flat}\n  {}{}",
            " ".repeat(before),
            "^".repeat(marked.max(1))
        )
    }
}

impl<P: fmt::Display> fmt::Display for FormulaProblem<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.problem, self.picture())
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for FormulaProblem<P> {}

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}
