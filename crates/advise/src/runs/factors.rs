//! What varies, and how its levels are written.

use super::{Configuration, FactorColumn};
use paceline_model::Level;
use thiserror::Error;

/// One factor with the levels that were observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    name: String,
    kind: FactorKind,
}

/// The levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorKind {
    /// Numbers, ascending and distinct.
    Numeric {
        /// The observed levels.
        levels: Vec<f64>,
        /// Whether all observed levels are whole, so that a finer grid is too.
        whole: bool,
    },
    /// Names in alphabetical order, whatever the order of the runs.
    Categorical {
        /// The observed levels.
        levels: Vec<String>,
    },
}

/// The factors of a table, in the caller's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors(Vec<Factor>);

/// Why settings do not name a configuration.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SettingError {
    /// The table has no such factor.
    #[error("there is no factor `{name}`; the factors are {known}")]
    UnknownFactor {
        /// What was asked for.
        name: String,
        /// All factors, separated by commas.
        known: String,
    },
    /// No run had this category.
    #[error("factor `{factor}` has no level `{level}`; its levels are {known}")]
    UnknownLevel {
        /// The factor.
        factor: String,
        /// What was asked for.
        level: String,
        /// The observed levels, separated by commas.
        known: String,
    },
    /// A numeric factor is set to a word.
    #[error("factor `{factor}` is numeric, and `{level}` is no number")]
    NotANumber {
        /// The factor.
        factor: String,
        /// What was asked for.
        level: String,
    },
    /// A factor is set twice.
    #[error("factor `{0}` is set twice")]
    Repeated(String),
    /// A factor is not set.
    #[error("factor `{0}` is not set")]
    Missing(String),
}

impl Factor {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its levels.
    pub fn kind(&self) -> &FactorKind {
        &self.kind
    }

    /// How many levels were observed.
    pub fn level_count(&self) -> usize {
        match &self.kind {
            FactorKind::Numeric { levels, .. } => levels.len(),
            FactorKind::Categorical { levels } => levels.len(),
        }
    }

    /// The observed levels as values of a configuration.
    pub fn values(&self) -> Vec<f64> {
        match &self.kind {
            FactorKind::Numeric { levels, .. } => levels.clone(),
            FactorKind::Categorical { levels } => (0..levels.len()).map(|i| i as f64).collect(),
        }
    }

    /// A value of a configuration as the user would write it.
    pub fn level(&self, value: f64) -> Level {
        match &self.kind {
            FactorKind::Numeric { .. } if value.fract() == 0.0 && value.abs() < 1e15 => {
                Level::Integer(value as i64)
            }
            FactorKind::Numeric { .. } => Level::Number(value),
            FactorKind::Categorical { levels } => {
                let index = value as usize;
                let name = levels.get(index).cloned();
                Level::Word(name.unwrap_or_else(|| format!("level {index}")))
            }
        }
    }

    /// The value of a configuration that a level stands for. A number that was
    /// not observed is accepted; a category that was not observed is not.
    pub fn value(&self, level: &Level) -> Result<f64, SettingError> {
        match &self.kind {
            FactorKind::Numeric { .. } => {
                let number = level.as_number().filter(|value| value.is_finite());
                number.ok_or_else(|| SettingError::NotANumber {
                    factor: self.name.clone(),
                    level: level.to_string(),
                })
            }
            FactorKind::Categorical { levels } => {
                let wanted = level.to_string();
                let index = levels.iter().position(|known| *known == wanted);
                index
                    .map(|index| index as f64)
                    .ok_or_else(|| SettingError::UnknownLevel {
                        factor: self.name.clone(),
                        level: wanted,
                        known: levels.join(", "),
                    })
            }
        }
    }

    pub(crate) fn is_categorical(&self) -> bool {
        matches!(self.kind, FactorKind::Categorical { .. })
    }
}

impl Factors {
    /// Reads columns into factors and into numbers.
    pub(super) fn read(columns: Vec<(String, FactorColumn)>) -> (Self, Vec<Vec<f64>>) {
        let (factors, values) = columns
            .into_iter()
            .map(|(name, column)| {
                let (kind, values) = match column {
                    FactorColumn::Numeric(values) => (numeric(&values), values),
                    FactorColumn::Words(words) => categorical(words),
                };
                (Factor { name, kind }, values)
            })
            .unzip();
        (Self(factors), values)
    }

