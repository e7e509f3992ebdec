//! Reading the tables and dividing them.

use paceline_advise::runs::{Configuration, FactorColumn, Runs};
use paceline_numeric::Chance;
use std::path::Path;

/// A table whose settings were run several times.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) runs: Runs,
}

impl Table {
    /// Reads a CSV file without quotes whose last two columns are `time` and
    /// `accuracy`.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let said = |what: &str| format!("{}: {what}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| said(&error.to_string()))?;
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().ok_or_else(|| said("no header"))?;
        let rows: Vec<Vec<&str>> = lines.collect();
        let column = |at: usize| rows.iter().map(move |row| row[at]);
        let numbers = |at: usize| {
            column(at)
                .map(|cell| cell.parse().ok())
                .collect::<Option<Vec<f64>>>()
        };
        let factors = (0..names.len() - 2).map(|at| {
            let words = || FactorColumn::Words(column(at).map(str::to_owned).collect());
            (
                names[at].to_owned(),
                numbers(at).map_or_else(words, FactorColumn::Numeric),
            )
        });
        let responses = (names.len() - 2..names.len()).map(|at| {
            let values = numbers(at).ok_or_else(|| said("a response is no number"))?;
            Ok((names[at].to_owned(), values))
        });
        let responses = responses.collect::<Result<_, String>>()?;
        let runs = Runs::new(factors.collect(), responses, None);
        Ok(Self {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            runs: runs.map_err(|error| said(&error.to_string()))?,
        })
    }

    /// The runs of a setting.
    pub(crate) fn rows_of(&self, setting: &Configuration) -> Vec<usize> {
        let all = self.runs.settings().iter().enumerate();
        all.filter(|(_, other)| *other == setting)
            .map(|(row, _)| row)
            .collect()
    }
}

/// Rows to learn from and rows to judge by.
pub(crate) struct Division {
    pub(crate) train: Vec<usize>,
    pub(crate) test: Vec<usize>,
    /// Draws for whatever else is random about this division.
    pub(crate) draws: Chance,
}

/// The fewest settings to learn from.
const LEAST_SETTINGS: usize = 5;

/// A random division; runs of one setting may fall on both sides.
pub(crate) fn divide(table: &Table, count: usize, tested: usize, seed: u64) -> Division {
    let mut draws = Chance::new(seed, 0);
    let mut order: Vec<usize> = (0..table.runs.rows()).collect();
    loop {
        draws.shuffle(&mut order);
        let known = table.runs.select(&order[..count]);
        if known.distinct_settings().len() >= LEAST_SETTINGS {
            break;
        }
    }
    let end = order.len().min(count + tested);
    Division {
        train: order[..count].to_vec(),
        test: order[count..end].to_vec(),
        draws,
    }
}
