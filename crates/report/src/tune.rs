//! What a search found, as text and JSON.

use crate::number::{duration, significant};
use crate::text::{Column, Page, Table, paragraph};
use paceline_answers::level_json;
use paceline_answers::tune::{CONFIDENCE, End, History, Question, Tried, same_budget};
use paceline_model::Level;
use paceline_study::Study;
use serde_json::{Value, json};

/// A finished search.
pub struct Report<'a> {
    /// The study that grew.
    pub study: &'a Study,
    /// What was asked.
    pub question: &'a Question,
    /// What was run.
    pub history: &'a History,
    /// How it ended.
    pub end: &'a End,
    /// How levels were chosen.
    pub strategy: &'a str,
    /// Whether the last factor that varies is a budget.
    pub by_budget: bool,
}

impl Report<'_> {
    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let mut text = self.table(page);
        text.push('\n');
        let mut say = |sentence: &str| text.push_str(&paragraph("", sentence, page.width));
        say(&self.verdict());
        say(&format!("It stopped because {}.", self.end.why));
        if !self.end.unexplored.sentences.is_empty() {
            let sentences = self.end.unexplored.sentences.join("; ");
            say(&format!("Not explored: {sentences}."));
        }
        if let Some(others) = self.not_told_apart() {
            say(&others);
        }
        let failed = match self.history.failed() {
            0 => String::new(),
            1 => ", of which 1 failed and counts against its level".to_owned(),
            n => format!(", of which {n} failed and count against their levels"),
        };
        say(&format!(
            "{} runs took {} in all{failed}.",
            self.history.run_count(),
            duration(self.history.seconds())
        ));
        text
    }

    fn table(&self, page: Page) -> String {
        let factor = |&at: &usize| Column::words(&self.study.factors()[at].name);
        let mut columns: Vec<Column> = self.question.varied.iter().map(factor).collect();
        columns.extend([
            Column::decimals(&self.question.response),
            Column::decimals("± 95%"),
            Column::amounts("runs"),
            Column::amounts("failed"),
            Column::words(""),
        ]);
        let mut table = Table::new(columns);
        for tried in self.by_level() {
            let mut cells = self.varied(&tried.levels);
            let number = |value: Option<f64>| value.map_or(String::new(), |x| significant(x, 4));
            cells.push(number(tried.mean()));
            cells.push(number(tried.half_width(CONFIDENCE)));
            cells.push(tried.runs().to_string());
            cells.push(match (tried.failed, tried.stopped) {
                (0, 0) => String::new(),
                (0, stopped) => format!("{stopped} stopped"),
                (failed, 0) => failed.to_string(),
                (failed, stopped) => format!("{failed}, {stopped} stopped"),
            });
            let is_best = self.end.best.as_ref() == Some(&tried.levels);
            if is_best {
                cells.push("best".to_owned());
                table.strong_row(cells);
            } else {
                cells.push(self.broken(tried).join(", "));
                table.row(cells);
            }
        }
        table.render(page.width, page.style)
    }

    /// The levels that were run, in their own order where they have one.
    fn by_level(&self) -> Vec<&Tried> {
        let mut tried: Vec<&Tried> = self.history.tried.iter().collect();
        tried.retain(|tried| tried.runs() > 0);
        let key = |tried: &Tried| -> Vec<f64> {
            let varied = self.question.varied.iter();
            varied
                .map(|&at| tried.levels[at].as_number().unwrap_or(0.0))
                .collect()
        };
        tried.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
        });
        tried
    }

    fn varied(&self, levels: &[Level]) -> Vec<String> {
        let varied = self.question.varied.iter();
        varied.map(|&at| levels[at].to_string()).collect()
    }

    /// The limits that a level breaks, in words.
    fn broken(&self, tried: &Tried) -> Vec<String> {
        let limits = self.question.limits.iter().zip(tried.limited_means());
        limits
            .filter(|(bound, mean)| mean.is_some_and(|mean| !bound.is_kept_by(mean)))
            .map(|(bound, _)| format!("not {}", bound.text))
            .collect()
    }

    fn verdict(&self) -> String {
        let Some(best) = &self.end.best else {
            return "No level is worth having.".to_owned();
        };
        let words = self.question.words(self.study, best);
        let Some(tried) = self.history.find(best) else {
            return format!("Best: {words}.");
        };
        let name = &self.question.response;
        match (tried.mean(), tried.half_width(CONFIDENCE)) {
            (Some(mean), Some(half)) => format!(
                "Best: {words}, {name} {} ± {} over {} runs.",
                significant(mean, 4),
                significant(half, 2),
                tried.values.len()
            ),
            (Some(mean), None) => format!("Best: {words}, {name} {}.", significant(mean, 4)),
            (None, _) => format!("Best: {words}, without a {name} yet."),
        }
    }

    /// Levels whose interval overlaps that of the best: the choice among them is
    /// not the data's.
    fn near(&self) -> Vec<&Tried> {
        let best = self.end.best.as_ref();
        let Some(best) = best.and_then(|levels| self.history.find(levels)) else {
            return Vec::new();
        };
        let span = |tried: &Tried| {
            let (mean, half) = (tried.mean()?, tried.half_width(CONFIDENCE)?);
            Some((mean - half, mean + half))
        };
        let Some((low, high)) = span(best) else {
            return Vec::new();
        };
        let mut near = self.by_level();
        near.retain(|tried| {
            let overlaps = span(tried).is_some_and(|(from, to)| from <= high && low <= to);
            overlaps && tried.keeps && tried.levels != best.levels && self.comparable(tried, best)
        });
        near
    }

    /// Of a search over budgets, only levels on the same budget say anything
    /// about each other.
    fn comparable(&self, a: &Tried, b: &Tried) -> bool {
        !self.by_budget || same_budget(self.question, a, b)
    }

    fn not_told_apart(&self) -> Option<String> {
        let near = self.near();
        if near.is_empty() {
            return None;
        }
        let words: Vec<String> = near
            .iter()
            .map(|tried| self.question.words(self.study, &tried.levels))
            .collect();
        Some(format!(
            "The 95% intervals of {} overlap that of the best: they may be as good.",
            words.join(", ")
        ))
    }

    /// For programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let levels: Vec<Value> = self.by_level().into_iter().map(|t| self.level(t)).collect();
        let best = self.end.best.as_ref();
        let best = best.and_then(|levels| self.history.find(levels));
        json!({
            "strategy": self.strategy,
            "objective": {
                "response": self.question.response,
                "direction": self.question.direction.word(),
            },
            "confidence": CONFIDENCE,
            "levels": levels,
            "best": best.map(|tried| self.level(tried)),
            "overlapping": self.near().iter().map(|t| self.settings(t)).collect::<Vec<_>>(),
            "reason": self.end.reason,
            "why": self.end.why,
            "unexplored": self.end.unexplored.json,
            "runs": self.history.run_count(),
            "failed": self.history.failed(),
            "seconds": self.history.seconds(),
        })
    }

    fn settings(&self, tried: &Tried) -> Value {
        let pair = |&at: &usize| {
            let name = self.study.factors()[at].name.clone();
            (name, level_json(&tried.levels[at]))
        };
        let map: serde_json::Map<String, Value> = self.question.varied.iter().map(pair).collect();
        Value::Object(map)
    }

    fn level(&self, tried: &Tried) -> Value {
        json!({
            "factors": self.settings(tried),
            "mean": tried.mean(),
            "half_width": tried.half_width(CONFIDENCE),
            "runs": tried.runs(),
            "failed": tried.failed,
            "stopped_early": tried.stopped,
            "broken_limits": self.broken(tried),
            "seconds": tried.seconds,
        })
    }
}
