//! `paceline analyze` against statsmodels on the same tables.
//!
//! statsmodels is timed inside its process, imports excluded: it reads the
//! table, fits, and prints the analysis of variance and the intervals. Paceline
//! is timed doing the same inside a process of its own (`examples/fit.rs` of
//! `paceline-stats`), which the ratio is about; and, to be open about it, as a
//! user sees `paceline analyze`: a whole process that also checks every
//! assumption and tests by permutation where they fail.

use super::peers::{self, target};
use crate::shell;
use anyhow::{Context, Result};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PEER: &str = include_str!("analyze.py");
const REQUIREMENTS: [&str; 3] = ["statsmodels==0.15.0", "pandas==3.1.1", "scipy==1.17.1"];
const PAPER_TABLE: &str = "crates/stats/oracle/spark_bigdl_cost.csv";
const PAPER_FORMULA: &str = "cost ~ nodes + executors + cores + epochs*learning_rate*batch_size";
const LARGE_ROWS: usize = 1_000_000;

struct Case {
    name: &'static str,
    table: PathBuf,
    response: &'static str,
    formula: &'static str,
    repeats: usize,
}

/// Prints the least time of each program on each table, and their ratio.
pub(crate) fn run() -> Result<()> {
    let cases = cases()?;
    shell::run(
        "cargo",
        &["build", "--release", "--quiet", "-p", "paceline"],
    )?;
    let fit = [
        "build",
        "--release",
        "--quiet",
        "-p",
        "paceline-stats",
        "--example",
        "fit",
    ];
    shell::run("cargo", &fit)?;
    let paceline = target().join("release/paceline");
    let python = match peers::python("statsmodels", "statsmodels", &REQUIREMENTS) {
        Ok(python) => Some(python),
        Err(error) => {
            println!("statsmodels is absent: {error:#}");
            None
        }
    };
    println!("\nleast of several runs, seconds; table read included");
    println!(
        "{:28} {:>10} {:>12} {:>8} {:>18}",
        "table", "paceline", "statsmodels", "ratio", "paceline analyze"
    );
    let mut version = None;
    for case in &cases {
        let ours = fit_seconds(case)?;
        let whole = paceline_seconds(&paceline, case)?;
        match &python {
            Some(python) => {
                let (name, theirs) = peer_seconds(python, case)?;
                version = Some(name);
                println!(
                    "{:28} {ours:>10.5} {theirs:>12.5} {:>7.1}x {whole:>18.4}",
                    case.name,
                    theirs / ours
                );
            }
            None => println!(
                "{:28} {ours:>10.5} {:>12} {:>8} {whole:>18.4}",
                case.name, "absent", ""
            ),
        }
    }
    if let Some(version) = version {
        println!(
            "\n{version}; imports excluded. The ratio compares the same work: read, fit, ANOVA."
        );
    }
    Ok(())
}

fn cases() -> Result<Vec<Case>> {
    let large = target().join("bench/analyze-1e6.csv");
    if !large.exists() {
        write_large(&large).with_context(|| format!("cannot write {}", large.display()))?;
    }
    Ok(vec![
        Case {
            name: "paper 002, 300 rows",
            table: PAPER_TABLE.into(),
            response: "cost",
            formula: PAPER_FORMULA,
            repeats: 20,
        },
        Case {
            name: "6 factors, 1,000,000 rows",
            table: large,
            response: "y",
            formula: "y ~ (a + b + c + d + e + f)**2",
            repeats: 3,
        },
    ])
}

/// A million rows of six factors with four levels each. The noise is a fixed
/// sequence (Knuth's 64-bit linear congruential generator), so that every
/// machine measures the same table.
fn write_large(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("the table lies in a folder")?)?;
    let partial = path.with_extension("part");
    let mut out = BufWriter::new(std::fs::File::create(&partial)?);
    writeln!(out, "a,b,c,d,e,f,y")?;
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..LARGE_ROWS {
        let x: [u64; 6] = std::array::from_fn(|_| 1 << (next() % 4));
        let noise = (0..4)
            .map(|_| next() as f64 / f64::from(1u32 << 31))
            .sum::<f64>()
            - 2.0;
        let [a, b, c, d, e, f] = x.map(|level| level as f64);
        let y = 3.0 + 0.5 * a - 0.2 * b + 0.05 * c * d + 0.01 * e * f + noise;
        let [a, b, c, d, e, f] = x;
        writeln!(out, "{a},{b},{c},{d},{e},{f},{y:.6}")?;
    }
    out.flush()?;
    // The name appears only when the table is whole.
    std::fs::rename(partial, path)?;
    Ok(())
}

/// The same work as the peer's, inside one process.
fn fit_seconds(case: &Case) -> Result<f64> {
    let program = target().join("release/examples/fit");
    let table = case.table.to_string_lossy();
    let repeats = case.repeats.to_string();
    let printed = shell::output(
        &program.to_string_lossy(),
        &[&table, case.formula, &repeats],
    )?;
    printed
        .trim()
        .parse()
        .context("the example prints its time")
}

fn paceline_seconds(paceline: &Path, case: &Case) -> Result<f64> {
    let program = paceline.to_string_lossy();
    let table = case.table.to_string_lossy();
    let words = [
        "analyze",
        &table,
        "--response",
        case.response,
        "--formula",
        case.formula,
        "--type",
        "1",
    ];
    let mut least = Duration::MAX;
    for _ in 0..case.repeats {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = Instant::now();
        shell::output(&program, &words)?;
        least = least.min(start.elapsed());
    }
    Ok(least.as_secs_f64())
}

fn peer_seconds(python: &Path, case: &Case) -> Result<(String, f64)> {
    let printed = shell::output(
        &python.to_string_lossy(),
        &[
            "-c",
            PEER,
            &case.table.to_string_lossy(),
            case.formula,
            &case.repeats.to_string(),
        ],
    )?;
    let (name, seconds) = printed
        .trim()
        .rsplit_once('|')
        .context("the peer prints its version and its time")?;
    Ok((name.to_owned(), seconds.parse()?))
}
