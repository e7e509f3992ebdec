//! Effects and coefficients with their intervals.

use super::json::Numbers;
use crate::number::{p_value, significant};
use crate::page::{Heading, HtmlTable};
use crate::text::{Column, Style, Table, interval};
use paceline_stats::effects::{Effect, Effects, SignedTerm};
use paceline_stats::fit::Coefficient;
use serde_json::{Value, json};

/// A terminal shows so many estimates, strongest first; JSON has all.
const SHOWN: usize = 24;
/// Columns of the terminal for a drawn interval.
const DRAWN: usize = 25;

/// Effects of two-level factors: all in the units of the response, so that their
/// intervals are drawn on one axis.
pub(super) fn effects_text(effects: &Effects, width: usize, style: Style) -> String {
    let sorted = by_size(effects);
    let reach = sorted
        .iter()
        .flat_map(|effect| [bounds(effect).0.abs(), bounds(effect).2.abs()])
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let mut table = Table::new([
        Column::words("from low to high"),
        Column::decimals("effect"),
        Column::decimals("lower"),
        Column::decimals("upper"),
        Column::decimals("p"),
        Column::words("").optional(),
    ]);
    for effect in sorted.iter().take(SHOWN) {
        let (low, estimate, high) = bounds(effect);
        table.row([
            spoken(&effect.term),
            significant(estimate, 3),
            significant(low, 3),
            significant(high, 3),
            effect.interval.map_or_else(String::new, |i| p_value(i.p)),
            interval((low, estimate, high), (-reach, reach), DRAWN),
        ]);
    }
    let mut out = table.render(width, style);
    out.push_str(&more(sorted.len()));
    out
}

/// The pairs of terms that the design cannot tell apart, one line each.
pub(super) fn alias_lines(effects: &Effects) -> Vec<String> {
    effects
        .effects
        .iter()
        .filter_map(|effect| {
            let others = aliases(&effect.aliases)?;
            Some(format!("{}, or {others}", spoken(&effect.term)))
        })
        .collect()
}

/// The lowest-order aliases in words; `None` if there are none.
fn aliases(aliases: &[SignedTerm]) -> Option<String> {
    let order = |alias: &SignedTerm| alias.term.matches(':').count();
    let lowest = aliases.iter().map(order).min()?;
    let named: Vec<String> = aliases
        .iter()
        .filter(|alias| order(alias) == lowest)
        .map(|alias| {
            let sign = if alias.negative { "minus " } else { "" };
            format!("{sign}{}", spoken(&alias.term))
        })
        .collect();
    Some(named.join(" or "))
}

/// An effect in people's words: `a with b` for `a:b`.
pub(super) fn spoken(term: &str) -> String {
    let parts: Vec<&str> = term.split(':').collect();
    match parts.as_slice() {
        [first, middle @ .., last] if !middle.is_empty() => {
            format!("{first} with {} and {last}", middle.join(", "))
        }
        [first, last] => format!("{first} with {last}"),
        _ => term.to_owned(),
    }
}

/// Coefficients of a model: each in its own unit.
pub(super) fn coefficients_text(
    coefficients: &[Coefficient],
    width: usize,
    style: Style,
) -> String {
    let mut table = Table::new([
        Column::words("coefficient"),
        Column::decimals("estimate"),
        Column::decimals("lower"),
        Column::decimals("upper"),
        Column::decimals("t").optional(),
        Column::decimals("p"),
    ]);
    for coefficient in coefficients.iter().take(SHOWN) {
        table.row(coefficient_cells(coefficient));
    }
    let mut out = table.render(width, style);
    out.push_str(&more(coefficients.len()));
    out
}

fn coefficient_cells(coefficient: &Coefficient) -> [String; 6] {
    [
        coefficient.label.clone(),
        significant(coefficient.estimate, 3),
        significant(coefficient.lower, 3),
        significant(coefficient.upper, 3),
        significant(coefficient.t, 3),
        p_value(coefficient.p),
    ]
}

