//! The study in the words of the design crate.

use crate::design::{Alpha, BlockBy, CompositeCube, CompositeShape, FractionBy, Layout, Order};
use crate::expression::{Comparison, Condition, Literal};
use crate::factor::{Factor, FactorType, Scale};
use crate::problem::{Place, Problem};
use crate::study::Study;
use crate::terms::{Model, NamedModel, parse_model};
use paceline_design as design;
use paceline_model::Level;
use std::sync::Arc;

/// Why a study has no design.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// The design crate refuses a factor.
    #[error(transparent)]
    Factor(#[from] design::FactorError),
    /// A forbidden combination calculates with values that the design chooses.
    #[error("`forbid` is too intricate for this design: {0}")]
    Forbid(String),
    /// A condition holds whatever the factors are.
    #[error("`forbid` forbids every run: {0}")]
    ForbidsAll(String),
}

/// The most combinations that are tried to find the forbidden ones. Each of
/// them is compared with each run of a design.
const MAX_COMBINATIONS: usize = 4_096;

impl Study {
    /// What is asked of the design crate. Plan it with the seed of
    /// [`Study::design`].
    ///
    /// # Errors
    /// If a factor or a forbidden combination cannot be expressed there. A
    /// checked study has passed this.
    pub fn design_request(&self) -> Result<design::Request, RequestError> {
        let factors = self.factors.iter().map(factor).collect::<Result<_, _>>()?;
        let own = &self.design;
        let mut request = design::Request::new(design::Factors::new(factors)?, self.kind());
        request.replicates = own.replicates;
        request.centre_points = own.center_points;
        request.order = match own.order {
            Order::Random => design::Order::Random,
            Order::Standard => design::Order::Standard,
        };
        if let Some((count, by)) = own.blocks {
            let by = match by {
                BlockBy::Time => design::BlockBy::Time,
                BlockBy::Node => design::BlockBy::Node,
            };
            request.blocks = design::Blocks { count, by };
        }
        for condition in &own.forbid {
            request.forbidden.extend(self.forbidden(condition)?);
        }
        Ok(request)
    }

    /// The terms that `text` names, as the `model` of an optimal design does:
    /// `main`, `interactions`, `quadratic`, or a formula over the factors such
    /// as `a + b + a:b + a^2`, in which `a*b` stands for `a + b + a:b`.
    ///
    /// # Errors
    /// The first part of `text` that is none of these.
    pub fn model_terms(&self, text: &str) -> Result<design::ModelTerms, Problem> {
        let names: Vec<&str> = self.factors.iter().map(|f| f.name.as_str()).collect();
        let model = parse_model(text, &names).map_err(|fault| {
            let place = Place::Argument {
                text: Arc::from(text),
            };
            Problem::new(&place, fault.message)
                .excerpt(text, &fault.span)
                .maybe_hint(fault.hint)
        })?;
        Ok(model_terms(&model))
    }

    /// What one run costs at these levels, in the order of the factors, if the
    /// study says so. A cost that cannot be calculated is infinite, so that no
    /// design chooses it for being cheap.
    #[must_use]
    pub fn cost_of_run(&self) -> Option<Arc<design::CostOfRun>> {
        let cost = self.design.cost_per_run.clone()?;
        let names: Vec<String> = self.factors.iter().map(|f| f.name.clone()).collect();
        let fixed = self.fixed.clone();
        Some(Arc::new(move |levels: &[Level]| {
            let value_of = |name: &str| {
                let varied = names
                    .iter()
                    .position(|own| own == name)
                    .and_then(|i| levels.get(i));
                let constant = || {
                    fixed
                        .iter()
                        .find(|(own, _)| own == name)
                        .map(|(_, level)| level)
                };
                varied.or_else(constant)?.as_number()
            };
            cost.evaluate(value_of).unwrap_or(f64::INFINITY)
        }))
    }

