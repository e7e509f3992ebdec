//! The whole analysis of one response: model, variation, effects, checks, and
//! what they mean.
//!
//! [`analyze`] composes the rest of the crate. It fits the model, checks what the
//! fit assumes, and where an assumption is violated it computes the result of a
//! method that does without it; the findings speak of that result, not of the
//! one they cannot trust.
//!
//! Without a formula the model is chosen from the table: a numeric column with
//! two values enters as a number, one with three to eight values that repeat as
//! categories, others as a straight line; columns that look measured rather than
//! set, that never vary or that name every row differently are left out. Every
//! choice is listed in [`Analysis::notes`].

mod assumptions;
mod choice;
mod comparisons;
mod findings;
mod recommendation;
mod wording;

pub use assumptions::{Assumption, AssumptionKind, CheckResult, Verdict};
pub use comparisons::{ComparisonMethod, Comparisons};
pub use findings::{Finding, FindingKind};
pub use recommendation::{
    Method, PermutationResult, Recommendation, RobustResult, TransformedResult,
};

use crate::anova::{Anova, AnovaType};
use crate::box_cox::BoxCox;
use crate::cells::Cells;
use crate::checks::{Lenth, lenth};
use crate::collinearity::{VarianceInflation, variance_inflation};
use crate::effects::{CodedFactor, Effects};
use crate::fit::{Alias, Coefficient, Fit, FitError, FitOptions, fit};
use crate::formula::{
    Formula, FrameOptions, MissingPolicy, ModelFrame, ParseFormulaError, ResolveFormulaError,
};
use crate::influence::{Influence, Outlier};
use crate::lack_of_fit::LackOfFit;
use crate::matrix::{Contrast, ModelMatrix};
use crate::means::{CellMean, Settings};
use crate::table::Table;

/// What to analyse, and how.
#[derive(Clone, Debug)]
pub struct AnalysisOptions<'a> {
    /// The model; chosen from the table if absent.
    pub formula: Option<&'a str>,
    /// The columns a chosen model may use; all that look like factors if absent.
    pub factors: Option<&'a [String]>,
    /// The sums of squares to show.
    pub kind: AnovaType,
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
            run_order: None,
            confidence: 0.95,
            missing: MissingPolicy::Drop,
            seed: 1,
            permutations: 999,
        }
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
    /// The column of run order holds text or misses values.
    #[error("column `{column}` cannot give the run order: row {row} holds no number")]
    RunOrder {
        /// The column.
        column: String,
        /// The data row, counted from one.
        row: usize,
    },
}

/// Everything an analysis found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The response as the model has it.
    pub response: String,
    /// The formula that was fitted.
    pub formula: String,
    /// Whether the formula was chosen from the table.
    pub chosen: bool,
    /// What was decided on the way: columns left out, rows dropped, terms that
    /// the design does not support.
    pub notes: Vec<String>,
    /// Rows fitted.
    pub observations: usize,
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Figures of the fit as a whole.
    pub summary: FitSummary,
    /// The analysis of variance.
    pub anova: Anova,
    /// Terms and the residual by their share of the variation, largest first.
    pub variation: Vec<VariationShare>,
    /// The coefficients.
    pub coefficients: Vec<Coefficient>,
    /// Columns that the runs cannot tell from others.
    pub aliases: Vec<Alias>,
    /// Effects in coded units, if every variable has two levels.
    pub effects: Option<Effects>,
    /// Lenth's margins, if the runs leave no error of their own to compare with.
    pub lenth: Option<Lenth>,
    /// Variance inflation of every column.
    pub variance_inflation: Vec<VarianceInflation>,
    /// Leverage, residuals and Cook's distance of every row; `None` for tables
    /// too large to look at row by row.
    pub influence: Option<Influence>,
    /// Rows with residuals too large for chance.
    pub outliers: Vec<Outlier>,
    /// The lack-of-fit test, where there are replicates.
    pub lack_of_fit: Option<LackOfFit>,
    /// The Box–Cox profile, where the response is positive and the table of
    /// moderate size.
    pub box_cox: Option<BoxCox>,
    /// The assumption panel.
    pub assumptions: Vec<Assumption>,
    /// The method to trust, and its result.
    pub recommendation: Recommendation,
    /// At most ten sentences, the strongest first.
    pub findings: Vec<Finding>,
    /// Pairs of levels of factors with three or more, where their means are not
    /// mixed up with other factors.
    pub comparisons: Vec<Comparisons>,
    /// Means of the response by the values of each variable with few values.
    pub main_means: Vec<PlottedMeans>,
    /// Means by pairs of such variables whose interaction is in the model.
    pub interaction_means: Vec<PlottedMeans>,
    /// Response, fitted value and residual of every row, for plots.
    pub points: Vec<Point>,
}

