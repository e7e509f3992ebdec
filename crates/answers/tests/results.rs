//! Which runs count, from a study's directory and from its table.

mod made;

use made::{Made, study};
use paceline_answers::Explained;
use paceline_answers::analyze::{AnalyzeQuestion, analyze};
use paceline_answers::results::{OpenResultsError, Results, StudyResults};
use std::path::Path;

fn column(results: &Results, name: &str) -> Vec<f64> {
    let column = results.table().column(name).expect("the column exists");
    column.as_numeric().expect("it holds numbers").to_vec()
}

fn open(dir: &Path) -> Results {
    Results::open(dir).expect("the results can be opened")
}

/// Some runs failed, one lacks a response, and the last have not begun.
fn ragged(dir: &Path) {
    let made = Made {
        failing: &[2],
        lacking: &[5],
        pending: 3,
        ..Made::default()
    };
    study(dir, &made);
}

#[test]
fn a_study_and_the_table_it_writes_have_the_same_rows() {
    let dir = tempfile::tempdir().expect("a directory");
    ragged(dir.path());
    let table = StudyResults::open(dir.path()).expect("the study").rows;
    let file = dir.path().join("table.csv");
    table.write_csv(&file).expect("the table is written");
    let (own, read) = (open(dir.path()), open(&file));
    assert_eq!(own.table().rows(), 24 - 1 - 1 - 3);
    assert_eq!(own.left_out(), 5);
    assert_eq!(read.left_out(), 5);
    for name in ["order", "batch_size", "workers", "time", "accuracy"] {
        assert_eq!(column(&own, name), column(&read, name), "{name}");
    }
    let words = |results: &Results| results.table().column("sync").cloned();
    assert_eq!(words(&own), words(&read));
}

#[test]
fn the_table_is_an_output_that_nobody_reads() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path(), &Made::default());
    let before = column(&open(dir.path()), "time");
    std::fs::write(dir.path().join("table.csv"), "time\nnonsense\n").expect("it can be written");
    assert_eq!(column(&open(dir.path()), "time"), before);
}

#[test]
fn a_study_knows_its_factors_and_its_order() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path(), &Made::default());
    let question = AnalyzeQuestion {
        response: Some("time".to_owned()),
        ..AnalyzeQuestion::default()
    };
    let answer = analyze(&open(dir.path()), &question).expect("an analysis");
    let formula = &answer.analysis.formula;
    for factor in ["batch_size", "workers", "sync"] {
        assert!(formula.contains(factor), "{formula}");
    }
    assert!(!formula.contains("trial"), "{formula}");
}

#[test]
fn what_cannot_be_opened_says_why_and_what_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let Err(error) = Results::open(&dir.path().join("absent")) else {
        panic!("there is nothing to open");
    };
    assert!(error.to_string().contains("there is no file or directory"));
    let Err(error) = Results::open(dir.path()) else {
        panic!("an empty directory holds no study");
    };
    assert!(error.hint().expect("a hint").contains("study run"));
    let made = Made {
        pending: 24,
        ..Made::default()
    };
    study(dir.path(), &made);
    let Err(error) = Results::open(dir.path()) else {
        panic!("no run is done");
    };
    assert!(matches!(error, OpenResultsError::NoneDone { runs: 24, .. }));
}
