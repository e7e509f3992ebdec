//! Samples, parts, events and iterations as rows of tables.

use super::{Chunk, Column, Field, FieldKind};
use crate::WallTime;
use crate::json::micros;
use paceline_model::{
    Event, EventKind, GapReason, Iteration, Measure, Micros, PartKind, PartMeasure, PartReading,
    Sample, Unit, WorkerId,
};
use std::time::Duration;

const TIME: Field = Field::required("time", FieldKind::Time);
const ELAPSED: Field = Field::required("elapsed_s", FieldKind::Number);

/// `samples/<node>.parquet`: one row per sample.
pub(crate) struct SampleRows;

/// `samples/<node>.parts.parquet`: one row per part and sample.
pub(crate) struct PartRows;

/// `events.parquet`: one row per event.
pub(crate) struct EventRows;

/// `iterations.parquet`: one row per worker and iteration, or several of them.
pub(crate) struct IterationRows;

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

impl IterationRows {
    pub(crate) fn fields() -> Vec<Field> {
        vec![
            TIME,
            ELAPSED,
            Field::required("worker", FieldKind::Natural),
            Field::required("iteration", FieldKind::Natural),
            Field::required("iterations", FieldKind::Natural),
            Field::required("waiting_s", FieldKind::Number),
            Field::optional("waited_for", FieldKind::Natural),
            Field::required("receiving_s", FieldKind::Number),
            Field::required("computing_s", FieldKind::Number),
            Field::required("sending_s", FieldKind::Number),
            Field::required("rows", FieldKind::Natural),
            Field::required("sent_bytes", FieldKind::Natural),
            Field::required("received_bytes", FieldKind::Natural),
            Field::required("staleness", FieldKind::Natural),
            Field::required("dropped", FieldKind::Natural),
            // Absent from records of versions before 0.2.
            Field::optional("serialising_s", FieldKind::Number),
            Field::optional("on_wire_s", FieldKind::Number),
            Field::optional("queued_s", FieldKind::Number),
            Field::optional("on_cpu_s", FieldKind::Number),
            Field::optional("runnable_s", FieldKind::Number),
        ]
    }

    pub(crate) fn push(
        chunk: &mut Chunk,
        started: WallTime,
        WorkerId(worker): WorkerId,
        row: &Iteration,
    ) {
        let columns = &mut chunk.columns;
        let micros = Micros::from(row.began).0;
        columns[0].push_integer(Some(started.0.saturating_add_unsigned(micros)));
        columns[1].push_number(Some(row.began.as_secs_f64()));
        columns[2].push_integer(Some(worker.into()));
        columns[3].push_integer(Some(row.clock.cast_signed()));
        columns[4].push_integer(Some(row.iterations.cast_signed()));
        columns[5].push_number(Some(row.waiting.as_secs_f64()));
        columns[6].push_integer(row.waited_for.map(|WorkerId(other)| other.into()));
        columns[7].push_number(Some(row.receiving.as_secs_f64()));
        columns[8].push_number(Some(row.computing.as_secs_f64()));
        columns[9].push_number(Some(row.sending.as_secs_f64()));
        let counts = [
            row.rows,
            row.sent_bytes,
            row.received_bytes,
            row.staleness,
            row.dropped,
        ];
        for (column, count) in columns[10..].iter_mut().zip(counts) {
            column.push_integer(Some(count.cast_signed()));
        }
        let times = [
            row.serialising,
            row.on_wire,
            row.queued,
            row.on_cpu,
            row.runnable,
        ];
        for (column, time) in columns[15..].iter_mut().zip(times) {
            column.push_number(Some(time.as_secs_f64()));
        }
        chunk.rows += 1;
    }

    pub(crate) fn get(chunk: &Chunk, row: usize) -> Result<(WorkerId, Iteration), BadCell> {
        let columns = &chunk.columns;
        let whole = |place: usize, column| {
            required(column, columns[place].integer(row)).map(i64::cast_unsigned)
        };
        let worker = |column, number: u64| {
            let number = u32::try_from(number).map_err(|_| BadCell { column })?;
            Ok(WorkerId(number))
        };
        // Doubles hold the nanoseconds of a time below a month.
        let time = |place: usize, column| {
            let seconds = required(column, columns[place].number(row))?;
            Duration::try_from_secs_f64(seconds).map_err(|_| BadCell { column })
        };
        let time_if_told = |place: usize, column| match columns[place].number(row) {
            Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| BadCell { column }),
            None => Ok(Duration::ZERO),
        };
        let waited_for = columns[6].integer(row).map(i64::cast_unsigned);
        let iteration = Iteration {
            clock: whole(3, "iteration")?,
            iterations: whole(4, "iterations")?,
            began: time(1, "elapsed_s")?,
            waiting: time(5, "waiting_s")?,
            waited_for: waited_for
                .map(|other| worker("waited_for", other))
                .transpose()?,
            receiving: time(7, "receiving_s")?,
            computing: time(8, "computing_s")?,
            sending: time(9, "sending_s")?,
            rows: whole(10, "rows")?,
            sent_bytes: whole(11, "sent_bytes")?,
            received_bytes: whole(12, "received_bytes")?,
            staleness: whole(13, "staleness")?,
            dropped: whole(14, "dropped")?,
            serialising: time_if_told(15, "serialising_s")?,
            on_wire: time_if_told(16, "on_wire_s")?,
            queued: time_if_told(17, "queued_s")?,
            on_cpu: time_if_told(18, "on_cpu_s")?,
            runnable: time_if_told(19, "runnable_s")?,
        };
        Ok((worker("worker", whole(2, "worker")?)?, iteration))
    }
}

/// Counts and bytes are whole; seconds and frequencies are not.
const fn kind_of(unit: Unit) -> FieldKind {
    match unit {
        Unit::Bytes | Unit::Count => FieldKind::Integer,
        Unit::Seconds
        | Unit::Megahertz
        | Unit::Share
        | Unit::Joules
        | Unit::Watts
        | Unit::Celsius => FieldKind::Number,
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
