//! Axes: from values to pixels, and where the ticks stand.

/// How the values of an axis are laid out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Linear,
    Log,
    /// Values are the indices of these names.
    Names(Vec<String>),
}

/// One axis of a panel: its label, its kind, and what it must show beyond the
/// marks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) extent: Option<(f64, f64)>,
    pub(crate) include: Vec<f64>,
}

impl Axis {
    /// Equal steps have equal lengths.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self::new(label, Kind::Linear)
    }

    /// Equal ratios have equal lengths. If a mark is at or below zero, which has
    /// no place on such an axis, the axis is linear instead: nothing is hidden.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self::new(label, Kind::Log)
    }

    /// Names in a row; a mark's value is the index of its name.
    #[must_use]
    pub fn names(label: &str, names: impl IntoIterator<Item = String>) -> Self {
        Self::new(label, Kind::Names(names.into_iter().collect()))
    }

    /// Makes the axis reach `value` even if no mark does.
    #[must_use]
    pub fn including(mut self, value: f64) -> Self {
        self.include.push(value);
        self
    }

    /// Fixes both ends; marks beyond are clipped.
    #[must_use]
    pub fn from_to(mut self, low: f64, high: f64) -> Self {
        self.extent = Some((low, high));
        self
    }

    fn new(label: &str, kind: Kind) -> Self {
        Self {
            label: label.to_owned(),
            kind,
            extent: None,
            include: Vec::new(),
        }
    }

    /// The scale for marks at `values`, about `target` ticks.
    pub(crate) fn scale(&self, values: impl Iterator<Item = f64>, target: usize) -> Scale {
        if let Kind::Names(names) = &self.kind {
            return Scale {
                low: -0.5,
                high: names.len().max(1) as f64 - 0.5,
                log: false,
                ticks: names
                    .iter()
                    .enumerate()
                    .map(|(i, name)| (i as f64, name.clone()))
                    .collect(),
            };
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.chain(self.include.iter().copied()) {
            // The ends of the number line are left out so that a width stays finite.
            if value.abs() <= 1e300 {
                low = low.min(value);
                high = high.max(value);
            }
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if let Some((from, to)) = self.extent {
            (low, high) = (from, to);
        }
        let log = self.kind == Kind::Log && low > 0.0;
        if log {
            (low, high) = (low.ln(), high.ln());
        }
        if high - low <= f64::EPSILON * high.abs().max(low.abs()) {
            // A single value sits in the middle of an axis of its own size.
            let half = if log {
                0.5
            } else {
                (low.abs() * 0.1).max(1e-12)
            };
            (low, high) = (low - half, high + half);
        } else if self.extent.is_none() {
            // Room at both ends, except that an axis which starts at zero
            // because it was asked to does not show less than nothing.
            let pad = (high - low) * 0.05;
            if log || low != 0.0 || !self.include.contains(&0.0) {
                low -= pad;
            }
            high += pad;
        }
        let ticks = if log {
            log_ticks(low.exp(), high.exp(), target)
        } else {
            linear_ticks(low, high, target)
        };
        Scale {
            low,
            high,
            log,
            ticks,
        }
    }
}

/// An axis with its ends and ticks decided.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Where `value` lies: 0 at the low end, 1 at the high end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.ln() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// The value that lies at a place from 0 to 1.
    pub(crate) fn value(&self, place: f64) -> f64 {
        let value = self.low + place * (self.high - self.low);
        if self.log { value.exp() } else { value }
    }

    pub(crate) fn longest_label(&self) -> f64 {
        self.ticks
            .iter()
            .map(|(_, label)| super::svg::text_width(label))
            .fold(0.0, f64::max)
    }
}

