//! Which format a file is in.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::OpenDataError;
use crate::lines::Lines;
use crate::source::Source;
use crate::tweets;

/// A format that Paceline reads. Each may be packed with gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Numbers separated by commas, semicolons or tabs, and a class.
    Csv,
    /// LIBSVM's sparse text.
    LibSvm,
    /// NumPy's arrays, with the labels in a second file.
    Npy,
    /// IDX images, with the labels in a second file.
    Idx,
    /// Sentiment140's six quoted columns.
    Sentiment140,
    /// Number, rating and text, separated by tabs.
    RatedTweets,
}

/// Why a word is not the name of a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no format; there are csv, libsvm, npy, idx, sentiment140 and rated-tweets")]
pub struct FormatError(String);

impl Format {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Csv, "csv"),
        (Self::LibSvm, "libsvm"),
        (Self::Npy, "npy"),
        (Self::Idx, "idx"),
        (Self::Sentiment140, "sentiment140"),
        (Self::RatedTweets, "rated-tweets"),
    ];

    /// Whether rows are texts, which need a dictionary.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Sentiment140 | Self::RatedTweets)
    }

    /// The format of a file, by its name and, where that leaves a doubt, by
    /// its first line.
    pub(crate) fn of(path: &Path) -> Result<Self, OpenDataError> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        match extension {
            "npy" => return Ok(Self::Npy),
            "libsvm" | "svmlight" | "svm" => return Ok(Self::LibSvm),
            _ if name.ends_with("-ubyte") || extension == "idx" => return Ok(Self::Idx),
            _ => {}
        }
        let mut lines = Lines::new(Source::open(path)?);
        let first = match lines.next()? {
            Some(line) => line.bytes,
            None => b"",
        };
        let looks_sparse = || {
            let mut words = first.split(u8::is_ascii_whitespace).skip(1);
            words.any(|word| word.contains(&b':'))
        };
        match extension {
            _ if tweets::is_sentiment140(first) => Ok(Self::Sentiment140),
            _ if tweets::is_rated(first) => Ok(Self::RatedTweets),
            "csv" | "tsv" => Ok(Self::Csv),
            _ if looks_sparse() => Ok(Self::LibSvm),
            _ if first.iter().any(|byte| matches!(byte, b',' | b';' | b'\t')) => Ok(Self::Csv),
            _ => Err(OpenDataError::UnknownFormat { path: path.into() }),
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        known
            .map(|(format, _)| *format)
            .ok_or_else(|| FormatError(text.into()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Self::ALL
            .iter()
            .find(|(format, _)| format == self)
            .expect("every format has a name");
        f.write_str(name)
    }
}
