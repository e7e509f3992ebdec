//! `paceline predict`: what a response will be, by the predictor that deserves
//! trust.

mod curves;

use super::runs_table::{
    Demands, RunsTable, TableArgs, predictor, settings, settings_json, threads, written,
};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use anyhow::anyhow;
use paceline_advise::predict::{
    Choice, Comparison, DemandSource, IntervalMethod, Outside, OutsideHow, PredictOptions,
    Prediction, Predictor, Score,
};
use paceline_model::Level;
use paceline_report::number::{count, percent, significant};
use paceline_report::text::{Column, Table};
use serde_json::{Value, json};

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
    /// auto, linear, queue, scaling, gp, boost or forest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = predictor)]
    predictor: Choice,
    /// How often an interval is to hold the truth
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.95)]
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

/// A configuration with each response's prediction.
struct Row {
    settings: Settings,
    predictions: Vec<Prediction>,
}

pub(crate) fn predict(args: &Args) -> Result<Exit, Failure> {
    let open = args.table.open()?;
    let responses = match args.responses.is_empty() {
        true => open.responses.clone(),
        false => args.responses.clone(),
    };
    if responses.is_empty() {
        return Err(Failure::user(anyhow!("no responses are named"))
            .hint("name the columns to predict with --responses"));
    }
    let epochs = match args.curve {
        true => Some(open.epochs(&responses)?),
        false => None,
    };
    let curves = match &epochs {
        Some(epochs) => curves::curves(epochs, &responses),
        None => Vec::new(),
    };
    let table = match &epochs {
        Some(epochs) => &epochs.thin,
        None => &open.runs(&responses)?,
    };
    let factors = table.runs.factors();
    let configurations = args
        .at
        .iter()
        .map(|at| factors.configuration(at).map_err(Failure::user))
        .collect::<Result<Vec<_>, _>>()?;
    // Curves are shown without predictors unless something is to be predicted.
    let predicted = match args.curve && configurations.is_empty() {
        true => &[][..],
        false => &responses,
    };
    // Samples are of whole runs and not of their epochs.
    let demands = match args.curve {
        true => Demands::Unknown("the epochs are a factor".to_owned()),
        false => open.demands(&open.roles(factors)?),
    };
    let predictors = predicted
        .iter()
        .map(|response| {
            let roles = match &epochs {
                Some(epochs) => epochs.roles(&open, response)?,
                None => open.roles(factors)?,
            };
            let options = PredictOptions {
                choice: args.predictor,
                coverage: args.coverage,
                roles: Some(roles),
                demands: open.demands_of(&demands, response),
                seed: args.seed,
                threads: threads(),
            };
            Predictor::fit(&table.runs, response, &options).map_err(Failure::user)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<Row> = configurations
        .iter()
        .map(|at| Row {
            settings: factors.settings(at),
            predictions: predictors
                .iter()
                .map(|p| p.predict(at, args.coverage))
                .collect(),
        })
        .collect();
    let text = match args.format {
        Format::Text => {
            let page = Page::of_stdout();
            let shown = epochs
                .as_ref()
                .map_or(String::new(), |epochs| curves::text(epochs, &curves, page));
            let why = match &demands {
                Demands::Recorded(_) => "it is not the duration of the runs",
                Demands::Unknown(why) => why,
            };
            text(table, &predictors, &rows, args.coverage, &shown, why)
        }
        Format::Json => {
            let mut document = document(table, &predictors, &rows, args.coverage);
            if let Some(epochs) = &epochs {
                document["curves"] = curves::json(epochs, &curves);
            }
            output::json(&document)
        }
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

fn text(
    table: &RunsTable,
    predictors: &[Predictor],
    rows: &[Row],
    coverage: f64,
    curves: &str,
    no_samples: &str,
) -> String {
    let page = Page::of_stdout();
    let runs = &table.runs;
    let mut out = format!(
        "{} runs of {}, {} factors\n",
        count(table.count as u64),
        table.source,
        runs.factors().len()
    );
    if table.left_out > 0 {
        out += &format!("{} runs that are not done were left out\n", table.left_out);
    }
    out += curves;
    for predictor in predictors {
        out += &format!(
            "\n{}: {}\n\n",
            predictor.response(),
            predictor.comparison().reason
        );
        out += &comparison(predictor.comparison(), coverage).render(page.width, page.style);
        match predictor.demand_source() {
            Some(DemandSource::Samples) => {
                out += &format!(
                    "queue takes what a step needs of processor and disk from the samples of {} runs\n",
                    count(table.count as u64)
                );
            }
            Some(DemandSource::Table) => {
                out += &format!(
                    "queue takes what a step needs from the times in the table: {no_samples}\n"
                );
            }
            None => {}
        }
        if predictor.method(coverage) == IntervalMethod::Student {
            out += "Too few runs for ranks: intervals take the errors as normal.\n";
        }
    }
    if !rows.is_empty() {
        let mut shown = Table::new([
            Column::words("configuration"),
            Column::words("response"),
            Column::decimals("predicted"),
            Column::words("interval"),
            Column::words("note").optional(),
        ]);
        for row in rows {
            for (predictor, prediction) in predictors.iter().zip(&row.predictions) {
                shown.row([
                    written(&row.settings),
                    predictor.response().to_owned(),
                    significant(prediction.value, 4),
                    interval(prediction),
                    outside(&prediction.outside),
                ]);
            }
        }
        out += &format!(
            "\nPredictions, {} of runs within the interval\n\n",
            percent(coverage)
        );
        out += &shown.render(page.width, page.style);
        for row in rows {
            for (predictor, prediction) in predictors.iter().zip(&row.predictions) {
                if !prediction.outside.is_empty() {
                    out += &format!(
                        "{} at {}: {}\n",
                        predictor.response(),
                        written(&row.settings),
                        outside(&prediction.outside)
                    );
                }
            }
        }
    }
    out
}

fn comparison(comparison: &Comparison, coverage: f64) -> Table {
    let mut table = Table::new([
        Column::words("predictor"),
        Column::decimals("MSE"),
        Column::decimals("R²"),
        Column::amounts("MAPE"),
        Column::amounts(&format!("within {}", percent(coverage))),
        Column::words("note").optional(),
    ]);
    let cells = |name: &str, score: &Score, note: &str| {
        [
            name.to_owned(),
            significant(score.mse, 4),
            format!("{:.4}", score.r2),
            score.mape.map_or("–".to_owned(), percent),
            percent(score.coverage),
            note.to_owned(),
        ]
    };
    for line in &comparison.compared {
        match &line.outcome {
            Ok(score) if line.kind == comparison.chosen => {
                table.strong_row(cells(line.kind.name(), score, "used"));
            }
            Ok(score) => {
                table.row(cells(line.kind.name(), score, ""));
            }
            Err(error) => {
                table.row([line.kind.name(), "–", "–", "–", "–", &error.to_string()]);
            }
        }
    }
    if let Some(score) = &comparison.auto {
        table.rule();
        table.row(cells(
            "auto",
            score,
            "the choice itself, judged by unseen trials",
        ));
    }
    table
}

/// An interval as people read it.
pub(crate) fn interval(prediction: &Prediction) -> String {
    format!(
        "{} to {}",
        significant(prediction.low, 4),
        significant(prediction.high, 4)
    )
}

/// Where a configuration lies outside what was observed, in words.
pub(crate) fn outside(outside: &[Outside]) -> String {
    let parts: Vec<String> = outside
        .iter()
        .map(|outside| match outside.how {
            OutsideHow::Beyond(by) => format!(
                "{} is {} of its range outside what was run; the interval is widened",
                outside.factor,
                percent(by)
            ),
            OutsideHow::Combination => format!(
                "this {} was never run; the interval is widened",
                outside.factor
            ),
        })
        .collect();
    parts.join("; ")
}

fn document(table: &RunsTable, predictors: &[Predictor], rows: &[Row], coverage: f64) -> Value {
    let responses: Vec<Value> = predictors
        .iter()
        .map(|p| predictor_json(p, coverage))
        .collect();
    let predictions: Vec<Value> = rows
        .iter()
        .map(|row| {
            let each = predictors.iter().zip(&row.predictions);
            let each =
                each.map(|(p, prediction)| (p.response().to_owned(), prediction_json(prediction)));
            json!({
                "configuration": settings_json(&row.settings),
                "responses": Value::Object(each.collect()),
            })
        })
        .collect();
    json!({
        "source": table.source,
        "runs": table.count,
        "left_out": table.left_out,
        "coverage": coverage,
        "responses": responses,
        "predictions": predictions,
    })
}

/// How a response is predicted and what else was tried.
pub(crate) fn predictor_json(predictor: &Predictor, coverage: f64) -> Value {
    let comparison = predictor.comparison();
    let score = |score: &Score| {
        json!({
            "mse": score.mse,
            "r2": score.r2,
            "mape": score.mape,
            "interval_coverage": score.coverage,
        })
    };
    let compared: Vec<Value> = comparison
        .compared
        .iter()
        .map(|line| match &line.outcome {
            Ok(found) => json!({ "predictor": line.kind.name(), "score": score(found) }),
            Err(error) => json!({ "predictor": line.kind.name(), "error": error.to_string() }),
        })
        .collect();
    json!({
        "response": predictor.response(),
        "predictor": predictor.kind().name(),
        "reason": comparison.reason,
        "folds": comparison.folds,
        "interval_method": match predictor.method(coverage) {
            IntervalMethod::Conformal => "conformal",
            IntervalMethod::Student => "student",
        },
        "compared": compared,
        "auto": comparison.auto.as_ref().map(score),
        "queue_demands_from": predictor.demand_source().map(|source| match source {
            DemandSource::Samples => "samples",
            DemandSource::Table => "table",
        }),
    })
}

/// A prediction with its interval.
pub(crate) fn prediction_json(prediction: &Prediction) -> Value {
    json!({
        "value": prediction.value,
        "low": prediction.low,
        "high": prediction.high,
        "extrapolated": !prediction.outside.is_empty(),
    })
}
