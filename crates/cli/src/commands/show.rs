//! `paceline show`: a run again, from its record alone.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::records::{find, open};
use paceline_advise::diagnose::{Diagnosis, Node, diagnose};
use paceline_model::NodeName;
use paceline_records::{ReadTableError, Run};
use paceline_report::verdict::{self, verdict};
use paceline_report::workers::{self, workers};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its directory, or its id in ./runs
    run: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn show(args: &Args) -> Result<Exit, Failure> {
    let run = open(&find(&args.run))?;
    print(&run, args.format)?;
    Ok(Exit::Done)
}

/// Prints the verdict on a run to stdout.
pub(crate) fn print(run: &Run, format: Format) -> Result<(), Failure> {
    let text = render(run, format, &Page::of_stdout())?;
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
    let nodes = diagnoses(run).map_err(Failure::record)?;
    let crew = workers(&run.events().map_err(Failure::record)?);
    let run = verdict::Run {
        dir: run.dir(),
        state: run.state(),
        manifest: run.manifest(),
        nodes: &nodes,
        cpus: cpus as usize,
    };
    Ok(match format {
        Format::Text => {
            let table = workers::table(&crew, page.width, page.style);
            let gap = if table.is_empty() { "" } else { "\n" };
            verdict(&run, page.width, page.style) + gap + &table
        }
        Format::Json => {
            let mut whole = verdict::json(&run);
            if let (false, Some(keys)) = (crew.is_empty(), whole.as_object_mut()) {
                keys.insert("workers".to_owned(), workers::json(&crew));
            }
            output::json(&whole)
        }
    })
}

fn diagnoses(run: &Run) -> Result<Vec<(NodeName, Diagnosis)>, ReadTableError> {
    let start = &run.manifest().start;
    let events = run.events()?;
    let found = run.samples()?.into_iter().map(|(name, samples)| {
        let machine = start.machines.iter().find(|machine| machine.node == name);
        let node = Node {
            cpus: machine.map_or(1, |machine| machine.cpus_count as usize),
            memory_max_bytes: start.limits.memory_bytes,
        };
        let diagnosis = diagnose(&samples, &events, node);
        (name, diagnosis)
    });
    Ok(found.collect())
}