fn more(count: usize) -> String {
    if count > SHOWN {
        format!("… and {} more; --format json has all\n", count - SHOWN)
    } else {
        String::new()
    }
}

pub(super) fn effects_html(effects: &Effects, caption: &str) -> HtmlTable {
    let mut table = HtmlTable::new(
        caption,
        [
            Heading::words("from low to high"),
            Heading::numbers("effect"),
            Heading::numbers("lower"),
            Heading::numbers("upper"),
            Heading::numbers("p"),
            Heading::words("cannot be told from"),
        ],
    );
    for effect in by_size(effects) {
        let (low, estimate, high) = bounds(effect);
        table.row([
            spoken(&effect.term),
            significant(estimate, 3),
            significant(low, 3),
            significant(high, 3),
            effect.interval.map_or_else(String::new, |i| p_value(i.p)),
            aliases(&effect.aliases).unwrap_or_default(),
        ]);
    }
    table
}

pub(super) fn coefficients_html(coefficients: &[Coefficient], caption: &str) -> HtmlTable {
    let headings = ["estimate", "lower", "upper", "t", "p"].map(Heading::numbers);
    let mut table = HtmlTable::new(
        caption,
        std::iter::once(Heading::words("coefficient")).chain(headings),
    );
    for coefficient in coefficients {
        table.row(coefficient_cells(coefficient));
    }
    table
}

pub(super) fn by_size(effects: &Effects) -> Vec<&Effect> {
    let mut sorted: Vec<&Effect> = effects.effects.iter().collect();
    sorted.sort_by(|a, b| b.estimate.abs().total_cmp(&a.estimate.abs()));
    sorted
}

/// Lower end, estimate, upper end; the ends are NaN without an interval.
pub(super) fn bounds(effect: &Effect) -> (f64, f64, f64) {
    let (low, high) = effect
        .interval
        .map_or((f64::NAN, f64::NAN), |i| (i.lower, i.upper));
    (low, effect.estimate, high)
}

pub(super) fn coefficients_json(coefficients: &[Coefficient], numbers: &mut Numbers) -> Value {
    let rows: Vec<Value> = coefficients
        .iter()
        .map(|c| {
            let mut put =
                |name: &str, value: f64| numbers.put(&format!("{name} of {}", c.name), value);
            json!({
                "name": c.name,
                "label": c.label,
                "estimate": put("estimate", c.estimate),
                "standard_error": put("standard_error", c.standard_error),
                "t": put("t", c.t),
                "p": put("p", c.p),
                "lower": put("lower", c.lower),
                "upper": put("upper", c.upper),
            })
        })
        .collect();
    Value::Array(rows)
}

pub(super) fn effects_json(effects: &Effects, numbers: &mut Numbers) -> Value {
    let signed = |terms: &[SignedTerm]| -> Vec<Value> {
        terms
            .iter()
            .map(|alias| json!({ "term": alias.term, "negative": alias.negative }))
            .collect()
    };
    let rows: Vec<Value> = effects
        .effects
        .iter()
        .map(|e| {
            let mut put =
                |name: &str, value: f64| numbers.put(&format!("{name} of {}", e.term), value);
            json!({
                "term": e.term,
                "estimate": put("effect", e.estimate),
                "standard_error": e.interval.map(|i| put("standard_error", i.standard_error)),
                "lower": e.interval.map(|i| put("lower", i.lower)),
                "upper": e.interval.map(|i| put("upper", i.upper)),
                "p": e.interval.map(|i| put("p", i.p)),
                "aliases": signed(&e.aliases),
            })
        })
        .collect();
    json!({
        "effects": rows,
        "defining": signed(&effects.defining),
        "mean": numbers.put("mean response", effects.mean),
        "residual_df": effects.residual_df,
        "orthogonal": effects.orthogonal,
    })
}
