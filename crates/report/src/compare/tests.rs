use super::*;
use crate::text::Style;
use paceline_answers::compare::{Group, Measured, Quantity, Unit, compare};
use paceline_model::Verdict;
use paceline_records::WallTime;
use std::time::SystemTime;

fn group(label: &str, times: &[f64], written: f64) -> Group {
    let runs = times.iter().map(|&time| {
        let value = |key: &str, name: &str, kind, unit, value: f64| {
            let quantity = Quantity {
                key: key.to_owned(),
                name: name.to_owned(),
                kind,
                unit,
            };
            (key.to_owned(), (quantity, value))
        };
        Measured {
            id: "r".to_owned(),
            started: WallTime::from(SystemTime::UNIX_EPOCH),
            verdict: Verdict::Done,
            outcome: "done".to_owned(),
            machine: "m".to_owned(),
            disturbed: Vec::new(),
            values: [
                value("duration_s", "time", Kind::Time, Unit::Seconds, time),
                value(
                    "disk_write_bytes",
                    "disk, written",
                    Kind::Resource,
                    Unit::Bytes,
                    written,
                ),
            ]
            .into_iter()
            .collect(),
        }
    });
    Group {
        label: label.to_owned(),
        what: format!("python {label}.py"),
        runs: runs.collect(),
    }
}

const A: [f64; 6] = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8];

fn told(groups: Vec<Group>) -> String {
    let answer = compare(groups, true).unwrap();
    let page = Page {
        width: 100,
        style: Style::Plain,
    };
    text(&answer, page)
}

#[test]
fn a_difference_is_told_with_its_interval_and_what_moved() {
    let slower = A.map(|time| time * 1.3);
    let text = told(vec![group("A", &A, 1e6), group("B", &slower, 9e6)]);
    for said in [
        "A  python A.py (6 runs)",
        "B takes 30.0% more time than A",
        "rank sum test: p = 0.0022",
        "disk, written +800.0%",
        "+30.0%",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("caution"), "{text}");
}

#[test]
fn one_run_each_is_told_as_what_cannot_be_known() {
    let text = told(vec![group("A", &[10.0], 1e6), group("B", &[13.0], 1e6)]);
    assert!(text.contains("cannot be known"), "{text}");
    assert!(!text.contains("takes"), "{text}");
}

#[test]
fn no_difference_is_never_told_as_one() {
    let shuffled = [10.1, 10.0, 10.2, 9.8, 9.9, 10.35];
    let text = told(vec![group("A", &A, 1e6), group("B", &shuffled, 1e6)]);
    assert!(text.contains("No difference in time is shown"), "{text}");
    assert!(
        !text.contains("more time") && !text.contains("less time"),
        "{text}"
    );
}
