//! What to run next: a pure function of the runs that have ended.

use super::TuneError;
use super::halving::Rungs;
use super::history::{History, Tried};
use super::question::{Direction, Question};
use paceline_advise::bayes::{Bayes, Step, StopReason, Trial};
use paceline_advise::climb::{Action, Climb, ClimbParams, EndReason, Observation};
use paceline_advise::pick::Limit;
use paceline_advise::runs::{Configuration, FactorColumn, Runs};
use paceline_design::Scale;
use paceline_model::Level;
use paceline_study::{Factor, FactorType, Study};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// The levels that stand for a range.
const RANGE_LEVELS: usize = 33;
/// More combinations than this are not weighed against each other.
const MOST_CANDIDATES: usize = 10_000;
/// A search ends when less than this fraction is expected to be gained.
const LEAST_IMPROVEMENT: f64 = 0.005;

/// Beyond this whole numbers are no longer told apart by a climb.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// How levels are chosen.
pub struct Search(Method);

enum Method {
    /// One numeric factor is doubled, then raised by tenths.
    Climb {
        climb: Climb,
        replicates: usize,
        whole: bool,
    },
    /// Expected improvement per second decides.
    Bayes {
        bayes: Box<Bayes>,
        replicates: usize,
    },
    /// Who leads on a small budget gets a larger one.
    Halving(Box<Rungs>),
}

/// What to do next.
pub enum Next {
    /// Plan so many more runs of these levels.
    Run {
        /// Of every factor of the study.
        levels: Vec<Level>,
        /// How many runs.
        count: usize,
    },
    /// Stop.
    Done(End),
}

/// How a search ended.
pub struct End {
    /// The best levels, if any level is worth having.
    pub best: Option<Vec<Level>>,
    /// Why it ended, as a word for programs.
    pub reason: &'static str,
    /// The same in a sentence.
    pub why: String,
}

/// How far a search may go.
pub struct Reach {
    /// Runs of each level before it is compared.
    pub replicates: usize,
    /// Runs after which the search ends wherever it is.
    pub most_runs: usize,
    /// The first level of a climb; the lowest of the factor if absent.
    pub start: Option<f64>,
    /// How many CPUs a run can have.
    pub cpus: usize,
}

impl Search {
    /// Doubles one numeric factor while the response improves, then raises it by
    /// tenths.
    ///
    /// # Errors
    /// If the factors do not allow such a search.
    pub fn climb(study: &Study, question: &Question, reach: &Reach) -> Result<Self, TuneError> {
        let [at] = question.varied[..] else {
            return Err(TuneError::ClimbOfSeveral);
        };
        let factor = &study.factors()[at];
        if factor.kind == FactorType::Categorical {
            return Err(TuneError::NoOrder(factor.name.clone()));
        }
        let whole = is_whole(factor);
        let numbers = factor.levels.iter().filter_map(Level::as_number);
        let lowest = numbers.clone().fold(f64::INFINITY, f64::min);
        // A list names examples, as a study compares them; a range is a promise.
        let mut highest = if factor.is_range {
            numbers.fold(f64::NEG_INFINITY, f64::max)
        } else if whole {
            MOST_WHOLE
        } else {
            f64::MAX
        };
        if factor.name == "cpus" {
            highest = highest.min(reach.cpus as f64);
        }
        let start = reach.start.unwrap_or(lowest);
        if factor.is_range && start < lowest {
            return Err(TuneError::StartBelow {
                start,
                factor: factor.name.clone(),
                lowest,
            });
        }
        let params = ClimbParams {
            start,
            replicates: reach.replicates,
            most_replicates: 2 * reach.replicates,
            most_runs: reach.most_runs,
            confidence: CONFIDENCE,
            highest,
            whole,
        };
        let climb = params.check()?;
        Ok(Self(Method::Climb {
            climb,
            replicates: reach.replicates,
            whole,
        }))
    }

