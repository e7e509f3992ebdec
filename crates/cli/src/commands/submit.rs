//! `paceline submit`, `jobs`, `cancel` and `explain`: the queue from the terminal.

use super::study::place::results;
use super::table_args::settings;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{context, output, quantity};
use anyhow::anyhow;
use paceline_model::Level;
use paceline_records::WallTime;
use paceline_records::journal::replay;
use paceline_report::number;
use paceline_serve::client::{AskError, Server};
use paceline_serve::place::Place;
use paceline_serve::queue::{Entry, State};
use paceline_serve::request::Request;
use paceline_serve::scheduler::now_ms;
use paceline_serve::view;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study: its directory or its file
    #[arg(required_unless_present = "command")]
    study: Option<PathBuf>,
    /// When it must have ended, from now, as in 10m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    deadline: Option<Duration>,
    /// With which probability
    #[arg(
        long,
        value_name = "PROBABILITY",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    confidence: f64,
    /// The response that is to be large; without an objective, the names of a study's responses
    /// tell it
    #[arg(long, value_name = "COLUMN", group = "objective")]
    maximize: Option<String>,
    /// The response that is to be small
    #[arg(long, value_name = "COLUMN", group = "objective")]
    minimize: Option<String>,
    /// Factors that are fixed, as in workers=2,sync=bsp
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = settings)]
    given: Option<Settings>,
    /// The job may make fewer epochs, if that keeps its promise
    #[arg(long)]
    epochs_free: bool,
    /// Run it without a promise, if nothing is known of it
    #[arg(long)]
    learn: bool,
    /// How many CPUs a command gets
    #[arg(long, value_name = "COUNT")]
    cpus: Option<u32>,
    #[command(flatten)]
    queue: QueueArgs,
    /// A command and its arguments, instead of a study
    #[arg(last = true, value_name = "CMD", conflicts_with = "study")]
    command: Vec<String>,
}

type Settings = Vec<(String, Level)>;

/// Which queue, and how it is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct QueueArgs {
    /// The directory that `paceline serve` serves
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JobsArgs {
    #[command(flatten)]
    queue: QueueArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// The job, as `paceline jobs` calls it
    job: String,
    #[command(flatten)]
    queue: QueueArgs,
}

impl QueueArgs {
    fn place(&self) -> Result<Place, Failure> {
        let dir = std::path::absolute(&self.dir).map_err(Failure::world)?;
        Ok(Place::of(&dir))
    }

    fn server(&self) -> Result<Server, Failure> {
        Server::find(&self.place()?.server()).map_err(nobody)
    }

    /// Every job: as the server sees it, or as the journal has it if nobody serves.
    fn jobs(&self) -> Result<Value, Failure> {
        let place = self.place()?;
        let asked =
            Server::find(&place.server()).and_then(|server| server.ask("GET /api/state", b""));
        if let Ok((200, seen)) = asked {
            return Ok(seen);
        }
        if !place.journal().exists() {
            return Err(
                Failure::user(anyhow!("there is no queue in {}", self.dir.display()))
                    .hint("`paceline serve DIR` makes one; --dir names its directory"),
            );
        }
        let entries = replay::<Entry>(&place.journal())
            .map_err(Failure::record)?
            .entries;
        let state = State::replay(&entries);
        output::tell(
            "notice: nobody serves this queue; nothing is started until `paceline serve` does",
        );
        let cpus = state
            .jobs()
            .iter()
            .map(|one| one.job.cpus)
            .max()
            .unwrap_or(1);
        Ok(view::queue(&state, &HashMap::new(), now_ms(), cpus))
    }
}

fn nobody(error: AskError) -> Failure {
    Failure::world(error).hint("`paceline serve DIR` takes jobs for DIR; --dir names it")
}

