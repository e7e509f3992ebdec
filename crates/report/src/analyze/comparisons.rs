//! Pairs of levels: as a table, as JSON.

use super::json::Numbers;
use crate::number::{p_value, significant};
use crate::page::{Heading, HtmlTable};
use crate::text::{Column, Style, Table};
use paceline_stats::analysis::Comparisons;
use paceline_stats::checks::PairwiseComparison;
use serde_json::{Value, json};

/// A terminal shows so many pairs of a factor, surest first; JSON has all.
const SHOWN: usize = 15;

/// What a table of pairs shows.
pub(super) fn heading(comparisons: &Comparisons, coverage: &str) -> String {
    format!(
        "Levels of {} compared, {}, simultaneous {coverage} intervals",
        comparisons.factor,
        comparisons.method.name()
    )
}

/// What the reader must know of the differences.
pub(super) fn note(comparisons: &Comparisons) -> Option<String> {
    let over = match comparisons.averaged_over.as_slice() {
        [] => return None,
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    Some(format!(
        "The differences are averages over {over}, with which {} interacts in the model.",
        comparisons.factor
    ))
}

fn headings(comparisons: &Comparisons) -> [&'static str; 5] {
    let size = match comparisons.log_base {
        Some(_) => "factor",
        None => "difference",
    };
    ["levels", size, "lower", "upper", "p, all pairs"]
}

/// A difference as it is shown: a factor on a logarithmic scale.
fn shown(comparisons: &Comparisons, value: f64) -> f64 {
    match comparisons.log_base {
        Some(base) => base.powf(value),
        None => value,
    }
}

fn cells(comparisons: &Comparisons, pair: &PairwiseComparison) -> [String; 5] {
    let name = |index: usize| comparisons.levels[index].as_str();
    let number = |value: f64| significant(shown(comparisons, value), 3);
    [
        format!("{} vs {}", name(pair.second), name(pair.first)),
        number(pair.difference),
        number(pair.lower),
        number(pair.upper),
        p_value(pair.p),
    ]
}

pub(super) fn text(comparisons: &Comparisons, level: f64, width: usize, style: Style) -> String {
    let [levels, size, lower, upper, p] = headings(comparisons);
    let mut table = Table::new([
        Column::words(levels),
        Column::decimals(size),
        Column::decimals(lower),
        Column::decimals(upper),
        Column::decimals(p),
    ]);
    let mut pairs: Vec<&PairwiseComparison> = comparisons.pairs.iter().collect();
    if pairs.len() > SHOWN {
        pairs.sort_by(|a, b| a.p.total_cmp(&b.p));
    }
    for pair in pairs.iter().take(SHOWN) {
        match pair.p < level {
            true => table.strong_row(cells(comparisons, pair)),
            false => table.row(cells(comparisons, pair)),
        };
    }
    let mut out = table.render(width, style);
    if pairs.len() > SHOWN {
        let more = pairs.len() - SHOWN;
        out.push_str(&format!("… and {more} more; --format json has all\n"));
    }
    out
}

pub(super) fn html(comparisons: &Comparisons, caption: &str) -> HtmlTable {
    let headings = headings(comparisons);
    let headings = headings.iter().enumerate().map(|(i, heading)| match i {
        0 => Heading::words(heading),
        _ => Heading::numbers(heading),
    });
    let mut table = HtmlTable::new(caption, headings);
    for pair in &comparisons.pairs {
        table.row(cells(comparisons, pair));
    }
    table
}

pub(super) fn as_json(all: &[Comparisons], numbers: &mut Numbers) -> Value {
    let factors: Vec<Value> = all
        .iter()
        .map(|comparisons| {
            let name = |index: usize| &comparisons.levels[index];
            let pairs: Vec<Value> = comparisons
                .pairs
                .iter()
                .map(|pair| {
                    let what = format!("{} vs {}", name(pair.second), name(pair.first));
                    let mut put =
                        |key: &str, value: f64| numbers.put(&format!("{key} of {what}"), value);
                    json!({
                        "of": name(pair.second),
                        "against": name(pair.first),
                        "difference": put("difference", pair.difference),
                        "lower": put("lower", pair.lower),
                        "upper": put("upper", pair.upper),
                        "factor": comparisons
                            .log_base
                            .map(|base| put("factor", base.powf(pair.difference))),
                        "df": put("df", pair.df),
                        "p": put("p", pair.p),
                    })
                })
                .collect();
            json!({
                "factor": comparisons.factor,
                "method": comparisons.method.name(),
                "response": comparisons.response,
                "averaged_over": comparisons.averaged_over,
                "pairs": pairs,
            })
        })
        .collect();
    Value::Array(factors)
}
