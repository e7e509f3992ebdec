//! Data sets from files, as a user meets them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_data::{
    Cache, CacheError, DataSpec, Features, Fold, Format, Holdout, OpenDataError, Options, Split,
    open, open_noting,
};
use proptest::prelude::*;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("a file is written");
    }
    folder
}

fn opened(path: &Path) -> Result<Split, OpenDataError> {
    open(&DataSpec::Path(path.into()), &Options::default())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn idx(dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let rank = u8::try_from(dimensions.len()).expect("few dimensions");
    let mut file = vec![0, 0, 8, rank];
    file.extend(dimensions.iter().flat_map(|size| size.to_be_bytes()));
    file.extend(values);
    file
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).expect("a short header");
    [
        b"\x93NUMPY\x01\x00",
        &length.to_le_bytes()[..],
        header.as_bytes(),
        values,
    ]
    .concat()
}

fn images() -> [(&'static str, Vec<u8>); 4] {
    [
        (
            "train-images-idx3-ubyte",
            idx(&[3, 1, 2], &[1, 2, 3, 4, 5, 6]),
        ),
        ("train-labels-idx1-ubyte.gz", packed(&idx(&[3], &[7, 0, 7]))),
        (
            "t10k-images-idx3-ubyte.gz",
            packed(&idx(&[1, 1, 2], &[9, 8])),
        ),
        ("t10k-labels-idx1-ubyte", idx(&[1], &[0])),
    ]
}

fn borrowed<'a>(files: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    files
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect()
}

#[test]
fn a_folder_of_idx_files_is_a_data_set_packed_or_not() {
    let folder = folder(&borrowed(&images()));
    let split = opened(folder.path()).unwrap();
    assert_eq!((split.train.rows(), split.test.rows()), (3, 1));
    assert_eq!(split.train.labels().names(), ["0", "7"]);
    assert_eq!(&**split.train.labels(), [1, 0, 1]);
    assert_eq!(&**split.test.labels(), [0]);
    let Features::Bytes { values, width, .. } = split.train.features() else {
        panic!("images are bytes");
    };
    assert_eq!((&values[..], *width), (&[1, 2, 3, 4, 5, 6][..], 2));
}

