//! The terms of a linear model and the columns they become.

use thiserror::Error;

use crate::factor::{Factor, Factors, Setting};

/// Which terms a model has. The intercept is always among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelTerms {
    /// Every main effect.
    Main,
    /// Every main effect and every interaction of two factors.
    TwoFactor,
    /// As [`ModelTerms::TwoFactor`], and the square of every numeric factor.
    Quadratic,
    /// Exactly these.
    Explicit(Vec<Term>),
}

/// A product of factors raised to powers, other than the intercept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(Vec<(usize, u32)>);

/// Why a model cannot be built over the factors.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TermError {
    /// The term refers to a factor that does not exist.
    #[error("a term refers to factor number {position}, but there are only {count}", position = position + 1)]
    UnknownFactor {
        /// The position, counted from zero.
        position: usize,
        /// How many factors there are.
        count: usize,
    },
    /// Categories have no powers.
    #[error("factor `{factor}` is categorical, so it has no square or higher power")]
    CategoricalPower {
        /// The factor.
        factor: String,
    },
    /// A power of zero is no term.
    #[error("a term must have at least one factor, each to a power from 1 to 9")]
    EmptyTerm,
    /// The model has too many columns to work with.
    #[error("the model has more than {limit} coefficients", limit = Model::MAX_COLUMNS)]
    TooLarge,
}

impl Term {
    /// The main effect of a factor.
    #[must_use]
    pub fn main(factor: usize) -> Self {
        Self(vec![(factor, 1)])
    }

    /// The interaction of different factors; a factor named twice is squared.
    #[must_use]
    pub fn interaction(factors: &[usize]) -> Self {
        Self::powers(factors.iter().map(|factor| (*factor, 1)))
    }

    /// A product of factors, by position, raised to powers.
    #[must_use]
    pub fn powers(powers: impl IntoIterator<Item = (usize, u32)>) -> Self {
        let mut merged: Vec<(usize, u32)> = Vec::new();
        for (factor, power) in powers {
            match merged.iter_mut().find(|(other, _)| *other == factor) {
                Some((_, sum)) => *sum = sum.saturating_add(power),
                None => merged.push((factor, power)),
            }
        }
        merged.sort_unstable();
        Self(merged)
    }

    /// The factors' positions with their powers, ascending.
    #[must_use]
    pub fn parts(&self) -> &[(usize, u32)] {
        &self.0
    }

    /// The term in factor names: `nodes:batch_size`, `nodes^2`.
    #[must_use]
    pub fn name(&self, factors: &Factors) -> String {
        let part = |(factor, power): &(usize, u32)| match power {
            1 => factors.name(*factor).to_owned(),
            _ => format!("{}^{power}", factors.name(*factor)),
        };
        self.0.iter().map(part).collect::<Vec<_>>().join(":")
    }
}

impl ModelTerms {
    /// The terms over the given factors, main effects first.
    pub(crate) fn expand(&self, factors: &Factors) -> Vec<Term> {
        let k = factors.len();
        let main = (0..k).map(Term::main);
        let pairs =
            || (0..k).flat_map(move |i| (i + 1..k).map(move |j| Term::interaction(&[i, j])));
        let squares = (0..k).filter(|i| !factors[*i].is_categorical());
        match self {
            Self::Main => main.collect(),
            Self::TwoFactor => main.chain(pairs()).collect(),
            Self::Quadratic => main
                .chain(pairs())
                .chain(squares.map(|i| Term::powers([(i, 2)])))
                .collect(),
            Self::Explicit(terms) => {
                let mut unique: Vec<Term> = Vec::with_capacity(terms.len());
                for term in terms {
                    if !unique.contains(term) {
                        unique.push(term.clone());
                    }
                }
                unique
            }
        }
    }
}

/// A model checked against the factors.
///
/// A numeric factor enters by its coded value. A categorical one of L levels
/// enters by L − 1 Helmert contrasts scaled to a mean square of one over its
/// levels, so that a balanced, orthogonal design has an information matrix of
/// n times the identity whatever the factors; with two levels that is ±1.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) terms: Vec<Term>,
    /// Where each term's columns start; the intercept is column 0.
    starts: Vec<usize>,
    columns: usize,
}

impl Model {
    pub(crate) const MAX_COLUMNS: usize = 2000;

