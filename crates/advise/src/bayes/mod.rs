//! Bayesian optimisation of a few factors, one run at a time.

mod space;
mod surrogate;
mod unexplored;

pub use space::{Dimension, Space};
pub use unexplored::{Promising, Stretch, Unexplored};

use crate::pick::Limit;
use crate::runs::{Configuration, key};
use paceline_numeric::Chance;
use std::collections::BTreeSet;
use surrogate::{Belief, Surrogate};
use thiserror::Error;

/// A search for the configuration of least cost, by expected improvement per
/// second, that stops when no run is worth making.
///
/// The first runs fill the space evenly and have every category of every factor.
/// Then the expected improvement (Jones, Schonlau and Welch 1998) under a
/// Gaussian process, times the probability of keeping the limits (Gardner and
/// others 2014), per expected second (Snoek, Larochelle and Adams 2012) decides.
/// It never stops before every category was run at two settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Bayes {
    /// What may be run.
    pub space: Space,
    /// Limits, in the order of [`Trial::limited`].
    pub limits: Vec<Limit>,
    /// Configurations after which the search ends.
    pub most_runs: usize,
    /// The search ends when the best run is expected to improve the cost by less
    /// than this share.
    pub least_improvement: f64,
    /// The seed of the surrogate and of the candidates.
    pub seed: u64,
}

/// A finished run of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// What was run.
    pub configuration: Configuration,
    /// Its cost; smaller is better.
    pub cost: f64,
    /// Its limited responses.
    pub limited: Vec<f64>,
    /// How long it took.
    pub seconds: f64,
}

/// A run worth making.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What to run.
    pub configuration: Configuration,
    /// By which share the cost is expected to improve; zero while runs only
    /// explore.
    pub improvement: f64,
    /// The probability that it keeps all limits.
    pub feasible: f64,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this.
    Run(Proposal),
    /// Stop.
    Done {
        /// The run that is best as far as is known, among those that kept all
        /// limits, as an index of the history; `None` if none did. With scatter
        /// that need not be the one of the least cost: see [`Step::lowest`].
        best: Option<usize>,
        /// Why the search ends.
        reason: StopReason,
        /// What it does not know.
        unexplored: Unexplored,
    },
}

/// Why a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// No run is expected to improve the cost enough.
    NotWorthIt,
    /// The runs are used up.
    RunsUsedUp,
    /// Every configuration was run.
    AllRun,
}

/// Why nothing can be proposed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BayesError {
    /// A run has another number of limited values than there are limits.
    #[error("a run has {found} limited values for {expected} limits")]
    Limits {
        /// How many limits there are.
        expected: usize,
        /// How many values the run has.
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("a run's value is not finite")]
    NotFinite,
}

/// Settings at which every category is run before the search may stop.
const LEAST_OF_CATEGORY: usize = 2;
/// Distinct settings that are run before a model decides: at least this many, and
/// two for each number that varies.
const LEAST_SPREAD: usize = 4;
/// So many times as many are run before the search may stop: the model's first
/// opinion is not its last.
const SEEN_ENOUGH: usize = 2;

