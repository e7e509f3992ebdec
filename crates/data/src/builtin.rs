//! The data sets inside the binary, so that an installed one needs no
//! checkout. Sources and licences are in `data/`.

use crate::error::OpenDataError;
use crate::open::image_set;
use crate::source::Source;
use crate::text::{Corpus, TextOptions};
use crate::tweets;
use crate::{DataSet, Split};

/// A file of the crate's `data/` folder.
pub(crate) struct Embedded {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! embedded {
    ($path:literal) => {
        Embedded {
            name: concat!("data/", $path),
            bytes: include_bytes!(concat!("../data/", $path)),
        }
    };
}

static TRAIN_IMAGES: Embedded = Embedded {
    name: "data/mnist/train-images-idx3-ubyte.gz",
    bytes: paceline_mnist::TRAIN_IMAGES,
};
static TRAIN_LABELS: Embedded = embedded!("mnist/train-labels-idx1-ubyte.gz");
static TEST_IMAGES: Embedded = embedded!("mnist/t10k-images-idx3-ubyte.gz");
static TEST_LABELS: Embedded = embedded!("mnist/t10k-labels-idx1-ubyte.gz");
static TWEETS: Embedded = embedded!("tweets/tweets_GroundTruth.txt");

/// What determines the content of `mnist`.
pub(crate) fn mnist_files() -> [&'static Embedded; 4] {
    [&TRAIN_IMAGES, &TRAIN_LABELS, &TEST_IMAGES, &TEST_LABELS]
}

/// Unpacks MNIST, the two parts on two threads.
pub(crate) fn mnist() -> Result<Split, OpenDataError> {
    std::thread::scope(|scope| {
        let test = scope.spawn(|| images(&TEST_IMAGES, &TEST_LABELS));
        let train = images(&TRAIN_IMAGES, &TRAIN_LABELS)?;
        let test = test.join().expect("reading a data set does not panic")?;
        Ok(Split { train, test })
    })
}

fn images(images: &Embedded, labels: &Embedded) -> Result<DataSet, OpenDataError> {
    image_set(
        "mnist",
        &mut Source::embedded(images.name, images.bytes),
        &mut Source::embedded(labels.name, labels.bytes),
    )
}

pub(crate) fn tweets(options: &TextOptions) -> Result<Corpus, OpenDataError> {
    let mut corpus = Corpus::new(options);
    let source = Source::embedded(TWEETS.name, TWEETS.bytes);
    tweets::read_rated(source, options, &mut corpus)?;
    Ok(corpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, idx};

    #[test]
    fn mnist_has_its_rows_and_classes() {
        let split = mnist().unwrap();
        for (set, rows) in [(&split.train, 60_000), (&split.test, 10_000)] {
            assert_eq!((set.rows(), set.width(), set.classes()), (rows, 784, 10));
        }
        // The class counts of the published set.
        assert_eq!(
            split.test.class_counts(),
            [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
        );
        let Features::Bytes { values, scale, .. } = split.train.features() else {
            panic!("images are bytes");
        };
        assert_eq!(*scale, 1.0 / 255.0);
        assert_eq!(values.iter().max(), Some(&255));
    }

    #[test]
    fn tweets_have_two_classes_without_the_neutral_ones() {
        let corpus = tweets(&TextOptions::default()).unwrap();
        let positive = corpus.labels.iter().filter(|label| **label == 1).count();
        assert_eq!((corpus.labels.len(), positive), (4196, 2897));
    }

    #[test]
    fn the_embedded_files_unpack_to_the_published_ones() {
        // Lengths follow from the format; the gzip trailer's checksum has been
        // verified by the time the end is reached.
        for (file, length) in
            mnist_files()
                .into_iter()
                .zip([60_000 * 784, 60_000, 10_000 * 784, 10_000])
        {
            let read = idx::read(&mut Source::embedded(file.name, file.bytes)).unwrap();
            assert_eq!(read.values.len(), length);
        }
    }
}
