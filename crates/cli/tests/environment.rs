//! What a command finds in its environment: the same under `run` and `study run`.

mod support;

use std::path::Path;
use support::{Ran, paceline};

/// Prints what a command finds, into a file that outlives it.
const SCRIPT: &str = "echo \"$OMP_NUM_THREADS $MKL_NUM_THREADS $PYTHONUNBUFFERED\" > found.txt";

/// What a command finds that may use one CPU, by both ways of starting it.
fn check(set: &[(&str, &str)], expected: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let study = format!(
        "[job]\nreads_env = true\ncommand = [\"sh\", \"-c\", '{SCRIPT}']\n[factors]\nx = [1, 2]\n\
         [fixed]\ncpus = 1\n[responses]\ntime = \"duration_s\"\n"
    );
    std::fs::write(dir.path().join("s.toml"), study).expect("the study is written");
    let started = |words: &[&str]| {
        let mut command = paceline(dir.path(), words);
        for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONUNBUFFERED"] {
            command.env_remove(name);
        }
        command.envs(set.iter().copied());
        let ran = Ran::from(command.output().expect("the binary can be started"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let text = found(dir.path());
        std::fs::remove_file(dir.path().join("found.txt")).expect("it was written");
        text
    };
    let one = started(&["run", "--quiet", "--cpus", "1", "--", "sh", "-c", SCRIPT]);
    assert_eq!(one, expected, "run");
    let many = started(&["study", "run", "s.toml", "--quiet"]);
    assert_eq!(many, expected, "study run");
}

fn found(dir: &Path) -> String {
    let text = std::fs::read_to_string(dir.join("found.txt")).expect("the command wrote it");
    text.trim_end().to_owned()
}

#[test]
fn libraries_are_told_how_many_cpus_there_are() {
    check(&[], "1 1 1");
}

#[test]
fn what_the_user_set_holds_in_both() {
    check(&[("OMP_NUM_THREADS", "7"), ("PYTHONUNBUFFERED", "")], "7 1");
}
