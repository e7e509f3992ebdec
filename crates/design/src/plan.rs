//! From a request to a design.

use std::collections::HashMap;

use crate::blocking;
use crate::design::{Design, Points, Run, Structure};
use crate::factor::{Factors, Setting};
use crate::factorial;
use crate::fraction::Fraction;
use crate::hadamard;
use crate::hypercube;
use crate::optimal;
use crate::refusal::PlanError;
use crate::request::{
    BlockBy, CentralComposite, CompositeCube, CompositeShape, Fence, Kind, Order, Request,
    same_level,
};
use crate::seed::Purpose;
use crate::surface;

impl Request {
    /// The most runs of a plan.
    pub const MAX_RUNS: usize = 1 << 20;

    /// The most settings of a design, one per run and factor.
    pub const MAX_SETTINGS: usize = 5_000_000;

    /// Makes the design. The same request and seed always give the same design.
    pub fn plan(&self, seed: u64) -> Result<Design, PlanError> {
        if self.replicates == 0 {
            return Err(PlanError::TooFew {
                what: "replicates",
                least: 1,
            });
        }
        if self.blocks.count == 0 {
            return Err(PlanError::TooFew {
                what: "blocks",
                least: 1,
            });
        }
        let fence = Fence::new(&self.factors, &self.forbidden)?;
        let core = self.core(seed, &fence)?;
        let centres = self.centres(core.default_centres, &fence)?;
        let blocks = self.divide(&core)?;
        self.check_size(&core.points, &centres)?;
        let (trials, index) = number_trials(core.points, core.distinct, &centres);
        let standard = self.standard_order(&index, &blocks, trials.len());
        let runs = self.run_order(standard, seed);
        let structure = match core.structure {
            Structure::Regular { fraction, .. } => Structure::Regular {
                fraction,
                blocks: blocks.generators,
            },
            other => other,
        };
        Ok(Design {
            factors: self.factors.clone(),
            trials,
            runs,
            blocks: self.blocks.count,
            parts: blocks.per_replicate,
            structure,
        })
    }

    /// One replicate without centre points.
    fn core(&self, seed: u64, fence: &Fence<'_>) -> Result<Core, PlanError> {
        let factors = &self.factors;
        let core = match &self.kind {
            Kind::OneAtATime { control } => {
                let control = self.control(control)?;
                let points = factorial::one_at_a_time(factors, &control);
                let mut allowed = Points::new(factors.len());
                for row in points.rows().filter(|row| fence.allows(row)) {
                    allowed.push(row.iter().copied());
                }
                Core::general(allowed).distinct()
            }
            Kind::Full => {
                let count = factorial::combinations(factors)
                    .filter(|count| *count <= Self::MAX_RUNS)
                    .ok_or(PlanError::TooManyRuns)?;
                let points = factorial::full(factors, count, fence);
                let complete = points.len() == count;
                let mut core = Core::general(points).distinct();
                let two_level = factors.iter().all(|factor| factor.levels().len() == 2);
                // A full factorial of two levels is listed by position, so its
                // algebra holds up to the sign of a factor.
                if complete && two_level && factors.len() <= Fraction::MAX_POWER {
                    core.structure = Structure::regular(Fraction::full(factors.len()));
                }
                core
            }
            Kind::TwoLevel => {
                self.check_two_levels()?;
                if factors.len() > Fraction::MAX_POWER {
                    return Err(PlanError::TooManyRuns);
                }
                Core::regular(factors, Fraction::full(factors.len()))
            }
            Kind::Fractional(by) => {
                self.check_two_levels()?;
                let limit = Fraction::MAX_FACTORS;
                if factors.len() > limit {
                    return Err(PlanError::TooManyFactors {
                        count: factors.len(),
                        limit,
                    });
                }
                Core::regular(factors, Fraction::choose(factors, by)?)
            }
            Kind::PlackettBurman { runs } => self.plackett_burman(*runs)?,
            Kind::CentralComposite(composite) => self.central_composite(*composite)?,
            Kind::BoxBehnken => {
                self.check_numeric()?;
                let points = surface::box_behnken(factors).ok_or(PlanError::BoxBehnkenFactors {
                    factors: factors.len(),
                })?;
                let centres = surface::box_behnken_centres(factors.len());
                Core::general(points).with_centres(centres)
            }
            Kind::LatinHypercube { runs } => {
                if *runs < 2 {
                    return Err(PlanError::TooFew {
                        what: "runs",
                        least: 2,
                    });
                }
                if *runs as usize > Self::MAX_RUNS {
                    return Err(PlanError::TooManyRuns);
                }
                self.check_settings(*runs as usize)?;
                let mut chance = Purpose::LatinHypercube.chance(seed);
                Core::general(hypercube::latin_hypercube(
                    factors,
                    *runs as usize,
                    &mut chance,
                ))
            }
            Kind::Optimal(optimal) => {
                self.check_settings(optimal.runs as usize)?;
                let mut chance = Purpose::Optimal.chance(seed);
                let cost = self.cost.as_ref();
                let replicates = self.replicates;
                let points =
                    optimal::d_optimal(factors, optimal, cost, replicates, fence, &mut chance)?;
                Core::general(points)
            }
        };
        if core.points.len() == 0 {
            return Err(PlanError::NothingAllowed);
        }
        if !fence.is_open() {
            let count = core.points.rows().filter(|row| !fence.allows(row)).count();
            if count > 0 {
                return Err(PlanError::ContainsForbidden { count });
            }
        }
        Ok(core)
    }

