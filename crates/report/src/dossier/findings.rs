//! What matters for each response: the analysis of variance and its plots.

use super::StudyPart;
use crate::analyze::AnalysisReport;
use crate::html::{Element, Html};
use crate::page::Section;

pub(super) fn section(study: &StudyPart<'_>) -> Section {
    let (first, others) = match study.analyses.split_first() {
        Some((first, others)) => (first, others),
        None => {
            return Section::new("matters", "What matters")
                .paragraph("No response has values yet.");
        }
    };
    let mut section = Section::new("matters", &format!("What matters for {}", first.0));
    section = match &first.1 {
        Ok(report) => section.push(parts(report, "h3")),
        Err(why) => section.push(unexplained(&first.0, why)),
    };
    // The first response is the one the reader came for; the others wait.
    for (response, analysis) in others {
        let heading = Element::new("h3").text(&format!("What matters for {response}"));
        let content = match analysis {
            Ok(report) => parts(report, "h4"),
            Err(why) => unexplained(response, why),
        };
        let summary = Element::new("summary").child(heading);
        section = section.push(Element::new("details").child(summary).child(content));
    }
    section
}

fn unexplained(response: &str, why: &str) -> Html {
    let text = format!("Nothing can be said about `{response}`: {why}.");
    Element::new("p").child(Html::prose(&text)).into()
}

fn parts(report: &AnalysisReport<'_>, heading: &'static str) -> Html {
    Html::join(
        report
            .parts()
            .into_iter()
            .flat_map(|(text, part)| [Element::new(heading).text(&text).into(), part]),
    )
}
