//! How a data set is to be opened.

use std::num::NonZeroUsize;

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
    /// How many threads may parse or generate. No result depends on it.
    pub threads: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            holdout: Holdout::default(),
            seed: 1,
            text: TextOptions::default(),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
