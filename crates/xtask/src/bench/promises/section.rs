//! The section of `docs/benchmarks.md`.

use super::judged::{COUNTS, Judged, OWN, Side, mean, median};
use crate::bench::machine::Machine;
use crate::bench::table::Table;
use anyhow::Result;
use std::fmt::Write;
use std::time::Duration;

/// Four figures, one for each number of runs.
fn four(figure: impl Fn(u64) -> f64) -> [String; 4] {
    COUNTS.map(|count| {
        let value = figure(count);
        if value.is_nan() {
            "–".to_owned()
        } else {
            format!("{value:.3}")
        }
    })
}

fn row(table: &mut Table, name: &str, target: &str, cells: [String; 4]) {
    let [a, b, c, d] = cells;
    table.row([name.to_owned(), target.to_owned(), a, b, c, d]);
}

pub(super) fn written(
    judged: &Judged,
    machine: &Machine,
    each: usize,
    who: &str,
    took: Duration,
) -> Result<String> {
    let mut out = String::new();
    writeln!(out, "## Promises\n")?;
    writeln!(out, "{}", machine.line())?;
    writeln!(
        out,
        "\n{} sets, {each} tables of each for each number of runs to learn from, 30 other runs to judge \
         by; {who} on the first 25 divisions. Paceline took {:.0} s. The sets are made by \
         `crates/advise/examples/promises/generate.py` and measured by `measure.py` beside it; no \
         setting of the predictor was chosen by them.\n",
        judged.sets().len(),
        took.as_secs_f64()
    )?;
    writeln!(out, "### Targets\n")?;
    let heads = ["", "target", "8 runs", "16 runs", "24 runs", "40 runs"];
    let mut table = Table::new(&heads);
    let coverage = |count| judged.each(OWN, count, Side::coverage);
    row(
        &mut table,
        "coverage of 95% intervals, mean over sets",
        "0.93–0.98",
        four(|count| mean(&coverage(count))),
    );
    row(
        &mut table,
        "coverage, worst set",
        "≥ 0.90 from 16",
        four(|count| coverage(count).into_iter().fold(f64::NAN, f64::min)),
    );
    row(
        &mut table,
        "width / narrowest sound peer, median over sets",
        "≤ 1.2 from 16",
        four(|count| {
            let sets = judged.sets().into_iter();
            let ratios: Vec<f64> = sets
                .filter_map(|set| judged.width_ratio(set, count))
                .collect();
            median(&ratios)
        }),
    );
    let picks = |figure: fn(&super::judged::Picks) -> f64| {
        four(|count| judged.picks(count).map_or(f64::NAN, figure))
    };
    row(
        &mut table,
        "picks: stated",
        "",
        picks(super::judged::Picks::stated),
    );
    row(
        &mut table,
        "picks: kept",
        "≥ stated − 0.02",
        picks(super::judged::Picks::kept),
    );
    row(
        &mut table,
        "deadlines missed that could be kept",
        "≤ 0.45, 0.20, 0.10, 0.07",
        picks(super::judged::Picks::missed),
    );
    row(
        &mut table,
        "regret (accuracy given up)",
        "",
        picks(super::judged::Picks::regret),
    );
    row(
        &mut table,
        "R², median per set, mean over sets",
        "best peer − 0.01",
        four(|count| mean(&judged.each(OWN, count, Side::r2))),
    );
    for peer in judged.peers() {
        row(
            &mut table,
            &format!("R² of {peer}"),
            "",
            four(|count| mean(&judged.each(peer, count, Side::r2))),
        );
    }
    for peer in judged.peers() {
        let of = |count| judged.each(peer, count, Side::coverage);
        if of(16).is_empty() {
            continue;
        }
        let name = format!("coverage of {peer}");
        row(&mut table, &name, "", four(|count| mean(&of(count))));
    }
    writeln!(out, "{table}")?;
    let tables = judged.picks(8).map_or(0, |picks| picks.tables);
    writeln!(
        out,
        "A peer is sound on a set if its intervals cover at least 93% there. Picks: {tables} tables for each \
         number of runs; kept is the share of the pick's runs outside the table that kept the deadline. A \
         deadline could be kept if all runs of a setting in the table kept it. Regret is against the best such \
         setting.\n"
    )?;
    let cells = judged.cells.values();
    let shares: Vec<f64> = cells
        .map(|(inside, all)| *inside as f64 / *all as f64)
        .collect();
    if !shares.is_empty() {
        let worst = shares.iter().copied().fold(f64::NAN, f64::min);
        writeln!(
            out,
            "Unequal spread, 120 runs, cell by cell ({} cells, scatter from 2% to 24%): coverage from {worst:.3} to \
             {:.3} (target: at least 0.90 in each).\n",
            shares.len(),
            shares.iter().copied().fold(f64::NAN, f64::max)
        )?;
    }
    let own = || {
        judged.sets().into_iter().flat_map(|set| {
            COUNTS
                .iter()
                .filter_map(move |&count| judged.side(OWN, set, count))
        })
    };
    let absurd: usize = own().map(|side| side.absurd).sum();
    let unknown: usize = own().map(|side| side.not_known).sum();
    let all: usize = own().map(Side::judged).sum();
    writeln!(
        out,
        "Tables with an absurd interval (median width above twenty times the span of the runs judged): {absurd}. \
         Intervals said not to be known: {unknown} of {all}.\n"
    )?;
    if let Some((fit, with)) = judged.speed {
        writeln!(
            out,
            "A fit to 40 runs takes {:.0} ms, with intervals and probabilities of 1,000 candidates {:.0} ms, on one \
             thread (target: 200 ms).\n",
            1e3 * fit,
            1e3 * with
        )?;
    }
    writeln!(out, "### By set: coverage, and R²\n")?;
    let heads = ["set", "", "8 runs", "16 runs", "24 runs", "40 runs"];
    let mut table = Table::new(&heads);
    for set in judged.sets() {
        let of = |figure: fn(&Side) -> Option<f64>| {
            four(|count| {
                judged
                    .side(OWN, set, count)
                    .and_then(figure)
                    .unwrap_or(f64::NAN)
            })
        };
        row(&mut table, set, "coverage", of(Side::coverage));
        row(&mut table, "", "R²", of(Side::r2));
    }
    write!(out, "{table}")?;
    Ok(out)
}
