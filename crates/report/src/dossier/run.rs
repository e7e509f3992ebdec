//! The page about one run.

use super::record::{self, Opened};
use super::{Dossier, Origin, RunPart, Standing};
use crate::number::{bytes, significant};
use paceline_model::Verdict;
use paceline_records::{Manifest, State};

/// Where a run stands, and how it ended in words.
#[must_use]
pub fn standing(manifest: &Manifest, state: State) -> (Standing, String) {
    match (state, &manifest.end) {
        (State::Live, _) | (_, None) => (Standing::Unfinished, "still running".to_owned()),
        (_, Some(end)) => {
            let standing = match end.outcome.verdict() {
                Verdict::Done => Standing::Done,
                Verdict::Failed => Standing::Failed,
                Verdict::Unfinished => Standing::Unfinished,
            };
            (standing, end.outcome.to_string())
        }
    }
}

impl Dossier<'static> {
    /// The report on one run.
    #[must_use]
    pub fn of_run(opened: Opened, state: State, origin: Origin) -> Self {
        of_run(opened, state, origin)
    }
}

fn of_run(opened: Opened, state: State, origin: Origin) -> Dossier<'static> {
    let manifest = &opened.manifest;
    let start = &manifest.start;
    let name = start.name.clone().unwrap_or_else(|| start.id.to_string());
    let end = manifest.end.as_ref();
    let (standing, outcome) = standing(manifest, state);
    let mut origin = record::origin(origin, [manifest].into_iter());
    for (factor, level) in &start.factors {
        origin.facts.push((factor.clone(), level.to_string()));
    }
    let limits = &start.limits;
    let mut limit = |name: &str, value: Option<String>| {
        let value = value.map(|value| (name.to_owned(), value));
        origin.facts.extend(value);
    };
    limit("CPU limit", limits.cpus.map(|cpus| cpus.to_string()));
    limit("memory limit", limits.memory_bytes.map(|b| bytes(b as f64)));
    limit("time limit", limits.timeout.map(|time| time.to_string()));
    let results = end.map(|end| end.responses.clone()).unwrap_or_default();
    if !results.is_empty() {
        let all = results.iter();
        let all: Vec<String> = all
            .map(|(name, value)| format!("{name} {}", significant(*value, 5)))
            .collect();
        origin
            .facts
            .push(("last reported".to_owned(), all.join(", ")));
    }
    Dossier {
        title: name.clone(),
        lead: start.argv.join(" "),
        study: None,
        runs: vec![RunPart {
            name,
            levels: Vec::new(),
            responses: Vec::new(),
            results: results.into_iter().collect(),
            standing,
            outcome,
            duration_s: end.map(|end| end.duration.as_secs()),
            noise: None,
            record: Some(opened.part),
        }],
        left_out: 0,
        origin,
    }
}
