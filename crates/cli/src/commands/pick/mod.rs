//! `paceline pick`: the best configuration that keeps its promises.

pub(in crate::commands) mod execute;
mod running;

use super::table_args::{TableArgs, predictor, settings, tell_disturbed, time_of};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity;
use paceline_advise::pick::{Constraint, Limit, Objective};
use paceline_advise::predict::Choice;
use paceline_answers::Fitting;
use paceline_answers::pick::{PickAnswer, PickQuestion, pick as picked};
use paceline_answers::results::Results;
use paceline_model::Level;
use paceline_model::quantity::Dimension;
use std::ffi::OsString;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The deadline of a run, as in 300s: the same as --limit 'TIME <= 300s'
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    slo: Option<Duration>,
    /// A limit, as in 'cost <= 2' or 'accuracy >= 0.9'; may be repeated
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    limit: Vec<Constraint>,
    /// The response that is to be large; without an objective, the names of a study's
    /// responses tell it
    #[arg(long, value_name = "COLUMN", group = "objective")]
    maximize: Option<String>,
    /// The response that is to be small
    #[arg(long, value_name = "COLUMN", group = "objective")]
    minimize: Option<String>,
    /// A weighted sum that is to be large, as in accuracy=100,time=-0.1
    #[arg(long, value_name = "COLUMN=WEIGHT,…", value_parser = weights, group = "objective")]
    weigh: Option<Weights>,
    /// Factors that are fixed, as in workers=2,sync=bsp
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = settings)]
    given: Option<Settings>,
    /// The probability with which each limit must be kept
    #[arg(
        long,
        value_name = "PROBABILITY",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    confidence: f64,
    /// Consider up to so many configurations between the observed levels as well
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "10000")]
    grid: Option<usize>,
    /// Pick the number of epochs as well, up to the most that were run or to MAX,
    /// from what the runs of a study reported after each
    #[arg(long, value_name = "MAX", num_args = 0..=1, require_equals = true,
          default_missing_value = "0")]
    epochs_free: Option<u32>,
    /// A job that runs meanwhile, as in start=-120s,batch_size=128,deadline=600s, or a
    /// CSV file of such jobs; may be repeated. The pick breaks none of their deadlines
    #[arg(long, value_name = "JOB")]
    running: Vec<String>,
    /// How much a job takes from another that runs beside it: 0 nothing, 1 as much as a
    /// fair share; by default, what the runs of several jobs tell
    #[arg(long, value_name = "FACTOR", requires = "running")]
    contention: Option<f64>,
    /// Propose so many runs that would be worth most
    #[arg(long, value_name = "COUNT", default_value_t = 0,
          conflicts_with_all = ["epochs_free", "running"])]
    suggest: usize,
    /// The column that holds the duration of a run; by default the one that is a time
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// auto, linear, ridge, lasso, queue, scaling, tree, kriging, gp, boost or forest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = predictor)]
    predictor: Choice,
    /// Run the pick in the study, and hold what comes against what was promised; the
    /// same command goes on
    #[arg(long, conflicts_with_all = ["running", "suggest"])]
    run: bool,
    /// State and run a new promise although this was asked before, of the same runs
    #[arg(long, requires = "run")]
    again: bool,
    /// Show no progress
    #[arg(long, short, requires = "run")]
    quiet: bool,
    /// The seed of folds and learners
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Aliases, so that clap does not take them for lists of values.
type Settings = Vec<(String, Level)>;
type Weights = Vec<(String, f64)>;

