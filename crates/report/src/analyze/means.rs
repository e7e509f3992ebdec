//! Adjusted means at the levels of factors: as plots, as a table, as JSON.

use super::json::Numbers;
use crate::chart::{Interaction, InteractionLine, LevelMean, MainEffect};
use crate::number::significant;
use crate::text::{Column, Style, Table};
use paceline_stats::analysis::{AdjustedMean, AdjustedMeans, Analysis};
use serde_json::{Value, json};

/// A page shows so many pairs of factors, strongest first.
const MOST_PAIRS: usize = 9;
/// A terminal shows so many means; JSON has all.
const SHOWN: usize = 24;

/// What the means are, in words.
pub(super) fn what(analysis: &Analysis) -> &'static str {
    match (analysis.typical, analysis.anova.rows.len() > 1) {
        (true, true) => "typical value, adjusted for the other terms",
        (true, false) => "typical value",
        (false, true) => "mean, adjusted for the other terms",
        (false, false) => "mean",
    }
}

/// The adjusted mean at each level.
pub(super) fn main_effects(analysis: &Analysis) -> Vec<MainEffect> {
    let levels = |means: &AdjustedMeans| -> Vec<LevelMean> {
        means
            .cells
            .iter()
            .filter_map(|cell| {
                Some(LevelMean {
                    level: cell.values.first()?.clone(),
                    mean: cell.mean?,
                    interval: cell.interval,
                })
            })
            .collect()
    };
    let effects = analysis.main_means.iter().map(|means| MainEffect {
        factor: means.factors.join(" with "),
        levels: levels(means),
    });
    effects.filter(|effect| !effect.levels.is_empty()).collect()
}

/// The pairs of factors whose interaction is in the model, strongest first.
pub(super) fn interactions(analysis: &Analysis) -> Vec<Interaction> {
    let strength = |means: &AdjustedMeans| {
        let name = means.factors.join(" with ");
        let row = analysis.anova.rows.iter().find(|row| row.name == name);
        row.map_or(0.0, |row| row.sum_of_squares)
    };
    let mut pairs: Vec<&AdjustedMeans> = analysis.interaction_means.iter().collect();
    pairs.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    pairs
        .into_iter()
        .take(MOST_PAIRS)
        .filter_map(pair)
        .collect()
}

fn pair(means: &AdjustedMeans) -> Option<Interaction> {
    let [first, second] = means.factors.as_slice() else {
        return None;
    };
    let values = |which: usize| {
        let mut values: Vec<&str> = Vec::new();
        for cell in &means.cells {
            if !values.contains(&cell.values[which].as_str()) {
                values.push(&cell.values[which]);
            }
        }
        values
    };
    let (rows, columns) = (values(0), values(1));
    // The factor with more levels runs along the axis: fewer lines are easier to
    // tell apart.
    let first_along = rows.len() >= columns.len();
    let (along, by) = if first_along {
        (first, second)
    } else {
        (second, first)
    };
    let (levels, lines) = if first_along {
        (rows, columns)
    } else {
        (columns, rows)
    };
    let at = |level: &str, line: &str| {
        let wanted = if first_along {
            [level, line]
        } else {
            [line, level]
        };
        let found = means.cells.iter().find(|cell| cell.values == wanted);
        // A combination that was never run is not drawn, whatever the model says.
        found
            .filter(|cell| cell.count > 0)
            .and_then(|cell| cell.mean)
    };
    Some(Interaction {
        along: along.clone(),
        levels: levels.iter().map(|&level| level.to_owned()).collect(),
        by: by.clone(),
        lines: lines
            .iter()
            .map(|&line| InteractionLine {
                level: line.to_owned(),
                means: levels.iter().map(|level| at(level, line)).collect(),
            })
            .collect(),
    })
}

/// The adjusted means of a terminal.
pub(super) fn text(analysis: &Analysis, width: usize, style: Style) -> String {
    let mut table = Table::new([
        Column::words("factor"),
        Column::words("level"),
        Column::amounts("runs"),
        Column::decimals("mean"),
        Column::decimals("lower"),
        Column::decimals("upper"),
    ]);
    let mut shown = 0;
    let mut all = 0;
    for means in &analysis.main_means {
        all += means.cells.len();
        if shown + means.cells.len() > SHOWN && shown > 0 {
            continue;
        }
        for (index, cell) in means.cells.iter().enumerate() {
            let factor = match index {
                0 => means.factors.join(" with "),
                _ => String::new(),
            };
            table.row(cells(&factor, cell));
        }
        shown += means.cells.len();
    }
    let mut out = table.render(width, style);
    if all > shown {
        out.push_str(&format!(
            "… and {} more; --format json has all\n",
            all - shown
        ));
    }
    out
}

fn cells(factor: &str, cell: &AdjustedMean) -> [String; 6] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| significant(v, 4));
    [
        factor.to_owned(),
        cell.values.join(", "),
        cell.count.to_string(),
        match cell.mean {
            Some(mean) => significant(mean, 4),
            None => "not estimable".to_owned(),
        },
        number(cell.interval.map(|interval| interval.0)),
        number(cell.interval.map(|interval| interval.1)),
    ]
}

pub(super) fn as_json(means: &[AdjustedMeans], numbers: &mut Numbers) -> Value {
    let groups: Vec<Value> = means
        .iter()
        .map(|means| {
            let cells: Vec<Value> = means
                .cells
                .iter()
                .map(|cell| {
                    let name = cell.values.join(", ");
                    let mut put = |what: &str, value: Option<f64>| match value {
                        Some(value) => numbers.put(&format!("{what} at {name}"), value),
                        None => Value::Null,
                    };
                    json!({
                        "values": cell.values,
                        "runs": cell.count,
                        "mean": put("mean", cell.mean),
                        "lower": put("lower", cell.interval.map(|i| i.0)),
                        "upper": put("upper", cell.interval.map(|i| i.1)),
                    })
                })
                .collect();
            json!({ "factors": means.factors, "means": cells })
        })
        .collect();
    Value::Array(groups)
}
