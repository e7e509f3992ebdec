//! One row per resource: what is used now, its recent past, its peak.

use super::{left, put, right, spark, styled};
use crate::draw::Palette;
use crate::history::History;
use crate::state::{Resources, State};
use paceline_report::number::{ABSENT, bytes, rate, significant};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Columns of the label, the value and the peak.
const LABEL: usize = 11;
const VALUE: usize = 12;
const PEAK: usize = 16;
/// Tasks that wait a fifth of the time are being held back; the verdict uses the
/// same limit for CPU and disk.
const HELD: f64 = 0.20;

/// Turns a reading into words.
type Show<'a> = &'a dyn Fn(f64) -> String;

struct Row<'a> {
    label: &'static str,
    history: &'a History,
    value: String,
    peak: Option<String>,
    /// The top of the sparkline.
    full: f64,
    warns: bool,
}

/// How many resources there are rows for.
pub(super) fn count(state: &State) -> u16 {
    let resources = &state.resources;
    6 + u16::from(resources.gpu.is_known()) + u16::from(resources.pressure.is_known())
}

pub(super) fn draw(area: Rect, rows_each: u16, buf: &mut Buffer, state: &State, palette: &Palette) {
    let rows = rows(&state.resources, state.title.cpus);
    let rows_each = rows_each.max(1);
    let shown = usize::from(area.height / rows_each);
    for (i, row) in rows.iter().take(shown).enumerate() {
        let offset = u16::try_from(i).expect("there are few resources") * rows_each;
        let area = Rect {
            y: area.y + offset,
            height: rows_each,
            ..area
        };
        draw_row(area, buf, row, palette);
    }
}

fn draw_row(area: Rect, buf: &mut Buffer, row: &Row<'_>, palette: &Palette) {
    let value_style = if row.warns {
        palette.warning
    } else {
        palette.strong
    };
    let last = area.height - 1;
    let line = Line::from(vec![
        styled(left(row.label, LABEL), palette.dim),
        styled(right(&row.value, VALUE), value_style),
    ]);
    put(buf, area, last, line);
    let taken = LABEL + VALUE + 2;
    let mut chart = area;
    chart.x += u16::try_from(taken).expect("few columns").min(area.width);
    chart.width = area.right() - chart.x;
    if usize::from(chart.width) >= PEAK + 16 {
        let peak = row.peak.as_deref().unwrap_or("");
        let note = styled(right(peak, PEAK), palette.dim);
        super::put_right(buf, area, last, Line::from(note));
        chart.width -= PEAK as u16 + 1;
    }
    let style = if row.warns {
        palette.warning
    } else {
        palette.line
    };
    spark::draw(chart, buf, row.history, (0.0, row.full), style);
}

fn rows(resources: &Resources, cpus: u32) -> Vec<Row<'_>> {
    let cpu_text = |used: f64| format!("{} of {cpus}", cpus_used(used));
    let byte_rate = |amount: f64| rate(amount, "B");
    let series: [(&'static str, &History, Show<'_>); 6] = [
        ("cpu", &resources.cpus, &cpu_text),
        ("memory", &resources.memory, &bytes),
        ("disk read", &resources.disk_read, &byte_rate),
        ("disk write", &resources.disk_write, &byte_rate),
        ("net in", &resources.received, &byte_rate),
        ("net out", &resources.sent, &byte_rate),
    ];
    let mut rows: Vec<Row<'_>> = series
        .into_iter()
        .map(|(label, history, text)| {
            // An idle resource has no peak worth a word.
            let peak = history.peak().filter(|&peak| peak > 0.0);
            Row {
                label,
                history,
                value: history.last().map_or(ABSENT.to_owned(), text),
                peak: peak.map(|peak| format!("peak {}", text(peak))),
                full: peak.unwrap_or(1.0),
                warns: false,
            }
        })
        .collect();
    // Only for CPUs is it known how much there is.
    rows[0].full = f64::from(cpus);
    rows[0].peak = resources
        .cpus
        .peak()
        .map(|peak| format!("peak {}", cpus_used(peak)));
    if resources.gpu.is_known() {
        rows.push(Row {
            label: "gpu",
            history: &resources.gpu,
            value: resources.gpu.last().map_or(ABSENT.to_owned(), whole),
            peak: resources
                .gpu
                .peak()
                .map(|peak| format!("peak {}", whole(peak))),
            full: 1.0,
            warns: false,
        });
    }
    if resources.pressure.is_known() {
        let now = resources.pressure.last();
        rows.push(Row {
            label: "pressure",
            history: &resources.pressure,
            value: now.map_or(ABSENT.to_owned(), |share| match share >= 0.005 {
                true => format!("{} {}", resources.pressed, whole(share)),
                false => "none".to_owned(),
            }),
            peak: resources
                .pressure
                .peak()
                .map(|peak| format!("peak {}", whole(peak))),
            full: 1.0,
            warns: now.is_some_and(|share| share >= HELD),
        });
    }
    rows
}

fn cpus_used(used: f64) -> String {
    if used >= 100.0 {
        significant(used, 3)
    } else {
        format!("{used:.1}")
    }
}

fn whole(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
