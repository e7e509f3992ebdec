//! A size for people.

use crate::number::{count, duration, significant};
use crate::text::{Column, Page, Table};
use paceline_advise::size::SizeOption;
use paceline_answers::size::SizeAnswer;

/// The answer for people.
#[must_use]
pub fn text(answer: &SizeAnswer, page: Page) -> String {
    let mut out = format!(
        "Done in {} with probability {}, learned from {} runs of {}\n\n",
        duration(answer.request.deadline_s),
        answer.request.confidence,
        count(answer.table.runs.rows() as u64),
        answer.table.source
    );
    let mut table = Table::new([
        Column::words("choice"),
        Column::words("machine"),
        Column::amounts("workers"),
        Column::amounts("time"),
        Column::decimals("cost"),
        Column::decimals("probability"),
        Column::words("note").optional(),
    ]);
    let sizing = &answer.sizing;
    let mut row = |name: &str, option: &Option<SizeOption>| match option {
        Some(option) => {
            table.row([
                name.to_owned(),
                answer.machines[option.machine].name.clone(),
                option.workers.to_string(),
                duration(option.seconds),
                significant(option.cost, 3),
                format!("{:.3}", option.probability),
                if option.extrapolated {
                    "beyond what was measured"
                } else {
                    ""
                }
                .to_owned(),
            ]);
        }
        None => {
            table.row([
                name,
                "none",
                "–",
                "–",
                "–",
                "–",
                "nothing keeps the deadline",
            ]);
        }
    };
    row("cheapest", &sizing.best);
    row("scale up", &sizing.scale_up);
    row("scale out", &sizing.scale_out);
    if sizing.best.is_none() {
        row("likeliest", &Some(sizing.likeliest.clone()));
    }
    out += &table.render(page.width, page.style);
    out.push('\n');
    for shape in &sizing.shapes {
        let name = &answer.machines[shape.machine].name;
        out += &format!(
            "{name}: beyond {} workers each one more brings little",
            shape.knee
        );
        out += &match shape.slower_from {
            Some(from) => format!("; from {from} on it gets slower\n"),
            None => "\n".to_owned(),
        };
    }
    out
}
