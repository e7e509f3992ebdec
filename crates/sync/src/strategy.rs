//! The words of the `--sync` flag.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::{Consistency, StalenessRange, StalenessRangeError};

/// How workers arrive at one model: everything the `--sync` flag can say.
///
/// ```
/// use paceline_sync::{Consistency, Strategy};
/// assert_eq!("allreduce".parse(), Ok(Strategy::AllReduce));
/// assert_eq!("bsp".parse(), Ok(Strategy::ParameterServer(Consistency::Bsp)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Servers hold the parameters; a consistency model governs the workers.
    ParameterServer(Consistency),
    /// Workers sum their gradients among themselves; there is no server.
    AllReduce,
    /// Full-batch map-reduce with the model at the driver.
    Dataflow,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParameterServer(model) => model.fmt(f),
            Self::AllReduce => f.write_str("allreduce"),
            Self::Dataflow => f.write_str("dataflow"),
        }
    }
}

impl FromStr for Strategy {
    type Err = ParseConsistencyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, number) = split(text);
        let plain = |strategy, name| match number {
            None => Ok(strategy),
            Some(_) => Err(ParseConsistencyError::NoNumberWanted {
                word: name,
                given: text.to_owned(),
            }),
        };
        match word {
            "allreduce" => plain(Self::AllReduce, "allreduce"),
            "dataflow" => plain(Self::Dataflow, "dataflow"),
            _ => text.parse().map(Self::ParameterServer),
        }
    }
}

/// Why a text names no consistency model or strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseConsistencyError {
    /// No such word.
    #[error("`{given}` is not a way to synchronise workers")]
    Unknown {
        /// What was typed.
        given: String,
    },
    /// The word needs a number after a colon.
    #[error("`{word}` needs a number: `{example}`")]
    NumberMissing {
        /// The word.
        word: &'static str,
        /// How it is written in full.
        example: &'static str,
    },
    /// The word stands alone.
    #[error("`{word}` takes no number, `{given}` has one")]
    NoNumberWanted {
        /// The word.
        word: &'static str,
        /// What was typed.
        given: String,
    },
    /// What follows the colon cannot be read.
    #[error("`{given}` is not a whole number that `{word}` can take")]
    BadNumber {
        /// The word.
        word: &'static str,
        /// What followed the colon.
        given: String,
        /// How it is written in full.
        example: &'static str,
    },
    /// The bounds of `dynamic-ssp` are no range.
    #[error("`{given}` is not a range of staleness: {cause}")]
    BadRange {
        /// What followed the colon.
        given: String,
        /// What is wrong with it.
        cause: StalenessRangeError,
    },
}

impl ParseConsistencyError {
    /// What to type instead, for a `hint:` line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { given } => {
                let all = "bsp, ssp:3, async, backup:1, dynamic-ssp:1..8, local:16, allreduce and dataflow";
                match meant(given) {
                    Some(word) => format!("did you mean `{word}`? There are {all}"),
                    None => format!("there are {all}"),
                }
            }
            Self::NumberMissing { word, .. } => match *word {
                "ssp" => "the number is how many clocks the fastest worker may lead the slowest",
                "backup" => "the number is how many updates an iteration does without",
                "local" => "the number is how many steps lie between two averages",
                _ => "the numbers are the lowest and the highest staleness",
            }
            .to_owned(),
            Self::NoNumberWanted { word, .. } => format!("write `{word}`"),
            Self::BadNumber { example, .. } => format!("write for example `{example}`"),
            Self::BadRange { cause, .. } => match cause {
                StalenessRangeError::Empty { low, .. } => {
                    format!("for a fixed staleness write `ssp:{low}`")
                }
                StalenessRangeError::TooHigh { .. } => {
                    "for workers that never wait write `async`".to_owned()
                }
            },
        }
    }
}

impl FromStr for Consistency {
    type Err = ParseConsistencyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, number) = split(text);
        let plain = |model, name| match number {
            None => Ok(model),
            Some(_) => Err(ParseConsistencyError::NoNumberWanted {
                word: name,
                given: text.to_owned(),
            }),
        };
        match word {
            "bsp" => plain(Self::Bsp, "bsp"),
            "async" => plain(Self::Async, "async"),
            "ssp" => whole(number, "ssp", "ssp:3").map(|staleness| Self::Ssp { staleness }),
            "backup" => whole(number, "backup", "backup:1").map(|spare| Self::Backup { spare }),
            "local" => {
                whole::<NonZeroU32>(number, "local", "local:16").map(|steps| Self::Local { steps })
            }
            "dynamic-ssp" => range(number).map(Self::DynamicSsp),
            _ => Err(ParseConsistencyError::Unknown {
                given: text.to_owned(),
            }),
        }
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((word, number)) => (word, Some(number)),
        None => (text, None),
    }
}

