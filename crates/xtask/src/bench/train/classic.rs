//! Support vector machines and forests against scikit-learn, at equal
//! objective or accuracy.

use super::{mnist, take, verdict};
use crate::bench::ledger::{Entry, Ledger, OWN};
use crate::bench::table::{NOTHING, Table, times};
use crate::bench::{Options, peers};
use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(900);

/// A learner that is fitted once to images of MNIST.
struct Learner {
    task: &'static str,
    shown: &'static str,
    rows: usize,
    threads: usize,
    /// How many times the peer's speed is enough.
    target: f64,
}

const LEARNERS: [Learner; 3] = [
    Learner {
        task: "linear",
        shown: "linear SVM, squared hinge, 10,000 rows, 1 thread",
        rows: 10_000,
        threads: 1,
        target: 1.0,
    },
    Learner {
        task: "svm",
        shown: "RBF SVM, 10,000 rows, 1 thread",
        rows: 10_000,
        threads: 1,
        target: 1.0 / 1.5,
    },
    Learner {
        task: "forest",
        shown: "forest of 100 trees, 60,000 rows, 2 threads",
        rows: 60_000,
        threads: 2,
        target: 2.0,
    },
];

/// Both sides once, then the table. A fit takes seconds: its time needs no
/// repetition to be told from the peer's.
pub(crate) fn run(options: Options) -> Result<String> {
    println!("classical learners");
    let mut ledger = Ledger::default();
    let files = mnist::unpacked()?;
    options.build(&["paceline-learn", "--example", "classify_mnist"])?;
    let share = if options.quick { 0.05 } else { 1.0 };
    for learner in &LEARNERS {
        ledger.take(own(learner, &files, share)?);
    }
    if !options.alone {
        let printed = peers::scikit_learn().and_then(|python| {
            let words = ["fits", &share.to_string()];
            let script = peers::script(&python, "train_sklearn.py", &words);
            peers::together(vec![script], PATIENCE)
        });
        take(&mut ledger, "scikit-learn", printed);
    }
    Ok(page(&ledger))
}

fn own(learner: &Learner, files: &[String], share: f64) -> Result<Entry> {
    let program = peers::target().join("release/examples/classify_mnist");
    let rows = (learner.rows as f64 * share).to_string();
    let threads = learner.threads.to_string();
    let mut words = vec![learner.task];
    words.extend(files.iter().map(String::as_str));
    words.extend([rows.as_str(), threads.as_str()]);
    let printed = shell::output(&program.to_string_lossy(), &words)?;
    let value: Value = serde_json::from_str(&printed)?;
    let seconds = value["fit_s"].as_f64().context("a fit has a time")?;
    Ok(Entry {
        task: learner.task.to_owned(),
        side: OWN.to_owned(),
        variant: String::new(),
        rate: 1.0 / seconds,
        accuracy: value["accuracy"].as_f64(),
        objective: value["note"]["objective"].as_f64(),
    })
}

fn page(ledger: &Ledger) -> String {
    let mut table = Table::new(&[
        "seconds to fit",
        "Paceline",
        "scikit-learn",
        "ratio",
        "target",
        "",
        "accuracy",
        "peer's",
        "objective",
        "peer's",
    ]);
    let percent = |entry: Option<&Entry>| {
        let accuracy = entry.and_then(|entry| entry.accuracy);
        accuracy.map_or(NOTHING.to_owned(), |share| format!("{:.2}%", 100.0 * share))
    };
    let objective = |entry: Option<&Entry>| {
        let found = entry.and_then(|entry| entry.objective);
        found.map_or(NOTHING.to_owned(), |value| format!("{value:.4}"))
    };
    for learner in &LEARNERS {
        let own = ledger.best(learner.task, OWN);
        let peer = ledger.fastest_peer(learner.task);
        let seconds = |entry: Option<&Entry>| {
            entry.map_or(NOTHING.to_owned(), |entry| {
                format!("{:.2}", 1.0 / entry.rate)
            })
        };
        let both = own.zip(peer);
        table.row([
            learner.shown.to_owned(),
            seconds(own),
            seconds(peer),
            both.map_or(NOTHING.to_owned(), |(own, peer)| times(own.rate, peer.rate)),
            format!("{:.2}×", learner.target),
            both.map_or(NOTHING.to_owned(), |(own, peer)| {
                verdict(own.rate / peer.rate, learner.target)
            }),
            percent(own),
            percent(peer),
            objective(own),
            objective(peer),
        ]);
    }
    let who = ledger.who();
    let absent = ledger.absent.join("\n");
    format!(
        "### Support vector machines and forests\n\nOn MNIST, tested on its 10,000 test images; \
         {who}: LinearSVC (LIBLINEAR, C 0.01), SVC (LIBSVM, C 5, gamma 0.02), \
         RandomForestClassifier.\n\n{table}\n{absent}"
    )
    .trim_end()
    .to_owned()
}
