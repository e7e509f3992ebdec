//! An analysis in a terminal.

use super::document::plain_evidence;
use super::{AnalysisReport, anova, comparisons, estimates, means, panel};
use crate::number::count;
use crate::text::{Style, paragraph, printable};

pub(super) fn screen(report: &AnalysisReport<'_>, width: usize, style: Style) -> String {
    let analysis = report.analysis;
    let level = report.level();
    let mut out = Screen {
        text: String::new(),
        width,
        style,
    };
    let runs = count(analysis.observations as u64);
    out.strong(&format!("{} of {runs} runs", printable(&analysis.response)));
    out.words(&printable(&report.source));
    out.words(&printable(&analysis.formula));
    out.words(&report.summary());
    for note in report.notes() {
        out.text
            .push_str(&paragraph("note: ", &printable(&note), width));
    }
    let kind = anova::kind(analysis.anova.kind);
    let order = anova::order(analysis.anova.kind);
    out.heading(&format!("Analysis of variance, type {kind}: {order}"));
    let evidence = plain_evidence(report);
    out.text
        .push_str(&anova::text(&analysis.anova, evidence, level, width, style));
    if let Some(words) = anova::adjustment(evidence) {
        out.words(&words);
    }
    out.heading("Variation explained");
    out.text
        .push_str(&anova::variation_text(&analysis.anova, width));
    if let Some(note) = anova::shares_note(&analysis.anova) {
        out.words(&note);
    }
    let coverage = report.coverage();
    match &analysis.effects {
        Some(effects) => {
            out.heading(&format!("Effects, {coverage} intervals"));
            out.text
                .push_str(&estimates::effects_text(effects, width, style));
            let aliases = estimates::alias_lines(effects);
            if !aliases.is_empty() {
                out.words("This design cannot tell apart:");
            }
            for line in aliases {
                out.text
                    .push_str(&paragraph("  ", &printable(&line), width));
            }
        }
        None => {
            out.heading(&format!("Coefficients, {coverage} intervals"));
            let text = estimates::coefficients_text(&analysis.coefficients, width, style);
            out.text.push_str(&text);
        }
    }
    if analysis.effects.is_none() && !analysis.main_means.is_empty() {
        let response = report.response();
        let what = means::what(analysis);
        out.heading(&format!("{response}: {what}, {coverage} intervals"));
        out.text.push_str(&means::text(analysis, width, style));
    }
    for pairs in &analysis.comparisons {
        out.heading(&comparisons::heading(pairs, &coverage));
        out.text
            .push_str(&comparisons::text(pairs, level, width, style));
        if let Some(note) = comparisons::note(pairs) {
            out.words(&note);
        }
    }
    out.heading("Assumptions");
    out.text
        .push_str(&panel::text(&analysis.assumptions, width, style));
    if let Some(result) = &analysis.recommendation.result {
        let method = panel::method(&analysis.recommendation);
        out.heading(&format!("The method to trust: {method}"));
        out.words(&panel::sentence(&analysis.recommendation.reason));
        out.text.push_str(&panel::result_text(
            result,
            &analysis.evidence,
            level,
            width,
            style,
        ));
    }
    out.heading("What this means");
    for (i, finding) in analysis.findings.iter().enumerate() {
        let lead = format!("{:>2}. ", i + 1);
        out.text
            .push_str(&paragraph(&lead, &printable(&finding.text), width));
    }
    out.text
}

struct Screen {
    text: String,
    width: usize,
    style: Style,
}

impl Screen {
    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.strong(text);
    }

    fn strong(&mut self, text: &str) {
        for line in crate::text::wrap(text, self.width) {
            self.text.push_str(&self.style.strong(&line));
            self.text.push('\n');
        }
    }

    fn words(&mut self, text: &str) {
        self.text.push_str(&paragraph("", text, self.width));
    }
}
