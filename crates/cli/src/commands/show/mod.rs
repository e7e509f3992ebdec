//! `paceline show`: a run again, from its record alone.

mod iterations;

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::records::{find, open};
use anyhow::anyhow;
use clap::ValueEnum;
use iterations::Rows;
use paceline_answers::report::courses;
use paceline_diagnose::{Diagnosis, Node, diagnose, find_straggler};
use paceline_model::{Event, NodeName, Sample};
use paceline_records::{Run, event_log_dir};
use paceline_report::diagnose::{straggler_json, straggler_line};
use paceline_report::members::{self, members};
use paceline_report::nodes;
use paceline_report::notices::{self, notices};
use paceline_report::processes;
use paceline_report::spark::{self, Told};
use paceline_report::verdict::{self, verdict};
use paceline_report::workers::{self, workers};
use paceline_spark::{Application, Held};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its directory; or, in ./runs, its id, its name, a unique beginning of either,
    /// `last` or -1 for the newest, -2 for the one before [default: last]
    #[arg(allow_negative_numbers = true)]
    run: Option<PathBuf>,
    /// Show what each worker of a training did, iteration by iteration; as json or csv, every row
    #[arg(long)]
    iterations: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: ShowFormat,
}

/// How a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ShowFormat {
    /// For people.
    #[default]
    Text,
    /// For programs; the keys are a promise.
    Json,
    /// The rows of --iterations, for programs.
    Csv,
}

pub(crate) fn show(args: &Args) -> Result<Exit, Failure> {
    let run = open(&find(args.run.as_deref())?)?;
    match (args.iterations, args.format) {
        (true, ShowFormat::Text) => iterations::tables(&run)?,
        (true, ShowFormat::Json) => iterations::rows(&run, Rows::Json)?,
        (true, ShowFormat::Csv) => iterations::rows(&run, Rows::Csv)?,
        (false, ShowFormat::Text) => print(&run, Format::Text)?,
        (false, ShowFormat::Json) => print(&run, Format::Json)?,
        (false, ShowFormat::Csv) => {
            return Err(Failure::user(anyhow!("a verdict is no table")).hint(
                "--iterations has rows; `paceline export` writes samples and events as CSV",
            ));
        }
    }
    Ok(Exit::Done)
}

/// Prints the verdict on a run to stdout.
pub(crate) fn print(run: &Run, format: Format) -> Result<(), Failure> {
    let text = render(run, format, &output::stdout_page())?;
    output::data(&text)
}

/// The verdict on a run.
pub(crate) fn render(run: &Run, format: Format, page: &Page) -> Result<String, Failure> {
    let cpus = run
        .manifest()
        .start
        .machines
        .first()
        .map_or(1, |machine| machine.cpus_count);
    let events = run.events().map_err(Failure::record)?;
    let samples = run.samples().map_err(Failure::record)?;
    let nodes = diagnoses(run, &samples, &events);
    let cluster = run.manifest().start.cluster.clone();
    let (crew, processes) = (workers(&events), members(&samples));
    let straggler = find_straggler(&courses(run).map_err(Failure::record)?);
    let each = processes::of(&samples, |node| {
        let mut nodes = nodes.iter();
        let (_, found) = nodes.find(|(name, _)| name == node)?;
        found.gpus.as_ref()?.busy.map(|busy| busy.mean)
    });
    let told = notices(&events);
    let applications = applications(run);
    let applications: Vec<Told<'_>> = applications
        .iter()
        .map(|(application, held)| Told {
            application,
            held: held.as_ref(),
        })
        .collect();
    let run = verdict::Run {
        dir: run.dir(),
        state: run.state(),
        manifest: run.manifest(),
        nodes: &nodes,
        cpus: cpus as usize,
    };
    Ok(match format {
        Format::Text => {
            let mut text = verdict(&run, page.width, page.style);
            for more in [
                notices::list(&told, page.width, page.style),
                nodes::table(cluster.as_ref(), &nodes, page.width, page.style),
                workers::table(&crew, page.width, page.style),
                members::table(&processes, page.width, page.style),
                // A training's own members have been told already.
                match processes.is_empty() {
                    true => each.table(page.width, page.style),
                    false => String::new(),
                },
            ] {
                if !more.is_empty() {
                    text.push('\n');
                    text.push_str(&more);
                }
            }
            if crew.len() > 1 {
                let line = straggler_line(straggler.as_ref(), crew.len());
                text.push_str(&format!("straggler: {line}\n"));
            }
            for told in &applications {
                text.push('\n');
                text.push_str(&spark::text(told, page.width, page.style));
            }
            text
        }
        Format::Json => {
            let mut whole = verdict::json(&run);
            if let Some(keys) = whole.as_object_mut() {
                if let Some(cluster) = nodes::json(cluster.as_ref(), &nodes) {
                    keys.insert("cluster".to_owned(), cluster);
                }
                let parts = [
                    ("workers", crew.is_empty(), workers::json(&crew)),
                    ("members", processes.is_empty(), members::json(&processes)),
                    ("processes", each.all.is_empty(), each.json()),
                    ("events", told.is_empty(), notices::json(&told)),
                    (
                        "spark",
                        applications.is_empty(),
                        applications.iter().map(spark::json).collect(),
                    ),
                ];
                if crew.len() > 1 {
                    keys.insert("straggler".to_owned(), straggler_json(straggler.as_ref()));
                }
                for (key, is_empty, value) in parts {
                    if !is_empty {
                        keys.insert(key.to_owned(), value);
                    }
                }
            }
            output::json(&whole)
        }
    })
}

/// So many Spark applications of one run are told.
const MOST_APPLICATIONS: usize = 8;

/// The Spark applications whose event logs are in the record. What cannot be read
/// was told when the record was closed.
fn applications(run: &Run) -> Vec<(Application, Option<Held>)> {
    let logs = paceline_spark::find(&event_log_dir(run.dir())).unwrap_or_default();
    logs.iter()
        .take(MOST_APPLICATIONS)
        .filter_map(|log| paceline_spark::read(log).ok())
        .map(|application| {
            let held = Held::of(&application);
            (application, held)
        })
        .collect()
}

/// What held each node of a run back.
pub(super) fn diagnoses(
    run: &Run,
    samples: &[(NodeName, Vec<Sample>)],
    events: &[Event],
) -> Vec<(NodeName, Diagnosis)> {
    let start = &run.manifest().start;
    let found = samples.iter().map(|(name, samples)| {
        let machine = start.machines.iter().find(|machine| machine.node == *name);
        let node = Node {
            cpus: machine.map_or(1, |machine| machine.cpus_count as usize),
            memory_max_bytes: start.limits.memory_bytes,
        };
        (name.clone(), diagnose(samples, events, node))
    });
    found.collect()
}
