//! Saying that a test could not check anything here.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// The file that collects what was skipped, one line each.
pub const SKIPS: &str = "PACELINE_SKIPS";

/// Says that the calling test checks nothing on this machine, and why: a line
/// `skipped TEST: why` on stderr and, if `$PACELINE_SKIPS` names a file, at the
/// end of that file. The test returns after it.
///
/// # Panics
/// If the file cannot be written to: a skip must not be lost.
#[expect(
    clippy::print_stderr,
    reason = "who reads the log sees what was not tested"
)]
#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs all tests names the file for all of them"
)]
pub fn skipped(why: impl fmt::Display) {
    let line = line(&test_name(), &why.to_string());
    eprint!("{line}");
    if let Some(path) = std::env::var_os(SKIPS).filter(|path| !path.is_empty()) {
        append(Path::new(&path), &line);
    }
}

/// One line, whatever the reason holds.
fn line(test: &str, why: &str) -> String {
    let why: Vec<&str> = why.split_whitespace().collect();
    format!("skipped {test}: {}\n", why.join(" "))
}

/// Tests of many processes write at the same time: one call, one line.
fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("{}: {error}", path.display());
    }
}

/// The test binary and the test: libtest names a test's thread after it, and
/// nextest gives the name to the process that it starts for it.
fn test_name() -> String {
    let thread = std::thread::current();
    let thread = thread.name().filter(|&name| name != "main");
    let test = match thread {
        Some(name) => name.to_owned(),
        None => std::env::args()
            .skip(1)
            .find(|word| !word.starts_with('-'))
            .unwrap_or_default(),
    };
    let program = std::env::current_exe().unwrap_or_default();
    let binary = program.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo adds a hash to the name.
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _)| name);
    format!("{binary}::{test}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line_with_the_test_and_the_reason() {
        let name = test_name();
        assert!(
            name.starts_with("paceline_testkit::") && name.ends_with("_and_the_reason"),
            "{name}"
        );
        assert_eq!(line("a::b", "no\n cgroups "), "skipped a::b: no cgroups\n");
    }

    #[test]
    fn skips_of_several_tests_are_collected_in_one_file() {
        let path = std::env::temp_dir().join(format!("skips-{}", std::process::id()));
        append(&path, "skipped a: x\n");
        append(&path, "skipped b: y\n");
        let found = std::fs::read_to_string(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(found, "skipped a: x\nskipped b: y\n");
    }
}
