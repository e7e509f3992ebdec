//! What is asked for.

use std::fmt;
use std::sync::Arc;

use paceline_model::Level;

use crate::factor::{Factors, Setting};
use crate::fraction::FractionBy;
use crate::refusal::PlanError;
use crate::terms::ModelTerms;

/// A description of the wanted design. [`Request::plan`] makes the design.
#[derive(Debug, Clone)]
pub struct Request {
    /// What varies.
    pub factors: Factors,
    /// Which design.
    pub kind: Kind,
    /// How often the design is repeated; at least one.
    pub replicates: u32,
    /// How many runs at the centre of the numeric factors are added to each
    /// block, per combination of the levels of factors that have no middle:
    /// categorical ones, and whole ones such as 1 and 2. `None` is
    /// the kind's own number: five for central composite designs, those of the
    /// published tables for Box–Behnken, none otherwise.
    pub centre_points: Option<u32>,
    /// Into which blocks the runs are divided.
    pub blocks: Blocks,
    /// In which order the runs come.
    pub order: Order,
    /// Combinations that must not be run. Full and one-at-a-time designs leave
    /// them out, optimal designs avoid them, and any other kind that would
    /// contain one is refused.
    pub forbidden: Vec<Forbidden>,
    /// What one run costs; a budget needs it.
    pub cost: Option<Cost>,
}

/// The kinds of design.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A control, then each factor through its other levels while the rest
    /// stay at the control.
    OneAtATime {
        /// The control's level of some factors; the others' is their first.
        control: Vec<(String, Level)>,
    },
    /// Every combination of all levels.
    Full,
    /// Every combination of two-level factors, 2^k.
    TwoLevel,
    /// A regular fraction of two-level factors, 2^(k−p).
    Fractional(FractionBy),
    /// A two-level screening design for up to N − 1 factors in N runs, N a
    /// multiple of four.
    PlackettBurman {
        /// The number of runs; `None` is the smallest that holds the factors.
        runs: Option<u32>,
    },
    /// A two-level design with axial and centre points, for quadratic models.
    CentralComposite(CentralComposite),
    /// Three levels of each factor, never all extreme, for quadratic models.
    BoxBehnken,
    /// Each factor's range cut into as many strata as there are runs and each
    /// stratum used once, with points kept far apart.
    LatinHypercube {
        /// The number of runs.
        runs: u32,
    },
    /// The runs that estimate a given model best.
    Optimal(Optimal),
}

/// A central composite design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CentralComposite {
    /// Where the cube and the axial points lie.
    pub shape: CompositeShape,
    /// How far out the axial points are; a face-centred design ignores it.
    pub alpha: Alpha,
    /// The two-level part.
    pub cube: CompositeCube,
}

/// Where the points of a central composite design lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompositeShape {
    /// The cube at the factors' ends, the axial points beyond them.
    Circumscribed,
    /// The axial points at the factors' ends, the cube within.
    Inscribed,
    /// Both at the factors' ends.
    FaceCentred,
}

/// The distance of the axial points from the centre, in half widths of the cube.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alpha {
    /// The prediction variance depends only on the distance from the centre:
    /// the fourth root of the number of cube runs (Box and Hunter 1957).
    Rotatable,
    /// The estimates of the quadratic terms are uncorrelated (Myers,
    /// Montgomery and Anderson-Cook, *Response Surface Methodology*, ch. 8).
    Orthogonal,
    /// A distance of the user's.
    Value(f64),
}

/// The two-level part of a central composite design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompositeCube {
    /// All 2^k corners.
    Full,
    /// The smallest fraction of resolution V or more.
    Fraction,
}

/// A design optimal for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimal {
    /// The model whose terms are to be estimated.
    pub terms: ModelTerms,
    /// The number of runs of one replicate.
    pub runs: u32,
    /// How many random starts are improved; the best result is kept.
    pub starts: u32,
    /// The most that all replicates together may cost, by [`Request::cost`].
    pub budget: Option<f64>,
}

/// What one run costs at the given levels, which come in the order of the factors.
#[derive(Clone)]
pub struct Cost(Arc<CostRule>);

type CostRule = dyn Fn(&[Level]) -> f64 + Send + Sync;