impl Bayes {
    /// What to do next, given all runs so far; nothing else is remembered, so that
    /// a search resumes from its record.
    pub fn next(&self, history: &[Trial]) -> Result<Step, BayesError> {
        self.check(history)?;
        let known = Known::new(self, history);
        if history.len() >= self.most_runs {
            return Ok(known.done(StopReason::RunsUsedUp));
        }
        if self
            .space
            .size()
            .is_some_and(|size| known.taken.len() >= size)
        {
            return Ok(known.done(StopReason::AllRun));
        }
        if let Some(next) = known.spread_out() {
            return Ok(Step::Run(next));
        }
        let Some(model) = known.model() else {
            // All runs cost the same: there is nothing to model yet.
            return Ok(known.blind());
        };
        let candidates = model.candidates();
        if candidates.is_empty() {
            return Ok(known.done(StopReason::AllRun));
        }
        if let Some(next) = known.towards_a_cliff(&model, &candidates) {
            return Ok(Step::Run(next));
        }
        let judged: Vec<Judged> = candidates.into_iter().map(|at| model.judge(at)).collect();
        let greatest = |of: &dyn Fn(&&Judged) -> bool| {
            let chosen = judged.iter().filter(of);
            chosen.reduce(|best, next| if next.worth > best.worth { next } else { best })
        };
        let gain = judged
            .iter()
            .map(|one| one.proposal.improvement * one.proposal.feasible)
            .fold(0.0, f64::max);
        let seen_enough = known.taken.len() >= SEEN_ENOUGH * known.least_spread();
        if !model.improves || gain >= self.least_improvement || !seen_enough {
            let best = greatest(&|_| true).expect("there is at least one candidate");
            return Ok(Step::Run(best.proposal.clone()));
        }
        // Nothing seems worth a run, but a category that was run once has hardly
        // been seen.
        for (at, category) in known.rare_categories() {
            let of_it = |one: &&Judged| one.proposal.configuration[at] == category;
            if let Some(best) = greatest(&of_it) {
                return Ok(Step::Run(best.proposal.clone()));
            }
        }
        Ok(known.done(StopReason::NotWorthIt))
    }

    fn check(&self, history: &[Trial]) -> Result<(), BayesError> {
        for trial in history {
            if trial.limited.len() != self.limits.len() {
                return Err(BayesError::Limits {
                    expected: self.limits.len(),
                    found: trial.limited.len(),
                });
            }
            let values = [trial.cost, trial.seconds];
            if !values.iter().chain(&trial.limited).all(|v| v.is_finite()) {
                return Err(BayesError::NotFinite);
            }
        }
        Ok(())
    }
}

impl Step {
    /// The run of the least cost among those that kept all limits.
    pub fn lowest(search: &Bayes, history: &[Trial]) -> Option<usize> {
        let kept = (0..history.len()).filter(|&at| keeps(search, &history[at]));
        kept.min_by(|&a, &b| history[a].cost.total_cmp(&history[b].cost))
    }
}

fn keeps(search: &Bayes, trial: &Trial) -> bool {
    let mut limits = search.limits.iter().zip(&trial.limited);
    limits.all(|(limit, &value)| limit.is_met(value))
}

/// The runs so far.
struct Known<'a> {
    search: &'a Bayes,
    history: &'a [Trial],
    kept: Vec<bool>,
    taken: BTreeSet<Vec<u64>>,
}

impl<'a> Known<'a> {
    fn new(search: &'a Bayes, history: &'a [Trial]) -> Self {
        Self {
            search,
            history,
            kept: history.iter().map(|trial| keeps(search, trial)).collect(),
            taken: history
                .iter()
                .map(|trial| key(&trial.configuration))
                .collect(),
        }
    }

    /// How many distinct settings have this category.
    fn times(&self, at: usize, category: f64) -> usize {
        let with = self
            .history
            .iter()
            .filter(|trial| trial.configuration[at] == category);
        let keys: BTreeSet<Vec<u64>> = with.map(|trial| key(&trial.configuration)).collect();
        keys.len()
    }

    fn categories(&self) -> impl Iterator<Item = (usize, f64)> {
        let dimensions = self.search.space.dimensions().iter().enumerate();
        dimensions.flat_map(|(at, dimension)| {
            let count = match dimension {
                Dimension::Categories(count) => *count,
                _ => 0,
            };
            (0..count).map(move |category| (at, category as f64))
        })
    }

    /// Categories that were run at too few settings to be judged.
    fn rare_categories(&self) -> Vec<(usize, f64)> {
        let mut rare: Vec<(usize, f64)> = self
            .categories()
            .filter(|&(at, category)| self.times(at, category) < LEAST_OF_CATEGORY)
            .collect();
        rare.sort_by_key(|&(at, category)| self.times(at, category));
        rare
    }

