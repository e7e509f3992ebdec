//! Tables that fit, and formulas over the columns that are there.

use crate::Source;
use paceline_stats::analysis::{AnalysisOptions, analyze};
use paceline_stats::formula::Formula;
use paceline_stats::table::Table;
use std::path::Path;

const COLUMNS: [&str; 5] = ["a", "b", "c", "y", "z w"];

/// A small table, analysed with a chosen or a written model: an answer or a
/// refusal, never a panic.
pub(super) fn table(case: u64, _: &Path) {
    let mut source = Source::new(case);
    let rows = 1 + source.below(40);
    let strange = source.once_in(3);
    let levels = 1 + source.below(4);
    let mut builder = Table::builder(COLUMNS);
    for _ in 0..rows {
        let cells: Vec<String> = (0..COLUMNS.len())
            .map(|column| match column {
                _ if strange && source.once_in(15) => source.number(),
                0 => format!("{}", source.below(levels)),
                1 => source.pick(&["x", "y", "z"]).to_owned(),
                2 => format!("{}", source.below(3)),
                _ if source.once_in(40) => String::new(),
                _ => format!("{}.{}", source.below(50), source.below(100)),
            })
            .collect();
        builder
            .push_row(cells.iter().map(String::as_str))
            .expect("as many cells as columns");
    }
    let Ok(table) = builder.finish() else { return };
    let formula = formula_text(&mut source);
    let written = source.once_in(2);
    let by = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
    let options = AnalysisOptions {
        formula: written.then_some(formula.as_str()),
        factors: (!written && source.once_in(2)).then_some(&by[..]),
        permutations: 50,
        ..AnalysisOptions::default()
    };
    let response = match Formula::parse(&formula) {
        Ok(parsed) if written => parsed.response_text().to_owned(),
        _ => "y".to_owned(),
    };
    let _ = analyze(&table, &response, &options);
}

/// Formulas as text.
pub(super) fn formula(case: u64, _: &Path) {
    let mut source = Source::new(case);
    let mut text = formula_text(&mut source);
    if source.once_in(2) {
        let mut bytes = text.into_bytes();
        source.damage(&mut bytes);
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    if let Ok(formula) = Formula::parse(&text) {
        let _ = formula.response_text().to_owned();
    }
}

fn formula_text(source: &mut Source) -> String {
    let response = source.pick(&["y", "log(y)", "sqrt(y)", "`z w`", "y^2", "missing"]);
    let count = 1 + source.below(4);
    let terms: Vec<String> = (0..count).map(|_| term(source, 2)).collect();
    format!(
        "{response} ~ {}",
        terms.join(source.pick(&[" + ", " - ", " * ", ":"]))
    )
}

fn term(source: &mut Source, depth: usize) -> String {
    let name = |source: &mut Source| match source.below(8) {
        0 => "C(a)".to_owned(),
        1 => "log(c)".to_owned(),
        2 => format!("I(a^{})", source.below(4)),
        3 => source.number(),
        _ => source.pick(&["a", "b", "c", "`z w`", "missing"]).to_owned(),
    };
    if depth == 0 {
        return name(source);
    }
    let (one, other) = (term(source, depth - 1), term(source, depth - 1));
    match source.below(6) {
        0 => format!("{one}*{other}"),
        1 => format!("{one}:{other}"),
        2 => format!("({one} + {other})^2"),
        3 => format!("poly({one}, 2)"),
        _ => one,
    }
}
