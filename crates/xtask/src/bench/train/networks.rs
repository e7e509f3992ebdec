//! Networks against PyTorch and TensorFlow.

use super::{THREADS, mnist, verdict};
use crate::bench::ledger::{Ledger, OWN};
use crate::bench::machine::Peak;
use crate::bench::peers::Printed;
use crate::bench::table::{NOTHING, Table, rate, times};
use crate::bench::{Options, peers, trainer};
use crate::shell;
use anyhow::Result;
use std::time::Duration;

/// How long a peer may take for all its tasks.
const PATIENCE: Duration = Duration::from_secs(600);

struct Network {
    task: &'static str,
    shown: &'static str,
    words: &'static [&'static str],
    /// Operations for a row, forward and backward: a product of matrices
    /// counts twice its multiply-adds, and the first layer's inputs need no
    /// gradient.
    flops: f64,
    /// Bytes of a row in float32.
    bytes: f64,
    target: f64,
}

const fn dense(inputs: usize, outputs: usize, products: usize) -> f64 {
    (2 * products * inputs * outputs) as f64
}

const NETWORKS: [Network; 5] = [
    Network {
        task: "softmax",
        shown: "softmax 784→10, batch 128",
        words: &["softmax", "--batch-size", "128"],
        flops: dense(784, 10, 2),
        bytes: 4.0 * 784.0,
        target: 2.5,
    },
    Network {
        task: "mlp-128",
        shown: "MLP 784-128-10, batch 128",
        words: &["mlp:128", "--batch-size", "128"],
        flops: dense(784, 128, 2) + dense(128, 10, 3),
        bytes: 4.0 * 784.0,
        target: 1.5,
    },
    Network {
        task: "mlp-128-128",
        shown: "MLP 784-128-128-10, batch 128",
        words: &["mlp:128,128", "--batch-size", "128"],
        flops: dense(784, 128, 2) + dense(128, 128, 3) + dense(128, 10, 3),
        bytes: 4.0 * 784.0,
        target: 1.5,
    },
    Network {
        task: "lenet5",
        shown: "LeNet-5, batch 64",
        words: &["lenet5", "--batch-size", "64"],
        flops: dense(25, 28 * 28 * 6, 2)
            + dense(6 * 25, 10 * 10 * 16, 3)
            + dense(400, 120, 3)
            + dense(120, 84, 3)
            + dense(84, 10, 3),
        bytes: 4.0 * 784.0,
        target: 3.0,
    },
    Network {
        task: "lstm",
        shown: "LSTM 128/128, 30 steps, batch 64",
        words: &[
            "lstm:128",
            "--data",
            "tweets",
            "--text",
            "words=5000,length=30",
            "--batch-size",
            "64",
        ],
        flops: 30.0 * dense(128 + 128, 4 * 128, 3) + dense(128, 2, 3),
        bytes: 30.0 * 128.0 * 4.0,
        target: 1.15,
    },
];

/// Everybody in turn, then the table.
pub(crate) fn run(options: Options, peak: &Peak) -> Result<String> {
    let mut ledger = Ledger::default();
    for turn in 1..=options.turns() {
        println!("networks, turn {turn} of {}", options.turns());
        for network in &NETWORKS {
            let threads = THREADS.to_string();
            let usual = ["--threads", &threads, "--optimizer", "sgd"];
            let rate = [&["--learning-rate", "0.01"][..], &usual].concat();
            let words = [network.words, &rate].concat();
            let found = trainer::rate(&words, options.seconds())?;
            ledger.take_own(network.task, "", found);
        }
        if !options.alone {
            torch(&mut ledger, options);
            libtorch(&mut ledger, options);
            tensorflow(&mut ledger, options);
        }
    }
    Ok(page(&ledger, peak))
}

fn torch(ledger: &mut Ledger, options: Options) {
    let printed = peers::torch().and_then(|python| printed(&python, "train_torch.py", options));
    take(ledger, "PyTorch", printed);
}

