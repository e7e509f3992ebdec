//! From the name of a data set to its rows.

use std::sync::Arc;

use crate::builtin;
use crate::dataset::{DataSet, Features, Labels, ShapeError, Split};
use crate::error::{Difference, OpenDataError};
use crate::idx;
use crate::options::Options;
use crate::source::Source;
use crate::spec::DataSpec;
use crate::split::{Holdout, stratified};
use crate::text::{Corpus, TextEncoder};

/// Opens a data set: reads, generates or unpacks it and divides its rows into
/// those to learn from and those to judge by.
pub fn open(spec: &DataSpec, options: &Options) -> Result<Split, OpenDataError> {
    let threads = options.threads.get();
    let split = match spec {
        DataSpec::Mnist { first } => {
            let mut split = builtin::mnist()?;
            if let Some(first) = first {
                split.train = first_rows(&split.train, first.get())?;
            }
            split
        }
        DataSpec::Tweets => {
            return text_split("tweets", &builtin::tweets(&options.text)?, options);
        }
        DataSpec::Logistic(law) => law.generate(threads)?.split,
        DataSpec::Blobs(blobs) => blobs.generate()?.split,
        DataSpec::Path(path) => return Err(OpenDataError::UnknownFormat { path: path.clone() }),
    };
    match options.holdout {
        Holdout::Fraction(_) => Ok(split),
        fold @ Holdout::Fold(_) => divide(&split.train, fold, options.seed),
    }
}

/// Divides the rows of a data set that has no test rows, or that is to be
/// cross-validated.
fn divide(set: &DataSet, holdout: Holdout, seed: u64) -> Result<Split, OpenDataError> {
    check_folds(set.name(), set.rows(), holdout)?;
    let parts = stratified(set.labels(), holdout, seed);
    both_parts(Split {
        train: set.select(&parts.train),
        test: set.select(&parts.test),
    })
}

/// Divides texts, learns the dictionary from the training part and encodes
/// both.
fn text_split(name: &str, corpus: &Corpus, options: &Options) -> Result<Split, OpenDataError> {
    check_folds(name, corpus.labels.len(), options.holdout)?;
    let parts = stratified(&corpus.labels, options.holdout, options.seed);
    let encoder = TextEncoder::fit(corpus, &parts.train, &options.text).map_err(|source| {
        OpenDataError::TextTooWide {
            name: name.into(),
            source,
        }
    })?;
    let encoder = Arc::new(encoder);
    let part = |rows: &[u32]| {
        let labels: Vec<u32> = rows
            .iter()
            .map(|row| corpus.labels[*row as usize])
            .collect();
        Labels::new(labels, corpus.names.clone())
            .and_then(|labels| DataSet::new(name, encoder.encode_rows(corpus, rows), labels))
            .map(|set| set.with_encoder(Arc::clone(&encoder)))
            .map_err(|source| shape(name, source))
    };
    both_parts(Split {
        train: part(&parts.train)?,
        test: part(&parts.test)?,
    })
}

fn check_folds(name: &str, rows: usize, holdout: Holdout) -> Result<(), OpenDataError> {
    match holdout {
        Holdout::Fold(fold) if rows < fold.of() as usize => Err(OpenDataError::TooFewForFolds {
            name: name.into(),
            rows,
            folds: fold.of() as usize,
        }),
        _ => Ok(()),
    }
}

fn both_parts(split: Split) -> Result<Split, OpenDataError> {
    for (set, part) in [(&split.train, "training"), (&split.test, "test")] {
        if set.rows() == 0 {
            return Err(OpenDataError::Empty {
                name: set.name().into(),
                part,
            });
        }
    }
    Ok(split)
}

fn first_rows(set: &DataSet, rows: usize) -> Result<DataSet, OpenDataError> {
    if rows > set.rows() {
        return Err(OpenDataError::TooFewRows {
            name: set.name().into(),
            rows: set.rows(),
            asked: rows,
        });
    }
    Ok(set.slice(0..rows).named(format!("{}:{rows}", set.name())))
}

/// Images and labels in IDX. The classes are named by their numbers, from 0 to
/// the largest that occurs.
pub(crate) fn image_set(
    name: &str,
    images: &mut Source<'_>,
    labels: &mut Source<'_>,
) -> Result<DataSet, OpenDataError> {
    let features: Features = idx::read(images)?.into_features(images)?;
    let classes = idx::read(labels)?.into_labels(labels)?;
    if features.rows() != classes.len() {
        return Err(OpenDataError::Mismatch {
            first: images.path().to_path_buf(),
            second: labels.path().to_path_buf(),
            why: Difference::Rows {
                first: features.rows(),
                second: classes.len(),
            },
        });
    }
    let count = classes
        .iter()
        .max()
        .map_or(0, |largest| u32::from(*largest) + 1);
    let names = (0..count).map(|class| class.to_string()).collect();
    let classes: Vec<u32> = classes.into_iter().map(u32::from).collect();
    Labels::new(classes, names)
        .and_then(|labels| DataSet::new(name, features, labels))
        .map_err(|source| shape(name, source))
}

pub(crate) fn shape(name: &str, source: ShapeError) -> OpenDataError {
    OpenDataError::Shape {
        name: name.into(),
        source,
    }
}
