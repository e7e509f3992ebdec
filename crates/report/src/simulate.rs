//! Simulated trainings for people.

use crate::number::{bytes, count, duration, percent, significant};
use crate::text::{Column, Page, Table};
use paceline_answers::simulate::{SimulateAnswer, SimulatedCase};
use paceline_simulate::Bound;

/// The answer for people.
#[must_use]
pub fn text(answer: &SimulateAnswer, page: Page) -> String {
    let question = &answer.question;
    let mut out = String::from("Simulated, not measured: ");
    out.push_str(&match &question.measured {
        Some(run) => format!(
            "computing times of {} iterations of {}, {} on average\n",
            count(run.computing_s.len() as u64),
            run.run.display(),
            duration(run.compute().mean_s()),
        ),
        None => format!(
            "{} of computing an iteration, as given\n",
            duration(question.cluster.compute.mean_s())
        ),
    });
    if let Some(run) = &question.measured {
        out.push_str(&format!(
            "That run had {} workers and {} iterations a second.\n",
            run.workers,
            significant(run.iterations_per_s, 3),
        ));
    }
    out.push('\n');
    let mut columns = vec![
        Column::words("sync"),
        Column::amounts("workers"),
        Column::amounts("servers"),
        Column::amounts("updates/s"),
    ];
    if question.rows.is_some() {
        columns.push(Column::amounts("rows/s"));
    }
    if question.convergence.is_some() {
        columns.push(Column::amounts("to target"));
    }
    columns.extend([
        Column::decimals("computing"),
        Column::decimals("waiting"),
        Column::decimals("staleness"),
        Column::amounts("traffic").optional(),
        Column::words("bound by"),
    ]);
    let mut table = Table::new(columns);
    for case in &answer.cases {
        let mut row = vec![
            case.sync.to_string(),
            count(u64::from(case.workers)),
            case.servers
                .map_or_else(|| "–".to_owned(), |servers| servers.to_string()),
            significant(case.mean(|outcome| outcome.updates_per_s), 3),
        ];
        if let Some(rows) = question.rows {
            let iterations = case.mean(|outcome| outcome.iterations_per_s);
            row.push(significant(
                rows as f64 * f64::from(case.workers) * iterations,
                3,
            ));
        }
        if let Some(convergence) = &question.convergence {
            row.push(duration(case.seconds_to(convergence)));
        }
        row.extend([
            percent(case.mean(|outcome| outcome.shares.computing)),
            percent(case.mean(|outcome| outcome.shares.waiting)),
            significant(case.mean(|outcome| outcome.staleness_mean), 3),
            format!("{}/s", bytes(case.mean(|outcome| outcome.bytes_per_s))),
            bound(case),
        ]);
        table.row(row);
    }
    out.push_str(&table.render(page.width, page.style));
    out
}

/// What bounds a case, if all seeds agree.
fn bound(case: &SimulatedCase) -> String {
    let bounds: Vec<Bound> = case.outcomes.iter().map(|outcome| outcome.bound).collect();
    let is_one = bounds.windows(2).all(|pair| pair[0] == pair[1]);
    let Some(first) = bounds.first().filter(|_| is_one) else {
        return "now this, now that".to_owned();
    };
    match first {
        Bound::Computing => "computing",
        Bound::Waiting => "waiting for slower workers",
        Bound::ServerCore => "a server's core",
        Bound::Link if case.servers.is_some() => "a server's link",
        Bound::Link => "the slowest link",
        Bound::Switch => "the switch",
        Bound::Cores => "the cores",
        Bound::Latency => "messages on their way",
    }
    .to_owned()
}
