//! What predictors learn from how their promises were kept.
//!
//! A run that a promise was held against is a run of the study: the next
//! prediction rests on it like on any other. If, besides, values came outside
//! their intervals more often than chance explains, the intervals of that
//! response become wider by what the outcomes say: so wide that the share of them
//! that was asked for would have come within. Nothing ever becomes narrower: that
//! promises were kept more often than stated is said, and may be luck.

use super::{Held, is_within};
use paceline_dist::{Normal, PoissonBinomial};

/// The fewest outcomes from which widths are learned.
const FEWEST: usize = 10;
/// The most recent outcomes count; what was promised on fewer runs long ago says
/// little about today's predictor.
const MOST: usize = 40;
/// So improbable must the count be, were the intervals right.
const DOUBT: f64 = 0.025;

/// A response whose intervals are wider than the runs alone would have them.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// The response.
    pub response: String,
    /// How many outcomes it is learned from.
    pub outcomes: usize,
    /// How many came within what the runs alone said.
    pub within: usize,
    /// How many should have.
    pub expected: f64,
    /// How many times as wide intervals are.
    pub factor: f64,
}

impl Learned {
    /// What is done and why.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "Intervals of {} are {:.2} times as wide as the runs alone would have them: of the \
             last {} outcomes {} came within those, and {:.1} should have.",
            self.response, self.factor, self.outcomes, self.within, self.expected
        )
    }
}

/// The responses whose intervals were too narrow, with what a coverage asks for.
pub(crate) fn learned(promises: &[Held], coverage: f64) -> Vec<Learned> {
    let mut responses: Vec<&str> = Vec::new();
    for one in promises.iter().flat_map(|held| &held.promise.predictions) {
        if !responses.contains(&one.response.as_str()) {
            responses.push(&one.response);
        }
    }
    let found = responses
        .into_iter()
        .filter_map(|response| learned_of(promises, response, coverage));
    found.collect()
}

/// A value against an interval: how often that was to hold it, and how many times
/// the half-width of that side the value lies from the prediction.
struct Miss {
    coverage: f64,
    distance: f64,
}

fn learned_of(promises: &[Held], response: &str, coverage: f64) -> Option<Learned> {
    let misses = promises
        .iter()
        .rev()
        .filter_map(|held| miss(held, response));
    let misses: Vec<Miss> = misses.take(MOST).collect();
    if misses.len() < FEWEST {
        return None;
    }
    let stated: Vec<f64> = misses.iter().map(|miss| miss.coverage).collect();
    let counts = PoissonBinomial::new(&stated).ok()?;
    let within = misses.iter().filter(|miss| miss.distance <= 1.0).count();
    if counts.cdf(within) > DOUBT {
        return None;
    }
    // On the scale of a normal deviation, so that intervals of different coverage
    // can be told together.
    let deviations = |coverage: f64| Normal.quantile(0.5 + 0.5 * coverage);
    let mut sizes: Vec<f64> = misses
        .iter()
        .map(|miss| miss.distance * deviations(miss.coverage))
        .collect();
    sizes.sort_by(f64::total_cmp);
    // The rank of split-conformal intervals (Vovk): the next outcome comes within
    // with the asked probability; beyond the last rank nothing can be said.
    let rank = ((sizes.len() + 1) as f64 * coverage).ceil() as usize;
    let size = sizes[rank.clamp(1, sizes.len()) - 1];
    let factor = size / deviations(coverage);
    (factor > 1.0 && factor.is_finite()).then(|| Learned {
        response: response.to_owned(),
        outcomes: misses.len(),
        within,
        expected: counts.mean(),
        factor,
    })
}

