//! Iterations as bytes, a block of them in a frame.
//!
//! A row is one number per line of the dictionary, each in as few bytes as it
//! needs (LEB128): seven bits a byte, the highest bit set if more follow. The
//! columns that change little from row to row hold the difference to what the
//! row before leads to expect, signed (zigzag): an iteration begins where the
//! one before ended, and moves as many bytes. A block starts from zeros, so that
//! it is read without the blocks before it.

use super::{Codec, UnknownName, codec};
use paceline_model::{Iteration, WorkerId};
use std::time::Duration;

/// Iterations of one worker.
pub(crate) struct IterationCodec {
    /// A column that a newer version added is unknown, and skipped.
    columns: Vec<Option<Column>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Clock,
    Iterations,
    Began,
    Waiting,
    WaitedFor,
    Receiving,
    Computing,
    Sending,
    Rows,
    SentBytes,
    ReceivedBytes,
    Staleness,
    Dropped,
    Serialising,
    OnWire,
    Queued,
    OnCpu,
    Runnable,
}

impl Column {
    const ALL: [Self; 18] = [
        Self::Clock,
        Self::Iterations,
        Self::Began,
        Self::Waiting,
        Self::WaitedFor,
        Self::Receiving,
        Self::Computing,
        Self::Sending,
        Self::Rows,
        Self::SentBytes,
        Self::ReceivedBytes,
        Self::Staleness,
        Self::Dropped,
        Self::Serialising,
        Self::OnWire,
        Self::Queued,
        Self::OnCpu,
        Self::Runnable,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Iterations => "iterations",
            Self::Began => "began_ns",
            Self::Waiting => "waiting_ns",
            Self::WaitedFor => "waited_for",
            Self::Receiving => "receiving_ns",
            Self::Computing => "computing_ns",
            Self::Sending => "sending_ns",
            Self::Rows => "rows",
            Self::SentBytes => "sent_bytes",
            Self::ReceivedBytes => "received_bytes",
            Self::Staleness => "staleness",
            Self::Dropped => "dropped",
            Self::Serialising => "serialising_ns",
            Self::OnWire => "on_wire_ns",
            Self::Queued => "queued_ns",
            Self::OnCpu => "on_cpu_ns",
            Self::Runnable => "runnable_ns",
        }
    }

    /// What the row before leads to expect here; none where a number stands for
    /// itself.
    fn expected(self, before: &Iteration) -> Option<u64> {
        match self {
            Self::Clock => Some(before.clock.wrapping_add(before.iterations)),
            Self::Iterations => Some(before.iterations),
            Self::Began => Some(nanos(before.ended())),
            Self::Rows => Some(before.rows),
            Self::SentBytes => Some(before.sent_bytes),
            Self::ReceivedBytes => Some(before.received_bytes),
            _ => None,
        }
    }

    fn of(self, row: &Iteration) -> u64 {
        match self {
            Self::Clock => row.clock,
            Self::Iterations => row.iterations,
            Self::Began => nanos(row.began),
            Self::Waiting => nanos(row.waiting),
            Self::WaitedFor => row.waited_for.map_or(0, |other| u64::from(other.0) + 1),
            Self::Receiving => nanos(row.receiving),
            Self::Computing => nanos(row.computing),
            Self::Sending => nanos(row.sending),
            Self::Rows => row.rows,
            Self::SentBytes => row.sent_bytes,
            Self::ReceivedBytes => row.received_bytes,
            Self::Staleness => row.staleness,
            Self::Dropped => row.dropped,
            Self::Serialising => nanos(row.serialising),
            Self::OnWire => nanos(row.on_wire),
            Self::Queued => nanos(row.queued),
            Self::OnCpu => nanos(row.on_cpu),
            Self::Runnable => nanos(row.runnable),
        }
    }

    /// Sets the column; nothing if the number cannot be in it.
    fn set(self, row: &mut Iteration, value: u64) -> Option<()> {
        let time = Duration::from_nanos(value);
        match self {
            Self::Clock => row.clock = value,
            Self::Iterations => row.iterations = value,
            Self::Began => row.began = time,
            Self::Waiting => row.waiting = time,
            Self::WaitedFor => {
                row.waited_for = match value.checked_sub(1) {
                    Some(other) => Some(WorkerId(u32::try_from(other).ok()?)),
                    None => None,
                };
            }
            Self::Receiving => row.receiving = time,
            Self::Computing => row.computing = time,
            Self::Sending => row.sending = time,
            Self::Rows => row.rows = value,
            Self::SentBytes => row.sent_bytes = value,
            Self::ReceivedBytes => row.received_bytes = value,
            Self::Staleness => row.staleness = value,
            Self::Dropped => row.dropped = value,
            Self::Serialising => row.serialising = time,
            Self::OnWire => row.on_wire = time,
            Self::Queued => row.queued = time,
            Self::OnCpu => row.on_cpu = time,
            Self::Runnable => row.runnable = time,
        }
        Some(())
    }
}

