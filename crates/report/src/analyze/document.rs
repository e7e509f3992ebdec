//! An analysis as JSON: every number at full precision, keys that stay.

use super::AnalysisReport;
use super::json::Numbers;
use super::{anova, claims, comparisons, estimates, means, panel};
use paceline_stats::analysis::{RobustResult, TermEvidence};
use serde_json::{Value, json};

/// Rows are listed one by one up to this many; a table can be joined by row
/// number, so that nothing is lost.
const MOST_ROWS: usize = 20_000;

pub(super) fn document(report: &AnalysisReport<'_>) -> Value {
    let analysis = report.analysis;
    let mut numbers = Numbers::default();
    let n = &mut numbers;
    let summary = &analysis.summary;
    let mut value = json!({
        "response": analysis.response,
        "formula": analysis.formula,
        "formula_chosen": analysis.chosen,
        "source": report.source,
        "confidence": report.confidence,
        "observations": analysis.observations,
        "dropped": analysis.dropped,
        "notes": report.notes(),
        "summary": {
            "r_squared": n.put("r_squared", summary.r_squared),
            "adjusted_r_squared": n.put("adjusted_r_squared", summary.adjusted_r_squared),
            "f": summary.f_test.map(|(f, _)| n.put("f of the model", f)),
            "p": summary.f_test.map(|(_, p)| n.put("p of the model", p)),
            "model_df": summary.model_df,
            "residual_df": summary.residual_df,
            "error_sd": n.put("error_sd", summary.error_sd),
            "log_likelihood": n.put("log_likelihood", summary.log_likelihood),
            "aic": n.put("aic", summary.aic),
            "bic": n.put("bic", summary.bic),
            "condition_number": n.put("condition_number", summary.condition_number),
        },
        "anova": anova::as_json(&analysis.anova, plain_evidence(report), n),
        "coefficients": estimates::coefficients_json(&analysis.coefficients, n),
        "aliased": aliased(report),
        "effects": analysis.effects.as_ref().map(|e| estimates::effects_json(e, n)),
        "lenth": lenth(report, n),
        "variance_inflation": inflation(report, n),
        "outliers": outliers(report, n),
        "lack_of_fit": analysis.lack_of_fit.as_ref().map(|test| json!({
            "df": test.df,
            "sum_of_squares": n.put("lack of fit", test.sum_of_squares),
            "pure_df": test.pure_df,
            "pure_sum_of_squares": n.put("pure error", test.pure_sum_of_squares),
            "f": n.put("f of lack of fit", test.f),
            "p": n.put("p of lack of fit", test.p),
        })),
        "box_cox": analysis.box_cox.as_ref().map(|fit| json!({
            "lambda": n.put("lambda", fit.lambda),
            "lower": n.put("lower lambda", fit.lower),
            "upper": n.put("upper lambda", fit.upper),
            "suggestion": fit.suggestion.written(&analysis.response),
        })),
        "assumptions": panel::as_json(&analysis.assumptions, n),
        "recommendation": panel::recommendation_json(&analysis.recommendation, &analysis.evidence, n),
        "findings": analysis.findings.iter().map(|f| f.text.clone()).collect::<Vec<_>>(),
        "claims": claims::as_json(&analysis.findings, n),
        "means": means::as_json(&analysis.main_means, n),
        "interaction_means": means::as_json(&analysis.interaction_means, n),
        "comparisons": comparisons::as_json(&analysis.comparisons, n),
        "decisive": analysis.decisive.as_ref().map(|found| json!({
            "row": found.row,
            "cooks_distance": n.put("cooks_distance of the decisive row", found.cooks_distance),
            "share_of_residual": n.put("share of the decisive row", found.share),
            "counts_without_it": found.gained,
            "counts_only_with_it": found.lost,
        })),
        "curvature": analysis.curvature.as_ref().map(|test| json!({
            "f": n.put("f of curvature", test.f),
            "df": test.df,
            "residual_df": test.residual_df,
            "p": n.put("p of curvature", test.p),
            "bends": test.bends.iter().map(|bend| json!({
                "columns": bend.columns,
                "p_holm": n.put("p_holm of a bend", bend.adjusted),
                "above_the_line_in_the_middle": bend.up_in_the_middle,
            })).collect::<Vec<_>>(),
        })),
        "unit": analysis.unit.symbol(),
        "rows": rows(report, n),
    });
    value["number_notes"] = numbers.notes().into();
    value
}

/// The evidence that belongs to the plain table: none if the findings rest on a
/// transformed response, whose table has it.
pub(super) fn plain_evidence<'a>(report: &'a AnalysisReport<'_>) -> &'a [TermEvidence] {
    match &report.analysis.recommendation.result {
        Some(RobustResult::Transformed(_)) => &[],
        _ => &report.analysis.evidence,
    }
}

fn aliased(report: &AnalysisReport<'_>) -> Vec<Value> {
    report
        .analysis
        .aliases
        .iter()
        .map(|alias| json!({ "column": alias.column, "equals": alias.combination() }))
        .collect()
}

fn lenth(report: &AnalysisReport<'_>, n: &mut Numbers) -> Option<Value> {
    report.analysis.lenth.as_ref().map(|lenth| {
        json!({
            "pseudo_standard_error": n.put("pseudo_standard_error", lenth.pseudo_standard_error),
            "df": n.put("df of Lenth's margins", lenth.df),
            "margin": n.put("margin", lenth.margin),
            "simultaneous_margin": n.put("simultaneous_margin", lenth.simultaneous_margin),
        })
    })
}

fn inflation(report: &AnalysisReport<'_>, n: &mut Numbers) -> Vec<Value> {
    report
        .analysis
        .variance_inflation
        .iter()
        .map(|vif| {
            let name = format!("variance inflation of {}", vif.column);
            json!({ "column": vif.column, "factor": n.put(&name, vif.factor) })
        })
        .collect()
}

fn outliers(report: &AnalysisReport<'_>, n: &mut Numbers) -> Vec<Value> {
    report
        .analysis
        .outliers
        .iter()
        .map(|outlier| {
            let name = format!("studentized residual of row {}", outlier.row);
            json!({
                "row": table_row(report, outlier.row),
                "studentized": n.put(&name, outlier.studentized),
                "p": n.put("p of an outlier", outlier.p),
            })
        })
        .collect()
}

/// The row of the table, counted from one, of a row of the fit.
fn table_row(report: &AnalysisReport<'_>, row: usize) -> u32 {
    report
        .analysis
        .points
        .get(row)
        .map_or(0, |point| point.row + 1)
}

fn rows(report: &AnalysisReport<'_>, n: &mut Numbers) -> Option<Vec<Value>> {
    let analysis = report.analysis;
    if analysis.points.len() > MOST_ROWS {
        return None;
    }
    let influence = analysis.influence.as_ref();
    let rows = analysis.points.iter().enumerate().map(|(i, point)| {
        let row = point.row + 1;
        let mut put = |name: &str, value: f64| n.put(&format!("{name} of row {row}"), value);
        json!({
            "row": row,
            "observed": put("observed", point.observed),
            "fitted": put("fitted", point.fitted),
            "residual": put("residual", point.residual),
            "leverage": influence.map(|i2| put("leverage", i2.leverage[i])),
            "studentized": influence.map(|i2| put("studentized", i2.studentized[i])),
            "cooks_distance": influence.map(|i2| put("cooks_distance", i2.cooks_distance[i])),
        })
    });
    Some(rows.collect())
}