    /// All factors.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Factor> {
        self.0.iter()
    }

    /// How many factors there are; at least one.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a table has at least one factor"
    )]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The factor at an index of a configuration.
    ///
    /// # Panics
    ///
    /// If there is no such index.
    pub fn at(&self, index: usize) -> &Factor {
        &self.0[index]
    }

    /// Where in a configuration a factor stands.
    pub fn position(&self, name: &str) -> Result<usize, SettingError> {
        let found = self.0.iter().position(|factor| factor.name == name);
        found.ok_or_else(|| SettingError::UnknownFactor {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// The positions and values that settings name.
    pub fn fixed(&self, settings: &[(String, Level)]) -> Result<Vec<(usize, f64)>, SettingError> {
        let mut fixed: Vec<(usize, f64)> = Vec::with_capacity(settings.len());
        for (name, level) in settings {
            let at = self.position(name)?;
            if fixed.iter().any(|&(known, _)| known == at) {
                return Err(SettingError::Repeated(name.clone()));
            }
            fixed.push((at, self.0[at].value(level)?));
        }
        Ok(fixed)
    }

    /// The configuration that settings name. Factors of a single level need not
    /// be named.
    pub fn configuration(
        &self,
        settings: &[(String, Level)],
    ) -> Result<Configuration, SettingError> {
        let fixed = self.fixed(settings)?;
        self.0
            .iter()
            .enumerate()
            .map(|(at, factor)| {
                let set = fixed.iter().find(|(known, _)| *known == at);
                match (set, factor.level_count()) {
                    (Some((_, value)), _) => Ok(*value),
                    (None, 1) => Ok(factor.values()[0]),
                    (None, _) => Err(SettingError::Missing(factor.name.clone())),
                }
            })
            .collect()
    }

    /// A configuration as the user would write it.
    pub fn settings(&self, configuration: &[f64]) -> Vec<(String, Level)> {
        let pairs = self.0.iter().zip(configuration);
        pairs
            .map(|(factor, &value)| (factor.name.clone(), factor.level(value)))
            .collect()
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(Factor::name).collect();
        names.join(", ")
    }
}

fn numeric(values: &[f64]) -> FactorKind {
    let mut levels = values.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    FactorKind::Numeric {
        whole: levels.iter().all(|level| level.fract() == 0.0),
        levels,
    }
}

fn categorical(words: Vec<String>) -> (FactorKind, Vec<f64>) {
    let mut levels = words.clone();
    levels.sort_unstable();
    levels.dedup();
    let code = |word: &String| {
        let at = levels.binary_search(word);
        at.expect("every word is among the levels") as f64
    };
    let codes = words.iter().map(code).collect();
    (FactorKind::Categorical { levels }, codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors() -> Factors {
        let words = ["bsp", "async", "bsp"].map(str::to_owned).to_vec();
        Factors::read(vec![
            (
                "batch".to_owned(),
                FactorColumn::Numeric(vec![64.0, 128.0, 64.0]),
            ),
            ("sync".to_owned(), FactorColumn::Words(words)),
        ])
        .0
    }

    fn set(name: &str, level: &str) -> (String, Level) {
        (name.to_owned(), Level::parse(level))
    }

    #[test]
    fn settings_are_read_and_written_alike() {
        let settings = [set("batch", "96"), set("sync", "async")];
        let configuration = factors().configuration(&settings).unwrap();
        assert_eq!(configuration, [96.0, 0.0]);
        assert_eq!(factors().settings(&configuration), settings);
    }

    #[test]
    fn unknown_settings_name_what_is_known() {
        let check = |settings: &[(String, Level)], text: &str| {
            let error = factors().configuration(settings).unwrap_err();
            assert_eq!(error.to_string(), text);
        };
        check(
            &[set("bacth", "64")],
            "there is no factor `bacth`; the factors are batch, sync",
        );
        check(
            &[set("sync", "ssp")],
            "factor `sync` has no level `ssp`; its levels are async, bsp",
        );
        check(
            &[set("batch", "big")],
            "factor `batch` is numeric, and `big` is no number",
        );
        check(
            &[set("batch", "1"), set("batch", "2")],
            "factor `batch` is set twice",
        );
        check(&[set("batch", "1")], "factor `sync` is not set");
    }
}
