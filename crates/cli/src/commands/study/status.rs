//! `paceline study status`: how far a study is.

use super::place::look;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use paceline_records::study::Plan;
use paceline_report::number;
use paceline_report::text::{Column, Table};
use paceline_runner::study::{Counts, Progress, RunState};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study's file or directory
    study: PathBuf,
    /// The study's directory, if it is not STUDY.study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// More trials than this are not listed one by one.
const MOST_LISTED: usize = 40;

pub(super) fn status(args: &Args) -> Result<Exit, Failure> {
    let seen = look(&args.study, args.out.as_deref())?;
    let text = match args.format {
        Format::Text => {
            let page = output::stdout_page();
            let now = if seen.live { "running" } else { "not running" };
            let head = format!("{} ({now})\n", seen.dir.path().display());
            head + &trials(&seen.plan, &seen.progress, &page)
                + &summary(&seen.plan, &seen.progress, &page)
                + "\n"
        }
        Format::Json => output::json(&as_json(&seen.plan, &seen.progress, seen.live)),
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// One line: how many runs stand where.
pub(super) fn summary(_plan: &Plan, progress: &Progress, _page: &Page) -> String {
    let Counts {
        pending,
        leased,
        done,
        failed,
    } = progress.counts();
    let mut text = format!("{done} of {} runs done", progress.counts().total());
    for (count, what) in [(failed, "failed"), (leased, "begun"), (pending, "to do")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// What is known of one trial.
#[derive(Default)]
struct Trial {
    done: u32,
    failed: u32,
    noisy: u32,
    runs: u32,
    seconds: f64,
}

fn by_trial(plan: &Plan, progress: &Progress) -> Vec<Trial> {
    let mut trials: Vec<Trial> = plan.trials.iter().map(|_| Trial::default()).collect();
    for (position, run) in plan.runs.iter().enumerate() {
        let trial = &mut trials[run.trial as usize];
        trial.runs += 1;
        match progress.state(position) {
            RunState::Done { result, .. } => {
                trial.done += 1;
                trial.seconds += result.duration_s;
                trial.noisy += u32::from(result.noise.is_some());
            }
            RunState::Failed { .. } => trial.failed += 1,
            RunState::Pending | RunState::Leased { .. } => {}
        }
    }
    trials
}

pub(super) fn trials(plan: &Plan, progress: &Progress, page: &Page) -> String {
    let mut columns: Vec<Column> = plan
        .factors
        .iter()
        .map(|name| Column::words(name))
        .collect();
    columns.extend(["done", "failed", "noisy", "mean time"].map(Column::amounts));
    let mut table = Table::new(columns);
    let trials = by_trial(plan, progress);
    for (planned, trial) in plan.trials.iter().zip(&trials).take(MOST_LISTED) {
        let mut cells: Vec<String> = planned.levels.iter().map(ToString::to_string).collect();
        let mean = trial.seconds / f64::from(trial.done);
        cells.push(format!("{}/{}", trial.done, trial.runs));
        cells.push(if trial.failed > 0 {
            trial.failed.to_string()
        } else {
            String::new()
        });
        cells.push(if trial.noisy > 0 {
            trial.noisy.to_string()
        } else {
            String::new()
        });
        cells.push(if trial.done > 0 {
            number::duration(mean)
        } else {
            String::new()
        });
        table.row(cells);
    }
    let mut text = table.render(page.width, page.style);
    if trials.len() > MOST_LISTED {
        text.push_str(&format!(
            "… and {} more trials\n",
            trials.len() - MOST_LISTED
        ));
    }
    text
}

fn as_json(plan: &Plan, progress: &Progress, live: bool) -> serde_json::Value {
    let Counts {
        pending,
        leased,
        done,
        failed,
    } = progress.counts();
    let runs: Vec<_> = plan
        .runs
        .iter()
        .enumerate()
        .map(|(position, run)| {
            let (state, attempt, result) = match progress.state(position) {
                RunState::Pending => ("pending", None, None),
                RunState::Leased { attempt } => ("begun", Some(*attempt), None),
                RunState::Done { attempt, result } => ("done", Some(*attempt), Some(result)),
                RunState::Failed { attempt, result } => ("failed", Some(*attempt), Some(result)),
            };
            json!({
                "run": run.id.as_str(),
                "trial": run.trial + 1,
                "replicate": run.replicate + 1,
                "state": state,
                "attempt": attempt,
                "outcome": result.map(|result| result.outcome.as_str()),
                "duration_s": result.map(|result| result.duration_s),
                "noise": result.and_then(|result| result.noise.as_ref()).map(|noise| &noise.evidence),
            })
        })
        .collect();
    json!({
        "live": live,
        "total": plan.runs.len(),
        "done": done,
        "failed": failed,
        "begun": leased,
        "pending": pending,
        "runs": runs,
    })
}
