//! `paceline show --iterations`: what each worker of a training did, iteration by
//! iteration.

use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use paceline_model::{Iteration, WorkerId};
use paceline_records::Run;
use paceline_report::iterations::Course;

/// A page has room for about so many stretches of a run.
const STRETCHES: usize = 10;

/// Text that is handed over at a time.
const AT_ONCE: usize = 64 << 10;

/// Two tables for people.
pub(super) fn tables(run: &Run) -> Result<(), Failure> {
    let mut course = Course::new(STRETCHES);
    run.each_iteration(|worker, row| course.add(worker, &row))
        .map_err(Failure::record)?;
    if course.is_empty() {
        return Err(Failure::user(anyhow!(
            "{} has no iterations of workers",
            run.dir().display()
        ))
        .hint("`paceline train --workers` records them"));
    }
    let page = output::stdout_page();
    output::data(&course.tables(page.width, page.style))
}

/// All rows as one JSON document, or as CSV after RFC 4180.
pub(super) fn rows(run: &Run, format: Rows) -> Result<(), Failure> {
    let mut text = match format {
        Rows::Json => output::versioned("{\n  \"iterations\": ["),
        Rows::Csv => concat!(
            "elapsed_s,worker,iteration,iterations,waiting_s,waited_for,receiving_s,",
            "computing_s,sending_s,rows,sent_bytes,received_bytes,staleness,dropped,",
            "serialising_s,on_wire_s,queued_s,on_cpu_s,runnable_s\r\n"
        )
        .to_owned(),
    };
    let mut written = Ok(());
    let mut is_first = true;
    run.each_iteration(|worker, row| {
        match format {
            Rows::Json => {
                text.push_str(if is_first { "\n    " } else { ",\n    " });
                text.push_str(&json(worker, &row).to_string());
            }
            Rows::Csv => push_csv(&mut text, worker, &row),
        }
        is_first = false;
        if text.len() > AT_ONCE && written.is_ok() {
            written = output::data(&text);
            text.clear();
        }
    })
    .map_err(Failure::record)?;
    written?;
    if format == Rows::Json {
        text.push_str("\n  ]\n}\n");
    }
    output::data(&text)
}

/// How rows are written for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Json,
    Csv,
}

fn json(worker: WorkerId, row: &Iteration) -> serde_json::Value {
    serde_json::json!({
        "elapsed_s": row.began.as_secs_f64(),
        "worker": worker.0,
        "iteration": row.clock,
        "iterations": row.iterations,
        "waiting_s": row.waiting.as_secs_f64(),
        "waited_for": row.waited_for.map(|other| other.0),
        "receiving_s": row.receiving.as_secs_f64(),
        "computing_s": row.computing.as_secs_f64(),
        "sending_s": row.sending.as_secs_f64(),
        "rows": row.rows,
        "sent_bytes": row.sent_bytes,
        "received_bytes": row.received_bytes,
        "staleness": row.staleness,
        "dropped": row.dropped,
        "serialising_s": row.serialising.as_secs_f64(),
        "on_wire_s": row.on_wire.as_secs_f64(),
        "queued_s": row.queued.as_secs_f64(),
        "on_cpu_s": row.on_cpu.as_secs_f64(),
        "runnable_s": row.runnable.as_secs_f64(),
    })
}

fn push_csv(text: &mut String, worker: WorkerId, row: &Iteration) {
    let waited_for = row
        .waited_for
        .map_or(String::new(), |other| other.0.to_string());
    text.push_str(&format!(
        "{},{},{},{},{},{waited_for},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
        row.began.as_secs_f64(),
        worker.0,
        row.clock,
        row.iterations,
        row.waiting.as_secs_f64(),
        row.receiving.as_secs_f64(),
        row.computing.as_secs_f64(),
        row.sending.as_secs_f64(),
        row.rows,
        row.sent_bytes,
        row.received_bytes,
        row.staleness,
        row.dropped,
        row.serialising.as_secs_f64(),
        row.on_wire.as_secs_f64(),
        row.queued.as_secs_f64(),
        row.on_cpu.as_secs_f64(),
        row.runnable.as_secs_f64(),
    ));
}
