//! `paceline queue`: how long jobs wait, and how many a cluster can take.

mod amount;
mod closed;
mod open;
mod promise;
mod service;

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::quantity;
use anyhow::anyhow;
use closed::Closed;
use open::{Open, Variation, comparison};
use paceline_advise::queue::{QueueError, Rate, Service};
use paceline_report::number::percent;
use promise::{CapacityTable, Promised};
use serde_json::json;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Rates and times are read after the arguments, so that a mistake is told with
/// a hint like any other.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many jobs arrive: 3/min, 0.5/s, 120/h
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    arrivals: Option<String>,
    /// The mean time between two arrivals: 20s
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "arrivals"
    )]
    every: Option<String>,
    /// How busy the servers shall be, from which the arrivals follow: 0.8
    #[arg(long, value_name = "RHO", allow_hyphen_values = true, conflicts_with_all = ["arrivals", "every"])]
    utilisation: Option<f64>,
    /// The mean time that one server takes for a job, 12s, or its rate, 5/min
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    service: Option<String>,
    /// How much service varies: its standard deviation over its mean
    #[arg(
        long,
        value_name = "RATIO",
        allow_hyphen_values = true,
        requires = "service"
    )]
    cv: Option<f64>,
    /// How many servers: 4, or 1..8 to compare
    #[arg(long, value_name = "N|A..B", default_value = "1", value_parser = servers)]
    servers: RangeInclusive<usize>,
    /// The most jobs in the system; others are turned away
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["promise", "cv", "from"])]
    capacity: Option<usize>,
    /// Estimate service from the runs of a study's directory or a CSV file
    #[arg(long, value_name = "DIR|CSV", conflicts_with = "service")]
    from: Option<PathBuf>,
    /// The column of that table with the time of service in seconds
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "duration_s",
        requires = "from"
    )]
    service_column: String,
    /// Only the runs with this level; may be repeated
    #[arg(long, value_name = "NAME=LEVEL", value_parser = quantity::variable, requires = "from")]
    given: Vec<(String, String)>,
    /// How many arrivals keep this promise: 0.95:60s
    #[arg(long, value_name = "FRACTION:TIME", allow_hyphen_values = true)]
    promise: Option<String>,
    /// So many jobs circulate between stations, and none arrives
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["arrivals", "every", "utilisation", "service", "from", "promise", "capacity"])]
    closed: Option<usize>,
    /// A station where jobs queue, with what a job needs there in one round
    #[arg(long, value_name = "NAME=TIME", value_parser = quantity::variable, requires = "closed")]
    station: Vec<(String, String)>,
    /// The time that a job spends elsewhere in one round, without queueing
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        requires = "closed"
    )]
    think: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// More numbers of servers than this are not compared.
const MOST_COMPARED: usize = 1000;

fn servers(text: &str) -> Result<RangeInclusive<usize>, String> {
    let unusable = || format!("`{text}` is not a number such as 4 or a range such as 1..8");
    let whole = |text: &str| text.trim().parse::<usize>().map_err(|_| unusable());
    let range = match text.split_once("..") {
        Some((low, high)) => whole(low)?..=whole(high.trim_start_matches('='))?,
        None => whole(text)?..=whole(text)?,
    };
    if *range.start() == 0 {
        Err("a queue needs at least one server".to_owned())
    } else if range.is_empty() {
        Err(format!("`{text}` ends before it begins"))
    } else if range.end() - range.start() >= MOST_COMPARED {
        Err(format!("at most {MOST_COMPARED} numbers are compared"))
    } else {
        Ok(range)
    }
}