fn whole<N: FromStr>(
    number: Option<&str>,
    word: &'static str,
    example: &'static str,
) -> Result<N, ParseConsistencyError> {
    let number = number.ok_or(ParseConsistencyError::NumberMissing { word, example })?;
    // `u32` also reads `+3`, which would not be printed back as it was typed.
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let read = if digits { number.parse().ok() } else { None };
    read.ok_or_else(|| ParseConsistencyError::BadNumber {
        word,
        given: number.to_owned(),
        example,
    })
}

fn range(number: Option<&str>) -> Result<StalenessRange, ParseConsistencyError> {
    const WORD: &str = "dynamic-ssp";
    const EXAMPLE: &str = "dynamic-ssp:1..8";
    let both = number.ok_or(ParseConsistencyError::NumberMissing {
        word: WORD,
        example: EXAMPLE,
    })?;
    let (low, high) = both
        .split_once("..")
        .ok_or_else(|| ParseConsistencyError::BadNumber {
            word: WORD,
            given: both.to_owned(),
            example: EXAMPLE,
        })?;
    let low = whole(Some(low), WORD, EXAMPLE)?;
    let high = whole(Some(high), WORD, EXAMPLE)?;
    StalenessRange::new(low, high).map_err(|cause| ParseConsistencyError::BadRange {
        given: both.to_owned(),
        cause,
    })
}

/// The word that someone who types `given` most likely wants: other systems'
/// names and other spellings.
fn meant(given: &str) -> Option<&'static str> {
    let (word, _) = split(given);
    let plain: String = word
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    Some(match plain.as_str() {
        "bsp" | "sync" | "synchronous" | "distsync" | "barrier" => "bsp",
        "ssp" | "stale" | "staleness" | "ssp0" | "ssp3" | "ssp6" => "ssp:3",
        "async" | "asynchronous" | "asp" | "distasync" | "hogwild" => "async",
        "backup" | "backups" | "backupworkers" => "backup:1",
        "dynamicssp" | "dssp" | "dynamic" => "dynamic-ssp:1..8",
        "local" | "localsgd" => "local:16",
        "allreduce" | "ring" | "mirrored" | "ddp" | "horovod" => "allreduce",
        "dataflow" | "mapreduce" | "spark" | "driver" => "dataflow",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match text.parse::<Strategy>() {
            Ok(strategy) => strategy.to_string(),
            Err(error) => format!("{error}; hint: {}", error.hint()),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn every_word_is_printed_as_it_is_read() {
        for word in [
            "bsp",
            "ssp:0",
            "ssp:3",
            "async",
            "backup:1",
            "dynamic-ssp:1..8",
            "local:16",
            "allreduce",
            "dataflow",
        ] {
            check(word, word);
        }
    }

    #[test]
    fn a_word_of_another_system_is_translated_in_the_hint() {
        check(
            "dist_sync",
            "`dist_sync` is not a way to synchronise workers; hint: did you mean `bsp`? There are \
             bsp, ssp:3, async, backup:1, dynamic-ssp:1..8, local:16, allreduce and dataflow",
        );
        check(
            "",
            "`` is not a way to synchronise workers; hint: there are bsp, ssp:3, async, backup:1, \
             dynamic-ssp:1..8, local:16, allreduce and dataflow",
        );
    }

    #[test]
    fn numbers_are_checked_where_they_are_typed() {
        check(
            "ssp",
            "`ssp` needs a number: `ssp:3`; hint: the number is how many clocks the fastest \
             worker may lead the slowest",
        );
        check(
            "ssp:+3",
            "`+3` is not a whole number that `ssp` can take; hint: write for example `ssp:3`",
        );
        check(
            "ssp:99999999999",
            "`99999999999` is not a whole number that `ssp` can take; hint: write for example `ssp:3`",
        );
        check(
            "local:0",
            "`0` is not a whole number that `local` can take; hint: write for example `local:16`",
        );
        check(
            "bsp:1",
            "`bsp` takes no number, `bsp:1` has one; hint: write `bsp`",
        );
        check(
            "allreduce:2",
            "`allreduce` takes no number, `allreduce:2` has one; hint: write `allreduce`",
        );
    }

    #[test]
    fn the_bounds_of_dynamic_ssp_are_a_range() {
        check(
            "dynamic-ssp:4..4",
            "`4..4` is not a range of staleness: the staleness range 4..4 is empty; hint: for a \
             fixed staleness write `ssp:4`",
        );
        check(
            "dynamic-ssp:1..5000",
            "`1..5000` is not a range of staleness: a staleness of 5000 is above the limit of \
             1024; hint: for workers that never wait write `async`",
        );
        check(
            "dynamic-ssp:1",
            "`1` is not a whole number that `dynamic-ssp` can take; hint: write for example \
             `dynamic-ssp:1..8`",
        );
    }
}