    fn kind(&self) -> design::Kind {
        let names: Vec<&str> = self.factors.iter().map(|f| f.name.as_str()).collect();
        match &self.design.layout {
            Layout::Full => design::Kind::Full,
            Layout::TwoLevel => design::Kind::TwoLevel,
            Layout::BoxBehnken => design::Kind::BoxBehnken,
            Layout::LatinHypercube { runs } => design::Kind::LatinHypercube { runs: *runs },
            Layout::PlackettBurman { runs } => design::Kind::PlackettBurman { runs: *runs },
            Layout::Fractional(by) => design::Kind::Fractional(match by {
                FractionBy::Generators(generators) => design::FractionBy::Generators(
                    generators.iter().map(|g| g.text(&names)).collect(),
                ),
                FractionBy::Resolution(resolution) => design::FractionBy::Resolution(*resolution),
                FractionBy::Runs(runs) => design::FractionBy::Runs(*runs),
                FractionBy::RunsAndResolution { runs, resolution } => {
                    design::FractionBy::RunsAndResolution {
                        runs: *runs,
                        resolution: *resolution,
                    }
                }
            }),
            Layout::OneAtATime { control } => design::Kind::OneAtATime {
                control: names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .zip(control.iter().cloned())
                    .collect(),
            },
            Layout::CentralComposite { shape, alpha, cube } => {
                design::Kind::CentralComposite(design::CentralComposite {
                    shape: match shape {
                        CompositeShape::Circumscribed => design::CompositeShape::Circumscribed,
                        CompositeShape::Inscribed => design::CompositeShape::Inscribed,
                        CompositeShape::FaceCentered => design::CompositeShape::FaceCentred,
                    },
                    alpha: match alpha {
                        Alpha::Rotatable => design::Alpha::Rotatable,
                        Alpha::Orthogonal => design::Alpha::Orthogonal,
                        Alpha::Value(value) => design::Alpha::Value(*value),
                    },
                    cube: match cube {
                        CompositeCube::Full => design::CompositeCube::Full,
                        CompositeCube::Fraction => design::CompositeCube::Fraction,
                    },
                })
            }
            Layout::Optimal {
                runs,
                model,
                budget,
            } => {
                let mut optimal = design::Optimal::new(model_terms(model), *runs);
                optimal.budget = budget
                    .zip(self.cost_of_run())
                    .map(|(limit, cost)| design::Budget { cost, limit });
                design::Kind::Optimal(optimal)
            }
        }
    }

    /// The combinations that `condition` forbids.
    fn forbidden(&self, condition: &Condition) -> Result<Vec<design::Forbidden>, RequestError> {
        let forbidden: Vec<design::Forbidden> = match condition.alternatives() {
            Some(alternatives) => alternatives
                .iter()
                .flat_map(|literals| self.conjunctions(literals))
                .map(design::Forbidden)
                .collect(),
            None => self
                .forbidden_by_trial(condition)
                .ok_or_else(|| RequestError::Forbid(condition.to_string()))?,
        };
        if forbidden
            .iter()
            .any(|design::Forbidden(tests)| tests.is_empty())
        {
            return Err(RequestError::ForbidsAll(condition.to_string()));
        }
        Ok(forbidden)
    }

    /// One alternative as conjunctions of the design crate's tests: several
    /// where an inequality is the union of two ranges, none where a constant
    /// makes it false.
    fn conjunctions(&self, literals: &[Literal]) -> Vec<Vec<design::Condition>> {
        let mut found: Vec<Vec<design::Condition>> = vec![Vec::new()];
        for literal in literals {
            let Some(factor) = self.factors.iter().find(|f| f.name == literal.name) else {
                let constant = self.level(&literal.name, &[]);
                if !constant.is_some_and(|level| literal.holds(level)) {
                    return Vec::new();
                }
                continue;
            };
            let tests = tests(factor, literal);
            found = found
                .iter()
                .flat_map(|known| {
                    tests.iter().map(move |test| {
                        let mut longer = known.clone();
                        longer.push(design::Condition {
                            factor: factor.name.clone(),
                            test: test.clone(),
                        });
                        longer
                    })
                })
                .collect();
        }
        found
    }

