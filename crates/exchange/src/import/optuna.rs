//! Optuna's trials, from its journal file or its table.

use super::{DONE, DURATION, Gathered, ImportError, MOST_BYTES, rows};
use indexmap::IndexMap;
use serde_json::Value;
use std::path::Path;

/// `JournalOperation` of Optuna's journal storage, as far as it tells of trials.
const CREATE_STUDY: u64 = 0;
const CREATE_TRIAL: u64 = 4;
const SET_PARAM: u64 = 5;
const SET_STATE: u64 = 6;

/// The trials of a journal: one JSON object per line, which together are the state.
pub(super) fn journal(path: &Path) -> Result<Vec<Gathered>, ImportError> {
    let text = paceline_files::read_text(path, MOST_BYTES)?;
    let mut trials: Vec<Gathered> = Vec::new();
    let mut studies = 0_usize;
    // The study's number of each trial: trials of several studies share one count.
    let mut of_study: Vec<u64> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (place, line) in lines.iter().enumerate() {
        let wrong = |what: &str| ImportError::Line {
            path: path.to_owned(),
            line: place as u64 + 1,
            what: what.to_owned(),
        };
        let entry: Value = match serde_json::from_str(line) {
            Ok(entry) => entry,
            // A crash cuts the last line.
            Err(_) if place + 1 == lines.len() && !text.ends_with('\n') => break,
            Err(_) => return Err(wrong("not an entry of a journal")),
        };
        let trial_of = |trials: &mut Vec<Gathered>| {
            let number = entry["trial_id"]
                .as_u64()
                .and_then(|n| usize::try_from(n).ok());
            let number = number.filter(|&number| number < trials.len());
            number.ok_or_else(|| wrong("the entry names no trial that was created"))
        };
        match entry["op_code"].as_u64() {
            Some(CREATE_STUDY) => studies += 1,
            Some(CREATE_TRIAL) => {
                let study = entry["study_id"].as_u64().unwrap_or(0);
                let number = of_study.iter().filter(|&&of| of == study).count();
                of_study.push(study);
                let mut trial = Gathered {
                    id: match studies {
                        0 | 1 => format!("trial {number}"),
                        _ => format!("study {study} trial {number}"),
                    },
                    outcome: "unfinished".to_owned(),
                    ..Gathered::default()
                };
                times(&mut trial, &entry, "datetime_start");
                // A trial may be added as a whole.
                state(&mut trial, &entry);
                let spaces = entry["distributions"].as_object();
                for (name, value) in entry["params"].as_object().into_iter().flatten() {
                    let space = spaces.and_then(|spaces| spaces.get(name));
                    let value = external(value, space.and_then(Value::as_str));
                    trial.settings.insert(name.clone(), value);
                }
                trials.push(trial);
            }
            Some(SET_PARAM) => {
                let number = trial_of(&mut trials)?;
                let name = entry["param_name"].as_str();
                let name = name.ok_or_else(|| wrong("the entry has no `param_name`"))?;
                let space = entry["distribution"].as_str();
                let value = external(&entry["param_value_internal"], space);
                trials[number].settings.insert(name.to_owned(), value);
            }
            Some(SET_STATE) => {
                let number = trial_of(&mut trials)?;
                times(&mut trials[number], &entry, "datetime_start");
                state(&mut trials[number], &entry);
            }
            Some(_) => {}
            None => return Err(wrong("the entry has no `op_code`")),
        }
    }
    for trial in &mut trials {
        trial.results.shift_remove(STARTED);
    }
    Ok(trials)
}

/// Where a trial's start waits for its end.
const STARTED: &str = "\0started";

fn times(trial: &mut Gathered, entry: &Value, name: &str) {
    if let Some(start) = entry[name].as_str().and_then(seconds) {
        trial.results.insert(STARTED.to_owned(), start);
    }
}

fn state(trial: &mut Gathered, entry: &Value) {
    trial.outcome = match entry["state"].as_u64() {
        Some(1) => DONE,
        Some(2) => "pruned",
        Some(3) => "failed",
        Some(_) => "unfinished",
        None => return,
    }
    .to_owned();
    let values: Vec<f64> = match entry["values"].as_array() {
        Some(values) => values.iter().filter_map(Value::as_f64).collect(),
        // A trial that was added as a whole has one value without a list.
        None => entry["value"].as_f64().into_iter().collect(),
    };
    for (place, value) in values.iter().enumerate() {
        trial
            .results
            .insert(value_name(values.len(), place), *value);
    }
    let end = entry["datetime_complete"].as_str().and_then(seconds);
    if let (Some(start), Some(end)) = (trial.results.get(STARTED), end) {
        let took = end - start;
        trial.results.insert(DURATION.to_owned(), took);
    }
}

/// As Optuna's own table calls them.
fn value_name(count: usize, place: usize) -> String {
    match count {
        1 => "value".to_owned(),
        _ => format!("values_{place}"),
    }
}

