//! Applications of Spark, from their event logs.

use super::{DONE, DURATION, Gathered, ImportError};
use paceline_spark::Application;
use std::path::Path;

/// One row per log at `path`, which is a log or a directory of them.
pub(super) fn logs(path: &Path) -> Result<Vec<Gathered>, ImportError> {
    let failed = |source| ImportError::Io {
        path: path.to_owned(),
        source,
    };
    let mut logs = match path.is_dir() {
        true => paceline_spark::find(path).map_err(failed)?,
        false => vec![path.to_owned()],
    };
    logs.sort();
    let mut runs = Vec::new();
    for log in logs {
        runs.push(gathered(&paceline_spark::read(&log)?, &log));
    }
    Ok(runs)
}

fn gathered(application: &Application, log: &Path) -> Gathered {
    let file = log.file_name().unwrap_or_default();
    let id = application.id.clone();
    let totals = &application.totals;
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let setting = |name: &str, value: String| (name.to_owned(), value);
    let result = |name: &str, value: f64| (name.to_owned(), value);
    let failed = application.jobs.iter().any(|job| job.failed);
    Gathered {
        id: id.unwrap_or_else(|| file.to_string_lossy().into_owned()),
        outcome: if failed { "failed" } else { DONE }.to_owned(),
        settings: [
            setting("application", application.name.clone()),
            setting("executors", application.peak_executors().to_string()),
            setting("slots", application.slots().to_string()),
        ]
        .into(),
        results: [
            result(DURATION, seconds(application.wall_ms())),
            result("driver_s", seconds(application.driver_ms())),
            result("slots_s", seconds(application.slot_ms())),
            result("idle_share", application.idle_share()),
            result("jobs", application.jobs.len() as f64),
            result("stages", application.stages.len() as f64),
            result("tasks", totals.tasks as f64),
            result("failed_tasks", totals.failed as f64),
        ]
        .into(),
    }
}
