//! What is served, for programs: the queue and the studies and runs beside it.

use crate::queue::{Kept, Known, Progress, Stage, State, Work};
use crate::scheduler::outlook;
use paceline_answers::results::StudyState;
use paceline_records::{State as RecordState, list};
use paceline_runner::study::RunState;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Every job with what is expected of it; the keys are a promise.
#[must_use]
pub fn queue(state: &State, progress: &HashMap<String, Progress>, now: u64, cpus: u32) -> Value {
    let expected = outlook(state, progress, now, cpus);
    let jobs = state.jobs().iter().map(|one| {
        let own = expected.iter().find(|(id, ..)| *id == one.job.id);
        let share = progress
            .get(&one.job.id)
            .and_then(|progress| progress.share);
        job(one, own, share, now)
    });
    let count = |kept: Kept| state.jobs().iter().filter(|one| one.kept() == kept).count();
    let stated: f64 = state
        .jobs()
        .iter()
        .filter(|one| matches!(one.kept(), Kept::Kept | Kept::Broken))
        .filter_map(|one| one.job.probability)
        .sum();
    let refits = state.refits.iter().map(|(study, time, why)| {
        json!({ "study": study.to_string_lossy(), "time_ms": time, "why": why })
    });
    json!({
        "time_ms": now,
        "cpus": cpus,
        "jobs": jobs.collect::<Vec<_>>(),
        "promises": {
            "kept": count(Kept::Kept),
            "broken": count(Kept::Broken),
            "open": count(Kept::Open),
            "stated": stated,
        },
        "refits": refits.collect::<Vec<_>>(),
    })
}

fn job(
    one: &Known,
    expected: Option<&(String, f64, f64, f64)>,
    share: Option<f64>,
    now: u64,
) -> Value {
    let finite = |seconds: f64| seconds.is_finite().then_some(seconds);
    let (ended, outcome, duration, values) = match &one.stage {
        Stage::Ended {
            time_ms,
            outcome,
            duration_s,
            values,
            ..
        } => {
            let values = values
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)));
            let values: serde_json::Map<String, Value> = values.collect();
            (
                Some(*time_ms),
                Some(outcome.clone()),
                Some(*duration_s),
                Some(values),
            )
        }
        Stage::Cancelled { time_ms } => (Some(*time_ms), Some("cancelled".to_owned()), None, None),
        Stage::Waiting | Stage::Running { .. } => (None, None, None, None),
    };
    let since = match one.stage {
        Stage::Running { since_ms, .. } => Some(since_ms),
        _ => None,
    };
    let predictions = one
        .job
        .promise
        .iter()
        .flat_map(|promise| &promise.predictions);
    let predictions = predictions.map(|p| {
        json!({ "response": p.response, "value": p.value, "low": p.low, "high": p.high, "coverage": p.coverage })
    });
    let acts = one
        .acts
        .iter()
        .map(|(time, words)| json!({ "time_ms": time, "words": words }));
    json!({
        "id": one.job.id,
        "title": one.job.work.title(),
        "study": match &one.job.work {
            Work::Study { dir, .. } => Some(dir.to_string_lossy()),
            Work::Command { .. } => None,
        },
        "state": one.word(),
        "cpus": match one.held().len() {
            0 => one.job.cpus as usize,
            held => held,
        },
        "accepted_ms": one.job.accepted_ms,
        "deadline_ms": one.job.deadline_ms,
        "confidence": one.job.confidence,
        "probability": one.job.probability,
        "chance": expected.filter(|_| one.job.deadline_ms.is_some()).map(|(_, chance, ..)| *chance),
        "ends_expected_s": expected.filter(|_| !one.job.alone_s.is_empty()).and_then(|(.., half, _)| finite(*half)),
        "ends_latest_s": expected.filter(|_| !one.job.alone_s.is_empty()).and_then(|(.., latest)| finite(*latest)),
        "share_done": share,
        "since_ms": since,
        "worked_s": one.worked_s(now),
        "ended_ms": ended,
        "outcome": outcome,
        "duration_s": duration,
        "values": values,
        "predictions": predictions.collect::<Vec<_>>(),
        "promise": one.kept().word(),
        "because": one.job.because,
        "acts": acts.collect::<Vec<_>>(),
    })
}

/// So many folders of a directory are looked at.
const MOST_FOLDERS: usize = 10_000;

