//! `paceline doctor`: what this machine offers, what is missing, how to get it.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use paceline_probe::{Capabilities, Offer, Roots};
use paceline_report::number;
use paceline_report::text::paragraph;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn doctor(args: &Args) -> Result<Exit, Failure> {
    let found = Capabilities::detect(&Roots::default());
    let text = match args.format {
        Format::Text => describe(&found, &output::stdout_page()),
        Format::Json => output::json(&as_json(&found)),
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

fn describe(found: &Capabilities, page: &Page) -> String {
    let machine = &found.machine;
    let memory = machine
        .memory_bytes
        .map_or("unknown".to_owned(), |b| number::bytes(b as f64));
    let mut text = format!(
        "{}: {} cpus ({}), {memory} memory, Linux {} {}\n\n",
        machine.node,
        machine.cpus_count,
        machine.cpu_model.as_deref().unwrap_or("unknown model"),
        machine.kernel,
        machine.architecture,
    );
    for Offer {
        name,
        found,
        advice,
    } in &found.offers
    {
        let (mark, words) = match found {
            Ok(what) => ("yes", what),
            Err(lost) => ("no ", lost),
        };
        let lead = format!("{mark}  {}: ", page.style.strong(name));
        text.push_str(&paragraph(&lead, words, page.width));
        if let Some(advice) = advice {
            text.push_str(&paragraph("     hint: ", advice, page.width));
        }
    }
    text
}

fn as_json(found: &Capabilities) -> serde_json::Value {
    let machine = &found.machine;
    let offers: Vec<_> = found
        .offers
        .iter()
        .map(
            |Offer {
                 name,
                 found,
                 advice,
             }| {
                let (available, detail) = match found {
                    Ok(what) => (true, what),
                    Err(lost) => (false, lost),
                };
                json!({ "name": name, "available": available, "detail": detail, "advice": advice })
            },
        )
        .collect();
    json!({
        "machine": {
            "hostname": machine.node.as_str(),
            "kernel": machine.kernel,
            "architecture": machine.architecture,
            "cpu_model": machine.cpu_model,
            "cpus_count": machine.cpus_count,
            "memory_bytes": machine.memory_bytes,
        },
        "offers": offers,
    })
}
