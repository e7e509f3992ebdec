//! What the event logs say that Spark applications of a run have left.

use crate::reports::{Report, ReportKind};
use paceline_model::error_chain;
use paceline_records::event_log_dir;
use paceline_spark::{Application, Held, Measure, find, read};
use std::path::Path;

/// The measures of the run's Spark application and what its user should know,
/// from the logs in the run's directory. Nothing if no application was to leave
/// one.
pub(crate) fn reports(dir: &Path) -> Vec<Report> {
    let folder = event_log_dir(dir);
    let logs = match find(&folder) {
        Ok(logs) => logs,
        Err(error) => return vec![notice(format!("cannot read {}: {error}", folder.display()))],
    };
    if logs.is_empty() {
        // Only an empty folder goes.
        return match std::fs::remove_dir(&folder) {
            Ok(()) => vec![notice(
                "Spark has left no event log: no application started, or its driver ran on \
                 another machine (deploy mode `cluster`)"
                    .to_owned(),
            )],
            Err(_) => Vec::new(),
        };
    }
    let mut reports = Vec::new();
    let mut applications = Vec::new();
    for log in &logs {
        match read(log) {
            Ok(application) => applications.push(application),
            Err(error) => reports.push(notice(error_chain(&error))),
        }
    }
    if applications.len() > 1 {
        reports.push(notice(format!(
            "{} Spark applications ran; the measures are of the longest",
            applications.len()
        )));
    }
    if let Some(application) = applications.iter().max_by_key(|it| it.wall_ms()) {
        reports.extend(measures(application));
    }
    reports
}

fn measures(application: &Application) -> Vec<Report> {
    let held = Held::of(application);
    let numbers = Measure::ALL.iter().filter_map(|measure| {
        let value = measure.of(application, held.as_ref())?;
        Some(report(measure.name(), ReportKind::Metric(value)))
    });
    let told = application.notices.iter().map(|it| notice(it.to_string()));
    numbers.chain(told).collect()
}

fn notice(text: String) -> Report {
    report("spark", ReportKind::Notice(text))
}

fn report(name: &str, kind: ReportKind) -> Report {
    Report {
        worker: None,
        step: None,
        name: name.to_owned(),
        kind,
    }
}
