//! `paceline pick`: the best configuration that keeps its promises.

use super::predict::{interval, outside, prediction_json, predictor_json};
use super::runs_table::{
    RunsTable, TableArgs, predictor, settings, settings_json, threads, written,
};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::quantity;
use anyhow::anyhow;
use paceline_advise::pick::{
    Constraint, Limit, Objective, Pick, PickRequest, Picked, Space, SuggestOptions, Suggestion,
    Verdict, candidates, pick as picked, suggest,
};
use paceline_advise::predict::{Choice, PredictOptions, Predictor};
use paceline_model::Level;
use paceline_report::number::{count, duration, percent, significant};
use paceline_report::text::{Column, Table, paragraph};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The deadline of a run, as in 300s: the same as --limit 'TIME <= 300s'
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    slo: Option<Duration>,
    /// A limit, as in 'cost <= 2' or 'accuracy >= 0.9'; may be repeated
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    limit: Vec<Constraint>,
    /// The response that is to be large
    #[arg(long, value_name = "COLUMN", group = "objective")]
    maximize: Option<String>,
    /// The response that is to be small
    #[arg(long, value_name = "COLUMN", group = "objective")]
    minimize: Option<String>,
    /// A weighted sum that is to be large, as in accuracy=100,time=-0.1
    #[arg(long, value_name = "COLUMN=WEIGHT,…", value_parser = weights, group = "objective")]
    weigh: Option<Weights>,
    /// Factors that are fixed, as in workers=2,sync=bsp
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = settings)]
    given: Option<Settings>,
    /// The probability with which each limit must be kept
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.95)]
    confidence: f64,
    /// Consider up to so many configurations between the observed levels as well
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "10000")]
    grid: Option<usize>,
    /// Propose so many runs that would be worth most
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    suggest: usize,
    /// The column that holds the duration of a run
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    time: String,
    /// auto, linear, queue, scaling, gp, boost or forest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = predictor)]
    predictor: Choice,
    /// The seed of folds and learners
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Aliases, so that clap does not take them for lists of values.
type Settings = Vec<(String, Level)>;
type Weights = Vec<(String, f64)>;

/// The most points of the front that are printed for people.
const FRONT_SHOWN: usize = 12;

/// Below this share of the variation, a predictor's choice is close to a guess.
const LITTLE_EXPLAINED: f64 = 0.5;

struct Answer<'a> {
    table: &'a RunsTable,
    predictors: &'a [Predictor],
    request: &'a PickRequest,
    pick: &'a Pick,
    suggestions: &'a [Suggestion],
    suggestions_asked: bool,
}

