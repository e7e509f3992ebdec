//! The files behind a path, and the rows in them.

use std::path::{Path, PathBuf};

use crate::classes::Classes;
use crate::csv;
use crate::dataset::{DataSet, Features, Labels};
use crate::error::{Difference, OpenDataError};
use crate::format::Format;
use crate::idx;
use crate::libsvm::{self, SparseRows};
use crate::lines::Lines;
use crate::npy;
use crate::open::shape;
use crate::options::Options;
use crate::source::Source;
use crate::text::Corpus;
use crate::tweets;

/// What a path stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    pub(crate) train: Part,
    /// The data set's own test rows, if it has any.
    pub(crate) test: Option<Part>,
}

/// The files that hold some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) rows: PathBuf,
    /// Where the labels are, if they are not with the rows.
    pub(crate) labels: Option<PathBuf>,
}

impl Layout {
    pub(crate) fn of(path: &Path, options: &Options) -> Result<Self, OpenDataError> {
        let metadata = std::fs::metadata(path).map_err(|source| OpenDataError::Read {
            path: path.into(),
            source,
        })?;
        if metadata.is_dir() {
            return directory(path, options);
        }
        let format = match options.format {
            Some(format) => format,
            None => Format::of(path)?,
        };
        let train = Part {
            rows: path.into(),
            labels: label_file(path, format, options)?,
        };
        Ok(Self {
            format,
            train,
            test: None,
        })
    }

    /// All files, in a fixed order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let parts = std::iter::once(&self.train).chain(&self.test);
        parts.flat_map(|part| std::iter::once(&*part.rows).chain(part.labels.as_deref()))
    }

    /// The texts of all files; the first number of them to learn from, if the
    /// others are the data set's own test rows.
    pub(crate) fn read_texts(
        &self,
        options: &Options,
    ) -> Result<(Corpus, Option<usize>), OpenDataError> {
        let mut corpus = Corpus::new(&options.text);
        self.read_text(&self.train, &mut corpus, options)?;
        let train_rows = corpus.labels.len();
        if let Some(test) = &self.test {
            self.read_text(test, &mut corpus, options)?;
        }
        Ok((corpus, self.test.as_ref().map(|_| train_rows)))
    }

    fn read_text(
        &self,
        part: &Part,
        corpus: &mut Corpus,
        options: &Options,
    ) -> Result<(), OpenDataError> {
        let source = Source::open(&part.rows)?;
        match self.format {
            Format::Sentiment140 => tweets::read_sentiment140(source, &options.text, corpus),
            _ => tweets::read_rated(source, &options.text, corpus),
        }
    }

    /// The training rows, and the data set's own test rows if it has any.
    pub(crate) fn read(
        &self,
        name: &str,
        options: &Options,
    ) -> Result<(DataSet, Option<DataSet>), OpenDataError> {
        let mut classes = Classes::default();
        let train = self.read_part(&self.train, &mut classes, options)?;
        let train_classes = classes.len();
        let test = match &self.test {
            Some(part) => Some(self.read_part(part, &mut classes, options)?),
            None => None,
        };
        if let Some(part) = &self.test
            && classes.len() > train_classes
        {
            let class = classes.name(train_classes).to_owned();
            return Err(self.mismatch(part, Difference::Class(class)));
        }
        let (train, test) = match (train, test) {
            // Both parts must count columns alike and be equally wide.
            (Rows::Sparse(train), Some(Rows::Sparse(test))) => {
                let from_zero = train.has_column_zero() || test.has_column_zero();
                let (train, test) = (train.into_csr(from_zero), test.into_csr(from_zero));
                let width = train.0.width().max(test.0.width());
                let widened = |(csr, labels): (crate::Csr, Vec<u32>)| {
                    (Features::Sparse(csr.widened(width)), labels)
                };
                (widened(train), Some(widened(test)))
            }
            (train, test) => (train.finish(), test.map(Rows::finish)),
        };
        if let (Some(part), Some((test, _))) = (&self.test, &test) {
            self.check_alike(part, &train.0, test)?;
        }
        let (names, ranks) = classes.ranked();
        let finish = |(features, labels): (Features, Vec<u32>)| {
            let labels: Vec<u32> = labels.iter().map(|label| ranks[*label as usize]).collect();
            Labels::new(labels, names.clone())
                .and_then(|labels| DataSet::new(name, features, labels))
                .map_err(|source| shape(name, source))
        };
        Ok((finish(train)?, test.map(finish).transpose()?))
    }

    fn check_alike(
        &self,
        part: &Part,
        train: &Features,
        test: &Features,
    ) -> Result<(), OpenDataError> {
        if std::mem::discriminant(train) != std::mem::discriminant(test) {
            return Err(self.mismatch(part, Difference::Kind));
        }
        if train.width() != test.width() {
            let why = Difference::Width {
                first: train.width(),
                second: test.width(),
            };
            return Err(self.mismatch(part, why));
        }
        Ok(())
    }

    fn mismatch(&self, part: &Part, why: Difference) -> OpenDataError {
        OpenDataError::Mismatch {
            first: self.train.rows.clone(),
            second: part.rows.clone(),
            why,
        }
    }

    fn read_part(
        &self,
        part: &Part,
        classes: &mut Classes,
        options: &Options,
    ) -> Result<Rows, OpenDataError> {
        let mut source = Source::open(&part.rows)?;
        let features = match self.format {
            Format::Csv => {
                let rows = csv::read(source, &options.columns, classes)?;
                let features = Features::Dense {
                    values: rows.values.into(),
                    width: rows.width,
                };
                return Ok(Rows::Other(features, rows.labels));
            }
            Format::LibSvm => return libsvm::read(source, classes).map(Rows::Sparse),
            Format::Npy => npy::read_features(&mut source)?,
            Format::Idx => idx::read(&mut source)?.into_features(&source)?,
            Format::Sentiment140 | Format::RatedTweets => {
                unreachable!("texts are read by read_texts")
            }
        };
        let path = part
            .labels
            .as_ref()
            .ok_or_else(|| OpenDataError::NoLabels {
                path: part.rows.clone(),
            })?;
        let labels = read_labels(path, classes)?;
        if labels.len() != features.rows() {
            return Err(OpenDataError::Mismatch {
                first: part.rows.clone(),
                second: path.clone(),
                why: Difference::Rows {
                    first: features.rows(),
                    second: labels.len(),
                },
            });
        }
        Ok(Rows::Other(features, labels))
    }
}