    /// How many distinct settings are run before a model decides.
    fn least_spread(&self) -> usize {
        let dimensions = self.search.space.dimensions().iter();
        let numeric = dimensions.filter(|one| !matches!(one, Dimension::Categories(_)));
        LEAST_SPREAD.max(2 * numeric.count() + 1)
    }

    /// The next of the runs that fill the space, while there are too few of them
    /// or a category has none.
    fn spread_out(&self) -> Option<Proposal> {
        let least = self.least_spread();
        let missing: Vec<(usize, f64)> = self
            .categories()
            .filter(|&(at, category)| self.times(at, category) == 0)
            .collect();
        if self.taken.len() >= least && missing.is_empty() {
            return None;
        }
        let wanted = |at: &Configuration| {
            let is_missing = |&(factor, category): &(usize, f64)| at[factor] == category;
            !self.taken.contains(&key(at))
                && (self.taken.len() < least || missing.iter().any(is_missing))
        };
        let turn = self.search.seed;
        // Points of a small space come back; a fresh one is found within a few
        // rounds, or a model takes over.
        (0..4 * (self.taken.len() + MOST_ROUND))
            .map(|number| self.search.space.spread(number, turn))
            .find(wanted)
            .map(explore)
    }

    /// Without a model: whatever was not run.
    fn blind(&self) -> Step {
        let mut chance = Chance::new(self.search.seed, self.history.len() as u64);
        let candidates = self.search.space.candidates(&self.taken, &[], &mut chance);
        let chosen = match candidates.len() {
            0 => None,
            count => candidates.into_iter().nth(chance.below(count)),
        };
        match chosen {
            Some(configuration) => Step::Run(explore(configuration)),
            None => self.done(StopReason::AllRun),
        }
    }

    fn model(&self) -> Option<Fitted<'_, 'a>> {
        let rows: Vec<&Configuration> = self.history.iter().map(|t| &t.configuration).collect();
        let space = &self.search.space;
        let fit =
            |values: &[f64]| Surrogate::fit(space, &rows, values, &self.kept, self.search.seed);
        let costs: Vec<f64> = self.history.iter().map(|trial| trial.cost).collect();
        let limits = self.search.limits.iter().enumerate();
        let limited = limits
            .map(|(at, &limit)| {
                // A response that never varied says nothing of where it would.
                let values: Vec<f64> = self.history.iter().map(|t| t.limited[at]).collect();
                (limit, fit(&values))
            })
            .collect();
        let seconds: Vec<f64> = self.history.iter().map(|trial| trial.seconds).collect();
        let low = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let high = seconds.iter().copied().fold(0.0, f64::max);
        // Times that hardly differ decide nothing.
        let timed = low > 0.0 && high >= TIMES_DIFFER * low;
        Some(Fitted {
            known: self,
            cost: fit(&costs)?,
            limited,
            seconds: if timed { fit(&seconds) } else { None },
            improves: self.kept.iter().any(|&kept| kept),
        })
    }

