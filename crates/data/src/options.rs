//! How a data set is to be opened.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::cache::Cache;
use crate::csv::Columns;
use crate::format::Format;
use crate::split::Holdout;
use crate::text::TextOptions;

/// What a user may say about a data set beyond its name. Everything has a
/// default.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which rows are held out for the test.
    pub holdout: Holdout,
    /// What determines which rows those are.
    pub seed: u64,
    /// How texts become labels and features.
    pub text: TextOptions,
    /// The format of a file; told by its name and its first line otherwise.
    pub format: Option<Format>,
    /// Where the labels are, for a file that holds features only; found beside
    /// it otherwise.
    pub labels: Option<PathBuf>,
    /// How the columns of a CSV file are to be taken.
    pub columns: Columns,
    /// Where parsed files are kept for the next time; nowhere without it.
    pub cache: Option<Cache>,
    /// How many threads may parse or generate. No result depends on it.
    pub threads: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            holdout: Holdout::default(),
            seed: 1,
            text: TextOptions::default(),
            format: None,
            labels: None,
            columns: Columns::default(),
            cache: None,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
