//! The table of runs that Weights & Biases exports.
//!
//! Its CSV does not say which columns were set and which came of a run. What is the
//! same kind of thing in every project is known by its name; of the others, a column
//! that holds the same few values again and again was set, and numbers came of a run.

use super::{DONE, DURATION, Gathered, ImportError, is_number, rows};
use std::collections::BTreeSet;
use std::path::Path;

/// Columns about the run and not of it.
const ABOUT: [&str; 12] = [
    "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Group",
    "Job Type", "Hostname",
];

pub(super) fn table(path: &Path) -> Result<Vec<Gathered>, ImportError> {
    let (names, rows) = rows(path)?;
    let place = |name: &str| names.iter().position(|known| known == name);
    let kinds: Vec<Column> = (0..names.len())
        .map(|i| kind(&names[i], &rows, i))
        .collect();
    let runs = rows.iter().map(|(line, row)| {
        let text = |name: &str| place(name).map_or("", |i| row[i].as_str());
        let mut gathered = Gathered {
            id: match text("Name") {
                "" => format!("line {line}"),
                name => name.to_owned(),
            },
            outcome: match text("State") {
                "finished" => DONE.to_owned(),
                other => other.to_owned(),
            },
            ..Gathered::default()
        };
        if let Ok(seconds) = text("Runtime").parse() {
            gathered.results.insert(DURATION.to_owned(), seconds);
        }
        for ((name, kind), value) in names.iter().zip(&kinds).zip(row) {
            match kind {
                Column::About => {}
                _ if value.is_empty() => {}
                Column::Setting => {
                    gathered.settings.insert(name.clone(), value.clone());
                }
                Column::Result => {
                    let value = value.parse().unwrap_or(f64::NAN);
                    gathered.results.insert(name.clone(), value);
                }
            }
        }
        gathered
    });
    Ok(runs.collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    About,
    Setting,
    Result,
}

fn kind(name: &str, rows: &[(u64, Vec<String>)], column: usize) -> Column {
    if ABOUT.contains(&name) || name.starts_with('_') || name.is_empty() {
        return Column::About;
    }
    let values = rows.iter().map(|(_, row)| row[column].as_str());
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    let distinct: BTreeSet<&str> = values.iter().copied().collect();
    let numbers = values
        .iter()
        .all(|value| is_number(value) || *value == "NaN");
    // Measured numbers hardly ever repeat; what was set does, unless it was drawn.
    let repeats = 2 * distinct.len() <= values.len();
    match (values.is_empty(), numbers, repeats) {
        (true, ..) => Column::About,
        (_, true, false) => Column::Result,
        _ => Column::Setting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_was_set_and_what_does_not_was_measured() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wandb.csv");
        let csv = "\"Name\",\"State\",\"Runtime\",\"lr\",\"opt\",\"loss\",\"_step\"\n\
                   \"a\",\"finished\",\"12\",\"0.1\",\"sgd\",\"0.51\",\"9\"\n\
                   \"b\",\"finished\",\"13\",\"0.1\",\"adam\",\"0.42\",\"9\"\n\
                   \"c\",\"crashed\",\"2\",\"0.01\",\"sgd\",\"\",\"3\"\n\
                   \"d\",\"finished\",\"11\",\"0.01\",\"adam\",\"0.33\",\"9\"\n";
        std::fs::write(&path, csv).unwrap();
        let runs = table(&path).unwrap();
        assert_eq!(runs.len(), 4);
        assert_eq!(runs[0].settings["lr"], "0.1");
        assert_eq!(runs[0].results["loss"], 0.51);
        assert_eq!(runs[0].results["duration_s"], 12.0);
        assert_eq!(runs[2].outcome, "crashed");
        assert!(!runs[2].results.contains_key("loss"));
        assert!(!runs[0].results.contains_key("_step"));
    }
}