impl Codec for IterationCodec {
    type Item = Vec<Iteration>;

    fn dictionary() -> Vec<u8> {
        let columns = Column::ALL.iter().map(|column| ("column", column.name()));
        codec::lines("iterations", columns)
    }

    fn from_dictionary(dictionary: &[u8]) -> Result<Self, UnknownName> {
        let mut columns = Vec::new();
        for (topic, name) in codec::parse_lines("iterations", dictionary)? {
            if topic != "column" {
                return Err(UnknownName::new(topic));
            }
            columns.push(Column::ALL.into_iter().find(|known| known.name() == name));
        }
        Ok(Self { columns })
    }

    fn encode(block: &Vec<Iteration>, out: &mut Vec<u8>) {
        let mut before = Iteration::default();
        for row in block {
            for column in Column::ALL {
                let value = column.of(row);
                put(
                    out,
                    match column.expected(&before) {
                        Some(expected) => zigzag(value.wrapping_sub(expected)),
                        None => value,
                    },
                );
            }
            before = *row;
        }
    }

    fn decode(&self, payload: &[u8]) -> Option<Vec<Iteration>> {
        let mut rows = Vec::new();
        let mut before = Iteration::default();
        let mut rest = payload;
        while !rest.is_empty() {
            let mut row = Iteration::default();
            for column in &self.columns {
                let number = take(&mut rest)?;
                let Some(column) = column else { continue };
                let value = match column.expected(&before) {
                    Some(expected) => expected.wrapping_add(unzigzag(number)),
                    None => number,
                };
                column.set(&mut row, value)?;
            }
            rows.push(row);
            before = row;
        }
        Some(rows)
    }
}

/// Half a millennium of nanoseconds fits.
fn nanos(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(time.subsec_nanos()))
}

/// A difference of either sign as a number that is small if it is.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (difference.cast_signed() >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        // The tenth byte has room for one bit.
        if place == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = Duration> {
        prop_oneof![0..10_000_u64, 0..u64::MAX / 16].prop_map(Duration::from_nanos)
    }

    fn rows() -> impl Strategy<Value = Iteration> {
        (
            any::<[u64; 7]>(),
            prop::array::uniform10(times()),
            any::<Option<u32>>(),
        )
            .prop_map(|(numbers, times, other)| Iteration {
                clock: numbers[0],
                iterations: numbers[1],
                began: times[0],
                waiting: times[1],
                waited_for: other.map(WorkerId),
                receiving: times[2],
                computing: times[3],
                sending: times[4],
                rows: numbers[2],
                sent_bytes: numbers[3],
                received_bytes: numbers[4],
                staleness: numbers[5],
                dropped: numbers[6],
                serialising: times[5],
                on_wire: times[6],
                queued: times[7],
                on_cpu: times[8],
                runnable: times[9],
            })
    }

    fn codec() -> IterationCodec {
        IterationCodec::from_dictionary(&IterationCodec::dictionary()).unwrap()
    }

    proptest! {
        #[test]
        fn a_block_survives_its_bytes(block in proptest::collection::vec(rows(), 0..20)) {
            let mut bytes = Vec::new();
            IterationCodec::encode(&block, &mut bytes);
            prop_assert_eq!(codec().decode(&bytes), Some(block));
        }

        #[test]
        fn no_bytes_make_decoding_panic(bytes: Vec<u8>) {
            let _ = codec().decode(&bytes);
        }
    }

    #[test]
    fn a_column_of_a_newer_version_is_passed_over() {
        let mut dictionary = IterationCodec::dictionary();
        dictionary.extend_from_slice(b"column joules\n");
        let newer = IterationCodec::from_dictionary(&dictionary).unwrap();
        let row = Iteration {
            clock: 7,
            iterations: 1,
            rows: 100,
            ..Iteration::default()
        };
        let mut bytes = Vec::new();
        IterationCodec::encode(&vec![row], &mut bytes);
        put(&mut bytes, 12_345);
        assert_eq!(newer.decode(&bytes), Some(vec![row]));
    }

    #[test]
    fn an_ordinary_iteration_takes_few_bytes() {
        let block: Vec<Iteration> = (0..256)
            .map(|clock| Iteration {
                clock,
                iterations: 1,
                began: Duration::from_nanos(3_000 * clock),
                computing: Duration::from_nanos(2_000),
                waiting: Duration::from_nanos(600),
                sending: Duration::from_nanos(400),
                rows: 100,
                sent_bytes: 31_400,
                ..Iteration::default()
            })
            .collect();
        let mut bytes = Vec::new();
        IterationCodec::encode(&block, &mut bytes);
        assert!(bytes.len() < 25 * block.len(), "{} bytes", bytes.len());
    }
}
