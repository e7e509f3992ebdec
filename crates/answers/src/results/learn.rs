//! Results as predictors learn from them.

use super::Results;
use crate::error::Explained;
use paceline_advise::predict::{AssignRoleError, Roles};
use paceline_advise::runs::{FactorColumn, Factors, Runs, RunsError};
use paceline_model::Level;
use paceline_stats::table::{Column, ColumnData};

/// Runs with what a reader must know of where they come from.
#[derive(Clone)]
pub struct RunsTable {
    /// Their settings and responses.
    pub runs: Runs,
    /// How many runs were learned from; their table may have a row per epoch.
    pub count: usize,
    /// Where the results are.
    pub source: String,
    /// Runs of a study that do not count.
    pub left_out: usize,
}

/// Why nothing can be learned from results.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Nothing says which columns were set.
    #[error("no factors are named")]
    NoFactors {
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A column that is asked for does not exist.
    #[error("the table has no column `{name}`")]
    NoColumn {
        /// What was asked for.
        name: String,
        /// The column that may be meant.
        nearest: Option<String>,
    },
    /// A response is no number.
    #[error("response `{0}` holds text, not numbers")]
    NotNumbers(String),
    /// A run lacks the level of a factor.
    #[error("run {run}: factor `{factor}` is missing")]
    MissingLevel {
        /// The run, counted from one.
        run: usize,
        /// The factor.
        factor: String,
    },
    /// The columns do not form a table of runs.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A part is said to be played by what is no such factor.
    #[error(transparent)]
    Role(#[from] AssignRoleError),
}

impl Explained for LearnError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoFactors { columns } => Some(format!(
                "name the columns that were set with --factors; the columns are {}",
                columns.join(", ")
            )),
            Self::NoColumn { nearest, .. } => {
                let near = nearest.as_ref()?;
                Some(format!("did you mean `{near}`?"))
            }
            Self::Runs(RunsError::TooLarge { .. }) => {
                Some("write the column in a larger unit".to_owned())
            }
            _ => None,
        }
    }
}

impl Results {
    /// The runs with these responses.
    ///
    /// # Errors
    /// If nothing says what was set, or there is no such column of numbers.
    pub fn runs(&self, responses: &[String]) -> Result<RunsTable, LearnError> {
        let factors = self.factor_columns()?;
        let responses = responses
            .iter()
            .map(|name| {
                let values = self.column(name)?.as_numeric();
                let values = values.ok_or_else(|| LearnError::NotNumbers(name.clone()))?;
                Ok((name.clone(), values.to_vec()))
            })
            .collect::<Result<_, LearnError>>()?;
        let runs = Runs::new(factors, responses, None)?;
        Ok(RunsTable {
            count: runs.rows(),
            runs,
            source: self.source(),
            left_out: self.left_out(),
        })
    }

    /// The runs' settings alone, with the row as a nameless response, and after them
    /// those of the planned runs at these positions.
    pub(super) fn factor_runs(&self, also: &[usize]) -> Result<Runs, LearnError> {
        let mut columns = self.factor_columns()?;
        let plan = self.study().map(|study| &study.state.plan);
        for &position in also {
            let Some(plan) = plan else { break };
            let levels = plan.levels(&plan.runs[position]);
            for (name, column) in &mut columns {
                let at = plan.factors.iter().position(|own| own == name);
                let level = at.map(|at| &levels[at]);
                match column {
                    FactorColumn::Numeric(values) => {
                        values.push(level.and_then(Level::as_number).unwrap_or(f64::NAN));
                    }
                    FactorColumn::Words(words) => {
                        words.push(level.map(ToString::to_string).unwrap_or_default());
                    }
                }
            }
        }
        let rows = self.table.rows() + also.len();
        let nameless = vec![(String::new(), (0..rows).map(|row| row as f64).collect())];
        Ok(Runs::new(columns, nameless, None)?)
    }

    /// Which factor plays which part.
    ///
    /// # Errors
    /// If a part is said to be played by something that is no such factor.
    pub fn roles(&self, factors: &Factors) -> Result<Roles, LearnError> {
        Ok(Roles::assigned(factors, &self.roles)?)
    }

    /// Whether a column of numbers has this name.
    #[must_use]
    pub fn has_numbers(&self, name: &str) -> bool {
        let column = self.table.column(name);
        column.is_some_and(|column| column.as_numeric().is_some())
    }

    fn factor_columns(&self) -> Result<Vec<(String, FactorColumn)>, LearnError> {
        if self.factors.is_empty() {
            let columns = self.table.columns().iter();
            return Err(LearnError::NoFactors {
                columns: columns.map(|column| column.name().to_owned()).collect(),
            });
        }
        let names = self.factors.iter();
        names
            .map(|name| Ok((name.clone(), factor(self.column(name)?)?)))
            .collect()
    }

    fn column(&self, name: &str) -> Result<&Column, LearnError> {
        self.table.column(name).ok_or_else(|| LearnError::NoColumn {
            name: name.to_owned(),
            nearest: self.table.nearest_name(name).map(ToOwned::to_owned),
        })
    }
}

fn factor(column: &Column) -> Result<FactorColumn, LearnError> {
    match column.data() {
        ColumnData::Numeric(values) => Ok(FactorColumn::Numeric(values.clone())),
        ColumnData::Categorical { levels, codes, .. } => {
            let words = codes.iter().enumerate().map(|(row, &code)| {
                let level = levels.get(code as usize).cloned();
                level.ok_or_else(|| LearnError::MissingLevel {
                    run: row + 1,
                    factor: column.name().to_owned(),
                })
            });
            Ok(FactorColumn::Words(words.collect::<Result<_, _>>()?))
        }
    }
}
