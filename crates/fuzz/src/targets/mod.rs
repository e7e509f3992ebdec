//! What is fuzzed.

mod data;
mod records;
mod study;
mod table;

use std::path::Path;

/// One kind of input and the code that takes it.
#[derive(Debug)]
pub struct Target {
    /// What to call it.
    pub name: &'static str,
    /// Makes the input of a case and takes it, in a directory of its own that is
    /// empty. Panics if something does not hold.
    pub run: fn(case: u64, dir: &Path),
    /// How many cases an ordinary test takes: some seconds without optimisation.
    pub short: u64,
    /// The numbers that once found something.
    pub corpus: &'static str,
}

macro_rules! target {
    ($name:literal, $run:path, $short:literal) => {
        Target {
            name: $name,
            run: $run,
            short: $short,
            corpus: include_str!(concat!("../../corpus/", $name, ".txt")),
        }
    };
}

/// All of them.
pub const TARGETS: [Target; 12] = [
    target!("study", study::study, 1500),
    target!("expression", study::expression, 20000),
    target!("table", table::table, 150),
    target!("formula", table::formula, 20000),
    target!("manifest", records::manifest, 300),
    target!("plan", records::plan, 1500),
    target!("journal", records::journal, 3000),
    target!("wal", records::wal, 300),
    target!("checkpoint", records::checkpoint, 1500),
    target!("csv", data::csv, 500),
    target!("npy", data::npy, 500),
    target!("libsvm-idx", data::libsvm_and_idx, 800),
];
