//! What the analysis means, in at most ten sentences.
//!
//! A sentence is never stronger than its evidence: terms count after correction
//! for their number, and the correction is named; sizes are those of the model,
//! adjusted for its other terms, and stand beside the interval and the p-value
//! of just that number; a direction is claimed only where its own interval
//! excludes none; an interaction says between which values it moves an effect;
//! an alias is named beside the term it cannot be told from; and where the plain
//! fit cannot be trusted the sentences speak of the method that can.

mod cautions;
mod curves;
mod levels;
mod terms;

use super::assumptions::Assumption;
use super::comparisons::Comparisons;
use super::curvature::Curvature;
use super::design::{CodedDesign, Unreplicated};
use super::evidence::TermEvidence;
use super::influential::Decisive;
use super::recommendation::Recommendation;
use super::scale::Scale;
use super::units::Unit;
use super::wording::{list, percent, quoted};
use crate::anova::Anova;
use crate::effects::Effects;
use crate::fit::Fit;
use crate::formula::ModelFrame;
use crate::marginal::Margins;

/// A conclusion in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it speaks of.
    pub kind: FindingKind,
    /// The term it is about, if it is about one.
    pub term: Option<String>,
    /// The sentence.
    pub text: String,
    /// The numbers it states, each with its interval and p-value.
    pub claims: Vec<Claim>,
}

/// What a finding speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A term that matters.
    Effect,
    /// Which levels of a factor differ.
    Comparison,
    /// Terms for which there is no evidence.
    NoEvidence,
    /// How much the model explains.
    Explained,
    /// An assumption that fails, and what was done about it.
    Method,
    /// A reason to be careful.
    Caution,
}

/// A number that a sentence states. Interval and p-value belong to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What it is.
    pub kind: ClaimKind,
    /// The factor or column it is about.
    pub subject: String,
    /// Where: other factors and their values, as the sentence names them.
    pub at: Vec<(String, String)>,
    /// From which value to which, for differences; the level for means.
    pub values: Vec<String>,
    /// The number.
    pub estimate: f64,
    /// The lower end of its interval; NaN where it has none.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// Its p-value; `None` for a mean, which is not compared with anything.
    pub p: Option<f64>,
}

/// What kind of number a claim is, which says what "no effect" would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimKind {
    /// A difference of means; none is zero.
    Difference,
    /// A change for each unit of a column; none is zero.
    Slope,
    /// A factor; none is one.
    Factor,
    /// A factor for each unit of a column; none is one.
    FactorPerUnit,
    /// Percent of the response for each percent of a column; none is zero.
    Elasticity,
    /// An adjusted mean, or a typical value on a bent scale.
    Mean,
}

impl ClaimKind {
    /// The number that would mean no effect; `None` for means.
    pub fn none(self) -> Option<f64> {
        match self {
            ClaimKind::Difference | ClaimKind::Slope | ClaimKind::Elasticity => Some(0.0),
            ClaimKind::Factor | ClaimKind::FactorPerUnit => Some(1.0),
            ClaimKind::Mean => None,
        }
    }
}

pub(super) struct Material<'a> {
    /// The margins of the fit that is trusted.
    pub(super) margins: &'a Margins<'a>,
    /// The plain fit.
    pub(super) fit: &'a Fit<'a>,
    pub(super) scale: &'a Scale,
    /// The analysis of variance of the fit that is trusted.
    pub(super) anova: &'a Anova,
    pub(super) evidence: &'a [TermEvidence],
    /// Effects of the fit that is trusted, for their aliases.
    pub(super) effects: Option<&'a Effects>,
    pub(super) unreplicated: Option<&'a Unreplicated>,
    pub(super) coded: Option<&'a CodedDesign>,
    pub(super) assumptions: &'a [Assumption],
    pub(super) curvature: Option<&'a Curvature>,
    pub(super) recommendation: &'a Recommendation,
    pub(super) comparisons: &'a [Comparisons],
    pub(super) decisive: Option<&'a Decisive>,
    pub(super) transformed: bool,
    pub(super) units: &'a dyn Fn(&str) -> Unit,
    pub(super) level: f64,
}

const MOST_FINDINGS: usize = 10;
const MOST_EFFECTS: usize = 5;
const FEWEST_EFFECTS: usize = 3;

pub(super) fn findings(material: &Material<'_>) -> Vec<Finding> {
    Story {
        material,
        frame: material.margins.fit().matrix().frame(),
    }
    .tell()
}

pub(super) struct Story<'a> {
    material: &'a Material<'a>,
    frame: &'a ModelFrame,
}

impl Finding {
    fn plain(kind: FindingKind, text: String) -> Finding {
        Finding {
            kind,
            term: None,
            text,
            claims: Vec::new(),
        }
    }
}

