//! The report in plain words, first.

use super::held::{diagnoses, shares};
use super::{Dossier, Standing, StudyPart, advice, promises};
use crate::gpus;
use crate::html::{Element, Html};
use crate::number::plural;
use crate::number::{bytes, duration, percent, significant};
use crate::page::Section;
use paceline_diagnose::{Holder, Unusual};
use paceline_stats::analysis::Verdict;

/// Findings of the analysis that the summary repeats.
const FINDINGS: usize = 3;

pub(super) fn section(dossier: &Dossier<'_>) -> Section {
    let (figures, sentences) = match &dossier.study {
        Some(study) => (
            study_figures(dossier, study),
            study_sentences(dossier, study),
        ),
        None => (run_figures(dossier), run_sentences(dossier)),
    };
    let mut list = Element::new("dl").attribute("class", "figures");
    for (name, value) in figures {
        list = list.child(
            Element::new("div")
                .child(Element::new("dt").text(&name))
                .child(Element::new("dd").child(Html::prose(&value))),
        );
    }
    Section::new("summary", "Summary")
        .push(list)
        .list(false, sentences)
}

fn study_figures(dossier: &Dossier<'_>, study: &StudyPart<'_>) -> Vec<(String, String)> {
    let done = dossier.count(Standing::Done);
    let mut figures = vec![(
        "Runs done".to_owned(),
        format!("{done} of {}", study.planned),
    )];
    if let Some((configuration, met)) = advice::headline(&study.advice) {
        let name = if met {
            "Recommended"
        } else {
            "Nearest to the limits"
        };
        figures.push((name.to_owned(), configuration));
    }
    figures.extend(promises::figure(study.promises));
    if let Some((response, Ok(report))) = study.analyses.first() {
        let rows = report.analysis.anova.rows.iter();
        let rows = rows.filter(|row| row.percent.is_finite());
        if let Some(row) = rows.max_by(|a, b| a.percent.total_cmp(&b.percent)) {
            figures.push((
                format!("Matters most for {response}"),
                format!(
                    "{}: {} of the variation",
                    row.name,
                    percent(row.percent / 100.0)
                ),
            ));
        }
    }
    figures.extend(most_held(dossier));
    figures
}

fn most_held(dossier: &Dossier<'_>) -> Option<(String, String)> {
    let shares = shares(dossier.runs.iter().flat_map(diagnoses))?;
    let (by, share) = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let value = match by {
        Holder::Nothing => format!("no resource, {} of the time", percent(share)),
        by => format!("{by}, {} of the time", percent(share)),
    };
    Some(("Held back by".to_owned(), value))
}

fn study_sentences(dossier: &Dossier<'_>, study: &StudyPart<'_>) -> Vec<String> {
    let mut sentences = vec![standing(dossier, study), advice::sentence(&study.advice)];
    match study.analyses.first() {
        Some((_, Ok(report))) => {
            let findings = report.analysis.findings.iter().take(FINDINGS);
            sentences.extend(findings.map(|finding| finding.text.clone()));
            let violated = report.analysis.assumptions.iter();
            let violated = violated.filter(|a| a.verdict == Verdict::Violated).count();
            if violated > 0 {
                let verb = if violated == 1 { "is" } else { "are" };
                sentences.push(format!(
                    "{} of the plain model {verb} violated; the method that is trusted instead is \
                     named below.",
                    plural(violated, "assumption")
                ));
            }
        }
        Some((response, Err(why))) => {
            sentences.push(format!(
                "What matters for `{response}` cannot be said: {why}."
            ));
        }
        None => {}
    }
    if let Some(shares) = shares(dossier.runs.iter().flat_map(diagnoses)) {
        let most = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((by, share)) = most {
            sentences.push(match by {
                Holder::Nothing => format!(
                    "Over all runs, no resource was short {} of the time: they slept or waited \
                     for others.",
                    percent(share)
                ),
                by => format!(
                    "Over all runs, the {by} held them back {} of the time.",
                    percent(share)
                ),
            });
        }
    }
    let noisy = dossier
        .runs
        .iter()
        .filter(|run| run.noise.is_some())
        .count();
    if noisy > 0 {
        sentences.push(format!(
            "{} disturbed by something else on the machine; their timings say less.",
            was(noisy)
        ));
    }
    sentences
}