    fn control(&self, given: &[(String, paceline_model::Level)]) -> Result<Vec<u32>, PlanError> {
        let mut control = vec![0; self.factors.len()];
        for (name, level) in given {
            let place = self.factors.position(name).and_then(|position| {
                let levels = self.factors[position].levels();
                let index = levels.iter().position(|other| same_level(other, level))?;
                Some((position, index as u32))
            });
            let (position, index) = place.ok_or_else(|| PlanError::UnknownControl {
                factor: name.clone(),
                level: level.to_string(),
            })?;
            control[position] = index;
        }
        Ok(control)
    }

    fn check_two_levels(&self) -> Result<(), PlanError> {
        match self
            .factors
            .iter()
            .find(|factor| factor.levels().len() != 2)
        {
            None => Ok(()),
            Some(factor) => Err(PlanError::WrongLevelCount {
                factor: factor.name().to_owned(),
                count: factor.levels().len(),
                wanted: "two",
            }),
        }
    }

    fn check_numeric(&self) -> Result<(), PlanError> {
        for factor in self.factors.iter() {
            let name = || factor.name().to_owned();
            if factor.is_categorical() {
                return Err(PlanError::CategoricalFactor { factor: name() });
            }
            if factor.centre().is_none() {
                return Err(PlanError::NoMiddle { factor: name() });
            }
            let count = factor.levels().len();
            if count > 3 {
                let wanted = "two or three";
                return Err(PlanError::WrongLevelCount {
                    factor: name(),
                    count,
                    wanted,
                });
            }
        }
        Ok(())
    }

    fn plackett_burman(&self, runs: Option<u32>) -> Result<Core, PlanError> {
        self.check_two_levels()?;
        let factors = self.factors.len();
        let least = (factors as u32 + 1).next_multiple_of(4);
        let runs = runs.unwrap_or(least);
        if !runs.is_multiple_of(4) || runs < least || runs > hadamard::MAX_RUNS {
            return Err(PlanError::PlackettBurmanRuns { factors, runs });
        }
        let mut core = Core::general(hadamard::plackett_burman(&self.factors, runs as usize));
        core.structure = Structure::Hadamard;
        Ok(core)
    }

    fn central_composite(&self, composite: CentralComposite) -> Result<Core, PlanError> {
        self.check_numeric()?;
        let factors = &self.factors;
        if factors.len() < 2 {
            return Err(PlanError::TooFew {
                what: "the number of factors",
                least: 2,
            });
        }
        if factors.len() > Fraction::MAX_POWER {
            return Err(PlanError::TooManyRuns);
        }
        let cube = match composite.cube {
            CompositeCube::Full => Fraction::full(factors.len()),
            CompositeCube::Fraction => Fraction::of_resolution(factors.len(), 5)?,
        };
        let centres = self.centre_points.unwrap_or(COMPOSITE_CENTRES);
        // Centre points come once per block, everything else once per replicate;
        // alpha looks at one replicate's share.
        let share = f64::from(centres) * f64::from(self.blocks.count) / f64::from(self.replicates);
        let corners = f64::from(cube.runs());
        let total = corners + 2.0 * factors.len() as f64 + share;
        let alpha = match composite.shape {
            CompositeShape::FaceCentred => 1.0,
            _ => surface::axial_distance(composite.alpha, corners, total),
        };
        let least = match composite.shape {
            // Within 1 the cube would leave the factors' ends.
            CompositeShape::Inscribed => 1.0,
            CompositeShape::Circumscribed | CompositeShape::FaceCentred => f64::MIN_POSITIVE,
        };
        if !(alpha.is_finite() && alpha >= least) {
            return Err(PlanError::BadAlpha { alpha });
        }
        if composite.shape == CompositeShape::Circumscribed {
            for factor in factors.iter().filter(|factor| factor.all_positive()) {
                let value = factor.natural(Setting::Coded(-alpha));
                if value.as_number().is_some_and(|x| x <= 0.0) {
                    let factor = factor.name().to_owned();
                    return Err(PlanError::AxialNotPositive {
                        factor,
                        value: value.to_string(),
                    });
                }
            }
        }
        let points = surface::central_composite(factors, &cube, composite.shape, alpha);
        Ok(Core::general(points).with_centres(COMPOSITE_CENTRES))
    }

