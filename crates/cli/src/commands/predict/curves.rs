//! Learning curves, one for each configuration.

use crate::commands::runs_table::{EpochsTable, settings_json, written};
use crate::output::Page;
use paceline_advise::curve::{Curve, CurveError, CurveMethod, OverEpochs, Trace, traces};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use paceline_report::number::significant;
use paceline_report::text::{Column, Table, shorten, sparkline};
use serde_json::{Value, json};

/// The columns that a curve is drawn in.
const DRAWN: usize = 16;

/// A response over the epochs.
pub(super) struct Curves {
    response: String,
    shape: OverEpochs,
    /// By configuration, in order of first appearance.
    each: Vec<(Configuration, Trace, Result<Curve, CurveError>)>,
}

/// Fits every configuration's curve.
pub(super) fn curves(epochs: &EpochsTable, responses: &[String]) -> Vec<Curves> {
    responses
        .iter()
        .map(|response| {
            let traces = traces(&epochs.all.runs, response).unwrap_or_default();
            let all = traces.iter().flat_map(|(_, trace)| &trace.values);
            let range = range(all.copied());
            Curves {
                response: response.clone(),
                shape: epochs.over_epochs(response),
                each: traces
                    .into_iter()
                    .map(|(at, trace)| {
                        let curve = Curve::fit(&trace.epochs, &trace.values, range);
                        (at, trace, curve)
                    })
                    .collect(),
            }
        })
        .collect()
}

/// What a metric can be: one that stayed within zero and one, or above zero, is
/// taken not to leave it.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match (low >= 0.0, high <= 1.0) {
        (true, true) => Some((0.0, 1.0)),
        (true, false) => Some((0.0, f64::INFINITY)),
        (false, _) => None,
    }
}

/// The factors without the epochs.
fn settings(epochs: &EpochsTable, at: &[f64]) -> Vec<(String, Level)> {
    let factors = epochs.all.runs.factors().iter().zip(at);
    factors
        .map(|(factor, &value)| (factor.name().to_owned(), factor.level(value)))
        .collect()
}

pub(super) fn text(epochs: &EpochsTable, curves: &[Curves], page: Page) -> String {
    let mut out = String::new();
    if epochs.silent > 0 {
        out += &format!(
            "{} runs reported no epochs and are left out\n",
            epochs.silent
        );
    }
    if epochs.from_zero {
        out += "The runs count their epochs from 0; here the first is 1\n";
    }
    for curve in curves {
        let name = &curve.response;
        out += &match curve.shape {
            OverEpochs::LevellingOff { rate } => format!(
                "\n{name} levels off like a + b·epochs^-c; c is {rate:.2} for all together\n"
            ),
            OverEpochs::Growing => format!("\n{name} grows with the epochs\n"),
        };
        out.push('\n');
        out += &match curve.shape {
            OverEpochs::LevellingOff { .. } => levelling(epochs, curve),
            OverEpochs::Growing => growing(epochs, curve),
        }
        .render(page.width, page.style);
    }
    out
}

fn drawn(trace: &Trace) -> String {
    let values: Vec<Option<f64>> = trace
        .means()
        .iter()
        .map(|(_, value)| Some(*value))
        .collect();
    sparkline(&shorten(&values, DRAWN))
}

fn most(trace: &Trace) -> f64 {
    trace.epochs.iter().copied().fold(0.0, f64::max)
}

fn levelling(epochs: &EpochsTable, curves: &Curves) -> Table {
    let mut table = Table::new([
        Column::words("configuration"),
        Column::amounts("epochs"),
        Column::words("course"),
        Column::decimals("last"),
        Column::decimals("a"),
        Column::decimals("b"),
        Column::decimals("c"),
        Column::decimals("scatter"),
        Column::words("note").optional(),
    ]);
    for (at, trace, curve) in &curves.each {
        let last = trace.means().last().map_or(f64::NAN, |(_, value)| *value);
        let start = [
            written(&settings(epochs, at)),
            most(trace).to_string(),
            drawn(trace),
            significant(last, 4),
        ];
        let end = match curve {
            Ok(curve) => [
                significant(curve.asymptote, 4),
                significant(curve.amplitude, 3),
                significant(curve.rate, 3),
                significant(curve.residual, 2),
                match curve.method {
                    CurveMethod::PowerLaw => "",
                    CurveMethod::Bounded => "a is held at its bound",
                    CurveMethod::Flat => "flat",
                }
                .to_owned(),
            ],
            Err(error) => ["–", "–", "–", "–", &error.to_string()].map(str::to_owned),
        };
        table.row(start.into_iter().chain(end));
    }
    table
}

fn growing(epochs: &EpochsTable, curves: &Curves) -> Table {
    let mut table = Table::new([
        Column::words("configuration"),
        Column::amounts("epochs"),
        Column::words("course"),
        Column::decimals("last"),
        Column::decimals("an epoch"),
        Column::decimals("before the first"),
    ]);
    for (at, trace, _) in &curves.each {
        let (start, slope) = trace.line().unwrap_or((f64::NAN, f64::NAN));
        let last = trace.means().last().map_or(f64::NAN, |(_, value)| *value);
        table.row([
            written(&settings(epochs, at)),
            most(trace).to_string(),
            drawn(trace),
            significant(last, 4),
            significant(slope, 4),
            significant(start, 3),
        ]);
    }
    table
}

pub(super) fn json(epochs: &EpochsTable, curves: &[Curves]) -> Value {
    let responses: Vec<Value> = curves
        .iter()
        .map(|curves| {
            let each: Vec<Value> = curves
                .each
                .iter()
                .map(|(at, trace, curve)| {
                    json!({
                        "configuration": settings_json(&settings(epochs, at)),
                        "points": trace.means(),
                        "line": trace.line().map(|(start, slope)| json!({
                            "start": start,
                            "per_epoch": slope,
                        })),
                        "curve": curve.as_ref().ok().map(|curve| json!({
                            "asymptote": curve.asymptote,
                            "amplitude": curve.amplitude,
                            "rate": curve.rate,
                            "residual": curve.residual,
                            "method": match curve.method {
                                CurveMethod::PowerLaw => "power_law",
                                CurveMethod::Bounded => "bounded",
                                CurveMethod::Flat => "flat",
                            },
                        })),
                        "error": curve.as_ref().err().map(ToString::to_string),
                    })
                })
                .collect();
            let (shape, rate) = match curves.shape {
                OverEpochs::LevellingOff { rate } => ("levels_off", Some(rate)),
                OverEpochs::Growing => ("grows", None),
            };
            json!({
                "response": curves.response,
                "shape": shape,
                "rate": rate,
                "configurations": each,
            })
        })
        .collect();
    json!({
        "run_up_to": epochs.most,
        "runs_without_epochs": epochs.silent,
        "counted_from_zero_by_runs": epochs.from_zero,
        "responses": responses,
    })
}
