//! Samples, parts and events as rows of tables.

use super::{Chunk, Column, Field, FieldKind};
use crate::WallTime;
use crate::json::micros;
use paceline_model::{
    Event, EventKind, GapReason, Measure, Micros, PartKind, PartMeasure, PartReading, Sample, Unit,
    WorkerId,
};

const TIME: Field = Field::required("time", FieldKind::Time);
const ELAPSED: Field = Field::required("elapsed_s", FieldKind::Number);

/// `samples/<node>.parquet`: one row per sample.
pub(crate) struct SampleRows;

/// `samples/<node>.parts.parquet`: one row per part and sample.
pub(crate) struct PartRows;

/// `events.parquet`: one row per event.
pub(crate) struct EventRows;

/// A row holds a word or a number that its column cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadCell {
    pub(crate) column: &'static str,
}

impl SampleRows {
    const FIXED: [Field; 4] = [
        TIME,
        ELAPSED,
        Field::required("interval_s", FieldKind::Number),
        Field::optional("gap", FieldKind::Text),
    ];

    pub(crate) fn fields() -> Vec<Field> {
        let measures = Measure::ALL
            .iter()
            .map(|m| Field::optional(m.name(), kind_of(m.unit())));
        Self::FIXED.into_iter().chain(measures).collect()
    }

    pub(crate) fn push(chunk: &mut Chunk, started: WallTime, sample: &Sample) {
        let (fixed, measures) = chunk.columns.split_at_mut(Self::FIXED.len());
        push_time(fixed, started, sample.at);
        fixed[2].push_number(Some(sample.interval.as_secs()));
        fixed[3].push_text(sample.gap.map(GapReason::name));
        for (column, &measure) in measures.iter_mut().zip(Measure::ALL) {
            push_reading(column, sample.readings.get(measure));
        }
        chunk.rows += 1;
    }

    /// The sample of a row, without its parts.
    pub(crate) fn get(chunk: &Chunk, started: WallTime, row: usize) -> Result<Sample, BadCell> {
        let (fixed, measures) = chunk.columns.split_at(Self::FIXED.len());
        let gap = fixed[3]
            .text(row)
            .map(|name| known("gap", name, &GapReason::ALL, GapReason::name));
        Ok(Sample {
            at: time(fixed, started, row)?,
            interval: micros(required("interval_s", fixed[2].number(row))?),
            gap: gap.transpose()?,
            readings: Measure::ALL
                .iter()
                .zip(measures)
                .filter_map(|(&measure, column)| Some((measure, reading(column, row)?)))
                .collect(),
            parts: Vec::new(),
        })
    }
}

impl PartRows {
    const FIXED: [Field; 4] = [
        TIME,
        ELAPSED,
        Field::required("part", FieldKind::Text),
        Field::required("name", FieldKind::Text),
    ];

    pub(crate) fn fields() -> Vec<Field> {
        let measures = PartMeasure::ALL
            .iter()
            .map(|m| Field::optional(m.name(), kind_of(m.unit())));
        Self::FIXED.into_iter().chain(measures).collect()
    }

    pub(crate) fn push(chunk: &mut Chunk, started: WallTime, at: Micros, part: &PartReading) {
        let (fixed, measures) = chunk.columns.split_at_mut(Self::FIXED.len());
        push_time(fixed, started, at);
        fixed[2].push_text(Some(part.kind.name()));
        fixed[3].push_text(Some(&part.name));
        for (column, &measure) in measures.iter_mut().zip(PartMeasure::ALL) {
            push_reading(column, part.readings.get(measure));
        }
        chunk.rows += 1;
    }