    /// The centre rows of one block: factors that have a middle are there, the
    /// others go through all combinations.
    fn centres(&self, default: u32, fence: &Fence<'_>) -> Result<Points, PlanError> {
        let factors = &self.factors;
        let mut centres = Points::new(factors.len());
        let count = self.centre_points.unwrap_or(default);
        if count == 0 {
            return Ok(centres);
        }
        if factors.iter().all(|factor| factor.centre().is_none()) {
            return Err(PlanError::NoCentre);
        }
        let mut rows: Vec<Vec<Setting>> = vec![Vec::new()];
        for factor in factors.iter() {
            let choices: Vec<Setting> = match factor.centre() {
                Some(centre) => vec![centre],
                None => (0..factor.levels().len() as u32)
                    .map(Setting::Level)
                    .collect(),
            };
            if rows.len().saturating_mul(choices.len()) > Self::MAX_RUNS {
                return Err(PlanError::TooManyRuns);
            }
            rows = choices
                .iter()
                .flat_map(|choice| rows.iter().map(|row| [row.as_slice(), &[*choice]].concat()))
                .collect();
        }
        let forbidden = rows.iter().filter(|row| !fence.allows(row)).count();
        if forbidden > 0 {
            return Err(PlanError::ContainsForbidden { count: forbidden });
        }
        if rows.len().saturating_mul(count as usize) > Self::MAX_RUNS {
            return Err(PlanError::TooManyRuns);
        }
        for row in &rows {
            for _ in 0..count {
                centres.push(row.iter().copied());
            }
        }
        Ok(centres)
    }

    fn divide(&self, core: &Core) -> Result<Division, PlanError> {
        let (count, replicates) = (self.blocks.count, self.replicates);
        if replicates.is_multiple_of(count) {
            return Ok(Division {
                per_replicate: 1,
                generators: Vec::new(),
            });
        }
        let split = count / replicates;
        if count.is_multiple_of(replicates)
            && split.is_power_of_two()
            && let Structure::Regular { fraction, .. } = &core.structure
            && let Some(generators) = blocking::generators(fraction, split.trailing_zeros())
        {
            return Ok(Division {
                per_replicate: split,
                generators,
            });
        }
        let mut possible: Vec<u32> = (1..=replicates)
            .filter(|n| replicates.is_multiple_of(*n))
            .collect();
        if let Structure::Regular { fraction, .. } = &core.structure {
            let powers = (1..fraction.power())
                .take_while(|power| blocking::generators(fraction, *power).is_some());
            possible.extend(powers.filter_map(|power| replicates.checked_mul(1 << power)));
        }
        Err(PlanError::Blocks {
            blocks: count,
            replicates,
            possible,
        })
    }

    /// Before memory is taken for them.
    fn check_settings(&self, runs: usize) -> Result<(), PlanError> {
        let factors = self.factors.len();
        match runs.saturating_mul(factors) {
            0..=Self::MAX_SETTINGS => Ok(()),
            _ => Err(PlanError::TooManySettings { runs, factors }),
        }
    }

    fn check_size(&self, points: &Points, centres: &Points) -> Result<(), PlanError> {
        let design = points.len().checked_mul(self.replicates as usize);
        let centre = centres.len().checked_mul(self.blocks.count as usize);
        match design.zip(centre).and_then(|(a, b)| a.checked_add(b)) {
            Some(runs) if runs <= Self::MAX_RUNS => Ok(()),
            _ => Err(PlanError::TooManyRuns),
        }
    }

