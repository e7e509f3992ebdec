//! `paceline pick`: the best configuration that keeps its promises.

mod answer;
mod epochs;
mod running;

use super::runs_table::{
    Demands, OpenTable, RunsTable, TableArgs, predictor, report_epochs, settings, threads,
};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity;
use answer::Answer;
use anyhow::anyhow;
use epochs::FreeEpochs;
use paceline_advise::curve::candidates_over_epochs;
use paceline_advise::pick::{
    Constraint, Limit, Objective, Pick, PickRequest, Space, SuggestOptions, Suggestion, Verdict,
    candidates, pick as picked, suggest,
};
use paceline_advise::predict::{Choice, PredictOptions, Predictor};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use paceline_model::quantity::Dimension;
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
    /// The response that is to be large
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
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.95)]
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
    /// The column that holds the duration of a run
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    time: String,
    /// auto, linear, queue, scaling, gp, boost or forest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = predictor)]
    predictor: Choice,
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

/// What is picked from and by what.
struct Setup {
    open: OpenTable,
    table: RunsTable,
    epochs: Option<FreeEpochs>,
    choices: Vec<Configuration>,
    predictors: Vec<Predictor>,
}

pub(crate) fn pick(args: &Args) -> Result<Exit, Failure> {
    let request = request(args)?;
    let jobs = running::read(&args.running)?;
    if jobs.is_empty() {
        return pick_alone(args, &request);
    }
    // A newcomer is chosen by how long it takes, limited or not.
    let setup = set_up(args, &request, Some(&args.time))?;
    running::pick_beside(args, &request, &setup, &jobs)
}

fn pick_alone(args: &Args, request: &PickRequest) -> Result<Exit, Failure> {
    let setup = set_up(args, request, None)?;
    let pick = picked(&setup.predictors, &setup.choices, request).map_err(Failure::user)?;
    let suggestions = if args.suggest == 0 {
        Vec::new()
    } else {
        let timed = setup.table.runs.response(&args.time).is_some();
        let options = SuggestOptions {
            count: args.suggest,
            seed: args.seed,
            threads: threads(),
        };
        suggest(
            &setup.table.runs,
            &setup.choices,
            &request.objective,
            &request.constraints,
            timed.then_some(args.time.as_str()),
            &setup.open.roles(setup.table.runs.factors())?,
            options,
        )
        .map_err(Failure::user)?
    };
    let exit = print(args, request, &setup, &pick, &suggestions)?;
    if setup.epochs.is_none() && args.format == Format::Text && report_epochs(&setup.open) {
        output::tell(
            "hint: these runs reported each epoch; --epochs-free picks the number of epochs as well",
        );
    }
    Ok(exit)
}

fn print(
    args: &Args,
    request: &PickRequest,
    setup: &Setup,
    pick: &Pick,
    suggestions: &[Suggestion],
) -> Result<Exit, Failure> {
    let answer = Answer {
        table: &setup.table,
        predictors: &setup.predictors,
        request,
        pick,
        suggestions,
        suggestions_asked: args.suggest > 0,
        epochs: setup.epochs.as_ref(),
    };
    output::data(&match args.format {
        Format::Text => answer.text(),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(match pick.verdict {
        Verdict::Met { .. } => Exit::Done,
        Verdict::Unmet { .. } => Exit::Unmet,
    })
}

/// Reads the table and fits a predictor to every response that is asked for.
fn set_up(args: &Args, request: &PickRequest, also: Option<&str>) -> Result<Setup, Failure> {
    let open = args.table.open()?;
    let mut responses: Vec<String> = Vec::new();
    let weights = request.objective.weights();
    let asked = weights.iter().map(|(name, _)| *name);
    let limited = request
        .constraints
        .iter()
        .map(|limit| limit.response.as_str());
    for name in asked.chain(limited).chain(also) {
        if !responses.iter().any(|known| known == name) {
            responses.push(name.to_owned());
        }
    }
    let epochs = match args.epochs_free {
        Some(wanted) => Some(FreeEpochs::read(&open, &responses, wanted)?),
        None => None,
    };
    let (table, epochs) = match epochs {
        Some((table, epochs)) => (table, Some(epochs)),
        None => (open.runs(&responses)?, None),
    };
    let factors = table.runs.factors();
    let given = args.given.as_deref().unwrap_or_default();
    let mut given = factors.fixed(given).map_err(Failure::user)?;
    if also.is_some() {
        given.extend(running::alone(&open.roles(factors)?, &given));
    }
    let space = args
        .grid
        .map_or(Space::Observed, |most| Space::Grid { most });
    let choices = match &epochs {
        Some(epochs) => candidates_over_epochs(&table.runs, &given, space, epochs.most),
        None => candidates(&table.runs, &given, space),
    };
    let choices = choices
        .map_err(|error| Failure::user(error).hint("fix factors with --given, or raise --grid"))?;
    // Samples are of whole runs and not of their epochs.
    let demands = match &epochs {
        Some(_) => Demands::Unknown("the epochs are free".to_owned()),
        None => open.demands(&open.roles(factors)?),
    };
    let predictors = responses
        .iter()
        .map(|response| {
            let roles = match &epochs {
                Some(epochs) => epochs.roles(&open, factors, response)?,
                None => open.roles(factors)?,
            };
            let options = PredictOptions {
                choice: args.predictor,
                coverage: args.confidence,
                roles: Some(roles),
                demands: open.demands_of(&demands, response),
                seed: args.seed,
                threads: threads(),
            };
            Predictor::fit(&table.runs, response, &options).map_err(Failure::user)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Setup {
        open,
        table,
        epochs,
        choices,
        predictors,
    })
}

fn request(args: &Args) -> Result<PickRequest, Failure> {
    if !(args.confidence > 0.0 && args.confidence < 1.0) {
        return Err(Failure::user(anyhow!(
            "--confidence {} is not between 0 and 1",
            args.confidence
        )));
    }
    let mut constraints = args.limit.clone();
    if let Some(slo) = args.slo {
        constraints.push(Constraint::at_most(&args.time, slo.as_secs_f64()));
    }
    let objective = match (&args.maximize, &args.minimize, &args.weigh) {
        (Some(response), ..) => Objective::Maximise(response.clone()),
        (_, Some(response), _) => Objective::Minimise(response.clone()),
        (.., Some(weights)) => Objective::Weighted(weights.clone()),
        (None, None, None) => {
            return Err(Failure::user(anyhow!("nothing is said to be best")).hint(
                "name a response with --maximize or --minimize, or weigh several with --weigh",
            ));
        }
    };
    Ok(PickRequest {
        objective,
        constraints,
        confidence: args.confidence,
        coverage: args.confidence,
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