    /// Runs the level of the greatest expected improvement per second.
    ///
    /// # Errors
    /// If the factors do not allow such a search.
    pub fn bayes(study: &Study, question: &Question, reach: &Reach) -> Result<Self, TuneError> {
        if reach.start.is_some() {
            return Err(TuneError::StartWithoutClimb {
                instead: "a Bayesian search chooses its first levels itself",
            });
        }
        let varied: Vec<&Factor> = question
            .varied
            .iter()
            .map(|&at| &study.factors()[at])
            .collect();
        let rows = combinations(&varied)?;
        let column = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]);
            match varied[at].kind {
                FactorType::Numeric => {
                    FactorColumn::Numeric(cells.filter_map(Level::as_number).collect())
                }
                FactorType::Categorical => {
                    FactorColumn::Words(cells.map(Level::to_string).collect())
                }
            }
        };
        let columns = (0..varied.len()).map(|at| (varied[at].name.clone(), column(at)));
        let unmeasured = ("cost".to_owned(), vec![0.0; rows.len()]);
        let table = Runs::new(columns.collect(), vec![unmeasured], None)?;
        Ok(Self(Method::Bayes {
            bayes: Box::new(Bayes {
                factors: table.factors().clone(),
                candidates: table.distinct_settings(),
                limits: question.limits.iter().map(|bound| bound.limit).collect(),
                most_runs: (reach.most_runs / reach.replicates).max(1),
                least_improvement: LEAST_IMPROVEMENT,
                seed: study.design().seed,
            }),
            replicates: reach.replicates,
        }))
    }

    /// Runs all levels on a small budget, and the better half on a larger one.
    ///
    /// # Errors
    /// If the factors do not allow such a search.
    pub fn halving(study: &Study, question: &Question, reach: &Reach) -> Result<Self, TuneError> {
        if reach.start.is_some() {
            return Err(TuneError::StartWithoutClimb {
                instead: "successive halving runs every level on the smallest budget",
            });
        }
        let rungs = Rungs::new(study, question, reach)?;
        Ok(Self(Method::Halving(Box::new(rungs))))
    }

    /// The next step, from what has ended and nothing else: a search that is
    /// taken up again decides as it would have.
    ///
    /// # Errors
    /// If no predictor can be fitted to what has ended.
    pub fn next(
        &self,
        study: &Study,
        question: &Question,
        history: &History,
    ) -> Result<Next, TuneError> {
        match &self.0 {
            Method::Climb {
                climb,
                replicates,
                whole,
            } => {
                let at = question.varied[0];
                let observed: Vec<Observation> = history
                    .observations()
                    .filter_map(|(levels, cost)| {
                        let level = levels[at].as_number()?;
                        Some(Observation { level, cost })
                    })
                    .collect();
                let typed = |level: f64| question.levels(&[level_of(level, *whole)]);
                Ok(match climb.next(&observed) {
                    Action::Run { level, replicate } => Next::Run {
                        levels: typed(level),
                        // The first replicates are made whatever they say.
                        count: (replicates + 1).saturating_sub(replicate).max(1),
                    },
                    Action::Done { best, reason, .. } => {
                        Next::Done(climbed(study, question, history, &typed(best), reason))
                    }
                })
            }
            Method::Bayes { bayes, replicates } => {
                next_of_bayes(bayes, *replicates, question, history)
            }
            Method::Halving(rungs) => Ok(rungs.next(study, question, history)),
        }
    }

    /// How many replicates each level gets at first.
    #[must_use]
    pub fn replicates(&self) -> usize {
        match &self.0 {
            Method::Climb { replicates, .. } | Method::Bayes { replicates, .. } => *replicates,
            Method::Halving(rungs) => rungs.replicates,
        }
    }
}

fn climbed(
    study: &Study,
    question: &Question,
    history: &History,
    best: &[Level],
    reason: EndReason,
) -> End {
    let name = &question.response;
    let last = history.tried.last().map(|tried| tried.levels.as_slice());
    let last = question.words(study, last.unwrap_or(best));
    let from = question.words(study, best);
    let better = match question.direction {
        Direction::Minimize => "lower",
        Direction::Maximize => "higher",
    };
    let (word, why) = match reason {
        EndReason::NoImprovement => (
            "no_improvement",
            format!(
                "{last} is no improvement on {from}: its {name} is not {better}, with 95% \
                 confidence, or its runs fail or break a limit"
            ),
        ),
        EndReason::Undecided => (
            "undecided",
            format!(
                "{last} cannot be told from {from}: after twice the replicates the 95% interval \
                 of the difference in {name} still contains zero"
            ),
        ),
        EndReason::RangeEnds => (
            "range_ends",
            format!("the next step from {from} leaves the range of the factor"),
        ),
        EndReason::RunsUsedUp => (
            "runs_used_up",
            format!(
                "the {} runs allowed by --max-runs are used up",
                history.run_count()
            ),
        ),
        EndReason::StartFails => (
            "start_fails",
            format!(
                "fewer than two runs of the first level, {from}, have a {name} within the limits; \
                 give another --start"
            ),
        ),
    };
    End {
        best: (reason != EndReason::StartFails).then(|| best.to_vec()),
        reason: word,
        why,
    }
}