/// Round values between `low` and `high`, about `target` of them, with labels of
/// one precision. The steps are those of Heckbert, "Nice numbers for graph
/// labels", Graphics Gems (1990).
fn linear_ticks(low: f64, high: f64, target: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / target.max(1) as f64;
    let magnitude = 10f64.powf(rough.log10().floor());
    let factor = match rough / magnitude {
        f if f < 1.5 => 1.0,
        f if f < 3.0 => 2.0,
        f if f < 7.0 => 5.0,
        _ => 10.0,
    };
    let step = factor * magnitude;
    if !(step.is_finite() && step > 0.0) {
        return vec![(low, crate::number::significant(low, 3))];
    }
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).clamp(0.0, 50.0) as usize;
    let largest = low.abs().max(high.abs());
    (0..=count)
        .map(|i| (first + i as f64) * step)
        .filter(|value| (low..=high).contains(value))
        .map(|value| (value, tick_label(value, step, largest)))
        .collect()
}

/// Powers of ten between `low` and `high`; where they are few, also twice and
/// five times them.
fn log_ticks(low: f64, high: f64, target: usize) -> Vec<(f64, String)> {
    let decades = (high / low).log10();
    let factors: &[f64] = if decades < target as f64 / 2.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    if decades < 0.7 {
        return linear_ticks(low, high, target);
    }
    let every = (decades / target.max(1) as f64).ceil().max(1.0) as i32;
    // Padding can push an end beyond what a double holds.
    let from = low.log10().floor().max(-307.0) as i32;
    let to = high.log10().ceil().min(307.0) as i32;
    (from..=to)
        .filter(|exponent| exponent.rem_euclid(every) == 0)
        .flat_map(|exponent| factors.iter().map(move |f| f * 10f64.powi(exponent)))
        .filter(|value| (low..=high).contains(value))
        .map(|value| (value, tick_label(value, value, value)))
        .collect()
}

/// A tick's text: as many decimals as the step needs, an exponent where plain
/// digits would be long.
fn tick_label(value: f64, step: f64, largest: f64) -> String {
    let exponent = step.abs().log10().floor();
    let text = if value.abs() < step.abs() * 1e-6 {
        "0".to_owned()
    } else if largest >= 1e5 && exponent >= 3.0 || exponent < -4.0 {
        let decimals = (value.abs().log10().floor() - exponent).clamp(0.0, 6.0) as usize;
        let text = format!("{value:.decimals$e}");
        match text.split_once('e') {
            Some((mantissa, power)) if mantissa.contains('.') => {
                let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
                format!("{mantissa}e{power}")
            }
            _ => text,
        }
    } else {
        format!("{value:.*}", (-exponent).max(0.0) as usize)
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, values: &[f64]) -> Vec<String> {
        let scale = axis.scale(values.iter().copied(), 5);
        scale.ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(Axis::linear(""), &[0.0, 1.0]),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(Axis::linear(""), &[-30.0, 65.0]),
            ["−20", "0", "20", "40", "60"]
        );
        assert_eq!(
            labels(Axis::linear("").including(0.0), &[2e6, 5e6]),
            ["0", "1e6", "2e6", "3e6", "4e6", "5e6"]
        );
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(
            labels(Axis::log(""), &[0.001, 1000.0]),
            ["0.01", "1", "100"]
        );
        assert_eq!(
            labels(Axis::log(""), &[1.0, 20.0]),
            ["1", "2", "5", "10", "20"]
        );
    }

    #[test]
    fn a_logarithmic_axis_never_hides_a_zero() {
        let scale = Axis::log("").scale([0.0, 10.0].into_iter(), 5);
        assert!(scale.place(0.0).is_finite());
    }

    #[test]
    fn degenerate_ranges_still_have_a_place() {
        for values in [
            &[][..],
            &[3.0],
            &[0.0],
            &[f64::NAN, f64::INFINITY],
            &[1e-300, 1e300],
            &[-1e308, 1e308],
            &[1.0, 1.0 + f64::EPSILON],
        ] {
            for axis in [Axis::linear(""), Axis::log("")] {
                let scale = axis.scale(values.iter().copied(), 5);
                for value in values.iter().filter(|v| v.is_finite()) {
                    assert!(!scale.place(*value).is_nan(), "{values:?}");
                }
            }
        }
    }
}
