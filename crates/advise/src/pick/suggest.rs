//! What one more run would be worth.

use super::constraint::{Constraint, Limit};
use super::objective::Objective;
use crate::predict::{Process, Roles, Scale, Spread, Training};
use crate::runs::{Configuration, Factors, Runs, key};
use paceline_dist::Normal;
use paceline_learn::Threads;
use std::collections::BTreeSet;
use thiserror::Error;

/// How suggestions are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuggestOptions {
    /// How many runs to suggest.
    pub count: usize,
    /// The seed of the surrogate's restarts.
    pub seed: u64,
    /// How many threads may be used; results do not depend on it.
    pub threads: Threads,
}

/// A run worth making.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// What to run.
    pub configuration: Configuration,
    /// By how much the objective is expected to improve: a fraction of the best
    /// so far if the objective is modelled by its logarithm, its own unit
    /// otherwise. Zero while runs only explore.
    pub improvement: f64,
    /// How long the run is expected to take, if times are known.
    pub seconds: Option<f64>,
    /// Improvement per second; per run if times are not known.
    pub worth: f64,
    /// The probability that it keeps all limits.
    pub feasible: f64,
}

/// What is known before a suggestion.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// The settings of every run.
    pub settings: Vec<Configuration>,
    /// The objective of every run; smaller is better.
    pub costs: Vec<f64>,
    /// Limited responses of every run, each with its limit.
    pub limited: Vec<(Limit, Vec<f64>)>,
    /// How long every run took, if known.
    pub seconds: Option<Vec<f64>>,
    /// Which factor plays which part; found by name if `None`.
    pub roles: Option<Roles>,
}

/// Why nothing can be suggested.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SuggestError {
    /// A response that is asked for is not in the table.
    #[error("there is no response `{0}`")]
    UnknownResponse(String),
    /// A column has another length than the settings.
    #[error("{found} values for {expected} runs")]
    Length {
        /// How many runs there are.
        expected: usize,
        /// How many values a column has.
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("a run's value is not finite")]
    NotFinite,
}

/// Suggests runs that would improve on the best one soonest.
///
/// `seconds` names the response that is the duration of a run.
pub fn suggest(
    runs: &Runs,
    candidates: &[Configuration],
    objective: &Objective,
    constraints: &[Constraint],
    seconds: Option<&str>,
    roles: &Roles,
    options: SuggestOptions,
) -> Result<Vec<Suggestion>, SuggestError> {
    let column = |name: &str| {
        let found = runs.response(name);
        found.ok_or_else(|| SuggestError::UnknownResponse(name.to_owned()))
    };
    let mut costs = vec![0.0; runs.rows()];
    for (name, weight) in objective.weights() {
        for (cost, value) in costs.iter_mut().zip(column(name)?) {
            *cost -= weight * value;
        }
    }
    // The order of a table's rows says nothing, and must not decide a tie.
    let mut order: Vec<usize> = (0..runs.rows()).collect();
    order.sort_by(|&a, &b| {
        let settings = runs.settings()[a].iter().zip(&runs.settings()[b]);
        let mut differences = settings.map(|(a, b)| a.total_cmp(b));
        let by_setting = differences.find(|o| o.is_ne());
        by_setting.unwrap_or_else(|| costs[a].total_cmp(&costs[b]))
    });
    let in_order = |values: &[f64]| order.iter().map(|&row| values[row]).collect();
    let limited = constraints
        .iter()
        .map(|constraint| Ok((constraint.limit, in_order(column(&constraint.response)?))))
        .collect::<Result<_, SuggestError>>()?;
    let evidence = Evidence {
        settings: order
            .iter()
            .map(|&row| runs.settings()[row].clone())
            .collect(),
        costs: in_order(&costs),
        limited,
        seconds: seconds.map(column).transpose()?.map(in_order),
        roles: Some(roles.clone()),
    };
    propose(runs.factors(), candidates, &evidence, options)
}

/// Below this many distinct settings, runs are spread over the space.
const SPREAD: usize = 5;

