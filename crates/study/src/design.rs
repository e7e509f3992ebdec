//! `[design]`: which combinations are run, how often and in which order.

use crate::expression::{Condition, Expression};
use crate::words::words;
use paceline_design::{Blocks, Kind, Order};

words! {
    /// The kinds of design.
    pub enum DesignKind {
        Full = "full", "Every combination of all levels.";
        TwoLevel = "two-level", "Every combination of two levels per factor.";
        Fractional = "fractional", "A regular fraction of a two-level design.";
        OneAtATime = "one-at-a-time", "A control, and each factor in turn.";
        PlackettBurman = "plackett-burman", "A two-level screening design.";
        CentralComposite = "central-composite", "A two-level design with star and centre points.";
        BoxBehnken = "box-behnken", "Three levels per factor, never all extreme.";
        LatinHypercube = "latin-hypercube", "Points spread evenly over ranges.";
        Optimal = "optimal", "The runs that estimate a given model best.";
    }
}

impl DesignKind {
    /// What the user typed for `kind`.
    #[must_use]
    pub fn of(kind: &Kind) -> Self {
        match kind {
            Kind::Full => Self::Full,
            Kind::TwoLevel => Self::TwoLevel,
            Kind::Fractional(_) => Self::Fractional,
            Kind::OneAtATime { .. } => Self::OneAtATime,
            Kind::PlackettBurman { .. } => Self::PlackettBurman,
            Kind::CentralComposite(_) => Self::CentralComposite,
            Kind::BoxBehnken => Self::BoxBehnken,
            Kind::LatinHypercube { .. } => Self::LatinHypercube,
            Kind::Optimal(_) => Self::Optimal,
        }
    }

    /// The design in the middle of a sentence: `a full design`.
    pub(crate) fn with_article(self) -> String {
        let article = match self {
            Self::Optimal => "an",
            _ => "a",
        };
        format!("{article} {} design", self.word())
    }
}

/// What `[design]` means.
#[derive(Debug, Clone, PartialEq)]
pub struct DesignSettings {
    /// The kind of design with what only this kind reads. A control names every
    /// factor.
    pub kind: Kind,
    /// How many runs each trial gets, at least one.
    pub replicates: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// The order of runs.
    pub order: Order,
    /// How many centre points are added; the kind's own number if absent.
    pub centre_points: Option<u32>,
    /// Into which blocks the runs are divided.
    pub blocks: Blocks,
    /// Combinations that are never run.
    pub forbid: Vec<Condition>,
    /// What one run costs.
    pub cost_per_run: Option<Expression>,
    /// How many runs are made first and discarded.
    pub warmup: u32,
}
