//! How an analysis looks: text for the terminal, JSON for programs, a page with
//! plots for people.

mod anova;
mod claims;
mod comparisons;
mod document;
mod estimates;
mod json;
mod means;
mod panel;
mod plots;
mod screen;
mod sheet;

pub(crate) use panel::sentence;

use crate::number::plural;
use crate::text::Style;
use paceline_answers::analyze::AnalyzeAnswer;
use paceline_answers::results::Results;
use paceline_stats::analysis::Analysis;
use serde_json::Value;

/// An analysis with what a reader needs beside its numbers.
#[derive(Debug, Clone)]
pub struct AnalysisReport<'a> {
    /// The analysis.
    pub analysis: &'a Analysis,
    /// The coverage of the intervals, as the analysis was asked for.
    pub confidence: f64,
    /// Where the table came from.
    pub source: String,
    /// What the reader must know of the table, such as runs left out.
    pub remarks: Vec<String>,
}

impl<'a> AnalysisReport<'a> {
    /// What is shown of an answer.
    #[must_use]
    pub fn new(results: &'a Results, answer: &'a AnalyzeAnswer) -> Self {
        Self {
            analysis: &answer.analysis,
            confidence: answer.confidence,
            source: results.source(),
            remarks: remarks(results),
        }
    }
}

/// What the reader must know of results beside their numbers.
fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = Vec::new();
    match results.left_out() {
        0 => {}
        1 => remarks.push("1 run that is not done was left out".to_owned()),
        n => remarks.push(format!(
            "{} that are not done were left out",
            plural(n, "run")
        )),
    }
    match results.unnamed() {
        0 => {}
        1 => remarks.push("1 column without a name was left out".to_owned()),
        n => remarks.push(format!("{n} columns without a name were left out")),
    }
    remarks
}

impl AnalysisReport<'_> {
    /// The whole analysis in lines of at most `width` columns.
    #[must_use]
    pub fn text(&self, width: usize, style: Style) -> String {
        screen::screen(self, width, style)
    }

    /// Every number at full precision.
    ///
    /// The keys are `response`, `formula`, `formula_chosen`, `source`,
    /// `confidence`, `observations`, `dropped`, `notes`, `summary`, `anova`,
    /// `coefficients`, `aliased`, `effects`, `lenth`, `variance_inflation`,
    /// `outliers`, `lack_of_fit`, `box_cox`, `assumptions`, `recommendation`,
    /// `findings`, `claims`, `means`, `interaction_means`, `comparisons`,
    /// `decisive`, `curvature`, `unit`, `rows` and `number_notes`; keys may be added, and none is
    /// renamed or removed. A part that the analysis does not have is `null`. A
    /// number that JSON cannot hold is `null` too, and `number_notes` says which
    /// and why. `rows` is `null` for tables of more than 20,000 rows.
    #[must_use]
    pub fn json(&self) -> Value {
        document::document(self)
    }

    /// One self-contained page with all plots.
    #[must_use]
    pub fn html(&self) -> String {
        sheet::sheet(self)
    }

    /// What the page shows, part by part, each with its heading.
    pub(crate) fn parts(&self) -> Vec<(String, crate::html::Html)> {
        sheet::parts(self)
    }

    /// Remarks on the table and the decisions of the analysis.
    fn notes(&self) -> Vec<String> {
        self.remarks
            .iter()
            .chain(&self.analysis.notes)
            .cloned()
            .collect()
    }

    /// The coverage of the intervals in words, such as `95%`.
    fn coverage(&self) -> String {
        // Rounding keeps 0.95 · 100 from showing its last bits.
        format!("{}%", (self.confidence * 1e6).round() / 1e4)
    }

    /// The response that means are of, with its unit: `duration (s)`.
    fn response(&self) -> String {
        let name = &self.analysis.spoken_response;
        match self.analysis.unit.symbol() {
            Some(unit) => format!("{name} ({unit})"),
            None => name.clone(),
        }
    }

    /// The level of tests.
    fn level(&self) -> f64 {
        // Without the last bits that subtraction leaves.
        ((1.0 - self.confidence) * 1e12).round() / 1e12
    }

    /// The figures of the fit in one line.
    fn summary(&self) -> String {
        use crate::number::{p_value, significant};
        let summary = &self.analysis.summary;
        let mut text = format!(
            "R² {}, adjusted {}; residual standard deviation {} with {} degrees of freedom",
            significant(summary.r_squared, 4),
            significant(summary.adjusted_r_squared, 4),
            significant(summary.error_sd, 4),
            summary.residual_df
        );
        if let Some((f, p)) = summary.f_test {
            text.push_str(&format!(
                "; F {} for the whole model, p {}",
                significant(f, 4),
                p_value(p)
            ));
        }
        text
    }
}