/// Means of the response by the values of one variable or of two.
#[derive(Clone, Debug, PartialEq)]
pub struct PlottedMeans {
    /// The variables.
    pub variables: Vec<String>,
    /// The means, in the order of the values.
    pub cells: Vec<CellMean>,
}

/// Figures of a fit as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSummary {
    /// Share of the variation explained.
    pub r_squared: f64,
    /// The same, corrected for the number of parameters.
    pub adjusted_r_squared: f64,
    /// The F statistic of the whole model and its p-value.
    pub f_test: Option<(f64, f64)>,
    /// Degrees of freedom of the model.
    pub model_df: usize,
    /// Degrees of freedom of error.
    pub residual_df: usize,
    /// The residual standard deviation.
    pub error_sd: f64,
    /// The Gaussian log-likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Condition number of the model matrix.
    pub condition_number: f64,
}

/// A term's share of the variation; the residual has no term.
#[derive(Clone, Debug, PartialEq)]
pub struct VariationShare {
    /// The term, or `None` for what is left.
    pub term: Option<String>,
    /// Percent of the total sum of squares.
    pub percent: f64,
}

/// One row of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The row of the table, counted from zero.
    pub row: u32,
    /// The response.
    pub observed: f64,
    /// What the model says.
    pub fitted: f64,
    /// The difference.
    pub residual: f64,
}

/// Row-by-row diagnostics are computed up to this many distinct rows times
/// squared columns; beyond it no single row can matter.
const ROW_BY_ROW: usize = 2_000_000_000;
/// The Box–Cox profile needs some two hundred passes over the rows.
const MOST_ROWS_FOR_BOX_COX: usize = 50_000;

