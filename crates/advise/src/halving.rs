//! Successive halving: many candidates on a small budget, few on a large one.

use thiserror::Error;

/// Successive halving (Karnin, Koren and Somekh 2013; Jamieson and Talwalkar
/// 2016): all candidates run on the least budget, the best `1 / divisor` of them
/// on the next, and so on to the whole budget.
///
/// It assumes that who leads on a small budget is likely to lead on a large one,
/// which no interval can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    candidates: usize,
    budgets: usize,
    divisor: usize,
}

/// Why numbers do not make a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HalvingError {
    /// There is nothing to choose from.
    #[error("{0} candidates are too few; successive halving needs at least 2")]
    Candidates(usize),
    /// There is no smaller budget to begin with.
    #[error("{0} budgets are too few; successive halving needs at least 2")]
    Budgets(usize),
    /// Nobody would drop out.
    #[error("one candidate in {0} is kept; it must be one in 2 or more")]
    Divisor(usize),
}

/// What a candidate came to on a budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Which candidate, counted from zero.
    pub candidate: usize,
    /// On which budget, counted from zero, the least first.
    pub rung: usize,
    /// Its cost; smaller is better. A candidate that failed or broke a limit has
    /// none and is out.
    pub cost: Option<f64>,
}

/// What a candidate has come to after each epoch: costs, smaller being better, by
/// the number of the epoch.
pub type Trace = Vec<(f64, f64)>;

/// Candidates that a run is compared with while it lasts: those that have come to
/// the end of the same budget.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rivals {
    /// Of each of them.
    pub traces: Vec<Trace>,
    /// How many of the candidates of this budget go on to the next.
    pub kept: usize,
}

/// Why a run need not go on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutReason {
    /// Its cost is not a number any more.
    Diverged {
        /// After which epoch.
        epoch: f64,
    },
    /// As many rivals as go on were better after the same epoch.
    Behind {
        /// After which epoch.
        epoch: f64,
        /// How many were better.
        better: usize,
    },
}

impl Rivals {
    /// Whether a run that has come to this is out.
    ///
    /// The rule is that of the search itself, applied after every epoch instead of
    /// at the end of a budget: who is behind as many as go on will not go on. It
    /// compares the best cost so far, because an epoch may be a bad one.
    pub fn rule_out(&self, so_far: &[(f64, f64)]) -> Option<OutReason> {
        let &(epoch, last) = so_far.last()?;
        if !last.is_finite() {
            return Some(OutReason::Diverged { epoch });
        }
        let own = best_until(so_far, epoch)?;
        let rivals = self.traces.iter();
        let better = rivals
            .filter(|trace| best_until(trace, epoch).is_some_and(|theirs| theirs < own))
            .count();
        let out = self.kept > 0 && better >= self.kept;
        out.then_some(OutReason::Behind { epoch, better })
    }
}

