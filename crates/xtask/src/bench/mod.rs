//! Side-by-side benchmarks: Paceline and its peers in one run, printed as a table.

mod analyze;
mod book;
mod distributed;
mod learn;
mod ledger;
mod machine;
mod peers;
mod probe;
mod promises;
mod runner;
mod slo;
mod table;
mod train;
mod trainer;
mod tune;

use crate::shell;
use anyhow::{Result, bail};

struct Bench {
    name: &'static str,
    compares: &'static str,
    run: fn(Options) -> Result<()>,
}

/// What was said after a benchmark's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// A second for each side, to see that everything runs; nothing is written.
    pub(crate) quick: bool,
    /// Only Paceline's side: no peer is looked for or set up.
    pub(crate) alone: bool,
    /// Paceline's programs are taken as the target folder holds them.
    pub(crate) built: bool,
    /// Peers that only Debian packages may be installed by `apt-get`.
    pub(crate) apt: bool,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "analyze",
        compares: "analysis of variance against statsmodels, 300 and a million rows",
        run: |_| analyze::run(),
    },
    Bench {
        name: "distributed",
        compares: "workers and servers against TensorFlow, MXNet, PyTorch and OpenMPI",
        run: distributed::run,
    },
    Bench {
        name: "learn",
        compares: "forests and boosting against scikit-learn",
        run: |_| learn::run(),
    },
    Bench {
        name: "probe",
        compares: "the probe's cost per sample against dstat, psutil and node-exporter",
        run: |_| probe::run(),
    },
    Bench {
        name: "promises",
        compares: "intervals and picks from small tables against scikit-learn",
        run: promises::run,
    },
    Bench {
        name: "runner",
        compares: "the runner's overhead per run against Optuna and Ray Tune",
        run: |_| runner::run(),
    },
    Bench {
        name: "slo",
        compares: "the deadline queue against schedulers that predict nothing, simulated",
        run: slo::run,
    },
    Bench {
        name: "train",
        compares: "training against PyTorch, TensorFlow and scikit-learn",
        run: train::run,
    },
    Bench {
        name: "tune",
        compares: "Bayesian search against Optuna's TPE, at as many runs",
        run: tune::run,
    },
];

const OPTIONS: &str = "\
options of `distributed`, `promises`, `slo`, `train` and `tune`:
  --quick      a second or a few tables for each side; docs/benchmarks.md stays as it is
  --alone      Paceline's side only
  --built      Paceline as the target folder holds it, built before
  --apt        as root, install what only Debian packages by apt-get";

/// Runs the named benchmark, or lists them.
pub(crate) fn bench(words: &[String]) -> Result<()> {
    let Some((name, rest)) = words.split_first() else {
        for bench in BENCHES {
            println!("{:12} {}", bench.name, bench.compares);
        }
        println!("\n{OPTIONS}");
        return Ok(());
    };
    let options = Options::parse(rest)?;
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.run)(options),
        None => bail!("no benchmark `{name}`; `cargo xtask bench` lists them"),
    }
}

impl Options {
    fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self::default();
        for word in words {
            match word.as_str() {
                "--quick" => options.quick = true,
                "--alone" => options.alone = true,
                "--built" => options.built = true,
                "--apt" => options.apt = true,
                _ => bail!("unknown option `{word}`\n\n{OPTIONS}"),
            }
        }
        Ok(options)
    }

    /// Builds programs of Paceline, unless they are said to be built.
    pub(crate) fn build(self, words: &[&str]) -> Result<()> {
        if self.built {
            return Ok(());
        }
        let usual = ["build", "--release", "--quiet", "-p"];
        shell::run("cargo", &[&usual[..], words].concat())
    }

    /// How long each side is measured at a time, in seconds.
    pub(crate) fn seconds(self) -> f64 {
        if self.quick { 1.0 } else { 1.5 }
    }

    /// How often each side has its turn.
    pub(crate) fn turns(self) -> usize {
        if self.quick { 1 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Options::parse(&words)
        };
        assert_eq!(parse(&[]).unwrap(), Options::default());
        assert!(parse(&["--quick"]).unwrap().quick);
        assert!(parse(&["--quik"]).is_err());
    }
}
