//! An analysis as a page.

use super::{AnalysisReport, anova, estimates, means, panel, plots};
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
    let chart = anova::variation_chart(&analysis.response, &analysis.anova, report.level());
    let kind = anova::kind(analysis.anova.kind);
    let caption = format!("Analysis of variance of {}, type {kind}", analysis.response);
    Section::new("variation", "Where the variation comes from")
        .figure(
            &chart,
            "Dark bars are terms whose p-value is below the level of the test.",
        )
        .push(anova::html(&analysis.anova, &caption))
}

/// The method to trust where the plain fit is not, with its heading.
fn method(report: &AnalysisReport<'_>) -> Option<(String, Html)> {
    let recommendation = &report.analysis.recommendation;
    let result = recommendation.result.as_ref()?;
    let heading = format!("The method to trust: {}", panel::method(recommendation));
    let reason = Element::new("p").child(Html::prose(&panel::sentence(&recommendation.reason)));
    let tables = panel::result_html(result).into_iter().map(Html::from);
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
    let factors = means::factors(analysis, report.table);
    let mains = means::main_effects(analysis, &factors, report.confidence);
    let pairs = means::interactions(analysis, &factors);
    let mut section = Section::new("effects", "What each factor does");
    if !mains.is_empty() {
        section = section.figure(
            &main_effects(&analysis.response, &mains),
            &format!(
                "Mean {} at each level, with {coverage} intervals of the means. All panels share \
                 one scale.",
                analysis.response
            ),
        );
    }
    if !pairs.is_empty() {
        section = section.figure(
            &interactions(&analysis.response, &pairs),
            "Interactions in the model, strongest first. Lines that are not parallel interact.",
        );
    }
    if let Some(chart) = plots::daniel(analysis, &coverage) {
        section = section.figure(
            &chart,
            "Half-normal plot (Daniel): effects along the dashed line are no more than noise.",
        );
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