pub(crate) fn pick(args: &Args) -> Result<Exit, Failure> {
    let request = request(args)?;
    let open = args.table.open()?;
    let mut responses: Vec<String> = Vec::new();
    let weights = request.objective.weights();
    let asked = weights.iter().map(|(name, _)| (*name).to_owned());
    let limited = request
        .constraints
        .iter()
        .map(|limit| limit.response.clone());
    for name in asked.chain(limited) {
        if !responses.contains(&name) {
            responses.push(name);
        }
    }
    let table = open.runs(&responses)?;
    let factors = table.runs.factors();
    let given = args.given.as_deref().unwrap_or_default();
    let given = factors.fixed(given).map_err(Failure::user)?;
    let space = args
        .grid
        .map_or(Space::Observed, |most| Space::Grid { most });
    let choices = candidates(&table.runs, &given, space)
        .map_err(|error| Failure::user(error).hint("fix factors with --given, or raise --grid"))?;
    let options = PredictOptions {
        choice: args.predictor,
        coverage: args.confidence,
        seed: args.seed,
        threads: threads(),
        ..PredictOptions::default()
    };
    let predictors = responses
        .iter()
        .map(|response| Predictor::fit(&table.runs, response, &options).map_err(Failure::user))
        .collect::<Result<Vec<_>, _>>()?;
    let pick = picked(&predictors, &choices, &request).map_err(Failure::user)?;
    let suggestions = if args.suggest == 0 {
        Vec::new()
    } else {
        let seconds = responses.contains(&args.time).then_some(args.time.as_str());
        let options = SuggestOptions {
            count: args.suggest,
            seed: args.seed,
            threads: threads(),
        };
        suggest(
            &table.runs,
            &choices,
            &request.objective,
            &request.constraints,
            seconds,
            options,
        )
        .map_err(Failure::user)?
    };
    let answer = Answer {
        table: &table,
        predictors: &predictors,
        request: &request,
        pick: &pick,
        suggestions: &suggestions,
        suggestions_asked: args.suggest > 0,
    };
    output::data(&match args.format {
        Format::Text => answer.text(),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(match pick.verdict {
        Verdict::Met { .. } => Exit::Done,
        Verdict::Unmet { .. } => Exit::Unmet,
    })
}

fn request(args: &Args) -> Result<PickRequest, Failure> {
    let mut constraints = args.limit.clone();
    if let Some(slo) = args.slo {
        constraints.push(Constraint::at_most(&args.time, slo.as_secs_f64()));
    }
    let objective = match (&args.maximize, &args.minimize, &args.weigh) {
        (Some(response), ..) => Objective::Maximise(response.clone()),
        (_, Some(response), _) => Objective::Minimise(response.clone()),
        (.., Some(weights)) => Objective::Weighted(weights.clone()),
        (None, None, None) => {
            return Err(Failure::user(anyhow!("nothing is said to be best")).hint(
                "name a response with --maximize or --minimize, or weigh several with --weigh",
            ));
        }
    };
    Ok(PickRequest {
        objective,
        constraints,
        confidence: args.confidence,
        coverage: args.confidence,
    })
}

/// Reads `time <= 300s`, `cost<=2`, `memory_peak <= 8GB`, `accuracy >= 0.9`.
fn limit(text: &str) -> Result<Constraint, String> {
    let unusable =
        || format!("`{text}` is not a limit such as 'time <= 300s' or 'accuracy >= 0.9'");
    let (name, limit): (&str, fn(f64) -> Limit) = if let Some((name, _)) = text.split_once("<=") {
        (name, Limit::AtMost)
    } else if let Some((name, _)) = text.split_once(">=") {
        (name, Limit::AtLeast)
    } else {
        return Err(unusable());
    };
    let value = amount(text[name.len() + 2..].trim()).ok_or_else(unusable)?;
    let name = name.trim();
    if name.is_empty() {
        return Err(unusable());
    }
    Ok(Constraint {
        response: name.to_owned(),
        limit: limit(value),
    })
}

/// A number, a time in seconds, or a size in bytes.
fn amount(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let seconds = quantity::duration(text).ok().map(|time| time.as_secs_f64());
    seconds.or_else(|| quantity::bytes(text).ok().map(|bytes| bytes as f64))
}

fn weights(text: &str) -> Result<Weights, String> {
    text.split(',')
        .map(|part| {
            let weight = part.split_once('=').and_then(|(name, weight)| {
                let weight: f64 = weight.trim().parse().ok()?;
                Some((name.trim().to_owned(), weight))
            });
            weight.ok_or_else(|| format!("`{part}` is not COLUMN=WEIGHT"))
        })
        .collect()
}

impl Answer<'_> {
    fn text(&self) -> String {
        let page = Page::of_stdout();
        let confidence = self.request.confidence;
        let mut out = format!(
            "Looking for {} among {} configurations, learned from {} runs of {}\n",
            self.request.objective,
            count(self.pick.considered as u64),
            count(self.table.runs.rows() as u64),
            self.table.source
        );
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
            Column::words("note").optional(),
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
                outside(&prediction.outside),
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

    fn json(&self) -> Value {
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
            "runs": self.table.runs.rows(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let check = |text: &str, response: &str, value: f64| {
            let found = limit(text).unwrap();
            assert_eq!(
                (found.response.as_str(), found.limit.value()),
                (response, value)
            );
        };
        check("time <= 300s", "time", 300.0);
        check("time<=5m", "time", 300.0);
        check("accuracy >= 0.9", "accuracy", 0.9);
        check("memory_peak <= 8GB", "memory_peak", 8e9);
        for text in ["time", "time < 3", "<= 3", "time <= fast", "time <= nan"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
