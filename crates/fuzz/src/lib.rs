//! Inputs that are nearly right, without end.
//!
//! Random bytes never get past a parser. A [`Target`] therefore *makes* its input
//! from a number: a study file that parses, a table that fits, a formula over the
//! columns that are there, a record whose checksums are right and whose content is
//! not. It hands the input to the code under test and checks what must hold for
//! any input; a panic is a finding. The number is the whole case: it reproduces.
//!
//! `corpus/NAME.txt` has the numbers that once found something, with a word on
//! what. They are run first, always. `cargo test` runs some seconds of each
//! target, `cargo xtask fuzz NAME` as long as one likes.
//!
//! This crate deliberately has no coverage feedback: a seeded loop in stable Rust
//! runs everywhere, and targets that know the structure need it less.

mod mutate;
mod targets;

pub use mutate::Source;
pub use targets::{TARGETS, Target};

/// The numbers that once found something, of one target.
#[must_use]
pub fn corpus(target: &Target) -> Vec<u64> {
    target
        .corpus
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect()
}
