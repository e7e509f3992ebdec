//! `paceline ls`: the runs of a directory.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::records::RUNS;
use paceline_records::{Listed, State, Summary, list};
use paceline_report::number;
use paceline_report::text::{Column, Table};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory that holds the runs; a study's directory is fine too
    #[arg(default_value = RUNS)]
    dir: PathBuf,
    /// Only the newest N runs
    #[arg(long, short = 'n', value_name = "N")]
    last: Option<usize>,
    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn ls(args: &Args) -> Result<Exit, Failure> {
    let dir = runs_of(&args.dir);
    if !dir.exists() {
        return Err(
            Failure::user(anyhow::anyhow!("{} does not exist", dir.display()))
                .hint("`paceline run -- COMMAND` makes the first run, in ./runs"),
        );
    }
    let mut runs = list(&dir).map_err(Failure::world)?;
    if let Some(last) = args.last {
        runs.drain(..runs.len().saturating_sub(last));
    }
    let text = match args.format {
        Format::Text => table(&runs, &output::stdout_page()),
        Format::Json => {
            let rows: Vec<_> = runs.iter().map(row_json).collect();
            output::json(&json!({ "runs": rows }))
        }
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// A study keeps its runs one level below.
fn runs_of(dir: &Path) -> PathBuf {
    let below = dir.join(RUNS);
    if below.is_dir() {
        below
    } else {
        dir.to_owned()
    }
}

fn table(runs: &[Listed], page: &Page) -> String {
    if runs.is_empty() {
        return "no runs\n".to_owned();
    }
    let mut table = Table::new([
        Column::words("run"),
        Column::words("started (UTC)"),
        Column::words("outcome"),
        Column::amounts("time"),
        Column::words("command"),
    ]);
    for listed in runs {
        let id = listed
            .dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match &listed.summary {
            Ok(summary) => table.row([
                id,
                minute(summary),
                outcome(summary),
                summary
                    .duration
                    .map_or(String::new(), |time| number::duration(time.as_secs())),
                summary.argv.join(" "),
            ]),
            Err(error) => table.row([
                id,
                String::new(),
                "unreadable".into(),
                String::new(),
                error.to_string(),
            ]),
        };
    }
    table.render(page.width, page.style)
}

/// `2026-11-15 22:45`: the seconds are in the run's id.
fn minute(summary: &Summary) -> String {
    summary
        .started
        .to_string()
        .replace('T', " ")
        .chars()
        .take(16)
        .collect()
}

fn outcome(summary: &Summary) -> String {
    match (summary.state, &summary.outcome) {
        (State::Live, _) => "runs".to_owned(),
        (_, Some(outcome)) => outcome.to_string(),
        (_, None) => "interrupted".to_owned(),
    }
}

fn row_json(listed: &Listed) -> serde_json::Value {
    let dir = listed.dir.to_string_lossy();
    match &listed.summary {
        Ok(summary) => json!({
            "dir": dir,
            "id": summary.id.as_str(),
            "name": summary.name,
            "argv": summary.argv,
            "started": summary.started.to_string(),
            "outcome": outcome(summary),
            "duration_s": summary.duration.map(paceline_model::Micros::as_secs),
            "factors": summary.factors.iter().map(|(name, level)| (name.clone(), level.to_string().into())).collect::<serde_json::Map<_, _>>(),
            "responses": summary.responses.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
        }),
        Err(error) => json!({ "dir": dir, "error": error.to_string() }),
    }
}
