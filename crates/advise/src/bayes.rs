//! Bayesian optimisation of a few factors, one run at a time.

use crate::pick::{Evidence, Limit, SuggestError, SuggestOptions, Suggestion, propose};
use crate::runs::{Configuration, Factors};
use paceline_learn::Threads;

/// A search for the configuration of least cost, by expected improvement per
/// second, that stops when no run is worth making.
#[derive(Debug, Clone, PartialEq)]
pub struct Bayes {
    /// What varies.
    pub factors: Factors,
    /// The configurations that may be run.
    pub candidates: Vec<Configuration>,
    /// Limits, in the order of [`Trial::limited`].
    pub limits: Vec<Limit>,
    /// Runs after which the search ends.
    pub most_runs: usize,
    /// The search ends when the best run is expected to improve the cost by less
    /// than this: a fraction for costs above zero that span a factor of two, the
    /// cost's own unit otherwise.
    pub least_improvement: f64,
    /// The seed of the surrogate.
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

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this.
    Run(Suggestion),
    /// Stop.
    Done {
        /// The run of least cost that kept all limits, as an index of the
        /// history; `None` if none did.
        best: Option<usize>,
        /// Why the search ends.
        reason: StopReason,
    },
}

/// Why a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// No run is expected to improve the cost enough.
    NotWorthIt,
    /// The runs are used up.
    RunsUsedUp,
    /// Every candidate was run.
    AllRun,
}

impl Bayes {
    /// What to do next, given all runs so far; nothing else is remembered, so that
    /// a search resumes from its record.
    pub fn next(&self, history: &[Trial]) -> Result<Step, SuggestError> {
        if history.len() >= self.most_runs {
            return Ok(self.done(history, StopReason::RunsUsedUp));
        }
        let column = |at: usize| -> Result<Vec<f64>, SuggestError> {
            let values = history.iter().map(|trial| trial.limited.get(at).copied());
            values.collect::<Option<_>>().ok_or(SuggestError::Length {
                expected: self.limits.len(),
                found: at,
            })
        };
        let evidence = Evidence {
            settings: history
                .iter()
                .map(|trial| trial.configuration.clone())
                .collect(),
            costs: history.iter().map(|trial| trial.cost).collect(),
            limited: self
                .limits
                .iter()
                .enumerate()
                .map(|(at, &limit)| Ok((limit, column(at)?)))
                .collect::<Result<_, SuggestError>>()?,
            seconds: Some(history.iter().map(|trial| trial.seconds).collect()),
            roles: None,
        };
        let options = SuggestOptions {
            count: 1,
            seed: self.seed,
            threads: Threads::ONE,
        };
        let next = propose(&self.factors, &self.candidates, &evidence, options)?;
        let Some(next) = next.into_iter().next() else {
            return Ok(self.done(history, StopReason::AllRun));
        };
        // While runs only explore, or look for the first that keeps the limits,
        // there is no improvement to weigh.
        let weighed = next.improvement > 0.0 && next.worth > 0.0;
        if weighed && next.improvement * next.feasible < self.least_improvement {
            return Ok(self.done(history, StopReason::NotWorthIt));
        }
        Ok(Step::Run(next))
    }

    fn done(&self, history: &[Trial], reason: StopReason) -> Step {
        let keeps = |trial: &Trial| {
            let limits = self.limits.iter().zip(&trial.limited);
            limits
                .into_iter()
                .all(|(limit, &value)| limit.is_met(value))
        };
        let kept = (0..history.len()).filter(|&at| keeps(&history[at]));
        Step::Done {
            best: kept.min_by(|&a, &b| history[a].cost.total_cmp(&history[b].cost)),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{FactorColumn, Runs};

    #[test]
    fn the_search_finds_the_least_cost_within_the_limit_and_stops_by_itself() {
        let levels: Vec<f64> = (0..25).map(|i| 0.001 * 1.4_f64.powi(i)).collect();
        let table = Runs::new(
            vec![(
                "learning_rate".to_owned(),
                FactorColumn::Numeric(levels.clone()),
            )],
            vec![("cost".to_owned(), levels.clone())],
            None,
        )
        .unwrap();
        let search = Bayes {
            factors: table.factors().clone(),
            candidates: table.distinct_settings(),
            limits: vec![Limit::AtMost(0.5)],
            most_runs: 20,
            least_improvement: 0.005,
            seed: 3,
        };
        // The cost is least at 0.1; the limited response excludes rates above 0.5.
        let trial = |configuration: Configuration| {
            let rate = configuration[0];
            Trial {
                cost: 1.0 + (rate / 0.1).ln().powi(2),
                limited: vec![rate],
                seconds: 10.0,
                configuration,
            }
        };
        let mut history = Vec::new();
        let (best, reason) = loop {
            match search.next(&history).unwrap() {
                Step::Run(next) => history.push(trial(next.configuration)),
                Step::Done { best, reason } => break (best.unwrap(), reason),
            }
        };
        let rate = history[best].configuration[0];
        assert!((0.07..0.14).contains(&rate), "{rate} of {history:?}");
        assert_eq!(reason, StopReason::NotWorthIt);
        assert!(history.len() < 15, "{} runs", history.len());
    }
}
