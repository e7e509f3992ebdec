//! `docs/reference` says what the program does.

mod support;

use paceline_diagnose::Limits;
use paceline_model::{Aggregate, Measure, PartMeasure, Unit};
use std::path::{Path, PathBuf};

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name)
}

fn table(rows: impl Iterator<Item = (&'static str, Unit, Aggregate, &'static str)>) -> String {
    let mut text = "| Column | Type | Kind | Meaning |\n|---|---|---|---|\n".to_owned();
    for (name, unit, aggregate, meaning) in rows {
        let kind = match aggregate {
            Aggregate::Sum => "amount",
            Aggregate::Level => "level",
        };
        let column_type = match unit {
            Unit::Seconds
            | Unit::Megahertz
            | Unit::Share
            | Unit::Joules
            | Unit::Watts
            | Unit::Celsius => "double",
            Unit::Bytes | Unit::Count => "int64",
        };
        text.push_str(&format!(
            "| `{name}` | {column_type} | {kind} | {meaning} |\n"
        ));
    }
    text
}

/// Puts `content` between the marks `<!-- begin NAME -->` and `<!-- end NAME -->`.
fn replace(page: &str, name: &str, content: &str) -> String {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the mark of the beginning");
    let (_, after) = rest.split_once(&end).expect("the mark of the end");
    format!("{before}{begin}{content}{end}{after}")
}

/// Compares a page with what it must be; with `PACELINE_UPDATE=1` it is written
/// instead.
#[track_caller]
fn check_page(path: &Path, expected: &str) {
    #[expect(clippy::disallowed_methods, reason = "the developer's wish")]
    if std::env::var_os("PACELINE_UPDATE").is_some() {
        std::fs::write(path, expected).expect("the page can be written");
        return;
    }
    let page = std::fs::read_to_string(path).expect("the page can be read");
    assert!(
        page == expected,
        "run `PACELINE_UPDATE=1 cargo test -p paceline --test reference`"
    );
}

#[test]
fn the_columns_of_a_record_are_those_that_are_measured() {
    let path = reference("files.md");
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    let samples = table(
        Measure::ALL
            .iter()
            .map(|m| (m.name(), m.unit(), m.aggregate(), m.describe())),
    );
    let parts = table(
        PartMeasure::ALL
            .iter()
            .map(|m| (m.name(), m.unit(), m.aggregate(), m.describe())),
    );
    let expected = replace(&replace(&page, "samples", &samples), "parts", &parts);
    check_page(&path, &expected);
}

/// The help of `words` and of every command below it, as sections of a page.
fn help_of(dir: &Path, words: &[&str], page: &mut String) {
    let helped = support::run(dir, words.iter().chain(&["--help"]));
    assert_eq!(helped.code, Some(0), "{}", helped.err);
    let heading = [&["paceline"], words].concat().join(" ");
    let level = "#".repeat(words.len().max(1) + 1);
    page.push_str(&format!("\n{level} `{heading}`\n\n```text\n"));
    for line in helped.out.lines() {
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page.push_str("```\n");
    let listed = helped.out.split_once("\nCommands:\n");
    let listed = listed.map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or(""));
    for line in listed.lines() {
        // What a long description goes on with is further in than a name.
        let name = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        let Some(name) = name.and_then(|rest| rest.split_whitespace().next()) else {
            continue;
        };
        if name != "help" {
            help_of(dir, &[words, &[name]].concat(), page);
        }
    }
}

#[test]
fn the_page_of_commands_is_what_the_program_says_of_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mut page = "# Commands\n\nThis page is generated from what `--help` prints.\n".to_owned();
    help_of(dir.path(), &[], &mut page);
    assert!(page.contains("### `paceline study run`"));
    check_page(&reference("cli.md"), &page);
}

/// The names in the first column of every table below a heading.
fn columns_below(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .collect()
}

#[test]
fn the_columns_of_a_real_record_are_the_documented_ones() {
    let dir = tempfile::tempdir().unwrap();
    let ran = support::run(dir.path(), ["run", "-q", "--out", "r", "--", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let exported = support::run(dir.path(), ["export", "r", "--to", "csv", "--out", "csv"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let page = std::fs::read_to_string(reference("files.md")).unwrap();
    let mut seen = 0;
    for file in exported.out.lines() {
        let (heading, first): (_, &[&str]) = if file.ends_with("events.csv") {
            ("## `events.parquet`", &[])
        } else if file.ends_with("parts.csv") {
            (
                "## `samples/<node>.parts.parquet`",
                &["time", "elapsed_s", "part", "name"],
            )
        } else {
            (
                "## `samples/<node>.parquet`",
                &["time", "elapsed_s", "interval_s", "gap"],
            )
        };
        let mut documented: Vec<String> = first.iter().map(|&name| name.to_owned()).collect();
        documented.extend(columns_below(&page, heading));
        let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
        let header = text.lines().next().unwrap();
        assert_eq!(header.split(',').collect::<Vec<_>>(), documented, "{file}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn the_guide_names_the_limits_that_the_verdict_uses() {
    let guide = include_str!("../../../docs/guide/profile.md");
    let limits = Limits::default();
    let share = |share: f64| format!("{:.0}% of the interval", share * 100.0);
    let rows = [
        format!(
            "| gpu | the run's GPUs executed something | {} |",
            share(limits.gpu_busy)
        ),
        format!(
            "| memory | tasks waited for memory (PSI) | {} |",
            share(limits.memory_pressure)
        ),
        format!(
            "| disk | tasks waited for a disk (PSI) | {} |",
            share(limits.disk_pressure)
        ),
        format!(
            "| cpu | tasks waited for a cpu (PSI), or the cpu limit held them back | {} |",
            share(limits.cpu_pressure)
        ),
        format!(
            "| cpu | the run kept cpus busy | {} cpus |",
            limits.cpu_of_one
        ),
        format!(
            "| disk | the busiest disk had work, some of it the run's | {} |",
            share(limits.disk_busy)
        ),
        format!(
            "| network | its own connections to other hosts moved data while it used less than \
             half a cpu | {:.0} MB/s |",
            limits.network_bytes_per_s / 1e6
        ),
        format!(
            "| network | one of them always had data on its way | {} |",
            share(limits.network_busy)
        ),
        format!(
            "| network | they sent segments again | {:.0}% of the segments |",
            limits.retransmitted * 100.0
        ),
    ];
    for row in rows {
        assert!(guide.contains(&row), "the guide lacks: {row}");
    }
}
