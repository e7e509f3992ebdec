//! Predictions for people.

mod curves;

use crate::number::{ABSENT, count, percent, significant};
use crate::text::{Column, Page, Table, paragraph};
use paceline_advise::predict::{
    Comparison, DemandSource, FactorImportance, Holdout, Interval, IntervalMethod, OutsideHow,
    Prediction, Score,
};
use paceline_answers::predict::PredictAnswer;
use paceline_answers::written;

/// The answer for people.
#[must_use]
pub fn text(answer: &PredictAnswer, page: Page) -> String {
    let PredictAnswer {
        table,
        epochs,
        curves,
        predictors,
        importances,
        holdouts,
        rows,
        coverage,
        no_samples,
        learned,
    } = answer;
    let coverage = *coverage;
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
    if let Some(epochs) = epochs {
        out += &curves::text(epochs, curves, page);
    }
    for (predictor, holdout) in predictors.iter().zip(holdouts) {
        out += &held_out(predictor.response(), holdout, coverage, page);
    }
    for (predictor, importances) in predictors.iter().zip(importances) {
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
        match importances {
            Ok(importances) => out += &importance(importances, coverage, page),
            Err(error) => out += &format!("What it rests on is not known: {error}\n"),
        }
    }
    for one in learned {
        out += &paragraph("note: ", &one.sentence(), page.width);
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
                    predicted(prediction),
                    interval(prediction),
                    outside(prediction),
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
                        outside(prediction)
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
    table
}

/// How predictors did on trials that were set aside.
fn held_out(response: &str, holdout: &Holdout, coverage: f64, page: Page) -> String {
    let mut table = Table::new([
        Column::words("predictor"),
        Column::decimals("MSE"),
        Column::decimals("R²"),
        Column::amounts(&format!("within {}", percent(coverage))),
        Column::words("settled on").optional(),
    ]);
    for line in &holdout.lines {
        match &line.outcome {
            Ok(score) => table.row([
                line.kind.name().to_owned(),
                significant(score.mse, 4),
                format!("{:.4}", score.r2),
                percent(score.coverage),
                line.settled.clone().unwrap_or_default(),
            ]),
            Err(error) => table.row([line.kind.name(), "–", "–", "–", &error.to_string()]),
        };
    }
    format!(
        "\n{response}: {} trials set aside, learned from {}\n\n{}",
        holdout.set_aside,
        holdout.learned_from,
        table.render(page.width, page.style)
    )
}

/// How much a prediction rests on each factor.
fn importance(importances: &[FactorImportance], coverage: f64, page: Page) -> String {
    let mut table = Table::new([
        Column::words("factor"),
        Column::decimals("importance"),
        Column::words(&format!("{} interval", percent(coverage))),
    ]);
    for one in importances {
        table.row([
            one.factor.clone(),
            format!("{:.3}", one.share),
            format!("{:.3} to {:.3}", one.low, one.high),
        ]);
    }
    format!(
        "\nWhat it rests on: squared error added, as a share of the variance, when a factor's levels \
         are exchanged\n\n{}",
        table.render(page.width, page.style)
    )
}

/// A predicted value as people read it.
pub(crate) fn predicted(prediction: &Prediction) -> String {
    let value = prediction.value;
    value.map_or(ABSENT.to_owned(), |value| significant(value, 4))
}

/// An interval as people read it.
pub(crate) fn interval(prediction: &Prediction) -> String {
    match prediction.interval {
        Interval::Known { low, high } => {
            format!("{} to {}", significant(low, 4), significant(high, 4))
        }
        Interval::NotKnown(why) => why.to_string(),
    }
}

/// Where a configuration lies outside what was observed, and what follows for the interval,
/// in words.
pub(crate) fn outside(prediction: &Prediction) -> String {
    let follows = match prediction.interval {
        Interval::Known { .. } => "; the interval is widened",
        Interval::NotKnown(_) => "",
    };
    let parts: Vec<String> = prediction
        .outside
        .iter()
        .map(|outside| match outside.how {
            OutsideHow::Beyond(by) => format!(
                "{} is {} of its range outside what was run{follows}",
                outside.factor,
                percent(by)
            ),
            OutsideHow::Combination => {
                format!("this {} was never run{follows}", outside.factor)
            }
        })
        .collect();
    parts.join("; ")
}
