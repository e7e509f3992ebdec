//! MLflow's tracking server, by its REST API.
//!
//! A run is found again by a tag: what is complete there is left alone, and what was
//! cut is written again, which MLflow takes for the same values.

use crate::{ExportError, Progress, Server, Source, SourceRun};
use paceline_model::{EventKind, Measure, Verdict, WorkerId};
use paceline_records::{Manifest, Run};
use serde_json::{Value, json};

/// The tag that says which run of Paceline it is.
const TAG: &str = "paceline.run";
/// The most values of one request that MLflow takes.
const BATCH: usize = 1000;
/// The longest key and value that MLflow takes.
const LONGEST_KEY: usize = 250;
const LONGEST_VALUE: usize = 5000;
const API: &str = "/api/2.0/mlflow";

/// What came of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// MLflow's number of the experiment.
    pub experiment: String,
    /// The runs that were written.
    pub written: usize,
    /// Those that were there already.
    pub already: usize,
}

/// Writes the runs of `source` into an experiment, which is made if need be.
///
/// # Errors
/// If a record cannot be read, or the server does not take it.
pub fn export(
    source: &Source,
    server: &Server,
    experiment: &str,
    progress: &mut Progress<'_>,
) -> Result<Sent, ExportError> {
    let tracking = Tracking { server };
    let experiment = tracking.experiment(experiment)?;
    let mut sent = Sent {
        experiment,
        written: 0,
        already: 0,
    };
    for (done, one) in source.runs.iter().enumerate() {
        progress(done, source.runs.len(), &one.id);
        match tracking.run(&sent.experiment, source, one)? {
            true => sent.written += 1,
            false => sent.already += 1,
        }
    }
    Ok(sent)
}

struct Tracking<'a> {
    server: &'a Server,
}

impl Tracking<'_> {
    fn post(&self, path: &str, body: &Value) -> Result<Value, ExportError> {
        let request = format!("POST {API}/{path}");
        let answer = self.server.ask(&request, Some(body))?;
        answer.ok_or(ExportError::Answer {
            request,
            lacks: "answer",
        })
    }

    fn experiment(&self, name: &str) -> Result<String, ExportError> {
        let id = |answer: &Value, at: &str| {
            let id = answer.pointer(at).and_then(Value::as_str);
            id.map(str::to_owned)
        };
        let query = percent(name);
        let known = format!("GET {API}/experiments/get-by-name?experiment_name={query}");
        if let Some(answer) = self.server.ask(&known, None)?
            && let Some(id) = id(&answer, "/experiment/experiment_id")
        {
            return Ok(id);
        }
        let answer = self.post("experiments/create", &json!({ "name": name }))?;
        id(&answer, "/experiment_id").ok_or(ExportError::Answer {
            request: "experiments/create".to_owned(),
            lacks: "experiment_id",
        })
    }

    /// Whether the run was written; else it was there, complete.
    fn run(&self, experiment: &str, source: &Source, one: &SourceRun) -> Result<bool, ExportError> {
        let run = one.open()?;
        let manifest = run.manifest();
        let started = manifest.start.started.0;
        // Two studies may have a run of the same name, but not at the same microsecond.
        let mark = format!("{} {started}", one.id);
        let search = json!({
            "experiment_ids": [experiment],
            "filter": format!("tags.`{TAG}` = '{mark}'"),
            "max_results": 1,
        });
        let found = self.post("runs/search", &search)?;
        let text = |at: &str| found.pointer(at).and_then(Value::as_str);
        let status = text("/runs/0/info/status");
        let id = match text("/runs/0/info/run_id") {
            Some(_) if status.is_some_and(|status| status != "RUNNING") => return Ok(false),
            Some(id) => id.to_owned(),
            None => self.create(experiment, source, one, manifest, &mark)?,
        };
        for batch in values(&run)?.chunks(BATCH) {
            let body = json!({ "run_id": id, "metrics": batch });
            self.post("runs/log-batch", &body)?;
        }
        if let Some(end) = &manifest.end {
            let status = match end.outcome.verdict() {
                Verdict::Done => "FINISHED",
                Verdict::Failed => "FAILED",
                Verdict::Unfinished => "KILLED",
            };
            let ended = millis(started.saturating_add_unsigned(end.duration.0));
            let body = json!({ "run_id": id, "status": status, "end_time": ended });
            self.post("runs/update", &body)?;
        }
        Ok(true)
    }

    fn create(
        &self,
        experiment: &str,
        source: &Source,
        one: &SourceRun,
        manifest: &Manifest,
        mark: &str,
    ) -> Result<String, ExportError> {
        let start = &manifest.start;
        let name = start.name.as_deref().unwrap_or(&one.id);
        let mut tags = vec![
            tag(TAG, mark),
            tag("mlflow.runName", name),
            tag("mlflow.source.name", &start.argv.join(" ")),
            tag("paceline.version", &manifest.written_by),
        ];
        if source.study.is_some() {
            tags.push(tag("paceline.study", &source.title));
        }
        if let Some(git) = &start.git {
            tags.push(tag("mlflow.source.git.commit", &git.commit));
        }
        if let Some(end) = &manifest.end {
            tags.push(tag("paceline.outcome", &end.outcome.to_string()));
        }
        let body = json!({
            "experiment_id": experiment,
            "run_name": name,
            "start_time": millis(start.started.0),
            "tags": tags,
        });
        let answer = self.post("runs/create", &body)?;
        let id = answer.pointer("/run/info/run_id").and_then(Value::as_str);
        let id = id.ok_or(ExportError::Answer {
            request: "runs/create".to_owned(),
            lacks: "run_id",
        })?;
        let params: Vec<Value> = start
            .factors
            .iter()
            .map(|(name, level)| tag(&key(name), &level.to_string()))
            .collect();
        // MLflow takes a hundred parameters at a time.
        for some in params.chunks(100) {
            self.post("runs/log-batch", &json!({ "run_id": id, "params": some }))?;
        }
        Ok(id.to_owned())
    }
}

