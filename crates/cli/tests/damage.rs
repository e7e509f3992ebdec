//! Bits that flip and ends that are missing, in a study that was really run, a
//! checkpoint that was really trained and the cache of a data set.
//!
//! What is damaged is refused with the file's name, left out with a notice,
//! built again with a notice, or read as if nothing had happened. The seed of a
//! failing case is printed and reproduces it. `paceline-records` has the same for
//! the files of single runs.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a campaign says how it went"
)]

mod support;

use paceline_answers::results::{StudyResults, StudyState};
use paceline_data::{Cache, DataSpec, Options, open_noting};
use paceline_records::Run;
use paceline_train::TensorFile;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use support::{Random, run};

/// What a reader was told beside the content.
struct Seen {
    content: String,
    notices: Vec<String>,
}

type View<'a> = &'a dyn Fn() -> Result<Seen, String>;

#[derive(Debug, Default)]
struct Count {
    refused: u32,
    noticed: u32,
    same: u32,
}

/// Damages one of the files after the other, reads, and mends it.
fn campaign(what: &str, files: &[PathBuf], cases: u64, seed: u64, view: View<'_>) -> Count {
    let good = view().expect("nothing is damaged yet");
    assert_eq!(good.notices, Vec::<String>::new());
    let mut random = Random(seed);
    let mut count = Count::default();
    for case in 0..cases {
        let path = &files[random.below(files.len() as u64) as usize];
        let before = fs::read(path).expect("the file is there");
        let mut after = before.clone();
        let cut = random.below(4) == 0;
        let place = if cut {
            after.truncate(random.below(before.len() as u64) as usize);
            after.len() * 8
        } else {
            let bit = random.below(before.len() as u64 * 8) as usize;
            after[bit / 8] ^= 1 << (bit % 8);
            bit
        };
        fs::write(path, &after).expect("the file can be written");
        let told = format!(
            "{what}, seed {seed}, case {case}: {} of {} at bit {place}",
            if cut { "cut" } else { "flip" },
            path.display()
        );
        let name = path.file_name().expect("a name").to_string_lossy();
        match view() {
            Err(error) => {
                // A run's tables are named by their record, too.
                assert!(error.contains(&*name), "{told}: `{error}` does not name it");
                count.refused += 1;
            }
            Ok(seen) if !seen.notices.is_empty() => count.noticed += 1,
            Ok(seen) => {
                assert_eq!(seen.content, good.content, "{told}: changed and not said");
                count.same += 1;
            }
        }
        fs::write(path, &before).expect("the file can be written");
    }
    count
}

fn said(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    words
}

/// A study of two trials, one of which fails at first and is retried.
const STUDY: &str = r#"
name = "damaged"
[job]
command = ["sh", "-c", 'echo "{{\"accuracy\": 0.$1}}"; test -e "$2" || {{ touch "$2"; exit 3; }}', "sh", "{x}", "mark{x}"]
[factors]
x = [1, 2]
[responses]
time = "duration_s"
accuracy = "accuracy"
[policy]
retries = 1
"#;