/// What the server says of a request that it did not take.
fn refusal(status: u16, said: &Value) -> Failure {
    let error = said["error"].as_str().unwrap_or("it was refused");
    let error = anyhow!("{error}");
    let failure = match status {
        500.. => Failure::world(error),
        _ => Failure::user(error),
    };
    match said["hint"].as_str() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(crate) fn submit(args: &Args) -> Result<Exit, Failure> {
    let study = args.study.as_deref().map(absolute).transpose()?;
    let given = args.given.iter().flatten();
    let request = Request {
        study,
        command: args.command.clone(),
        cwd: match args.command.is_empty() {
            true => None,
            false => Some(context::working_directory()?),
        },
        deadline_s: args.deadline.map(|deadline| deadline.as_secs_f64()),
        confidence: args.confidence,
        maximize: args.maximize.clone(),
        minimize: args.minimize.clone(),
        given: given
            .map(|(name, level)| (name.clone(), level.to_string()))
            .collect(),
        epochs_free: args.epochs_free,
        cpus: args.cpus,
        learn: args.learn,
    };
    let body = serde_json::to_vec(&request).map_err(Failure::world)?;
    let (status, said) = args
        .queue
        .server()?
        .ask("POST /api/jobs", &body)
        .map_err(nobody)?;
    if !matches!(status, 200 | 201) {
        return Err(refusal(status, &said));
    }
    let accepted = said["accepted"] == true;
    output::data(&match args.queue.format {
        Format::Json => output::json(&said),
        Format::Text if accepted => accepted_text(&said),
        Format::Text => refused_text(&said, args),
    })?;
    Ok(if accepted { Exit::Done } else { Exit::Unmet })
}

fn absolute(study: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(results(study)?).map_err(|error| {
        Failure::user(anyhow!(error).context(format!("there is no {}", study.display())))
    })
}

fn accepted_text(said: &Value) -> String {
    let word = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let mut text = format!("accepted: {} {}\n", word("id"), word("title"));
    match (said["deadline_ms"].as_u64(), said["probability"].as_f64()) {
        (Some(due), Some(probability)) => {
            let due = WallTime(due as i64 * 1000);
            text.push_str(&format!(
                "promised: it has ended by {due} with a probability of {probability:.2}\n"
            ));
        }
        _ => text.push_str("promised: nothing\n"),
    }
    for one in said["predictions"].as_array().into_iter().flatten() {
        let number = |key: &str| one[key].as_f64().unwrap_or(f64::NAN);
        text.push_str(&format!(
            "predicted: {} {} ({} to {})\n",
            one["response"].as_str().unwrap_or_default(),
            number::significant(number("value"), 4),
            number::significant(number("low"), 4),
            number::significant(number("high"), 4),
        ));
    }
    text + &format!("because: {}\n", word("because"))
}

fn refused_text(said: &Value, args: &Args) -> String {
    let asked = args.deadline.map_or(0.0, |deadline| deadline.as_secs_f64());
    let best = said["best_probability"].as_f64().unwrap_or(0.0);
    let mut text = format!(
        "refused: within {} it would end with a probability of {best:.2}, and {} is asked for\n",
        number::duration(asked),
        args.confidence
    );
    match said["nearest_deadline_s"].as_f64() {
        Some(nearest) => text.push_str(&format!(
            "the nearest deadline that could be kept: {}\n",
            number::duration(nearest)
        )),
        None => text.push_str("no deadline could be kept\n"),
    }
    let names: Vec<&str> = said["in_the_way"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !names.is_empty() {
        text.push_str(&format!(
            "without one of these it could be taken on: {}\n",
            names.join(", ")
        ));
    }
    text
}

pub(crate) fn jobs(args: &JobsArgs) -> Result<Exit, Failure> {
    let seen = args.queue.jobs()?;
    output::data(&match args.queue.format {
        Format::Json => output::json(&seen),
        Format::Text => table(&seen),
    })?;
    Ok(Exit::Done)
}

fn table(seen: &Value) -> String {
    let jobs = seen["jobs"].as_array().cloned().unwrap_or_default();
    if jobs.is_empty() {
        return "no jobs yet; `paceline submit` asks for one\n".to_owned();
    }
    let mut text = String::new();
    for job in &jobs {
        let word = |key: &str| job[key].as_str().unwrap_or_default();
        let chance = job["chance"].as_f64().or(job["probability"].as_f64());
        let chance = chance.map_or(String::new(), |chance| format!("{chance:.2}"));
        let ends = match (job["ends_expected_s"].as_f64(), job["duration_s"].as_f64()) {
            (_, Some(took)) => format!("took {}", number::duration(took)),
            (Some(left), None) => format!("ends in {}", number::duration(left)),
            (None, None) => String::new(),
        };
        text.push_str(&format!(
            "{:6} {:9} {:16} {:5} {:18} {}\n",
            word("id"),
            word("state"),
            word("promise"),
            chance,
            ends,
            word("title")
        ));
    }
    let promises = &seen["promises"];
    let count = |key: &str| promises[key].as_u64().unwrap_or(0);
    let tested = count("kept") + count("broken");
    if tested > 0 {
        text.push_str(&format!(
            "{} of {tested} promises kept, {:.2} stated\n",
            count("kept"),
            promises["stated"].as_f64().unwrap_or(0.0)
        ));
    }
    text
}

pub(crate) fn cancel(args: &JobArgs) -> Result<Exit, Failure> {
    check_name(&args.job)?;
    let request = format!("DELETE /api/jobs/{}", args.job);
    let (status, said) = args.queue.server()?.ask(&request, b"").map_err(nobody)?;
    if status != 200 {
        return Err(refusal(status, &said));
    }
    output::data(&match args.queue.format {
        Format::Json => output::json(&said),
        Format::Text => format!("{} is cancelled\n", args.job),
    })?;
    Ok(Exit::Done)
}

/// A name goes into a request as it is.
fn check_name(name: &str) -> Result<(), Failure> {
    match name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty() {
        true => Ok(()),
        false => {
            Err(Failure::user(anyhow!("`{name}` is no job's name"))
                .hint("`paceline jobs` lists them"))
        }
    }
}

pub(crate) fn explain(args: &JobArgs) -> Result<Exit, Failure> {
    check_name(&args.job)?;
    let seen = args.queue.jobs()?;
    let mut jobs = seen["jobs"].as_array().into_iter().flatten();
    let job = jobs
        .find(|job| job["id"] == args.job.as_str())
        .ok_or_else(|| {
            Failure::user(anyhow!("there is no job `{}`", args.job))
                .hint("`paceline jobs` lists them")
        })?;
    if args.queue.format == Format::Json {
        output::data(&output::json(job))?;
        return Ok(Exit::Done);
    }
    let word = |key: &str| job[key].as_str().unwrap_or_default();
    let time = |key: &str| {
        job[key]
            .as_u64()
            .map(|ms| WallTime(ms as i64 * 1000).to_string())
    };
    let mut text = format!("{} {}: {}\n", word("id"), word("state"), word("title"));
    let mut line = |name: &str, words: Option<String>| {
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            text.push_str(&format!("  {name}: {words}\n"));
        }
    };
    line("taken on", time("accepted_ms"));
    line("deadline", time("deadline_ms"));
    line("why so", Some(word("because").to_owned()));
    line(
        "promised",
        job["probability"].as_f64().map(|p| format!("{p:.2}")),
    );
    line("now", job["chance"].as_f64().map(|p| format!("{p:.2}")));
    line(
        "done",
        job["share_done"]
            .as_f64()
            .map(|share| format!("{:.0}%", 100.0 * share)),
    );
    line(
        "expected to end in",
        job["ends_expected_s"].as_f64().map(number::duration),
    );
    line("outcome", job["outcome"].as_str().map(str::to_owned));
    line("took", job["duration_s"].as_f64().map(number::duration));
    line("promise", Some(word("promise").to_owned()));
    for act in job["acts"].as_array().into_iter().flatten() {
        let when = act["time_ms"]
            .as_u64()
            .map(|ms| WallTime(ms as i64 * 1000).to_string());
        line(
            &when.unwrap_or_default(),
            act["words"].as_str().map(str::to_owned),
        );
    }
    output::data(&text)?;
    Ok(Exit::Done)
}