/// Proposes runs from bare evidence, which may be empty.
///
/// The first runs are spread out; then the expected improvement of a Gaussian
/// process (Jones, Schonlau and Welch 1998), times the probability of keeping
/// the limits (Gardner and others 2014), per expected second (Snoek, Larochelle
/// and Adams 2012) decides. Several proposals are made one after another, each
/// believing the ones before (Ginsbourger, Le Riche and Carraro 2010); what each
/// is worth is said by the runs alone, and the most worthwhile comes first. A
/// configuration that was run is not proposed again.
pub fn propose(
    factors: &Factors,
    candidates: &[Configuration],
    evidence: &Evidence,
    options: SuggestOptions,
) -> Result<Vec<Suggestion>, SuggestError> {
    evidence.check()?;
    let mut known = evidence.clone();
    let eligible: BTreeSet<Vec<u64>> = candidates.iter().map(|at| key(at)).collect();
    let mut taken = known.settings.clone();
    let mut seen: BTreeSet<Vec<u64>> = taken.iter().map(|at| key(at)).collect();
    let mut suggestions = Vec::new();
    // What is known without any proposal: the one yardstick for all of them.
    let known_now = Surrogates::fit(factors, evidence, &eligible, options);
    while suggestions.len() < options.count {
        let fresh: Vec<&Configuration> = candidates
            .iter()
            .filter(|at| !seen.contains(&key(at)))
            .collect();
        if fresh.is_empty() {
            break;
        }
        let surrogates = Surrogates::fit(factors, &known, &eligible, options);
        let next = match &surrogates {
            Some(surrogates) => surrogates.best(&fresh),
            None => farthest(factors, candidates, &fresh, &taken),
        };
        seen.insert(key(&next.configuration));
        taken.push(next.configuration.clone());
        // Without a model there is nothing to believe but that it is taken.
        if let Some(surrogates) = &surrogates {
            known.believe(&next.configuration, surrogates);
        }
        let judged = known_now.as_ref().map(|now| now.judge(&next.configuration));
        suggestions.push(judged.unwrap_or(next));
    }
    // The first is the best by what is known now: it was chosen so, and believing in
    // it must not make another one look better.
    suggestions.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    Ok(suggestions)
}

impl Evidence {
    fn check(&self) -> Result<(), SuggestError> {
        let expected = self.settings.len();
        let limited = self.limited.iter().map(|(_, values)| values);
        for values in [&self.costs]
            .into_iter()
            .chain(limited)
            .chain(&self.seconds)
        {
            if values.len() != expected {
                return Err(SuggestError::Length {
                    expected,
                    found: values.len(),
                });
            }
            if values.iter().any(|value| !value.is_finite()) {
                return Err(SuggestError::NotFinite);
            }
        }
        Ok(())
    }

    /// Takes a proposal as if it had been run with the expected outcome.
    fn believe(&mut self, configuration: &Configuration, surrogates: &Surrogates) {
        let expected = |process: &Process| process.predict(configuration);
        self.settings.push(configuration.clone());
        self.costs.push(expected(&surrogates.cost));
        for ((_, values), (_, process)) in self.limited.iter_mut().zip(&surrogates.limited) {
            values.push(expected(process));
        }
        if let (Some(values), Some(process)) = (&mut self.seconds, &surrogates.seconds) {
            values.push(expected(process));
        }
    }
}

struct Surrogates {
    cost: Process,
    limited: Vec<(Limit, Process)>,
    seconds: Option<Process>,
    /// The least expected cost of a candidate that was run and seems to keep the
    /// limits, on the scale of the cost.
    best: Option<f64>,
}