/// Rows as read, with provisional labels.
enum Rows {
    Sparse(SparseRows),
    Other(Features, Vec<u32>),
}

impl Rows {
    fn finish(self) -> (Features, Vec<u32>) {
        match self {
            Self::Sparse(rows) => {
                let from_zero = rows.has_column_zero();
                let (csr, labels) = rows.into_csr(from_zero);
                (Features::Sparse(csr), labels)
            }
            Self::Other(features, labels) => (features, labels),
        }
    }
}

/// Labels on their own: an array, IDX, or a text with one per line.
fn read_labels(path: &Path, classes: &mut Classes) -> Result<Vec<u32>, OpenDataError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let mut labels = Vec::new();
    if name.ends_with(".npy") {
        npy::read_labels(&mut Source::open(path)?, |label| {
            labels.push(classes.index(label.as_bytes())?);
            Ok(())
        })?;
    } else if name.ends_with("-ubyte") || name.ends_with(".idx") {
        let mut source = Source::open(path)?;
        for label in idx::read(&mut source)?.into_labels(&source)? {
            let index = classes.index(label.to_string().as_bytes());
            labels.push(index.expect("a byte has 256 values"));
        }
    } else {
        let mut lines = Lines::new(Source::open(path)?);
        let file = lines.path();
        while let Some(line) = lines.next()? {
            let index = classes.index(line.bytes.trim_ascii());
            labels.push(index.map_err(|what| line.malformed(&file, 0, what))?);
        }
    }
    Ok(labels)
}

/// Where the labels of a file are that holds features only.
fn label_file(
    path: &Path,
    format: Format,
    options: &Options,
) -> Result<Option<PathBuf>, OpenDataError> {
    if !matches!(format, Format::Npy | Format::Idx) {
        return Ok(None);
    }
    if let Some(labels) = &options.labels {
        return Ok(Some(labels.clone()));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = stem.strip_suffix(".npy").unwrap_or(stem);
    let names = match format {
        Format::Idx => vec![
            stem.replace("-images-idx3-", "-labels-idx1-"),
            stem.replace("-images.idx3-", "-labels.idx1-"),
        ],
        _ => vec![format!("{stem}-labels.npy"), format!("{stem}-labels.txt")],
    };
    names
        .iter()
        .filter(|name| *name != stem)
        .find_map(|name| existing(path.with_file_name(name)))
        .map(Some)
        .ok_or_else(|| OpenDataError::NoLabels { path: path.into() })
}

/// The known sets of files that a directory may hold.
fn directory(path: &Path, options: &Options) -> Result<Layout, OpenDataError> {
    let both = |rows: &str, labels: &str| {
        Some(Part {
            rows: existing(path.join(rows))?,
            labels: Some(existing(path.join(labels))?),
        })
    };
    let pairs = [
        (
            Format::Idx,
            [
                "train-images-idx3-ubyte",
                "train-labels-idx1-ubyte",
                "t10k-images-idx3-ubyte",
                "t10k-labels-idx1-ubyte",
            ],
        ),
        (
            Format::Idx,
            [
                "train-images.idx3-ubyte",
                "train-labels.idx1-ubyte",
                "t10k-images.idx3-ubyte",
                "t10k-labels.idx1-ubyte",
            ],
        ),
        (
            Format::Npy,
            ["x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"],
        ),
        (
            Format::Npy,
            ["X_train.npy", "y_train.npy", "X_test.npy", "y_test.npy"],
        ),
    ];
    for (format, [train_rows, train_labels, test_rows, test_labels]) in pairs {
        let train = both(train_rows, train_labels);
        if let (Some(train), Some(test)) = (train, both(test_rows, test_labels)) {
            return Ok(Layout {
                format,
                train,
                test: Some(test),
            });
        }
    }
    let single = [
        ("train.csv", "test.csv"),
        ("train.tsv", "test.tsv"),
        ("train.libsvm", "test.libsvm"),
        ("train.svm", "test.svm"),
        ("train.txt", "test.txt"),
        (
            "training.1600000.processed.noemoticon.csv",
            "testdata.manual.2009.06.14.csv",
        ),
    ];
    for (train, test) in single {
        if let (Some(train), Some(test)) = (existing(path.join(train)), existing(path.join(test))) {
            let format = match options.format {
                Some(format) => format,
                None => Format::of(&train)?,
            };
            let part = |rows| Part { rows, labels: None };
            return Ok(Layout {
                format,
                train: part(train),
                test: Some(part(test)),
            });
        }
    }
    Err(OpenDataError::UnknownDirectory { path: path.into() })
}

/// The file, or the same packed with gzip, if there is one.
fn existing(path: PathBuf) -> Option<PathBuf> {
    let mut packed = path.clone().into_os_string();
    packed.push(".gz");
    [path, packed.into()]
        .into_iter()
        .find(|path| path.is_file())
}