/// The same library without Python, compiled against what the wheel brings.
fn libtorch(ledger: &mut Ledger, options: Options) {
    let printed = libtorch_program().and_then(|program| {
        let files = mnist::unpacked()?;
        let (seconds, threads) = (options.seconds().to_string(), THREADS.to_string());
        let words = [&seconds, &threads, &files[0], &files[1]].map(String::as_str);
        peers::together(vec![shell::command(&program, &words)], PATIENCE)
    });
    take(ledger, "PyTorch in C++", printed);
}

fn libtorch_program() -> Result<String> {
    let program = std::path::absolute(peers::target().join("bench/train_libtorch"))?;
    let shown = program.to_string_lossy().into_owned();
    if program.exists() {
        return Ok(shown);
    }
    let python = peers::torch()?;
    let place = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent)";
    let place = shell::output(&python.to_string_lossy(), &["-c", place])?;
    let place = place.trim();
    let headers = format!("-I{place}/include");
    let more_headers = format!("-I{place}/include/torch/csrc/api/include");
    let (library, found) = (format!("-L{place}/lib"), format!("-Wl,-rpath,{place}/lib"));
    let source = peers::source("train_libtorch.cpp");
    shell::run(
        "c++",
        &[
            "-O2",
            "-std=c++17",
            "-w",
            // As PyPI's wheels of this age are built.
            "-D_GLIBCXX_USE_CXX11_ABI=0",
            &headers,
            &more_headers,
            "-o",
            &shown,
            &source,
            &library,
            &found,
            "-ltorch",
            "-ltorch_cpu",
            "-lc10",
        ],
    )?;
    Ok(shown)
}

fn tensorflow(ledger: &mut Ledger, options: Options) {
    let printed =
        peers::tensorflow().and_then(|python| printed(&python, "train_tensorflow.py", options));
    take(ledger, "TensorFlow", printed);
}

fn printed(python: &std::path::Path, script: &str, options: Options) -> Result<Printed> {
    let (seconds, threads) = (options.seconds().to_string(), THREADS.to_string());
    let script = peers::script(python, script, &[&seconds, &threads]);
    peers::together(vec![script], PATIENCE)
}

/// A peer that cannot be measured is named, and the others go on.
pub(crate) fn take(ledger: &mut Ledger, name: &str, printed: Result<Printed>) {
    let trouble = match printed {
        Ok(printed) => ledger.take_printed(&printed.text).err().or(printed.trouble),
        Err(error) => Some(error),
    };
    if let Some(error) = trouble {
        ledger.miss(name, &format!("{error:#}"));
    }
}

fn page(ledger: &Ledger, peak: &Peak) -> String {
    let mut table = Table::new(&[
        "rows a second",
        "Paceline",
        "PyTorch",
        "TensorFlow",
        "of the fastest peer",
        "target",
        "",
        "GFLOP/s",
        "of peak",
        "GB/s of rows",
    ]);
    for network in &NETWORKS {
        let Some(own) = ledger.best(network.task, OWN) else {
            continue;
        };
        let peer = |side: &str| {
            let best = ledger.best(network.task, side);
            best.map_or(NOTHING.to_owned(), |entry| {
                format!("{} ({})", rate(entry.rate), entry.variant)
            })
        };
        let (ratio, judged) = match ledger.fastest_peer(network.task) {
            Some(fastest) => (
                times(own.rate, fastest.rate),
                verdict(own.rate / fastest.rate, network.target),
            ),
            None => (NOTHING.to_owned(), NOTHING.to_owned()),
        };
        let gflops = own.rate * network.flops / 1e9;
        table.row([
            network.shown.to_owned(),
            rate(own.rate),
            peer("PyTorch"),
            peer("TensorFlow"),
            ratio,
            format!("{}×", network.target),
            judged,
            format!("{gflops:.0}"),
            format!("{:.0}%", 100.0 * gflops / peak.gflops[1]),
            format!("{:.1}", own.rate * network.bytes / 1e9),
        ]);
    }
    let who = ledger.who();
    let absent = ledger.absent.join("\n");
    format!(
        "### Networks\n\n{THREADS} threads, float32, SGD; {who}. A peer's figure is the best of its \
         ways, named in brackets.\n\n{table}\n{absent}"
    )
    .trim_end()
    .to_owned()
}
