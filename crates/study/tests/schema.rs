//! The schema that editors use is the one that the parser's keys make.

use paceline_model::quantity::{SIZE_PATTERN, TIME_PATTERN, bytes, duration};
use paceline_study::{DesignKind, Word as _, schema};
use regex::Regex;
use std::path::Path;

/// Compares a committed page with what it must be; with `PACELINE_UPDATE=1` it
/// is written instead.
#[track_caller]
fn check_page(name: &str, expected: &str) {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let path = pages.join(name);
    #[expect(clippy::disallowed_methods, reason = "the developer's wish")]
    if std::env::var_os("PACELINE_UPDATE").is_some() {
        std::fs::write(&path, expected).expect("the page can be written");
        return;
    }
    let committed = std::fs::read_to_string(&path).expect("the page can be read");
    assert!(
        committed == expected,
        "docs/reference/{name} is out of date: run the tests once with PACELINE_UPDATE=1"
    );
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    check_page("study.schema.json", &schema());
}

#[test]
fn the_schema_names_every_design() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let words = &schema["properties"]["design"]["properties"]["kind"]["enum"];
    assert_eq!(words.as_array().unwrap().len(), DesignKind::ALL.len());
}

#[test]
fn the_committed_reference_is_the_generated_one() {
    check_page("study.md", &paceline_study::reference());
}

#[test]
fn what_the_parser_reads_as_a_time_or_a_size_the_schema_accepts() {
    let numbers = ["3", "1.5", "2.", ".5", "1e3", "2E+2"];
    let units = [
        "", "d", "day", "days", "h", "hours", "m", "min", "minutes", "s", "sec", "seconds", "ms",
        "us", "µs", "k", "kB", "KiB", "mb", "Gi", "gib", "TB", "PiB", "b", "B", " s", " GB",
    ];
    let time = Regex::new(TIME_PATTERN).unwrap();
    let size = Regex::new(SIZE_PATTERN).unwrap();
    let mut read = 0;
    for text in numbers
        .iter()
        .flat_map(|number| units.map(|unit| format!("{number}{unit}")))
        .chain(["1h 30min".to_owned(), " 2m30s ".to_owned()])
    {
        assert!(duration(&text).is_err() || time.is_match(&text), "{text}");
        assert!(bytes(&text).is_err() || size.is_match(&text), "{text}");
        read += usize::from(duration(&text).is_ok()) + usize::from(bytes(&text).is_ok());
    }
    assert!(read > 100, "{read}");
    assert!(!time.is_match("soon") && !size.is_match("much") && !size.is_match("8Gbit"));
}
