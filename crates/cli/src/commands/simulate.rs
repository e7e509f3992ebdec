//! `paceline simulate`: a training on a cluster that exists on paper.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity;
use crate::records;
use anyhow::anyhow;
use paceline_answers::simulate::{SimulateQuestion, measure, simulate as simulated};
use paceline_numeric::Threads;
use paceline_simulate::{
    Cluster, Compute, Convergence, Failures, Join, Network, Placement, ServerCost,
};
use paceline_sync::Strategy;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Numbers of workers to compare: 8, or 1,10,100,1000
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,2,4,8"
    )]
    workers: Vec<u32>,
    /// Numbers of parameter servers to compare
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1")]
    servers: Vec<u32>,
    /// Ways to synchronise workers: bsp, ssp:3, async, backup:1, dynamic-ssp:1..8, local:16, allreduce
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',', default_value = "bsp,ssp:3,async,allreduce", value_parser = strategy)]
    sync: Vec<Strategy>,
    /// Take computing times and sizes from this training's record: a directory or a run's name
    #[arg(long, value_name = "RUN", conflicts_with_all = ["compute", "variation"])]
    from: Option<PathBuf>,
    /// How long an iteration computes, on average: 12ms
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration, required_unless_present = "from")]
    compute: Option<Duration>,
    /// How much that varies: its standard deviation over its mean
    #[arg(
        long,
        value_name = "RATIO",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    variation: f64,
    /// The size of the model, and so of an update: 4MB
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes, required_unless_present = "from")]
    size: Option<u64>,
    /// Bytes a second of each host's link, in each direction: 125MB; none bounds it without
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes)]
    bandwidth: Option<u64>,
    /// Time from one host to another
    #[arg(long, value_name = "TIME", value_parser = quantity::duration, default_value = "50us")]
    latency: Duration,
    /// Bytes a second of a switch that all transfers between hosts share
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes)]
    switch: Option<u64>,
    /// Where the servers are: apart, beside (server i with worker i), or machine:CORES for one machine
    #[arg(long, value_name = "PLACE", default_value = "apart", value_parser = placement)]
    placement: Placement,
    /// A worker that computes so many times longer: 3:2.5; may be repeated
    #[arg(long, value_name = "WORKER:FACTOR", value_parser = slow)]
    slow: Vec<(u32, f64)>,
    /// A worker whose link has so many bytes a second: 3:1MB; may be repeated
    #[arg(long, value_name = "WORKER:BYTES", value_parser = slow_link)]
    slow_link: Vec<(u32, f64)>,
    /// Each worker is lost once in this time, on average
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration)]
    lose_every: Option<Duration>,
    /// Time until a lost worker is back
    #[arg(long, value_name = "TIME", value_parser = quantity::duration, default_value = "30s", requires = "lose_every")]
    restart: Duration,
    /// Workers that join later: 60s:4; may be repeated
    #[arg(long, value_name = "TIME:N", value_parser = join)]
    join: Vec<Join>,
    /// A server's time for each message
    #[arg(long, value_name = "TIME", value_parser = quantity::duration, default_value = "10us")]
    server_message: Duration,
    /// Bytes a second that a server's core takes or sends
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes, default_value = "10GB")]
    server_bytes: u64,
    /// Bytes of updates a second that a server's core applies
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes, default_value = "4GB")]
    server_apply: u64,
    /// Rows of data in an iteration of a worker, for rows a second
    #[arg(long, value_name = "ROWS")]
    rows: Option<u64>,
    /// Updates that the training needs with fresh parameters, for the time that takes
    #[arg(long, value_name = "N")]
    updates: Option<u64>,
    /// How much more each clock of staleness costs, as a share of the updates
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        requires = "updates",
        allow_negative_numbers = true
    )]
    staleness_cost: f64,
    /// Iterations of each worker that are simulated
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: u32,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many seeds; figures are their means
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn strategy(text: &str) -> Result<Strategy, String> {
    text.parse()
        .map_err(|error: paceline_sync::ParseConsistencyError| format!("{error}; {}", error.hint()))
}

fn placement(text: &str) -> Result<Placement, String> {
    match (text, text.strip_prefix("machine:")) {
        ("apart", _) => Ok(Placement::Apart),
        ("beside", _) => Ok(Placement::Beside),
        (_, Some(cores)) => match cores.parse() {
            Ok(cores) => Ok(Placement::OneMachine { cores }),
            Err(_) => Err(format!("`{cores}` is no number of cores")),
        },
        _ => Err(format!("`{text}` is not apart, beside or machine:CORES")),
    }
}

