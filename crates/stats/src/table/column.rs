//! One named column.

/// The code of a missing cell in a categorical column.
pub const MISSING_CODE: u32 = u32::MAX;

/// A named column of numbers or of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    data: ColumnData,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnData {
    /// Numbers; NaN is a missing value.
    Numeric(Vec<f64>),
    /// Categories; [`MISSING_CODE`] is a missing value.
    Categorical {
        /// The names of the levels, in the order they are coded.
        levels: Vec<String>,
        /// One index into `levels` per row.
        codes: Vec<u32>,
        /// Where text was found in a column that is otherwise mostly numbers.
        /// Such a column must be declared with `C(…)` before it is used, since
        /// it is more likely a typing error than a factor.
        first_text: Option<FirstText>,
    },
}

/// The first cell that is not a number in a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstText {
    /// The data row, counted from one.
    pub row: usize,
    /// The text found there.
    pub value: String,
}

impl Column {
    /// A column of numbers; NaN is a missing value.
    pub fn numeric(name: impl Into<String>, values: Vec<f64>) -> Column {
        Column {
            name: name.into(),
            data: ColumnData::Numeric(values),
        }
    }

    /// A column of categories whose levels keep the given order.
    pub fn categorical(name: impl Into<String>, levels: Vec<String>, codes: Vec<u32>) -> Column {
        Column {
            name: name.into(),
            data: ColumnData::Categorical {
                levels,
                codes,
                first_text: None,
            },
        }
    }

    /// A column of categories from the text of each row; levels are sorted, by
    /// value where all are numbers and by text otherwise. Empty text is missing.
    pub fn from_labels<T: AsRef<str>>(name: impl Into<String>, labels: &[T]) -> Column {
        let mut levels: Vec<String> = labels
            .iter()
            .map(|label| label.as_ref().to_owned())
            .filter(|label| !label.is_empty())
            .collect();
        sort_levels(&mut levels);
        levels.dedup();
        let codes = labels
            .iter()
            .map(|label| {
                levels
                    .iter()
                    .position(|level| level == label.as_ref())
                    .map_or(MISSING_CODE, |code| code as u32)
            })
            .collect();
        Column::categorical(name, levels, codes)
    }

    pub(super) fn with_data(name: String, data: ColumnData) -> Column {
        Column { name, data }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content.
    pub fn data(&self) -> &ColumnData {
        &self.data
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match &self.data {
            ColumnData::Numeric(values) => values.len(),
            ColumnData::Categorical { codes, .. } => codes.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers, if this is a numeric column.
    pub fn as_numeric(&self) -> Option<&[f64]> {
        match &self.data {
            ColumnData::Numeric(values) => Some(values),
            ColumnData::Categorical { .. } => None,
        }
    }

    /// How many cells are missing.
    pub fn missing(&self) -> usize {
        match &self.data {
            ColumnData::Numeric(values) => values.iter().filter(|value| value.is_nan()).count(),
            ColumnData::Categorical { codes, .. } => {
                codes.iter().filter(|&&code| code == MISSING_CODE).count()
            }
        }
    }
}

/// Sorts level names by value where all are numbers, by text otherwise.
pub(crate) fn sort_levels(levels: &mut [String]) {
    if levels.iter().all(|level| level.parse::<f64>().is_ok()) {
        levels.sort_by(|a, b| {
            let value = |text: &String| text.parse::<f64>().unwrap_or(f64::NAN);
            value(a).total_cmp(&value(b)).then_with(|| a.cmp(b))
        });
    } else {
        levels.sort();
    }
}
