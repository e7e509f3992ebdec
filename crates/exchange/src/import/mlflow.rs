//! Runs that MLflow has kept, in files or behind a server.

use super::{DONE, DURATION, Gathered, ImportError};
use crate::http::Server;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The most bytes of a parameter, and of a metric's history.
const MOST_PARAM: u64 = 1 << 20;
const MOST_METRIC: u64 = 256 << 20;
/// What a run says of itself.
const META: &str = "meta.yaml";
const API: &str = "/api/2.0/mlflow";

/// Whether `dir` is a store, an experiment or a run.
pub(super) fn is_store(dir: &Path) -> bool {
    let has_meta = |dir: &Path| dir.join(META).is_file();
    has_meta(dir)
        || std::fs::read_dir(dir)
            .is_ok_and(|entries| entries.flatten().any(|entry| has_meta(&entry.path())))
}

/// The runs below `dir`: a store, an experiment or a run.
pub(super) fn files(dir: &Path) -> Result<Vec<Gathered>, ImportError> {
    let is_run = |dir: &Path| dir.join(META).is_file() && dir.join("metrics").is_dir();
    let mut dirs = vec![dir.to_owned()];
    if !is_run(dir) {
        dirs = below(dir)?;
        if !dirs.iter().any(|dir| is_run(dir)) {
            let mut runs = Vec::new();
            for experiment in dirs {
                runs.extend(below(&experiment)?);
            }
            dirs = runs;
        }
    }
    let runs = dirs.into_iter().filter(|dir| is_run(dir));
    let gathered: Result<Vec<_>, _> = runs.map(|dir| run(&dir)).collect();
    Ok(gathered?.into_iter().flatten().collect())
}

/// The directories in a directory, by name.
fn below(dir: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let failed = |source| ImportError::Io {
        path: dir.to_owned(),
        source,
    };
    let entries = std::fs::read_dir(dir).map_err(failed)?;
    let mut dirs = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            dirs.push(path);
        }
    }
    dirs.sort();
    Ok(dirs)
}

/// Nothing for a run that was deleted.
fn run(dir: &Path) -> Result<Option<Gathered>, ImportError> {
    let meta = paceline_files::read_text(&dir.join(META), MOST_PARAM)?;
    // One scalar per line, as MLflow writes it.
    let field = |name: &str| {
        let mut lines = meta.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = value.trim().trim_matches(['\'', '"']);
        (!value.is_empty() && value != "null").then(|| value.to_owned())
    };
    if field("lifecycle_stage").is_some_and(|stage| stage == "deleted") {
        return Ok(None);
    }
    let id = field("run_name").or_else(|| field("run_id"));
    let mut gathered = Gathered {
        id: id.unwrap_or_else(|| name_of(dir)),
        // `RunStatus` of MLflow, by its number in the file store.
        outcome: match field("status").as_deref() {
            Some("3" | "FINISHED") => DONE,
            Some("4" | "FAILED") => "failed",
            Some("5" | "KILLED") => "killed",
            _ => "unfinished",
        }
        .to_owned(),
        ..Gathered::default()
    };
    let time = |name| field(name)?.parse::<f64>().ok();
    for (name, path) in leaves(&dir.join("params"))? {
        let value = paceline_files::read_text(&path, MOST_PARAM)?;
        gathered.settings.insert(name, value.trim_end().to_owned());
    }
    for (name, path) in leaves(&dir.join("metrics"))? {
        let history = paceline_files::read_text(&path, MOST_METRIC)?;
        // Each line is a time, a value and a step; the last one counts.
        let last = history.lines().rev().find(|line| !line.trim().is_empty());
        let value = last.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        let value = value.ok_or_else(|| ImportError::Line {
            path: path.clone(),
            line: history.lines().count() as u64,
            what: "a line of a metric is a time, a value and a step".to_owned(),
        })?;
        gathered.results.insert(name, value);
    }
    if let (Some(start), Some(end)) = (time("start_time"), time("end_time")) {
        let seconds = (end - start) / 1000.0;
        gathered
            .results
            .entry(DURATION.to_owned())
            .or_insert(seconds);
    }
    Ok(Some(gathered))
}

/// The files below a directory by their path, which is the name: a name with a
/// slash is a file in a directory. None, if there is no such directory.
fn leaves(dir: &Path) -> Result<Vec<(String, PathBuf)>, ImportError> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), dir.to_owned())];
    while let Some((prefix, dir)) = open.pop() {
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ImportError::Io { path: dir, source }),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = format!("{prefix}{}", name_of(&path));
            match path.is_dir() {
                true => open.push((format!("{name}/"), path)),
                false => found.push((name, path)),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The runs of an experiment by its name; without one, of all experiments.
pub(super) fn server(
    server: &Server,
    experiment: Option<&str>,
) -> Result<Vec<Gathered>, ImportError> {
    let body = json!({ "max_results": 1000 });
    let answer = ask(server, "experiments/search", &body)?;
    let known = answer.get("experiments").and_then(Value::as_array);
    let known: Vec<(&str, &str)> = known
        .into_iter()
        .flatten()
        .filter_map(|one| Some((one["experiment_id"].as_str()?, one["name"].as_str()?)))
        .collect();
    let wanted = known
        .iter()
        .filter(|(_, name)| experiment.is_none_or(|want| want == *name));
    let ids: Vec<&str> = wanted.map(|(id, _)| *id).collect();
    if let (true, Some(name)) = (ids.is_empty(), experiment) {
        let known: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
        return Err(ImportError::NoExperiment {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    let mut runs = Vec::new();
    let mut token = Value::Null;
    loop {
        let body = json!({ "experiment_ids": ids, "max_results": 1000, "page_token": token });
        let answer = ask(server, "runs/search", &body)?;
        let page = answer.get("runs").and_then(Value::as_array);
        runs.extend(page.into_iter().flatten().map(told));
        match answer.get("next_page_token") {
            Some(next) if next.as_str().is_some_and(|next| !next.is_empty()) => {
                token = next.clone();
            }
            _ => return Ok(runs),
        }
    }
}

fn ask(server: &Server, path: &str, body: &Value) -> Result<Value, ImportError> {
    let answer = server.ask(&format!("POST {API}/{path}"), Some(body))?;
    answer.ok_or_else(|| ImportError::NoRuns(server.place().to_owned()))
}

/// A run as the server tells it.
fn told(run: &Value) -> Gathered {
    let info = &run["info"];
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    let pairs = |name: &str| {
        let pairs = run["data"][name].as_array().into_iter().flatten();
        pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), pair["value"].clone())))
    };
    let number = |value: &Value| match value {
        // What is not finite is a word.
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let mut gathered = Gathered {
        id: match text("run_name") {
            name if name.is_empty() => text("run_id"),
            name => name,
        },
        outcome: match text("status").as_str() {
            "FINISHED" => DONE.to_owned(),
            other => other.to_lowercase(),
        },
        settings: pairs("params")
            .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        results: pairs("metrics")
            .filter_map(|(name, value)| Some((name, number(&value)?)))
            .collect(),
    };
    let time = |name: &str| number(&info[name]);
    if let (Some(start), Some(end)) = (time("start_time"), time("end_time")) {
        let seconds = (end - start) / 1000.0;
        gathered
            .results
            .entry(DURATION.to_owned())
            .or_insert(seconds);
    }
    gathered
}
