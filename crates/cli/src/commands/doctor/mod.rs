//! `paceline doctor`: what this machine offers, what is missing, how to get it.

mod ask;
mod engines;

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use engines::{EngineArgs, EngineName};
use paceline_probe::{Capabilities, Offer, Roots};
use paceline_report::number;
use paceline_report::text::paragraph;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn doctor(args: &Args) -> Result<Exit, Failure> {
    if let Some(engine) = args.engine.engine {
        return examine(args, engine);
    }
    let found = Capabilities::detect(&Roots::default());
    let text = match args.format {
        Format::Text => describe(&found, &output::stdout_page()),
        Format::Json => output::json(&as_json(&found)),
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// Says what a run of `true` on a cluster met with.
fn examine(args: &Args, engine: EngineName) -> Result<Exit, Failure> {
    let offers = engines::examine(&args.engine, engine)?;
    let text = match args.format {
        Format::Text => {
            let page = output::stdout_page();
            offers.iter().map(|offer| line(offer, &page)).collect()
        }
        Format::Json => {
            let offers: Vec<_> = offers.iter().map(offer_json).collect();
            output::json(&json!({ "offers": offers }))
        }
    };
    output::data(&text)?;
    Ok(match offers.iter().all(|offer| offer.found.is_ok()) {
        true => Exit::Done,
        false => Exit::World,
    })
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
    for offer in &found.offers {
        text.push_str(&line(offer, page));
    }
    text
}

fn line(offer: &Offer, page: &Page) -> String {
    let (mark, words) = match &offer.found {
        Ok(what) => ("yes", what),
        Err(lost) => ("no ", lost),
    };
    let lead = format!("{mark}  {}: ", page.style.strong(offer.name));
    let mut text = paragraph(&lead, words, page.width);
    if let Some(advice) = &offer.advice {
        text.push_str(&paragraph("     hint: ", advice, page.width));
    }
    text
}

fn offer_json(offer: &Offer) -> serde_json::Value {
    let (available, detail) = match &offer.found {
        Ok(what) => (true, what),
        Err(lost) => (false, lost),
    };
    json!({
        "name": offer.name,
        "available": available,
        "detail": detail,
        "advice": offer.advice,
    })
}

fn as_json(found: &Capabilities) -> serde_json::Value {
    let machine = &found.machine;
    let offers: Vec<_> = found.offers.iter().map(offer_json).collect();
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