fn next_of_bayes(
    bayes: &Bayes,
    replicates: usize,
    question: &Question,
    history: &History,
) -> Result<Next, TuneError> {
    let tried: Vec<&Tried> = history
        .tried
        .iter()
        .filter(|tried| tried.runs() > 0)
        .collect();
    let trials = trials(bayes, &tried, question)?;
    let typed = |configuration: &Configuration| {
        let settings = bayes.factors.settings(configuration);
        let levels: Vec<Level> = settings.into_iter().map(|(_, level)| level).collect();
        question.levels(&levels)
    };
    let next = bayes.next(&trials)?;
    Ok(match next {
        Step::Run(next) => Next::Run {
            levels: typed(&next.configuration),
            count: replicates,
        },
        Step::Done { best, reason } => {
            let best = best
                .map(|at| tried[at])
                .filter(|tried| !tried.values.is_empty());
            let (word, why) = match reason {
                StopReason::NotWorthIt => (
                    "not_worth_it",
                    format!(
                        "no further level is expected to improve {} by {}% or more",
                        question.response,
                        100.0 * LEAST_IMPROVEMENT
                    ),
                ),
                StopReason::RunsUsedUp => (
                    "runs_used_up",
                    format!(
                        "the runs allowed by --max-runs are used up ({})",
                        history.run_count()
                    ),
                ),
                StopReason::AllRun => ("all_run", "every combination of levels was run".to_owned()),
            };
            Next::Done(End {
                best: best.map(|tried| tried.levels.clone()),
                reason: word,
                why,
            })
        }
    })
}

/// The means of each level. Where all runs failed nothing is known but that it
/// is no good: it counts as the worst of the others, beyond every limit.
fn trials(bayes: &Bayes, tried: &[&Tried], question: &Question) -> Result<Vec<Trial>, TuneError> {
    let cost = |mean: f64| question.direction.cost(mean);
    let costs = tried.iter().filter_map(|tried| Some(cost(tried.mean()?)));
    let worst = costs.reduce(f64::max).unwrap_or(1.0);
    let beyond = |limit: Limit| match limit {
        Limit::AtMost(value) => value + value.abs().max(1e-9),
        Limit::AtLeast(value) => value - value.abs().max(1e-9),
    };
    let trial = |tried: &&Tried| {
        let varied = question.varied.iter().map(|&at| &tried.levels[at]);
        let configuration = bayes.factors.iter().zip(varied);
        let limits = question.limits.iter().zip(tried.limited_means());
        Ok(Trial {
            configuration: configuration
                .map(|(factor, level)| factor.value(level))
                .collect::<Result<_, _>>()?,
            cost: tried.mean().map_or(worst, cost),
            limited: limits
                .map(|(bound, mean)| mean.unwrap_or_else(|| beyond(bound.limit)))
                .collect(),
            seconds: tried.seconds,
        })
    };
    tried.iter().map(trial).collect()
}

/// Every combination of the factors' levels.
pub(super) fn combinations(factors: &[&Factor]) -> Result<Vec<Vec<Level>>, TuneError> {
    let grids: Vec<Vec<Level>> = factors.iter().map(|factor| grid(factor)).collect();
    let sizes = grids.iter().map(Vec::len);
    let count = sizes.fold(1_usize, usize::saturating_mul);
    if count > MOST_CANDIDATES {
        return Err(TuneError::TooMany {
            count,
            most: MOST_CANDIDATES,
        });
    }
    let mut rows: Vec<Vec<Level>> = vec![Vec::new()];
    for grid in &grids {
        let longer = |row: &Vec<Level>, level: &Level| {
            let mut row = row.clone();
            row.push(level.clone());
            row
        };
        rows = rows
            .iter()
            .flat_map(|row| grid.iter().map(move |level| longer(row, level)))
            .collect();
    }
    Ok(rows)
}

/// The levels of a factor; of a range, some that lie evenly on its scale.
fn grid(factor: &Factor) -> Vec<Level> {
    let ends = (factor.levels.first(), factor.levels.last());
    let (true, (Some(low), Some(high))) = (factor.is_range, ends) else {
        return factor.levels.clone();
    };
    let (low, high) = (
        low.as_number().unwrap_or(0.0),
        high.as_number().unwrap_or(0.0),
    );
    let whole = is_whole(factor);
    let mut levels: Vec<Level> = (0..RANGE_LEVELS)
        .map(|i| {
            let part = i as f64 / (RANGE_LEVELS - 1) as f64;
            let value = match factor.scale {
                Scale::Linear => low + part * (high - low),
                Scale::Log => low * (high / low).powf(part),
            };
            // Six digits make a level that a person can type.
            let short: f64 = format!("{value:.5e}").parse().unwrap_or(value);
            level_of(
                if whole { short.round() } else { short }.clamp(low, high),
                whole,
            )
        })
        .collect();
    levels.dedup();
    levels
}

pub(super) fn is_whole(factor: &Factor) -> bool {
    let is_integer = |level: &Level| matches!(level, Level::Integer(_));
    factor.levels.iter().all(is_integer)
}

pub(super) fn level_of(value: f64, whole: bool) -> Level {
    if whole {
        Level::Integer(value as i64)
    } else {
        Level::Number(value)
    }
}
