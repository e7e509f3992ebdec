//! Other tools' runs as one table: what was set, what came of it, one row per run.
//!
//! The table is a CSV as `analyze` and `pick` take it. A run that did not end well
//! keeps its row and says so in the column `outcome`; Paceline leaves it out.

mod mlflow;
mod optuna;
mod spark;
mod wandb;

use crate::http::{HttpError, Server};
use indexmap::IndexMap;
use paceline_answers::{Explained, Fault};
use paceline_files::ReadError;
use paceline_records::study::{Cell, ColumnKind, StudyTable};
use std::io;
use std::path::{Path, PathBuf};

/// Whose runs they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory of MLflow's file store.
    MlflowFiles,
    /// The table of runs that Weights & Biases exports as CSV.
    WandbCsv,
    /// A journal file of Optuna.
    OptunaJournal,
    /// Optuna's table of trials as CSV.
    OptunaCsv,
    /// Event logs of Spark.
    SparkLogs,
}

impl Kind {
    /// What it is, for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::MlflowFiles => "an MLflow directory",
            Self::WandbCsv => "a table of Weights & Biases",
            Self::OptunaJournal => "an Optuna journal",
            Self::OptunaCsv => "a table of Optuna's trials",
            Self::SparkLogs => "event logs of Spark",
        }
    }
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Nothing has this name.
    #[error("there is no file or directory `{}`", .0.display())]
    NotFound(PathBuf),
    /// It looks like nothing that is known.
    #[error("`{}` is no run of a tool that Paceline knows", .0.display())]
    Unknown(PathBuf),
    /// A database, which is not read.
    #[error("`{}` is an SQLite database, which Paceline does not read", .0.display())]
    Database(PathBuf),
    /// The other export of Weights & Biases: one chart over its steps.
    #[error("`{}` holds the values of a chart, not a table of runs", .0.display())]
    WandbChart(PathBuf),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// An event log of Spark cannot be read.
    #[error(transparent)]
    Spark(#[from] paceline_spark::ReadLogError),
    /// The server gives no answer, or refuses.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server knows no such experiment.
    #[error("MLflow has no experiment `{name}`; it has {known}")]
    NoExperiment {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There is nothing in it.
    #[error("`{0}` has no runs")]
    NoRuns(String),
}

impl Explained for ImportError {
    fn fault(&self) -> Fault {
        match self {
            Self::Io { .. } => Fault::World,
            Self::Http(error) => error.fault(),
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http(error) => return error.hint(),
            Self::Unknown(_) => {
                "it reads directories of MLflow, Spark's event logs, Optuna's journals and CSV \
                 files of Weights & Biases and Optuna"
            }
            Self::Database(_) => {
                "of MLflow, name its server: paceline import http://HOST:5000; of Optuna, write \
                 study.trials_dataframe().to_csv(\"trials.csv\") and import that"
            }
            Self::WandbChart(_) => {
                "export the table of runs: the project's Table view, Export, CSV Export"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// What was read.
#[derive(Debug)]
pub struct Imported {
    /// What it was, for people.
    pub what: String,
    /// One row per run.
    pub table: StudyTable,
    /// The columns that were set.
    pub settings: Vec<String>,
    /// The columns that came of them.
    pub results: Vec<String>,
    /// How many runs did not end well.
    pub unfinished: usize,
}

/// Reads what is at `path`, whatever tool it is of.
///
/// # Errors
/// If it is of none that is known, or cannot be read.
pub fn read(path: &Path) -> Result<Imported, ImportError> {
    let kind = recognize(path)?;
    let runs = match kind {
        Kind::MlflowFiles => mlflow::files(path)?,
        Kind::WandbCsv => wandb::table(path)?,
        Kind::OptunaJournal => optuna::journal(path)?,
        Kind::OptunaCsv => optuna::table(path)?,
        Kind::SparkLogs => spark::logs(path)?,
    };
    imported(
        kind.describe().to_owned(),
        &path.display().to_string(),
        runs,
    )
}

/// Reads the runs of an experiment from a server of MLflow.
///
/// # Errors
/// If the server does not answer or has no such experiment.
pub fn from_mlflow(server: &Server, experiment: Option<&str>) -> Result<Imported, ImportError> {
    let runs = mlflow::server(server, experiment)?;
    let what = format!("MLflow at {}", server.place());
    imported(what.clone(), &what, runs)
}

fn imported(what: String, place: &str, runs: Vec<Gathered>) -> Result<Imported, ImportError> {
    if runs.is_empty() {
        return Err(ImportError::NoRuns(place.to_owned()));
    }
    let unfinished = runs.iter().filter(|run| run.outcome != DONE).count();
    let (table, settings, results) = tabulated(&runs);
    Ok(Imported {
        what,
        table,
        settings,
        results,
        unfinished,
    })
}

/// How a run ended that counts.
const DONE: &str = "done";
/// The columns that every table has.
const RUN: &str = "run";
const OUTCOME: &str = "outcome";
/// How long a run took, if the tool says so.
const DURATION: &str = "duration_s";
/// No file of the other tools that is read whole is larger.
const MOST_BYTES: u64 = 1 << 30;

/// One run of another tool.
#[derive(Debug, Default)]
struct Gathered {
    id: String,
    outcome: String,
    settings: IndexMap<String, String>,
    results: IndexMap<String, f64>,
}

/// What the first bytes or names at `path` say.
fn recognize(path: &Path) -> Result<Kind, ImportError> {
    if path.is_dir() {
        if mlflow::is_store(path) {
            return Ok(Kind::MlflowFiles);
        }
        return match paceline_spark::find(path) {
            Ok(logs) if !logs.is_empty() => Ok(Kind::SparkLogs),
            _ => Err(ImportError::Unknown(path.to_owned())),
        };
    }
    if !path.exists() {
        return Err(ImportError::NotFound(path.to_owned()));
    }
    let mut head = [0_u8; 64 << 10];
    let count = {
        use std::io::Read;
        let file = paceline_files::open_regular(path, u64::MAX)?;
        let read = file.take(head.len() as u64).read(&mut head);
        read.map_err(|source| ImportError::Io {
            path: path.to_owned(),
            source,
        })?
    };
    let head = &head[..count];
    if head.starts_with(b"SQLite format 3\0") {
        return Err(ImportError::Database(path.to_owned()));
    }
    let text = String::from_utf8_lossy(head);
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with('{') && first.contains("\"op_code\"") {
        return Ok(Kind::OptunaJournal);
    }
    if first.starts_with('{') && first.contains("\"Event\"") || has_spark_ending(path) {
        return Ok(Kind::SparkLogs);
    }
    let columns: Vec<&str> = first
        .split(',')
        .map(|name| name.trim_matches('"'))
        .collect();
    if columns.contains(&"state") && columns.iter().any(|name| name.starts_with("params_")) {
        return Ok(Kind::OptunaCsv);
    }
    if columns.contains(&"Name") && columns.contains(&"State") {
        return Ok(Kind::WandbCsv);
    }
    if columns.first() == Some(&"Step") && columns.iter().any(|name| name.contains(" - ")) {
        return Err(ImportError::WandbChart(path.to_owned()));
    }
    Err(ImportError::Unknown(path.to_owned()))
}

/// Spark compresses its logs; the codec is the file's ending.
fn has_spark_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["zstd", "lz4", "snappy", "lzf"].contains(&ending))
}

/// All runs with the columns of any, in the order in which they first appear.
fn tabulated(runs: &[Gathered]) -> (StudyTable, Vec<String>, Vec<String>) {
    let mut settings: IndexMap<&str, ColumnKind> = IndexMap::new();
    let mut results: Vec<&str> = Vec::new();
    for run in runs {
        for (name, value) in &run.settings {
            let kind = settings.entry(name).or_insert(ColumnKind::Integer);
            *kind = widened(*kind, value);
        }
        for name in run.results.keys() {
            if !results.contains(&name.as_str()) {
                results.push(name);
            }
        }
    }
    // A name stands over one column: what came of a run gives way to what was set,
    // and both to the columns that every table has.
    let fixed = [RUN, OUTCOME];
    let setting_name = |name: &str| match fixed.contains(&name) {
        true => format!("{name} (setting)"),
        false => name.to_owned(),
    };
    let result_name = |name: &str| match fixed.contains(&name) || settings.contains_key(name) {
        true => format!("{name} (result)"),
        false => name.to_owned(),
    };
    let mut columns = vec![(RUN.to_owned(), ColumnKind::Text)];
    let kinds = settings.iter();
    columns.extend(kinds.map(|(name, kind)| (setting_name(name), *kind)));
    let numbers = results.iter();
    columns.extend(numbers.map(|name| (result_name(name), ColumnKind::Number)));
    columns.push((OUTCOME.to_owned(), ColumnKind::Text));
    let mut table = StudyTable::new(columns);
    for run in runs {
        let mut row = vec![Cell::Text(run.id.clone())];
        for (name, kind) in &settings {
            let value = run.settings.get(*name);
            row.push(value.map_or(Cell::Missing, |value| cell(*kind, value)));
        }
        for name in &results {
            let value = run.results.get(*name).filter(|value| value.is_finite());
            row.push(value.map_or(Cell::Missing, |&value| Cell::Number(value)));
        }
        row.push(Cell::Text(run.outcome.clone()));
        table.push(row);
    }
    let settings = settings.keys().map(|name| setting_name(name)).collect();
    let results = results.iter().map(|name| result_name(name)).collect();
    (table, settings, results)
}

fn widened(kind: ColumnKind, value: &str) -> ColumnKind {
    match kind {
        ColumnKind::Integer if value.parse::<i64>().is_ok() => ColumnKind::Integer,
        ColumnKind::Integer | ColumnKind::Number if is_number(value) => ColumnKind::Number,
        _ => ColumnKind::Text,
    }
}

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok_and(f64::is_finite)
}

fn cell(kind: ColumnKind, value: &str) -> Cell {
    match kind {
        ColumnKind::Integer => value.parse().map_or(Cell::Missing, Cell::Integer),
        ColumnKind::Number => value.parse().map_or(Cell::Missing, Cell::Number),
        ColumnKind::Text => Cell::Text(value.to_owned()),
    }
}

/// The names of a CSV file's columns, and its rows with their lines.
type CsvRows = (Vec<String>, Vec<(u64, Vec<String>)>);

/// The rows of a CSV file by column.
fn rows(path: &Path) -> Result<CsvRows, ImportError> {
    let bytes = paceline_files::read_regular(path, MOST_BYTES)?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let wrong = |error: csv::Error| ImportError::Line {
        path: path.to_owned(),
        line: error.position().map_or(1, csv::Position::line),
        what: "the row has more or fewer cells than the header, or is not UTF-8".to_owned(),
    };
    let names = reader.headers().map_err(wrong)?;
    let names = names.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(1, csv::Position::line);
        rows.push((line, record.iter().map(str::to_owned).collect()));
    }
    Ok((names, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, settings: &[(&str, &str)], results: &[(&str, f64)]) -> Gathered {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        Gathered {
            id: id.to_owned(),
            outcome: DONE.to_owned(),
            settings: owned(settings),
            results: results.iter().map(|(a, b)| ((*a).to_owned(), *b)).collect(),
        }
    }

    #[test]
    fn columns_are_of_all_runs_and_of_the_kind_that_holds_every_value() {
        let runs = [
            run("a", &[("lr", "1"), ("opt", "sgd")], &[("loss", 0.5)]),
            run("b", &[("lr", "0.1"), ("batch", "64")], &[("lr", 3.0)]),
        ];
        let (table, settings, results) = tabulated(&runs);
        assert_eq!(settings, ["lr", "opt", "batch"]);
        assert_eq!(results, ["loss", "lr (result)"]);
        let kinds: Vec<ColumnKind> = table.columns().iter().map(|(_, kind)| *kind).collect();
        use ColumnKind::{Integer, Number, Text};
        assert_eq!(kinds, [Text, Number, Text, Integer, Number, Number, Text]);
        assert_eq!(table.rows()[1][2], Cell::Missing);
        assert_eq!(table.rows()[1][5], Cell::Number(3.0));
    }

    #[test]
    fn what_nobody_knows_is_refused_with_a_word_on_what_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let check = |content: &[u8], expected: &str| {
            let path = dir.path().join("file");
            std::fs::write(&path, content).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.hint().is_some(), "{error}");
        };
        check(b"a,b\n1,2\n", "no run of a tool");
        check(b"", "no run of a tool");
        check(b"SQLite format 3\0abc", "SQLite");
        check(b"\"Step\",\"a - loss\"\n1,2\n", "chart");
        assert!(read(dir.path()).is_err());
        assert!(matches!(
            read(&dir.path().join("none")),
            Err(ImportError::NotFound(_))
        ));
    }
}
