//! Predictions for people.

mod curves;

use crate::number::{count, percent, significant};
use crate::text::{Column, Page, Table};
use paceline_advise::predict::{
    Comparison, DemandSource, IntervalMethod, Outside, OutsideHow, Prediction, Score,
};
use paceline_answers::predict::PredictAnswer;
use paceline_answers::runs_table::written;

/// The answer for people.
#[must_use]
pub fn text(answer: &PredictAnswer, page: Page) -> String {
    let PredictAnswer {
        table,
        epochs,
        curves,
        predictors,
        rows,
        coverage,
        no_samples,
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