/// How far the study is, in words.
fn standing(dossier: &Dossier<'_>, study: &StudyPart<'_>) -> String {
    let mut text = format!(
        "{} of {} are done",
        plural(dossier.count(Standing::Done), "run"),
        study.planned
    );
    for (standing, words) in [
        (Standing::Failed, "failed"),
        (Standing::Unfinished, "unfinished"),
        (Standing::Pending, "still to do"),
    ] {
        let count = dossier.count(standing);
        if count > 0 {
            text.push_str(&format!(", {count} {words}"));
        }
    }
    if study.live {
        text.push_str("; the study is running while this is written");
    }
    let done = dossier.count(Standing::Done);
    if done < study.planned {
        text.push_str(". Everything below rests on the runs that are done");
    }
    text + "."
}

fn was(runs: usize) -> String {
    let verb = if runs == 1 { "was" } else { "were" };
    format!("{} {verb}", plural(runs, "run"))
}

fn run_figures(dossier: &Dossier<'_>) -> Vec<(String, String)> {
    let Some(run) = dossier.runs.first() else {
        return Vec::new();
    };
    let mut figures = vec![("Outcome".to_owned(), run.outcome.clone())];
    if let Some(seconds) = run.duration_s {
        figures.push(("Duration".to_owned(), duration(seconds)));
    }
    figures.extend(most_held(dossier));
    if let Some(usage) = diagnoses(run).next().map(|found| &found.usage) {
        if let Some(cpus) = usage.cpus {
            let text = format!("{} of the mean", significant(cpus.mean, 2));
            figures.push((
                "CPUs in use".to_owned(),
                text.replace(" of the mean", " on average"),
            ));
        }
        if let Some(memory) = usage.memory_bytes {
            figures.push(("Memory at most".to_owned(), bytes(memory.peak)));
        }
    }
    figures
}

fn run_sentences(dossier: &Dossier<'_>) -> Vec<String> {
    let Some(run) = dossier.runs.first() else {
        return Vec::new();
    };
    let mut sentences = Vec::new();
    let time = run
        .duration_s
        .map_or(String::new(), |s| format!(" after {}", duration(s)));
    sentences.push(match run.standing {
        Standing::Done => format!("The run is done{time}."),
        Standing::Failed => format!("The run did not succeed: {}{time}.", run.outcome),
        Standing::Unfinished | Standing::Pending => {
            format!("The run has not come to its end: {}{time}.", run.outcome)
        }
    });
    sentences.extend(reported(&run.results));
    if let Some(Err(why)) = &run.record {
        sentences.push(format!("Its samples cannot be shown: {why}."));
    }
    for (node, found) in run.shown().into_iter().flat_map(|record| &record.nodes) {
        let held = found.held.iter().filter(|held| held.share >= 0.005);
        let held: Vec<String> = held
            .map(|held| match held.by {
                Holder::Nothing => format!("nothing but waiting {}", percent(held.share)),
                by => format!("the {by} {}", percent(held.share)),
            })
            .collect();
        if !held.is_empty() {
            sentences.push(format!(
                "On `{node}` it was held back by {} of the time.",
                held.join(", ")
            ));
        }
        if let Some(waited) = found.gpus.as_ref().and_then(gpus::waited) {
            sentences.push(format!("On `{node}`, {waited}."));
        }
        if let Some(energy) = gpus::energy(&found.energy) {
            sentences.push(format!("Energy on `{node}`: {energy}."));
        }
        sentences.extend(
            found
                .unusual
                .iter()
                .map(|unusual: &Unusual| crate::analyze::sentence(&unusual.to_string())),
        );
    }
    sentences
}

/// Results that a sentence names.
const RESULTS: usize = 6;

/// What the run reported last: accuracies and losses where there are any. The
/// origin lists all.
fn reported(results: &[(String, f64)]) -> Option<String> {
    let telling = |(name, _): &&(String, f64)| name.contains("acc") || name.contains("loss");
    let mut named: Vec<&(String, f64)> = results.iter().filter(telling).collect();
    if named.is_empty() {
        named = results.iter().collect();
    }
    let named: Vec<String> = named
        .iter()
        .take(RESULTS)
        .map(|(name, value)| format!("{name} {}", significant(*value, 4)))
        .collect();
    (!named.is_empty()).then(|| format!("It reported {} last.", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracies_and_losses_are_what_is_told() {
        let result = |name: &str, value: f64| (name.to_owned(), value);
        let all = [result("steps", 471.0), result("test_loss", 0.5)];
        assert_eq!(
            reported(&all).as_deref(),
            Some("It reported test_loss 0.5000 last.")
        );
        assert_eq!(
            reported(&all[..1]).as_deref(),
            Some("It reported steps 471.0 last.")
        );
        assert_eq!(reported(&[]), None);
    }
}
