//! What to run next: a pure function of the runs that have ended.

use super::TuneError;
use super::bayesian::Bayesian;
use super::halving::Rungs;
use super::history::History;
use super::question::{Direction, Question};
use paceline_advise::climb::{Action, Climb, ClimbParams, EndReason, Observation};
use paceline_advise::halving::{Rivals, Trace};
use paceline_design::Scale;
use paceline_model::{Level, RunId};
use paceline_study::{Factor, FactorType, Study};
use serde_json::{Value, json};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// The levels that stand for a range.
const RANGE_LEVELS: usize = 33;
/// More combinations than this are not weighed against each other.
const MOST_CANDIDATES: usize = 10_000;
/// A search ends when less than this fraction is expected to be gained.
pub(super) const LEAST_IMPROVEMENT: f64 = 0.005;

/// How many doublings in a row a climb passes that cannot be told from the best.
const MOST_TIES: usize = 8;

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
    Bayes(Box<Bayesian>),
    /// Who leads on a small budget gets a larger one.
    Halving(Box<Rungs>),
}

/// What to do next.
pub enum Next {
    /// Plan so many more runs of these levels.
    Run {
        /// Of every factor of the study.
        levels: Vec<Level>,
        /// A run for each: the run whose checkpoint it goes on from, if any.
        from: Vec<Option<RunId>>,
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
    /// What was not explored.
    pub unexplored: NotExplored,
}

/// What a search that ended has not looked at.
#[derive(Debug, Clone, Default)]
pub struct NotExplored {
    /// In sentences.
    pub sentences: Vec<String>,
    /// For programs.
    pub json: Value,
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
            most_ties: MOST_TIES,
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
        let search = Bayesian::new(study, question, reach);
        Ok(Self(Method::Bayes(Box::new(search))))
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
                        from: vec![None; (replicates + 1).saturating_sub(replicate).max(1)],
                    },
                    Action::Done { best, reason, .. } => {
                        Next::Done(climbed(study, question, history, &typed(best), reason))
                    }
                })
            }
            Method::Bayes(search) => search.next(study, question, history),
            Method::Halving(rungs) => Ok(rungs.next(study, question, history)),
        }
    }

    /// Whom a run of these levels is compared with while it lasts, and the budget
    /// that it runs on. Nothing if no run is stopped early.
    #[must_use]
    pub fn rivals(
        &self,
        question: &Question,
        history: &History,
        levels: &[Level],
        trace: impl Fn(&RunId, u32) -> Trace,
    ) -> Option<(Rivals, f64)> {
        match &self.0 {
            Method::Halving(rungs) => rungs.rivals(question, history, levels, trace),
            Method::Climb { .. } | Method::Bayes(_) => None,
        }
    }

    /// Whether runs go on from the checkpoints of others.
    #[must_use]
    pub fn goes_on_from_checkpoints(&self) -> bool {
        matches!(self.0, Method::Halving(_))
    }

    /// How many replicates each level gets at first.
    #[must_use]
    pub fn replicates(&self) -> usize {
        match &self.0 {
            Method::Climb { replicates, .. } => *replicates,
            Method::Bayes(search) => search.replicates,
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
                "further levels, the last of them {last}, cannot be told from {from}: the 95% \
                 intervals of the differences in {name} contain zero"
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
        unexplored: beside_the_climb(study, question, history),
    }
}

/// A climb looks at no level below its start and none above the last.
fn beside_the_climb(study: &Study, question: &Question, history: &History) -> NotExplored {
    let at = question.varied[0];
    let name = &study.factors()[at].name;
    let run = history.tried.iter().filter(|tried| tried.runs() > 0);
    let levels = run.filter_map(|tried| tried.levels[at].as_number());
    let ends = levels.fold(None, |ends: Option<(f64, f64)>, level| {
        let (low, high) = ends.unwrap_or((level, level));
        Some((low.min(level), high.max(level)))
    });
    let Some((low, high)) = ends else {
        return NotExplored::default();
    };
    NotExplored {
        sentences: vec![format!(
            "{name} below {low} and above {high} was not run; a climb finds the nearest optimum \
             above its start"
        )],
        json: json!({ "below": low, "above": high }),
    }
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
