//! The whole report on a study or on one run: one page with everything that is
//! known, the plain words first.

mod advice;
pub(crate) mod data;
mod design;
mod findings;
mod forecast;
mod held;
mod layout;
mod origin;
mod promises;
mod record;
mod run;
mod run_pages;
mod study;
mod summary;
mod whole;

pub use advice::Advice;
pub use design::DesignPart;
pub use origin::{Origin, OwnCost};
pub use record::{Opened, to_the_second};
pub use run::standing;
pub use whole::{run_page, study_page};

use crate::analyze::AnalysisReport;
use crate::iterations::Course;
use crate::page::{Page, Script};
use crate::processes::Processes;
use crate::trace::{Curve, NodeTrace};
use crate::workers::Worker;
use paceline_answers::promises::PromisesAnswer;
use paceline_answers::report::Forecast;
use paceline_diagnose::{Diagnosis, Straggler};
use paceline_model::NodeName;

pub(crate) const CSS: &str = include_str!("dossier.css");
/// The program of pages with time lines; `script/start.js` says what data it takes.
pub(crate) const CODE: &str = concat!(
    "'use strict';(()=>{\n",
    include_str!("script/draw.js"),
    include_str!("script/timeline.js"),
    include_str!("script/curves.js"),
    include_str!("script/overlay.js"),
    include_str!("script/runs.js"),
    include_str!("script/start.js"),
    "})();\n"
);

/// Everything the report shows.
pub struct Dossier<'a> {
    /// What the user calls the study or the run.
    pub title: String,
    /// A line under the title.
    pub lead: String,
    /// The study, unless the report is on one run.
    pub study: Option<StudyPart<'a>>,
    /// The runs, in the order of execution.
    pub runs: Vec<RunPart>,
    /// How many of the runs have a record that is not shown, because a page
    /// cannot carry them all.
    pub left_out: usize,
    /// Where everything comes from.
    pub origin: Origin,
}

/// What is known of a study as a whole.
pub struct StudyPart<'a> {
    /// The factors and their levels, in the study's order.
    pub factors: Vec<(String, Vec<String>)>,
    /// The responses' names, the most important first.
    pub responses: Vec<String>,
    /// How many runs were planned.
    pub planned: usize,
    /// Whether the study is being executed now.
    pub live: bool,
    /// What explains each response, or why nothing can be said.
    pub analyses: Vec<(String, Result<AnalysisReport<'a>, String>)>,
    /// How well each response is predicted, or why it is not.
    pub forecasts: Vec<(String, Result<&'a Forecast, String>)>,
    /// Which configuration to run.
    pub advice: Advice<'a>,
    /// What was promised of runs, and what came.
    pub promises: &'a PromisesAnswer,
    /// How the runs were laid out.
    pub design: DesignPart,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The command did what it was asked to.
    Done,
    /// The command did not.
    Failed,
    /// It has not ended, or was interrupted.
    Unfinished,
    /// It has not begun.
    Pending,
}

/// One run.
#[derive(Debug, Clone)]
pub struct RunPart {
    /// Its name.
    pub name: String,
    /// The levels of the study's factors, in their order.
    pub levels: Vec<String>,
    /// The study's responses, in the order of [`StudyPart::responses`].
    pub responses: Vec<Option<f64>>,
    /// The last values that it reported, for a report on one run.
    pub results: Vec<(String, f64)>,
    /// Where it stands.
    pub standing: Standing,
    /// How it ended, in words.
    pub outcome: String,
    /// How long it took.
    pub duration_s: Option<f64>,
    /// What disturbed it.
    pub noise: Option<String>,
    /// What its record shows; nothing for a run that has none, and the reason
    /// for one that cannot be read.
    pub record: Option<Result<RecordPart, String>>,
}

/// What the record of a run shows.
#[derive(Debug, Clone)]
pub struct RecordPart {
    /// The findings about each node.
    pub nodes: Vec<(NodeName, Diagnosis)>,
    /// The time lines of each node.
    pub traces: Vec<NodeTrace>,
    /// The learning curves.
    pub curves: Vec<Curve>,
    /// Who computed and who waited.
    pub workers: Vec<Worker>,
    /// What each process used.
    pub processes: Processes,
    /// How the workers' iterations went, where that is shown.
    pub course: Option<Course>,
    /// The straggler among its workers, if the test names one.
    pub straggler: Option<Straggler>,
    /// What happened when, in seconds.
    pub marks: Vec<(f64, String)>,
}

impl Dossier<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = Page::new(&self.title)
            .lead(&self.lead)
            .style(CSS)
            .section(summary::section(self));
        if let Some(study) = &self.study {
            if let Some(advised) = advice::section(&study.advice) {
                page = page.section(advised);
            }
            page = page
                .section(promises::section(study.promises))
                .section(findings::section(study))
                .section(forecast::section(study));
        }
        page = page.section(run_pages::section(self));
        if run_pages::has_overlay(self) {
            page = page.section(run_pages::overlay());
        }
        if run_pages::has_curves(self) {
            page = page.section(run_pages::curves(self));
        }
        page = page.section(held::section(self));
        if let Some(study) = &self.study {
            page = page.section(design::section(study));
        }
        page.section(origin::section(self))
            .foot(&format!(
                "Made by {} at {} from {}. This page is complete in itself and loads nothing.",
                self.origin.made_by, self.origin.made_at, self.origin.source
            ))
            .script(Script::new(CODE, data::data(self)))
            .render()
    }

    /// How many runs stand so.
    pub(crate) fn count(&self, standing: Standing) -> usize {
        let same = |run: &&RunPart| run.standing == standing;
        self.runs.iter().filter(same).count()
    }
}

impl RunPart {
    /// What the record shows, if there is one that can be read.
    pub(crate) fn shown(&self) -> Option<&RecordPart> {
        self.record.as_ref()?.as_ref().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_cannot_end_its_element_and_names_no_host() {
        assert!(!CODE.contains("</script"));
        let without_namespace = CODE.replace("http://www.w3.org/2000/svg", "");
        for outside in [
            "http:",
            "https:",
            "fetch(",
            "XMLHttpRequest",
            "import(",
            "eval(",
        ] {
            assert!(!without_namespace.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_program_writes_no_markup() {
        for writer in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
        ] {
            assert!(!CODE.contains(writer), "{writer}");
        }
    }
}
