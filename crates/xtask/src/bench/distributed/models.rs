//! Models between processes: rows a second of all workers.

use super::group::{self, WORKERS};
use crate::bench::ledger::{Entry, Ledger, OWN};
use crate::bench::table::{NOTHING, Table, rate, times};
use crate::bench::train::{take, verdict};
use crate::bench::{Options, trainer};
use anyhow::Result;

struct Task {
    name: &'static str,
    shown: &'static str,
    model: &'static str,
    data: &'static str,
    target: f64,
}

const TASKS: [Task; 5] = [
    Task {
        name: "softmax",
        shown: "softmax 784→10",
        model: "softmax",
        data: "mnist",
        target: 10.0,
    },
    Task {
        name: "logistic",
        shown: "logistic regression, 784 columns",
        model: "logistic",
        data: "synthetic:dense,rows=60000,width=784",
        target: 10.0,
    },
    Task {
        name: "mlp-128",
        shown: "784-128-10",
        model: "mlp:128",
        data: "mnist",
        target: 4.0,
    },
    Task {
        name: "mlp-128-128",
        shown: "784-128-128-10",
        model: "mlp:128,128",
        data: "mnist",
        target: 4.0,
    },
    Task {
        name: "lenet5",
        shown: "LeNet-5",
        model: "lenet5",
        data: "mnist",
        target: 3.0,
    },
];

/// Ways of Paceline; the first two are what the targets are about.
const WAYS: [(&str, &str, &str); 6] = [
    ("bsp", "bsp", "processes"),
    ("async", "async", "processes"),
    ("all-reduce", "allreduce", "processes"),
    ("bsp, threads", "bsp", "threads"),
    ("async, threads", "async", "threads"),
    ("all-reduce, threads", "allreduce", "threads"),
];

/// Columns of peers: the side's name and its way.
const PEERS: [(&str, &str, &str); 4] = [
    ("MXNet", "dist_sync", "MXNet dist_sync"),
    ("MXNet", "dist_async", "MXNet dist_async"),
    (
        "TensorFlow",
        "ParameterServerStrategy (async)",
        "TensorFlow parameter server",
    ),
    ("PyTorch", "DDP over gloo", "PyTorch DDP"),
];

/// Rows of each worker's batch.
pub(crate) const BATCH: &str = "100";

/// The words of a training with workers.
pub(crate) fn cluster<'a>(
    model: &'a str,
    data: &'a str,
    batch: &'a str,
    workers: &'a str,
    (sync, spawn): (&'a str, &'a str),
) -> Vec<&'a str> {
    let mut words = single(model, data, batch);
    words.extend(["--workers", workers, "--spawn", spawn, "--sync", sync]);
    if sync != "allreduce" {
        words.extend(["--servers", "1"]);
    }
    words
}

/// The words of a training with one thread.
pub(crate) fn single<'a>(model: &'a str, data: &'a str, batch: &'a str) -> Vec<&'a str> {
    let mut words = vec![model, "--data", data, "--batch-size", batch];
    words.extend(["--threads", "1", "--optimizer", "sgd"]);
    words.extend(["--learning-rate", "0.01"]);
    words
}

/// Everybody in turn, then the table.
pub(crate) fn run(options: Options) -> Result<String> {
    let mut ledger = Ledger::default();
    let tasks = TASKS.map(|task| task.name);
    for turn in 1..=options.turns() {
        println!("models, turn {turn} of {}", options.turns());
        own(&mut ledger, options);
        if options.alone {
            continue;
        }
        let peers = [
            ("PyTorch DDP", group::torch(&tasks, options)),
            (
                "MXNet dist_sync",
                group::mxnet("dist_sync", &tasks, options),
            ),
            (
                "MXNet dist_async",
                group::mxnet("dist_async", &tasks, options),
            ),
            ("TensorFlow", group::tensorflow(&tasks, options)),
        ];
        for (name, printed) in peers {
            take(&mut ledger, name, printed);
        }
    }
    Ok(page(&ledger))
}

fn own(ledger: &mut Ledger, options: Options) {
    for (way, sync, spawn) in WAYS {
        for task in &TASKS {
            let workers = WORKERS.to_string();
            let words = cluster(task.model, task.data, BATCH, &workers, (sync, spawn));
            match trainer::rate(&words, options.seconds()) {
                Ok(found) => ledger.take_own(task.name, way, found),
                // What is refused for one model is refused for all.
                Err(error) => {
                    ledger.miss(&format!("Paceline, {way}"), &format!("{error:#}"));
                    break;
                }
            }
        }
    }
}

fn page(ledger: &Ledger) -> String {
    let mut own = Table::new(&[
        "rows a second",
        WAYS[0].0,
        WAYS[1].0,
        WAYS[2].0,
        WAYS[3].0,
        WAYS[4].0,
        WAYS[5].0,
    ]);
    let mut peers = Table::new(&[
        "rows a second",
        PEERS[0].2,
        PEERS[1].2,
        PEERS[2].2,
        PEERS[3].2,
        "bsp / fastest",
        "async / fastest",
        "target",
        "bsp",
        "async",
    ]);
    for task in &TASKS {
        let way = |index: usize| ledger.way(task.name, OWN, WAYS[index].0);
        let shown =
            |entry: Option<&Entry>| entry.map_or(NOTHING.to_owned(), |entry| rate(entry.rate));
        own.row([
            task.shown.to_owned(),
            shown(way(0)),
            shown(way(1)),
            shown(way(2)),
            shown(way(3)),
            shown(way(4)),
            shown(way(5)),
        ]);
        let peer = |index: usize| {
            let (side, variant, _) = PEERS[index];
            shown(ledger.way(task.name, side, variant))
        };
        let fastest = ledger.fastest_peer(task.name);
        let against = |index: usize| way(index).zip(fastest);
        let ratio = |index: usize| {
            against(index).map_or(NOTHING.to_owned(), |(own, peer)| times(own.rate, peer.rate))
        };
        let judged = |index: usize| {
            against(index).map_or(NOTHING.to_owned(), |(own, peer)| {
                verdict(own.rate / peer.rate, task.target)
            })
        };
        peers.row([
            task.shown.to_owned(),
            peer(0),
            peer(1),
            peer(2),
            peer(3),
            ratio(0),
            ratio(1),
            format!("{}×", task.target),
            judged(0),
            judged(1),
        ]);
    }
    let who = ledger.who();
    let absent = ledger.absent.join("\n");
    format!(
        "### Models between processes\n\n{WORKERS} workers of one thread, batches of {BATCH} rows \
         each, one server (none for all-reduce); rows a second of all workers. Paceline's workers \
         are processes but in the columns that say threads.\n\n{own}\nPeers ({who}), and \
         Paceline's processes against the fastest of them:\n\n{peers}\n{absent}"
    )
    .trim_end()
    .to_owned()
}