pub(crate) fn queue(args: &Args) -> Result<Exit, Failure> {
    if let Some(jobs) = args.closed {
        let closed = Closed::new(jobs, &args.station, args.think.as_deref())?;
        print(args, |page| closed.text(page), || closed.json())?;
        return Ok(Exit::Done);
    }
    let served = Served::read(args)?;
    let answers = arrivals(args)?
        .map(|arrivals| answers(args, &served, arrivals))
        .transpose()?;
    let promised = args.promise.as_deref().map(Promised::read).transpose()?;
    let capacities = promised
        .map(|promised| {
            CapacityTable::new(
                promised,
                served.service,
                served.variation,
                args.servers.clone(),
            )
        })
        .transpose()?;
    if answers.is_none() && capacities.is_none() {
        return Err(
            Failure::user(anyhow!("nothing says how many jobs arrive")).hint(
                "give --arrivals 3/min, --every 20s or --utilisation 0.8; or ask for the arrivals \
             that keep a --promise 0.95:60s",
            ),
        );
    }
    let text = |page: Page| {
        let parts = [
            served.source.clone().map(|source| source + "\n"),
            answers.as_ref().map(|answers| match answers.as_slice() {
                [one] => one.text(page),
                several => comparison(several, page),
            }),
            capacities.as_ref().map(|table| table.text(page)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("\n")
    };
    let json = || {
        json!({
            "source": served.source,
            "queues": answers.iter().flatten().map(open::Answer::json).collect::<Vec<_>>(),
            "promise": capacities.as_ref().map(CapacityTable::json),
        })
    };
    print(args, text, json)?;
    let settles = answers.is_none_or(|all| all.iter().any(open::Answer::is_stable));
    let kept = capacities.is_none_or(|table| table.can_be_kept());
    Ok(if settles && kept {
        Exit::Done
    } else {
        Exit::Unmet
    })
}

fn print(
    args: &Args,
    text: impl FnOnce(Page) -> String,
    json: impl FnOnce() -> serde_json::Value,
) -> Result<(), Failure> {
    output::data(&match args.format {
        Format::Text => text(output::stdout_page()),
        Format::Json => output::json(&json()),
    })
}

/// What one server does, and how that is known.
struct Served {
    service: Service,
    variation: Variation,
    /// Where it comes from, if it was estimated.
    source: Option<String>,
}

impl Served {
    fn read(args: &Args) -> Result<Self, Failure> {
        if let Some(path) = &args.from {
            let found = service::estimate(path, &args.service_column, &args.given)?;
            let source = format!(
                "service estimated from {} runs in {}: {} on average, varying by {} of it",
                found.runs,
                found.source,
                amount::seconds(found.service.rate().interval()),
                percent(found.service.squared_variation().sqrt()),
            );
            return Ok(Self {
                service: found.service,
                variation: Variation::Known,
                source: Some(source),
            });
        }
        let Some(text) = &args.service else {
            return Err(Failure::user(anyhow!("nothing says how long a job takes"))
                .hint("give --service 12s, or --from DIR to estimate it from runs"));
        };
        let rate = match text.contains('/') {
            true => amount::rate("--service", text)?,
            false => amount::every("--service", text)?,
        };
        let squared = args.cv.map_or(1.0, |cv| cv * cv.abs());
        let refused = |_| {
            let cv = args.cv.unwrap_or(1.0);
            Failure::user(anyhow!("--cv: service cannot vary by {cv}"))
                .hint("0 is constant service, 1 is as variable as exponential service")
        };
        Ok(Self {
            service: Service::new(rate, squared).map_err(refused)?,
            variation: match args.cv {
                Some(_) => Variation::Known,
                None => Variation::Exponential,
            },
            source: None,
        })
    }
}

/// Arrivals as they were asked for.
#[derive(Clone, Copy)]
enum Arrivals {
    At(Rate),
    /// As many as keep the servers so busy.
    Busy(f64),
}

fn arrivals(args: &Args) -> Result<Option<Arrivals>, Failure> {
    Ok(match (&args.arrivals, &args.every, args.utilisation) {
        (Some(text), _, _) => Some(Arrivals::At(amount::rate("--arrivals", text)?)),
        (_, Some(text), _) => Some(Arrivals::At(amount::every("--every", text)?)),
        (_, _, Some(busy)) if busy.is_finite() && busy > 0.0 => Some(Arrivals::Busy(busy)),
        (_, _, Some(busy)) => {
            return Err(
                Failure::user(anyhow!("--utilisation: servers cannot be {busy} busy"))
                    .hint("it is a fraction above 0 and below 1, such as 0.8"),
            );
        }
        (None, None, None) => None,
    })
}

fn answers(args: &Args, served: &Served, arrivals: Arrivals) -> Result<Vec<open::Answer>, Failure> {
    let refused = |error: QueueError| match error {
        QueueError::CapacityBelowServers { .. } => Failure::user(anyhow!("--capacity: {error}"))
            .hint("it counts the jobs in service as well as those that wait"),
        error => Failure::user(error),
    };
    let one = |servers: usize| {
        let arrivals = match arrivals {
            Arrivals::At(rate) => rate,
            Arrivals::Busy(busy) => {
                Rate::new(busy * servers as f64 * served.service.rate().per_time())?
            }
        };
        let open = Open {
            arrivals,
            service: served.service,
            variation: served.variation,
            servers,
            capacity: args.capacity,
        };
        open.answer()
    };
    args.servers
        .clone()
        .map(|n| one(n).map_err(refused))
        .collect()
}
