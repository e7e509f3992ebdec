//! Bits that flip and ends that are missing, in every file of a run and a study.
//!
//! Whatever is damaged, a reader sees one of three things: an error that names
//! the file, a notice that says what was left out, or exactly what it would have
//! seen. The seed of a failing case is printed and reproduces it.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_files::trace::Dice;
use paceline_model::{Iteration, Level, Micros, Outcome, RunId, WorkerId};
use paceline_records::study::{Entry, Plan, PlannedRun, PlannedTrial, RunResult, StudyDir};
use paceline_records::{End, IterationLog, LogLimit, Run, RunWriter, Stream, journal, list};
use specimen::{full_sample, metric, node, start};
use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a directory shows: all that any reader can learn from it, or the first
/// error.
fn view_of_run(dir: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for listed in list(dir.parent().unwrap())? {
        text.push_str(&format!("{:?}\n", listed.summary?));
    }
    let run = Run::open(dir)?;
    text.push_str(&format!("{:?}\n{:#?}\n", run.state(), run.manifest()));
    text.push_str(&format!("{:?}\n{:?}\n", run.samples()?, run.events()?));
    run.each_iteration(|worker, iteration| text.push_str(&format!("{worker} {iteration:?}\n")))?;
    for log in run.logs()? {
        let mut bytes = Vec::new();
        log.open()?.read_to_end(&mut bytes)?;
        text.push_str(&format!("{:?} {bytes:?}\n", log.summary));
    }
    Ok(text)
}

fn view_of_study(dir: &Path) -> Result<String, Box<dyn Error>> {
    let study = StudyDir::new(dir);
    let plan = Plan::read(&study.plan())?;
    let replay = journal::replay::<Entry>(&study.journal())?;
    let notice = match replay.cut_bytes {
        0 => String::new(),
        bytes => format!("cut_log {bytes}"),
    };
    Ok(format!("{plan:?}\n{:?}\n{notice}", replay.entries))
}

/// A run with every kind of file: samples, events, iterations, and output that is
/// longer than what is kept of it.
fn write_run(dir: &Path, finished: bool) {
    let mut start = start();
    start.log_limit = LogLimit {
        head_bytes: 2048,
        tail_bytes: 4096,
    };
    let mut writer = RunWriter::create(dir, start).unwrap();
    let mut iterations = IterationLog::create(dir, WorkerId(0)).unwrap();
    for clock in 0..300 {
        iterations.append(&Iteration {
            clock,
            iterations: 1,
            began: Duration::from_millis(clock),
            ..Iteration::default()
        });
    }
    iterations.close().unwrap();
    for second in 1..=5 {
        writer.sample(&node(), &full_sample(second)).unwrap();
        writer.event(&metric(second, 0.5 / second as f64)).unwrap();
    }
    for (stream, lines) in [(Stream::Out, 1000), (Stream::Err, 1)] {
        let log = writer.log(WorkerId(0), stream).unwrap();
        for line in 0..lines {
            log.append(format!("epoch {line}\n").as_bytes()).unwrap();
        }
    }
    if finished {
        let mut end = End::new(Outcome::Exited(0), Micros(5_000_000));
        end.responses.insert("accuracy".to_owned(), 0.91);
        writer.finish(end).unwrap();
    }
}

fn write_study(dir: &Path) {
    fs::create_dir(dir).unwrap();
    let study = StudyDir::new(dir);
    let runs: Vec<PlannedRun> = (0..6)
        .map(|i| PlannedRun {
            continues: None,
            promise: None,
            constants: Vec::new(),
            id: RunId::new(&format!("r{i}")).unwrap(),
            trial: i % 2,
            replicate: i / 2,
            block: 0,
            standard: i,
            seed: u64::from(i) * 77,
        })
        .collect();
    let trial = |b: i64| PlannedTrial {
        levels: vec![Level::Integer(b), Level::Word("bsp".to_owned())],
        coded: vec![-1.0, 1.0],
    };
    let plan = Plan {
        fingerprint: "0123456789abcdef".to_owned(),
        seed: 1,
        factors: vec!["b".to_owned(), "sync".to_owned()],
        responses: vec!["time".to_owned()],
        trials: vec![trial(2), trial(6)],
        runs,
    };
    plan.write(&study.plan()).unwrap();
    let (mut journal, _) = journal::Journal::open(&study.journal()).unwrap();
    for run in &plan.runs {
        let run = run.id.to_string();
        let time = "2026-11-16T12:00:00Z".to_owned();
        let leased = Entry::Leased {
            run: run.clone(),
            attempt: 1,
            time,
        };
        journal.append(&leased).unwrap();
        let result = RunResult {
            done: true,
            outcome: "done".to_owned(),
            duration_s: 1.5,
            responses: [("time".to_owned(), 1.5)].into_iter().collect(),
            ..RunResult::default()
        };
        let ended = Entry::Ended {
            run,
            attempt: 1,
            result: Box::new(result),
        };
        journal.append(&ended).unwrap();
    }
}

