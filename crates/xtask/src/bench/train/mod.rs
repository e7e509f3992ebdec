//! Training against PyTorch, TensorFlow and scikit-learn, on two threads.
//!
//! Everybody trains on the same kind of rows in memory: MNIST, the tweets as
//! numbers of words, or invented rows of the same shape. A step takes a batch
//! of shuffled rows, goes forward and backward, updates by plain SGD and adds
//! its loss to a metric; Paceline also counts hits. Paceline's side is the
//! product's own trainer process.

mod classic;
mod mnist;
mod networks;
mod rows;

use super::machine::{Machine, Peak};
use super::{Options, book};
use anyhow::Result;
pub(crate) use networks::take;

/// Threads of every side that can use them.
pub(crate) const THREADS: usize = 2;

/// Prints all tables and writes them down.
pub(crate) fn run(options: Options) -> Result<()> {
    let machine = Machine::look()?;
    options.build(&["paceline"])?;
    let peak = Peak::measure(THREADS)?;
    let parts = [
        networks::run(options, &peak)?,
        rows::run(options, &peak)?,
        classic::run(options)?,
    ];
    let section = format!(
        "## Training, one worker\n\n{}\n{}\n\n{}",
        machine.line(),
        peak.line(THREADS),
        parts.join("\n\n")
    );
    println!("\n{section}");
    if options.quick || options.alone {
        return Ok(());
    }
    book::write("train", &section)
}

/// Whether a ratio reaches its target.
pub(crate) fn verdict(ratio: f64, target: f64) -> String {
    if ratio >= target { "met" } else { "not met" }.to_owned()
}