    pub(crate) fn get(
        chunk: &Chunk,
        started: WallTime,
        row: usize,
    ) -> Result<(Micros, PartReading), BadCell> {
        let (fixed, measures) = chunk.columns.split_at(Self::FIXED.len());
        let kind = required("part", fixed[2].text(row))?;
        let part = PartReading {
            kind: known("part", kind, &PartKind::ALL, PartKind::name)?,
            name: required("name", fixed[3].text(row))?.to_owned(),
            readings: PartMeasure::ALL
                .iter()
                .zip(measures)
                .filter_map(|(&measure, column)| Some((measure, reading(column, row)?)))
                .collect(),
        };
        Ok((time(fixed, started, row)?, part))
    }
}

impl EventRows {
    pub(crate) fn fields() -> Vec<Field> {
        vec![
            TIME,
            ELAPSED,
            Field::optional("worker", FieldKind::Natural),
            Field::required("kind", FieldKind::Text),
            Field::optional("step", FieldKind::Natural),
            Field::required("name", FieldKind::Text),
            Field::optional("value", FieldKind::Number),
            Field::optional("text", FieldKind::Text),
        ]
    }

    pub(crate) fn push(chunk: &mut Chunk, started: WallTime, event: &Event) {
        let columns = &mut chunk.columns;
        push_time(columns, started, event.at);
        columns[2].push_integer(event.worker.map(|WorkerId(worker)| worker.into()));
        columns[3].push_text(Some(event.kind.name()));
        columns[4].push_integer(event.step.map(u64::cast_signed));
        columns[5].push_text(Some(&event.name));
        columns[6].push_number(event.value);
        columns[7].push_text(event.text.as_deref());
        chunk.rows += 1;
    }

    pub(crate) fn get(chunk: &Chunk, started: WallTime, row: usize) -> Result<Event, BadCell> {
        let columns = &chunk.columns;
        let worker = columns[2]
            .integer(row)
            .map(|n| u32::try_from(n).map_err(|_| BadCell { column: "worker" }));
        let kind = required("kind", columns[3].text(row))?;
        Ok(Event {
            at: time(columns, started, row)?,
            worker: worker.transpose()?.map(WorkerId),
            kind: known("kind", kind, &EventKind::ALL, EventKind::name)?,
            step: columns[4].integer(row).map(i64::cast_unsigned),
            name: required("name", columns[5].text(row))?.to_owned(),
            value: columns[6].number(row),
            text: columns[7].text(row).map(str::to_owned),
        })
    }
}

/// Counts and bytes are whole; seconds and frequencies are not.
const fn kind_of(unit: Unit) -> FieldKind {
    match unit {
        Unit::Bytes | Unit::Count => FieldKind::Integer,
        Unit::Seconds | Unit::Megahertz => FieldKind::Number,
    }
}

fn push_time(columns: &mut [Column], started: WallTime, at: Micros) {
    columns[0].push_integer(Some(started.0.saturating_add_unsigned(at.0)));
    columns[1].push_number(Some(at.as_secs()));
}

/// The run's clock counts whole microseconds from `started`, and so does the
/// column: the difference is exact, which seconds as doubles need not be.
fn time(columns: &[Column], started: WallTime, row: usize) -> Result<Micros, BadCell> {
    columns[0]
        .integer(row)
        .and_then(|time| u64::try_from(time.checked_sub(started.0)?).ok())
        .map(Micros)
        .ok_or(BadCell { column: "time" })
}

/// A count that is not finite cannot have been read from a counter: nothing is
/// recorded rather than something wrong.
fn push_reading(column: &mut Column, value: Option<f64>) {
    match column {
        Column::Numbers(values) => values.push(value),
        _ => column.push_integer(value.filter(|v| v.is_finite()).map(|v| v.round() as i64)),
    }
}

fn reading(column: &Column, row: usize) -> Option<f64> {
    match column {
        Column::Numbers(values) => values[row],
        _ => column.integer(row).map(|value| value as f64),
    }
}

fn required<T>(column: &'static str, value: Option<T>) -> Result<T, BadCell> {
    value.ok_or(BadCell { column })
}

fn known<T: Copy>(
    column: &'static str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, BadCell> {
    all.iter()
        .copied()
        .find(|&item| name_of(item) == name)
        .ok_or(BadCell { column })
}
