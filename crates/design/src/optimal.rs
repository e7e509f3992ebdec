//! D-optimal designs by coordinate exchange.

use paceline_model::Level;
use thiserror::Error;

use crate::design::Points;
use crate::factor::{Factor, Factors, Setting};
use crate::request::{Cost, Fence, Optimal};
use crate::terms::{Model, TermError};
use paceline_numeric::{Chance, PivotedCholesky, SymmetricMatrix, dot_in_order as dot};

/// Why no optimal design can be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OptimalError {
    /// The model does not fit the factors.
    #[error(transparent)]
    Terms(#[from] TermError),
    /// Fewer runs than coefficients.
    #[error("{runs} runs cannot estimate the model's {coefficients} coefficients")]
    TooFewRuns {
        /// The number of runs asked for.
        runs: u32,
        /// The number of coefficients, the intercept included.
        coefficients: usize,
    },
    /// The search would take too long.
    #[error("a model of {coefficients} coefficients in {runs} runs is too large to optimise")]
    TooLarge {
        /// The number of runs asked for.
        runs: u32,
        /// The number of coefficients, the intercept included.
        coefficients: usize,
    },
    /// The search was given nothing to start from.
    #[error("an optimal design needs at least one start and at most {limit}", limit = MAX_STARTS)]
    BadStarts,
    /// Everything is forbidden.
    #[error("the forbidden combinations leave nothing to run")]
    NothingAllowed,
    /// No start gave a design that estimates every term.
    #[error("no allowed design of {runs} runs estimates all {coefficients} coefficients")]
    NotEstimable {
        /// The number of runs asked for.
        runs: u32,
        /// The number of coefficients, the intercept included.
        coefficients: usize,
    },
    /// A cost is negative or not a number.
    #[error("the cost of a run must be a number and not negative")]
    BadCost,
    /// The budget is negative, infinite or not a number.
    #[error("the budget must be a finite number and not negative")]
    BadBudget,
    /// There is a budget, and nobody says what a run costs.
    #[error("there is a budget, but nothing says what one run costs")]
    BudgetWithoutCost,
    /// Even the cheapest runs cost too much.
    #[error("{runs} runs cost at least {least}, more than the budget of {limit}")]
    OverBudget {
        /// The number of runs, replicates included.
        runs: u32,
        /// What they cost at the cheapest combination found.
        least: f64,
        /// The budget.
        limit: f64,
    },
}

impl OptimalError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Terms(_) => "check the terms against the factors".to_owned(),
            Self::TooFewRuns { coefficients, .. } => {
                format!("ask for at least {coefficients} runs, or drop terms from the model")
            }
            Self::TooLarge { .. } => {
                "drop terms, or use a fractional or a Latin hypercube design".to_owned()
            }
            Self::BadStarts => format!("{} starts are usual", Optimal::STARTS),
            Self::NothingAllowed => "remove a forbidden combination".to_owned(),
            Self::NotEstimable { .. } => {
                "drop a term, allow more combinations, raise the budget, or add runs".to_owned()
            }
            Self::BadBudget => "leave the budget out to have none".to_owned(),
            Self::BudgetWithoutCost => "say what a run costs, or leave the budget out".to_owned(),
            Self::BadCost => "check the cost expression at every combination of levels".to_owned(),
            Self::OverBudget { runs, least, limit } => {
                let each = least / f64::from(*runs);
                format!(
                    "the budget pays for at most {} runs",
                    (limit / each).floor()
                )
            }
        }
    }
}

const MAX_STARTS: u32 = 1000;
/// The greatest product of runs and squared coefficients, to which the time of
/// a pass is proportional.
const MAX_WORK: usize = 30_000_000;
/// The same product times the starts: about ten seconds of one core.
const SEARCH_WORK: usize = 30_000_000;
/// Passes over all coordinates before a start is left as it is.
const MAX_PASSES: usize = 100;
/// Draws of a random row before its neighbourhood counts as forbidden.
const MAX_DRAWS: usize = 10_000;
/// An exchange must raise the determinant by more than rounding does.
const WORTHWHILE: f64 = 1.0 + 1e-9;
/// Added to the diagonal while a start is still singular.
const RIDGE: f64 = 1e-6;

