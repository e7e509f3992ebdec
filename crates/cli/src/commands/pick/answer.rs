//! How a pick is printed.

use super::epochs::FreeEpochs;
use crate::commands::predict::{interval, outside, prediction_json, predictor_json};
use crate::commands::runs_table::{RunsTable, settings_json, written};
use crate::output::Page;
use paceline_advise::pick::{Pick, PickRequest, Picked, Suggestion, Verdict};
use paceline_advise::predict::Predictor;
use paceline_report::number::{count, duration, percent, significant};
use paceline_report::text::{Column, Table, paragraph};
use serde_json::{Value, json};

/// The most points of the front that are printed for people.
const FRONT_SHOWN: usize = 12;

/// Below this share of the variation, a predictor's choice is close to a guess.
const LITTLE_EXPLAINED: f64 = 0.5;

/// A pick with all that is printed of it.
pub(super) struct Answer<'a> {
    pub(super) table: &'a RunsTable,
    pub(super) predictors: &'a [Predictor],
    pub(super) request: &'a PickRequest,
    pub(super) pick: &'a Pick,
    pub(super) suggestions: &'a [Suggestion],
    pub(super) suggestions_asked: bool,
    /// What is said of the epochs, if their number is free.
    pub(super) epochs: Option<&'a FreeEpochs>,
}

