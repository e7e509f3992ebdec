//! `paceline report`: everything about a study or a run on one page.

use crate::args::Format;
use crate::commands::study::place;
use crate::commands::table_args::{tell_disturbed, time_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::output;
use crate::quantity;
use crate::records;
use crate::study_file;
use anyhow::anyhow;
use paceline_advise::pick::Objective;
use paceline_answers::report::{self as answers, ReportQuestion};
use paceline_answers::results::Results;
use paceline_answers::results::StudyResults;
use paceline_records::WallTime;
use paceline_records::study::StudyDir;
use paceline_report::dossier::{Origin, run_page, study_page, to_the_second};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A study, by its directory or its file; or a run, by its directory or what `show` calls it
    #[arg(allow_negative_numbers = true)]
    dir: PathBuf,
    /// Where to write the page; by default report.html in a study's directory, RUN.html
    /// beside a run's
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The responses to show first, open; the others follow
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    response: Vec<String>,
    /// The deadline of a run that a configuration is picked for, as in 300s
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    slo: Option<Duration>,
    /// The response that is to be large
    #[arg(long, value_name = "COLUMN", group = "objective")]
    maximize: Option<String>,
    /// The response that is to be small
    #[arg(long, value_name = "COLUMN", group = "objective")]
    minimize: Option<String>,
    /// The response that the deadline limits; by default the one that is a time
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// The probability with which the deadline must be kept
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.95, value_parser = probability)]
    confidence: f64,
    /// How to print what was written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 1.0);
    number.ok_or_else(|| format!("`{text}` is not a probability between 0 and 1"))
}

/// A report that was written.
#[derive(Debug)]
pub(crate) struct Written {
    /// The page.
    pub(crate) path: PathBuf,
    /// Its size.
    pub(crate) bytes: usize,
    /// Whether the deadline can be kept; nothing without one, or where nothing
    /// can be said.
    pub(crate) met: Option<bool>,
    /// What the page says, for programs.
    facts: Value,
}

pub(crate) fn report(args: &Args) -> Result<Exit, Failure> {
    let objective = match (&args.maximize, &args.minimize) {
        (Some(name), _) => Some(Objective::Maximise(name.clone())),
        (None, Some(name)) => Some(Objective::Minimise(name.clone())),
        (None, None) => None,
    };
    let question = ReportQuestion {
        responses: args.response.clone(),
        deadline_s: args.slo.map(|slo| slo.as_secs_f64()),
        objective,
        time: args.time.clone(),
        confidence: args.confidence,
    };
    let dir = place::results(&args.dir)?;
    let written = write(&dir, args.out.as_deref(), &question)?;
    output::data(&match args.format {
        Format::Text => format!("{}\n", written.path.display()),
        Format::Json => output::json(&written.json()),
    })?;
    if let Ok(results) = Results::open(&dir) {
        tell_disturbed(
            &results,
            Some(time_of(&results)),
            "paceline analyze --response",
        );
    }
    Ok(match written.met {
        Some(false) => Exit::Unmet,
        _ => Exit::Done,
    })
}

/// Writes the report on the study or run in `dir`.
fn write(dir: &Path, out: Option<&Path>, question: &ReportQuestion) -> Result<Written, Failure> {
    if !dir.as_os_str().is_empty() && StudyDir::new(dir).plan().exists() {
        return write_report(&StudyDir::new(dir), out, question);
    }
    let found = records::find(Some(dir))?;
    if found.is_dir() && !found.join("manifest.json").exists() && !found.join("start.json").exists()
    {
        let text = format!("{} is neither a study nor a run", dir.display());
        return Err(Failure::user(anyhow!(text)).hint(
            "a study's directory holds plan.json, a run's holds manifest.json; `paceline study \
             run` and `paceline run` make them",
        ));
    }
    let run = records::open(&found)?;
    if question.deadline_s.is_some()
        || question.objective.is_some()
        || !question.responses.is_empty()
    {
        return Err(Failure::user(anyhow!(
            "{} is one run, among which nothing can be picked",
            run.dir().display()
        ))
        .hint("a deadline, a response and an objective are for the directory of a study"));
    }
    let place = match out {
        Some(out) => out.to_owned(),
        None => found.with_added_extension("html"),
    };
    let file = OutFile::create(&place)?;
    let (html, facts) = run_page(&run, origin(&found)).map_err(Failure::record)?;
    finish(file, &html, None, facts)
}

/// Writes the report on a study and says where it is.
///
/// The page appears whole or not at all. Runs that failed or are not done are
/// said and left out of the statistics; a study too small for them gets a page
/// that says so.
fn write_report(
    study: &StudyDir,
    out: Option<&Path>,
    question: &ReportQuestion,
) -> Result<Written, Failure> {
    let place = match out {
        Some(out) => out.to_owned(),
        None => study.path().join("report.html"),
    };
    // A place that cannot be written to is found before the work, not after.
    let file = OutFile::create(&place)?;
    let results = StudyResults::open(study.path())?;
    study_file::tell_notices(&study.study().display().to_string(), &results.study);
    let report = answers::study(Arc::new(results), question)?;
    let html = study_page(&report, origin(study.path()));
    finish(file, &html, report.met, report.json())
}

fn finish(file: OutFile, html: &str, met: Option<bool>, facts: Value) -> Result<Written, Failure> {
    let path = file.finish(html)?;
    Ok(Written {
        path,
        bytes: html.len(),
        met,
        facts,
    })
}

impl Written {
    fn json(&self) -> Value {
        let mut value = json!({
            "path": self.path.to_string_lossy(),
            "bytes": self.bytes,
        });
        if let (Value::Object(value), Value::Object(facts)) = (&mut value, self.facts.clone()) {
            value.extend(facts);
        }
        value
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a page says when it was made, and the cli owns the clock"
)]
pub(crate) fn origin(source: &Path) -> Origin {
    let now = WallTime::from(SystemTime::now()).to_string();
    Origin {
        source: source.display().to_string(),
        made_by: concat!("Paceline ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_at: to_the_second(&now),
        ..Origin::default()
    }
}
