//! A pick for programs.

use super::{AloneAnswer, FreeEpochs, Tradeoff};
use crate::predict::{prediction_json, predictor_json};
use crate::promises::Learned;
use crate::settings::settings_json;
use paceline_advise::pick::{Picked, Verdict};
use serde_json::{Value, json};

impl AloneAnswer {
    pub(super) fn json(&self) -> Value {
        let verdict = match &self.pick.verdict {
            Verdict::Met {
                best,
                runner_up,
                binding,
            } => json!({
                "met": true,
                "pick": self.picked_json(best),
                "runner_up": runner_up.as_ref().map(|runner_up| json!({
                    "pick": self.picked_json(&runner_up.picked),
                    "gives_up": runner_up.gives_up,
                })),
                "binding": binding.map(|binding| json!({
                    "limit": self.request.constraints[binding.constraint].to_string(),
                    "would_gain": binding.would_gain,
                })),
            }),
            Verdict::Unmet { nearest, reason } => json!({
                "met": false,
                "nearest": self.picked_json(nearest),
                "reason": reason,
            }),
        };
        let front: Vec<Value> = self
            .pick
            .front
            .iter()
            .map(|at| self.picked_json(at))
            .collect();
        let predictors: Vec<Value> = self
            .setup
            .predictors
            .iter()
            .map(|predictor| predictor_json(predictor, self.request.coverage))
            .collect();
        let suggestions: Vec<Value> = self
            .suggestions
            .iter()
            .map(|suggestion| {
                let settings = self
                    .setup
                    .table
                    .runs
                    .factors()
                    .settings(&suggestion.configuration);
                json!({
                    "configuration": settings_json(&settings),
                    "expected_improvement": suggestion.improvement,
                    "seconds": suggestion.seconds,
                    "worth": suggestion.worth,
                    "probability_of_limits": suggestion.feasible,
                })
            })
            .collect();
        json!({
            "source": self.setup.table.source,
            "runs": self.setup.table.count,
            "epochs": self.setup.epochs.as_ref().map(FreeEpochs::json),
            "objective": self.request.objective.to_string(),
            "confidence": self.request.confidence,
            "considered": self.pick.considered,
            "feasible": self.pick.feasible,
            "verdict": verdict,
            "front": front,
            "predictors": predictors,
            "suggestions": suggestions,
            "because": self.because,
            "widened": self.setup.learned.iter().map(Learned::json).collect::<Vec<_>>(),
            "tradeoff": self.tradeoff.as_ref().map(|tradeoff| self.tradeoff_json(tradeoff)),
            "cautions": self.cautions.iter().map(|weak| json!({
                "response": weak.response,
                "explained": weak.explained,
            })).collect::<Vec<_>>(),
        })
    }

    fn picked_json(&self, picked: &Picked) -> Value {
        let responses = picked.predictions.iter();
        let responses = responses.map(|(name, p)| (name.clone(), prediction_json(p)));
        let limits = self.request.constraints.iter().zip(&picked.chances);
        let limits: Vec<Value> = limits
            .map(|(limit, chance)| json!({ "limit": limit.to_string(), "probability": chance }))
            .collect();
        json!({
            "configuration": settings_json(&self.setup.table.runs.factors().settings(&picked.configuration)),
            "objective": picked.objective,
            "responses": Value::Object(responses.collect()),
            "limits": limits,
        })
    }

    fn tradeoff_json(&self, tradeoff: &Tradeoff) -> Value {
        let front = tradeoff.front.iter().map(|&at| {
            let (configuration, time, result) = &tradeoff.all[at];
            json!({
                "configuration": settings_json(&self.settings(configuration)),
                "time": time,
                "result": result,
            })
        });
        json!({
            "time": tradeoff.time,
            "result": tradeoff.result,
            "front": front.collect::<Vec<_>>(),
        })
    }
}