    /// The runs block after block, each block's centre points last.
    fn standard_order(&self, index: &TrialIndex, blocks: &Division, trials: usize) -> Vec<Run> {
        let mut seen = vec![0_u32; trials];
        let mut runs = Vec::with_capacity(index.points.len() * self.replicates as usize);
        let mut push = |trial: u32, block: u32| {
            let replicate = seen[trial as usize];
            seen[trial as usize] += 1;
            let standard = runs.len() as u32;
            runs.push(Run {
                trial,
                replicate,
                block,
                standard,
            });
        };
        let count = self.blocks.count;
        // Either several replicates to a block, or several blocks to a replicate.
        let replicates_per_block = (self.replicates / count).max(1);
        for block in 0..count {
            let part = block % blocks.per_replicate;
            for _ in 0..replicates_per_block {
                for (row, trial) in index.points.iter().enumerate() {
                    if blocks.part_of(row as u32) == part {
                        push(*trial, block);
                    }
                }
            }
            for trial in &index.centres {
                push(*trial, block);
            }
        }
        runs
    }

    fn run_order(&self, standard: Vec<Run>, seed: u64) -> Vec<Run> {
        let mut blocks: Vec<Vec<Run>> = vec![Vec::new(); self.blocks.count as usize];
        for run in standard {
            blocks[run.block as usize].push(run);
        }
        if self.order == Order::Random {
            let mut chance = Purpose::RunOrder.chance(seed);
            for block in &mut blocks {
                chance.shuffle(block);
            }
        }
        match self.blocks.by {
            BlockBy::Time => blocks.into_iter().flatten().collect(),
            BlockBy::Node => {
                let longest = blocks.iter().map(Vec::len).max().unwrap_or(0);
                (0..longest)
                    .flat_map(|i| blocks.iter().filter_map(move |block| block.get(i).copied()))
                    .collect()
            }
        }
    }
}

/// How many centre points a central composite design has unless told.
const COMPOSITE_CENTRES: u32 = 5;

struct Core {
    points: Points,
    structure: Structure,
    /// Whether the points are known to differ.
    distinct: bool,
    default_centres: u32,
}

impl Core {
    fn general(points: Points) -> Self {
        Self {
            points,
            structure: Structure::General,
            distinct: false,
            default_centres: 0,
        }
    }

    fn regular(factors: &Factors, fraction: Fraction) -> Self {
        let points = factorial::regular(factors, &fraction);
        let structure = Structure::regular(fraction);
        Self {
            points,
            structure,
            distinct: true,
            default_centres: 0,
        }
    }

    fn distinct(self) -> Self {
        Self {
            distinct: true,
            ..self
        }
    }

    fn with_centres(self, default_centres: u32) -> Self {
        Self {
            default_centres,
            ..self
        }
    }
}

impl Structure {
    fn regular(fraction: Fraction) -> Self {
        Self::Regular {
            fraction,
            blocks: Vec::new(),
        }
    }
}

/// How a replicate is divided into blocks.
struct Division {
    per_replicate: u32,
    generators: Vec<u32>,
}

impl Division {
    fn part_of(&self, row: u32) -> u32 {
        let bits = self.generators.iter().enumerate();
        bits.map(|(bit, generator)| ((row & generator).count_ones() & 1) << bit)
            .sum()
    }
}

struct TrialIndex {
    points: Vec<u32>,
    centres: Vec<u32>,
}

/// Gives equal rows the same trial number, in order of first appearance.
fn number_trials(points: Points, distinct: bool, centres: &Points) -> (Points, TrialIndex) {
    if distinct && centres.len() == 0 {
        let numbers = (0..points.len() as u32).collect();
        return (
            points,
            TrialIndex {
                points: numbers,
                centres: Vec::new(),
            },
        );
    }
    let mut trials = Points::new(points.row(0).len());
    let mut known: HashMap<Vec<(bool, u64)>, u32> = HashMap::new();
    let mut number = |row: &[Setting]| {
        let key = row.iter().map(|setting| setting.key()).collect();
        *known.entry(key).or_insert_with(|| {
            trials.push(row.iter().copied());
            trials.len() as u32 - 1
        })
    };
    let points = points.rows().map(&mut number).collect();
    let centres = centres.rows().map(&mut number).collect();
    (trials, TrialIndex { points, centres })
}
