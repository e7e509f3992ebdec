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
mod curvature;
mod design;
mod evidence;
mod figures;
mod findings;
mod influential;
mod means;
mod options;
mod recommendation;
mod scale;
mod units;
mod wording;

pub use assumptions::{Assumption, AssumptionKind, CheckResult, Verdict};
pub use comparisons::{ComparisonMethod, Comparisons};
pub use curvature::{Bend, Curvature};
pub use evidence::{Basis, TermEvidence};
pub use figures::{FitSummary, Point, VariationShare};
pub use findings::{Claim, ClaimKind, Finding, FindingKind};
pub use influential::Decisive;
pub use means::{AdjustedMean, AdjustedMeans};
pub use options::{AnalysisOptions, AnalyzeError};
pub use recommendation::{
    Method, PermutationResult, Recommendation, RobustResult, RobustTest, TransformedResult,
};
pub use units::Unit;

use crate::anova::{Anova, AnovaType};
use crate::box_cox::BoxCox;
use crate::cells::Cells;
use crate::checks::Lenth;
use crate::collinearity::{VarianceInflation, variance_inflation};
use crate::effects::Effects;
use crate::fit::{Alias, Coefficient, Fit, FitError, FitOptions, fit};
use crate::formula::{Coding, Formula, FrameOptions, ModelFrame};
use crate::influence::{Influence, Outlier};
use crate::lack_of_fit::LackOfFit;
use crate::marginal::{Covariance, Margins};
use crate::matrix::{Contrast, ModelMatrix};
use crate::table::Table;
use design::{CodedDesign, Unreplicated};
use figures::{points, remarks, summary, variation};
use scale::{Scale, rescale};

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
    /// Leverage, residuals and Cook's distance of every row; `None` for a model
    /// without error.
    pub influence: Option<Influence>,
    /// Rows with residuals too large for chance.
    pub outliers: Vec<Outlier>,
    /// A run of the plain fit that decides the result.
    pub decisive: Option<Decisive>,
    /// The lack-of-fit test, where there are replicates.
    pub lack_of_fit: Option<LackOfFit>,
    /// The test of squares that the model does not have.
    pub curvature: Option<Curvature>,
    /// The Box–Cox profile, where the response is positive and the table of
    /// moderate size.
    pub box_cox: Option<BoxCox>,
    /// The assumption panel.
    pub assumptions: Vec<Assumption>,
    /// The method to trust, and its result.
    pub recommendation: Recommendation,
    /// The evidence for each term under that method.
    pub evidence: Vec<TermEvidence>,
    /// At most ten sentences, the strongest first.
    pub findings: Vec<Finding>,
    /// Pairs of levels of factors with three or more.
    pub comparisons: Vec<Comparisons>,
    /// Adjusted means by each factor with few values, under the method to trust.
    pub main_means: Vec<AdjustedMeans>,
    /// Adjusted means by pairs of such factors whose interaction is in the model.
    pub interaction_means: Vec<AdjustedMeans>,
    /// The response that sentences speak of: of `log(cost)` it is `cost`.
    pub spoken_response: String,
    /// The unit of that response.
    pub unit: Unit,
    /// Whether means are brought back from a transformed response, so that they
    /// are typical values.
    pub typical: bool,
    /// Response, fitted value and residual of every row, for plots.
    pub points: Vec<Point>,
}

/// The Box–Cox profile needs some two hundred passes over the rows.
const MOST_ROWS_FOR_BOX_COX: usize = 50_000;

