//! Promises for programs.

use super::{Account, Held, Judgement, Learned, PromisesAnswer, Verdict, is_within};
use serde_json::{Value, json};

impl PromisesAnswer {
    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let intervals = self.intervals.iter();
        let intervals = intervals.map(|(name, account)| (name.clone(), account_json(account)));
        json!({
            "source": self.source,
            "promises": self.promises.iter().map(Held::json).collect::<Vec<_>>(),
            "open": self.count(Verdict::Open),
            "kept": self.count(Verdict::Kept),
            "broken": self.count(Verdict::Broken),
            "failed": self.count(Verdict::Failed),
            "limits": account_json(&self.limits),
            "by_stated_probability": self.bins.iter().map(|bin| {
                let mut value = account_json(&bin.account);
                value["from"] = json!(bin.from);
                value["to"] = json!(bin.to);
                value
            }).collect::<Vec<_>>(),
            "intervals": Value::Object(intervals.collect()),
            "widened": self.learned.iter().map(Learned::json).collect::<Vec<_>>(),
            "sentences": self.sentences(),
        })
    }
}

impl Learned {
    /// What was learned, for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "response": self.response,
            "factor": self.factor,
            "outcomes": self.outcomes,
            "within": self.within,
            "expected": self.expected,
        })
    }
}

impl Held {
    /// One promise for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let Self { promise, outcome } = self;
        let outcome = outcome.as_ref();
        let limits = promise.limits.iter().map(|limit| {
            json!({
                "response": limit.response,
                "limit": limit.value,
                "at_most": limit.at_most,
                "probability": limit.probability,
                "kept": outcome.map(|outcome| limit.is_kept_by(outcome)),
            })
        });
        let predictions = promise.predictions.iter().map(|one| {
            json!({
                "response": one.response,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "coverage": one.coverage,
                "predictor": one.by,
                "widened": one.widened,
                "came": outcome.and_then(|outcome| outcome.values.get(&one.response)),
                "within": outcome.and_then(|outcome| is_within(one, outcome)),
            })
        });
        json!({
            "promise": promise.id,
            "time": promise.time,
            "question": promise.question,
            "configuration": promise.configuration,
            "confidence": promise.confidence,
            "learned_from": promise.learned_from,
            "limits": limits.collect::<Vec<_>>(),
            "predictions": predictions.collect::<Vec<_>>(),
            "verdict": self.verdict().word(),
            "run": outcome.map(|outcome| &outcome.run),
            "outcome": outcome.map(|outcome| &outcome.outcome),
            "disturbed": outcome.map(|outcome| &outcome.disturbed),
        })
    }
}

fn account_json(account: &Account) -> Value {
    let chance = match account.judgement {
        Judgement::TooConfident { chance } | Judgement::TooCareful { chance } => Some(chance),
        Judgement::Untested | Judgement::TooFew | Judgement::Fits { .. } => None,
    };
    let tested = account.of > 0;
    json!({
        "of": account.of,
        "kept": account.kept,
        "stated_at_least": account.expected.0,
        "stated_at_most": account.expected.1,
        "share": tested.then(|| account.kept as f64 / account.of as f64),
        "low": tested.then_some(account.interval.0),
        "high": tested.then_some(account.interval.1),
        "judgement": account.judgement.name(),
        "chance": chance,
    })
}
