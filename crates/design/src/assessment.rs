//! What a design can tell about a given model: which terms it can estimate,
//! with what power, and what omitted terms would do to the estimates.

use paceline_dist::{FisherF, NoncentralF};
use thiserror::Error;

use crate::design::Design;
use crate::terms::{Model, ModelTerms, Term, TermError, helmert};
use paceline_numeric::{PivotedCholesky, SymmetricMatrix};

/// What a design can tell about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The terms in the model's order.
    pub terms: Vec<TermAssessment>,
    /// How many coefficients the design determines, blocks included.
    pub rank: usize,
    /// Degrees of freedom left for the noise.
    pub residual_df: usize,
    /// |X'X|^(1/p) / n, one for a balanced and orthogonal two-level design.
    /// Blocks are left aside. `None` when some term is not estimable.
    pub d_efficiency: Option<f64>,
}

/// What a design can tell about one term.
#[derive(Debug, Clone, PartialEq)]
pub struct TermAssessment {
    /// The term.
    pub term: Term,
    /// How many coefficients it has.
    pub df: usize,
    /// Whether all of them can be estimated.
    pub estimable: bool,
    /// With what it is confounded, if it is not estimable.
    pub confounded_with: Vec<Partner>,
    /// The probability of finding the effect; `None` when no effect was given,
    /// the term is not estimable, or no degrees of freedom are left.
    pub power: Option<f64>,
}

/// What a term can be confounded with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partner {
    /// The overall mean.
    Intercept,
    /// Differences between blocks.
    Blocks,
    /// Another term.
    Term(Term),
}

/// The effect to be found, the noise it must be found in, and the test's level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    size: f64,
    noise_sd: f64,
    alpha: f64,
}

/// Why an effect makes no sense.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EffectError {
    /// The size is infinite or not a number.
    #[error("the size of an effect must be a finite number, not {0}")]
    Size(f64),
    /// The noise is not positive.
    #[error("the standard deviation of the noise must be a positive number, not {0}")]
    Noise(f64),
    /// The level is not a probability.
    #[error("the significance level must lie between 0 and 1, not {0}")]
    Alpha(f64),
}

impl Effect {
    /// An effect by how much the response changes between the term's extremes:
    /// from the low to the high level of a factor, between two of its
    /// categories, between the positive and the negative sign of an
    /// interaction, from the centre to the ends for a square. The noise is the
    /// standard deviation of the response between runs of one trial, in the
    /// same unit; `alpha` is the significance level of the test.
    pub fn new(size: f64, noise_sd: f64, alpha: f64) -> Result<Self, EffectError> {
        if !size.is_finite() {
            return Err(EffectError::Size(size));
        }
        if !(noise_sd.is_finite() && noise_sd > 0.0) {
            return Err(EffectError::Noise(noise_sd));
        }
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(EffectError::Alpha(alpha));
        }
        Ok(Self {
            size,
            noise_sd,
            alpha,
        })
    }
}

/// How an omitted term would bias a fitted one.
#[derive(Debug, Clone, PartialEq)]
pub struct Bias {
    /// The fitted term.
    pub term: Term,
    /// The omitted term.
    pub omitted: Term,
    /// The greatest amount, over the terms' columns, that one unit of the
    /// omitted coefficient adds to the fitted one.
    pub coefficient: f64,
}

impl Design {
    /// What the design can tell about a model; with an effect, also with what
    /// power each term is found.
    pub fn assess(
        &self,
        terms: &ModelTerms,
        effect: Option<Effect>,
    ) -> Result<Assessment, TermError> {
        let model = Model::new(&self.factors, terms)?;
        let gram = self.information(&model, true);
        let factored = PivotedCholesky::of(&gram);
        // Blocks that hold the same part of a replicate differ by contrasts
        // that are orthogonal to every term: they only cost degrees of freedom.
        let rank = factored.rank() + (self.blocks - self.parts) as usize;
        let residual_df = self.runs.len().saturating_sub(rank);
        let groups = Groups::of(&model, &factored.null_space(&gram), gram.size());
        let assessed = (0..model.terms.len())
            .map(|index| {
                let confounded_with = groups.partners(&model, index);
                let estimable = groups.is_estimable(index);
                let power = effect
                    .filter(|_| estimable && residual_df > 0)
                    .and_then(|effect| self.power(&model, index, &factored, residual_df, effect));
                TermAssessment {
                    term: model.terms[index].clone(),
                    df: model.columns_of(index).len(),
                    estimable,
                    confounded_with,
                    power,
                }
            })
            .collect();
        let n = self.runs.len() as f64;
        let d_efficiency = PivotedCholesky::of(&self.information(&model, false))
            .log_determinant()
            .map(|log_det| (log_det / model.columns() as f64).exp() / n);
        Ok(Assessment {
            terms: assessed,
            rank,
            residual_df,
            d_efficiency,
        })
    }

