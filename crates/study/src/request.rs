//! What the design crate is asked for: the kind, and the forbidden combinations
//! as tests of single factors.

use crate::expression::{Comparison, Condition, Literal};
use crate::factor::{Factor, FactorType};
use crate::problem::{Place, Problem};
use crate::study::Study;
use paceline_design::{self as design, Kind};
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
        let mut request = design::Request::new(design::Factors::new(factors)?, own.kind.clone());
        request.replicates = own.replicates;
        request.centre_points = own.centre_points;
        request.order = own.order;
        request.blocks = own.blocks;
        request.cost = self.cost_of_run();
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
        design::ModelTerms::parse(text, &names).map_err(|error| {
            let place = Place::Argument {
                text: Arc::from(text),
            };
            Problem::new(&place, error.message)
                .excerpt(text, &error.span)
                .maybe_hint(error.hint)
        })
    }

    /// What one run costs at these levels, in the order of the factors, if the
    /// study says so. A cost that cannot be calculated is infinite, so that no
    /// design chooses it for being cheap.
    #[must_use]
    pub fn cost_of_run(&self) -> Option<design::Cost> {
        let cost = self.design.cost_per_run.clone()?;
        let names: Vec<String> = self.factors.iter().map(|f| f.name.clone()).collect();
        let fixed = self.fixed.clone();
        Some(design::Cost::new(move |levels: &[Level]| {
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
        let chooses_own_values = match self.design.kind {
            Kind::Full | Kind::TwoLevel | Kind::Fractional(_) => false,
            Kind::OneAtATime { .. } | Kind::PlackettBurman { .. } => false,
            Kind::CentralComposite(_) | Kind::BoxBehnken => true,
            Kind::LatinHypercube { .. } | Kind::Optimal(_) => true,
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
        let has_centre = self.design.centre_points.is_some_and(|points| points > 0);
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
        FactorType::Numeric => design::Factor::numeric(own.name.as_str(), levels, own.scale),
    }
}