/// Analyses one response of a table.
///
/// # Errors
///
/// When the formula cannot be read or does not fit the table, when a named
/// column does not exist, or when there is nothing to explain or to explain with.
pub fn analyze(
    table: &Table,
    response: &str,
    options: &AnalysisOptions<'_>,
) -> Result<Analysis, AnalyzeError> {
    require_column(table, response)?;
    let run_order = options
        .run_order
        .map(|name| run_order(table, name))
        .transpose()?;
    let model = choice::model(table, response, options)?;
    let matrix = ModelMatrix::new(&model.frame, Contrast::Treatment);
    let fitted = fit(&matrix, &fit_options(options))?;
    let anova = Anova::of(&fitted, options.kind)?;
    let mut notes = model.notes;
    if model.frame.dropped() > 0 {
        notes.push(format!(
            "{} of {} rows miss a value and were left out",
            model.frame.dropped(),
            table.rows()
        ));
    }
    for alias in fitted.aliases() {
        notes.push(format!(
            "`{}` cannot be estimated: in these runs it equals {}",
            alias.column,
            alias.combination()
        ));
    }
    let work = fitted.distinct_rows().saturating_mul(fitted.rank().pow(2));
    let influence = (work <= ROW_BY_ROW).then(|| Influence::of(&fitted));
    let outliers = influence
        .as_ref()
        .filter(|_| !fitted.is_exact())
        .map_or_else(Vec::new, |i| i.outliers(1.0 - options.confidence));
    let grouped;
    let cells = match &fitted.solution.cells {
        Some(cells) => cells,
        None => {
            grouped = Cells::of(&model.frame);
            &grouped
        }
    };
    let lack_of_fit = LackOfFit::within(&fitted, cells);
    let box_cox = (fitted.observations() <= MOST_ROWS_FOR_BOX_COX && !fitted.is_exact())
        .then(|| BoxCox::of(&fitted).ok())
        .flatten();
    let coded = coded_design(table, &model.frame);
    let effects = coded
        .as_ref()
        .and_then(|design| design.effects(model.frame.response_values(), options.confidence));
    let lenth = unreplicated(&model.frame, cells, coded.as_ref(), options.confidence);
    let variance_inflation = variance_inflation(&fitted);
    let assumptions = assumptions::panel(&assumptions::Evidence {
        fit: &fitted,
        cells,
        run_order: run_order.as_deref(),
        variance_inflation: &variance_inflation,
        influence: influence.as_ref(),
        outliers: &outliers,
        lack_of_fit: lack_of_fit.as_ref(),
        level: 1.0 - options.confidence,
    });
    let comparisons = comparisons::comparisons(&fitted, cells, &assumptions);
    let recommendation = recommendation::recommend(&recommendation::Case {
        fit: &fitted,
        cells,
        assumptions: &assumptions,
        box_cox: box_cox.as_ref(),
        coded: coded.as_ref(),
        options,
    });
    let findings = findings::findings(&findings::Material {
        fit: &fitted,
        anova: &anova,
        effects: effects.as_ref(),
        lenth: lenth.as_ref(),
        assumptions: &assumptions,
        recommendation: &recommendation,
        coded: coded.as_ref(),
        level: 1.0 - options.confidence,
    });
    let points = points(&fitted);
    let (main_means, interaction_means) = plotted_means(&model.frame, cells);
    Ok(Analysis {
        response: model.frame.response().label().to_owned(),
        formula: model.formula,
        chosen: options.formula.is_none(),
        notes,
        observations: fitted.observations(),
        dropped: model.frame.dropped(),
        summary: summary(&fitted),
        variation: variation(&anova),
        coefficients: fitted.coefficients().to_vec(),
        aliases: fitted.aliases().to_vec(),
        anova,
        effects,
        lenth: lenth.map(|(_, lenth)| lenth),
        variance_inflation,
        influence,
        outliers,
        lack_of_fit,
        box_cox,
        assumptions,
        recommendation,
        findings,
        comparisons,
        main_means,
        interaction_means,
        points,
    })
}

fn fit_options(options: &AnalysisOptions<'_>) -> FitOptions {
    FitOptions {
        confidence: options.confidence,
        ..FitOptions::default()
    }
}

fn frame(
    text: &str,
    table: &Table,
    options: &AnalysisOptions<'_>,
) -> Result<ModelFrame, AnalyzeError> {
    let frame_options = FrameOptions {
        missing: options.missing,
        ..FrameOptions::default()
    };
    Ok(Formula::parse(text)?.frame(table, &frame_options)?)
}

fn require_column(table: &Table, name: &str) -> Result<(), AnalyzeError> {
    match table.column(name) {
        Some(_) => Ok(()),
        None => Err(AnalyzeError::UnknownColumn {
            name: name.to_owned(),
            nearest: table.nearest_name(name).map(str::to_owned),
        }),
    }
}

fn run_order(table: &Table, name: &str) -> Result<Vec<f64>, AnalyzeError> {
    require_column(table, name)?;
    let wrong = |row: usize| AnalyzeError::RunOrder {
        column: name.to_owned(),
        row: row + 1,
    };
    let values = table
        .column(name)
        .and_then(|column| column.as_numeric())
        .ok_or_else(|| wrong(0))?;
    match values.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(wrong(row)),
        None => Ok(values.to_vec()),
    }
}