    /// How terms left out of the model would bias those fitted: the non-zero
    /// entries of the alias matrix (X₁'X₁)⁻¹X₁'X₂ of Box and Wilson (1951),
    /// "On the experimental attainment of optimum conditions", *Journal of the
    /// Royal Statistical Society B* 13. Fitted terms that the design cannot
    /// estimate are left out.
    pub fn biases(
        &self,
        fitted: &ModelTerms,
        omitted: &ModelTerms,
    ) -> Result<Vec<Bias>, TermError> {
        let fitted = fitted.expand(&self.factors);
        let omitted: Vec<Term> = omitted
            .expand(&self.factors)
            .into_iter()
            .filter(|term| !fitted.contains(term))
            .collect();
        let model = Model::new(&self.factors, &ModelTerms::Explicit(fitted.clone()))?;
        let both = [fitted.clone(), omitted.clone()].concat();
        let joint = Model::new(&self.factors, &ModelTerms::Explicit(both))?;
        let gram = self.information(&model, false);
        let factored = PivotedCholesky::of(&gram);
        let groups = Groups::of(&model, &factored.null_space(&gram), gram.size());
        let all = self.information(&joint, false);
        let size = model.columns();
        let mut biases = Vec::new();
        for (index, term) in omitted.iter().enumerate() {
            let mut greatest = vec![0.0_f64; fitted.len()];
            for column in joint.columns_of(fitted.len() + index) {
                let right: Vec<f64> = (0..size).map(|i| all.at(i, column)).collect();
                let solution = factored.solve(&right);
                for (slot, into) in greatest.iter_mut().enumerate() {
                    for i in model.columns_of(slot) {
                        if solution[i].abs() > into.abs() {
                            *into = solution[i];
                        }
                    }
                }
            }
            for (slot, coefficient) in greatest.into_iter().enumerate() {
                if coefficient.abs() > 1e-9 && groups.is_estimable(slot) {
                    let (term, omitted) = (fitted[slot].clone(), term.clone());
                    biases.push(Bias {
                        term,
                        omitted,
                        coefficient,
                    });
                }
            }
        }
        Ok(biases)
    }

    /// X'X of the model over all runs; with contrasts between the parts of a
    /// replicate if asked.
    pub(crate) fn information(&self, model: &Model, with_blocks: bool) -> SymmetricMatrix {
        let parts = if with_blocks { self.parts } else { 1 };
        let size = model.columns() + parts as usize - 1;
        let mut keys: Vec<(u32, u32)> = self
            .runs
            .iter()
            .map(|run| (run.trial, run.block % parts))
            .collect();
        keys.sort_unstable();
        let mut gram = SymmetricMatrix::zeros(size);
        let mut row = vec![0.0; size];
        // Runs of one trial in one part share a row, which is added once.
        for same in keys.chunk_by(|a, b| a == b) {
            let (trial, part) = same[0];
            model.row(
                &self.factors,
                self.settings(trial),
                &mut row[..model.columns()],
            );
            for column in 0..parts as usize - 1 {
                row[model.columns() + column] = helmert(parts as usize, column, part as usize);
            }
            gram.add_outer_product(&row, same.len() as f64);
        }
        gram
    }

    /// The power of the F test of a term (Cohen 1988, *Statistical Power
    /// Analysis*; Scheffé 1959, *The Analysis of Variance*).
    ///
    /// The noncentrality is b'C⁻¹b / σ², where C is the term's part of
    /// (X'X)⁻¹ and b the coefficients that the effect means. Where the effect
    /// can lie between any two categories, the least favourable pair counts.
    fn power(
        &self,
        model: &Model,
        index: usize,
        factored: &PivotedCholesky,
        residual_df: usize,
        effect: Effect,
    ) -> Option<f64> {
        let columns = model.columns_of(index);
        let size = columns.len();
        let mut dispersion = SymmetricMatrix::zeros(size);
        let total = factored.size();
        for (a, column) in columns.clone().enumerate() {
            let mut unit = vec![0.0; total];
            unit[column] = 1.0;
            let solved = factored.solve(&unit);
            for (b, other) in columns.clone().enumerate() {
                dispersion.set(a, b, solved[other]);
            }
        }
        let information = PivotedCholesky::of(&dispersion).inverse()?;
        let variance = effect.noise_sd * effect.noise_sd;
        let least = self
            .coefficients(&model.terms[index], effect.size)
            .iter()
            .map(|b| {
                let mut sum = 0.0;
                for i in 0..size {
                    for j in 0..size {
                        sum += b[i] * information[i * size + j] * b[j];
                    }
                }
                sum / variance
            })
            .fold(f64::INFINITY, f64::min);
        f_test_power(size as f64, residual_df as f64, least, effect.alpha)
    }

