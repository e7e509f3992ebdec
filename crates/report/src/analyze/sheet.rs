//! An analysis as a page.

use super::document::plain_evidence;
use super::{AnalysisReport, anova, comparisons, estimates, means, panel, plots};
use crate::chart::{interactions, main_effects};
use crate::html::{Element, Html};
use crate::number::count;
use crate::page::{Page, Section};

pub(super) fn sheet(report: &AnalysisReport<'_>) -> String {
    let analysis = report.analysis;
    let runs = count(analysis.observations as u64);
    let mut variation = variation(report);
    if let Some((heading, content)) = method(report) {
        variation = variation.subheading(&heading).push(content);
    }
    Page::new(&format!("What matters for {}", analysis.response))
        .lead(&format!("{runs} runs from {}", report.source))
        .section(meaning(report))
        .section(variation)
        .section(effects(report))
        .section(assumptions(report))
        .section(background(report))
        .foot("Made by Paceline. This page is complete in itself and loads nothing.")
        .render()
}

fn meaning(report: &AnalysisReport<'_>) -> Section {
    let findings = report.analysis.findings.iter().map(|finding| &finding.text);
    Section::new("meaning", "What this means").list(true, findings)
}

fn variation(report: &AnalysisReport<'_>) -> Section {
    let analysis = report.analysis;
    let evidence = plain_evidence(report);
    let chart = anova::variation_chart(
        &analysis.response,
        &analysis.anova,
        evidence,
        report.level(),
    );
    let kind = anova::kind(analysis.anova.kind);
    let order = anova::order(analysis.anova.kind);
    let caption = format!(
        "Analysis of variance of {}, type {kind}: {order}",
        analysis.response
    );
    let bars = match evidence.is_empty() {
        true => "The findings rest on another model, whose table is below.",
        false => "Dark bars are terms whose adjusted p-value is below the level of the test.",
    };
    let mut section = Section::new("variation", "Where the variation comes from")
        .figure(&chart, bars)
        .push(anova::html(&analysis.anova, evidence, &caption));
    let notes = [
        anova::adjustment(evidence),
        anova::shares_note(&analysis.anova),
    ];
    for note in notes.into_iter().flatten() {
        section = section.paragraph(&panel::sentence(&note));
    }
    section
}

/// The method to trust where the plain fit is not, with its heading.
fn method(report: &AnalysisReport<'_>) -> Option<(String, Html)> {
    let recommendation = &report.analysis.recommendation;
    let result = recommendation.result.as_ref()?;
    let heading = format!("The method to trust: {}", panel::method(recommendation));
    let reason = Element::new("p").child(Html::prose(&panel::sentence(&recommendation.reason)));
    let tables = panel::result_html(result, &report.analysis.evidence)
        .into_iter()
        .map(Html::from);
    let content = Html::join([Html::from(reason)].into_iter().chain(tables));
    Some((heading, content))
}

/// The parts of the page with their headings, for a page that holds several
/// analyses.
pub(super) fn parts(report: &AnalysisReport<'_>) -> Vec<(String, Html)> {
    let mut parts = vec![meaning(report).into_parts(), variation(report).into_parts()];
    parts.extend(method(report));
    parts.extend(
        [effects(report), assumptions(report), background(report)].map(Section::into_parts),
    );
    parts
}

fn effects(report: &AnalysisReport<'_>) -> Section {
    let analysis = report.analysis;
    let coverage = report.coverage();
    let response = report.response();
    let what = means::what(analysis);
    let mains = means::main_effects(analysis);
    let pairs = means::interactions(analysis);
    let mut section = Section::new("effects", "What each factor does");
    if !mains.is_empty() {
        section = section.figure(
            &main_effects(&response, &mains),
            &format!(
                "{response} at each level: {what}, with {coverage} intervals. All panels share one \
                 scale."
            ),
        );
    }
    if !pairs.is_empty() {
        section = section.figure(
            &interactions(&response, &pairs),
            "Interactions in the model, strongest first. Lines that are not parallel interact.",
        );
    }
    if let Some(chart) = plots::daniel(analysis, &coverage) {
        section = section.figure(
            &chart,
            "Half-normal plot (Daniel): effects along the dashed line are no more than noise.",
        );
    }
    for pairs in &analysis.comparisons {
        let caption = comparisons::heading(pairs, &coverage);
        section = section.push(comparisons::html(pairs, &caption));
        if let Some(note) = comparisons::note(pairs) {
            section = section.paragraph(&note);
        }
    }
    match &analysis.effects {
        Some(effects) => {
            let caption = format!("Effects from low to high, with {coverage} intervals");
            section.push(estimates::effects_html(effects, &caption))
        }
        None => {
            let caption = format!("Coefficients with {coverage} intervals");
            section.push(estimates::coefficients_html(
                &analysis.coefficients,
                &caption,
            ))
        }
    }
}

fn assumptions(report: &AnalysisReport<'_>) -> Section {
    let analysis = report.analysis;
    let residuals = plots::residuals(analysis);
    let quantiles = plots::quantiles(analysis);
    let cooks = plots::cooks(analysis);
    let mut figures = vec![
        (&residuals, "An even band around zero supports the model."),
        (&quantiles, "Normal residuals follow the dashed line."),
    ];
    if let Some(cooks) = &cooks {
        figures.push((
            cooks,
            "How far each row moves the fit; above the dashed line a row deserves a look.",
        ));
    }
    Section::new("assumptions", "Whether to believe it")
        .push(panel::html(
            &analysis.assumptions,
            "Assumptions of the model",
        ))
        .figures(figures)
}

fn background(report: &AnalysisReport<'_>) -> Section {
    let formula = Element::new("p").child(Element::new("code").text(&report.analysis.formula));
    let mut section = Section::new("background", "How this was computed")
        .push(formula)
        .paragraph(&panel::sentence(&report.summary()));
    let notes = report.notes();
    if !notes.is_empty() {
        section = section.list(false, notes.iter().map(|note| panel::sentence(note)));
    }
    section
}
