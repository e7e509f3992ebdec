//! `paceline version`: which Paceline this is, for bug reports and scripts.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_kernels::Isa;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn version(args: &Args) -> Result<Exit, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let mut features = Vec::new();
    if cfg!(feature = "tui") {
        features.push("tui");
    }
    let checked = cfg!(debug_assertions);
    let instructions = Isa::detect().name();
    output::data(&match args.format {
        Format::Text => format!(
            "paceline {version}\nbuilt for {target}{}{}\narithmetic by {instructions} instructions here\n",
            match features[..] {
                [] => String::new(),
                _ => format!(", with {}", features.join(", ")),
            },
            if checked { ", unoptimised" } else { "" },
        ),
        Format::Json => output::json(&json!({
            "paceline": version,
            "target": target,
            "features": features,
            "optimised": !checked,
            "instructions": instructions,
        })),
    })?;
    Ok(Exit::Done)
}