    /// The coefficient vectors of a term that mean an effect of this size.
    fn coefficients(&self, term: &Term, size: f64) -> Vec<Vec<f64>> {
        let is_numeric = |position: usize| !self.factors[position].is_categorical();
        // A product of even powers runs from zero to one, any other from −1 to 1.
        let even = term
            .parts()
            .iter()
            .all(|(i, power)| is_numeric(*i) && power % 2 == 0);
        let mut vectors = vec![vec![if even { size } else { size / 2.0 }]];
        let single = term.parts().len() == 1;
        for (position, _) in term.parts().iter().filter(|(i, _)| !is_numeric(*i)) {
            let levels = self.factors[*position].levels().len();
            // All pairs for a main effect; for interactions, whose pairs
            // multiply, each level against the first.
            let firsts = if single { levels - 1 } else { 1 };
            let pairs = (0..firsts).flat_map(|a| (a + 1..levels).map(move |b| (a, b)));
            let contrasts: Vec<Vec<f64>> = pairs
                .map(|(a, b)| {
                    // The least-squares coefficients of +1 at one level, −1 at
                    // the other and 0 elsewhere.
                    (0..levels - 1)
                        .map(|j| (helmert(levels, j, b) - helmert(levels, j, a)) / levels as f64)
                        .collect()
                })
                .collect();
            vectors = vectors
                .iter()
                .flat_map(|vector| {
                    contrasts.iter().map(move |contrast| {
                        contrast
                            .iter()
                            .flat_map(|c| vector.iter().map(move |v| c * v))
                            .collect::<Vec<f64>>()
                    })
                })
                .collect();
        }
        vectors
    }
}

/// P(F' > f) with f the critical value of the central distribution.
fn f_test_power(df1: f64, df2: f64, noncentrality: f64, alpha: f64) -> Option<f64> {
    let critical = FisherF::new(df1, df2).ok()?.upper_quantile(alpha);
    let noncentral = NoncentralF::new(df1, df2, noncentrality).ok()?;
    Some(noncentral.sf(critical))
}

/// Terms that dependences between columns tie together.
struct Groups {
    /// For each term, its group; terms without dependence are alone.
    group: Vec<usize>,
    dependent: Vec<bool>,
    intercept: Option<usize>,
    blocks: Option<usize>,
}

impl Groups {
    fn of(model: &Model, null: &[Vec<f64>], size: usize) -> Self {
        // Nodes: the terms, then the intercept, then blocks.
        let terms = model.terms.len();
        let mut node_of = vec![terms + 1; size];
        node_of[0] = terms;
        for index in 0..terms {
            for column in model.columns_of(index) {
                node_of[column] = index;
            }
        }
        let mut parent: Vec<usize> = (0..terms + 2).collect();
        let mut dependent = vec![false; terms + 2];
        for vector in null {
            let scale = vector.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let touched: Vec<usize> = (0..size)
                .filter(|i| vector[*i].abs() > 1e-7 * scale)
                .map(|i| node_of[i])
                .collect();
            for node in &touched {
                dependent[*node] = true;
                let (a, b) = (root(&parent, touched[0]), root(&parent, *node));
                parent[b] = a;
            }
        }
        let group: Vec<usize> = (0..terms + 2).map(|node| root(&parent, node)).collect();
        Self {
            intercept: dependent[terms].then_some(group[terms]),
            blocks: dependent[terms + 1].then_some(group[terms + 1]),
            group: group[..terms].to_vec(),
            dependent: dependent[..terms].to_vec(),
        }
    }

    fn is_estimable(&self, term: usize) -> bool {
        !self.dependent[term]
    }

    fn partners(&self, model: &Model, term: usize) -> Vec<Partner> {
        if self.is_estimable(term) {
            return Vec::new();
        }
        let group = self.group[term];
        let mut partners = Vec::new();
        if self.intercept == Some(group) {
            partners.push(Partner::Intercept);
        }
        if self.blocks == Some(group) {
            partners.push(Partner::Blocks);
        }
        for (other, name) in model.terms.iter().enumerate() {
            if other != term && self.dependent[other] && self.group[other] == group {
                partners.push(Partner::Term(name.clone()));
            }
        }
        partners
    }
}

fn root(parent: &[usize], mut node: usize) -> usize {
    while parent[node] != node {
        node = parent[node];
    }
    node
}
