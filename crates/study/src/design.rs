//! `[design]`: which combinations are run, how often and in which order.

use crate::expression::{Condition, Expression};
use crate::terms::Model;
use crate::words::words;
use paceline_model::Level;

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
    /// The design in the middle of a sentence: `a full design`.
    pub(crate) fn with_article(self) -> String {
        let article = match self {
            Self::Optimal => "an",
            _ => "a",
        };
        format!("{article} {} design", self.word())
    }
}

words! {
    /// The order of runs.
    pub enum Order {
        Random = "random", "At random, from the seed.";
        Standard = "standard", "As the design is constructed.";
    }
}

words! {
    /// What a block stands for.
    pub enum BlockBy {
        Time = "time", "A stretch of time: one block is finished before the next begins.";
        Node = "node", "A node: the blocks take turns.";
    }
}

words! {
    /// Where the points of a central composite design lie.
    pub enum CompositeShape {
        Circumscribed = "circumscribed", "The cube at the factors' ends, axial points beyond.";
        Inscribed = "inscribed", "Axial points at the factors' ends, the cube within.";
        FaceCentered = "face-centered", "Both at the factors' ends.";
    }
}

words! {
    /// The two-level part of a central composite design.
    pub enum CompositeCube {
        Full = "full", "All corners.";
        Fraction = "fraction", "The smallest fraction of resolution V or more.";
    }
}

/// The distance of axial points from the centre, in half widths of the cube.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alpha {
    /// The prediction variance depends only on the distance from the centre.
    Rotatable,
    /// The estimates of the quadratic terms are uncorrelated.
    Orthogonal,
    /// A distance of the user's: finite and above zero.
    Value(f64),
}

impl Alpha {
    pub(crate) const WORDS: &'static [&'static str] = &["rotatable", "orthogonal"];
}

/// What `[design]` means.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The kind of design with what only this kind reads.
    pub layout: Layout,
    /// How many runs each trial gets, at least one.
    pub replicates: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// The order of runs.
    pub order: Order,
    /// How many centre points are added; the kind's own number if absent.
    pub center_points: Option<u32>,
    /// Into how many blocks the runs are divided, at least two, if any.
    pub blocks: Option<(u32, BlockBy)>,
    /// Combinations that are never run.
    pub forbid: Vec<Condition>,
    /// What one run costs.
    pub cost_per_run: Option<Expression>,
    /// How many runs are made first and discarded.
    pub warmup: u32,
}

/// A kind of design with what only this kind reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Every combination of all levels.
    Full,
    /// Every combination of two levels per factor.
    TwoLevel,
    /// A regular fraction of a two-level design.
    Fractional(FractionBy),
    /// A control, and each factor in turn.
    OneAtATime {
        /// The control's level of every factor, in the order of the factors.
        control: Vec<Level>,
    },
    /// A two-level screening design.
    PlackettBurman {
        /// A multiple of four; the smallest that holds the factors if absent.
        runs: Option<u32>,
    },
    /// A two-level design with axial and centre points.
    CentralComposite {
        /// Where its points lie.
        shape: CompositeShape,
        /// How far out the axial points are.
        alpha: Alpha,
        /// The two-level part.
        cube: CompositeCube,
    },
    /// Three levels per factor, never all extreme.
    BoxBehnken,
    /// Points spread evenly over ranges.
    LatinHypercube {
        /// How many.
        runs: u32,
    },
    /// The runs that estimate a given model best.
    Optimal {
        /// How many, before replicates.
        runs: u32,
        /// The terms to estimate.
        model: Model,
        /// What all runs together may cost; there is a `cost_per_run` then.
        budget: Option<f64>,
    },
}

impl Layout {
    /// The kind as the user types it.
    #[must_use]
    pub fn kind(&self) -> DesignKind {
        match self {
            Self::Full => DesignKind::Full,
            Self::TwoLevel => DesignKind::TwoLevel,
            Self::Fractional(_) => DesignKind::Fractional,
            Self::OneAtATime { .. } => DesignKind::OneAtATime,
            Self::PlackettBurman { .. } => DesignKind::PlackettBurman,
            Self::CentralComposite { .. } => DesignKind::CentralComposite,
            Self::BoxBehnken => DesignKind::BoxBehnken,
            Self::LatinHypercube { .. } => DesignKind::LatinHypercube,
            Self::Optimal { .. } => DesignKind::Optimal,
        }
    }
}

/// How a fraction is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FractionBy {
    /// By these generators; never empty.
    Generators(Vec<Generator>),
    /// The smallest of at least this resolution.
    Resolution(u32),
    /// The best of this size.
    Runs(u32),
    /// The best of this size, if it reaches the resolution.
    RunsAndResolution {
        /// The number of runs.
        runs: u32,
        /// The least resolution that is good enough.
        resolution: u32,
    },
}

/// One factor set to the product of others, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// The factor that is set.
    pub target: usize,
    /// The factors whose product it is, at least two, ascending.
    pub product: Vec<usize>,
    /// True if the sign is reversed.
    pub negative: bool,
}
