//! Event files of the real writers, whole, growing, damaged and too many.

use super::records::tests::frame;
use super::*;
use serde_json::Value;
use std::fs;
use std::io::Write;

fn oracle(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("oracle/tensorboard")
        .join(name)
}

/// A run that has just begun, with a working directory and a record.
struct Setup {
    dir: tempfile::TempDir,
    files: EventFiles,
}

impl Setup {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let files = EventFiles::new(dir.path(), &dir.path().join("record"), RunClock::start());
        Self { dir, files }
    }

    /// Adds to an event file below the working directory.
    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        file.write_all(bytes).unwrap();
    }

    fn values(&mut self) -> Vec<(String, Option<u64>, f64)> {
        self.files.settle().into_iter().map(plain).collect()
    }
}

fn plain(found: Found) -> (String, Option<u64>, f64) {
    let ReportKind::Metric(value) = found.report.kind else {
        panic!("an event file has nothing but metrics");
    };
    (found.report.name, found.report.step, value)
}

/// An event with one simple value.
fn event(tag: &str, step: u8, value: f32) -> Vec<u8> {
    let mut scalar = vec![0x0a, tag.len() as u8];
    scalar.extend(tag.bytes());
    scalar.push(0x15);
    scalar.extend(value.to_le_bytes());
    let mut summary = vec![0x0a, scalar.len() as u8];
    summary.extend(scalar);
    let mut event = vec![0x10, step, 0x2a, summary.len() as u8];
    event.extend(summary);
    frame(&event)
}

#[test]
fn files_of_real_writers_hold_what_tensorboard_reads_in_them() {
    let expected = fs::read_to_string(oracle("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for name in ["tensorboardx", "tensorflow2"] {
        let bytes = fs::read(oracle(&format!("{name}.tfevents"))).unwrap();
        let mut found = Vec::new();
        let read = Records::default().push(&bytes, |data| {
            let told = message::event(data).expect("it is an event");
            for (tag, value) in told.scalars {
                found.push((tag, told.step, told.wall_time, value));
            }
        });
        assert_eq!(read, Ok(()));
        let rows = expected[name].as_array().unwrap();
        assert_eq!(found.len(), rows.len(), "{found:?}");
        for row in rows {
            let wanted: f64 = row[3].as_str().unwrap().parse().unwrap();
            let is_it = |(tag, step, wall, value): &(String, i64, f64, f64)| {
                row[0] == tag.as_str()
                    && row[1] == *step
                    && row[2] == *wall
                    && (value.to_bits() == wanted.to_bits() || value.is_nan() && wanted.is_nan())
            };
            assert!(found.iter().any(is_it), "{row} is not in {found:?}");
        }
    }
}

#[test]
fn a_file_is_followed_while_it_grows() {
    let mut setup = Setup::new();
    let all: Vec<u8> = (1..=5)
        .flat_map(|n| event("loss", n, f32::from(n)))
        .collect();
    let mut seen = Vec::new();
    for piece in all.chunks(17) {
        setup.write("logs/events.out.tfevents.1.host", piece);
        seen.extend(setup.values());
    }
    let expected: Vec<_> = (1..=5)
        .map(|n| ("loss".to_owned(), Some(n), n as f64))
        .collect();
    assert_eq!(seen, expected);
    assert!(setup.values().is_empty());
    assert!(setup.files.notices().is_empty());
}

#[test]
fn a_damaged_file_is_named_and_the_others_are_read_on() {
    let mut setup = Setup::new();
    let good = event("loss", 1, 0.5);
    let mut bad = event("loss", 2, 0.25);
    let last = bad.len() - 1;
    bad[last] ^= 1;
    setup.write(
        "a/events.out.tfevents.1",
        &[good.clone(), bad, good.clone()].concat(),
    );
    setup.write("b/events.out.tfevents.1", &event("accuracy", 1, 0.5));
    assert_eq!(setup.values().len(), 2);
    setup.write("a/events.out.tfevents.1", &good);
    setup.write("b/events.out.tfevents.1", &event("accuracy", 2, 0.75));
    assert_eq!(setup.values(), [("accuracy".to_owned(), Some(2), 0.75)]);
    let [notice] = &setup.files.notices()[..] else {
        panic!("one file is damaged");
    };
    let words = notice.to_string();
    let place = format!("tfevents.1 is damaged at byte {}", good.len());
    assert!(words.contains(&place), "{words}");
}

#[test]
fn folders_below_one_another_are_told_apart() {
    let mut setup = Setup::new();
    setup.write("runs/a/events.out.tfevents.1", &event("loss", 1, 1.0));
    setup.write(
        "runs/a/Loss_test/events.out.tfevents.1",
        &event("loss", 1, 2.0),
    );
    setup.write(
        "keras/train/events.out.tfevents.1",
        &event("epoch_loss", 1, 3.0),
    );
    setup.write(
        "keras/validation/events.out.tfevents.1",
        &event("epoch_loss", 1, 4.0),
    );
    let mut names: Vec<String> = setup.values().into_iter().map(|it| it.0).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "Loss_test/loss",
            "epoch_loss",
            "loss",
            "validation/epoch_loss"
        ]
    );
}

#[test]
fn what_was_there_before_or_is_written_by_another_is_not_the_run_s() {
    let mut setup = Setup::new();
    setup.write("old/events.out.tfevents.1", &event("loss", 1, 1.0));
    // The process of this test has the file open, and is no process of the run.
    let path = setup.dir.path().join("events.out.tfevents.2");
    let open = File::create(&path).unwrap();
    assert_eq!(writer::of(&path, setup.dir.path()), Writer::Nobody);
    drop(open);
    let born = fs::metadata(&path).unwrap().created();
    let Ok(born) = born else {
        return;
    };
    assert!(setup.files.is_new(&path), "{born:?}");
    setup.files.clock = RunClock::start();
    while fs::metadata(&path).unwrap().created().unwrap() + TICK >= setup.files.clock.started_at() {
        setup.files.clock = RunClock::start();
    }
    assert!(setup.values().is_empty());
}

#[test]
fn more_files_than_are_followed_are_said() {
    let mut setup = Setup::new();
    for n in 0..MOST_FILES + 3 {
        setup.write(&format!("events.out.tfevents.{n}"), &event("loss", 1, 1.0));
    }
    assert_eq!(setup.values().len(), MOST_FILES);
    let words: Vec<String> = setup
        .files
        .notices()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(words, ["3 event files beyond the first 64 were not read"]);
}

#[test]
fn the_writer_s_time_is_the_run_s() {
    let began = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
    assert_eq!(run_time(101.5, began), Micros(1_500_000));
    for strange in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(run_time(strange, began), Micros(0));
    }
}
