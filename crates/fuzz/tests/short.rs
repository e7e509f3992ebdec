//! Some seconds of every target: the numbers that once found something, and then
//! the first ones.

use paceline_fuzz::{TARGETS, corpus};
use std::path::Path;

fn check(name: &str) {
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("the target exists");
    for case in corpus(target).into_iter().chain(0..target.short) {
        let dir = tempfile::tempdir_in(Path::new("/dev/shm"))
            .or_else(|_| tempfile::tempdir())
            .expect("a temporary directory");
        let held = std::panic::catch_unwind(|| (target.run)(case, dir.path()));
        assert!(held.is_ok(), "{name}: case {case} is a finding");
    }
}

macro_rules! targets {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn every_target_is_tested() {
            let tested = [$($name),*];
            for target in &TARGETS {
                assert!(tested.contains(&target.name), "{}", target.name);
            }
        }
    };
}

targets! {
    study "study"
    expression "expression"
    table "table"
    formula "formula"
    manifest "manifest"
    plan "plan"
    journal "journal"
    wal "wal"
    checkpoint "checkpoint"
    csv "csv"
    npy "npy"
    libsvm_idx "libsvm-idx"
}