    /// The better half of the runs that kept all limits, the other runs, and a model
    /// of the better half alone. The best is often where a cliff begins: the
    /// largest batch that still fits. A smooth model of all runs keeps away from
    /// there, and thinks badly of runs that are next to it.
    fn better_half(&self) -> Option<BetterHalf<'a>> {
        let mut costs: Vec<f64> = self.history.iter().map(|trial| trial.cost).collect();
        costs.sort_by(f64::total_cmp);
        let middle = *costs.get(costs.len().saturating_sub(1) / 2)?;
        let (good, bad): (Vec<usize>, Vec<usize>) = (0..self.history.len())
            .partition(|&at| self.kept[at] && self.history[at].cost <= middle);
        if good.len() < LEAST_SPREAD {
            return None;
        }
        let rows: Vec<&Configuration> = good
            .iter()
            .map(|&at| &self.history[at].configuration)
            .collect();
        let values: Vec<f64> = good.iter().map(|&at| self.history[at].cost).collect();
        let (search, counts) = (self.search, vec![true; rows.len()]);
        let model = Surrogate::fit(&search.space, &rows, &values, &counts, search.seed)?;
        Some(BetterHalf {
            known: self.history,
            space: &search.space,
            good,
            bad,
            model,
        })
    }

    /// Beside a cliff, every third run is chosen by a model of the better half of
    /// the runs.
    fn towards_a_cliff(&self, model: &Fitted<'_, '_>, all: &[Configuration]) -> Option<Proposal> {
        let due = self.history.len() % CLIFF_EVERY == CLIFF_EVERY - 1;
        if !due || !model.improves {
            return None;
        }
        let half = model.beside_a_cliff()?;
        let (improvement, at) = half.best_inside(all)?;
        let judged = model.judge(at.clone());
        (improvement >= self.search.least_improvement).then_some(judged.proposal)
    }

    fn done(&self, reason: StopReason) -> Step {
        let lowest = Step::lowest(self.search, self.history);
        let model = self.model();
        let expected = model.as_ref().and_then(|model| model.least_expected());
        let promising = match &model {
            Some(model) if reason != StopReason::AllRun => model.most_promising(),
            _ => None,
        };
        let runs = self.history.iter().map(|trial| &trial.configuration);
        let runs: Vec<&Configuration> = runs.collect();
        Step::Done {
            best: expected.or(lowest),
            reason,
            unexplored: Unexplored::of(&self.search.space, &runs, promising),
        }
    }
}

/// A model of the better half is believed if it misses by less than this share of
/// what a model of all runs misses by.
const CLIFF_MISSED: f64 = 0.5;
/// How often a run is chosen without regard to the worse half.
const CLIFF_EVERY: usize = 3;
/// Points of the sequence that are looked at for each round.
const MOST_ROUND: usize = 64;
/// From this ratio of the longest to the shortest run, time is weighed.
const TIMES_DIFFER: f64 = 1.5;

struct BetterHalf<'a> {
    known: &'a [Trial],
    space: &'a Space,
    good: Vec<usize>,
    bad: Vec<usize>,
    model: Surrogate,
}

impl BetterHalf<'_> {
    /// The greatest improvement, as a share, among configurations that are closer
    /// to a good run than to any other.
    fn best_inside<'c>(&self, all: &'c [Configuration]) -> Option<(f64, &'c Configuration)> {
        let nearest = |at: &[f64], runs: &[usize]| {
            let runs = runs.iter().map(|&run| &self.known[run].configuration);
            let apart = runs.map(|run| self.space.apart(at, run));
            apart.fold(f64::INFINITY, f64::min)
        };
        let inside = all
            .iter()
            .filter(|at| nearest(at, &self.good) < nearest(at, &self.bad));
        let judged = inside.map(|at| (self.model.believe(self.space, at).improvement, at));
        let (improvement, at) =
            judged.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        Some((self.model.share(improvement), at))
    }

    /// How far the good runs are from what is expected of them without
    /// themselves, on average.
    fn missed(&self) -> f64 {
        let expected = self.model.left_out();
        let runs = self.good.iter().map(|&at| self.known[at].cost);
        runs.zip(&expected).map(|(cost, e)| (cost - e).abs()).sum()
    }

    /// The run of the least expected cost.
    fn least_expected(&self) -> Option<usize> {
        least_expected(&self.model, self.space, self.known, &self.good)
    }
}

fn least_expected(
    model: &Surrogate,
    space: &Space,
    history: &[Trial],
    among: &[usize],
) -> Option<usize> {
    let expected = |at: usize| model.believe(space, &history[at].configuration).mean;
    let runs = among.iter().map(|&at| (expected(at), at));
    let least = runs.reduce(|best, next| if next.0 < best.0 { next } else { best });
    least.map(|(_, at)| at)
}

fn explore(configuration: Configuration) -> Proposal {
    Proposal {
        configuration,
        improvement: 0.0,
        feasible: 1.0,
    }
}

