//! Where the program draws: the runs, their time lines, their curves.

use super::Dossier;
use crate::html::Element;
use crate::number::count;
use crate::page::Section;

const WITHOUT_SCRIPT: &str = "Time lines, curves and the list of runs are drawn by a small program \
    inside this page, which this browser does not run. Everything else is complete.";

pub(super) fn section(dossier: &Dossier<'_>) -> Section {
    let several = dossier.study.is_some();
    let heading = if several { "Run by run" } else { "Over time" };
    let mut section = Section::new("runs", heading)
        .push(Element::new("noscript").child(Element::new("p").text(WITHOUT_SCRIPT)));
    let unreadable: Vec<String> = dossier
        .runs
        .iter()
        .filter_map(|run| match &run.record {
            Some(Err(why)) => Some(format!(
                "The record of `{}` cannot be shown: {why}.",
                run.name
            )),
            _ => None,
        })
        .collect();
    if !unreadable.is_empty() {
        let shown = unreadable.len().min(5);
        section = section.list(false, &unreadable[..shown]);
        if unreadable.len() > shown {
            let more = unreadable.len() - shown;
            section = section.paragraph(&format!("So do {more} more."));
        }
    }
    if dossier.left_out > 0 {
        section = section.paragraph(&format!(
            "A page cannot carry the time lines of so many runs: those of {} runs are left out. \
             `paceline report` of a single run shows it whole.",
            count(dossier.left_out as u64)
        ));
    }
    if several {
        section = section.push(Element::new("div").attribute("id", "runlist"));
    }
    section.push(Element::new("div").attribute("id", "timeline"))
}

/// Whether there are runs whose resources can be laid over each other.
pub(super) fn has_overlay(dossier: &Dossier<'_>) -> bool {
    let records = dossier.runs.iter().filter_map(|run| run.shown());
    let traced = records.filter(|record| !record.traces.is_empty());
    dossier.study.is_some() && traced.count() > 1
}

pub(super) fn overlay() -> Section {
    Section::new("together", "All runs together")
        .paragraph(
            "CPU, memory, disk and network of every run over each other, each level of a factor \
             in a colour and dash of its own. A run on several nodes is shown by its first.",
        )
        .push(Element::new("div").attribute("id", "overlay"))
}

pub(super) fn has_curves(dossier: &Dossier<'_>) -> bool {
    let records = dossier.runs.iter().filter_map(|run| run.shown());
    records.into_iter().any(|record| !record.curves.is_empty())
}

pub(super) fn curves(dossier: &Dossier<'_>) -> Section {
    let text = match dossier.study {
        Some(_) => {
            "What the runs reported while they trained. The run that is selected above is drawn \
             strong."
        }
        None => "What the run reported while it trained.",
    };
    Section::new("curves", "Learning curves")
        .paragraph(text)
        .push(Element::new("div").attribute("id", "curvechart"))
}
