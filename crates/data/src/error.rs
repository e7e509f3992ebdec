//! What can be wrong with a data set on disk.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::dataset::ShapeError;
use crate::text::TooWideError;

/// Why a data set could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenDataError {
    /// A file or directory could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file's content is not what its format promises.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A directory holds none of the known sets of files.
    #[error("{} holds no data set that is known", path.display())]
    UnknownDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Neither the name nor the content tells the format of a file.
    #[error("cannot tell the format of {}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A format that holds only features needs a second file with labels.
    #[error("{} holds features only, and no file with labels was found", path.display())]
    NoLabels {
        /// The file with the features.
        path: PathBuf,
    },
    /// Two files that belong together do not fit.
    #[error("{} does not fit {}: {why}", second.display(), first.display())]
    Mismatch {
        /// The file that sets the shape.
        first: PathBuf,
        /// The file that should have it.
        second: PathBuf,
        /// What differs.
        why: Difference,
    },
    /// The data set has no rows to learn from or no rows to judge by.
    #[error("{name} has no {part} rows")]
    Empty {
        /// The data set.
        name: String,
        /// `training` or `test`.
        part: &'static str,
    },
    /// The data set has fewer rows than were asked for.
    #[error("{name} has {rows} training rows, {asked} were asked for")]
    TooFewRows {
        /// The data set.
        name: String,
        /// How many there are.
        rows: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// A class has too few rows to be in every fold.
    #[error("{folds} folds need at least {folds} rows, {name} has {rows}")]
    TooFewForFolds {
        /// The data set.
        name: String,
        /// How many rows there are.
        rows: usize,
        /// How many folds were asked for.
        folds: usize,
    },
    /// Features and labels do not make a data set.
    #[error("{name}: {source}")]
    Shape {
        /// The data set.
        name: String,
        /// What does not fit.
        source: ShapeError,
    },
    /// The features of a text would have too many columns.
    #[error("{name}: {source}")]
    TextTooWide {
        /// The data set.
        name: String,
        /// How wide they would be.
        source: TooWideError,
    },
    /// A generated data set is larger than this machine can address.
    #[error("{rows} rows of {width} values are more than memory can hold")]
    TooLarge {
        /// The rows asked for.
        rows: usize,
        /// The values of a row.
        width: usize,
    },
}

impl OpenDataError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Malformed(malformed) => malformed.hint.clone(),
            Self::Read { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::UnexpectedEof
                        | io::ErrorKind::InvalidData
                        | io::ErrorKind::InvalidInput
                ) =>
            {
                Some(Cow::Borrowed("the archive is damaged or incomplete"))
            }
            Self::UnknownDirectory { .. } => Some(Cow::Borrowed(
                "a directory holds train-images-idx3-ubyte, train-labels-idx1-ubyte and the two t10k files; or x_train.npy, y_train.npy, x_test.npy, y_test.npy; or train.* and test.* in one format (csv, tsv, libsvm); each may end in .gz",
            )),
            Self::UnknownFormat { .. } => Some(Cow::Borrowed(
                "name the format: csv, tsv, libsvm, npy, idx, sentiment140 or rated-tweets",
            )),
            Self::NoLabels { .. } => Some(Cow::Borrowed(
                "name the file with the labels, or put it beside the features as NAME-labels",
            )),
            Self::TooFewForFolds { .. } => Some(Cow::Borrowed("use fewer folds")),
            Self::TextTooWide { .. } => Some(Cow::Borrowed(
                "give a shorter length, fewer words or hash them into buckets",
            )),
            Self::Empty { .. } => Some(Cow::Borrowed(
                "both parts need a row: give more rows or another test fraction",
            )),
            _ => None,
        }
    }
}

/// How two files differ that should fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Not as many rows.
    #[error("{second} rows instead of {first}")]
    Rows {
        /// Rows of the file that sets the shape.
        first: usize,
        /// Rows of the other.
        second: usize,
    },
    /// Not as many columns.
    #[error("{second} features per row instead of {first}")]
    Width {
        /// Columns of the file that sets the shape.
        first: usize,
        /// Columns of the other.
        second: usize,
    },
    /// Not the same kind of features.
    #[error("its features are of another kind")]
    Kind,
    /// A class that the training rows do not have.
    #[error("it has the class `{0}`, which no training row has")]
    Class(String),
}

/// A place in a file where something else was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{position}: expected {expected}, found {found}", file.display())]
pub struct Malformed {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub position: Position,
    /// What should be there.
    pub expected: Cow<'static, str>,
    /// What is there.
    pub found: Cow<'static, str>,
    /// What to do about it.
    pub hint: Option<Cow<'static, str>>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// In a text, both counted from one; the column counts bytes.
    Line {
        /// The line.
        line: u64,
        /// The byte of the line.
        column: u64,
    },
    /// In a binary file (unpacked), the byte counted from zero.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, column } => write!(f, "{line}:{column}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// What is wrong at a place, before the place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unexpected {
    pub(crate) expected: Cow<'static, str>,
    pub(crate) found: Cow<'static, str>,
    pub(crate) hint: Option<Cow<'static, str>>,
}

impl Unexpected {
    pub(crate) fn new(
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(self, file: impl Into<PathBuf>, position: Position) -> Malformed {
        Malformed {
            file: file.into(),
            position,
            expected: self.expected,
            found: self.found,
            hint: self.hint,
        }
    }
}

/// The beginning of some bytes as a user may read it: quoted, short, without
/// control characters.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LIMIT: usize = 40;
    if bytes.is_empty() {
        return "nothing".into();
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LIMIT)]);
    let mut shown = String::from("`");
    for character in text.chars().take(LIMIT) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.push('`');
    if text.chars().count() > LIMIT {
        shown.push('…');
    }
    shown
}