fn summary(fit: &Fit<'_>) -> FitSummary {
    FitSummary {
        r_squared: fit.r_squared(),
        adjusted_r_squared: fit.adjusted_r_squared(),
        f_test: fit.f_test(),
        model_df: fit.model_df(),
        residual_df: fit.residual_df(),
        error_sd: fit.error_sd(),
        log_likelihood: fit.log_likelihood(),
        aic: fit.aic(),
        bic: fit.bic(),
        condition_number: fit.condition_number(),
    }
}

fn variation(anova: &Anova) -> Vec<VariationShare> {
    let mut shares: Vec<VariationShare> = anova
        .rows
        .iter()
        .map(|row| VariationShare {
            term: Some(row.term.clone()),
            percent: row.percent,
        })
        .collect();
    shares.push(VariationShare {
        term: None,
        percent: anova.residual.percent,
    });
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    shares
}

fn points(fit: &Fit<'_>) -> Vec<Point> {
    let frame = fit.matrix().frame();
    frame
        .table_rows()
        .iter()
        .zip(frame.response_values())
        .zip(fit.residuals())
        .map(|((&row, &observed), &residual)| Point {
            row,
            observed,
            fitted: observed - residual,
            residual,
        })
        .collect()
}

/// Means for main effect and interaction plots, of variables with few values.
fn plotted_means(frame: &ModelFrame, cells: &Cells) -> (Vec<PlottedMeans>, Vec<PlottedMeans>) {
    const MOST_VALUES: usize = 12;
    let few: Vec<usize> = (0..frame.variables().len())
        .filter(|&variable| frame.has_at_most(MOST_VALUES, variable))
        .collect();
    if few.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let settings = Settings::of(frame, cells);
    let means = |variables: &[usize]| PlottedMeans {
        variables: variables
            .iter()
            .map(|&variable| frame.variables()[variable].label().to_owned())
            .collect(),
        cells: settings.means(variables),
    };
    let main = few.iter().map(|&variable| means(&[variable])).collect();
    let pairs = frame
        .terms()
        .iter()
        .filter(|term| term.variables.len() == 2)
        .filter(|term| term.variables.iter().all(|v| few.contains(v)))
        .map(|term| means(&term.variables))
        .collect();
    (main, pairs)
}

/// The two-level factors behind a model, if all its variables are plain columns
/// with two levels.
pub(crate) struct CodedDesign {
    pub(crate) factors: Vec<CodedFactor>,
    /// The frame's terms as sets of factors.
    pub(crate) terms: Vec<Vec<usize>>,
}

impl CodedDesign {
    fn effects(&self, response: &[f64], confidence: f64) -> Option<Effects> {
        Effects::of_terms(&self.factors, &self.terms, response, confidence).ok()
    }

    pub(crate) fn factor(&self, name: &str) -> Option<&CodedFactor> {
        self.factors.iter().find(|factor| factor.name() == name)
    }
}

fn coded_design(table: &Table, frame: &ModelFrame) -> Option<CodedDesign> {
    let factors = frame
        .variables()
        .iter()
        .map(|variable| {
            let label = variable.label();
            let name = label
                .strip_prefix("C(")
                .and_then(|rest| rest.strip_suffix(')'))
                .unwrap_or(label)
                .trim_matches('`');
            CodedFactor::from_column(table.column(name)?, frame.table_rows())
        })
        .collect::<Option<Vec<_>>>()?;
    let terms = frame.terms().iter().map(|t| t.variables.clone()).collect();
    (!factors.is_empty()).then_some(CodedDesign { factors, terms })
}

/// Lenth's analysis of all effects of a two-level design without replicates.
fn unreplicated(
    frame: &ModelFrame,
    cells: &Cells,
    design: Option<&CodedDesign>,
    confidence: f64,
) -> Option<(Effects, Lenth)> {
    let design = design?;
    if cells.len() < frame.len() {
        return None;
    }
    let order = design.factors.len();
    let effects =
        Effects::estimate(&design.factors, frame.response_values(), order, confidence).ok()?;
    let sizes: Vec<f64> = effects.effects.iter().map(|e| e.estimate).collect();
    let lenth = lenth(&sizes, confidence).ok()?;
    Some((effects, lenth))
}