impl Cost {
    /// A cost by this rule.
    pub fn new(rule: impl Fn(&[Level]) -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    /// The cost of one run.
    #[must_use]
    pub fn of(&self, levels: &[Level]) -> f64 {
        (self.0)(levels)
    }
}

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cost").finish_non_exhaustive()
    }
}

/// Into which blocks the runs are divided.
///
/// When the replicates are a multiple of the blocks, each block holds complete
/// replicates. Regular two-level designs are also split into a power of two
/// blocks per replicate, confounding no main effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// How many; one means no blocks.
    pub count: u32,
    /// What a block is, which decides how the blocks share the run order.
    pub by: BlockBy,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockBy {
    /// A stretch of time: one block is finished before the next begins.
    #[default]
    Time,
    /// A node: the blocks take turns, so that a drift over time touches all
    /// nodes alike.
    Node,
}

/// In which order the runs come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// At random within each block, from the seed.
    #[default]
    Random,
    /// As constructed: block after block, the first factor changing fastest
    /// in factorial designs.
    Standard,
}

/// A combination that must not be run: all of its conditions hold at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Forbidden(pub Vec<Condition>);

/// A condition on one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The factor's name.
    pub factor: String,
    /// What its level is compared with.
    pub test: Test,
}

/// A test of a level.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The level is this one.
    Is(Level),
    /// The level is a number no smaller than this.
    AtLeast(f64),
    /// The level is a number no greater than this.
    AtMost(f64),
}

impl Request {
    /// A single replicate without blocks, in random order.
    #[must_use]
    pub fn new(factors: Factors, kind: Kind) -> Self {
        Self {
            factors,
            kind,
            replicates: 1,
            centre_points: None,
            blocks: Blocks::NONE,
            order: Order::Random,
            forbidden: Vec::new(),
            cost: None,
        }
    }
}

impl Optimal {
    /// A design for the model in so many runs, from the usual number of starts.
    #[must_use]
    pub fn new(terms: ModelTerms, runs: u32) -> Self {
        Self {
            terms,
            runs,
            starts: Self::STARTS,
            budget: None,
        }
    }

    /// How many starts [`Optimal::new`] sets.
    pub const STARTS: u32 = 20;
}

impl Blocks {
    /// No blocks.
    pub const NONE: Self = Self {
        count: 1,
        by: BlockBy::Time,
    };
}

/// The forbidden combinations with factors looked up, ready to be tested often.
pub(crate) struct Fence<'a> {
    factors: &'a Factors,
    rules: Vec<Vec<(usize, &'a Test)>>,
}

impl<'a> Fence<'a> {
    /// Looks up the factors.
    pub(crate) fn new(factors: &'a Factors, forbidden: &'a [Forbidden]) -> Result<Self, PlanError> {
        let mut rules = Vec::with_capacity(forbidden.len());
        for Forbidden(conditions) in forbidden {
            let mut rule = Vec::with_capacity(conditions.len());
            for condition in conditions {
                let position = factors.position(&condition.factor).ok_or_else(|| {
                    PlanError::UnknownForbidden {
                        factor: condition.factor.clone(),
                    }
                })?;
                rule.push((position, &condition.test));
            }
            rules.push(rule);
        }
        Ok(Self { factors, rules })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.rules.is_empty()
    }

    pub(crate) fn allows(&self, row: &[Setting]) -> bool {
        !self.rules.iter().any(|rule| {
            // A rule without conditions forbids nothing rather than everything.
            !rule.is_empty()
                && rule.iter().all(|(position, test)| {
                    let level = self.factors[*position].natural(row[*position]);
                    match test {
                        Test::Is(other) => same_level(&level, other),
                        Test::AtLeast(x) => level.as_number().is_some_and(|value| value >= *x),
                        Test::AtMost(x) => level.as_number().is_some_and(|value| value <= *x),
                    }
                })
        })
    }
}

/// Whether two levels are the same value: 1 and 1.0 are.
pub(crate) fn same_level(a: &Level, b: &Level) -> bool {
    match (a.as_number(), b.as_number()) {
        (Some(x), Some(y)) => x == y,
        (None, None) => a == b,
        _ => false,
    }
}
