//! The analysis of variance: as a table, as bars, as JSON.

use super::json::Numbers;
use crate::chart::{BarRow, Chart, bars};
use crate::number::{p_value, percent, plural, significant};
use crate::page::{Heading, HtmlTable};
use crate::text::{Column, Style, Table, bar, columns, truncate};
use paceline_stats::analysis::{Basis, TermEvidence};
use paceline_stats::anova::{Anova, AnovaType};
use serde_json::{Value, json};

/// What stands for the part that no term explains.
const RESIDUAL: &str = "residual";
/// Bars of the terminal are this long at most.
const BAR: usize = 44;

/// Which sums of squares a table shows, as its users call them.
pub(super) fn kind(kind: AnovaType) -> &'static str {
    match kind {
        AnovaType::I => "I",
        AnovaType::II => "II",
        AnovaType::III => "III",
    }
}

const HEADINGS: [&str; 9] = [
    "term",
    "df",
    "sum of squares",
    "mean square",
    "F",
    "p",
    "p adjusted",
    "variation",
    "ω²",
];

/// What the order of the rows means in a table of this type.
pub(super) fn order(kind: AnovaType) -> &'static str {
    match kind {
        AnovaType::I => "each term after those above it",
        AnovaType::II => "each term after all that do not contain it",
        AnovaType::III => "each term after all others",
    }
}

/// How the adjusted p-values were made, said under the table.
pub(super) fn adjustment(evidence: &[TermEvidence]) -> Option<String> {
    let first = evidence.first()?;
    let tests = first.tests;
    let terms = plural(tests, "term");
    let words = match first.basis {
        Basis::Lenth => format!("Lenth's method with all {tests} effects in mind"),
        Basis::Welch => "Welch's test".to_owned(),
        Basis::KruskalWallis => "Kruskal and Wallis' test".to_owned(),
        Basis::Robust => format!(
            "F tests that allow for unequal spread (HC3), after Holm's correction for {terms}"
        ),
        _ if evidence.iter().any(|term| term.basis == Basis::Permutation) => format!(
            "the larger of the permutation test and of the F test after Holm's correction for \
             {terms}"
        ),
        _ => format!("the F test after Holm's correction for {terms}"),
    };
    Some(format!("p adjusted: {words}"))
}

/// What to know where shares do not add up to 100%.
pub(super) fn shares_note(anova: &Anova) -> Option<String> {
    let shares = anova.rows.iter().map(|row| row.percent);
    let known: f64 = shares.filter(|percent| percent.is_finite()).sum();
    let total = known + anova.residual.percent;
    let missing = anova.rows.iter().any(|row| !row.estimable);
    if !total.is_finite() || missing || (total - 100.0).abs() < 0.5 {
        return None;
    }
    let figure = percent(total / 100.0);
    Some(match total > 100.0 {
        true => format!(
            "The shares add up to {figure}: the terms overlap in these runs, and each share is \
             what its term adds after the others."
        ),
        false => format!(
            "The shares add up to {figure}: the rest is explained by several terms together, and \
             these runs cannot tell by which."
        ),
    })
}

fn adjusted<'a>(evidence: &'a [TermEvidence], term: &str) -> Option<&'a TermEvidence> {
    evidence.iter().find(|known| known.term == term)
}