fn study(dir: &Path) -> PathBuf {
    fs::write(dir.join("s.toml"), STUDY).expect("the study is written");
    // One run fails once, the other never.
    fs::write(dir.join("mark2"), "").expect("the mark is written");
    let ran = run(dir, ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    dir.join("s.study")
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if fs::metadata(&path).expect("a file").len() > 0 {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All that can be learned from a study and its records.
fn view_of_study(dir: &Path) -> Result<Seen, String> {
    let results = StudyResults::open(dir).map_err(|error| said(&error))?;
    let csv = dir.join("again.csv");
    results.rows.write_csv(&csv).map_err(|error| said(&error))?;
    let mut content = fs::read_to_string(&csv).expect("it was written");
    fs::remove_file(&csv).expect("it was written");
    content.push_str(&format!(
        "{}{:?}",
        results.study.to_toml(),
        results.state.plan
    ));
    let mut notices = Vec::new();
    if results.state.cut_bytes > 0 {
        notices.push("an incomplete last entry".to_owned());
    }
    for record in results.state.record_dirs().into_iter().flatten() {
        let run = Run::open(&record).map_err(|error| said(&error))?;
        content.push_str(&format!("{:?}", run.manifest()));
        let samples = run.samples().map_err(|error| said(&error))?;
        let events = run.events().map_err(|error| said(&error))?;
        content.push_str(&format!("{samples:?}{events:?}"));
        for log in run.logs().map_err(|error| said(&error))? {
            let mut text = String::new();
            let mut log = log.open().map_err(|error| said(&error))?;
            log.read_to_string(&mut text)
                .map_err(|error| said(&error))?;
            content.push_str(&text);
        }
    }
    Ok(Seen { content, notices })
}

fn checkpoint(dir: &Path) -> PathBuf {
    let words = "train softmax --data synthetic:blobs,rows=60,width=6,classes=3 --epochs 2 \
                 --optimizer adam --checkpoint c.safetensors --quiet";
    let ran = run(dir, words.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    dir.join("c.safetensors")
}

fn view_of_checkpoint(path: &Path) -> Result<Seen, String> {
    let file = TensorFile::read(path).map_err(|error| said(&error))?;
    let content = format!("{file:?}");
    let notices = Vec::new();
    Ok(Seen { content, notices })
}

/// A table, and where it is cached.
fn cached(dir: &Path) -> (DataSpec, Options) {
    let table = dir.join("rows.csv");
    let rows: String = (0..40)
        .map(|row| format!("{row},{}.5,{}\n", row * 7 % 11, row % 3))
        .collect();
    fs::write(&table, format!("a,b,label\n{rows}")).expect("the table is written");
    let options = Options {
        cache: Some(Cache::new(dir.join("cache"), u64::MAX)),
        ..Options::default()
    };
    (DataSpec::Path(table), options)
}

fn view_of_data(spec: &DataSpec, options: &Options) -> Result<Seen, String> {
    let mut notices = Vec::new();
    let split = open_noting(spec, options, |error| notices.push(said(&error)))
        .map_err(|error| said(&error))?;
    let content = format!("{:?}{:?}", split.train, split.test);
    Ok(Seen { content, notices })
}

fn damage_a_study(cases: u64, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    // The tables are outputs, written for others: nobody here reads them.
    let inputs: Vec<PathBuf> = files(&study)
        .into_iter()
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "table"))
        .collect();
    let count = campaign("a study", &inputs, cases, seed, &|| view_of_study(&study));
    println!("a study and its records: {count:?}");
}

/// Most files of a study are those of its records: its own get as many cases again.
fn damage_a_studys_own_files(cases: u64, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    let own: Vec<PathBuf> = files(&study)
        .into_iter()
        .filter(|path| path.parent() == Some(&*study))
        .collect();
    let count = campaign("its own", &own, cases, seed, &|| view_of_study(&study));
    println!("a study's own files: {count:?}");
}

fn damage_a_checkpoint(cases: u64, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = checkpoint(dir.path());
    let view: View<'_> = &|| view_of_checkpoint(&path);
    let count = campaign("checkpoint", std::slice::from_ref(&path), cases, seed, view);
    println!("a checkpoint: {count:?}");
    assert_eq!(count.refused, u32::try_from(cases).expect("few"));
}

fn damage_the_cache(cases: u64, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (spec, options) = cached(dir.path());
    view_of_data(&spec, &options).expect("the entry is made");
    let entries = files(&dir.path().join("cache"));
    assert_eq!(entries.len(), 1);
    let view: View<'_> = &|| view_of_data(&spec, &options);
    let count = campaign("cache", &entries, cases, seed, view);
    println!("the cache: {count:?}");
    assert_eq!(count.refused, 0, "an entry that is damaged is built again");
}

#[test]
fn damage_is_refused_by_name_said_mended_or_without_effect() {
    damage_a_study(100, 15);
    damage_a_studys_own_files(100, 15);
    damage_a_checkpoint(300, 15);
    damage_the_cache(300, 15);
}

#[test]
#[ignore = "10,000 cases: minutes"]
fn ten_thousand_cases_of_a_damaged_study() {
    damage_a_study(10_000, 1);
}

#[test]
#[ignore = "10,000 cases: minutes"]
fn ten_thousand_cases_of_a_studys_own_damaged_files() {
    damage_a_studys_own_files(10_000, 1);
}

#[test]
#[ignore = "10,000 cases: a minute"]
fn ten_thousand_cases_of_a_damaged_checkpoint() {
    damage_a_checkpoint(10_000, 1);
}

#[test]
#[ignore = "10,000 cases: a minute"]
fn ten_thousand_cases_of_a_damaged_cache() {
    damage_the_cache(10_000, 1);
}

/// A journal whose every line is whole, but which lacks one of them.
#[test]
fn a_journal_without_one_of_its_lines_is_refused_or_says_the_same() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    let journal = study.join("journal.jsonl");
    let text = fs::read_to_string(&journal).expect("the journal is text");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let good = view_of_study(&study).expect("nothing is missing yet");
    let (mut refused, mut same) = (0, 0);
    for missing in 0..lines.len() {
        let mut left = lines.clone();
        let line = left.remove(missing);
        fs::write(&journal, left.concat()).expect("the journal can be written");
        match view_of_study(&study) {
            Err(error) => {
                assert!(error.contains("journal.jsonl"), "{line}: {error}");
                let state = StudyState::read(&study).expect("anybody may look");
                assert_eq!(state.unnoted.len(), 1, "{line}");
                refused += 1;
            }
            Ok(seen) => {
                assert_eq!(seen.content, good.content, "without {line}");
                same += 1;
            }
        }
    }
    println!(
        "{refused} refused, {same} the same, of {} lines",
        lines.len()
    );
    assert!(refused >= 3, "three attempts have ended");

    // Without its last line a study is refused by whoever counts, said by whoever
    // looks, and mended by whoever goes on.
    let last = lines.iter().rposition(|line| line.contains("\"ended\""));
    let mut left = lines.clone();
    left.truncate(last.expect("the last run has ended"));
    fs::write(&journal, left.concat()).expect("the journal can be written");
    let ran = run(dir.path(), ["analyze", "s.study", "--response", "time"]);
    ran.fails(4, "journal.jsonl does not say how");
    let ran = run(dir.path(), ["study", "status", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("journal"), "{}", ran.err);
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let seen = view_of_study(&study).expect("it is whole again");
    assert_eq!(seen.content, good.content);
}

/// The frozen study says what the runs mean; the plan says which study it was.
#[test]
fn a_frozen_study_that_says_something_else_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = study(dir.path());
    let frozen = study.join("study.toml");
    let text = fs::read_to_string(&frozen).expect("the study is text");
    fs::write(&frozen, text.replace("damaged", "damagee")).expect("it can be written");
    for args in [
        &["analyze", "s.study", "--response", "time"][..],
        &["report", "s.study", "--out", "r.html"],
    ] {
        let ran = run(dir.path(), args);
        ran.fails(4, "study.toml is not the study that was planned");
    }
    // A comment changes nothing that anybody is told.
    fs::write(&frozen, format!("# mine\n{text}")).expect("it can be written");
    let ran = run(dir.path(), ["analyze", "s.study", "--response", "time"]);
    assert!(!ran.err.contains("planned"), "{}", ran.err);
}

#[test]
fn a_search_whose_question_was_damaged_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = STUDY.replace("x = [1, 2]", "x = [1, 2, 3]");
    fs::write(dir.path().join("s.toml"), text).expect("the study is written");
    for mark in ["mark1", "mark2", "mark3"] {
        fs::write(dir.path().join(mark), "").expect("the mark is written");
    }
    let words = "tune s.toml --factor x --maximize accuracy --max-runs 4 --quiet --out s.tune";
    let ran = run(dir.path(), words.split_whitespace());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    let path = dir.path().join("s.tune/tune.json");
    let good = fs::read(&path).expect("a search has its question");
    let mut random = Random(5);
    for _ in 0..12 {
        let mut bytes = good.clone();
        let bit = random.below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).expect("it can be written");
        let ran = run(dir.path(), words.split_whitespace());
        ran.fails(4, "tune.json is damaged");
    }
    fs::write(&path, &good).expect("it can be written");
    let ran = run(dir.path(), words.split_whitespace());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    // A search of an earlier version has no checksum.
    let text = String::from_utf8(good).expect("JSON is text");
    let before = text.rfind(",\n  \"crc32\"").expect("it is sealed");
    fs::write(&path, format!("{}\n}}\n", &text[..before])).expect("it can be written");
    let ran = run(dir.path(), words.split_whitespace());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
}
