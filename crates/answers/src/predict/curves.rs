//! Learning curves, one for each configuration.

use crate::results::EpochsTable;
use crate::settings::settings_json;
use paceline_advise::curve::{Curve, CurveError, CurveMethod, OverEpochs, Trace, traces};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use serde_json::{Value, json};

/// A response over the epochs.
pub struct Curves {
    /// The response's name.
    pub response: String,
    /// Whether it levels off or grows.
    pub shape: OverEpochs,
    /// By configuration, in order of first appearance.
    pub each: Vec<(Configuration, Trace, Result<Curve, CurveError>)>,
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
#[must_use]
pub fn without_epochs(epochs: &EpochsTable, at: &[f64]) -> Vec<(String, Level)> {
    let factors = epochs.all.runs.factors().iter().zip(at);
    factors
        .map(|(factor, &value)| (factor.name().to_owned(), factor.level(value)))
        .collect()
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
                        "configuration": settings_json(&without_epochs(epochs, at)),
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
