//! Configurations as numbers that a learner can use.

use super::role::{Role, Roles};
use crate::runs::{FactorKind, Factors};

/// How numeric factors enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As they are, with the steps per epoch (1 / batch size) beside them.
    Plain,
    /// By their logarithm where all levels are above zero and span a factor of
    /// two or more: the effect of a scale factor is a ratio.
    Logarithmic,
    /// As logarithmic; every category has a column of 0 and 1, so that none is the
    /// reference of the others and all are equally far apart.
    Places,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Raw,
    Reciprocal,
    Log { floor: f64 },
    Levelling { rate: f64 },
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Number { factor: usize, shape: Shape },
    Product { factors: [usize; 2], shape: Shape },
    Category { factor: usize, level: f64 },
}

/// Where configurations lie, so that distances between them mean something.
pub(crate) fn places(factors: &Factors, rows: &[&[f64]]) -> impl Fn(&[f64]) -> Vec<f64> {
    let encoding = Encoding::new(factors, &Roles::default(), rows, Style::Logarithmic, false);
    move |configuration| encoding.features(configuration)
}

/// Standardised features of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Encoding {
    sources: Vec<Source>,
    centres: Vec<f64>,
    scales: Vec<f64>,
}

impl Encoding {
    /// Learns centres and scales from rows. Factors that do not vary are left
    /// out; `derived` adds processes = cpus × concurrency.
    pub(crate) fn new(
        factors: &Factors,
        roles: &Roles,
        rows: &[&[f64]],
        style: Style,
        derived: bool,
    ) -> Self {
        let mut sources = Vec::new();
        for (at, factor) in factors.iter().enumerate() {
            let first = rows[0][at];
            if rows.iter().all(|row| row[at] == first) {
                continue;
            }
            match factor.kind() {
                FactorKind::Numeric { .. } => {
                    let shape = match roles.levelling_at(at) {
                        Some(rate) => Shape::Levelling { rate },
                        None => shape(rows.iter().map(|row| row[at]), style),
                    };
                    sources.push(Source::Number { factor: at, shape });
                    if style == Style::Plain && roles.position(Role::BatchSize) == Some(at) {
                        let shape = Shape::Reciprocal;
                        sources.push(Source::Number { factor: at, shape });
                    }
                }
                // The first level is the reference.
                FactorKind::Categorical { levels } => {
                    let first = usize::from(style != Style::Places);
                    sources.extend((first..levels.len()).filter_map(|level| {
                        let level = level as f64;
                        let seen = rows.iter().any(|row| row[at] == level);
                        seen.then_some(Source::Category { factor: at, level })
                    }));
                }
            }
        }
        if derived {
            sources.extend(processes(roles, rows, style));
        }
        let count = rows.len() as f64;
        let (centres, scales) = sources
            .iter()
            .map(|source| {
                if style == Style::Places && matches!(source, Source::Category { .. }) {
                    return (0.0, 1.0);
                }
                let values = || rows.iter().map(|row| source.value(row));
                let centre = values().sum::<f64>() / count;
                let squares: f64 = values().map(|v| (v - centre) * (v - centre)).sum();
                let scale = (squares / count).sqrt();
                (centre, if scale > 0.0 { scale } else { 1.0 })
            })
            .unzip();
        Self {
            sources,
            centres,
            scales,
        }
    }

    /// The features of a configuration. There may be none, if nothing varied.
    pub(crate) fn features(&self, configuration: &[f64]) -> Vec<f64> {
        let standard = self.centres.iter().zip(&self.scales);
        let pairs = self.sources.iter().zip(standard);
        pairs
            .map(|(source, (centre, scale))| {
                let value = (source.value(configuration) - centre) / scale;
                // Far beyond any sense; products of two such features stay finite.
                value.clamp(-1e75, 1e75)
            })
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The factor that each column describes, numbered from zero without gaps; one
    /// column if nothing varied.
    pub(crate) fn factor_of_columns(&self) -> Vec<usize> {
        let mut known: Vec<[usize; 2]> = Vec::new();
        let columns = self.sources.iter().map(|source| {
            let factors = source.factors();
            let found = known.iter().position(|other| *other == factors);
            found.unwrap_or_else(|| {
                known.push(factors);
                known.len() - 1
            })
        });
        let columns: Vec<usize> = columns.collect();
        if columns.is_empty() { vec![0] } else { columns }
    }

    /// Pairs of features that describe different factors.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for second in 0..self.sources.len() {
            for first in 0..second {
                if !self.sources[first].shares_factor(&self.sources[second]) {
                    pairs.push((first, second));
                }
            }
        }
        pairs
    }
}

impl Source {
    fn value(&self, configuration: &[f64]) -> f64 {
        match *self {
            Self::Number { factor, shape } => shape.of(configuration[factor]),
            Self::Product {
                factors: [a, b],
                shape,
            } => shape.of(configuration[a] * configuration[b]),
            Self::Category { factor, level } => f64::from(configuration[factor] == level),
        }
    }

    fn factors(&self) -> [usize; 2] {
        match *self {
            Self::Number { factor, .. } | Self::Category { factor, .. } => [factor; 2],
            Self::Product { factors, .. } => factors,
        }
    }

    fn shares_factor(&self, other: &Self) -> bool {
        let others = other.factors();
        self.factors().iter().any(|factor| others.contains(factor))
    }
}

impl Shape {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Raw => value,
            Self::Reciprocal => 1.0 / value.max(f64::MIN_POSITIVE.sqrt()),
            // A candidate at or below zero is far outside; the floor keeps it finite.
            Self::Log { floor } => value.max(floor).ln(),
            // There is nothing before the first epoch.
            Self::Levelling { rate } => value.max(1.0).powf(-rate),
        }
    }
}

fn shape(values: impl Iterator<Item = f64>, style: Style) -> Shape {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let by_ratio = low > 0.0 && high >= 2.0 * low;
    match style {
        Style::Logarithmic if by_ratio => Shape::Log { floor: low * 1e-3 },
        Style::Places if by_ratio => Shape::Log { floor: low * 1e-3 },
        _ => Shape::Raw,
    }
}

/// Paper 003 finds the number of processes, cpus × concurrent jobs, to predict
/// time better than either alone.
fn processes(roles: &Roles, rows: &[&[f64]], style: Style) -> Option<Source> {
    let factors = [
        roles.position(Role::Cpus)?,
        roles.position(Role::Concurrency)?,
    ];
    let vary = |at: usize| rows.iter().any(|row| row[at] != rows[0][at]);
    if !factors.iter().all(|&at| vary(at)) {
        return None;
    }
    let products = rows.iter().map(|row| row[factors[0]] * row[factors[1]]);
    Some(Source::Product {
        shape: shape(products, style),
        factors,
    })
}
