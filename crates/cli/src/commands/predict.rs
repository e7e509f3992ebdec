//! `paceline predict`: what a response will be, by the predictor that deserves
//! trust.

use super::table_args::{TableArgs, predictor, settings, tell_disturbed, time_of};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_advise::predict::Choice;
use paceline_answers::Fitting;
use paceline_answers::predict::{PredictQuestion, predict as predicted};
use paceline_model::Level;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The columns to predict; a study's own responses by default
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    responses: Vec<String>,
    /// A configuration to predict, as in batch_size=128,workers=2; may be repeated
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = settings)]
    at: Vec<Settings>,
    /// Show how the responses go on with the epochs that the runs of a study reported, and
    /// make the number of epochs a factor
    #[arg(long)]
    curve: bool,
    /// auto, linear, ridge, lasso, queue, scaling, tree, kriging, gp, boost or forest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = predictor)]
    predictor: Choice,
    /// Set this share of the trials aside, as in 0.2, and judge the predictors by them
    #[arg(
        long,
        value_name = "SHARE",
        conflicts_with = "curve",
        allow_negative_numbers = true
    )]
    holdout: Option<f64>,
    /// How often an interval is to hold the truth
    #[arg(
        long,
        value_name = "PROBABILITY",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    coverage: f64,
    /// The seed of folds and learners
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One `--at`; an alias, so that clap does not take it for a list of values.
type Settings = Vec<(String, Level)>;

pub(crate) fn predict(args: &Args) -> Result<Exit, Failure> {
    let question = PredictQuestion {
        responses: args.responses.clone(),
        at: args.at.clone(),
        curve: args.curve,
        fitting: Fitting {
            predictor: args.predictor,
            coverage: args.coverage,
            seed: args.seed,
        },
        holdout: args.holdout,
    };
    let results = args.table.open()?;
    let answer = predicted(&results, &question)?;
    output::data(&match args.format {
        Format::Text => paceline_report::predict::text(&answer, output::stdout_page()),
        Format::Json => output::json(&answer.json()),
    })?;
    let first = args.responses.first().map(String::as_str);
    let response = first.unwrap_or(time_of(&results));
    tell_disturbed(&results, Some(response), "--responses");
    Ok(Exit::Done)
}