/// Analyses one response of a table. The response is a column, or the left side
/// of the formula as written.
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
    let run_order = options
        .run_order
        .map(|name| run_order(table, name))
        .transpose()?;
    let mut model = choice::model(table, response, options)?;
    if let Some(note) = rescale(&mut model.frame)? {
        model.notes.push(note);
    }
    let matrix = ModelMatrix::new(&model.frame, Contrast::Treatment);
    let fitted = fit(&matrix, &fit_options(options))?;
    let coded = CodedDesign::of(table, &model.frame);
    let grouped;
    let cells = match &fitted.solution.cells {
        Some(cells) => cells,
        None => {
            grouped = Cells::of(&model.frame);
            &grouped
        }
    };
    let unreplicated = |values: &[f64]| -> Option<Unreplicated> {
        let design = coded.as_ref().filter(|_| cells.len() == values.len())?;
        design.unreplicated(values, options.confidence)
    };
    let by_lenth = unreplicated(model.frame.response_values()).is_some();
    if fitted.is_saturated() && !by_lenth {
        return Err(AnalyzeError::Fit(FitError::NoResidualDegrees {
            parameters: fitted.rank(),
            runs: fitted.observations(),
        }));
    }
    let anova = Anova::of(&fitted, options.kind)?;
    let exact = fitted.is_exact();
    let influence = Influence::of(&fitted);
    let level = options.level();
    let outliers = match exact {
        true => Vec::new(),
        false => influence.outliers(level),
    };
    let decisive = match exact {
        true => None,
        false => influential::decisive(&fitted, &influence, &outliers, options),
    };
    let lack_of_fit = LackOfFit::within(&fitted, cells);
    let curvature = curvature::curvature(&fitted, options);
    let box_cox = (fitted.observations() <= MOST_ROWS_FOR_BOX_COX && !exact)
        .then(|| BoxCox::of(&fitted).ok())
        .flatten();
    let effects = coded
        .as_ref()
        .and_then(|design| design.effects(model.frame.response_values(), options.confidence));
    let variance_inflation = variance_inflation(&fitted);
    let assumptions = assumptions::panel(&assumptions::Evidence {
        fit: &fitted,
        cells,
        run_order: run_order.as_deref(),
        variance_inflation: &variance_inflation,
        influence: &influence,
        outliers: &outliers,
        decisive: decisive.as_ref(),
        lack_of_fit: lack_of_fit.as_ref(),
        curvature: curvature.as_ref(),
        level,
    });
    let recommendation = recommendation::recommend(&recommendation::Case {
        fit: &fitted,
        cells,
        assumptions: &assumptions,
        box_cox: box_cox.as_ref(),
        coded: coded.as_ref(),
        curvature: curvature.as_ref(),
        influence: &influence,
        by_lenth,
        options,
    });
    let units = |column: &str| unit(table, options, column);
    let plain = Scale::of(&model.frame, units);
    // What is said rests on the fit to trust, which may be of a transformed
    // response.
    let trusted = Trusted::of(&model.frame, &recommendation);
    let trusted_matrix;
    let trusted_fit;
    let (scale, transformed, trust) = match &trusted {
        Some(trusted) => {
            trusted_matrix = ModelMatrix::new(&trusted.frame, Contrast::Treatment);
            trusted_fit = fit(&trusted_matrix, &fit_options(options))?;
            let label = trusted.frame.response().label();
            let scale = plain.transformed(trusted.transformation, label);
            (scale, true, &trusted_fit)
        }
        None => (plain, false, &fitted),
    };
    let robust = recommendation.is_robust().then(|| match transformed {
        true => Covariance::robust(trust, &Influence::of(trust)),
        false => Covariance::robust(trust, &influence),
    });
    let margins = Margins::new(trust, robust.flatten().unwrap_or(Covariance::Common));
    let trusted_anova = match transformed {
        true => &Anova::of(trust, options.kind)?,
        false => &anova,
    };
    let unreplicated = unreplicated(trust.matrix().frame().response_values());
    let tested = tested_anova(trust, trusted_anova, options)?;
    let evidence = match trust.is_exact() && unreplicated.is_none() {
        // Without error there is nothing to hold a term against.
        true => Vec::new(),
        false => evidence::evidence(
            tested.as_ref().unwrap_or(trusted_anova),
            &recommendation,
            coded.as_ref(),
            unreplicated.as_ref(),
        ),
    };
    let comparisons = comparisons::comparisons(
        &margins,
        &scale,
        match &recommendation.result {
            Some(RobustResult::Transformed(result)) => &result.assumptions,
            _ => &assumptions,
        },
    );
    // A run that decides the plain fit may not decide the one that is trusted.
    let trusted_decisive = match (transformed, trust.is_exact()) {
        (false, _) => decisive.clone(),
        (true, true) => None,
        (true, false) => {
            let influence = Influence::of(trust);
            influential::decisive(trust, &influence, &influence.outliers(level), options)
        }
    };
    let trusted_effects = match transformed {
        true => coded.as_ref().and_then(|design| {
            design.effects(trust.matrix().frame().response_values(), options.confidence)
        }),
        false => effects.clone(),
    };
    let findings = findings::findings(&findings::Material {
        margins: &margins,
        fit: &fitted,
        scale: &scale,
        anova: trusted_anova,
        evidence: &evidence,
        effects: trusted_effects.as_ref(),
        unreplicated: unreplicated.as_ref(),
        coded: coded.as_ref(),
        assumptions: &assumptions,
        curvature: curvature.as_ref(),
        recommendation: &recommendation,
        comparisons: &comparisons,
        decisive: trusted_decisive.as_ref(),
        transformed,
        units: &units,
        level,
    });
    let (main_means, interaction_means) = means::adjusted_means(&margins, &scale);
    let mut notes = model.notes;
    notes.extend(remarks(table, &model.frame, &fitted, &anova));
    if tested.is_some() {
        notes.push(
            "type III tests a number beside its interaction at zero of the other factor; the \
             adjusted p-values and the sentences are of numbers measured from the middle of their \
             range"
                .to_owned(),
        );
    }
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
        points: points(&fitted),
        anova,
        effects,
        lenth: unreplicated.map(|found| found.lenth),
        variance_inflation,
        influence: (!exact).then_some(influence),
        outliers,
        decisive,
        lack_of_fit,
        curvature,
        box_cox,
        assumptions,
        recommendation,
        evidence,
        findings,
        comparisons,
        main_means,
        interaction_means,
        spoken_response: scale.response.clone(),
        unit: scale.unit.clone(),
        typical: scale.is_bent(),
    })
}