/// The D-optimal rows in a readable order.
///
/// Coordinate exchange (Meyer and Nachtsheim 1995, "The coordinate-exchange
/// algorithm for constructing exact optimal experimental designs",
/// *Technometrics* 37): from a random design, each coordinate in turn takes the
/// candidate that raises |X'X| most, until none does; the best of all starts is
/// kept. It finds good designs, not provably best ones.
///
/// A factor's candidates are its listed levels; a numeric factor given by its
/// two ends also offers evenly spaced values between them when the model has
/// its higher powers.
pub(crate) fn d_optimal(
    factors: &Factors,
    wanted: &Optimal,
    cost: Option<&Cost>,
    replicates: u32,
    fence: &Fence<'_>,
    chance: &mut Chance,
) -> Result<Points, OptimalError> {
    let model = Model::new(factors, &wanted.terms)?;
    let (runs, coefficients) = (wanted.runs, model.columns());
    if (runs as usize) < coefficients {
        return Err(OptimalError::TooFewRuns { runs, coefficients });
    }
    if (runs as usize).saturating_mul(coefficients * coefficients) > MAX_WORK {
        return Err(OptimalError::TooLarge { runs, coefficients });
    }
    if wanted.starts == 0 || wanted.starts > MAX_STARTS {
        return Err(OptimalError::BadStarts);
    }
    let limit = wanted.budget.map(|limit| limit / f64::from(replicates));
    if limit.is_some() && cost.is_none() {
        return Err(OptimalError::BudgetWithoutCost);
    }
    if limit.is_some_and(|limit| !(limit.is_finite() && limit >= 0.0)) {
        return Err(OptimalError::BadBudget);
    }
    let search = Search {
        factors,
        model: &model,
        candidates: factors
            .iter()
            .enumerate()
            .map(|(i, f)| candidates(f, i, &model))
            .collect(),
        fence,
        wanted,
        touched: (0..factors.len()).map(|i| model.columns_with(i)).collect(),
        cost,
        limit,
    };
    let mut best: Option<(f64, Rows)> = None;
    // A large design is searched less, so that no plan takes minutes.
    let work = (runs as usize) * coefficients * coefficients;
    let starts = (SEARCH_WORK / work.max(1)).clamp(1, wanted.starts as usize);
    for _ in 0..starts {
        let rows = search.start(chance)?;
        if let Some((log_det, rows)) = search.improve(rows)?
            && best
                .as_ref()
                .is_none_or(|(other, _)| log_det > *other + 1e-9)
        {
            best = Some((log_det, rows));
        }
    }
    let Some((_, mut rows)) = best else {
        return Err(OptimalError::NotEstimable { runs, coefficients });
    };
    sort(factors, &mut rows);
    let mut points = Points::with_capacity(factors.len(), rows.len());
    for row in rows {
        points.push(row);
    }
    Ok(points)
}

fn candidates(factor: &Factor, position: usize, model: &Model) -> Vec<Setting> {
    let levels = factor.levels().len();
    let power = model
        .terms
        .iter()
        .flat_map(|term| term.parts())
        .filter(|(other, _)| *other == position)
        .map(|(_, power)| *power)
        .max()
        .unwrap_or(1);
    if factor.is_categorical() || levels > 2 || power < 2 {
        return (0..levels as u32).map(Setting::Level).collect();
    }
    let mut out: Vec<Setting> = Vec::new();
    for step in 0..=power {
        let setting = factor.at(2.0 * f64::from(step) / f64::from(power) - 1.0);
        // Rounding to whole numbers can make neighbours equal.
        if !out.contains(&setting) {
            out.push(setting);
        }
    }
    out
}

type Rows = Vec<Vec<Setting>>;

struct Search<'a> {
    factors: &'a Factors,
    model: &'a Model,
    candidates: Vec<Vec<Setting>>,
    /// For each factor, the model's columns that change with it.
    touched: Vec<Vec<usize>>,
    fence: &'a Fence<'a>,
    wanted: &'a Optimal,
    cost: Option<&'a Cost>,
    /// What one replicate may cost.
    limit: Option<f64>,
}