/// The studies and runs in a directory.
#[must_use]
pub fn directory(dir: &Path) -> Value {
    let mut studies: Vec<Value> = Vec::new();
    let mut runs: Vec<Value> = Vec::new();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<std::path::PathBuf> = entries
        .take(MOST_FOLDERS)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.push(dir.to_owned());
    folders.sort();
    for folder in &folders {
        if folder.join("plan.json").exists()
            && let Ok(state) = StudyState::read(folder)
        {
            studies.push(study(dir, folder, &state));
        }
    }
    for place in [dir.to_owned(), dir.join("runs")] {
        for listed in list(&place).into_iter().flatten() {
            let Ok(summary) = &listed.summary else {
                continue;
            };
            runs.push(json!({
                "path": relative(dir, &listed.dir),
                "title": summary.name.clone().unwrap_or_else(|| summary.argv.join(" ")),
                "state": match summary.state {
                    RecordState::Finished => "finished",
                    RecordState::Live => "running",
                    RecordState::Interrupted => "interrupted",
                },
                "outcome": summary.outcome.as_ref().map(ToString::to_string),
                "started": summary.started.to_string(),
                "duration_s": summary.duration.map(|duration| duration.as_secs()),
            }));
        }
    }
    json!({ "studies": studies, "runs": runs })
}

fn relative(dir: &Path, path: &Path) -> String {
    let own = path.strip_prefix(dir).unwrap_or(path);
    match own.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => own.to_string_lossy().into_owned(),
    }
}

fn study(dir: &Path, folder: &Path, state: &StudyState) -> Value {
    let counts = state.progress.counts();
    let mut seconds: Vec<f64> = Vec::new();
    let mut running = Vec::new();
    for (position, run) in state.plan.runs.iter().enumerate() {
        match state.progress.state(position) {
            RunState::Done { result, .. } => seconds.push(result.duration_s),
            RunState::Leased { attempt } if state.live => {
                let levels = state.plan.factors.iter().zip(state.plan.levels(run));
                let levels: Vec<String> = levels
                    .map(|(name, level)| format!("{name}={level}"))
                    .collect();
                running.push(json!({
                    "run": run.id.as_str(),
                    "path": relative(dir, &state.dir.attempt(&run.id, *attempt)),
                    "levels": levels.join(", "),
                }));
            }
            _ => {}
        }
    }
    let left = (counts.pending + counts.leased) as f64 / counts.leased.max(1) as f64;
    let eta = eta(&seconds, left);
    json!({
        "path": relative(dir, folder),
        "done": counts.done,
        "failed": counts.failed,
        "pending": counts.pending,
        "running": running,
        "live": state.live,
        "left_s": eta.map(|(half, ..)| half),
        "left_low_s": eta.map(|(_, low, _)| low),
        "left_high_s": eta.map(|(.., high)| high),
    })
}

/// How long so many more runs take, with the ends of a 95% interval: the sum of runs
/// like those that are done, whose order is by chance.
fn eta(seconds: &[f64], left: f64) -> Option<(f64, f64, f64)> {
    if seconds.len() < 2 || left <= 0.0 {
        return None;
    }
    let n = seconds.len() as f64;
    let mean = seconds.iter().sum::<f64>() / n;
    let variance = seconds.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Each run left varies, and the mean itself is known only so well.
    let spread = (variance * left * (1.0 + left / n)).sqrt();
    let t = paceline_dist::StudentT::new(n - 1.0).ok()?.quantile(0.975);
    let sum = mean * left;
    Some((sum, (sum - t * spread).max(0.0), sum + t * spread))
}

/// For Prometheus, in its text format.
#[must_use]
pub fn metrics(queue: &Value, watchers: usize) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, lines: Vec<(String, f64)>| {
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        for (labels, value) in lines {
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
    };
    let jobs = queue["jobs"].as_array().cloned().unwrap_or_default();
    let states = [
        "waiting",
        "running",
        "stopped for a while",
        "done",
        "failed",
        "cancelled",
    ];
    let counted = states.map(|state| {
        let count = jobs.iter().filter(|job| job["state"] == state).count();
        (format!("{{state=\"{state}\"}}"), count as f64)
    });
    gauge(
        "paceline_jobs",
        "Jobs of the queue by state.",
        counted.to_vec(),
    );
    let kept = ["kept", "broken", "open"].map(|word| {
        let count = queue["promises"][word].as_f64().unwrap_or(0.0);
        (format!("{{promise=\"{word}\"}}"), count)
    });
    gauge(
        "paceline_promises",
        "Promises by what became of them.",
        kept.to_vec(),
    );
    let stated = queue["promises"]["stated"].as_f64().unwrap_or(0.0);
    gauge(
        "paceline_promises_stated",
        "Promises that should have been kept by what was stated.",
        vec![(String::new(), stated)],
    );
    let cpus = queue["cpus"].as_f64().unwrap_or(0.0);
    gauge(
        "paceline_cpus",
        "CPUs that jobs share.",
        vec![(String::new(), cpus)],
    );
    gauge(
        "paceline_requests_open",
        "Connections open now.",
        vec![(String::new(), watchers as f64)],
    );
    text
}
