//! The words that name a data set.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use crate::synthetic::{Blobs, Law, Logistic};

/// Which data set: a built-in one, a generated one or files.
#[derive(Debug, Clone, PartialEq)]
pub enum DataSpec {
    /// `mnist`, or `mnist:10000` for its first training rows. All test rows
    /// stay.
    Mnist {
        /// How many training rows; all without it.
        first: Option<NonZeroUsize>,
    },
    /// `tweets`.
    Tweets,
    /// `synthetic:dense,…` or `synthetic:sparse,…`.
    Logistic(Logistic),
    /// `synthetic:blobs,…`.
    Blobs(Blobs),
    /// A file or a directory.
    Path(PathBuf),
}

/// Why a text does not name a data set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataSpecError {
    /// Nothing was given.
    #[error("a data set has a name or a path")]
    Empty,
    /// `mnist:` is not followed by a number of rows.
    #[error("`mnist:` takes a number of rows from 1, not `{0}`")]
    MnistRows(String),
    /// There is no such kind of synthetic data.
    #[error("synthetic data is `dense`, `sparse` or `blobs`, not `{0}`")]
    SyntheticKind(String),
    /// The kind of synthetic data does not have this property.
    #[error("`synthetic:{kind}` has no `{word}`; it has {known}")]
    SyntheticWord {
        /// The kind.
        kind: &'static str,
        /// The word that was given.
        word: String,
        /// The words there are.
        known: &'static str,
    },
    /// A property's value is not what it takes.
    #[error("`{word}` takes {expected}, not `{value}`")]
    SyntheticValue {
        /// The property.
        word: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        value: String,
    },
}

impl FromStr for DataSpec {
    type Err = DataSpecError;

    fn from_str(text: &str) -> Result<Self, DataSpecError> {
        if let Some(rows) = text.strip_prefix("mnist:") {
            let first = rows
                .parse()
                .map_err(|_| DataSpecError::MnistRows(rows.into()))?;
            return Ok(Self::Mnist { first: Some(first) });
        }
        if let Some(law) = text.strip_prefix("synthetic:") {
            return synthetic(law);
        }
        match text {
            "" => Err(DataSpecError::Empty),
            "mnist" => Ok(Self::Mnist { first: None }),
            "tweets" => Ok(Self::Tweets),
            "synthetic" => Err(DataSpecError::SyntheticKind(String::new())),
            path => Ok(Self::Path(path.into())),
        }
    }
}

/// In the words that [`FromStr`] reads, with every choice of a generated data
/// set.
impl fmt::Display for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mnist { first: None } => f.write_str("mnist"),
            Self::Mnist { first: Some(rows) } => write!(f, "mnist:{rows}"),
            Self::Tweets => f.write_str("tweets"),
            Self::Logistic(law) => {
                let kind = law.entries.map_or("dense", |_| "sparse");
                write!(
                    f,
                    "synthetic:{kind},rows={},test={},width={},signal={},seed={}",
                    law.rows, law.test_rows, law.width, law.signal, law.seed
                )?;
                if let Some(entries) = law.entries {
                    write!(f, ",entries={entries}")?;
                }
                f.write_str(match law.law {
                    Law::Bernoulli => ",law=bernoulli",
                    Law::Exact => ",law=exact",
                })
            }
            Self::Blobs(blobs) => write!(
                f,
                "synthetic:blobs,rows={},test={},width={},classes={},spread={},seed={}",
                blobs.rows, blobs.test_rows, blobs.width, blobs.classes, blobs.spread, blobs.seed
            ),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

fn synthetic(text: &str) -> Result<DataSpec, DataSpecError> {
    let (kind, words) = text.split_once(',').unwrap_or((text, ""));
    let (kind, known) = match kind {
        "dense" => ("dense", "rows, test, width, signal, law, seed"),
        "sparse" => ("sparse", "rows, test, width, entries, signal, law, seed"),
        "blobs" => ("blobs", "rows, test, width, classes, spread, seed"),
        other => return Err(DataSpecError::SyntheticKind(other.into())),
    };
    let mut given = Words::default();
    for item in words.split(',').filter(|item| !item.is_empty()) {
        let (word, value) = item.split_once('=').unwrap_or((item, ""));
        let has = known.split(", ").any(|name| name == word);
        match word {
            _ if !has => {
                return Err(DataSpecError::SyntheticWord {
                    kind,
                    word: word.into(),
                    known,
                });
            }
            "rows" => given.rows = Some(count("rows", value)?),
            "test" => given.test_rows = Some(count("test", value)?),
            "width" => given.width = Some(count("width", value)?),
            "entries" => given.entries = Some(count("entries", value)?),
            "classes" => given.classes = Some(count("classes", value)?),
            "signal" => given.signal = Some(positive("signal", value)?),
            "spread" => given.spread = Some(positive("spread", value)?),
            "seed" => {
                let seed = value
                    .parse()
                    .map_err(|_| wrong("seed", "a whole number", value))?;
                given.seed = Some(seed);
            }
            _ => {
                given.law = Some(match value {
                    "bernoulli" => Law::Bernoulli,
                    "exact" => Law::Exact,
                    _ => return Err(wrong("law", "`bernoulli` or `exact`", value)),
                });
            }
        }
    }
    given.into_spec(kind)
}

