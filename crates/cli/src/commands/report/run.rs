//! The page about one run.

use super::{Options, record};
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_model::Verdict;
use paceline_records::{Run, State};
use paceline_report::dossier::{Dossier, Origin, RunPart, Standing};
use paceline_report::iterations::Course;
use paceline_report::number::{bytes, significant};
use paceline_report::trace::Detail;
use serde_json::{Value, json};

/// Into so many stretches the iterations of workers are summed up.
const STRETCHES: usize = 12;

pub(super) fn page(
    run: &Run,
    options: &Options,
    origin: Origin,
) -> Result<(String, Value), Failure> {
    if options.slo.is_some() || options.objective.is_some() || !options.responses.is_empty() {
        return Err(Failure::user(anyhow!(
            "{} is one run, among which nothing can be picked",
            run.dir().display()
        ))
        .hint("a deadline, a response and an objective are for the directory of a study"));
    }
    let manifest = run.manifest();
    let metrics = 4;
    let nodes = manifest.start.machines.len();
    let mut opened = record::open(run, Some(Detail::for_runs(1, nodes, metrics)));
    if let Ok(part) = &mut opened.part {
        let mut course = Course::new(STRETCHES);
        run.each_iteration(|worker, row| course.add(worker, &row))
            .map_err(Failure::record)?;
        part.course = (!course.is_empty()).then_some(course);
    }
    let start = &manifest.start;
    let name = start.name.clone().unwrap_or_else(|| start.id.to_string());
    let end = manifest.end.as_ref();
    let (standing, outcome) = match (run.state(), end) {
        (State::Live, _) | (_, None) => (Standing::Unfinished, "still running".to_owned()),
        (_, Some(end)) => {
            let standing = match end.outcome.verdict() {
                Verdict::Done => Standing::Done,
                Verdict::Failed => Standing::Failed,
                Verdict::Unfinished => Standing::Unfinished,
            };
            (standing, end.outcome.to_string())
        }
    };
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
    let facts = json!({
        "kind": "run",
        "run": start.id.as_str(),
        "outcome": outcome,
    });
    let dossier = Dossier {
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
    };
    Ok((dossier.html(), facts))
}