/// The model of a transformed response that is trusted instead of the plain one.
struct Trusted {
    frame: ModelFrame,
    transformation: crate::box_cox::Transformation,
}

impl Trusted {
    fn of(frame: &ModelFrame, recommendation: &Recommendation) -> Option<Trusted> {
        let Some(RobustResult::Transformed(result)) = &recommendation.result else {
            return None;
        };
        let transformation = result.transformation;
        let values = frame.response_values().iter();
        let values = values.map(|&y| transformation.apply(y)).collect();
        Some(Trusted {
            frame: frame.with_response(&result.response, values),
            transformation,
        })
    }
}

/// In a table of type III a number that takes part in an interaction is tested at
/// zero of its partner, which may be far from the data; the evidence is that of
/// the same table with numbers measured from their middle.
fn tested_anova(
    fitted: &Fit<'_>,
    anova: &Anova,
    options: &AnalysisOptions<'_>,
) -> Result<Option<Anova>, AnalyzeError> {
    let frame = fitted.matrix().frame();
    let numeric = |&variable: &usize| frame.variables()[variable].coding() == Coding::Numeric;
    let mixed = frame
        .terms()
        .iter()
        .any(|term| term.variables.len() > 1 && term.variables.iter().any(numeric));
    if options.kind != AnovaType::III || !mixed || fitted.is_saturated() {
        return Ok(None);
    }
    let centred = frame.centred();
    let matrix = ModelMatrix::new(&centred, Contrast::Treatment);
    let mut tested = Anova::of(&fit(&matrix, &fit_options(options))?, options.kind)?;
    for (row, shown) in tested.rows.iter_mut().zip(&anova.rows) {
        row.name = shown.name.clone();
        row.percent = shown.percent;
    }
    Ok(Some(tested))
}

/// The unit of a column: as given, or as its name says.
fn unit(table: &Table, options: &AnalysisOptions<'_>, column: &str) -> Unit {
    if let Some((_, unit)) = options.units.iter().find(|(name, _)| name == column) {
        return unit.clone();
    }
    let values = table.column(column).and_then(|c| c.as_numeric());
    let finite = values
        .unwrap_or_default()
        .iter()
        .copied()
        .filter(|v| v.is_finite());
    let range = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    Unit::of_name(column, range)
}

fn fit_options(options: &AnalysisOptions<'_>) -> FitOptions {
    FitOptions {
        confidence: options.confidence,
        saturated: true,
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
        order: options.order,
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