/// What was said of a synthetic data set.
#[derive(Default)]
struct Words {
    rows: Option<usize>,
    test_rows: Option<usize>,
    width: Option<usize>,
    entries: Option<usize>,
    classes: Option<usize>,
    signal: Option<f64>,
    spread: Option<f64>,
    seed: Option<u64>,
    law: Option<Law>,
}

impl Words {
    fn into_spec(self, kind: &'static str) -> Result<DataSpec, DataSpecError> {
        let rows = self.rows.unwrap_or(10_000);
        let law = self.law.unwrap_or(Law::Bernoulli);
        let seed = self.seed.unwrap_or(1);
        // A tenth suffices to judge by, and a thousand always do.
        let tenth = (rows / 10).clamp(1, 1000);
        let test_rows = self.test_rows.unwrap_or(match law {
            Law::Bernoulli => tenth,
            Law::Exact => tenth.next_multiple_of(4),
        });
        if kind == "blobs" {
            return Ok(DataSpec::Blobs(Blobs {
                rows,
                test_rows,
                width: self.width.unwrap_or(20),
                classes: self.classes.unwrap_or(10),
                spread: self.spread.unwrap_or(1.0),
                seed,
            }));
        }
        for (word, count) in [("rows", rows), ("test", test_rows)] {
            if law == Law::Exact && count % 4 != 0 {
                let expected = "a multiple of 4 under `law=exact`";
                return Err(wrong(word, expected, &count.to_string()));
            }
        }
        let sparse = kind == "sparse";
        let width = self.width.unwrap_or(if sparse { 100_000 } else { 1000 });
        let entries = sparse.then(|| self.entries.unwrap_or(100).min(width));
        if self.entries.is_some_and(|entries| entries > width) {
            let given = self.entries.unwrap_or_default().to_string();
            return Err(wrong("entries", "at most the width", &given));
        }
        Ok(DataSpec::Logistic(Logistic {
            rows,
            test_rows,
            width,
            entries,
            signal: self.signal.unwrap_or(2.0),
            law,
            seed,
        }))
    }
}

fn count(word: &'static str, value: &str) -> Result<usize, DataSpecError> {
    value
        .parse()
        .ok()
        .filter(|count| (1..=u32::MAX as usize).contains(count))
        .ok_or_else(|| wrong(word, "a whole number from 1 to 4294967295", value))
}

fn positive(word: &'static str, value: &str) -> Result<f64, DataSpecError> {
    value
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| wrong(word, "a number above 0", value))
}

fn wrong(word: &'static str, expected: &'static str, value: &str) -> DataSpecError {
    DataSpecError::SyntheticValue {
        word,
        expected,
        value: value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        for words in [
            "mnist",
            "mnist:10000",
            "tweets",
            "synthetic:dense",
            "synthetic:dense,rows=10000,width=10000,seed=1",
            "synthetic:sparse,rows=8,test=4,entries=5,law=exact",
            "synthetic:blobs,classes=3,spread=0.5",
            "some/where.csv",
        ] {
            let spec: DataSpec = words.parse().unwrap();
            assert_eq!(spec.to_string().parse::<DataSpec>().unwrap(), spec);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        let error = |text: &str| text.parse::<DataSpec>().unwrap_err().to_string();
        assert_eq!(error(""), "a data set has a name or a path");
        assert_eq!(
            error("mnist:none"),
            "`mnist:` takes a number of rows from 1, not `none`"
        );
        assert_eq!(
            error("synthetic:round"),
            "synthetic data is `dense`, `sparse` or `blobs`, not `round`"
        );
        assert_eq!(
            error("synthetic:dense,entries=3"),
            "`synthetic:dense` has no `entries`; it has rows, test, width, signal, law, seed"
        );
        assert_eq!(
            error("synthetic:dense,rows=0"),
            "`rows` takes a whole number from 1 to 4294967295, not `0`"
        );
        assert_eq!(
            error("synthetic:dense,rows=10,law=exact"),
            "`rows` takes a multiple of 4 under `law=exact`, not `10`"
        );
        assert_eq!(
            error("synthetic:sparse,width=3,entries=4"),
            "`entries` takes at most the width, not `4`"
        );
    }
}
