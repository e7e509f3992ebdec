//! Linear models by single rows: memory's speed, and scikit-learn's
//! `SGDClassifier`.

use super::{take, verdict};
use crate::bench::ledger::{Ledger, OWN};
use crate::bench::machine::Peak;
use crate::bench::table::{NOTHING, Table, rate, times};
use crate::bench::{Options, peers, trainer};
use anyhow::Result;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(600);

/// Ten thousand rows of ten thousand values, as in the papers: no cache holds
/// them.
const DENSE: &str = "synthetic:dense,rows=10000,width=10000";
const DENSE_BYTES: f64 = 4.0 * 10_000.0;
/// The share of the memory's speed that a step of one row must reach.
const DENSE_TARGET: f64 = 0.6;

const SPARSE: &str = "synthetic:sparse,rows=100000,width=10000,entries=50";
const SPARSE_TARGET: f64 = 3.0;

/// Tasks as the peer's script names them, with the model's own word.
const TASKS: [(&str, &str, &str); 2] = [
    (
        "sparse-logistic",
        "sparse-logistic",
        "sparse logistic regression",
    ),
    ("linear-svm", "linear-svm", "linear SVM (hinge)"),
];

/// Everybody in turn, then both tables.
pub(crate) fn run(options: Options, peak: &Peak) -> Result<String> {
    let mut ledger = Ledger::default();
    for turn in 1..=options.turns() {
        println!("single rows, turn {turn} of {}", options.turns());
        ledger.take_own("dense", "", own("logistic", DENSE, options)?);
        for (task, model, _) in TASKS {
            ledger.take_own(task, "", own(model, SPARSE, options)?);
        }
        if !options.alone {
            let python = peers::scikit_learn();
            let fraction = if options.quick { "0.05" } else { "1" };
            let printed = python.and_then(|python| {
                let script = peers::script(&python, "train_sklearn.py", &["rows", fraction]);
                peers::together(vec![script], PATIENCE)
            });
            take(&mut ledger, "scikit-learn", printed);
        }
    }
    Ok(page(&ledger, peak))
}

fn own(model: &str, data: &str, options: Options) -> Result<f64> {
    let words = [
        model,
        "--data",
        data,
        "--batch-size",
        "1",
        "--threads",
        "1",
        "--optimizer",
        "sgd",
        "--learning-rate",
        "0.0001",
    ];
    trainer::rate(&words, options.seconds())
}

fn page(ledger: &Ledger, peak: &Peak) -> String {
    let mut text = "### Single rows\n\nBatches of one shuffled row, one thread.\n".to_owned();
    if let Some(entry) = ledger.best("dense", OWN) {
        let speed = entry.rate * DENSE_BYTES / 1e9;
        let share = speed / peak.read[0];
        text.push_str(&format!(
            "Dense logistic regression, 10,000 × 10,000: {} rows a second, which read {speed:.1} \
             GB/s: {:.0}% of what one thread can read, {:.0}% of its triad; the target is {:.0}%, \
             {}.\n",
            rate(entry.rate),
            100.0 * share,
            100.0 * speed / peak.triad[0],
            100.0 * DENSE_TARGET,
            verdict(share, DENSE_TARGET),
        ));
    }
    let mut table = Table::new(&[
        "rows a second",
        "Paceline",
        "SGDClassifier",
        "ratio",
        "target",
        "",
    ]);
    for (task, _, shown) in TASKS {
        let Some(own) = ledger.best(task, OWN) else {
            continue;
        };
        let peer = ledger.fastest_peer(task);
        table.row([
            format!("{shown}, 100,000 × 10,000, 50 entries"),
            rate(own.rate),
            peer.map_or(NOTHING.to_owned(), |peer| rate(peer.rate)),
            peer.map_or(NOTHING.to_owned(), |peer| times(own.rate, peer.rate)),
            format!("{SPARSE_TARGET}×"),
            peer.map_or(NOTHING.to_owned(), |peer| {
                verdict(own.rate / peer.rate, SPARSE_TARGET)
            }),
        ]);
    }
    let absent = ledger.absent.join("\n");
    format!("{text}\n{table}\n{absent}").trim_end().to_owned()
}
