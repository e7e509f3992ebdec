//! The page about a comparison: the sentences, the tables, and every run's
//! resources over each other.

use super::{cells, rows, sentences};
use crate::dossier::{CODE, CSS, Origin, data::short};
use crate::html::Element;
use crate::page::{Heading, HtmlTable, Page, Script, Section};
use crate::trace::NodeTrace;
use paceline_answers::compare::CompareAnswer;
use serde_json::{Value, json};

/// The time lines of one run.
#[derive(Debug, Clone)]
pub struct Traced {
    /// The group, by its place.
    pub group: usize,
    /// The run's id.
    pub name: String,
    /// How it ended, in words.
    pub outcome: String,
    /// How long it took.
    pub duration_s: Option<f64>,
    /// The time lines of its nodes.
    pub traces: Vec<NodeTrace>,
}

/// The whole page.
#[must_use]
pub fn page(answer: &CompareAnswer, runs: &[Traced], origin: &Origin) -> String {
    let labels: Vec<&str> = answer
        .groups
        .iter()
        .map(|group| group.label.as_str())
        .collect();
    let groups = answer.groups.iter();
    let whats = groups.map(|group| format!("`{}`: {}", group.label, group.what));
    let mut summary = Section::new("summary", "In short")
        .list(false, sentences(answer))
        .subheading("What is compared")
        .list(false, whats.collect::<Vec<_>>());
    if !answer.cautions.is_empty() {
        summary = summary
            .subheading("What makes it less certain")
            .list(false, &answer.cautions);
    }
    let mut numbers = Section::new("numbers", "In numbers").paragraph(
        "A difference counts if Welch's t test, its p-value adjusted by Holm, and the rank sum \
         test agree at 5%. Times are one family of tests, everything else another.",
    );
    for (other, group) in answer.groups.iter().enumerate().skip(1) {
        let headings = [
            Heading::words("quantity"),
            Heading::numbers(labels[0]),
            Heading::numbers(&group.label),
            Heading::numbers("change"),
            Heading::words("interval"),
            Heading::numbers("p"),
            Heading::words("finding"),
        ];
        let caption = format!("{} beside {}", group.label, labels[0]);
        let mut table = HtmlTable::new(&caption, headings);
        for one in rows(answer, other) {
            table.row(cells(one));
        }
        numbers = numbers.push(table);
    }
    let together = Section::new("together", "Over time")
        .paragraph("What every run used, over each other; a run on several nodes by its first.")
        .push(Element::new("div").attribute("id", "overlay"));
    Page::new(&format!("Comparison of {}", labels.join(", ")))
        .lead(&origin.source)
        .style(CSS)
        .section(summary)
        .section(numbers)
        .section(together)
        .foot(&format!(
            "Made by {} at {} from {}. This page is complete in itself and loads nothing.",
            origin.made_by, origin.made_at, origin.source
        ))
        .script(Script::new(CODE, data(&labels, runs)))
        .render()
}

/// As the program of a study's page takes it: the group is the only factor.
fn data(labels: &[&str], runs: &[Traced]) -> Value {
    let runs = runs.iter().map(|run| {
        json!({
            "n": run.name,
            "l": [run.group],
            "r": [],
            "k": 0,
            "o": run.outcome,
            "d": run.duration_s.map(short),
            "t": run.traces.iter().map(|trace| trace.data().clone()).collect::<Vec<_>>(),
        })
    });
    json!({
        "study": true,
        "factors": [{ "n": "runs of", "v": labels }],
        "responses": [],
        "metrics": [],
        "runs": runs.collect::<Vec<_>>(),
    })
}
