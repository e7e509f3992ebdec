//! The table of runs that `predict`, `pick` and `size` learn from.

mod epochs;
mod recorded;

pub use epochs::EpochsTable;
pub(crate) use epochs::{following, report_epochs};
pub use recorded::Demands;

use crate::failure::Failure;
use crate::study_file;
use crate::table_file::TableFile;
use anyhow::anyhow;
use paceline_advise::Threads;
use paceline_advise::predict::{Role, Roles};
use paceline_advise::runs::{FactorColumn, Factors, Runs};
use paceline_model::Level;
use paceline_stats::table::{Column, ColumnData, Table};
use paceline_study::{Capabilities, Study};
use std::path::PathBuf;

/// Which runs are learned from.
#[derive(Debug, Clone, Default)]
pub struct TableQuestion {
    /// A CSV file, or the directory of a study.
    pub table: PathBuf,
    /// The columns that were set; a study's own factors if none is named.
    pub factors: Vec<String>,
    /// Which factor plays which part; found by name where it is not said.
    pub roles: Vec<(Role, String)>,
}

/// Runs with what a reader must know of their file.
#[derive(Clone)]
pub struct RunsTable {
    /// Their settings and responses.
    pub runs: Runs,
    /// How many runs were learned from; their table may have a row per epoch.
    pub count: usize,
    /// The file that was read.
    pub source: String,
    /// Runs of a study that are not done.
    pub left_out: usize,
}

/// A table before it is known which responses are asked for.
pub struct OpenTable {
    file: TableFile,
    study: Option<Study>,
    factors: Vec<String>,
    said: Vec<(Role, String)>,
    /// A study's own responses that its table has; empty for a plain CSV file.
    pub responses: Vec<String>,
}

impl TableQuestion {
    /// Reads the table.
    ///
    /// # Errors
    /// If it cannot be read or nothing says which columns were set.
    pub fn open(&self) -> Result<OpenTable, Failure> {
        let file = TableFile::read(&self.table)?;
        let study = if self.table.is_dir() {
            // What was run is read whatever could be run here and now.
            Some(study_file::load(&self.table, &[], &Capabilities::ALL)?)
        } else {
            None
        };
        let has = |name: &String| file.table.column(name).is_some();
        let mut factors = self.factors.clone();
        let mut responses = Vec::new();
        if let Some(study) = &study {
            if factors.is_empty() {
                factors = study
                    .factors()
                    .iter()
                    .map(|factor| factor.name.clone())
                    .collect();
            }
            let names = study
                .responses()
                .iter()
                .map(|response| response.name.clone());
            responses = names.filter(has).collect();
        }
        if factors.is_empty() {
            let columns: Vec<&str> = file.table.columns().iter().map(Column::name).collect();
            return Err(Failure::user(anyhow!("no factors are named")).hint(format!(
                "name the columns that were set with --factors; the columns are {}",
                columns.join(", ")
            )));
        }
        Ok(OpenTable {
            file,
            study,
            factors,
            said: self.roles.clone(),
            responses,
        })
    }
}

impl OpenTable {
    /// The study, unless the table is a plain file.
    #[must_use]
    pub fn study(&self) -> Option<&Study> {
        self.study.as_ref()
    }

    /// The runs with these responses.
    ///
    /// # Errors
    /// If the table has no such column of numbers.
    pub fn runs(&self, responses: &[String]) -> Result<RunsTable, Failure> {
        let table = &self.file.table;
        let factors = self.factor_columns()?;
        let responses = responses
            .iter()
            .map(|name| {
                let values = column(table, name)?.as_numeric().ok_or_else(|| {
                    Failure::user(anyhow!("response `{name}` holds text, not numbers"))
                })?;
                Ok((name.clone(), values.to_vec()))
            })
            .collect::<Result<_, Failure>>()?;
        let runs = Runs::new(factors, responses, None).map_err(Failure::user)?;
        Ok(RunsTable {
            count: runs.rows(),
            runs,
            source: self.file.path.display().to_string(),
            left_out: self.file.left_out,
        })
    }

    /// The runs' settings alone, with the row as a nameless response.
    fn factor_runs(&self) -> Result<Runs, Failure> {
        let table = &self.file.table;
        let rows = (0..table.rows()).map(|row| row as f64).collect();
        Runs::new(self.factor_columns()?, vec![(String::new(), rows)], None).map_err(Failure::user)
    }

    fn factor_columns(&self) -> Result<Vec<(String, FactorColumn)>, Failure> {
        let names = self.factors.iter();
        names
            .map(|name| Ok((name.clone(), factor(column(&self.file.table, name)?)?)))
            .collect()
    }

    /// Which factor plays which part.
    ///
    /// # Errors
    /// If a part is said to be played by something that is no such factor.
    pub fn roles(&self, factors: &Factors) -> Result<Roles, Failure> {
        Roles::assigned(factors, &self.said).map_err(Failure::user)
    }
}

fn column<'a>(table: &'a Table, name: &str) -> Result<&'a Column, Failure> {
    table.column(name).ok_or_else(|| {
        let failure = Failure::user(anyhow!("the table has no column `{name}`"));
        match table.nearest_name(name) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure,
        }
    })
}

fn factor(column: &Column) -> Result<FactorColumn, Failure> {
    match column.data() {
        ColumnData::Numeric(values) => Ok(FactorColumn::Numeric(values.clone())),
        ColumnData::Categorical { levels, codes, .. } => {
            let words = codes.iter().enumerate().map(|(row, &code)| {
                levels.get(code as usize).cloned().ok_or_else(|| {
                    let name = column.name();
                    Failure::user(anyhow!("run {}: factor `{name}` is missing", row + 1))
                })
            });
            Ok(FactorColumn::Words(words.collect::<Result<_, _>>()?))
        }
    }
}

/// As many threads as the machine offers.
pub(crate) fn threads() -> Threads {
    Threads::new(std::thread::available_parallelism().map_or(1, usize::from))
}

/// A configuration as people write it.
#[must_use]
pub fn written(settings: &[(String, Level)]) -> String {
    let parts: Vec<String> = settings
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    parts.join(", ")
}

/// A configuration as a JSON object.
#[must_use]
pub fn settings_json(settings: &[(String, Level)]) -> serde_json::Value {
    let entries = settings
        .iter()
        .map(|(name, level)| (name.clone(), level_json(level)));
    serde_json::Value::Object(entries.collect())
}

/// A level as a JSON value.
#[must_use]
pub fn level_json(level: &Level) -> serde_json::Value {
    match level {
        Level::Integer(value) => (*value).into(),
        Level::Number(value) => (*value).into(),
        Level::Switch(value) => (*value).into(),
        Level::Word(value) => value.clone().into(),
    }
}