/// Surrogates of everything that decides.
struct Fitted<'k, 'a> {
    known: &'k Known<'a>,
    cost: Surrogate,
    limited: Vec<(Limit, Option<Surrogate>)>,
    seconds: Option<Surrogate>,
    /// Whether a run kept all limits: until one does, finding it is all.
    improves: bool,
}

struct Judged {
    proposal: Proposal,
    better: f64,
    worth: f64,
}

/// How many of the best runs are looked around.
const CENTRES: usize = 3;

impl Fitted<'_, '_> {
    fn space(&self) -> &Space {
        &self.known.search.space
    }

    fn believe(&self, configuration: &[f64]) -> Belief {
        self.cost.believe(self.space(), configuration)
    }

    fn candidates(&self) -> Vec<Configuration> {
        let history = self.known.history;
        let kept = (0..history.len()).filter(|&at| !self.improves || self.known.kept[at]);
        let mut by_mean: Vec<(f64, &Configuration)> = kept
            .map(|at| &history[at].configuration)
            .map(|at| (self.believe(at).mean, at))
            .collect();
        by_mean.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best: Vec<&Configuration> = by_mean.iter().map(|(_, at)| *at).take(CENTRES).collect();
        let mut chance = Chance::new(self.known.search.seed, history.len() as u64);
        self.space()
            .candidates(&self.known.taken, &best, &mut chance)
    }

    fn judge(&self, configuration: Configuration) -> Judged {
        let space = self.space();
        let chances = self.limited.iter().map(|(limit, model)| match model {
            None => 1.0,
            Some(model) => {
                let below = model.at_most(space, &configuration, limit.value());
                match limit {
                    Limit::AtMost(_) => below,
                    Limit::AtLeast(_) => 1.0 - below,
                }
            }
        });
        let feasible: f64 = chances.product();
        let least = self.known.search.least_improvement;
        let belief = self.cost.believe_by(space, &configuration, least);
        let improvement = match self.improves {
            true => self.cost.share(belief.improvement),
            false => 1.0,
        };
        let seconds = self.seconds.as_ref();
        let seconds = seconds.map_or(1.0, |model| model.expected(space, &configuration));
        Judged {
            worth: improvement * feasible / seconds.max(f64::MIN_POSITIVE),
            better: belief.better * feasible,
            proposal: Proposal {
                configuration,
                improvement: if self.improves { improvement } else { 0.0 },
                feasible,
            },
        }
    }

    /// The run that is best as far as is known: with scatter, the mean of a model
    /// says more than the one lowest value. Next to a cliff, where the model of all
    /// runs misses the better ones, that of the better half does.
    fn least_expected(&self) -> Option<usize> {
        if let Some(half) = self.beside_a_cliff() {
            return half.least_expected();
        }
        let known = self.known;
        let kept: Vec<usize> = (0..known.kept.len()).filter(|&at| known.kept[at]).collect();
        least_expected(&self.cost, self.space(), known.history, &kept)
    }

    /// The better half of the runs, where a model of them alone misses them by much
    /// less than the model of all runs does.
    fn beside_a_cliff(&self) -> Option<BetterHalf<'_>> {
        let half = self.known.better_half()?;
        let expected = self.cost.left_out();
        let good = half.good.iter();
        let missed: f64 = good
            .map(|&at| (self.known.history[at].cost - expected[at]).abs())
            .sum();
        (half.missed() < CLIFF_MISSED * missed).then_some(half)
    }

    /// Of what was not run, what is likeliest to be better than the best.
    fn most_promising(&self) -> Option<Promising> {
        let judged = self.candidates().into_iter().map(|at| self.judge(at));
        let best = judged.reduce(|best, next| {
            if next.better > best.better {
                next
            } else {
                best
            }
        })?;
        Some(Promising {
            configuration: best.proposal.configuration,
            better: best.better,
        })
    }
}

#[cfg(test)]
mod tests;
