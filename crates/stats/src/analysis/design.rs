//! The two-level design behind a model, if it is one.

use crate::checks::{Lenth, lenth};
use crate::effects::{CodedFactor, Effect, Effects};
use crate::formula::ModelFrame;
use crate::table::Table;

/// The two-level factors behind a model, if all its variables are plain columns
/// with two levels.
pub(crate) struct CodedDesign {
    pub(crate) factors: Vec<CodedFactor>,
    /// The frame's terms as sets of factors.
    pub(crate) terms: Vec<Vec<usize>>,
}

impl CodedDesign {
    pub(super) fn of(table: &Table, frame: &ModelFrame) -> Option<CodedDesign> {
        let factors = frame
            .variables()
            .iter()
            .map(|variable| {
                let column = table.column(variable.column()?)?;
                CodedFactor::from_column(column, frame.table_rows())
            })
            .collect::<Option<Vec<_>>>()?;
        let terms = frame.terms().iter().map(|t| t.variables.clone()).collect();
        (!factors.is_empty()).then_some(CodedDesign { factors, terms })
    }

    pub(super) fn effects(&self, response: &[f64], confidence: f64) -> Option<Effects> {
        Effects::of_terms(&self.factors, &self.terms, response, confidence).ok()
    }

    /// Lenth's analysis of every effect of a design without replicates whose
    /// effects are independent and use up all its runs.
    pub(super) fn unreplicated(&self, response: &[f64], confidence: f64) -> Option<Unreplicated> {
        // Longer lists of terms are not needed to tell a thousand runs apart.
        const MOST_TERMS: usize = 20_000;
        let all = response.len().checked_sub(1)?;
        let mut terms = 0_usize;
        let mut choices = 1_usize;
        for order in 1..=self.factors.len() {
            choices = choices.saturating_mul(self.factors.len() + 1 - order) / order;
            terms = terms.saturating_add(choices);
            if terms > MOST_TERMS {
                return None;
            }
            let effects = Effects::estimate(&self.factors, response, order, confidence).ok()?;
            if !effects.orthogonal {
                return None;
            }
            if effects.effects.len() == all {
                let sizes: Vec<f64> = effects.effects.iter().map(|e| e.estimate).collect();
                let lenth = lenth(&sizes, confidence).ok()?;
                return Some(Unreplicated { effects, lenth });
            }
        }
        None
    }
}

/// The effects of a design without replicates, judged against each other.
#[derive(Clone, Debug)]
pub(super) struct Unreplicated {
    pub(super) effects: Effects,
    pub(super) lenth: Lenth,
}

impl Unreplicated {
    /// The position of the effect that a term of the design is, or shares its
    /// column with.
    pub(super) fn position(&self, factors: &[usize], name: &str) -> Option<usize> {
        let mut wanted = factors.to_vec();
        wanted.sort_unstable();
        let same = |effect: &Effect| {
            effect.factors == wanted || effect.aliases.iter().any(|alias| alias.term == name)
        };
        self.effects.effects.iter().position(same)
    }
}
