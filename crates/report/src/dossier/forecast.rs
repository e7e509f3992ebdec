//! Predicted against actual, for trials the predictor had not seen.

use super::StudyPart;
use crate::chart::predicted_and_actual;
use crate::html::{Element, Html};
use crate::number::{ABSENT, percent, significant};
use crate::page::{Heading, HtmlTable, Section};
use paceline_advise::predict::Score;
use paceline_answers::report::Forecast;

pub(super) fn section(study: &StudyPart<'_>) -> Section {
    let mut section = Section::new("forecast", "Predicted against actual").paragraph(
        "Every run is predicted by a model that has not seen its configuration, so that this is \
         how well new configurations are foreseen.",
    );
    let forecasts = &study.forecasts;
    let charts: Vec<_> = forecasts
        .iter()
        .filter_map(|(response, forecast)| {
            let forecast = forecast.as_ref().ok()?;
            (!forecast.points().is_empty())
                .then(|| predicted_and_actual(response, forecast.points()))
        })
        .collect();
    section = section.figures(charts.iter().map(|chart| (chart, "")));
    for (response, forecast) in forecasts {
        section = match forecast {
            Ok(forecast) => section.push(choice(response, forecast)),
            Err(why) => section.paragraph(&format!("`{response}` is not predicted: {why}.")),
        };
    }
    if forecasts.is_empty() {
        section = section.paragraph("No response has enough runs to be predicted.");
    }
    section
}

/// Which predictor is used, with the comparison for those who want it.
fn choice(response: &str, forecast: &Forecast) -> Html {
    let said = format!("`{response}`: {}.", forecast.comparison.reason);
    Element::new("details")
        .child(Element::new("summary").child(Html::prose(&said)))
        .child(compared(response, forecast))
        .child(importances(response, forecast))
        .into()
}

fn compared(response: &str, forecast: &Forecast) -> HtmlTable {
    let comparison = &forecast.comparison;
    let mut table = HtmlTable::new(
        &format!(
            "Errors of each predictor of {response} on unseen configurations, {} folds",
            comparison.folds
        ),
        [
            Heading::words("predictor"),
            Heading::numbers("mean error"),
            Heading::numbers("R²"),
            Heading::numbers(&format!("within {}", percent(forecast.coverage))),
            Heading::words("note"),
        ],
    );
    let cells = |name: &str, score: &Score, note: &str| {
        [
            name.to_owned(),
            score.mape.map_or(ABSENT.to_owned(), percent),
            significant(score.r2, 3),
            percent(score.coverage),
            note.to_owned(),
        ]
    };
    for line in &comparison.compared {
        match &line.outcome {
            Ok(score) => {
                let note = if line.kind == comparison.chosen {
                    "used"
                } else {
                    ""
                };
                table.row(cells(line.kind.name(), score, note));
            }
            Err(error) => {
                table.row([line.kind.name(), ABSENT, ABSENT, ABSENT, &error.to_string()]);
            }
        }
    }
    table
}

/// How much the prediction rests on each factor.
fn importances(response: &str, forecast: &Forecast) -> HtmlTable {
    let mut table = HtmlTable::new(
        &format!(
            "What the prediction of {response} rests on: squared error that is added when a factor's \
             levels are exchanged between runs, as a share of the variance"
        ),
        [
            Heading::words("factor"),
            Heading::numbers("added error"),
            Heading::words(&format!("{} interval", percent(forecast.coverage))),
        ],
    );
    for one in &forecast.importances {
        table.row([
            one.factor.clone(),
            percent(one.share),
            format!("{} to {}", percent(one.low), percent(one.high)),
        ]);
    }
    table
}
