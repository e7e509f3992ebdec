//! Side-by-side benchmarks: Paceline and its peers in one run, printed as a table.

mod analyze;
mod learn;
mod peers;
mod probe;
mod runner;

use anyhow::{Result, bail};

struct Bench {
    name: &'static str,
    compares: &'static str,
    run: fn() -> Result<()>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "analyze",
        compares: "analysis of variance against statsmodels, 300 and a million rows",
        run: analyze::run,
    },
    Bench {
        name: "learn",
        compares: "forests and boosting against scikit-learn",
        run: learn::run,
    },
    Bench {
        name: "probe",
        compares: "the probe's cost per sample against dstat, psutil and node-exporter",
        run: probe::run,
    },
    Bench {
        name: "runner",
        compares: "the runner's overhead per run against Optuna and Ray Tune",
        run: runner::run,
    },
];

/// Runs the named benchmark, or lists them.
pub(crate) fn bench(words: &[String]) -> Result<()> {
    let [name] = words else {
        for bench in BENCHES {
            println!("{:12} {}", bench.name, bench.compares);
        }
        return Ok(());
    };
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.run)(),
        None => bail!("no benchmark `{name}`; `cargo xtask bench` lists them"),
    }
}