impl Search<'_> {
    fn cost(&self, row: &[Setting]) -> Result<f64, OptimalError> {
        let (Some(cost), Some(_)) = (self.cost, self.limit) else {
            return Ok(0.0);
        };
        let levels: Vec<Level> = self
            .factors
            .iter()
            .zip(row)
            .map(|(factor, setting)| factor.natural(*setting))
            .collect();
        let cost = cost.of(&levels);
        // An infinite cost is a run that no budget can buy.
        if cost >= 0.0 {
            Ok(cost)
        } else {
            Err(OptimalError::BadCost)
        }
    }

    fn draw(&self, chance: &mut Chance) -> Result<Vec<Setting>, OptimalError> {
        for _ in 0..MAX_DRAWS {
            let row: Vec<Setting> = self
                .candidates
                .iter()
                .map(|choices| choices[chance.below(choices.len())])
                .collect();
            if self.fence.allows(&row) {
                return Ok(row);
            }
        }
        Err(OptimalError::NothingAllowed)
    }

    /// Random allowed rows within the budget.
    fn start(&self, chance: &mut Chance) -> Result<Rows, OptimalError> {
        let mut rows = Vec::with_capacity(self.wanted.runs as usize);
        let mut costs = Vec::with_capacity(self.wanted.runs as usize);
        for _ in 0..self.wanted.runs {
            let row = self.draw(chance)?;
            costs.push(self.cost(&row)?);
            rows.push(row);
        }
        let Some(limit) = self.limit else {
            return Ok(rows);
        };
        let mut draws = 0;
        while costs.iter().sum::<f64>() > limit {
            let dearest = (0..costs.len())
                .max_by(|a, b| costs[*a].total_cmp(&costs[*b]))
                .expect("there is at least one run");
            let row = self.draw(chance)?;
            let cost = self.cost(&row)?;
            if cost < costs[dearest] {
                (rows[dearest], costs[dearest]) = (row, cost);
                draws = 0;
                continue;
            }
            draws += 1;
            if draws > MAX_DRAWS {
                let runs = self.wanted.runs;
                let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
                return Err(OptimalError::OverBudget {
                    runs,
                    least: cheapest * f64::from(runs),
                    limit,
                });
            }
        }
        Ok(rows)
    }

    /// The logarithm of the determinant and the rows once no exchange helps;
    /// `None` when the design still cannot estimate the model.
    fn improve(&self, mut rows: Rows) -> Result<Option<(f64, Rows)>, OptimalError> {
        let mut spent = rows
            .iter()
            .map(|row| self.cost(row))
            .sum::<Result<f64, _>>()?;
        for _ in 0..MAX_PASSES {
            // Fresh each pass, so that rounding in the updates cannot build up.
            let mut inverse = self.inverse(&rows);
            let mut changed = false;
            for row in &mut rows {
                let mut line = Line::of(self, row, &inverse);
                for position in 0..self.factors.len() {
                    if self.exchange(row, position, &line, &mut inverse, &mut spent)? {
                        line = Line::of(self, row, &inverse);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let factor = PivotedCholesky::of(&self.gram(&rows));
        Ok(factor.log_determinant().map(|log_det| (log_det, rows)))
    }

    fn gram(&self, rows: &[Vec<Setting>]) -> SymmetricMatrix {
        let mut gram = SymmetricMatrix::zeros(self.model.columns());
        let mut line = vec![0.0; self.model.columns()];
        for row in rows {
            self.model.row(self.factors, row, &mut line);
            gram.add_outer_product(&line, 1.0);
        }
        gram
    }

    fn inverse(&self, rows: &[Vec<Setting>]) -> Dispersion {
        let mut gram = self.gram(rows);
        let entries = PivotedCholesky::of(&gram).inverse().unwrap_or_else(|| {
            gram.add_to_diagonal(RIDGE);
            let ridged = PivotedCholesky::of(&gram);
            ridged.inverse().unwrap_or_else(|| {
                // A start so flat that even the ridge drowns in rounding.
                gram.add_to_diagonal(1.0);
                PivotedCholesky::of(&gram)
                    .inverse()
                    .expect("a unit diagonal makes any Gram matrix regular")
            })
        });
        Dispersion {
            size: self.model.columns(),
            entries,
        }
    }

    /// Puts the best candidate into one coordinate; tells whether it changed.
    fn exchange(
        &self,
        row: &mut [Setting],
        position: usize,
        old: &Line,
        inverse: &mut Dispersion,
        spent: &mut f64,
    ) -> Result<bool, OptimalError> {
        let touched = &self.touched[position];
        let old_cost = self.cost(row)?;
        let current = row[position];
        let mut best: Option<(f64, Setting, f64)> = None;
        let mut new = vec![0.0; self.model.columns()];
        for candidate in &self.candidates[position] {
            if *candidate == current {
                continue;
            }
            row[position] = *candidate;
            if !self.fence.allows(row) {
                continue;
            }
            let cost = self.cost(row)?;
            if self
                .limit
                .is_some_and(|limit| *spent - old_cost + cost > limit)
            {
                continue;
            }
            self.model.row(self.factors, row, &mut new);
            let ratio = old.determinant_ratio(&new, touched, inverse);
            if ratio > best.as_ref().map_or(WORTHWHILE, |(other, ..)| *other) {
                best = Some((ratio, *candidate, cost));
            }
        }
        let Some((_, candidate, cost)) = best else {
            row[position] = current;
            return Ok(false);
        };
        row[position] = candidate;
        *spent += cost - old_cost;
        self.model.row(self.factors, row, &mut new);
        inverse.add(&new);
        inverse.remove(&old.values);
        Ok(true)
    }
}

/// A row of the model matrix with what every exchange in it needs.
struct Line {
    values: Vec<f64>,
    /// (X'X)⁻¹ times the values.
    image: Vec<f64>,
    variance: f64,
}

impl Line {
    fn of(search: &Search<'_>, row: &[Setting], inverse: &Dispersion) -> Self {
        let mut values = vec![0.0; search.model.columns()];
        search.model.row(search.factors, row, &mut values);
        let image = inverse.times(&values);
        let variance = dot(&values, &image);
        Self {
            values,
            image,
            variance,
        }
    }

    /// The factor by which |X'X| changes when `new` replaces this row:
    /// (1 + y'Dy)(1 − x'Dx) + (x'Dy)² (Fedorov 1972, *Theory of Optimal
    /// Experiments*). The rows differ in the `touched` columns only, so the
    /// forms in y are those in x plus a correction over these.
    fn determinant_ratio(&self, new: &[f64], touched: &[usize], inverse: &Dispersion) -> f64 {
        let change = |i: usize| new[i] - self.values[i];
        let mut linear = 0.0;
        let mut square = 0.0;
        for i in touched {
            let row = &inverse.entries[i * inverse.size..(i + 1) * inverse.size];
            let product: f64 = touched.iter().map(|j| row[*j] * change(*j)).sum();
            linear += change(*i) * self.image[*i];
            square += change(*i) * product;
        }
        let new_variance = self.variance + 2.0 * linear + square;
        let covariance = self.variance + linear;
        (1.0 + new_variance) * (1.0 - self.variance) + covariance * covariance
    }
}

/// The inverse of an information matrix, kept up to date row by row.
struct Dispersion {
    size: usize,
    entries: Vec<f64>,
}

impl Dispersion {
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.entries
            .chunks_exact(self.size)
            .map(|row| dot(row, vector))
            .collect()
    }

    fn add(&mut self, row: &[f64]) {
        self.update(row, 1.0);
    }

    fn remove(&mut self, row: &[f64]) {
        self.update(row, -1.0);
    }

    /// Sherman and Morrison's formula (1950).
    fn update(&mut self, row: &[f64], sign: f64) {
        let image = self.times(row);
        let scale = sign / (1.0 + sign * dot(row, &image));
        for (line, x) in self.entries.chunks_exact_mut(self.size).zip(&image) {
            for (entry, y) in line.iter_mut().zip(&image) {
                *entry -= scale * x * y;
            }
        }
    }
}

/// The last factor slowest, as in factorial designs.
fn sort(factors: &Factors, rows: &mut [Vec<Setting>]) {
    rows.sort_by(|a, b| {
        let codes = |row: &[Setting]| -> Vec<f64> {
            factors
                .iter()
                .zip(row)
                .rev()
                .map(|(f, setting)| f.coded(*setting))
                .collect()
        };
        codes(a)
            .iter()
            .zip(codes(b))
            .map(|(x, y)| x.total_cmp(&y))
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
}
