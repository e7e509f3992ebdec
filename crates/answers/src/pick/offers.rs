//! Everything that could be run, with what is believed of it: what a queue admits from.

use super::{PickError, PickQuestion, objective, running, set_up, understand};
use crate::results::Results;
use paceline_advise::pick::judge;
use paceline_advise::predict::Role;
use paceline_model::Level;
use paceline_records::study::PromisedValue;

/// Into so many equal parts the probabilities of a time are cut.
pub const STEPS: usize = 40;

/// What a job of these results could be.
#[derive(Debug, Clone, PartialEq)]
pub struct Offers {
    /// What is called best, in words.
    pub objective: String,
    /// How many runs were learned from.
    pub runs: usize,
    /// Each configuration that keeps every other limit, in no order.
    pub offers: Vec<Offer>,
}

/// One configuration with all that is believed of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The level of every factor.
    pub settings: Vec<(String, Level)>,
    /// How good it is; larger is better.
    pub objective: f64,
    /// How long it takes alone, in seconds: the middles of [`STEPS`] equally probable
    /// parts, ascending.
    pub alone_s: Vec<f64>,
    /// Each predicted response, with its interval.
    pub predictions: Vec<PromisedValue>,
    /// How many CPUs it takes, where a factor or a constant says so.
    pub cpus: Option<u32>,
}

/// What could be run, each with the distribution of its time alone. The question's
/// deadline is not judged: when a job ends depends on who runs beside it.
///
/// # Errors
/// As [`super::pick`].
pub fn offers(results: &Results, question: &PickQuestion) -> Result<Offers, PickError> {
    let question = PickQuestion {
        deadline_s: None,
        ..question.clone()
    };
    let understood = understand(results, &question)?;
    let mut setup = set_up(results, &question, &understood)?;
    let factors = setup.table.runs.factors();
    let roles = results.roles(factors)?;
    let given = factors.fixed(&question.given)?;
    if let Some((at, level)) = running::alone(&roles, &given) {
        setup.choices.retain(|choice| choice[at] == level);
    }
    let time_name = objective::time(results, &question).ok_or_else(|| PickError::NoTime {
        responses: results.responses().to_vec(),
    })?;
    let time = setup.predictors.iter().find(|p| p.response() == time_name);
    let time = time.ok_or_else(|| PickError::NoTime {
        responses: results.responses().to_vec(),
    })?;
    let request = understood.request;
    let judged = judge(&setup.predictors, &setup.choices, &request)?;
    let keeps = |chances: &[f64]| chances.iter().all(|&chance| chance >= request.confidence);
    let cpus_at = roles.position(Role::Cpus);
    let offers = judged.into_iter().filter(|one| keeps(&one.chances));
    let offers = offers.map(|one| {
        let belief = &time.beliefs(&[&one.configuration])[0];
        let predictions = one.predictions.iter().filter_map(|(response, found)| {
            let predictors = setup.predictors.iter();
            let predictor = predictors.clone().find(|p| p.response() == response)?;
            let (low, high) = found.interval.ends()?;
            Some(PromisedValue {
                response: response.clone(),
                value: found.value?,
                low,
                high,
                coverage: request.coverage,
                by: predictor.kind().name().to_owned(),
                widened: predictor.widened(),
            })
        });
        Offer {
            settings: factors.settings(&one.configuration),
            objective: one.objective,
            alone_s: parts(|coverage| time.bounds(belief, coverage), belief.value()),
            predictions: predictions.collect(),
            cpus: cpus_at.map(|at| one.configuration[at].max(1.0) as u32),
        }
    });
    Ok(Offers {
        objective: request.objective.to_string(),
        runs: setup.table.count,
        offers: offers.collect(),
    })
}

/// The middles of equally probable parts, by the ends of central intervals.
fn parts(bounds: impl Fn(f64) -> (f64, f64), middle: f64) -> Vec<f64> {
    let mut found: Vec<f64> = (0..STEPS)
        .map(|part| {
            let p = (part as f64 + 0.5) / STEPS as f64;
            let coverage = (2.0 * p - 1.0).abs();
            let (low, high) = bounds(coverage);
            if p < 0.5 { low } else { high }
        })
        .map(|time| if time.is_finite() { time } else { middle }.max(0.0))
        .collect();
    found.sort_by(f64::total_cmp);
    found
}