impl Answer<'_> {
    pub(super) fn text(&self) -> String {
        let page = Page::of_stdout();
        let confidence = self.request.confidence;
        let mut out = format!(
            "Looking for {} among {}, learned from {} runs of {}\n",
            self.request.objective,
            configurations(self.pick.considered),
            count(self.table.count as u64),
            self.table.source
        );
        if let Some(epochs) = self.epochs {
            out += &paragraph("", &epochs.to_string(), page.width);
        }
        if self.table.left_out > 0 {
            out += &format!(
                "{} runs that are not done were left out\n",
                self.table.left_out
            );
        }
        match &self.pick.verdict {
            Verdict::Met {
                best,
                runner_up,
                binding,
            } => {
                out += &format!("\nPick   {}\n\n", self.written(best));
                out += &self.predictions(best).render(page.width, page.style);
                out += &extrapolated(best, page.width);
                out.push('\n');
                out += &match binding {
                    Some(binding) => format!(
                        "`{}` binds: without it the objective could be {} better\n",
                        self.request.constraints[binding.constraint],
                        significant(binding.would_gain, 3)
                    ),
                    None => "No limit binds: this is the best configuration even without limits\n"
                        .to_owned(),
                };
                if let Some(runner_up) = runner_up {
                    out += &format!(
                        "Runner-up {} gives up {} of the objective\n",
                        self.written(&runner_up.picked),
                        significant(runner_up.gives_up, 3)
                    );
                }
            }
            Verdict::Unmet { nearest, reason } => {
                out += &format!("\nNothing meets the limits: {reason}\n");
                out += &format!("Nearest   {}\n\n", self.written(nearest));
                out += &self.predictions(nearest).render(page.width, page.style);
                out += &extrapolated(nearest, page.width);
                out.push('\n');
            }
        }
        out += &format!(
            "{} of {} configurations keep every limit with probability {confidence}\n",
            count(self.pick.feasible as u64),
            count(self.pick.considered as u64)
        );
        out += &format!("\nWhat more of one thing costs of another\n\n{}", {
            self.front().render(page.width, page.style)
        });
        if self.pick.front.len() > FRONT_SHOWN {
            let more = self.pick.front.len() - FRONT_SHOWN;
            out += &format!("{more} more lie between these; --format json has all\n");
        }
        if !self.suggestions.is_empty() {
            out += "\nRuns worth making next\n\n";
            out += &self.suggested().render(page.width, page.style);
        } else if self.suggestions_asked {
            out += "\nNo run is worth suggesting: every configuration considered has been run; \
                    --grid considers more\n";
        }
        for caution in self.cautions() {
            out += &paragraph("caution: ", &caution, page.width);
        }
        out
    }

    /// A promise rests on its predictor: one that hardly predicts trials it has
    /// not seen must say so.
    fn cautions(&self) -> Vec<String> {
        let explained = |predictor: &Predictor| {
            let comparison = predictor.comparison();
            let chosen = comparison
                .compared
                .iter()
                .find(|line| line.kind == comparison.chosen);
            let score = chosen.and_then(|line| line.outcome.as_ref().ok());
            comparison.auto.as_ref().or(score).map(|score| score.r2)
        };
        let weak = self.predictors.iter().filter_map(|predictor| {
            let r2 = explained(predictor).filter(|&r2| r2 < LITTLE_EXPLAINED)?;
            Some(format!(
                "for trials it has not seen, the predictor of `{}` explains {} of what differs \
                 between runs. The interval and the probability account for that; which \
                 configuration is best is much less certain. Replicate the pick before relying \
                 on it.",
                predictor.response(),
                percent(r2.max(0.0))
            ))
        });
        weak.collect()
    }

    fn written(&self, picked: &Picked) -> String {
        written(&self.table.runs.factors().settings(&picked.configuration))
    }

    fn predictions(&self, picked: &Picked) -> Table {
        let mut table = Table::new([
            Column::words("response"),
            Column::decimals("predicted"),
            Column::words(&format!("{} interval", percent(self.request.coverage))),
            Column::words("limit"),
            Column::decimals("probability"),
            Column::words("by").optional(),
        ]);
        for (predictor, (response, prediction)) in self.predictors.iter().zip(&picked.predictions) {
            let limits = self.request.constraints.iter().zip(&picked.chances);
            let limits: Vec<_> = limits
                .filter(|(limit, _)| limit.response == *response)
                .collect();
            let texts: Vec<String> = limits.iter().map(|(limit, _)| limit.to_string()).collect();
            let chances: Vec<String> = limits
                .iter()
                .map(|(_, chance)| format!("{chance:.3}"))
                .collect();
            table.row([
                response.clone(),
                significant(prediction.value, 4),
                interval(prediction),
                texts.join(", "),
                chances.join(", "),
                predictor.kind().name().to_owned(),
            ]);
        }
        table
    }

    fn front(&self) -> Table {
        let names = self
            .predictors
            .iter()
            .map(|p| Column::decimals(p.response()));
        let columns = [Column::words("configuration")].into_iter().chain(names);
        let mut table = Table::new(columns);
        // Evenly spaced, both ends included.
        let all = &self.pick.front;
        let shown = all.len().min(FRONT_SHOWN);
        let spaced = (0..shown).map(|i| i * (all.len() - 1) / (shown - 1).max(1));
        for picked in spaced.map(|at| &all[at]) {
            let values = picked
                .predictions
                .iter()
                .map(|(_, p)| significant(p.value, 4));
            table.row([self.written(picked)].into_iter().chain(values));
        }
        table
    }

    fn suggested(&self) -> Table {
        let mut table = Table::new([
            Column::words("configuration"),
            Column::decimals("expected improvement"),
            Column::amounts("takes"),
            Column::decimals("keeps limits"),
        ]);
        for suggestion in self.suggestions {
            let settings = self
                .table
                .runs
                .factors()
                .settings(&suggestion.configuration);
            table.row([
                written(&settings),
                significant(suggestion.improvement, 3),
                suggestion.seconds.map_or("–".to_owned(), duration),
                format!("{:.3}", suggestion.feasible),
            ]);
        }
        table
    }

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
            .predictors
            .iter()
            .map(|predictor| predictor_json(predictor, self.request.coverage))
            .collect();
        let suggestions: Vec<Value> = self
            .suggestions
            .iter()
            .map(|suggestion| {
                let settings = self
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
            "source": self.table.source,
            "runs": self.table.count,
            "epochs": self.epochs.map(FreeEpochs::json),
            "objective": self.request.objective.to_string(),
            "confidence": self.request.confidence,
            "considered": self.pick.considered,
            "feasible": self.pick.feasible,
            "verdict": verdict,
            "front": front,
            "predictors": predictors,
            "suggestions": suggestions,
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
            "configuration": settings_json(&self.table.runs.factors().settings(&picked.configuration)),
            "objective": picked.objective,
            "responses": Value::Object(responses.collect()),
            "limits": limits,
        })
    }
}

/// Where the configuration lies outside what was run, one line for each way.
pub(super) fn extrapolated(picked: &Picked, width: usize) -> String {
    let mut ways: Vec<String> = Vec::new();
    for (_, prediction) in &picked.predictions {
        let way = outside(&prediction.outside);
        if !way.is_empty() && !ways.contains(&way) {
            ways.push(way);
        }
    }
    let lines = ways.iter().map(|way| paragraph("note: ", way, width));
    lines.collect()
}

/// So many configurations, in words.
pub(super) fn configurations(number: usize) -> String {
    match number {
        1 => "1 configuration".to_owned(),
        number => format!("{} configurations", count(number as u64)),
    }
}
