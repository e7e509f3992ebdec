//! What matters for a response.

use crate::error::Explained;
use crate::results::Results;
use crate::units;
use paceline_stats::analysis::{
    Analysis, AnalysisOptions, AnalyzeError as Unanalysable, analyze as analysed,
};
use paceline_stats::anova::AnovaType;
use paceline_stats::formula::{Formula, ParseFormulaError, ResolveProblem, TermOrder};

/// The column of a study's table that tells in which order the runs were made.
const ORDER: &str = "order";

/// What is to be explained.
#[derive(Debug, Clone, Default)]
pub struct AnalyzeQuestion {
    /// The column to explain; a formula may name it instead.
    pub response: Option<String>,
    /// The model; chosen from the table if it is not said.
    pub formula: Option<String>,
    /// The sums of squares.
    pub kind: AnovaType,
    /// The columns that a chosen model may use; a study's own factors if none is
    /// named.
    pub by: Option<Vec<String>>,
    /// The column that tells in which order the runs were made; a study knows it.
    pub order: Option<String>,
    /// In which order the terms of a formula are taken.
    pub terms: TermOrder,
}

/// What explains a response.
pub struct AnalyzeAnswer {
    /// The response.
    pub response: String,
    /// The analysis.
    pub analysis: Analysis,
    /// The coverage of its intervals.
    pub confidence: f64,
}

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// Nothing says what is to be explained.
    #[error("no response is named")]
    NoResponse,
    /// The formula is none.
    #[error(transparent)]
    Formula(#[from] ParseFormulaError),
    /// A cell of a column of numbers holds text.
    #[error("{place}: `{value}` in column `{column}` is not a number")]
    Text {
        /// The line of the file, or the run of the study.
        place: String,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
    },
    /// An expression has no finite value in some row.
    #[error("{place}: `{expression}` is {value}")]
    NotFinite {
        /// The line of the file, or the run of the study.
        place: String,
        /// The expression.
        expression: String,
        /// Its value there.
        value: f64,
    },
    /// The table does not bear this analysis.
    #[error(transparent)]
    Table(Unanalysable),
}

impl Explained for AnalyzeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoResponse => Some("name the column to explain with --response".to_owned()),
            Self::Text { column, .. } => Some(format!(
                "if its values are categories, write C({column}) in a formula"
            )),
            Self::NotFinite { .. } => Some("remove the row, or correct the value".to_owned()),
            Self::Formula(_) | Self::Table(_) => None,
        }
    }
}

/// Explains a response by results.
///
/// # Errors
/// If the results lack what is asked for, or do not bear an analysis.
pub fn analyze(
    results: &Results,
    question: &AnalyzeQuestion,
) -> Result<AnalyzeAnswer, AnalyzeError> {
    let response = match (&question.response, &question.formula) {
        (Some(response), _) => response.clone(),
        (None, Some(formula)) => Formula::parse(formula)?.response_text().to_owned(),
        (None, None) => return Err(AnalyzeError::NoResponse),
    };
    // A study's plan says which columns are its factors and in which order the
    // runs were made; the rest of its table is what came of them.
    let plan = results.study().map(|study| &study.state.plan);
    let planned = plan.map(|plan| plan.factors.as_slice());
    let study = results.study().map(|study| &study.study);
    let units = study.map_or_else(Vec::new, units::of);
    let options = AnalysisOptions {
        formula: question.formula.as_deref(),
        factors: question
            .by
            .as_deref()
            .or(planned.filter(|_| question.formula.is_none())),
        kind: question.kind,
        order: question.terms,
        units: &units,
        run_order: question.order.as_deref().or(plan.map(|_| ORDER)),
        ..AnalysisOptions::default()
    };
    let analysis = analysed(results.table(), &response, &options);
    Ok(AnalyzeAnswer {
        analysis: analysis.map_err(|error| placed(error, results))?,
        response,
        confidence: options.confidence,
    })
}

/// An error about a data row, told by the line of the file or the run.
fn placed(error: Unanalysable, results: &Results) -> AnalyzeError {
    let Unanalysable::Resolve(problem) = &error else {
        return AnalyzeError::Table(error);
    };
    match problem.problem() {
        ResolveProblem::TextInNumericColumn { column, row, value } => AnalyzeError::Text {
            place: results.place_of(*row),
            column: column.clone(),
            value: value.clone(),
        },
        ResolveProblem::NotFinite {
            expression,
            row,
            value,
        } => AnalyzeError::NotFinite {
            place: results.place_of(*row),
            expression: expression.clone(),
            value: *value,
        },
        _ => AnalyzeError::Table(error),
    }
}