/// The files below a directory, relative to it. Locks hold nothing.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if fs::metadata(&path).unwrap().len() > 0 {
                found.push(path.strip_prefix(dir).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// What became of the damage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    refused: u32,
    noticed: u32,
    same: u32,
    /// A journal without its last lines: the records that they were about tell,
    /// which are no part of the journal.
    at_line_end: u32,
}

/// What a record says of damage that it can live with.
const NOTICES: [&str; 4] = ["cut_log", "short_log", "altered_log", "unverified_log"];

/// One seeded campaign over one directory.
fn campaign(
    what: &str,
    dir: &Path,
    cases: u32,
    seed: u64,
    view: fn(&Path) -> Result<String, Box<dyn Error>>,
) -> Count {
    let good = view(dir).unwrap();
    let files = files(dir);
    let mut dice = Dice::new(seed);
    let mut count = Count::default();
    for case in 0..cases {
        let file = &files[dice.below(files.len() as u64) as usize];
        let path = dir.join(file);
        let before = fs::read(&path).unwrap();
        let mut after = before.clone();
        let cut = dice.below(4) == 0;
        let place = if cut {
            after.truncate(dice.below(before.len() as u64) as usize);
            after.len() * 8
        } else {
            let bit = dice.below(before.len() as u64 * 8) as usize;
            after[bit / 8] ^= 1 << (bit % 8);
            bit
        };
        fs::write(&path, &after).unwrap();
        let told = format!(
            "{what}, seed {seed}, case {case}: {} of {} at bit {place}",
            if cut { "cut" } else { "flip" },
            file.display()
        );
        match view(dir) {
            Err(error) => {
                let mut words = error.to_string();
                let mut cause = error.source();
                while let Some(inner) = cause {
                    words.push_str(&format!(": {inner}"));
                    cause = inner.source();
                }
                let name = file.to_str().unwrap();
                // A column's message has the file, a study's journal its path.
                assert!(words.contains(name), "{told}: `{words}` does not name it");
                count.refused += 1;
            }
            Ok(seen) if seen == good => count.same += 1,
            Ok(seen) if NOTICES.iter().any(|name| seen.contains(name)) => count.noticed += 1,
            Ok(_) => {
                // `crates/cli/tests/damaged_study.rs` has what is said of these.
                let at_line_end = what == "study"
                    && cut
                    && file == Path::new("journal.jsonl")
                    && (after.is_empty() || after.ends_with(b"\n"));
                assert!(at_line_end, "{told}: changed and not said");
                count.at_line_end += 1;
            }
        }
        fs::write(&path, &before).unwrap();
    }
    count
}

fn all(cases: u32, seed: u64) -> Vec<(&'static str, Count)> {
    let parent = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let folder = parent.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder.join("it")
    };
    let (finished, interrupted, study) = (place("a"), place("b"), place("c"));
    write_run(&finished, true);
    write_run(&interrupted, false);
    write_study(&study);
    vec![
        (
            "finished",
            campaign("finished", &finished, cases, seed, view_of_run),
        ),
        (
            "interrupted",
            campaign("interrupted", &interrupted, cases, seed, view_of_run),
        ),
        (
            "study",
            campaign("study", &study, cases, seed, view_of_study),
        ),
    ]
}

#[test]
fn damage_is_refused_by_name_said_or_without_effect() {
    for (what, count) in all(400, 15) {
        println!("{what}: {count:?}");
        if what != "study" {
            assert_eq!(count.at_line_end, 0);
        }
    }
}

#[test]
#[ignore = "10,000 cases: minutes"]
fn ten_thousand_cases_of_damage() {
    for (what, count) in all(10_000, 1) {
        println!("{what}: {count:?}");
        if what != "study" {
            assert_eq!(count.at_line_end, 0);
        }
    }
}

/// The two that were found: a plan that ran a level which the study does not
/// have, and a manifest that told another run.
#[test]
fn one_bit_of_a_plan_or_a_manifest_is_enough_to_refuse_it() {
    let parent = tempfile::tempdir().unwrap();
    let study = parent.path().join("study");
    write_study(&study);
    let plan = study.join("plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    let at = text.find("\"levels\":[2,").unwrap() + "\"levels\":[".len();
    let mut bytes = text.into_bytes();
    bytes[at] ^= 4; // 2 becomes 6
    assert_eq!(bytes[at], b'6');
    fs::write(&plan, bytes).unwrap();
    let error = Plan::read(&plan).unwrap_err();
    assert!(
        error.to_string().contains("plan.json is damaged"),
        "{error}"
    );

    let run = parent.path().join("run");
    write_run(&run, true);
    let manifest = run.join("manifest.json");
    let good = fs::read(&manifest).unwrap();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&manifest, bytes).unwrap();
        let error = Run::open(&run).unwrap_err();
        assert!(error.to_string().contains("manifest.json"), "{error}");
    }
}
