//! Learning curves, one for each configuration.

use crate::number::significant;
use crate::text::{Column, Page, Table, shorten, sparkline};
use paceline_advise::curve::{CurveMethod, OverEpochs, Trace};
use paceline_answers::predict::{Curves, without_epochs};
use paceline_answers::results::EpochsTable;
use paceline_answers::written;

/// The columns that a curve is drawn in.
const DRAWN: usize = 16;

pub(super) fn text(epochs: &EpochsTable, curves: &[Curves], page: Page) -> String {
    let mut out = String::new();
    if epochs.silent > 0 {
        out += &format!(
            "{} runs reported no epochs and are left out\n",
            epochs.silent
        );
    }
    if epochs.from_zero {
        out += "The runs count their epochs from 0; here the first is 1\n";
    }
    for curve in curves {
        let name = &curve.response;
        out += &match curve.shape {
            OverEpochs::LevellingOff { rate } => format!(
                "\n{name} levels off like a + b·epochs^-c; c is {rate:.2} for all together\n"
            ),
            OverEpochs::Growing => format!("\n{name} grows with the epochs\n"),
        };
        out.push('\n');
        out += &match curve.shape {
            OverEpochs::LevellingOff { .. } => levelling(epochs, curve),
            OverEpochs::Growing => growing(epochs, curve),
        }
        .render(page.width, page.style);
    }
    out
}

fn drawn(trace: &Trace) -> String {
    let values: Vec<Option<f64>> = trace
        .means()
        .iter()
        .map(|(_, value)| Some(*value))
        .collect();
    sparkline(&shorten(&values, DRAWN))
}

fn most(trace: &Trace) -> f64 {
    trace.epochs.iter().copied().fold(0.0, f64::max)
}

fn levelling(epochs: &EpochsTable, curves: &Curves) -> Table {
    let mut table = Table::new([
        Column::words("configuration"),
        Column::amounts("epochs"),
        Column::words("course"),
        Column::decimals("last"),
        Column::decimals("a"),
        Column::decimals("b"),
        Column::decimals("c"),
        Column::decimals("scatter"),
        Column::words("note").optional(),
    ]);
    for (at, trace, curve) in &curves.each {
        let last = trace.means().last().map_or(f64::NAN, |(_, value)| *value);
        let start = [
            written(&without_epochs(epochs, at)),
            most(trace).to_string(),
            drawn(trace),
            significant(last, 4),
        ];
        let end = match curve {
            Ok(curve) => [
                significant(curve.asymptote, 4),
                significant(curve.amplitude, 3),
                significant(curve.rate, 3),
                significant(curve.residual, 2),
                match curve.method {
                    CurveMethod::PowerLaw => "",
                    CurveMethod::Bounded => "a is held at its bound",
                    CurveMethod::Flat => "flat",
                }
                .to_owned(),
            ],
            Err(error) => ["–", "–", "–", "–", &error.to_string()].map(str::to_owned),
        };
        table.row(start.into_iter().chain(end));
    }
    table
}

fn growing(epochs: &EpochsTable, curves: &Curves) -> Table {
    let mut table = Table::new([
        Column::words("configuration"),
        Column::amounts("epochs"),
        Column::words("course"),
        Column::decimals("last"),
        Column::decimals("an epoch"),
        Column::decimals("before the first"),
    ]);
    for (at, trace, _) in &curves.each {
        let (start, slope) = trace.line().unwrap_or((f64::NAN, f64::NAN));
        let last = trace.means().last().map_or(f64::NAN, |(_, value)| *value);
        table.row([
            written(&without_epochs(epochs, at)),
            most(trace).to_string(),
            drawn(trace),
            significant(last, 4),
            significant(slope, 4),
            significant(start, 3),
        ]);
    }
    table
}
