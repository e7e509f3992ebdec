//! `paceline export`: a run or a study for other tools.

use crate::commands::study::place;
use crate::context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::records::find;
use crate::screen::Screen;
use anyhow::anyhow;
use clap::ValueEnum;
use paceline_exchange::{
    Server, Source, TableFormat, mlflow, openmetrics, tensorboard, write_tables,
};
use paceline_records::study::StudyDir;
use paceline_records::{Run, SealRunError, State};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run: its directory; or, in ./runs, its id, its name, a unique beginning of either,
    /// `last` or -1 for the newest, -2 for the one before. Or a study: its directory or its file
    #[arg(allow_negative_numbers = true)]
    run: PathBuf,
    /// The format to write
    #[arg(long, value_enum)]
    to: To,
    /// Where to: a directory, by default one named like the format inside the run's or study's;
    /// for MLflow the server, by default that in MLFLOW_TRACKING_URI
    #[arg(long, value_name = "DIR|URL")]
    out: Option<PathBuf>,
    /// MLflow's experiment, which is made if need be; by default that in MLFLOW_EXPERIMENT_NAME,
    /// or else one named like the study or run
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// One CSV file per table
    Csv,
    /// Parquet files; of a run without --out its record's own
    Parquet,
    /// One file of JSON lines per table
    Json,
    /// One Arrow IPC file (Feather) per table
    Arrow,
    /// Event files with scalars and hyper-parameters, one directory per run
    Tensorboard,
    /// Runs on an MLflow server; the token is in MLFLOW_TRACKING_TOKEN
    Mlflow,
    /// OpenMetrics text with timestamps, one file per run
    Openmetrics,
}

impl To {
    /// The directory inside the run's or the study's.
    fn directory(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Json => "json",
            Self::Arrow => "arrow",
            Self::Tensorboard => "tensorboard",
            Self::Mlflow => "mlflow",
            Self::Openmetrics => "openmetrics",
        }
    }
}

pub(crate) fn export(args: &Args) -> Result<Exit, Failure> {
    let dir = directory(&args.run)?;
    let is_study = StudyDir::new(&dir).plan().exists();
    if args.to == To::Parquet && args.out.is_none() && !is_study {
        let files = own_parquet(Run::open(&dir)?)?;
        return list(&files);
    }
    let source = Source::open(&dir)?;
    let screen = Screen::new(false);
    let mut progress = |done: usize, all: usize, run: &str| {
        screen.status(bar(done, all, run));
    };
    if args.to == To::Mlflow {
        let sent = to_mlflow(args, &source, &mut progress);
        screen.close();
        return sent;
    }
    let own = dir.join(args.to.directory());
    let out = args.out.as_deref().unwrap_or(&own);
    refuse_address(out)?;
    let mut tables = |format| write_tables(&source, format, out, &mut progress);
    let files = match args.to {
        To::Csv => tables(TableFormat::Csv),
        To::Parquet => tables(TableFormat::Parquet),
        To::Json => tables(TableFormat::JsonLines),
        To::Arrow => tables(TableFormat::Arrow),
        To::Tensorboard => tensorboard::write(&source, out, &mut progress),
        To::Openmetrics => openmetrics::write(&source, out, &mut progress),
        To::Mlflow => unreachable!("sent above"),
    };
    screen.close();
    let files = files?;
    list(&files)?;
    if args.to == To::Tensorboard {
        output::tell(&format!("see it: tensorboard --logdir {}", out.display()));
    }
    Ok(Exit::Done)
}

/// A run by any of its names, or a study by its directory or file.
fn directory(name: &Path) -> Result<PathBuf, Failure> {
    match name.is_file() {
        true => place::results(name),
        false => find(Some(name)),
    }
}

/// A directory may have any name, but one like this is meant as an address.
fn refuse_address(out: &Path) -> Result<(), Failure> {
    match out.to_str().and_then(|out| out.split_once("://")) {
        None => Ok(()),
        Some((scheme, _)) => Err(Failure::user(anyhow!(
            "`{}` is not a directory: files are not written to {scheme}:// addresses",
            out.display()
        ))
        .hint("export into a directory and copy that, or use --to mlflow for a server")),
    }
}

fn list(files: &[PathBuf]) -> Result<Exit, Failure> {
    let lines = files.iter().map(|file| format!("{}\n", file.display()));
    output::data(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

fn to_mlflow(
    args: &Args,
    source: &Source,
    progress: &mut paceline_exchange::Progress<'_>,
) -> Result<Exit, Failure> {
    let named = args.out.as_ref().and_then(|out| out.to_str());
    let url = named
        .map(str::to_owned)
        .or_else(|| set("MLFLOW_TRACKING_URI"));
    let url = url.ok_or_else(|| {
        Failure::user(anyhow!("no MLflow server is named"))
            .hint("--out http://HOST:5000, or MLFLOW_TRACKING_URI")
    })?;
    let server = mlflow_server(&url)?;
    let experiment = args.experiment.clone();
    let experiment = experiment.or_else(|| set("MLFLOW_EXPERIMENT_NAME"));
    let experiment = experiment.unwrap_or_else(|| source.title.clone());
    let sent = mlflow::export(source, &server, &experiment, progress)?;
    let already = match sent.already {
        0 => String::new(),
        n => format!(", {n} were there"),
    };
    let url = url.trim_end_matches('/');
    output::data(&format!("{url}/#/experiments/{}\n", sent.experiment))?;
    output::tell(&format!(
        "{} of {} runs written to experiment {experiment}{already}",
        sent.written,
        source.runs.len()
    ));
    Ok(Exit::Done)
}

/// A variable of the environment that holds something.
fn set(name: &str) -> Option<String> {
    let value = context::variable(name)?.into_string().ok()?;
    Some(value).filter(|value| !value.is_empty())
}

/// A server with the token and the authorities of the environment.
pub(crate) fn mlflow_server(url: &str) -> Result<Server, Failure> {
    let token = set("MLFLOW_TRACKING_TOKEN");
    let authorities = set("SSL_CERT_FILE").map(PathBuf::from);
    Server::new(url, token.as_deref(), authorities).map_err(Failure::from)
}

/// How much of the work is done, on one line.
fn bar(done: usize, all: usize, now: &str) -> String {
    const WIDTH: usize = 24;
    let filled = WIDTH * done / all.max(1);
    let (full, rest) = ("█".repeat(filled), "░".repeat(WIDTH - filled));
    format!("{full}{rest} {done} of {all}, {} left: {now}", all - done)
}

/// A finished record holds its Parquet files already.
fn own_parquet(run: Run) -> Result<Vec<PathBuf>, Failure> {
    let run = match run.state() {
        State::Finished => run,
        State::Interrupted | State::Live => Run::seal(run.dir()).map_err(|error| match error {
            SealRunError::Live { .. } => {
                Failure::user(error).hint("wait for its end, or export --to csv what there is")
            }
            other => Failure::world(other),
        })?,
    };
    let nodes = run.nodes().map_err(Failure::record)?;
    let tables = nodes.iter().flat_map(|node| {
        ["parquet", "parts.parquet"]
            .map(|end| run.dir().join("samples").join(format!("{node}.{end}")))
    });
    Ok(tables.chain([run.dir().join("events.parquet")]).collect())
}
