//! A Bayesian search in the words of a study.

use super::TuneError;
use super::history::{History, Tried};
use super::question::Question;
use super::search::{End, LEAST_IMPROVEMENT, Next, NotExplored, Reach, is_whole, level_of};
use paceline_advise::bayes::{Bayes, Dimension, Space, Step, StopReason, Trial, Unexplored};
use paceline_advise::pick::Limit;
use paceline_advise::runs::Configuration;
use paceline_design::Scale;
use paceline_model::Level;
use paceline_study::{Factor, FactorType, Study};
use serde_json::{Value, json};

/// A search over the factors that vary.
pub(super) struct Bayesian {
    bayes: Bayes,
    pub(super) replicates: usize,
}

impl Bayesian {
    pub(super) fn new(study: &Study, question: &Question, reach: &Reach) -> Self {
        let varied = question.varied.iter().map(|&at| &study.factors()[at]);
        Self {
            bayes: Bayes {
                space: Space::new(varied.map(dimension).collect()),
                limits: question.limits.iter().map(|bound| bound.limit).collect(),
                most_runs: (reach.most_runs / reach.replicates).max(1),
                least_improvement: LEAST_IMPROVEMENT,
                seed: study.design().seed,
            },
            replicates: reach.replicates,
        }
    }

    pub(super) fn next(
        &self,
        study: &Study,
        question: &Question,
        history: &History,
    ) -> Result<Next, TuneError> {
        let tried: Vec<&Tried> = history
            .tried
            .iter()
            .filter(|tried| tried.runs() > 0)
            .collect();
        let trials = self.trials(study, &tried, question);
        let next = self.bayes.next(&trials)?;
        Ok(match next {
            Step::Run(next) => Next::Run {
                levels: question.levels(&typed(study, question, &next.configuration)),
                from: vec![None; self.replicates],
            },
            Step::Done {
                best,
                reason,
                unexplored,
            } => {
                let best = best
                    .map(|at| tried[at])
                    .filter(|tried| !tried.values.is_empty());
                let (word, why) = why(reason, question, history);
                Next::Done(End {
                    best: best.map(|tried| tried.levels.clone()),
                    reason: word,
                    why,
                    unexplored: not_explored(study, question, &unexplored),
                })
            }
        })
    }

    /// The means of each level. Where all runs failed nothing is known but that it
    /// is no good: it counts as the worst of the others, beyond every limit.
    fn trials(&self, study: &Study, tried: &[&Tried], question: &Question) -> Vec<Trial> {
        let cost = |mean: f64| question.direction.cost(mean);
        let costs = tried.iter().filter_map(|tried| Some(cost(tried.mean()?)));
        let worst = costs.reduce(f64::max).unwrap_or(1.0);
        let beyond = |limit: Limit| match limit {
            Limit::AtMost(value) => value + value.abs().max(1e-9),
            Limit::AtLeast(value) => value - value.abs().max(1e-9),
        };
        let trial = |tried: &&Tried| {
            let limits = question.limits.iter().zip(tried.limited_means());
            Trial {
                configuration: question
                    .varied
                    .iter()
                    .map(|&at| value_of(&study.factors()[at], &tried.levels[at]))
                    .collect(),
                cost: tried.mean().map_or(worst, cost),
                limited: limits
                    .map(|(bound, mean)| mean.unwrap_or_else(|| beyond(bound.limit)))
                    .collect(),
                seconds: tried.seconds,
            }
        };
        tried.iter().map(trial).collect()
    }
}

fn dimension(factor: &Factor) -> Dimension {
    if factor.kind == FactorType::Categorical {
        return Dimension::Categories(factor.levels.len());
    }
    let mut numbers: Vec<f64> = factor.levels.iter().filter_map(Level::as_number).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    match (factor.is_range, numbers.as_slice()) {
        (true, [low, .., high]) => Dimension::Range {
            low: *low,
            high: *high,
            log: factor.scale == Scale::Log,
            whole: is_whole(factor),
        },
        _ => Dimension::Levels(numbers),
    }
}

/// The number that stands for a level: its place in a list of names.
fn value_of(factor: &Factor, level: &Level) -> f64 {
    if factor.kind == FactorType::Categorical {
        let place = factor.levels.iter().position(|known| known == level);
        return place.unwrap_or(0) as f64;
    }
    level.as_number().unwrap_or(0.0)
}

fn level(factor: &Factor, value: f64) -> Level {
    if factor.kind == FactorType::Categorical {
        return factor.levels[(value as usize).min(factor.levels.len() - 1)].clone();
    }
    level_of(value, is_whole(factor))
}

/// The levels of what varies, as the user would write them.
fn typed(study: &Study, question: &Question, configuration: &Configuration) -> Vec<Level> {
    let varied = question.varied.iter().map(|&at| &study.factors()[at]);
    let values = varied.zip(configuration);
    values
        .map(|(factor, &value)| level(factor, value))
        .collect()
}

fn why(reason: StopReason, question: &Question, history: &History) -> (&'static str, String) {
    match reason {
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
    }
}

fn not_explored(study: &Study, question: &Question, found: &Unexplored) -> NotExplored {
    let factor = |at: usize| &study.factors()[question.varied[at]];
    let written = |configuration: &Configuration| {
        let levels = question.levels(&typed(study, question, configuration));
        question.words(study, &levels)
    };
    let mut sentences = Vec::new();
    match found.configurations {
        Some(all) if all > found.run => {
            sentences.push(format!("{} of {all} combinations were run", found.run));
        }
        _ => {}
    }
    for &(at, category) in &found.categories {
        let factor = factor(at);
        let name = level(factor, category as f64);
        sentences.push(format!("{}={name} was never run", factor.name));
    }
    for stretch in &found.stretches {
        let factor = factor(stretch.factor);
        let end = |value: f64| level(factor, value);
        sentences.push(format!(
            "no run had {} between {} and {}",
            factor.name,
            end(stretch.from),
            end(stretch.to)
        ));
    }
    if let Some(promising) = &found.promising {
        sentences.push(format!(
            "of what was not run, {} is likeliest to be better, with probability {:.2}",
            written(&promising.configuration),
            promising.better
        ));
    }
    let names = |&(at, category): &(usize, usize)| {
        let factor = factor(at);
        json!({ "factor": factor.name, "level": level(factor, category as f64).to_string() })
    };
    NotExplored {
        sentences,
        json: json!({
            "combinations": found.configurations,
            "combinations_run": found.run,
            "levels_never_run": found.categories.iter().map(names).collect::<Vec<Value>>(),
            "stretches_without_a_run": found.stretches.iter().map(|stretch| json!({
                "factor": factor(stretch.factor).name,
                "from": stretch.from,
                "to": stretch.to,
            })).collect::<Vec<Value>>(),
            "most_promising": found.promising.as_ref().map(|promising| json!({
                "levels": written(&promising.configuration),
                "probability_of_being_better": promising.better,
            })),
        }),
    }
}