/// Reads a worker's number and something of it.
fn of_worker<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<(u32, T)> {
    let (worker, value) = text.split_once(':')?;
    Some((worker.trim().parse().ok()?, read(value.trim())?))
}

fn slow(text: &str) -> Result<(u32, f64), String> {
    of_worker(text, |factor| factor.parse().ok())
        .ok_or_else(|| format!("`{text}` is not a worker and a factor, such as 3:2.5"))
}

fn slow_link(text: &str) -> Result<(u32, f64), String> {
    of_worker(text, |rate| {
        quantity::bytes(rate).ok().map(|rate| rate as f64)
    })
    .ok_or_else(|| format!("`{text}` is not a worker and a bandwidth, such as 3:1MB"))
}

fn join(text: &str) -> Result<Join, String> {
    let read = || {
        let (at, workers) = text.split_once(':')?;
        Some(Join {
            at_s: quantity::duration(at).ok()?.as_secs_f64(),
            workers: workers.parse().ok()?,
        })
    };
    read().ok_or_else(|| format!("`{text}` is not a time and a number of workers, such as 60s:4"))
}

/// Seconds for each of so many a second; nothing bounds none a second.
fn seconds_each(per_second: u64) -> f64 {
    match per_second {
        0 => 0.0,
        rate => 1.0 / rate as f64,
    }
}

pub(crate) fn simulate(args: &Args) -> Result<Exit, Failure> {
    let measured = match &args.from {
        Some(name) => {
            let run = records::open(&records::find(Some(name))?)?;
            Some(measure(&run)?)
        }
        None => None,
    };
    let given = args.size.map(|bytes| bytes as f64);
    let size = |measured: Option<f64>| given.or(measured).unwrap_or_default();
    let compute = match (&measured, args.compute) {
        (Some(run), _) => run.compute(),
        (None, Some(mean)) => Compute::Varying {
            mean_s: mean.as_secs_f64(),
            variation: args.variation,
        },
        (None, None) => {
            return Err(
                Failure::user(anyhow!("nothing says how long an iteration computes"))
                    .hint("give --compute 12ms, or --from RUN to take it from a training"),
            );
        }
    };
    if !(args.staleness_cost.is_finite() && args.staleness_cost >= 0.0) {
        return Err(Failure::user(anyhow!(
            "--staleness-cost: {} is no share of the updates",
            args.staleness_cost
        ))
        .hint("0.05 means that each clock of staleness costs 5% more updates"));
    }
    let cluster = Cluster {
        strategy: Strategy::AllReduce,
        workers: 1,
        servers: 1,
        compute,
        worker_overhead_s: measured.as_ref().map_or(0.0, |run| run.overhead_s),
        slow: args.slow.clone(),
        update_bytes: size(measured.as_ref().map(|run| run.update_bytes)),
        parameter_bytes: size(measured.as_ref().map(|run| run.parameter_bytes)),
        server: ServerCost {
            message_s: args.server_message.as_secs_f64(),
            byte_s: seconds_each(args.server_bytes),
            apply_byte_s: seconds_each(args.server_apply),
        },
        network: Network {
            bandwidth: args.bandwidth.map_or(f64::INFINITY, |bytes| bytes as f64),
            latency_s: args.latency.as_secs_f64(),
            switch: args.switch.map(|bytes| bytes as f64),
        },
        slow_links: args.slow_link.clone(),
        placement: args.placement,
        failures: args.lose_every.map(|every| Failures {
            every_s: every.as_secs_f64(),
            restart_s: args.restart.as_secs_f64(),
        }),
        joins: args.join.clone(),
    };
    let question = SimulateQuestion {
        cluster,
        workers: args.workers.clone(),
        servers: args.servers.clone(),
        sync: args.sync.clone(),
        iterations: args.iterations,
        seed: args.seed,
        seeds: args.seeds,
        rows: args.rows,
        convergence: args.updates.map(|updates| Convergence {
            updates: updates as f64,
            staleness_cost: args.staleness_cost,
        }),
        measured,
    };
    let answer = simulated(question, Threads::available())?;
    output::data(&match args.format {
        Format::Text => paceline_report::simulate::text(&answer, output::stdout_page()),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(Exit::Done)
}
