//! Sizes that are too large, and disks that are too small: refused before memory
//! is taken, by name, with the exit code of whose fault it is.

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Ran, paceline, run, signal};

/// A study of so many ranges.
fn design(dir: &Path, factors: usize, lines: &str) -> Ran {
    let ranges: String = (0..factors)
        .map(|i| format!("f{i} = {{ low = 0.0, high = 1.0 }}\n"))
        .collect();
    let text = format!(
        "[job]\ncommand = [\"true\"]\nreads_env = true\n[factors]\n{ranges}[design]\n{lines}\n"
    );
    fs::write(dir.join("s.toml"), text).expect("a temporary directory");
    run(dir, ["design", "s.toml"])
}

#[test]
fn designs_that_would_take_minutes_are_refused_with_their_size() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let hypercube = |factors, runs: u32| {
        let lines = format!("kind = \"latin-hypercube\"\nruns = {runs}");
        design(dir.path(), factors, &lines)
    };
    hypercube(40, 1_000_000).fails(2, "1000000 runs of 40 factors are 40000000 settings");
    hypercube(6, 1_000_000).fails(2, "the limit is 5000000");
    let ran = hypercube(50, 2_000);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let optimal = |factors, model: &str| {
        let lines = format!("kind = \"optimal\"\nruns = 5000\nmodel = \"{model}\"");
        design(dir.path(), factors, &lines)
    };
    optimal(20, "interactions").fails(2, "211 coefficients in 5000 runs");
    let ran = optimal(3, "quadratic");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = "kind = \"two-level\"\nreplicates = 1000000";
    design(dir.path(), 30, lines).fails(2, "is more than 1000000");
}

#[test]
fn tables_of_too_many_columns_are_refused_with_their_number() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let table = |columns: usize| {
        let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
        let row = vec!["1"; columns].join(",");
        let text = format!("{}\n{row}\n{row}\n{row}\n", names.join(","));
        fs::write(dir.path().join("t.csv"), text).expect("a temporary directory");
    };
    table(100_000);
    for line in [
        "analyze t.csv --response c0",
        "predict t.csv --factors c1 --responses c0",
        "pick t.csv --factors c1 --minimize c0",
    ] {
        let ran = run(dir.path(), line.split(' '));
        ran.fails(2, "10000");
        assert!(ran.err.contains("t.csv"), "{}", ran.err);
    }
    table(10_000);
    let ran = run(dir.path(), ["analyze", "t.csv", "--response", "c0"]);
    assert!(!ran.err.contains("10000"), "{}", ran.err);
}

/// The same command where no file may grow beyond 512 bytes. The signal that comes
/// with it is ignored, so that the write fails as on a full disk.
fn on_a_full_disk(command: &Command) -> Ran {
    #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
    let mut limited = Command::new("sh");
    let script = r#"trap '' XFSZ; ulimit -f 1; exec "$0" "$@""#;
    limited.args(["-c", script]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(command.get_current_dir().expect("it is set"));
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    // What is printed goes through pipes, which have no such limit.
    Ran::from(limited.stdin(Stdio::null()).output().expect("it starts"))
}

#[test]
fn a_disk_that_is_full_at_resume_is_the_worlds_fault_and_costs_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = "[job]\ncommand = [\"sh\", \"-c\", \"echo begun; test -e go || sleep 100\", \"sh\", \"{x}\"]\n\
                [factors]\nx = [1, 2]\n[responses]\ntime = \"duration_s\"\n";
    fs::write(dir.path().join("s.toml"), text).expect("a temporary directory");
    let mut child = paceline(dir.path(), ["study", "run", "s.toml", "--quiet"])
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let log = dir.path().join("s.study/runs");
    paceline_testkit::wait_until("the first run has printed something", || {
        let runs = fs::read_dir(&log).ok();
        let mut logs = runs.into_iter().flatten().flatten();
        logs.any(|run| {
            let out = run.path().join("log/worker0.out");
            fs::metadata(out).is_ok_and(|out| out.len() > 0)
        })
    });
    signal(child.id(), "KILL");
    assert_eq!(child.wait().expect("it was started").signal(), Some(9));
    let resume = paceline(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    let ran = on_a_full_disk(&resume);
    ran.fails(3, "no space left to write");
    // Nothing was lost: with room again, the same command goes on to the end.
    fs::write(dir.path().join("go"), "").expect("a temporary directory");
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_checkpoint_that_does_not_fit_on_the_disk_is_the_worlds_fault_and_the_old_one_stays() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let words = "trainer softmax --data synthetic:blobs,rows=600,width=40,classes=4 --epochs 2 \
                 --checkpoint c.safetensors";
    let train = paceline(dir.path(), words.split_whitespace());
    let ran = on_a_full_disk(&train);
    ran.fails(3, "no space left to write");
    assert!(ran.err.contains("c.safetensors"), "{}", ran.err);
    assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 0);
    let ran = run(dir.path(), words.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let old = fs::read(dir.path().join("c.safetensors")).expect("a checkpoint");
    on_a_full_disk(&train).fails(3, "no space left to write");
    let new = fs::read(dir.path().join("c.safetensors")).expect("a checkpoint");
    assert!(old == new, "the old checkpoint stays");
    assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 1);
}
