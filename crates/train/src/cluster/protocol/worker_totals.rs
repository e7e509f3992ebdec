//! What a worker has done, as numbers.

use std::time::Duration;

use super::ProtocolError;
use super::bytes::{Reader, Writer};
use crate::cluster::totals::WorkerTotals;

/// Durations travel as nanoseconds.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn write(writer: &mut Writer<'_>, totals: &WorkerTotals) {
    for number in [
        totals.iterations,
        totals.rows,
        nanos(totals.computing),
        nanos(totals.waiting),
        nanos(totals.sending),
        nanos(totals.receiving),
        nanos(totals.serialising),
        nanos(totals.on_wire),
        nanos(totals.queued),
        totals.bytes_sent,
        totals.bytes_received,
        totals.staleness_sum,
        totals.staleness_most,
        totals.dropped,
        u64::from(totals.restarts),
        totals.waited_for.len() as u64,
    ] {
        writer.long(number);
    }
    for time in &totals.waited_for {
        writer.long(nanos(*time));
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<WorkerTotals, ProtocolError> {
    let time = |reader: &mut Reader<'_>| reader.long().map(Duration::from_nanos);
    let mut totals = WorkerTotals {
        iterations: reader.count()?,
        rows: reader.count()?,
        computing: time(reader)?,
        waiting: time(reader)?,
        sending: time(reader)?,
        receiving: time(reader)?,
        serialising: time(reader)?,
        on_wire: time(reader)?,
        queued: time(reader)?,
        bytes_sent: reader.count()?,
        bytes_received: reader.count()?,
        staleness_sum: reader.count()?,
        staleness_most: reader.count()?,
        dropped: reader.count()?,
        restarts: reader.word()?,
        waited_for: Vec::new(),
    };
    let workers = usize::try_from(reader.long()?)
        .ok()
        .filter(|workers| *workers <= reader.numbers_left())
        .ok_or_else(|| reader.malformed("it is too short"))?;
    totals.waited_for = (0..workers)
        .map(|_| time(reader))
        .collect::<Result<_, _>>()?;
    Ok(totals)
}
