//! The data that a training reads.

use super::args::JobArgs;
use super::job::unreadable;
use crate::context;
use crate::failure::Failure;
use crate::output;
use paceline_data::{DataSpec, Options, Split, TextOptions};

/// The data set that was asked for, and how it is to be read.
pub(super) fn wanted(args: &JobArgs) -> Result<(DataSpec, Options), Failure> {
    let data: DataSpec = args
        .data
        .parse()
        .map_err(|error| Failure::user(error).hint("`paceline train --list` shows the data"))?;
    let text: TextOptions = args.text.parse().map_err(Failure::user)?;
    let mut options = Options {
        seed: args.seed.unwrap_or(USUAL_SEED),
        text,
        ..Options::default()
    };
    if let Some(test) = args.test {
        options.holdout = test;
    }
    Ok((data, options))
}

/// What decides everything random unless the user says otherwise.
pub(super) const USUAL_SEED: u64 = 1;

/// Reads a data set, out of the cache of parsed files if it is there. Trouble
/// with the cache costs time, never the data.
pub(super) fn read(data: &DataSpec, options: &Options) -> Result<Split, Failure> {
    let options = Options {
        cache: context::data_cache(),
        ..options.clone()
    };
    paceline_data::open_noting(data, &options, |trouble| {
        output::tell(&format!(
            "notice: {trouble}; the data is read without the cache ($PACELINE_CACHE says where it is)"
        ));
    })
    .map_err(unreadable)
}