/// The best cost up to an epoch; `None` if the trace has not come that far.
fn best_until(trace: &[(f64, f64)], epoch: f64) -> Option<f64> {
    let reached = trace.iter().any(|&(at, _)| at >= epoch);
    let costs = trace.iter().filter(|&&(at, _)| at <= epoch);
    let best = costs.map(|&(_, cost)| cost).fold(f64::INFINITY, f64::min);
    (reached && best.is_finite()).then_some(best)
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalvingStep {
    /// Run a candidate on a budget.
    Run {
        /// Which candidate, counted from zero.
        candidate: usize,
        /// On which budget, counted from zero.
        rung: usize,
    },
    /// Stop: the best candidate on the whole budget, or none if all failed.
    Done(Option<usize>),
}

impl Halving {
    /// A search among candidates on so many budgets, of which one in `divisor`
    /// goes on to the next.
    pub fn new(candidates: usize, budgets: usize, divisor: usize) -> Result<Self, HalvingError> {
        if candidates < 2 {
            return Err(HalvingError::Candidates(candidates));
        }
        if budgets < 2 {
            return Err(HalvingError::Budgets(budgets));
        }
        if divisor < 2 {
            return Err(HalvingError::Divisor(divisor));
        }
        Ok(Self {
            candidates,
            budgets,
            divisor,
        })
    }

    /// How many candidates go on from a budget, counted from zero; of the last, one.
    pub fn kept(&self, rung: usize) -> usize {
        let mut round = self.candidates;
        for _ in 0..rung {
            round = round.div_ceil(self.divisor);
        }
        if rung + 1 == self.budgets {
            1
        } else {
            round.div_ceil(self.divisor)
        }
    }

    /// What to do next, given all that was judged. The rungs are replayed, so that
    /// a search resumes from its record. Of several judgements of a candidate on a
    /// rung the first counts; equal costs go to the earlier candidate.
    pub fn next(&self, judged: &[Judged]) -> HalvingStep {
        let mut round: Vec<usize> = (0..self.candidates).collect();
        for rung in 0..self.budgets {
            let result = |candidate: usize| {
                let mut all = judged.iter();
                all.find(|one| one.candidate == candidate && one.rung == rung)
            };
            if let Some(&candidate) = round.iter().find(|&&at| result(at).is_none()) {
                return HalvingStep::Run { candidate, rung };
            }
            let cost = |candidate: usize| result(candidate)?.cost.filter(|cost| cost.is_finite());
            let mut ranked: Vec<(f64, usize)> = round
                .iter()
                .filter_map(|&candidate| Some((cost(candidate)?, candidate)))
                .collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let kept = round.len().div_ceil(self.divisor).min(ranked.len());
            let last = rung + 1 == self.budgets;
            if last || kept == 0 {
                return HalvingStep::Done(ranked.first().map(|&(_, candidate)| candidate));
            }
            round = ranked[..kept].iter().map(|&(_, at)| at).collect();
            // Candidates are run in their own order, whatever their rank.
            round.sort_unstable();
        }
        HalvingStep::Done(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search to its end: the best, and the runs on each budget.
    fn search(
        halving: Halving,
        cost: impl Fn(usize, usize) -> Option<f64>,
    ) -> (Option<usize>, Vec<usize>) {
        let mut judged: Vec<Judged> = Vec::new();
        loop {
            match halving.next(&judged) {
                HalvingStep::Run { candidate, rung } => judged.push(Judged {
                    candidate,
                    rung,
                    cost: cost(candidate, rung),
                }),
                HalvingStep::Done(best) => {
                    let of = |rung| judged.iter().filter(|one| one.rung == rung).count();
                    return (best, (0..halving.budgets).map(of).collect());
                }
            }
        }
    }

    #[test]
    fn each_budget_keeps_the_best_part_of_the_one_before() {
        let halving = Halving::new(16, 4, 2).unwrap();
        let (best, runs) = search(halving, |at, _| Some((at as f64 - 11.0).abs()));
        assert_eq!((best, runs), (Some(11), vec![16, 8, 4, 2]));
    }

    #[test]
    fn who_leads_on_the_whole_budget_wins() {
        // Candidate 1 starts well and stalls.
        let costs = [[3.0, 1.0, 2.0, 4.0], [9.0, 2.0, 1.0, 9.0]];
        let halving = Halving::new(4, 2, 2).unwrap();
        let (best, runs) = search(halving, |at, rung| Some(costs[rung][at]));
        assert_eq!((best, runs), (Some(2), vec![4, 2]));
    }

    #[test]
    fn candidates_that_fail_are_out_and_if_all_do_there_is_no_best() {
        let halving = Halving::new(5, 3, 2).unwrap();
        let (best, runs) = search(halving, |at, _| (at == 4).then_some(1.0));
        assert_eq!((best, runs), (Some(4), vec![5, 1, 1]));
        assert_eq!(search(halving, |_, _| None), (None, vec![5, 0, 0]));
    }

    fn trace(costs: &[f64]) -> Trace {
        let epochs = (1..).map(f64::from);
        epochs.zip(costs.iter().copied()).collect()
    }

    #[test]
    fn who_is_behind_as_many_as_go_on_is_out_and_no_sooner() {
        let rivals = Rivals {
            traces: vec![trace(&[3.0, 2.0, 1.0]), trace(&[4.0, 3.0, 2.5])],
            kept: 2,
        };
        // Better than one of two after the first epoch, worse than both after the second.
        assert_eq!(rivals.rule_out(&trace(&[3.5])), None);
        let out = OutReason::Behind {
            epoch: 2.0,
            better: 2,
        };
        assert_eq!(rivals.rule_out(&trace(&[3.5, 3.2])), Some(out));
        // A bad epoch after a good one is forgiven.
        assert_eq!(rivals.rule_out(&trace(&[1.5, 9.0])), None);
        // Rivals that have not come so far say nothing.
        assert_eq!(rivals.rule_out(&trace(&[9.0, 9.0, 9.0, 9.0])), None);
        let few = Rivals {
            traces: rivals.traces[..1].to_vec(),
            ..rivals
        };
        assert_eq!(few.rule_out(&trace(&[9.0])), None);
    }

    #[test]
    fn a_cost_that_is_no_number_is_out_at_once() {
        let found = Rivals::default().rule_out(&trace(&[1.0, f64::NAN]));
        assert_eq!(found, Some(OutReason::Diverged { epoch: 2.0 }));
        assert_eq!(Rivals::default().rule_out(&[]), None);
    }

    #[test]
    fn as_many_go_on_as_the_next_budget_runs() {
        let halving = Halving::new(16, 4, 2).unwrap();
        let kept: Vec<usize> = (0..4).map(|rung| halving.kept(rung)).collect();
        assert_eq!(kept, [8, 4, 2, 1]);
    }

    #[test]
    fn a_search_that_cannot_halve_is_refused() {
        assert_eq!(Halving::new(1, 3, 2), Err(HalvingError::Candidates(1)));
        assert_eq!(Halving::new(4, 1, 2), Err(HalvingError::Budgets(1)));
        assert_eq!(Halving::new(4, 3, 1), Err(HalvingError::Divisor(1)));
    }
}