/// Everything that the run reported, came to and used, as MLflow's metrics.
fn values(run: &Run) -> Result<Vec<Value>, ExportError> {
    let started = run.manifest().start.started.0;
    let metric = |name: &str, value: f64, at: u64, step: u64| {
        // JSON has no word for what is not finite; MLflow reads these.
        let value = match value {
            _ if value.is_finite() => json!(value),
            _ if value.is_nan() => json!("NaN"),
            _ if value > 0.0 => json!("Infinity"),
            _ => json!("-Infinity"),
        };
        let time = millis(started.saturating_add_unsigned(at));
        json!({ "key": key(name), "value": value, "timestamp": time, "step": step })
    };
    let mut values = Vec::new();
    let mut reported: Vec<String> = Vec::new();
    for event in run.events()? {
        let Some(value) = event.value.filter(|_| event.kind == EventKind::Metric) else {
            continue;
        };
        let name = match event.worker {
            Some(WorkerId(worker)) if worker > 0 => format!("{}/rank {worker}", event.name),
            _ => event.name.clone(),
        };
        values.push(metric(&name, value, event.at.0, event.step.unwrap_or(0)));
        if !reported.contains(&name) {
            reported.push(name);
        }
    }
    if let Some(end) = &run.manifest().end {
        let own = end.responses.iter();
        for (name, value) in own.filter(|(name, _)| !reported.contains(name)) {
            values.push(metric(name, *value, end.duration.0, 0));
        }
        if !end.responses.contains_key("duration_s") {
            let seconds = end.duration.as_secs();
            values.push(metric("duration_s", seconds, end.duration.0, 0));
        }
    }
    let nodes = run.nodes()?;
    for node in &nodes {
        let place = match nodes.len() {
            1 => "system".to_owned(),
            _ => format!("system/{node}"),
        };
        for sample in run.samples_of(node)? {
            let sample = sample?;
            for &measure in Measure::ALL {
                if let Some(value) = sample.readings.get(measure) {
                    let name = format!("{place}/{}", measure.name());
                    let second = sample.at.as_secs().round() as u64;
                    values.push(metric(&name, value, sample.at.0, second));
                }
            }
        }
    }
    Ok(values)
}

fn tag(key: &str, value: &str) -> Value {
    let value: String = value.chars().take(LONGEST_VALUE).collect();
    json!({ "key": key, "value": value })
}

/// A name with the characters that MLflow allows.
fn key(name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || "_-. :/".contains(c);
    let plain = |c: char| if allowed(c) { c } else { '_' };
    name.chars().take(LONGEST_KEY).map(plain).collect()
}

fn millis(micros: i64) -> i64 {
    micros.div_euclid(1000)
}

/// Text as a part of a query.
pub(crate) fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_queries_hold_what_mlflow_allows() {
        assert_eq!(key("loss@1/test"), "loss_1/test");
        assert_eq!(percent("a b&ü"), "a%20b%26%C3%BC");
    }
}