    pub(crate) fn new(factors: &Factors, terms: &ModelTerms) -> Result<Self, TermError> {
        let terms = terms.expand(factors);
        let mut starts = Vec::with_capacity(terms.len());
        let mut columns = 1_usize;
        for term in &terms {
            if term.0.is_empty() {
                return Err(TermError::EmptyTerm);
            }
            let mut width = 1_usize;
            for (position, power) in &term.0 {
                let Some(factor) = factors.get(*position) else {
                    let (position, count) = (*position, factors.len());
                    return Err(TermError::UnknownFactor { position, count });
                };
                match (*power, factor.is_categorical()) {
                    (1, _) | (2..=9, false) => {}
                    (2..=9, true) => {
                        let factor = factor.name().to_owned();
                        return Err(TermError::CategoricalPower { factor });
                    }
                    _ => return Err(TermError::EmptyTerm),
                }
                width = width.saturating_mul(contrasts(factor));
            }
            starts.push(columns);
            columns = columns.saturating_add(width);
            if columns > Self::MAX_COLUMNS {
                return Err(TermError::TooLarge);
            }
        }
        Ok(Self {
            terms,
            starts,
            columns,
        })
    }

    /// How many coefficients there are, the intercept included.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The columns of a term.
    pub(crate) fn columns_of(&self, term: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(term + 1).copied().unwrap_or(self.columns);
        self.starts[term]..end
    }

    /// The columns that depend on a factor.
    pub(crate) fn columns_with(&self, factor: usize) -> Vec<usize> {
        (0..self.terms.len())
            .filter(|index| {
                self.terms[*index]
                    .0
                    .iter()
                    .any(|(other, _)| *other == factor)
            })
            .flat_map(|index| self.columns_of(index))
            .collect()
    }

    /// Writes the row of the model matrix at the given settings.
    pub(crate) fn row(&self, factors: &Factors, settings: &[Setting], out: &mut [f64]) {
        out[0] = 1.0;
        for (index, term) in self.terms.iter().enumerate() {
            let range = self.columns_of(index);
            let out = &mut out[range];
            out[0] = 1.0;
            let mut filled = 1;
            for (position, power) in &term.0 {
                let factor = &factors[*position];
                let setting = settings[*position];
                if factor.is_categorical() {
                    filled = multiply_contrasts(out, filled, factor, setting);
                } else {
                    let value = factor.coded(setting).powi(*power as i32);
                    out[..filled].iter_mut().for_each(|x| *x *= value);
                }
            }
        }
    }
}

/// How many columns a main effect has.
pub(crate) fn contrasts(factor: &Factor) -> usize {
    if factor.is_categorical() {
        factor.levels().len() - 1
    } else {
        1
    }
}

/// The scaled Helmert contrast number `column` (from zero) of `levels` levels.
pub(crate) fn helmert(levels: usize, column: usize, level: usize) -> f64 {
    let j = column + 1;
    let scale = (levels as f64 / (j * (j + 1)) as f64).sqrt();
    match level.cmp(&j) {
        std::cmp::Ordering::Less => -scale,
        std::cmp::Ordering::Equal => j as f64 * scale,
        std::cmp::Ordering::Greater => 0.0,
    }
}

/// Replaces the first `filled` entries by their products with each contrast.
fn multiply_contrasts(out: &mut [f64], filled: usize, factor: &Factor, setting: Setting) -> usize {
    let levels = factor.levels().len();
    let Setting::Level(level) = setting else {
        unreachable!("a categorical factor is only ever set to one of its levels")
    };
    for column in (0..levels - 1).rev() {
        let value = helmert(levels, column, level as usize);
        for i in 0..filled {
            out[column * filled + i] = out[i] * value;
        }
    }
    filled * (levels - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_orthogonal_with_mean_square_one_and_mean_zero() {
        for levels in 2..7 {
            for a in 0..levels - 1 {
                let sum: f64 = (0..levels).map(|l| helmert(levels, a, l)).sum();
                assert!(sum.abs() < 1e-12);
                for b in 0..levels - 1 {
                    let dot: f64 = (0..levels)
                        .map(|l| helmert(levels, a, l) * helmert(levels, b, l))
                        .sum();
                    let wanted = if a == b { levels as f64 } else { 0.0 };
                    assert!((dot - wanted).abs() < 1e-12, "{levels} levels, {a} and {b}");
                }
            }
        }
    }
}