/// A parameter as the user knows it: a category is stored as its place.
fn external(value: &Value, distribution: Option<&str>) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            // Whole numbers are stored as floats.
            Some(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    };
    let space: Option<Value> = distribution.and_then(|text| serde_json::from_str(text).ok());
    let choices = space
        .as_ref()
        .and_then(|space| space["attributes"]["choices"].as_array());
    let choice = choices.and_then(|choices| choices.get(value.as_f64()? as usize));
    plain(choice.unwrap_or(value))
}

/// The seconds of `2026-11-18T08:01:02.123456`, from some midnight long ago.
fn seconds(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let time = time.trim_end_matches('Z').split(['+', '-']).next()?;
    let mut time = time.splitn(3, ':');
    let hours: f64 = time.next()?.parse().ok()?;
    let minutes: f64 = time.next()?.parse().ok()?;
    let seconds: f64 = time.next()?.parse().ok()?;
    // Days of the civil calendar, from a March.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    let days = days + (153 * m + 2) / 5 + day;
    Some(days as f64 * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds)
}

/// The table that `study.trials_dataframe().to_csv(…)` writes.
pub(super) fn table(path: &Path) -> Result<Vec<Gathered>, ImportError> {
    let (names, rows) = rows(path)?;
    let place = |name: &str| names.iter().position(|known| known == name);
    let runs = rows.iter().map(|(line, row)| {
        let text = |name: &str| place(name).map_or("", |i| row[i].as_str());
        let mut settings = IndexMap::new();
        let mut results = IndexMap::new();
        for (name, value) in names.iter().zip(row).filter(|(_, value)| !value.is_empty()) {
            if let Some(name) = name.strip_prefix("params_") {
                settings.insert(name.to_owned(), value.clone());
            } else if name == "value" || name.starts_with("values_") {
                results.insert(name.clone(), value.parse().unwrap_or(f64::NAN));
            } else if let (Some(name), Ok(value)) =
                (name.strip_prefix("user_attrs_"), value.parse())
            {
                results.insert(name.to_owned(), value);
            }
        }
        let times = (
            seconds(text("datetime_start")),
            seconds(text("datetime_complete")),
        );
        if let (Some(start), Some(end)) = times {
            results.insert(DURATION.to_owned(), end - start);
        }
        Gathered {
            id: match text("number") {
                "" => format!("line {line}"),
                number => format!("trial {number}"),
            },
            outcome: match text("state") {
                "COMPLETE" => DONE.to_owned(),
                other => other.to_lowercase(),
            },
            settings,
            results,
        }
    });
    Ok(runs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Optuna 5.0 writes it.
    const JOURNAL: &str = r#"{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]}
{"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-11-18T08:00:00.000000"}
{"op_code": 5, "worker_id": "w", "trial_id": 0, "param_name": "opt", "param_value_internal": 1, "distribution": "{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [\"sgd\", \"adam\"]}}"}
{"op_code": 5, "worker_id": "w", "trial_id": 0, "param_name": "n", "param_value_internal": 3.0, "distribution": "{\"name\": \"IntDistribution\", \"attributes\": {\"log\": false, \"step\": 1, \"low\": 1, \"high\": 4}}"}
{"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 1, "values": [0.25], "datetime_complete": "2026-11-18T08:00:02.500000"}
{"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-11-18T08:01:00.000000+00:00"}
{"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-11-18T08:02:00.000000+00:00", "state": 1, "value": 3.5, "values": null, "datetime_complete": "2026-11-18T08:02:01.000000+00:00", "distributions": {"opt": "{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [\"sgd\", \"adam\"]}}"}, "params": {"opt": 0}}
"#;

    #[test]
    fn a_journal_is_replayed_and_a_cut_last_line_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.log");
        std::fs::write(&path, format!("{JOURNAL}{{\"op_code\": 5, \"tri")).unwrap();
        let trials = journal(&path).unwrap();
        assert_eq!(trials.len(), 3);
        assert_eq!(trials[2].results["value"], 3.5);
        assert_eq!(trials[2].results["duration_s"], 1.0);
        assert_eq!(trials[2].settings["opt"], "sgd");
        assert_eq!(trials[0].settings["opt"], "adam");
        assert_eq!(trials[0].settings["n"], "3");
        assert_eq!(trials[0].results["value"], 0.25);
        assert_eq!(trials[0].results["duration_s"], 2.5);
        assert_eq!(
            (trials[0].outcome.as_str(), trials[1].outcome.as_str()),
            (DONE, "unfinished")
        );
        assert_eq!(trials[1].results.len(), 0);
        let damaged = JOURNAL.replacen("\"trial_id\": 0", "\"trial_id\": 7", 1);
        std::fs::write(&path, damaged).unwrap();
        let error = journal(&path).unwrap_err().to_string();
        assert!(error.contains(":3: "), "{error}");
    }

    #[test]
    fn times_are_counted_over_months_and_leap_years() {
        let between = |a, b| seconds(b).unwrap() - seconds(a).unwrap();
        assert_eq!(
            between("2024-02-28T23:59:59", "2024-03-01T00:00:00"),
            86_401.0
        );
        assert_eq!(between("2025-12-31 23:59:59.5", "2026-01-01T00:00:00"), 0.5);
        assert_eq!(seconds("yesterday"), None);
    }
}
