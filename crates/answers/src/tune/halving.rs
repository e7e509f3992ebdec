//! Many candidates on a small budget, few on a large one.

use super::TuneError;
use super::history::{History, Tried};
use super::question::Question;
use super::search::{End, Next, Reach, combinations, is_whole, level_of};
use paceline_advise::halving::{Halving, HalvingStep, Judged};
use paceline_model::Level;
use paceline_study::{Factor, FactorType, Study};
use std::cmp::Ordering;

/// One candidate in so many is kept, and a budget taken from a range grows by as
/// much: every budget then costs about the same in all.
const DIVISOR: usize = 2;

/// Candidates, and the budgets on which they are compared.
pub(super) struct Rungs {
    halving: Halving,
    candidates: Vec<Vec<Level>>,
    /// Ascending.
    budgets: Vec<Level>,
    pub(super) replicates: usize,
    most_runs: usize,
}

impl Rungs {
    /// The last factor that varies is the budget.
    pub(super) fn new(
        study: &Study,
        question: &Question,
        reach: &Reach,
    ) -> Result<Self, TuneError> {
        let factors: Vec<&Factor> = question
            .varied
            .iter()
            .map(|&at| &study.factors()[at])
            .collect();
        let Some((budget, factors)) = factors.split_last() else {
            return Err(TuneError::NothingVaries);
        };
        let candidates = combinations(factors)?;
        let budgets = budgets(budget)?;
        let most = reach.most_runs / reach.replicates;
        if candidates.len() > most {
            return Err(TuneError::TooFewRuns {
                candidates: candidates.len(),
                replicates: reach.replicates,
                most: reach.most_runs,
            });
        }
        let halving = Halving::new(candidates.len(), budgets.len(), DIVISOR)?;
        Ok(Self {
            halving,
            candidates,
            budgets,
            replicates: reach.replicates,
            most_runs: reach.most_runs,
        })
    }

    pub(super) fn next(&self, study: &Study, question: &Question, history: &History) -> Next {
        let judged = self.judged(question, history);
        match self.halving.next(&judged) {
            HalvingStep::Run { .. } if history.run_count() >= self.most_runs => {
                Next::Done(self.stopped(question, history, &judged))
            }
            HalvingStep::Run { candidate, rung } => Next::Run {
                levels: self.levels(question, candidate, rung),
                count: self.replicates,
            },
            HalvingStep::Done(best) => {
                let whole = self.budgets.len() - 1;
                let best = best.map(|candidate| self.levels(question, candidate, whole));
                let why = match &best {
                    Some(best) => format!(
                        "{} leads on the whole budget; who led on a smaller one went on, the \
                         others did not",
                        question.words(study, best)
                    ),
                    None => format!(
                        "every candidate failed, broke a limit or reported no {}",
                        question.response
                    ),
                };
                Next::Done(End {
                    best,
                    reason: "whole_budget",
                    why,
                })
            }
        }
    }

    fn levels(&self, question: &Question, candidate: usize, rung: usize) -> Vec<Level> {
        let mut levels = self.candidates[candidate].clone();
        levels.push(self.budgets[rung].clone());
        question.levels(&levels)
    }

    /// What came of each candidate on each budget.
    fn judged(&self, question: &Question, history: &History) -> Vec<Judged> {
        let mut judged = Vec::new();
        for rung in 0..self.budgets.len() {
            for candidate in 0..self.candidates.len() {
                let tried = history.find(&self.levels(question, candidate, rung));
                let Some(tried) = tried.filter(|tried| tried.runs() > 0) else {
                    continue;
                };
                let cost = tried.mean().filter(|_| tried.keeps);
                judged.push(Judged {
                    candidate,
                    rung,
                    cost: cost.map(|mean| question.direction.cost(mean)),
                });
            }
        }
        judged
    }

    /// The leader of the largest budget that was reached.
    fn stopped(&self, question: &Question, history: &History, judged: &[Judged]) -> End {
        let reached = judged.iter().filter(|one| one.cost.is_some());
        let best = reached.max_by(|a, b| {
            let cheaper = b.cost.partial_cmp(&a.cost).unwrap_or(Ordering::Equal);
            a.rung.cmp(&b.rung).then(cheaper)
        });
        End {
            best: best.map(|one| self.levels(question, one.candidate, one.rung)),
            reason: "runs_used_up",
            why: format!(
                "the runs allowed by --max-runs are used up ({})",
                history.run_count()
            ),
        }
    }
}

/// Whether two levels of a search may be compared: on the same budget.
#[must_use]
pub fn same_budget(question: &Question, a: &Tried, b: &Tried) -> bool {
    let budget = question.varied.last();
    budget.is_none_or(|&at| a.levels[at] == b.levels[at])
}

/// The levels of a list, ascending; of a range, each twice the one before.
fn budgets(factor: &Factor) -> Result<Vec<Level>, TuneError> {
    let numbers = factor.levels.iter().filter_map(Level::as_number);
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    if factor.kind == FactorType::Categorical || numbers.first().is_none_or(|&low| low <= 0.0) {
        return Err(TuneError::Budget(factor.name.clone()));
    }
    if factor.is_range {
        let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
        let mut budget = high;
        numbers.clear();
        while budget >= low {
            numbers.push(budget);
            budget /= DIVISOR as f64;
        }
        numbers.reverse();
    }
    let whole = is_whole(factor);
    let mut levels: Vec<Level> = numbers
        .into_iter()
        .map(|number| level_of(if whole { number.round() } else { number }, whole))
        .collect();
    levels.dedup();
    Ok(levels)
}
