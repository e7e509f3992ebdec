//! What is left when `paceline` dies, or its disk is full.

mod support;

use paceline_model::{Event, EventKind, Outcome};
use paceline_records::{Run, State};
use paceline_testkit::wait_until;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use support::{Random, paceline, run};

/// Numbers, one a line and one every few milliseconds, as metrics.
const COUNTING: &str =
    r#"i=0; while :; do i=$((i+1)); echo "{\"step\": $i, \"n\": $i}"; sleep 0.005; done"#;

fn start(dir: &Path, out: &str) -> Child {
    let args = [
        "run",
        "--quiet",
        "--interval",
        "100ms",
        "--out",
        out,
        "--",
        "sh",
        "-c",
        COUNTING,
    ];
    paceline(dir, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

fn kill(child: &mut Child) -> String {
    // SIGKILL: nothing of ours runs after it.
    child.kill().expect("it was started here");
    child.wait().expect("it was started here");
    let mut seen = String::new();
    child
        .stdout
        .take()
        .expect("piped")
        .read_to_string(&mut seen)
        .expect("text");
    seen
}

/// Opens a record whose writer was killed. A child that the writer had forked
/// but that was not yet the command holds the writer's files for an instant.
fn settled(path: &Path) -> Result<Run, paceline_records::OpenRunError> {
    wait_until("nobody holds the record", || {
        Run::open(path).map_or(true, |run| run.state() != State::Live)
    });
    Run::open(path)
}

/// Whether a live record has a sample and an event.
fn has_something(path: &Path) -> bool {
    let Ok(run) = Run::open(path) else {
        return false;
    };
    let sampled = run
        .samples()
        .is_ok_and(|nodes| nodes.iter().any(|(_, s)| !s.is_empty()));
    sampled && run.events().is_ok_and(|events| !steps(&events).is_empty())
}

fn steps(events: &[Event]) -> Vec<u64> {
    let metrics = events
        .iter()
        .filter(|event| event.kind == EventKind::Metric);
    metrics.filter_map(|event| event.step).collect()
}

#[test]
fn after_kill_9_at_any_instant_the_record_opens_and_says_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let seed = 20_261_115;
    let mut random = Random(seed);
    let mut recorded = 0;
    for round in 0..200 {
        let out = format!("r{round}");
        let mut child = start(dir.path(), &out);
        // Half of the kills fall into the start, where most steps are taken; the
        // others, however busy the machine is, when there is something to lose.
        let limit = if round % 2 == 0 { 40_000 } else { 250_000 };
        if round % 2 == 1 {
            wait_until("something is recorded", || {
                has_something(&dir.path().join(&out))
            });
        }
        // Not a wait but the fault itself: when it strikes is drawn from the seed.
        std::thread::sleep(Duration::from_micros(random.below(limit)));
        let seen = kill(&mut child);

        let path = dir.path().join(&out);
        if !path.exists() {
            assert_eq!(
                seen, "",
                "seed {seed}, round {round}: it ran without a record"
            );
            continue;
        }
        let run = settled(&path).unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}"));
        assert_eq!(
            run.state(),
            State::Interrupted,
            "seed {seed}, round {round}"
        );
        assert_eq!(
            run.manifest().end.as_ref().unwrap().outcome,
            Outcome::Interrupted
        );
        let samples = run
            .samples()
            .unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}"));
        let found = steps(
            &run.events()
                .unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}")),
        );
        let expected: Vec<u64> = (1..=found.len() as u64).collect();
        assert_eq!(
            found, expected,
            "seed {seed}, round {round}: events are lost or invented"
        );
        recorded += usize::from(!found.is_empty() && !samples.is_empty());
    }
    // Otherwise the kills all came too early to prove anything.
    assert!(recorded >= 100, "only {recorded} runs had anything to lose");
}

#[test]
fn what_was_shown_reaches_the_record_without_its_end_and_outlives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = start(dir.path(), "r");
    let mut out = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while seen.iter().filter(|&&byte| byte == b'\n').count() < 100 {
        let n = out.read(&mut piece).unwrap();
        seen.extend_from_slice(&piece[..n]);
    }
    // Nobody closes the record: what was seen is there by itself.
    let path = dir.path().join("r");
    wait_until("what was shown is in the record", || {
        has_something(&path) && steps(&Run::open(&path).unwrap().events().unwrap()).len() >= 100
    });
    child.stdout = Some(out);
    kill(&mut child);
    let run = settled(&path).unwrap();
    let events = run.events().unwrap();
    assert!(steps(&events).len() >= 100);
    let (_, samples) = &run.samples().unwrap()[0];
    let last = samples.last().unwrap().at;
    let end = run.manifest().end.as_ref().unwrap().duration;
    assert!(last <= end, "last sample at {last}, last record at {end}");

    let sealed = support::run(dir.path(), ["export", "r", "--to", "parquet"]);
    assert_eq!(sealed.code, Some(0), "{}", sealed.err);
    let again = Run::open(&dir.path().join("r")).unwrap();
    assert_eq!(again.state(), State::Finished);
    assert_eq!(
        again.manifest().end.as_ref().unwrap().outcome,
        Outcome::Interrupted
    );
    assert_eq!(again.events().unwrap(), events);
}

#[test]
fn the_command_does_not_outlive_a_killed_paceline() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "run",
        "--quiet",
        "--out",
        "r",
        "--",
        "sh",
        "-c",
        "echo $$; exec sleep 600",
    ];
    let mut child = paceline(dir.path(), args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = Vec::new();
    let mut byte = [0];
    while child.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        pid.push(byte[0]);
    }
    let pid = String::from_utf8(pid).unwrap();
    kill(&mut child);
    let proc = Path::new("/proc").join(&pid).join("stat");
    let gone = || match std::fs::read_to_string(&proc) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    wait_until("the command ends with paceline", gone);
}

#[test]
fn a_full_disk_ends_the_run_with_code_3_and_nothing_half_written_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("disk");
    std::fs::create_dir(&place).unwrap();
    // Only root may mount a small disk. For others, files that may not grow
    // beyond 1 MiB refuse a write in the same way.
    let (disk, refusal) = match SmallDisk::mount(&place) {
        Some(disk) => (Some(disk), "No space left on device"),
        None => (None, "File too large"),
    };
    fill(dir.path(), &place.join("r"), refusal);
    drop(disk);
}

#[test]
fn a_file_that_may_not_grow_ends_the_run_with_code_3() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), &dir.path().join("r"), "File too large");
}

/// Records a flood until a write is refused, and looks at what is left.
fn fill(dir: &Path, out: &Path, refusal: &str) {
    let flood = r#"i=0; while :; do i=$((i+1)); echo "{\"step\": $i, \"n\": 1}"; done"#;
    let out = out.to_str().expect("a plain path");
    let mut run_it = paceline(
        dir,
        ["run", "--quiet", "--interval", "100ms", "--out", out, "--"],
    );
    run_it.args(["sh", "-c", flood]);
    let mut limited = support::limited_to_a_mebibyte(&run_it);
    let ended = limited.stdout(Stdio::null()).output().expect("it starts");
    support::Ran::from(ended).fails(3, refusal);
    let shown = run(dir, ["show", out]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("interrupted"), "{}", shown.out);
}

/// A file system of 512 KiB.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// Nothing if this user may not mount one.
    fn mount(place: &Path) -> Option<Self> {
        let path = place.to_str().expect("a plain path");
        let args = ["-t", "tmpfs", "-o", "size=512k", "tmpfs", path];
        support::succeeds("mount", &args).then(|| Self(place.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        support::succeeds("umount", &[self.0.to_str().expect("a plain path")]);
    }
}