impl Surrogates {
    /// `None` while there are too few settings, or if a process cannot be fitted.
    fn fit(
        factors: &Factors,
        evidence: &Evidence,
        eligible: &BTreeSet<Vec<u64>>,
        options: SuggestOptions,
    ) -> Option<Self> {
        let distinct: BTreeSet<Vec<u64>> = evidence.settings.iter().map(|at| key(at)).collect();
        if distinct.len() < SPREAD {
            return None;
        }
        let roles = evidence.roles.clone();
        let roles = roles.unwrap_or_else(|| Roles::by_name(factors));
        let trials: Vec<usize> = (0..evidence.settings.len()).collect();
        let fit = |values: &[f64]| {
            let data = Training::new(factors, &roles, &evidence.settings, values, &trials);
            let scale = Scale::of(values);
            Process::fit(&data, scale, 1, options.seed, options.threads).ok()
        };
        let cost = fit(&evidence.costs)?;
        let limited: Vec<(Limit, Process)> = evidence
            .limited
            .iter()
            .map(|(limit, values)| Some((*limit, fit(values)?)))
            .collect::<Option<_>>()?;
        let seconds = match &evidence.seconds {
            Some(values) => Some(fit(values)?),
            None => None,
        };
        let best = evidence
            .settings
            .iter()
            .filter(|at| eligible.contains(&key(at)))
            .filter(|at| {
                limited
                    .iter()
                    .all(|(limit, process)| limit.is_met(process.predict(at)))
            })
            .map(|at| cost.spread(at).mean)
            .min_by(f64::total_cmp);
        Some(Self {
            cost,
            limited,
            seconds,
            best,
        })
    }

    fn best(&self, fresh: &[&Configuration]) -> Suggestion {
        let suggestions = fresh.iter().map(|at| self.judge(at));
        suggestions
            .reduce(|best, next| if next.worth > best.worth { next } else { best })
            .expect("there is at least one fresh candidate")
    }

    fn judge(&self, configuration: &Configuration) -> Suggestion {
        let feasible = self
            .limited
            .iter()
            .map(|(limit, process)| chance(*limit, process, configuration))
            .product();
        // Until a setting keeps the limits, finding one is the improvement.
        let improvement = self.best.map_or(1.0, |best| {
            expected_improvement(self.cost.spread(configuration), best)
        });
        let seconds = self
            .seconds
            .as_ref()
            .map(|process| process.predict(configuration));
        let per = seconds.map_or(1.0, |seconds| seconds.max(f64::MIN_POSITIVE));
        Suggestion {
            configuration: configuration.clone(),
            improvement: if self.best.is_some() {
                improvement
            } else {
                0.0
            },
            seconds,
            worth: improvement * feasible / per,
            feasible,
        }
    }
}

/// Jones, Schonlau and Welch (1998), equation 15, for a minimum.
fn expected_improvement(belief: Spread, best: f64) -> f64 {
    let gap = best - belief.mean;
    if belief.deviation <= 0.0 {
        return gap.max(0.0);
    }
    let z = gap / belief.deviation;
    gap * Normal.cdf(z) + belief.deviation * Normal.pdf(z)
}

fn chance(limit: Limit, process: &Process, configuration: &[f64]) -> f64 {
    let belief = process.spread(configuration);
    let bound = process.scale().to(limit.value());
    if belief.deviation <= 0.0 {
        return f64::from(limit.is_met(process.predict(configuration)));
    }
    let z = (bound - belief.mean) / belief.deviation;
    match limit {
        Limit::AtMost(_) => Normal.cdf(z),
        Limit::AtLeast(_) => Normal.sf(z),
    }
}

/// The candidate farthest from all that was run; the most central one first.
fn farthest(
    factors: &Factors,
    candidates: &[Configuration],
    fresh: &[&Configuration],
    run: &[Configuration],
) -> Suggestion {
    let rows: Vec<&[f64]> = candidates.iter().map(Vec::as_slice).collect();
    let place = crate::predict::places(factors, &rows);
    let distance =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum() };
    let taken: Vec<Vec<f64>> = run.iter().map(|at| place(at)).collect();
    let score = |at: &[f64]| {
        let here = place(at);
        if taken.is_empty() {
            // Features are standardised, so that the centre is the origin.
            return -here.iter().map(|x| x * x).sum::<f64>();
        }
        let distances = taken.iter().map(|other| distance(&here, other));
        distances.fold(f64::INFINITY, f64::min)
    };
    let best = fresh
        .iter()
        .map(|at| (score(at), *at))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .expect("there is at least one fresh candidate");
    Suggestion {
        configuration: best.1.clone(),
        improvement: 0.0,
        seconds: None,
        worth: 0.0,
        feasible: 1.0,
    }
}
