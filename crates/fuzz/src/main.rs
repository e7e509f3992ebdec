//! `cargo xtask fuzz NAME [SECONDS] [FIRST] [CASES]`: cases of one target, as many as
//! fit the time, and no more than asked for.

#![expect(
    clippy::print_stdout,
    reason = "a developer's command prints its results"
)]

use paceline_fuzz::{TARGETS, Target, corpus};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let found = words
        .first()
        .and_then(|name| TARGETS.iter().find(|target| target.name == name));
    let Some(target) = found else {
        println!("usage: cargo xtask fuzz NAME [SECONDS] [FIRST] [CASES]\n\ntargets:");
        for target in &TARGETS {
            println!("  {}", target.name);
        }
        return ExitCode::FAILURE;
    };
    let time = Duration::from_secs(number(1).unwrap_or(3600));
    let first = number(2).unwrap_or(0);
    let most = number(3).unwrap_or(u64::MAX);
    let dir = tempfile::tempdir_in(Path::new("/dev/shm")).or_else(|_| tempfile::tempdir());
    let dir = match dir {
        Ok(dir) => dir,
        Err(error) => {
            println!("no temporary directory: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut findings = 0;
    let mut cases = 0_u64;
    let begun = now();
    for case in corpus(target).into_iter().chain(first..) {
        if begun.elapsed() >= time || cases >= most {
            break;
        }
        cases += 1;
        if !holds(target, case, dir.path()) {
            findings += 1;
            println!("{}: case {case} is a finding", target.name);
        }
        if cases.is_multiple_of(100_000) {
            println!("{}: {cases} cases, {findings} findings", target.name);
        }
    }
    println!(
        "{}: {cases} cases in {:.0} s, {findings} findings",
        target.name,
        begun.elapsed().as_secs_f64()
    );
    match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs a case in a directory that is empty, and leaves it so: a directory of its
/// own for each would take most of the time.
fn holds(target: &Target, case: u64, dir: &Path) -> bool {
    let held = catch_unwind(|| (target.run)(case, dir)).is_ok();
    let Ok(left) = std::fs::read_dir(dir) else {
        return false;
    };
    let is_empty = left.flatten().all(|entry| {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match is_dir {
            true => std::fs::remove_dir_all(path).is_ok(),
            false => std::fs::remove_file(path).is_ok(),
        }
    });
    held && is_empty
}

#[expect(clippy::disallowed_methods, reason = "a loop that ends by the clock")]
fn now() -> Instant {
    Instant::now()
}
