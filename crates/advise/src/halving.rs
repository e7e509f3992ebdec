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

    #[test]
    fn a_search_that_cannot_halve_is_refused() {
        assert_eq!(Halving::new(1, 3, 2), Err(HalvingError::Candidates(1)));
        assert_eq!(Halving::new(4, 1, 2), Err(HalvingError::Budgets(1)));
        assert_eq!(Halving::new(4, 3, 1), Err(HalvingError::Divisor(1)));
    }
}