    /// Every combination of the levels of the factors in `condition` for which
    /// it holds. `None` if the design may choose other values than the levels,
    /// or there are too many combinations.
    fn forbidden_by_trial(&self, condition: &Condition) -> Option<Vec<design::Forbidden>> {
        let chooses_own_values = match self.design.layout {
            Layout::Full | Layout::TwoLevel | Layout::Fractional(_) => false,
            Layout::OneAtATime { .. } | Layout::PlackettBurman { .. } => false,
            Layout::CentralComposite { .. } | Layout::BoxBehnken => true,
            Layout::LatinHypercube { .. } | Layout::Optimal { .. } => true,
        };
        let used: Vec<&Factor> = self
            .factors
            .iter()
            .filter(|factor| {
                condition
                    .names()
                    .iter()
                    .any(|(name, _)| *name == factor.name)
            })
            .collect();
        let numeric = |factor: &&Factor| factor.kind == FactorType::Numeric;
        let combinations = used.iter().try_fold(1_usize, |product, factor| {
            product.checked_mul(factor.levels.len())
        })?;
        let has_centre = self.design.center_points.is_some_and(|points| points > 0);
        if combinations > MAX_COMBINATIONS
            || ((chooses_own_values || has_centre) && used.iter().any(numeric))
        {
            return None;
        }
        let mut forbidden = Vec::new();
        for index in 0..combinations {
            let mut rest = index;
            let chosen: Vec<(&Factor, &Level)> = used
                .iter()
                .map(|factor| {
                    let level = &factor.levels[rest % factor.levels.len()];
                    rest /= factor.levels.len();
                    (*factor, level)
                })
                .collect();
            let level_of = |name: &str| {
                let varied = chosen.iter().find(|(factor, _)| factor.name == name);
                varied
                    .map(|(_, level)| *level)
                    .or_else(|| self.level(name, &[]))
            };
            // A comparison that cannot be calculated forbids nothing.
            if condition.holds(level_of) == Ok(true) {
                let tests = chosen.iter().map(|(factor, level)| design::Condition {
                    factor: factor.name.clone(),
                    test: design::Test::Is((*level).clone()),
                });
                forbidden.push(design::Forbidden(tests.collect()));
            }
        }
        Some(forbidden)
    }
}

/// The tests of which one holds where `literal` does.
fn tests(factor: &Factor, literal: &Literal) -> Vec<design::Test> {
    let Some(number) = literal
        .level
        .as_number()
        .filter(|_| factor.kind == FactorType::Numeric)
    else {
        // Words, switches and mixtures: the levels for which it holds.
        return factor
            .levels
            .iter()
            .filter(|level| literal.holds(level))
            .map(|level| design::Test::Is(level.clone()))
            .collect();
    };
    // The neighbouring numbers make the strict comparisons exact.
    match literal.comparison {
        Comparison::Equal => vec![design::Test::Is(literal.level.clone())],
        Comparison::Unequal => vec![
            design::Test::AtMost(number.next_down()),
            design::Test::AtLeast(number.next_up()),
        ],
        Comparison::Less => vec![design::Test::AtMost(number.next_down())],
        Comparison::LessOrEqual => vec![design::Test::AtMost(number)],
        Comparison::Greater => vec![design::Test::AtLeast(number.next_up())],
        Comparison::GreaterOrEqual => vec![design::Test::AtLeast(number)],
    }
}

fn factor(own: &Factor) -> Result<design::Factor, design::FactorError> {
    let levels = own.levels.clone();
    match own.kind {
        FactorType::Categorical => design::Factor::categorical(own.name.as_str(), levels),
        FactorType::Numeric => {
            let scale = match own.scale {
                Scale::Linear => design::Scale::Linear,
                Scale::Log => design::Scale::Log,
            };
            design::Factor::numeric(own.name.as_str(), levels, scale)
        }
    }
}

fn model_terms(model: &Model) -> design::ModelTerms {
    match model {
        Model::Named(NamedModel::Main) => design::ModelTerms::Main,
        Model::Named(NamedModel::Interactions) => design::ModelTerms::TwoFactor,
        Model::Named(NamedModel::Quadratic) => design::ModelTerms::Quadratic,
        Model::Terms(terms) => design::ModelTerms::Explicit(
            terms
                .iter()
                .map(|term| design::Term::powers(term.0.iter().copied()))
                .collect(),
        ),
    }
}
