//! OpenMetrics 1.0 with timestamps: what Prometheus's `promtool tsdb
//! create-blocks-from openmetrics` takes for a past that it did not scrape.

use crate::{ExportError, Progress, Source};
use paceline_model::{EventKind, Measure, WorkerId};
use paceline_records::Run;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Writes `<run>.openmetrics` for each run into `dir`, and returns the files. The
/// samples of a family stand together, each series in the order of time.
///
/// # Errors
/// If a record cannot be read or a file cannot be written.
pub fn write(
    source: &Source,
    dir: &Path,
    progress: &mut Progress<'_>,
) -> Result<Vec<PathBuf>, ExportError> {
    paceline_files::create_directory(dir).map_err(|source| ExportError::Directory {
        path: dir.to_owned(),
        source,
    })?;
    let mut files = Vec::new();
    for (done, one) in source.runs.iter().enumerate() {
        progress(done, source.runs.len(), &one.id);
        let path = dir.join(format!("{}.openmetrics", one.id));
        let text = text_of(&one.open()?, &one.id)?;
        paceline_files::write(&path, text.as_bytes())?;
        files.push(path);
    }
    Ok(files)
}

fn text_of(run: &Run, id: &str) -> Result<String, ExportError> {
    let started = run.manifest().start.started.0;
    let mut text = String::new();
    let samples = run.samples()?;
    for &measure in Measure::ALL {
        let has_any = samples.iter().any(|(_, samples)| {
            let mut readings = samples.iter();
            readings.any(|sample| sample.readings.get(measure).is_some())
        });
        if !has_any {
            continue;
        }
        let family = format!("paceline_{}", measure.name());
        let unit = measure.name().rsplit('_').next().unwrap_or_default();
        let _ = writeln!(text, "# TYPE {family} gauge");
        let _ = writeln!(text, "# UNIT {family} {unit}");
        let _ = writeln!(text, "# HELP {family} {}", escaped(measure.describe()));
        for (node, samples) in &samples {
            let labels = labels(&[("run", id), ("node", node.as_str())]);
            for sample in samples {
                if let Some(value) = sample.readings.get(measure) {
                    line(&mut text, &family, &labels, value, started, sample.at.0);
                }
            }
        }
    }
    reported(run, id, &mut text)?;
    text.push_str("# EOF\n");
    Ok(text)
}

/// What the run reported: one family, the metric's name being a label.
fn reported(run: &Run, id: &str, text: &mut String) -> Result<(), ExportError> {
    let started = run.manifest().start.started.0;
    let events = run.events()?;
    let mut metrics: Vec<_> = events
        .iter()
        .filter(|event| event.kind == EventKind::Metric)
        .filter_map(|event| Some((&event.name, event.worker, event.at, event.value?)))
        .collect();
    if metrics.is_empty() {
        return Ok(());
    }
    metrics.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    let family = "paceline_reported";
    let _ = writeln!(text, "# TYPE {family} gauge");
    let _ = writeln!(text, "# HELP {family} what the command reported");
    for (place, (name, worker, at, value)) in metrics.iter().enumerate() {
        // A series has one value at a time: the last one said.
        let next = metrics.get(place + 1);
        if next.is_some_and(|next| (next.0, next.1, next.2) == (*name, *worker, *at)) {
            continue;
        }
        let worker = worker.map_or(String::new(), |WorkerId(worker)| worker.to_string());
        let labels = labels(&[("run", id), ("name", name), ("worker", &worker)]);
        line(text, family, &labels, *value, started, at.0);
    }
    Ok(())
}

fn line(text: &mut String, family: &str, labels: &str, value: f64, started: i64, at: u64) {
    let time = started.saturating_add_unsigned(at);
    let value = match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    };
    let (seconds, micros) = (time.div_euclid(1_000_000), time.rem_euclid(1_000_000));
    let _ = writeln!(text, "{family}{labels} {value} {seconds}.{micros:06}");
}

/// Empty labels are the same as absent ones, and left out.
fn labels(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_numbers_spelt_as_the_format_says() {
        let labels = labels(&[("run", "a\"b\\c\nd"), ("worker", "")]);
        assert_eq!(labels, r#"{run="a\"b\\c\nd"}"#);
        let check = |value, expected: &str| {
            let mut text = String::new();
            line(&mut text, "x", "{}", value, 1_500_000, 250_000);
            assert_eq!(text, format!("x{{}} {expected} 1.750000\n"));
        };
        check(1.5, "1.5");
        check(f64::NAN, "NaN");
        check(f64::INFINITY, "+Inf");
        check(f64::NEG_INFINITY, "-Inf");
    }
}