/// The table of a terminal. Terms whose adjusted p-value is below the `level` are
/// strong; `evidence` is empty for a table that the findings do not rest on.
pub(super) fn text(
    anova: &Anova,
    evidence: &[TermEvidence],
    level: f64,
    width: usize,
    style: Style,
) -> String {
    let [term, df, squares, mean, f, p, holm, share, omega] = HEADINGS;
    let rests = !evidence.is_empty();
    let columns = [
        Column::words(term),
        Column::amounts(df),
        Column::decimals(squares),
        Column::decimals(mean).optional(),
        Column::decimals(f),
        Column::decimals(p),
        Column::decimals(holm),
        Column::decimals(share),
        Column::decimals(omega).optional(),
    ];
    let shown = |index: usize| rests || HEADINGS[index] != holm;
    let pick = |cells: Vec<String>| -> Vec<String> {
        let cells = cells.into_iter().enumerate();
        cells
            .filter(|(k, _)| shown(*k))
            .map(|(_, cell)| cell)
            .collect()
    };
    let columns = columns.into_iter().enumerate();
    let mut table = Table::new(columns.filter(|(k, _)| shown(*k)).map(|(_, column)| column));
    for (cells, p) in rows(anova, evidence) {
        if p.is_some_and(|p| p < level) {
            table.strong_row(pick(cells));
        } else {
            table.row(pick(cells));
        }
    }
    table.rule().row(pick(residual(anova)));
    table.render(width, style)
}

/// The table of a page.
pub(super) fn html(anova: &Anova, evidence: &[TermEvidence], caption: &str) -> HtmlTable {
    let headings = HEADINGS.iter().enumerate().map(|(i, heading)| match i {
        0 => Heading::words(heading),
        _ => Heading::numbers(heading),
    });
    let mut table = HtmlTable::new(caption, headings);
    for (cells, _) in rows(anova, evidence) {
        table.row(cells);
    }
    table.row(residual(anova));
    table
}

fn rows<'a>(
    anova: &'a Anova,
    evidence: &'a [TermEvidence],
) -> impl Iterator<Item = (Vec<String>, Option<f64>)> + 'a {
    anova.intercept.iter().chain(&anova.rows).map(|row| {
        let test = |pick: fn(&paceline_stats::anova::AnovaTest) -> String| {
            row.test.as_ref().map(pick).unwrap_or_default()
        };
        let found = adjusted(evidence, &row.term);
        let number = |text: String| match row.estimable {
            true => text,
            false => String::new(),
        };
        let cells = vec![
            row.name.clone(),
            row.df.to_string(),
            match row.estimable {
                true => significant(row.sum_of_squares, 4),
                false => "not estimable".to_owned(),
            },
            test(|t| significant(t.mean_square, 4)),
            test(|t| significant(t.f, 4)),
            test(|t| p_value(t.p)),
            found.map_or_else(String::new, |term| p_value(term.adjusted)),
            match row.percent.is_finite() {
                true => percent(row.percent / 100.0),
                false => String::new(),
            },
            match row.percent.is_finite() {
                true => number(significant(row.omega_squared, 2)),
                false => String::new(),
            },
        ];
        (cells, found.map(|term| term.adjusted))
    })
}

fn residual(anova: &Anova) -> Vec<String> {
    let row = &anova.residual;
    vec![
        RESIDUAL.to_owned(),
        row.df.to_string(),
        significant(row.sum_of_squares, 4),
        significant(row.mean_square, 4),
        String::new(),
        String::new(),
        String::new(),
        percent(row.percent / 100.0),
        String::new(),
    ]
}

/// The shares of the variation, largest first, the residual last.
fn shares<'a>(anova: &'a Anova, evidence: &[TermEvidence]) -> Vec<(&'a str, f64, Option<f64>)> {
    let mut shares: Vec<_> = anova
        .rows
        .iter()
        .filter(|row| row.percent.is_finite())
        .map(|row| {
            let p = adjusted(evidence, &row.term).map(|term| term.adjusted);
            (row.name.as_str(), row.percent, p)
        })
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.push((RESIDUAL, anova.residual.percent, None));
    shares
}

