//! The analysis of variance: as a table, as bars, as JSON.

use super::json::Numbers;
use crate::chart::{BarRow, Chart, bars};
use crate::number::{p_value, percent, significant};
use crate::page::{Heading, HtmlTable};
use crate::text::{Column, Style, Table, bar, columns, truncate};
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

const HEADINGS: [&str; 8] = [
    "term",
    "df",
    "sum of squares",
    "mean square",
    "F",
    "p",
    "variation",
    "ω²",
];

/// The table of a terminal. Terms below the `level` are strong.
pub(super) fn text(anova: &Anova, level: f64, width: usize, style: Style) -> String {
    let [term, df, squares, mean, f, p, share, omega] = HEADINGS;
    let mut table = Table::new([
        Column::words(term),
        Column::amounts(df),
        Column::decimals(squares),
        Column::decimals(mean).optional(),
        Column::decimals(f),
        Column::decimals(p),
        Column::decimals(share),
        Column::decimals(omega).optional(),
    ]);
    for (cells, p) in rows(anova) {
        if p.is_some_and(|p| p < level) {
            table.strong_row(cells);
        } else {
            table.row(cells);
        }
    }
    table.rule().row(residual(anova));
    table.render(width, style)
}

/// The table of a page.
pub(super) fn html(anova: &Anova, caption: &str) -> HtmlTable {
    let headings = HEADINGS.iter().enumerate().map(|(i, heading)| match i {
        0 => Heading::words(heading),
        _ => Heading::numbers(heading),
    });
    let mut table = HtmlTable::new(caption, headings);
    for (cells, _) in rows(anova) {
        table.row(cells);
    }
    table.row(residual(anova));
    table
}

fn rows(anova: &Anova) -> impl Iterator<Item = (Vec<String>, Option<f64>)> {
    anova.intercept.iter().chain(&anova.rows).map(|row| {
        let test = |pick: fn(&paceline_stats::anova::AnovaTest) -> String| {
            row.test.as_ref().map(pick).unwrap_or_default()
        };
        let cells = vec![
            row.term.clone(),
            row.df.to_string(),
            significant(row.sum_of_squares, 4),
            test(|t| significant(t.mean_square, 4)),
            test(|t| significant(t.f, 4)),
            test(|t| p_value(t.p)),
            percent(row.percent / 100.0),
            significant(row.omega_squared, 2),
        ];
        (cells, row.test.map(|t| t.p))
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
        percent(row.percent / 100.0),
        String::new(),
    ]
}

/// The shares of the variation, largest first, the residual last.
fn shares(anova: &Anova) -> Vec<(&str, f64, Option<f64>)> {
    let mut shares: Vec<_> = anova
        .rows
        .iter()
        .map(|row| (row.term.as_str(), row.percent, row.test.map(|t| t.p)))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.push((RESIDUAL, anova.residual.percent, None));
    shares
}

/// Bars of the variation explained, largest first.
pub(super) fn variation_text(anova: &Anova, width: usize) -> String {
    let shares = shares(anova);
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

/// The same bars as a chart. Terms below the `level` are prominent.
pub(super) fn variation_chart(response: &str, anova: &Anova, level: f64) -> Chart {
    let shares = shares(anova);
    let rows: Vec<BarRow> = shares
        .iter()
        .map(|(name, share, p)| BarRow {
            label: (*name).to_owned(),
            value: *share,
            interval: None,
            note: match p {
                Some(p) => format!("{}, p {}", percent(share / 100.0), p_value(*p)),
                None => percent(share / 100.0),
            },
            prominent: p.is_some_and(|p| p < level),
        })
        .collect();
    let strongest = match shares.first() {
        Some((name, share, _)) => format!("{name} explains most: {}.", percent(share / 100.0)),
        None => String::new(),
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
pub(super) fn as_json(anova: &Anova, numbers: &mut Numbers) -> Value {
    let terms: Vec<Value> = anova
        .rows
        .iter()
        .map(|row| term_json(row, numbers))
        .collect();
    json!({
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
