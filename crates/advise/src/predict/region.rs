//! Where runs were observed, and how far outside a configuration lies.

use crate::runs::{Configuration, FactorKind, Factors, key};
use std::collections::BTreeSet;

/// A factor whose setting was not observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outside {
    /// The factor, or the factors joined by ` × ` for a combination.
    pub factor: String,
    /// How it lies outside.
    pub how: OutsideHow,
}

/// How a setting lies outside the observed region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutsideHow {
    /// Beyond the observed range, by this fraction of the range. Ranges of
    /// positive factors that span a factor of two are measured by logarithms.
    Beyond(f64),
    /// No run had this combination of categories.
    Combination,
}

/// The box of numeric levels and the combinations of categories observed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    ranges: Vec<Option<Range>>,
    names: Vec<String>,
    categorical: Vec<usize>,
    combinations: BTreeSet<Vec<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low: f64,
    high: f64,
    log: bool,
}

impl Region {
    pub(super) fn of(factors: &Factors, settings: &[Configuration]) -> Self {
        let ranges = factors
            .iter()
            .map(|factor| match factor.kind() {
                FactorKind::Numeric { levels, .. } => {
                    let (low, high) = (levels[0], levels[levels.len() - 1]);
                    let log = low > 0.0 && high >= 2.0 * low;
                    Some(Range { low, high, log })
                }
                FactorKind::Categorical { .. } => None,
            })
            .collect();
        let categorical: Vec<usize> = (0..factors.len())
            .filter(|&at| factors.at(at).is_categorical())
            .collect();
        let mut region = Self {
            ranges,
            names: factors
                .iter()
                .map(|factor| factor.name().to_owned())
                .collect(),
            categorical,
            combinations: BTreeSet::new(),
        };
        region.combinations = settings.iter().map(|at| region.combination(at)).collect();
        region
    }

    pub(super) fn outside(&self, configuration: &[f64]) -> Vec<Outside> {
        let mut found: Vec<Outside> = self
            .ranges
            .iter()
            .zip(configuration)
            .zip(&self.names)
            .filter_map(|((range, &value), name)| {
                let by = range.as_ref()?.beyond(value);
                (by > 0.0).then(|| Outside {
                    factor: name.clone(),
                    how: OutsideHow::Beyond(by),
                })
            })
            .collect();
        if !self.combinations.contains(&self.combination(configuration)) {
            let names: Vec<&str> = self
                .categorical
                .iter()
                .map(|&at| self.names[at].as_str())
                .collect();
            found.push(Outside {
                factor: names.join(" × "),
                how: OutsideHow::Combination,
            });
        }
        found
    }

    fn combination(&self, configuration: &[f64]) -> Vec<u64> {
        let levels: Vec<f64> = self
            .categorical
            .iter()
            .map(|&at| configuration[at])
            .collect();
        key(&levels)
    }
}

impl Range {
    fn beyond(self, value: f64) -> f64 {
        let (low, high, value) = if self.log {
            let floor = self.low * 1e-3;
            (self.low.ln(), self.high.ln(), value.max(floor).ln())
        } else {
            (self.low, self.high, value)
        };
        let past = (low - value).max(value - high).max(0.0);
        // Of a single level nothing is known about any other; a relative
        // change stands in for the range.
        let width = if high > low {
            high - low
        } else {
            low.abs().max(1.0)
        };
        past / width
    }
}

/// By how much errors are taken to grow outside the observed region: by twice
/// the distance in ranges for each factor, and twofold for a combination of
/// categories that was not observed. At one range outside, intervals are three
/// times as wide. This is a rule, not an estimate: no data say how wrong a model
/// is where nothing was run.
pub(super) fn widening(outside: &[Outside]) -> f64 {
    outside.iter().fold(1.0, |widening, outside| {
        widening
            * match outside.how {
                OutsideHow::Beyond(by) => 1.0 + 2.0 * by,
                OutsideHow::Combination => 2.0,
            }
    })
}
