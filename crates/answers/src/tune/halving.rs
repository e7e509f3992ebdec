//! Many candidates on a small budget, few on a large one.

use super::TuneError;
use super::history::{History, Tried};
use super::question::Question;
use super::search::{End, Next, NotExplored, Reach, combinations, is_whole, level_of};
use paceline_advise::halving::{Halving, HalvingStep, Judged, Rivals, Trace};
use paceline_model::{Level, RunId};
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
            HalvingStep::Run { candidate, rung } => {
                let levels = self.levels(question, candidate, rung);
                // One at a time: a candidate of which one run was stopped is out.
                let replicate = history.find(&levels).map_or(0, Tried::runs) as u32;
                Next::Run {
                    from: vec![self.before(question, history, candidate, rung, replicate)],
                    levels,
                }
            }
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
                    unexplored: NotExplored::default(),
                })
            }
        }
    }

    /// The same replicate on the budget before, whose checkpoint a run goes on from.
    fn before(
        &self,
        question: &Question,
        history: &History,
        candidate: usize,
        rung: usize,
        replicate: u32,
    ) -> Option<RunId> {
        let levels = self.levels(question, candidate, rung.checked_sub(1)?);
        let whole = &history.find(&levels)?.whole;
        let same = whole.iter().find(|(number, ..)| *number == replicate);
        same.map(|(_, run, _)| run.clone())
    }

    /// The candidates that have come to the end of the budget of these levels, with
    /// what each came to after each epoch, averaged over its runs.
    pub(super) fn rivals(
        &self,
        question: &Question,
        history: &History,
        levels: &[Level],
        trace: impl Fn(&RunId, u32) -> Trace,
    ) -> Option<(Rivals, f64)> {
        let (own, rung) = (0..self.candidates.len())
            .flat_map(|at| (0..self.budgets.len()).map(move |rung| (at, rung)))
            .find(|&(at, rung)| self.levels(question, at, rung) == levels)?;
        let others = (0..self.candidates.len()).filter(|&at| at != own);
        let traces = others.filter_map(|at| {
            let tried = history.find(&self.levels(question, at, rung))?;
            let whole = tried.stopped == 0 && tried.whole.len() >= self.replicates;
            let runs = tried.whole.iter().filter(|_| whole && tried.keeps);
            mean_trace(runs.map(|(_, run, attempt)| trace(run, *attempt)).collect())
        });
        let rivals = Rivals {
            traces: traces.collect(),
            kept: self.halving.kept(rung),
        };
        Some((rivals, self.budgets[rung].as_number()?))
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
                let ended = |tried: &&Tried| tried.stopped > 0 || tried.runs() >= self.replicates;
                let Some(tried) = tried.filter(ended) else {
                    continue;
                };
                let cost = tried.mean().filter(|_| tried.keeps && tried.stopped == 0);
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
            unexplored: NotExplored::default(),
        }
    }
}

/// The mean of the epochs that all of these have; nothing without any.
fn mean_trace(traces: Vec<Trace>) -> Option<Trace> {
    let first = traces.first()?;
    let mean = |&(epoch, _): &(f64, f64)| {
        let costs = traces.iter().map(|trace| {
            let same = trace.iter().find(|(at, _)| *at == epoch);
            same.map(|(_, cost)| *cost)
        });
        let costs: Vec<f64> = costs.collect::<Option<_>>()?;
        Some((epoch, costs.iter().sum::<f64>() / costs.len() as f64))
    };
    let trace: Trace = first.iter().filter_map(mean).collect();
    (!trace.is_empty()).then_some(trace)
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