/// `words` are what the user typed after the program's name.
pub(crate) fn pick(args: &Args, words: &[OsString]) -> Result<Exit, Failure> {
    let question = question(args)?;
    if args.run {
        return execute::run(args, &question);
    }
    let results = args.table.open()?;
    let answer = picked(&results, &question)?;
    let command = match &answer {
        PickAnswer::Alone(alone) if alone.is_met() && results.study().is_some() => {
            Some(execute::ready(&results, &question, alone, words))
        }
        _ => None,
    };
    output::data(&match args.format {
        Format::Text => {
            let text = paceline_report::pick::text(&answer, output::stdout_page());
            text + &match command {
                Some(Ok(command)) => {
                    format!("\nTo run it, and hold what comes against this promise:\n  {command}\n")
                }
                Some(Err(why)) => format!("\nIt cannot be run in the study: {why}\n"),
                None => String::new(),
            }
        }
        Format::Json => {
            let mut value = answer.json();
            value["run"] = command.and_then(Result::ok).into();
            output::json(&value)
        }
    })?;
    tell_what_disturbed(args, &results);
    if let (PickAnswer::Alone(alone), Format::Text) = (&answer, args.format)
        && alone.epochs_could_be_free
    {
        output::tell(
            "hint: these runs reported each epoch; --epochs-free picks the number of epochs as well",
        );
    }
    Ok(match answer.keeps_every_limit() {
        true => Exit::Done,
        false => Exit::Unmet,
    })
}

fn tell_what_disturbed(args: &Args, results: &Results) {
    let time = args.time.as_deref().unwrap_or(time_of(results));
    tell_disturbed(results, Some(time), "--time");
}

fn question(args: &Args) -> Result<PickQuestion, Failure> {
    let objective = match (&args.maximize, &args.minimize, &args.weigh) {
        (Some(response), ..) => Some(Objective::Maximise(response.clone())),
        (_, Some(response), _) => Some(Objective::Minimise(response.clone())),
        (.., Some(weights)) => Some(Objective::Weighted(weights.clone())),
        (None, None, None) => None,
    };
    Ok(PickQuestion {
        objective,
        limits: args.limit.clone(),
        deadline_s: args.slo.map(|slo| slo.as_secs_f64()),
        time: args.time.clone(),
        given: args.given.clone().unwrap_or_default(),
        grid: args.grid,
        epochs_free: args.epochs_free,
        running: running::read(&args.running)?,
        contention: args.contention,
        suggest: args.suggest,
        fitting: Fitting {
            predictor: args.predictor,
            coverage: args.confidence,
            seed: args.seed,
        },
    })
}

/// Reads `time <= 300s`, `cost<=2`, `memory_peak <= 8GB`, `accuracy >= 0.9`.
fn limit(text: &str) -> Result<Constraint, String> {
    let unusable =
        || format!("`{text}` is not a limit such as 'time <= 300s' or 'accuracy >= 0.9'");
    let (name, limit): (&str, fn(f64) -> Limit) = if let Some((name, _)) = text.split_once("<=") {
        (name, Limit::AtMost)
    } else if let Some((name, _)) = text.split_once(">=") {
        (name, Limit::AtLeast)
    } else {
        return Err(unusable());
    };
    let value = text[name.len() + 2..].trim();
    let name = name.trim();
    let value = quantity::amount(value, Dimension::of_column(name))
        .map_err(|error| format!("`{text}` is not a limit: {error}"))?;
    if name.is_empty() {
        return Err(unusable());
    }
    Ok(Constraint {
        response: name.to_owned(),
        limit: limit(value),
    })
}

fn weights(text: &str) -> Result<Weights, String> {
    text.split(',')
        .map(|part| {
            let weight = part.split_once('=').and_then(|(name, weight)| {
                let weight: f64 = weight.trim().parse().ok()?;
                Some((name.trim().to_owned(), weight))
            });
            weight.ok_or_else(|| format!("`{part}` is not COLUMN=WEIGHT"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let check = |text: &str, response: &str, value: f64| {
            let found = limit(text).unwrap();
            assert_eq!(
                (found.response.as_str(), found.limit.value()),
                (response, value)
            );
        };
        check("time <= 300s", "time", 300.0);
        check("time<=5m", "time", 300.0);
        check("accuracy >= 0.9", "accuracy", 0.9);
        check("memory_peak <= 8GB", "memory_peak", 8e9);
        for text in ["time", "time < 3", "<= 3", "time <= fast", "time <= nan"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
