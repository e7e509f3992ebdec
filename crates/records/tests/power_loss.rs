//! What a loss of power leaves of a run and a study.
//!
//! Everything that is done to the disk is noted down by `paceline-files`. The
//! images that the disk could hold if the power failed after each change are
//! made, and each is read and closed: what was synced is there, nothing is made
//! up, and a record that looks finished is the finished one.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_files::trace::{self, Dice, Disk, Op, Survival};
use paceline_model::{Event, Micros, Outcome, Sample, WorkerId};
use paceline_records::{End, OpenRunError, Run, RunWriter, State, Stream, journal};
use specimen::{full_sample, metric, node, start};
use std::fs;
use std::io::Read;
use std::path::Path;

const SECONDS: u64 = 6;
const LOG: &[u8] = b"epoch 1\nepoch 2\nepoch 3\n";

/// What a run recorded: all of it, and when it was safe.
struct Story {
    ops: Vec<Op>,
    samples: Vec<Sample>,
    events: Vec<Event>,
    /// After so many changes the record was begun and could not be lost any more.
    begun: usize,
    /// After so many changes the first four seconds were synced.
    synced: usize,
    /// After so many changes it was finished and could not be lost any more.
    finished: usize,
}

fn tell(root: &Path) -> Story {
    let trace = trace::start(root);
    let dir = root.join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    let begun = trace.length();
    let samples: Vec<Sample> = (1..=SECONDS).map(full_sample).collect();
    let events: Vec<Event> = (1..=SECONDS).map(|second| metric(second, 0.5)).collect();
    let mut synced = 0;
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    for (i, (sample, event)) in samples.iter().zip(&events).enumerate() {
        writer.sample(&node(), sample).unwrap();
        writer.event(event).unwrap();
        if i % 2 == 0 {
            log.append(&LOG[i / 2 * 8..(i / 2 + 1) * 8]).unwrap();
        }
        if i == 3 {
            writer.sync().unwrap();
            synced = trace.length();
        }
    }
    let end = End::new(Outcome::Exited(0), Micros(SECONDS * 1_000_000));
    writer.finish(end).unwrap();
    let finished = trace
        .ops()
        .iter()
        .enumerate()
        .filter(|(_, op)| matches!(op, Op::Renamed(_, to) if to.ends_with("manifest.json")))
        .map(|(index, _)| index)
        .next_back()
        .unwrap();
    Story {
        ops: trace.ops(),
        samples,
        events,
        begun,
        synced,
        // The rename and the sync of its directory.
        finished: finished + 2,
    }
}

/// Where an image is made: in memory, where a sync costs nothing.
fn image() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Checks one image; says whether there was a record in it.
fn check(story: &Story, count: usize, survival: Survival, seed: u64) -> bool {
    let told = format!("after {count} changes, {survival:?}, seed {seed}");
    let image = image();
    let disk = Disk::after(&story.ops, count, survival, &mut Dice::new(seed));
    disk.write_to(image.path()).unwrap();
    let dir = image.path().join("run");
    let run = match Run::open(&dir) {
        Ok(run) => run,
        Err(OpenRunError::Absent { .. } | OpenRunError::NotARun { .. }) => {
            assert!(count < story.begun, "{told}: the record is gone");
            return false;
        }
        Err(error) => panic!("{told}: {error}: {:?}", std::error::Error::source(&error)),
    };
    if count >= story.finished {
        assert_eq!(run.state(), State::Finished, "{told}");
    }
    check_run(story, count, &run, &told);
    let sealed = Run::seal(&dir).unwrap_or_else(|error| panic!("{told}: {error}"));
    check_run(story, count, &sealed, &told);
    true
}

fn check_run(story: &Story, count: usize, run: &Run, told: &str) {
    let samples = run.samples().unwrap().into_iter().next();
    let samples = samples.map_or_else(Vec::new, |(_, samples)| samples);
    let events = run.events().unwrap();
    // What is there was written, in its order and without a gap.
    let end = run.manifest().end.as_ref().unwrap();
    assert!(story.samples.starts_with(&samples), "{told}");
    assert!(story.events.starts_with(&events), "{told}");
    if count >= story.synced {
        assert!(
            samples.len() >= 4 && events.len() >= 4,
            "{told}: synced entries are gone"
        );
    }
    if end.outcome == Outcome::Exited(0) {
        assert_eq!(samples, story.samples, "{told}");
        assert_eq!(events, story.events, "{told}");
        let mut text = Vec::new();
        let logs = run.logs().unwrap();
        logs[0].open().unwrap().read_to_end(&mut text).unwrap();
        assert_eq!(text, LOG, "{told}");
    }
}

#[test]
fn no_loss_of_power_loses_what_was_synced_or_makes_anything_up() {
    let dir = tempfile::tempdir().unwrap();
    let story = tell(dir.path());
    let mut records = 0;
    let mut images = 0;
    for count in 0..=story.ops.len() {
        for (survival, seeds) in [(Survival::All, 1), (Survival::None, 1), (Survival::Some, 6)] {
            for seed in 0..seeds {
                images += 1;
                records += u32::from(check(&story, count, survival, seed * 1000 + count as u64));
            }
        }
    }
    println!(
        "{} changes, {images} images, {records} with a record",
        story.ops.len()
    );
    assert!(records > 0);
}

#[test]
#[ignore = "many images: minutes"]
fn many_images_of_every_loss_of_power() {
    let dir = tempfile::tempdir().unwrap();
    let story = tell(dir.path());
    let mut images = 0;
    for count in 0..=story.ops.len() {
        for seed in 0..40 {
            images += 1;
            check(
                &story,
                count,
                Survival::Some,
                seed * 1_000_003 + count as u64,
            );
        }
    }
    println!("{} changes, {images} images", story.ops.len());
}

#[test]
fn a_journal_keeps_what_was_synced_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let trace = trace::start(dir.path());
    let path = dir.path().join("journal.jsonl");
    let (mut journal, _) = journal::Journal::<u32>::open(&path).unwrap();
    let mut synced = Vec::new();
    for entry in 0..8 {
        journal.append(&entry).unwrap();
        if entry % 3 == 2 {
            journal.sync().unwrap();
            synced.push((trace.length(), entry as usize + 1));
        }
    }
    drop(journal);
    let ops = trace.ops();
    drop(trace);
    for count in 0..=ops.len() {
        for seed in 0..8 {
            let image = image();
            let disk = Disk::after(&ops, count, Survival::Some, &mut Dice::new(seed));
            disk.write_to(image.path()).unwrap();
            let path = image.path().join("journal.jsonl");
            let safe = synced
                .iter()
                .filter(|(at, _)| *at <= count)
                .map(|(_, n)| *n);
            let safe = safe.max().unwrap_or(0);
            let told = format!("after {count}, seed {seed}");
            let (mut journal, replay) = journal::Journal::<u32>::open(&path)
                .unwrap_or_else(|error| panic!("{told}: {error}"));
            let expected: Vec<u32> = (0..replay.entries.len() as u32).collect();
            assert_eq!(replay.entries, expected, "{told}");
            assert!(replay.entries.len() >= safe, "{told}: {safe} were synced");
            journal.append(&99).unwrap();
            drop(journal);
            let after = journal::replay::<u32>(&path).unwrap();
            assert_eq!(after.entries.last(), Some(&99));
        }
    }
    assert!(fs::metadata(&path).unwrap().len() > 0);
}
