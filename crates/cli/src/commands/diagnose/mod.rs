//! `paceline diagnose`: what held a run back, who was slow and why, and what would help.

mod check;

use super::show::diagnoses;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::records::{find, open};
use anyhow::anyhow;
use paceline_answers::report::courses;
use paceline_diagnose::values;
use paceline_records::study::StudyDir;
use paceline_records::{Run, list};
use paceline_report::diagnose::{self, Findings};
use paceline_report::number::percent;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, as `show` takes it, or the directory of a study [default: last]
    #[arg(allow_negative_numbers = true)]
    what: Option<PathBuf>,
    /// Train again, as it was and with each what-if that an option makes real, beside the record
    #[arg(long)]
    check: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn diagnose(args: &Args) -> Result<Exit, Failure> {
    if let Some(dir) = &args.what
        && StudyDir::new(dir).plan().exists()
    {
        if args.check {
            return Err(Failure::user(anyhow!("a study has many runs to check"))
                .hint("name one of its runs"));
        }
        return of_study(dir, args.format);
    }
    let run = open(&find(args.what.as_deref())?)?;
    let found = findings(&run)?;
    let checked = match args.check {
        true => check::check(&run, &found)?,
        false => Vec::new(),
    };
    output::data(&match args.format {
        Format::Text => {
            let page = output::stdout_page();
            diagnose::text(&found, page.width, page.style) + &diagnose::checked_text(&checked)
        }
        Format::Json => {
            let mut whole = diagnose::json(&found);
            whole["run"] = run.manifest().start.id.as_str().into();
            if args.check {
                whole["checked"] = diagnose::checked_json(&checked);
            }
            output::json(&whole)
        }
    })?;
    Ok(Exit::Done)
}

/// What is found about a run.
pub(super) fn findings(run: &Run) -> Result<Findings, Failure> {
    let events = run.events().map_err(Failure::record)?;
    let samples = run.samples().map_err(Failure::record)?;
    let machines = &run.manifest().start.machines;
    let nodes = diagnoses(run, &samples, &events)
        .into_iter()
        .map(|(name, found)| {
            let machine = machines.iter().find(|machine| machine.node == name);
            let cpus = machine.map_or(1, |machine| machine.cpus_count as usize);
            (name, cpus, found)
        })
        .collect();
    let courses = courses(run).map_err(Failure::record)?;
    Ok(Findings::of(nodes, &courses, has_link(run)))
}

/// Whether updates passed a link between hosts, or one made slow.
fn has_link(run: &Run) -> bool {
    let start = &run.manifest().start;
    let nodes = start
        .cluster
        .as_ref()
        .map_or(1, |cluster| cluster.nodes.len());
    let told = |option| values(&start.argv, option);
    nodes > 1
        || !told("--bandwidth").is_empty()
        || !told("--delay").is_empty()
        || told("--spawn").iter().any(|value| value == "hosts")
}

/// A line for each run of a study.
fn of_study(dir: &Path, format: Format) -> Result<Exit, Failure> {
    let runs = list(&StudyDir::new(dir).runs()).map_err(Failure::world)?;
    if runs.is_empty() {
        return Err(Failure::user(anyhow!("{} has no run yet", dir.display()))
            .hint("`paceline study run` executes it"));
    }
    let mut text = String::new();
    let mut whole = Vec::new();
    for listed in runs {
        let run = open(&listed.dir)?;
        let found = findings(&run)?;
        let name = listed
            .dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match format {
            Format::Text => text += &line(&name, &found),
            Format::Json => {
                let mut one = diagnose::json(&found);
                one["run"] = name.into();
                whole.push(one);
            }
        }
    }
    output::data(&match format {
        Format::Text => text,
        Format::Json => output::json(&json!({"version": diagnose::VERSION, "runs": whole})),
    })?;
    Ok(Exit::Done)
}

fn line(name: &str, found: &Findings) -> String {
    let mut parts = Vec::new();
    for (node, _, diagnosis) in &found.nodes {
        if let Some(held) = diagnosis.held.first() {
            parts.push(format!("{node} {} {}", held.by, percent(held.share)));
        }
    }
    if let Some((part, share)) = found.most() {
        parts.push(format!("workers {} {}", part.words(), percent(share)));
    }
    if found.workers.len() > 1 {
        let line = diagnose::straggler_line(found.straggler.as_ref(), found.workers.len());
        parts.push(format!("straggler {line}"));
    }
    format!("{name}: {}\n", parts.join("; "))
}
