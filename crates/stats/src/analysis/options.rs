//! What can be asked of an analysis, and why it may be refused.

use super::units::Unit;
use crate::anova::AnovaType;
use crate::fit::FitError;
use crate::formula::{MissingPolicy, ParseFormulaError, ResolveFormulaError, TermOrder};

/// What to analyse, and how.
#[derive(Clone, Debug)]
pub struct AnalysisOptions<'a> {
    /// The model; chosen from the table if absent.
    pub formula: Option<&'a str>,
    /// The columns a chosen model may use; all that look like factors if absent.
    pub factors: Option<&'a [String]>,
    /// The sums of squares to show.
    pub kind: AnovaType,
    /// The order of the terms, which sums of squares of type I depend on.
    pub order: TermOrder,
    /// Units of columns that their names do not say.
    pub units: &'a [(String, Unit)],
    /// The column that says in which order the runs were made.
    pub run_order: Option<&'a str>,
    /// The coverage of intervals; one minus it is the level of tests.
    pub confidence: f64,
    /// What to do with rows that miss a value.
    pub missing: MissingPolicy,
    /// The seed of permutation tests.
    pub seed: u64,
    /// How many shuffles a permutation test makes.
    pub permutations: u32,
}

impl Default for AnalysisOptions<'_> {
    fn default() -> Self {
        AnalysisOptions {
            formula: None,
            factors: None,
            kind: AnovaType::II,
            order: TermOrder::ByDegree,
            units: &[],
            run_order: None,
            confidence: 0.95,
            missing: MissingPolicy::Drop,
            seed: 1,
            permutations: 999,
        }
    }
}

impl AnalysisOptions<'_> {
    /// The level of tests: one minus the confidence, without the last bits that
    /// subtraction leaves, so that a p-value of exactly 0.05 does not count.
    pub(super) fn level(&self) -> f64 {
        ((1.0 - self.confidence) * 1e12).round() / 1e12
    }
}

/// Why a table cannot be analysed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzeError {
    /// The formula cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseFormulaError),
    /// The formula does not fit the table.
    #[error(transparent)]
    Resolve(#[from] ResolveFormulaError),
    /// The model cannot be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A column named in the request does not exist.
    #[error("there is no column `{name}`{}", match nearest { Some(n) => format!("; did you mean `{n}`?"), None => String::new() })]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The closest column.
        nearest: Option<String>,
    },
    /// The formula explains something else than the response asked for.
    #[error("the formula explains `{formula}`, not `{response}`")]
    OtherResponse {
        /// The response of the formula.
        formula: String,
        /// The response asked for.
        response: String,
    },
    /// No column can serve as a factor.
    #[error(
        "no column varies in a way that could explain `{response}`; name the model with a formula"
    )]
    NoFactors {
        /// The response.
        response: String,
        /// Why each column was left out.
        notes: Vec<String>,
    },
    /// A variable is so large or so small that its squares overflow.
    #[error(
        "`{variable}` reaches {largest:e}, whose square no number holds; divide it in the table, \
         or in the formula as in I(x/1e200)"
    )]
    OutOfRange {
        /// The variable.
        variable: String,
        /// Its largest absolute value.
        largest: f64,
    },
    /// The column of run order holds text or misses values.
    #[error("column `{column}` cannot give the run order: row {row} holds no number")]
    RunOrder {
        /// The column.
        column: String,
        /// The data row, counted from one.
        row: usize,
    },
}