/// Bars of the variation explained, largest first.
pub(super) fn variation_text(anova: &Anova, width: usize) -> String {
    let shares = shares(anova, &[]);
    let names: Vec<String> = shares
        .iter()
        .map(|(name, ..)| crate::text::printable(name))
        .collect();
    let room = width.saturating_sub(2 + 8 + 4);
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let named = widest.min(room / 2);
    let length = BAR.min(room - named);
    let longest = shares.iter().map(|share| share.1).fold(0.0, f64::max);
    let mut out = String::new();
    for ((_, share, _), name) in shares.iter().zip(&names) {
        let name = truncate(name, named);
        let pad = " ".repeat(named - columns(&name));
        let figure = percent(share / 100.0);
        let bar = bar(share / longest, length);
        out.push_str(format!("  {name}{pad}  {figure:>6}  {bar}").trim_end());
        out.push('\n');
    }
    out
}

/// The same bars as a chart. Terms whose adjusted p-value is below the `level` are
/// prominent.
pub(super) fn variation_chart(
    response: &str,
    anova: &Anova,
    evidence: &[TermEvidence],
    level: f64,
) -> Chart {
    let shares = shares(anova, evidence);
    let rows: Vec<BarRow> = shares
        .iter()
        .map(|(name, share, p)| BarRow {
            label: (*name).to_owned(),
            value: *share,
            interval: None,
            note: match p {
                Some(p) => format!("{}, adjusted p {}", percent(share / 100.0), p_value(*p)),
                None => percent(share / 100.0),
            },
            prominent: p.is_some_and(|p| p < level),
        })
        .collect();
    let strongest = match shares.first() {
        Some((name, share, _)) if *name != RESIDUAL => {
            format!("{name} explains most: {}.", percent(share / 100.0))
        }
        _ => String::new(),
    };
    bars(
        &format!("Variation of {response} explained by each term"),
        &format!(
            "Bars from the largest share to the smallest, then the residual of {}. {strongest}",
            percent(anova.residual.percent / 100.0)
        ),
        "percent of the variation",
        &rows,
    )
}

/// Every number of the table.
pub(super) fn as_json(anova: &Anova, evidence: &[TermEvidence], numbers: &mut Numbers) -> Value {
    let terms: Vec<Value> = anova
        .rows
        .iter()
        .map(|row| {
            let mut value = term_json(row, numbers);
            let found = adjusted(evidence, &row.term);
            value["p_adjusted"] = match found {
                Some(term) => numbers.put(&format!("p_adjusted of {}", row.term), term.adjusted),
                None => Value::Null,
            };
            value["adjustment"] = found.map(|term| term.basis.correction()).into();
            value["adjusted_for"] = found.map(|term| term.tests).into();
            value
        })
        .collect();
    json!({
        "order": order(anova.kind),
        "type": match anova.kind { AnovaType::I => 1, AnovaType::II => 2, AnovaType::III => 3 },
        "terms": terms,
        "intercept": anova.intercept.as_ref().map(|row| term_json(row, numbers)),
        "residual": {
            "df": anova.residual.df,
            "sum_of_squares": numbers.put("residual sum_of_squares", anova.residual.sum_of_squares),
            "mean_square": numbers.put("residual mean_square", anova.residual.mean_square),
            "variation_percent": numbers.put("residual variation_percent", anova.residual.percent),
        },
        "total_sum_of_squares": numbers.put("total_sum_of_squares", anova.total_sum_of_squares),
    })
}

fn term_json(row: &paceline_stats::anova::AnovaRow, numbers: &mut Numbers) -> Value {
    let mut put = |name: &str, value: f64| numbers.put(&format!("{name} of {}", row.term), value);
    json!({
        "term": row.term,
        "name": row.name,
        "estimable": row.estimable,
        "df": row.df,
        "sum_of_squares": put("sum_of_squares", row.sum_of_squares),
        "mean_square": row.test.map(|t| put("mean_square", t.mean_square)),
        "f": row.test.map(|t| put("f", t.f)),
        "p": row.test.map(|t| put("p", t.p)),
        "variation_percent": put("variation_percent", row.percent),
        "partial_eta_squared": put("partial_eta_squared", row.partial_eta_squared),
        "omega_squared": put("omega_squared", row.omega_squared),
    })
}
