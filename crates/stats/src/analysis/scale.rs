//! The scale a model is fitted on, and how its numbers are said on the scale of
//! the response itself.

use super::options::AnalyzeError;
use super::units::Unit;
use crate::box_cox::Transformation;
use crate::formula::{ModelFrame, Shape, VariableData};

/// How the fitted response follows the one that is spoken of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// The response that sentences name.
    pub(super) response: String,
    /// The response as it was fitted.
    pub(super) fitted: String,
    pub(super) unit: Unit,
    pub(super) kind: ScaleKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScaleKind {
    /// Differences are differences.
    Plain,
    /// Differences are logarithms of factors, to this base.
    Log(f64),
    /// A power: only means can be brought back.
    Power(Transformation),
}

impl Scale {
    /// The scale of a model that was asked for. `unit` is that of the column.
    pub(super) fn of(frame: &ModelFrame, unit: impl Fn(&str) -> Unit) -> Scale {
        let variable = frame.response();
        let fitted = variable.name();
        match (variable.shape(), variable.columns().as_slice()) {
            (Some(Shape::Log(base)), [column]) => Scale {
                response: (*column).to_owned(),
                fitted,
                unit: unit(column),
                kind: ScaleKind::Log(base),
            },
            (Some(Shape::Line), [column]) => Scale {
                response: (*column).to_owned(),
                fitted,
                unit: unit(column),
                kind: ScaleKind::Plain,
            },
            _ => Scale {
                response: fitted.clone(),
                fitted,
                unit: Unit::Unknown,
                kind: ScaleKind::Plain,
            },
        }
    }

    /// The scale after a transformation that was not asked for.
    pub(super) fn transformed(&self, transformation: Transformation, fitted: &str) -> Scale {
        let kind = match (self.kind, transformation) {
            (kind, Transformation::None) => kind,
            (ScaleKind::Plain, Transformation::Log) => ScaleKind::Log(std::f64::consts::E),
            (ScaleKind::Plain, power) => ScaleKind::Power(power),
            // A transformed logarithm is spoken of as such.
            (ScaleKind::Log(_) | ScaleKind::Power(_), power) => {
                return Scale {
                    response: self.fitted.clone(),
                    fitted: fitted.to_owned(),
                    unit: Unit::Unknown,
                    kind: match power {
                        Transformation::Log => ScaleKind::Log(std::f64::consts::E),
                        power => ScaleKind::Power(power),
                    },
                };
            }
        };
        Scale {
            fitted: fitted.to_owned(),
            kind,
            ..self.clone()
        }
    }

    /// A fitted mean on the scale of the response. Where the scale is bent this
    /// is the typical value (the median, if errors are symmetric), not the mean.
    pub(super) fn back(&self, mean: f64) -> f64 {
        match self.kind {
            ScaleKind::Plain => mean,
            ScaleKind::Log(base) => base.powf(mean),
            ScaleKind::Power(transformation) => transformation.inverse(mean),
        }
    }

    /// An interval on the scale of the response, its ends in order.
    pub(super) fn back_interval(&self, lower: f64, upper: f64) -> (f64, f64) {
        let (a, b) = (self.back(lower), self.back(upper));
        match a.is_nan() || a <= b {
            true => (a, b),
            false => (b, a),
        }
    }

    /// Whether a larger fitted value is a larger response.
    pub(super) fn rises(&self) -> bool {
        match self.kind {
            ScaleKind::Plain | ScaleKind::Log(_) => true,
            ScaleKind::Power(transformation) => transformation.lambda() > 0.0,
        }
    }

    /// Whether means are brought back from another scale.
    pub(super) fn is_bent(&self) -> bool {
        self.kind != ScaleKind::Plain
    }
}

/// Numbers beyond these have squares that no `f64` holds.
const LARGEST: f64 = 1e120;
const SMALLEST: f64 = 1e-120;

/// Brings a response of extreme size to units in which its squares can be added
/// up, and says so; numbers of extreme size among the variables are refused.
pub(super) fn rescale(frame: &mut ModelFrame) -> Result<Option<String>, AnalyzeError> {
    for variable in frame.variables() {
        if let VariableData::Numeric { values, .. } = variable.data() {
            let largest = values
                .iter()
                .fold(0.0_f64, |most, value| most.max(value.abs()));
            if largest != 0.0 && !(SMALLEST..=LARGEST).contains(&largest) {
                return Err(AnalyzeError::OutOfRange {
                    variable: variable.label().to_owned(),
                    largest,
                });
            }
        }
    }
    let values = frame.response_values();
    let largest = values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 || (SMALLEST..=LARGEST).contains(&largest) {
        return Ok(None);
    }
    let power = largest.log10().floor();
    let label = frame.response().label().to_owned();
    // Dividing twice keeps a divisor near the end of the range from overflowing.
    let half = 10.0_f64.powf((power / 2.0).trunc());
    let rest = 10.0_f64.powf(power - (power / 2.0).trunc());
    let scaled = values.iter().map(|value| value / half / rest).collect();
    *frame = frame.with_response(format!("{label}/1e{power}"), scaled);
    Ok(Some(format!(
        "`{label}` reaches {largest:e}, whose square no number holds; it is analysed in units of \
         1e{power}"
    )))
}
