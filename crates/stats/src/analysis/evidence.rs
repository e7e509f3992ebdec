//! What speaks for each term, under the method to trust.

use super::design::{CodedDesign, Unreplicated};
use super::recommendation::{Recommendation, RobustResult};
use super::wording::p_value;
use crate::anova::Anova;
use crate::checks::holm;

/// The evidence for one term.
#[derive(Clone, Debug, PartialEq)]
pub struct TermEvidence {
    /// The term as the formula writes it.
    pub term: String,
    /// The term in people's words.
    pub name: String,
    /// Its index among the terms of the model.
    pub index: usize,
    /// Percent of the variation.
    pub percent: f64,
    /// The p-value of its test alone.
    pub p: f64,
    /// The p-value after correction for having tested all terms.
    pub adjusted: f64,
    /// How it was tested.
    pub basis: Basis,
    /// How many tests the correction is for.
    pub tests: usize,
}

/// How terms were tested, and how their p-values were corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// F tests against the residual, corrected by Holm's method.
    F,
    /// F tests that allow for unequal spread, corrected by Holm's method.
    Robust,
    /// Shuffled residuals; a term counts only if F tests after Holm's correction
    /// agree.
    Permutation,
    /// Welch's test of the only term.
    Welch,
    /// Kruskal and Wallis' test of the only term.
    KruskalWallis,
    /// Lenth's method, corrected for all effects by Šidák's.
    Lenth,
}

impl TermEvidence {
    /// The adjusted p-value with the name of the correction.
    pub(super) fn words(&self) -> String {
        let p = p_value(self.adjusted);
        match self.basis {
            Basis::Permutation => format!("{p} by permutation"),
            Basis::Welch => format!("{p} by Welch's test"),
            Basis::KruskalWallis => format!("{p} by Kruskal and Wallis' test"),
            Basis::Lenth => format!("{p} by Lenth's method for {} effects", self.tests),
            Basis::F | Basis::Robust if self.tests > 1 => {
                format!("{p} after Holm's correction for {} terms", self.tests)
            }
            Basis::F | Basis::Robust => format!("{p} of its F test"),
        }
    }
}

impl Basis {
    /// The correction in words.
    pub fn correction(self) -> &'static str {
        match self {
            Basis::F => "Holm",
            Basis::Robust => "Holm, robust to unequal spread",
            Basis::Permutation => "permutation, and Holm for the F tests",
            Basis::Welch => "Welch's test, nothing to correct for",
            Basis::KruskalWallis => "Kruskal and Wallis' test, nothing to correct for",
            Basis::Lenth => "Lenth, simultaneous",
        }
    }
}

/// The evidence for every term that could be tested.
pub(super) fn evidence(
    anova: &Anova,
    recommendation: &Recommendation,
    design: Option<&CodedDesign>,
    unreplicated: Option<&Unreplicated>,
) -> Vec<TermEvidence> {
    if let (Some(design), Some(unreplicated)) = (design, unreplicated) {
        return by_lenth(anova, design, unreplicated);
    }
    let (whole, basis) = match &recommendation.result {
        Some(RobustResult::Welch(test)) => (Some(test.p), Basis::Welch),
        Some(RobustResult::KruskalWallis(test)) => (Some(test.p), Basis::KruskalWallis),
        Some(RobustResult::Robust(_)) => (None, Basis::Robust),
        Some(RobustResult::Permutation(_) | RobustResult::Transformed(_)) | None => {
            (None, Basis::F)
        }
    };
    let robust = |term: &str| match &recommendation.result {
        Some(RobustResult::Robust(tests)) => Some(
            tests
                .iter()
                .find(|test| test.term == term)
                .map(|test| test.p),
        ),
        Some(RobustResult::Transformed(result)) => {
            let tests = result.robust.as_ref()?;
            Some(
                tests
                    .iter()
                    .find(|test| test.term == term)
                    .map(|test| test.p),
            )
        }
        _ => None,
    };
    let rows: Vec<(usize, f64)> = anova
        .rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let own = row.test.map(|test| test.p);
            let p = match robust(&row.term) {
                Some(p) => p,
                None => whole.or(own),
            };
            Some((index, p.filter(|p| !p.is_nan())?))
        })
        .collect();
    let p_values: Vec<f64> = rows.iter().map(|&(_, p)| p).collect();
    let adjusted = holm(&p_values).unwrap_or_else(|_| p_values.clone());
    let tests = rows.len();
    rows.into_iter()
        .zip(adjusted)
        .map(|((index, p), adjusted)| {
            let row = &anova.rows[index];
            let mut evidence = TermEvidence {
                term: row.term.clone(),
                name: row.name.clone(),
                index,
                percent: row.percent,
                p,
                adjusted,
                basis: match robust(&row.term) {
                    Some(_) => Basis::Robust,
                    None => basis,
                },
                tests,
            };
            // Shuffles can show no p-value below one over their number, so the
            // correction for many terms is left to the F tests; a term counts
            // only if both agree.
            if let Some(shuffled) = recommendation.permutation_p(&row.term) {
                evidence.p = evidence.p.max(shuffled);
                if shuffled >= adjusted {
                    evidence.adjusted = shuffled;
                    evidence.basis = Basis::Permutation;
                }
            }
            evidence
        })
        .collect()
}

fn by_lenth(anova: &Anova, design: &CodedDesign, found: &Unreplicated) -> Vec<TermEvidence> {
    let tests = found.lenth.effects.len();
    anova
        .rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let factors = &design.terms[index];
            let names: Vec<&str> = factors.iter().map(|&f| design.factors[f].name()).collect();
            let position = found.position(factors, &names.join(":"))?;
            let p = found.lenth.effects[position].p;
            Some(TermEvidence {
                term: row.term.clone(),
                name: row.name.clone(),
                index,
                percent: row.percent,
                p,
                // 1 − (1 − p)^m, without cancellation.
                adjusted: -(tests as f64 * (-p).ln_1p()).exp_m1(),
                basis: Basis::Lenth,
                tests,
            })
        })
        .collect()
}
