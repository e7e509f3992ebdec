//! `paceline import`: other tools' runs as a table for `analyze` and `pick`.

use crate::commands::export::mlflow_server;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use paceline_exchange::import::{Imported, from_mlflow, read};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// MLflow's directory or URL, W&B's or Optuna's CSV, Optuna's journal, Spark's log
    #[arg(value_name = "FILE|DIR|URL")]
    from: PathBuf,
    /// The experiment on a server; all of them by default
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// The table to write; by default a new file in this directory
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn import(args: &Args) -> Result<Exit, Failure> {
    let url = args.from.to_str().filter(|from| from.contains("://"));
    let imported = match url {
        Some(url) => from_mlflow(&mlflow_server(url)?, args.experiment.as_deref())?,
        None => read(&args.from)?,
    };
    let out = match &args.out {
        Some(out) => out.clone(),
        None => unused(&args.from, url.is_some())?,
    };
    let written = imported.table.write_csv(&out);
    written.map_err(|error| Failure::world(error).hint("--out names another place"))?;
    output::data(&format!("{}\n", out.display()))?;
    tell(&imported, &out);
    Ok(Exit::Done)
}

fn unused(from: &Path, is_server: bool) -> Result<PathBuf, Failure> {
    let stem = match is_server {
        true => "mlflow".to_owned(),
        false => {
            let stem = from.file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        }
    };
    let out = PathBuf::from(format!("{stem}.table.csv"));
    match out.exists() {
        false => Ok(out),
        true => Err(Failure::user(anyhow!("`{}` exists", out.display()))
            .hint("--out names another file, or this one to replace it")),
    }
}

fn tell(imported: &Imported, out: &Path) {
    let named = |names: &[String]| match names.len() {
        0 => "none".to_owned(),
        n if n > 6 => format!("{} and {} more", names[..6].join(", "), n - 6),
        _ => names.join(", "),
    };
    let left_out = match imported.unfinished {
        0 => String::new(),
        n => format!(" ({n} not done, left out of answers)"),
    };
    output::tell(&format!(
        "{} runs{left_out} of {}",
        imported.table.rows().len(),
        imported.what
    ));
    output::tell(&format!("set:  {}", named(&imported.settings)));
    output::tell(&format!("came: {}", named(&imported.results)));
    if let Some(response) = imported.results.first() {
        output::tell(&format!(
            "next: paceline analyze {} --response '{response}'",
            out.display()
        ));
    }
}
