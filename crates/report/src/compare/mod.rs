//! Comparisons of runs for people.

mod page;
mod words;

pub use page::{Traced, page};

use crate::number;
use crate::text::{Column, Page, Table, paragraph};
use paceline_answers::compare::{CompareAnswer, Compared, Finding, Kind, Summary};
use words::{change, interval, moved, p_value, time_sentence, value};

/// The answer as text: the sentences first, then a table for each group.
#[must_use]
pub fn text(answer: &CompareAnswer, page: Page) -> String {
    let mut out = String::new();
    for group in &answer.groups {
        let runs = match group.done().count() {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        let line = format!("{}  {} ({runs})", group.label, group.what);
        out += &format!("{}\n", crate::text::truncate(&line, page.width));
    }
    out.push('\n');
    for sentence in sentences(answer) {
        out += &paragraph("", &sentence, page.width);
    }
    for caution in &answer.cautions {
        out += &paragraph("caution   ", caution, page.width);
    }
    for other in 1..answer.groups.len() {
        out.push('\n');
        out += &table(answer, other).render(page.width, page.style);
    }
    out
}

/// Repeated runs of one command: how long they took, and what they used.
#[must_use]
pub fn summary(summary: &Summary, page: Page) -> String {
    let mut out = format!(
        "{}: {} done",
        summary.what,
        number::plural(summary.done, "run")
    );
    if summary.failed > 0 {
        out += &format!(", {} failed", summary.failed);
    }
    if summary.disturbed > 0 {
        out += &format!(", {} disturbed by other work", summary.disturbed);
    }
    out.push('\n');
    let mut table = Table::new([
        Column::words(""),
        Column::amounts("mean"),
        Column::words("95% interval"),
        Column::amounts("deviation").optional(),
        Column::amounts("least"),
        Column::amounts("median"),
        Column::amounts("greatest"),
    ]);
    for spread in &summary.spreads {
        let told = |amount: f64| value(spread.quantity.unit, amount);
        table.row([
            spread.quantity.name.clone(),
            told(spread.mean),
            spread.interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", told(low), told(high))
            }),
            spread.deviation.map_or_else(String::new, told),
            told(spread.range.0),
            told(spread.range.1),
            told(spread.range.2),
        ]);
    }
    out + &table.render(page.width, page.style)
}

/// What the answer comes to, one sentence for each thing that can be said.
#[must_use]
pub fn sentences(answer: &CompareAnswer) -> Vec<String> {
    let mut sentences = Vec::new();
    for time in &answer.times {
        sentences.push(time_sentence(answer, time));
        sentences.extend(moved(answer, time.other));
    }
    sentences
}

/// What is compared of one group, the time first.
fn rows(answer: &CompareAnswer, other: usize) -> impl Iterator<Item = &Compared> {
    let all = answer.times.iter().chain(&answer.others);
    all.filter(move |one| one.other == other)
}

fn table(answer: &CompareAnswer, other: usize) -> Table {
    let (first, group) = (&answer.groups[0].label, &answer.groups[other].label);
    let mut table = Table::new([
        Column::words(""),
        Column::amounts(first),
        Column::amounts(group),
        Column::amounts("change"),
        Column::words("interval").optional(),
        Column::amounts("p"),
        Column::words(""),
    ]);
    for one in rows(answer, other) {
        let cells = cells(one);
        match one.quantity.kind == Kind::Time {
            true => table.strong_row(cells),
            false => table.row(cells),
        };
    }
    table
}

/// Name, both means, change, interval, p-value, finding.
fn cells(one: &Compared) -> [String; 7] {
    [
        one.quantity.name.clone(),
        value(one.quantity.unit, one.means.0),
        value(one.quantity.unit, one.means.1),
        change(one),
        interval(one),
        p_value(one),
        finding(one.finding).to_owned(),
    ]
}

fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Differs => "differs",
        Finding::NotShown => "not shown",
        Finding::Disagree => "tests disagree",
        Finding::Equal => "equal",
        Finding::Unknown => "not known",
    }
}

#[cfg(test)]
mod tests;