impl Story<'_> {
    fn tell(&self) -> Vec<Finding> {
        let level = self.material.level;
        let (mut strong, weak): (Vec<&TermEvidence>, Vec<&TermEvidence>) = self
            .material
            .evidence
            .iter()
            .partition(|term| term.adjusted < level);
        strong.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        let terms = self.frame.terms();
        // A factor of an interaction that matters does have an effect, whatever
        // its average.
        let idle: Vec<&TermEvidence> = weak
            .into_iter()
            .filter(|term| {
                let contained =
                    |other: &&TermEvidence| terms[other.index].contains(&terms[term.index]);
                !strong.iter().any(contained)
            })
            .collect();
        let mut after = self.method();
        after.extend(self.explained());
        after.extend(self.weak(&idle));
        after.extend(self.no_evidence(&idle));
        let first = self.decisive();
        let cautions = self.cautions();
        let room = MOST_FINDINGS.saturating_sub(first.len() + after.len() + cautions.len());
        let shown = room.clamp(FEWEST_EFFECTS, MOST_EFFECTS);
        let mut findings = first;
        findings.extend(self.effects(&strong, shown));
        findings.extend(after);
        findings.extend(cautions);
        findings.truncate(MOST_FINDINGS);
        findings
    }

    /// The terms that matter, strongest first; terms of one curve are told once.
    fn effects(&self, strong: &[&TermEvidence], shown: usize) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        let mut curves: Vec<String> = Vec::new();
        let mut rest: Vec<String> = Vec::new();
        for term in strong {
            let curve = self.curve_of(term.index);
            if curve.as_ref().is_some_and(|column| curves.contains(column)) {
                continue;
            }
            curves.extend(curve);
            match findings.len() < shown {
                true => findings.push(self.effect(term, strong)),
                false => rest.push(self.named(term)),
            }
        }
        if !rest.is_empty() {
            findings.push(Finding::plain(
                FindingKind::Effect,
                format!(
                    "There is evidence for smaller effects of {} too.",
                    list(&rest)
                ),
            ));
        }
        findings
    }

    /// A term in quotes, with its alias.
    fn named(&self, term: &TermEvidence) -> String {
        match self.aliases(term.index) {
            Some(aliases) => format!("`{}` (or {aliases})", term.name),
            None => format!("`{}`", term.name),
        }
    }

    fn explained(&self) -> Option<Finding> {
        let fit = self.material.margins.fit();
        if fit.is_saturated() {
            return None;
        }
        let residual = self.material.anova.residual.percent;
        let about = match fit.has_constant() {
            true => "",
            false => " about zero",
        };
        Some(Finding::plain(
            FindingKind::Explained,
            format!(
                "The model explains {} of the variation{about} of `{}` in {} runs; {} remains \
                 unexplained.",
                percent(100.0 - residual),
                self.material.scale.fitted,
                fit.observations(),
                percent(residual)
            ),
        ))
    }

    /// Terms that count alone but not after correction.
    fn weak(&self, idle: &[&TermEvidence]) -> Option<Finding> {
        let level = self.material.level;
        let near: Vec<String> = idle
            .iter()
            .filter(|term| term.p < level)
            .map(|term| {
                let alone = super::wording::p_value(term.p);
                format!("{} ({alone} alone, {})", self.named(term), term.words())
            })
            .collect();
        (!near.is_empty()).then(|| {
            Finding::plain(
                FindingKind::NoEvidence,
                format!("The evidence is weak for {}.", list(&near)),
            )
        })
    }

    fn no_evidence(&self, idle: &[&TermEvidence]) -> Option<Finding> {
        const NAMED: usize = 6;
        let none: Vec<&&TermEvidence> = idle
            .iter()
            .filter(|term| term.p >= self.material.level)
            .collect();
        if none.is_empty() {
            return None;
        }
        let mut names: Vec<String> = none.iter().take(NAMED).map(|t| self.named(t)).collect();
        if none.len() > NAMED {
            names.push(format!("{} more", none.len() - NAMED));
        }
        Some(Finding::plain(
            FindingKind::NoEvidence,
            format!(
                "These runs give no evidence for an effect of {}, which is not evidence that \
                 there is none.",
                list(&names)
            ),
        ))
    }

    /// The terms that share a column with this one, lowest order first.
    fn aliases(&self, term: usize) -> Option<String> {
        const NAMED: usize = 2;
        let effects = match self.material.unreplicated {
            Some(unreplicated) => &unreplicated.effects,
            None => self.material.effects?,
        };
        let design = self.material.coded?;
        let factors = &design.terms[term];
        let mut wanted = factors.clone();
        wanted.sort_unstable();
        let names: Vec<&str> = wanted.iter().map(|&f| design.factors[f].name()).collect();
        let own = names.join(":");
        let effect = effects.effects.iter().find(|effect| {
            effect.factors == wanted || effect.aliases.iter().any(|alias| alias.term == own)
        })?;
        let others = std::iter::once(&effect.term)
            .chain(effect.aliases.iter().map(|alias| &alias.term))
            .filter(|other| **other != own);
        let mut others: Vec<&String> = others.collect();
        others.sort_by_key(|other| other.matches(':').count());
        let order = factors.len();
        let (likely, unlikely): (Vec<&String>, Vec<&String>) = others
            .into_iter()
            .partition(|other| other.matches(':').count() < order.max(2));
        let spoken = |terms: &[&String]| {
            let mut named = quoted(terms.iter().take(NAMED).map(|term| spoken_effect(term)));
            if terms.len() > NAMED {
                named.push(format!("{} more", terms.len() - NAMED));
            }
            named.join(" or ")
        };
        match (likely.as_slice(), unlikely.as_slice()) {
            ([], []) => None,
            // Effects of many factors are rarer than those of few; still the
            // runs cannot tell.
            ([], unlikely) => Some(format!("less likely {}", spoken(unlikely))),
            (likely, _) => Some(spoken(likely)),
        }
    }
}

/// An effect of coded factors in people's words.
fn spoken_effect(term: &str) -> String {
    let parts: Vec<&str> = term.split(':').collect();
    match parts.as_slice() {
        [first, others @ ..] if !others.is_empty() => {
            let others: Vec<String> = others.iter().map(|part| (*part).to_owned()).collect();
            format!("{first} with {}", list(&others))
        }
        _ => term.to_owned(),
    }
}