#[test]
fn a_folder_of_numpy_arrays_is_a_data_set() {
    let floats: Vec<u8> = [1.0_f32, 2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = folder(&borrowed(&[
        ("x_train.npy", npy("<f4", "(2, 1)", &floats)),
        ("y_train.npy", npy("|u1", "(2,)", &[0, 1])),
        ("x_test.npy", npy("<f4", "(1, 1)", &floats[..4])),
        ("y_test.npy", npy("|u1", "(1,)", &[1])),
    ]));
    let split = opened(folder.path()).unwrap();
    assert_eq!(&**split.train.labels(), [0, 1]);
    assert_eq!(&**split.test.labels(), [1]);
}

#[test]
fn sparse_parts_share_their_columns_and_classes() {
    let folder = folder(&[
        ("train.libsvm", b"1 1:1\n-1 2:1\n"),
        ("test.libsvm", b"-1 5:1\n"),
    ]);
    let split = opened(folder.path()).unwrap();
    assert_eq!((split.train.width(), split.test.width()), (5, 5));
    assert_eq!(&**split.test.labels(), [0]);
}

#[test]
fn a_test_class_that_training_rows_lack_is_an_error() {
    let folder = folder(&[("train.csv", b"1,a\n2,b\n"), ("test.csv", b"3,c\n")]);
    let error = opened(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("it has the class `c`, which no training row has"),
        "{error}"
    );
}

#[test]
fn test_rows_of_another_width_are_an_error() {
    let folder = folder(&[("train.csv", b"1,2,a\n"), ("test.csv", b"3,a\n")]);
    let error = opened(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("1 features per row instead of 2"),
        "{error}"
    );
}

#[test]
fn a_file_without_test_rows_is_divided_by_class() {
    let rows: String = (0..50)
        .map(|row| format!("{row},{}\n", ["a", "b"][row % 2]))
        .collect();
    let folder = folder(&[("rows.csv", rows.as_bytes())]);
    let split = opened(&folder.path().join("rows.csv")).unwrap();
    assert_eq!(split.train.class_counts(), [20, 20]);
    assert_eq!(split.test.class_counts(), [5, 5]);
}

#[test]
fn the_first_line_tells_the_format_where_the_name_does_not() {
    let tweets = b"1\t2.0\tgood day\n2\t-1\tbad day\n3\t1\tfine sun\n4\t-2\tcold rain\n";
    let sentiment: String = (0..10)
        .map(|row| {
            format!(
                "\"{}\",\"{row}\",\"d\",\"q\",\"u\",\"some text {row}\"\n",
                row % 2 * 4
            )
        })
        .collect();
    let folder = folder(&[
        ("a.txt", b"1 1:2\n0 2:1\n1 1:1\n0 1:3\n1 1:1\n0 2:1\n"),
        ("b.txt", b"1,2,x\n3,4,y\n1,2,x\n3,4,y\n1,2,x\n3,4,y\n"),
        ("c.txt", tweets),
        ("d.csv", sentiment.as_bytes()),
        ("e.txt", b"what is this\n"),
    ]);
    let features = |name: &str| {
        let options = Options {
            holdout: "0.5".parse().unwrap(),
            ..Options::default()
        };
        let path = folder.path().join(name);
        open(&DataSpec::Path(path), &options).map(|split| split.train.features().clone())
    };
    assert!(matches!(features("a.txt"), Ok(Features::Sparse(_))));
    assert!(matches!(features("b.txt"), Ok(Features::Dense { .. })));
    assert!(matches!(features("c.txt"), Ok(Features::Tokens { .. })));
    assert!(matches!(features("d.csv"), Ok(Features::Tokens { .. })));
    let unknown = features("e.txt").unwrap_err();
    assert!(matches!(unknown, OpenDataError::UnknownFormat { .. }));
    assert!(unknown.hint().is_some());
}

#[test]
fn features_without_labels_are_an_error() {
    let folder = folder(&[("x.npy", &npy("|u1", "(1, 1)", &[1]))]);
    let error = opened(&folder.path().join("x.npy")).unwrap_err();
    assert!(matches!(error, OpenDataError::NoLabels { .. }));
}

#[test]
fn labels_are_found_beside_the_features() {
    let folder = folder(&[
        ("x.npy", &npy("|u1", "(4, 1)", &[1, 2, 3, 4])),
        ("x-labels.txt", b"cat\ndog\ncat\ndog\n"),
    ]);
    let options = Options {
        holdout: "0.5".parse().unwrap(),
        ..Options::default()
    };
    let split = open(&DataSpec::Path(folder.path().join("x.npy")), &options).unwrap();
    assert_eq!(split.train.labels().names(), ["cat", "dog"]);
}

#[test]
fn folds_of_built_in_data_leave_its_own_test_rows_out() {
    let options = Options {
        holdout: Holdout::Fold(Fold::new(0, 5).unwrap()),
        ..Options::default()
    };
    let spec: DataSpec = "synthetic:blobs,rows=100,test=30,classes=2"
        .parse()
        .unwrap();
    let split = open(&spec, &options).unwrap();
    assert_eq!((split.train.rows(), split.test.rows()), (80, 20));
}

#[test]
fn the_first_rows_of_mnist_can_be_asked_for() {
    let split = open(&"mnist:100".parse().unwrap(), &Options::default()).unwrap();
    assert_eq!((split.train.rows(), split.test.rows()), (100, 10_000));
    assert_eq!(split.train.name(), "mnist:100");
    let error = open(&"mnist:60001".parse().unwrap(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenDataError::TooFewRows { .. }));
}

fn cached(folder: &Path) -> Options {
    Options {
        cache: Some(Cache::new(folder.join("cache"), u64::MAX)),
        ..Options::default()
    }
}

fn entries(options: &Options) -> Vec<PathBuf> {
    let directory = options.cache.as_ref().expect("a cache").directory();
    fs::read_dir(directory)
        .expect("the cache exists")
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn the_second_opening_comes_from_the_cache_until_the_content_changes() {
    let folder = folder(&[("train.csv", b"1,a\n2,b\n"), ("test.csv", b"3,a\n")]);
    let options = cached(folder.path());
    let spec = DataSpec::Path(folder.path().into());
    let first = open(&spec, &options).unwrap();
    let second = open(&spec, &options).unwrap();
    assert_eq!(first.train.features(), second.train.features());
    let mapped = |split: &Split| split.train.labels().ids().is_mapped();
    assert!(mapped(&second));
    assert_eq!(entries(&options).len(), 1);

    fs::write(folder.path().join("train.csv"), b"1,a\n5,b\n").unwrap();
    let changed = open(&spec, &options).unwrap();
    assert_ne!(changed.train.features(), first.train.features());
    assert_eq!(entries(&options).len(), 2);
}

#[test]
fn a_choice_that_changes_the_rows_has_its_own_entry() {
    let folder = folder(&[("rows.csv", b"1,2\n2,1\n1,2\n2,1\n1,2\n2,1\n")]);
    let mut options = cached(folder.path());
    let spec = DataSpec::Path(folder.path().join("rows.csv"));
    options.holdout = "0.5".parse().unwrap();
    open(&spec, &options).unwrap();
    options.seed = 2;
    open(&spec, &options).unwrap();
    // Which rows are held out does not change what was parsed.
    assert_eq!(entries(&options).len(), 1);
    options.columns.label = "1".parse().unwrap();
    open(&spec, &options).unwrap();
    assert_eq!(entries(&options).len(), 2);
}

#[test]
fn a_damaged_entry_is_told_and_built_again() {
    let folder = folder(&[("train.csv", b"1,a\n2,b\n"), ("test.csv", b"3,a\n")]);
    let options = cached(folder.path());
    let spec = DataSpec::Path(folder.path().into());
    let first = open(&spec, &options).unwrap();
    let entry = entries(&options).remove(0);
    fs::write(&entry, b"rubbish").unwrap();
    let mut notes = Vec::new();
    let again = open_noting(&spec, &options, |note| notes.push(note)).unwrap();
    assert_eq!(again.train.features(), first.train.features());
    assert!(matches!(notes[..], [CacheError::Damaged { .. }]));
    open_noting(&spec, &options, |note| panic!("{note}")).unwrap();
}

#[test]
fn a_cache_that_cannot_be_written_costs_time_only() {
    let folder = folder(&[
        ("train.csv", b"1,a\n2,b\n"),
        ("test.csv", b"3,a\n"),
        ("cache", b""),
    ]);
    let options = cached(folder.path());
    let mut notes = Vec::new();
    let spec = DataSpec::Path(folder.path().into());
    open_noting(&spec, &options, |note| notes.push(note)).unwrap();
    assert!(!notes.is_empty());
}

#[test]
fn every_truncation_of_a_binary_or_packed_file_is_an_error() {
    for (name, whole) in images() {
        for length in 0..whole.len() {
            let mut files = images();
            for (other, content) in &mut files {
                if *other == name {
                    content.truncate(length);
                }
            }
            let folder = folder(&borrowed(&files));
            assert!(opened(folder.path()).is_err(), "{name}: {length} bytes");
        }
    }
    let csv = packed(b"1,2,a\n3,4,b\n5,6,a\n7,8,b\n");
    let array = npy("<f4", "(2, 1)", &[0; 8]);
    for (name, whole) in [("rows.csv.gz", csv), ("x.npy", array)] {
        for length in 0..whole.len() {
            let folder = folder(&[(name, &whole[..length]), ("x-labels.txt", b"a\nb\n")]);
            let error = opened(&folder.path().join(name)).unwrap_err();
            assert!(!matches!(error, OpenDataError::NoLabels { .. }));
        }
    }
}

const FORMATS: [Format; 6] = [
    Format::Csv,
    Format::LibSvm,
    Format::Npy,
    Format::Idx,
    Format::Sentiment140,
    Format::RatedTweets,
];

/// Opens bytes as every format. Errors are expected; panics are not.
fn try_all(bytes: &[u8]) {
    let folder = folder(&[("bytes", bytes), ("labels.txt", b"a\nb\n")]);
    let path = folder.path().join("bytes");
    for format in FORMATS {
        let options = Options {
            format: Some(format),
            labels: Some(folder.path().join("labels.txt")),
            ..Options::default()
        };
        let _ = open(&DataSpec::Path(path.clone()), &options);
    }
    let _ = opened(&path);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        try_all(&bytes);
    }

    #[test]
    fn nearly_right_texts_never_panic(text in "[-+0-9.,:;eE# \t\"\r\n]{0,200}") {
        try_all(text.as_bytes());
    }

    #[test]
    fn nearly_right_binaries_never_panic(place in 0_usize..80, byte: u8, which in 0_usize..3) {
        let mut bytes = [
            idx(&[2, 1, 2], &[1, 2, 3, 4]),
            npy("<f4", "(2, 1)", &[0; 8]),
            packed(b"1,2,a\n3,4,b\n"),
        ][which].clone();
        let place = place % bytes.len();
        bytes[place] = byte;
        try_all(&bytes);
    }
}
