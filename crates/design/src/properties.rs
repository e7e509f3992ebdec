//! What a design says about itself, whatever model is fitted to it.

use std::collections::HashMap;

use crate::design::{Design, Structure};
use crate::fraction::AliasSet;
use crate::terms::{Model, ModelTerms};
use crate::word::Word;

/// What a design says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Properties {
    /// How many runs there are.
    pub runs: usize,
    /// How many different combinations of levels.
    pub trials: usize,
    /// How many blocks; one means none.
    pub blocks: u32,
    /// The resolution of a fraction or of a Plackett–Burman design: main
    /// effects are clear of interactions of fewer than this minus one factors.
    /// Full factorials, and designs without that notion, have none.
    pub resolution: Option<u32>,
    /// The defining relation of a fraction.
    pub defining_relation: Option<String>,
    /// How many words of each length a fraction's defining relation has,
    /// indexed by length.
    pub word_length_pattern: Option<Vec<u64>>,
    /// The interactions whose signs divide a replicate into blocks.
    pub block_generators: Vec<Word>,
    /// Whether every factor takes each of its settings equally often.
    pub balanced: bool,
    /// The greatest absolute correlation between the main effects of two
    /// different factors; an orthogonal design has zero.
    pub greatest_correlation: f64,
}

impl Properties {
    /// Whether the main effects of all factors are uncorrelated.
    #[must_use]
    pub fn is_orthogonal(&self) -> bool {
        self.greatest_correlation < 1e-9
    }
}

impl Design {
    /// What the design says about itself.
    #[must_use]
    pub fn properties(&self) -> Properties {
        let fraction = self.fraction().filter(|fraction| fraction.added() > 0);
        let resolution = match &self.structure {
            Structure::Regular { fraction, .. } => fraction.resolution(),
            Structure::Hadamard => self.strength_resolution(),
            Structure::General => None,
        };
        Properties {
            runs: self.runs.len(),
            trials: self.trials.len(),
            blocks: self.blocks,
            resolution,
            defining_relation: fraction.map(|fraction| fraction.defining_relation()),
            word_length_pattern: fraction.map(|fraction| fraction.word_length_pattern()),
            block_generators: self.block_generators(),
            balanced: self.is_balanced(),
            greatest_correlation: self.greatest_correlation(),
        }
    }

    /// Which effects of up to `order` factors one estimate cannot tell apart,
    /// for regular two-level designs. Other designs answer through
    /// [`Design::assess`] and [`Design::biases`]. `None` also when there are
    /// more than a million such effects.
    #[must_use]
    pub fn aliases(&self, order: u32) -> Option<Vec<AliasSet>> {
        let Structure::Regular { fraction, blocks } = &self.structure else {
            return None;
        };
        (effect_count(self.factors.len(), order) <= 1_000_000)
            .then(|| fraction.aliases(order, blocks))
    }

    fn block_generators(&self) -> Vec<Word> {
        match &self.structure {
            Structure::Regular { fraction, blocks } => blocks
                .iter()
                .map(|bits| fraction.base_word(*bits))
                .collect(),
            Structure::Hadamard | Structure::General => Vec::new(),
        }
    }

    /// How many runs each trial has.
    pub(crate) fn repeats(&self) -> Vec<u32> {
        let mut repeats = vec![0; self.trials.len()];
        for run in &self.runs {
            repeats[run.trial as usize] += 1;
        }
        repeats
    }

    fn is_balanced(&self) -> bool {
        let repeats = self.repeats();
        (0..self.factors.len()).all(|position| {
            let mut counts: HashMap<(bool, u64), u32> = HashMap::new();
            for (row, repeat) in self.trials.rows().zip(&repeats) {
                *counts.entry(row[position].key()).or_default() += repeat;
            }
            let mut counts = counts.into_values();
            let first = counts.next();
            counts.all(|count| Some(count) == first)
        })
    }

    fn greatest_correlation(&self) -> f64 {
        let Ok(model) = Model::new(&self.factors, &ModelTerms::Main) else {
            return f64::NAN;
        };
        let gram = self.information(&model, false);
        let n = self.runs.len() as f64;
        let covariance =
            |i: usize, j: usize| gram.at(i, j) / n - gram.at(0, i) * gram.at(0, j) / (n * n);
        let mut greatest: f64 = 0.0;
        for a in 0..self.factors.len() {
            for b in 0..a {
                for i in model.columns_of(a) {
                    for j in model.columns_of(b) {
                        let scale = (covariance(i, i) * covariance(j, j)).sqrt();
                        if scale > 0.0 {
                            greatest = greatest.max((covariance(i, j) / scale).abs());
                        }
                    }
                }
            }
        }
        greatest
    }

    /// III when some two-factor interaction correlates with a main effect, IV
    /// otherwise, as an orthogonal array of strength two or three.
    fn strength_resolution(&self) -> Option<u32> {
        let repeats = self.repeats();
        let columns: Vec<Vec<f64>> = (0..self.factors.len())
            .map(|i| {
                let factor = &self.factors[i];
                self.trials.rows().map(|row| factor.coded(row[i])).collect()
            })
            .collect();
        for a in 0..columns.len() {
            for b in 0..a {
                let product: Vec<f64> = columns[a]
                    .iter()
                    .zip(&columns[b])
                    .zip(&repeats)
                    .map(|((x, y), repeat)| x * y * f64::from(*repeat))
                    .collect();
                for column in &columns[..b] {
                    let sum: f64 = product.iter().zip(column).map(|(x, y)| x * y).sum();
                    if sum.abs() > 1e-6 {
                        return Some(3);
                    }
                }
            }
        }
        (columns.len() > 3).then_some(4)
    }
}

/// How many effects of one to `order` factors there are, at most `u64::MAX`.
fn effect_count(factors: usize, order: u32) -> u64 {
    let mut of_size = 1_u64;
    let mut sum = 0_u64;
    for size in 1..=u64::from(order).min(factors as u64) {
        // Exact while it fits: a binomial coefficient times the next numerator
        // is divisible by the next denominator.
        of_size = of_size.saturating_mul(factors as u64 - size + 1) / size;
        sum = sum.saturating_add(of_size);
    }
    sum
}
