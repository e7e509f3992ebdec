//! From the name of a data set to its rows.

use std::path::Path;
use std::sync::Arc;

use crate::builtin;
use crate::cache::{Cache, CacheError, Key, Stamp};
use crate::dataset::{DataSet, Features, Labels, ShapeError, Split};
use crate::error::{Difference, OpenDataError};
use crate::files::Layout;
use crate::idx;
use crate::options::Options;
use crate::source::Source;
use crate::spec::DataSpec;
use crate::split::{Holdout, Parts, stratified};
use crate::text::{Corpus, TextEncoder};

/// Opens a data set: reads, generates or unpacks it and divides its rows into
/// those to learn from and those to judge by.
///
/// ```
/// use paceline_data::{DataSpec, Options, open};
///
/// let spec: DataSpec = "synthetic:blobs,rows=100,classes=3".parse()?;
/// let split = open(&spec, &Options::default())?;
/// assert_eq!(split.train.rows(), 100);
/// assert_eq!(split.train.classes(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(spec: &DataSpec, options: &Options) -> Result<Split, OpenDataError> {
    open_noting(spec, options, |_| ())
}

/// [`open`], telling also what is wrong with the cache. Such a problem costs
/// time, never the data set.
pub fn open_noting(
    spec: &DataSpec,
    options: &Options,
    note: impl FnMut(CacheError),
) -> Result<Split, OpenDataError> {
    let threads = options.threads.get();
    let split = match spec {
        DataSpec::Mnist { first } => {
            let mut split = mnist(options, note)?;
            if let Some(first) = first {
                split.train = first_rows(&split.train, first.get())?;
            }
            split
        }
        DataSpec::Tweets => {
            let corpus = builtin::tweets(&options.text)?;
            return text_split("tweets", &corpus, None, options);
        }
        DataSpec::Logistic(law) => law.generate(threads)?.split,
        DataSpec::Blobs(blobs) => blobs.generate()?.split,
        DataSpec::Path(path) => return open_path(path, options, note),
    };
    match options.holdout {
        Holdout::Fraction(_) => both_parts(split),
        fold @ Holdout::Fold(_) => divide(&split.train, fold, options.seed),
    }
}

fn mnist(options: &Options, note: impl FnMut(CacheError)) -> Result<Split, OpenDataError> {
    let Some(cache) = &options.cache else {
        return builtin::mnist();
    };
    let mut key = Key::builder();
    key.text("mnist");
    for file in builtin::mnist_files() {
        key.bytes(file.bytes);
    }
    let sets = cached(cache, key.finish(), note, || {
        builtin::mnist().map(|split| (vec![split.train, split.test], true))
    })?;
    let [train, test] = <[DataSet; 2]>::try_from(sets).expect("two parts were stored");
    Ok(Split { train, test })
}

fn open_path(
    path: &Path,
    options: &Options,
    note: impl FnMut(CacheError),
) -> Result<Split, OpenDataError> {
    let layout = Layout::of(path, options)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    let read = || read_layout(&layout, &name, options);
    let sets = match &options.cache {
        None => read()?,
        Some(cache) => {
            let stamps = || layout.files().map(Stamp::of).collect::<Vec<_>>();
            let before = stamps();
            let key = path_key(&layout, &name, options)?;
            cached(cache, key, note, || {
                // What was read is kept only if it is what was hashed.
                read().map(|sets| (sets, stamps() == before))
            })?
        }
    };
    let mut sets = sets.into_iter();
    let train = sets.next().expect("there are always training rows");
    match (sets.next(), options.holdout) {
        // Texts were divided before their dictionary was learnt.
        (Some(test), _) if layout.format.is_text() => both_parts(Split { train, test }),
        (Some(test), Holdout::Fraction(_)) => both_parts(Split { train, test }),
        (_, holdout) => divide(&train, holdout, options.seed),
    }
}

/// The training rows, then the test rows unless they are yet to be divided.
fn read_layout(
    layout: &Layout,
    name: &str,
    options: &Options,
) -> Result<Vec<DataSet>, OpenDataError> {
    if layout.format.is_text() {
        let (corpus, train_rows) = layout.read_texts(options)?;
        let split = text_split(name, &corpus, train_rows, options)?;
        return Ok(vec![split.train, split.test]);
    }
    let (train, test) = layout.read(name, options)?;
    Ok(std::iter::once(train).chain(test).collect())
}

/// A hash of the files and of every choice that changes what is read.
fn path_key(layout: &Layout, name: &str, options: &Options) -> Result<Key, OpenDataError> {
    let mut key = Key::builder();
    key.text(name);
    key.text(&layout.format.to_string());
    key.text(&format!("{:?}", options.columns));
    if layout.format.is_text() {
        key.text(&options.text.to_string());
        key.text(&options.holdout.to_string());
        key.text(&options.seed.to_string());
    }
    for part in [Some(&layout.train), layout.test.as_ref()]
        .into_iter()
        .flatten()
    {
        key.text(if part.labels.is_some() { "two" } else { "one" });
    }
    for file in layout.files() {
        key.file(file)?;
    }
    Ok(key.finish())
}

/// What is in the cache, or else what `build` makes, which says also whether
/// it may be kept.
fn cached(
    cache: &Cache,
    key: Key,
    mut note: impl FnMut(CacheError),
    build: impl FnOnce() -> Result<(Vec<DataSet>, bool), OpenDataError>,
) -> Result<Vec<DataSet>, OpenDataError> {
    match cache.load(key) {
        Ok(Some(sets)) => return Ok(sets),
        Ok(None) => {}
        Err(error) => note(error),
    }
    let (sets, keep) = build()?;
    if !keep {
        return Ok(sets);
    }
    if let Err(error) = cache.store(key, &sets) {
        note(error);
    }
    Ok(sets)
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
/// both. The texts behind the first `train_rows`, if that is given, are the
/// data set's own test rows.
fn text_split(
    name: &str,
    corpus: &Corpus,
    train_rows: Option<usize>,
    options: &Options,
) -> Result<Split, OpenDataError> {
    let rows = corpus.labels.len();
    let own = train_rows.unwrap_or(rows);
    let parts = match (train_rows, options.holdout) {
        (Some(_), Holdout::Fraction(_)) => {
            let number = |row| u32::try_from(row).expect("rows are numbered with 32 bits");
            Parts {
                train: (0..number(own)).collect(),
                test: (number(own)..number(rows)).collect(),
            }
        }
        (_, holdout) => {
            check_folds(name, own, holdout)?;
            stratified(&corpus.labels[..own], holdout, options.seed)
        }
    };
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