fn miss(held: &Held, response: &str) -> Option<Miss> {
    let stated = held.promise.predictions.iter();
    let stated = stated.clone().find(|one| one.response == response)?;
    let outcome = held.outcome.as_ref()?;
    is_within(stated, outcome)?;
    let value = *outcome.values.get(response)?;
    let half = match value > stated.value {
        true => stated.high - stated.value,
        false => stated.value - stated.low,
    };
    // What was widened already is held against what the runs alone said.
    let half = half / stated.widened.max(1.0);
    let off = (value - stated.value).abs();
    let distance = if off == 0.0 { 0.0 } else { off / half };
    let sound = (0.0..1.0).contains(&stated.coverage) && distance.is_finite();
    sound.then_some(Miss {
        coverage: stated.coverage,
        distance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_records::study::{Outcome, Promise, PromisedValue};

    /// A small generator (splitmix64) of normal deviations.
    struct Chance(u64);

    impl Chance {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            Normal.quantile(self.uniform().clamp(1e-12, 1.0 - 1e-12))
        }
    }

    /// A ledger of predictors who take the spread for `1 / truth` of what it is.
    fn ledger(
        chance: &mut Chance,
        count: usize,
        coverage: f64,
        truth: f64,
        widened: f64,
    ) -> Vec<Held> {
        let half = Normal.quantile(0.5 + 0.5 * coverage) * widened;
        (0..count)
            .map(|at| Held {
                promise: Promise {
                    id: format!("p{at}"),
                    time: String::new(),
                    question: String::new(),
                    configuration: Default::default(),
                    objective: String::new(),
                    confidence: coverage,
                    learned_from: 12,
                    counted: 12,
                    limits: Vec::new(),
                    predictions: vec![PromisedValue {
                        response: "time".to_owned(),
                        value: 100.0,
                        low: 100.0 - half,
                        high: 100.0 + half,
                        coverage,
                        by: "gp".to_owned(),
                        widened,
                    }],
                },
                outcome: Some(Outcome {
                    promise: format!("p{at}"),
                    run: format!("r{at}"),
                    attempt: 1,
                    outcome: "done".to_owned(),
                    done: true,
                    values: [("time".to_owned(), 100.0 + truth * chance.normal())]
                        .into_iter()
                        .collect(),
                    disturbed: Vec::new(),
                }),
            })
            .collect()
    }

    fn factor(promises: &[Held], coverage: f64) -> f64 {
        let found = learned(promises, coverage);
        found.first().map_or(1.0, |learned| learned.factor)
    }

    #[test]
    fn promises_that_were_right_are_hardly_ever_widened() {
        let mut chance = Chance(1);
        for coverage in [0.8, 0.95] {
            for count in [10, 20, 40] {
                let widened = (0..400)
                    .filter(|_| {
                        factor(&ledger(&mut chance, count, coverage, 1.0, 1.0), coverage) > 1.0
                    })
                    .count();
                // 2.5% at most, and the scatter of four hundred trials.
                assert!(widened <= 20, "{widened} of 400 at {coverage}, {count}");
            }
        }
    }

    #[test]
    fn a_few_outcomes_change_nothing_whatever_came() {
        let mut chance = Chance(2);
        assert_eq!(
            factor(&ledger(&mut chance, FEWEST - 1, 0.95, 50.0, 1.0), 0.95),
            1.0
        );
        assert_eq!(factor(&[], 0.95), 1.0);
    }

    #[test]
    fn widths_that_were_learned_hold_what_was_asked_for() {
        let mut chance = Chance(3);
        for (coverage, truth) in [(0.95, 2.0), (0.95, 4.0), (0.8, 2.0)] {
            let (mut before, mut after, mut all) = (0, 0, 0);
            for _ in 0..300 {
                let promises = ledger(&mut chance, 40, coverage, truth, 1.0);
                let factor = factor(&promises, coverage);
                let half = Normal.quantile(0.5 + 0.5 * coverage);
                for _ in 0..20 {
                    let off = (truth * chance.normal()).abs();
                    before += usize::from(off <= half);
                    after += usize::from(off <= factor * half);
                    all += 1;
                }
            }
            let (before, after) = (before as f64 / all as f64, after as f64 / all as f64);
            assert!(before < coverage - 0.15, "{before} of {coverage}");
            assert!(
                (after - coverage).abs() < 0.03,
                "{after} of {coverage} for {truth}"
            );
        }
    }

    #[test]
    fn what_was_widened_already_is_not_widened_twice_and_is_forgotten_when_it_is_right() {
        let mut chance = Chance(4);
        let mut twice: Vec<f64> = (0..101)
            .map(|_| factor(&ledger(&mut chance, 40, 0.95, 2.0, 2.0), 0.95))
            .collect();
        twice.sort_by(f64::total_cmp);
        // Stated twice as wide and right so: the runs alone are still half of it.
        assert!((twice[50] - 2.0).abs() < 0.3, "{}", twice[50]);
        // After forty promises that were right without it, nothing is left of it.
        let old = ledger(&mut chance, 40, 0.95, 3.0, 1.0);
        let new = (0..20).map(|_| {
            let new = ledger(&mut chance, 40, 0.95, 1.0, 1.0);
            factor(&[old.clone(), new].concat(), 0.95)
        });
        let forgotten = new.filter(|factor| *factor == 1.0).count();
        assert!(forgotten >= 18, "{forgotten} of 20");
    }

    #[test]
    fn failed_runs_and_values_that_are_no_distance_teach_nothing() {
        let mut chance = Chance(5);
        let mut promises = ledger(&mut chance, 12, 0.95, 9.0, 1.0);
        for held in &mut promises {
            held.outcome.as_mut().unwrap().done = false;
        }
        assert_eq!(factor(&promises, 0.95), 1.0);
        for held in &mut promises {
            held.outcome.as_mut().unwrap().done = true;
            held.promise.predictions[0].low = 100.0;
            held.promise.predictions[0].high = 100.0;
        }
        assert_eq!(factor(&promises, 0.95), 1.0);
    }
}
