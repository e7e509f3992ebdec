//! `docs/reference/quantities.md` says what the grammar does.

use paceline_model::quantity::{bytes, duration};

const PAGE: &str = include_str!("../../../docs/reference/quantities.md");

/// The rows of the table whose first heading is `heading`.
fn rows(heading: &str) -> Vec<(&'static str, &'static str)> {
    let start = format!("| {heading} | ");
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(&start));
    let rows: Vec<_> = rows
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let text = cells.next().expect("a row has two cells").trim_matches('`');
            (text, cells.next().expect("a row has two cells"))
        })
        .collect();
    assert!(rows.len() > 5, "the table of {heading} is read");
    rows
}

#[test]
fn every_time_of_the_reference_is_read_as_it_says() {
    for (text, expected) in rows("Time") {
        let read = duration(text).map(|time| time.as_micros().to_string());
        let read = read.unwrap_or_else(|_| "refused".to_owned());
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn every_size_of_the_reference_is_read_as_it_says() {
    for (text, expected) in rows("Size") {
        let read = bytes(text).map(|bytes| bytes.to_string());
        let read = read.unwrap_or_else(|_| "refused".to_owned());
        assert_eq!(read, expected, "{text}");
    }
}
