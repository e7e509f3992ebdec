//! What a worker says to a server.

use std::borrow::Cow;

use paceline_nets::Tally;
use paceline_wire::{Frame, Header, Payload};

use super::bytes::{Reader, Writer};
use super::{Parts, ProtocolError, flag, header, payload_of, worker_totals};
use crate::cluster::totals::WorkerTotals;

/// What a worker says to a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToServer<'a> {
    /// The worker wants to take part, with this training in mind.
    Join { identity: &'a str },
    /// It wants to start iteration `clock`.
    Read { clock: u64 },
    /// A part of its update of iteration `clock`: dense values behind which lies
    /// a [`trailer`], in any precision, or rows of the table.
    Push {
        clock: u64,
        values: Payload<'a>,
        /// Nothing more of this update follows.
        is_last: bool,
        /// As if [`ToServer::Read`] of the next iteration followed.
        then_read: bool,
    },
    /// What it has done so far.
    Totals { totals: Cow<'a, WorkerTotals> },
    /// It is alive.
    Heartbeat,
    /// The servers have welcomed it at different versions of one training.
    ShardsDiffer,
}

const JOIN: u16 = 0x0101;
const READ: u16 = 0x0102;
const PUSH: u16 = 0x0103;
const TOTALS: u16 = 0x0104;
const HEARTBEAT: u16 = 0x0105;
const SHARDS_DIFFER: u16 = 0x0106;

const LAST: u8 = 1;
const THEN_READ: u8 = 2;

impl ToServer<'_> {
    /// Whether the worker awaits an answer to it.
    pub(crate) fn is_question(&self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::Push {
                    then_read: true,
                    ..
                }
        )
    }
}

impl<'a> ToServer<'a> {
    /// The message as a frame; `room` is for what has to be laid out.
    pub(crate) fn encode<'b>(&'b self, room: &'b mut Vec<u8>) -> (Header, Payload<'b>) {
        match self {
            Self::Join { identity } => (header(JOIN, [0; 3]), Payload::Bytes(identity.as_bytes())),
            Self::Read { clock } => (header(READ, [*clock, 0, 0]), Payload::NONE),
            Self::Push {
                clock,
                values,
                is_last,
                then_read,
            } => {
                let flags = flag(*is_last, LAST) | flag(*then_read, THEN_READ);
                let header = header(PUSH, [*clock, 0, 0]).with_flags(flags);
                (header, *values)
            }
            Self::Totals { totals } => {
                let mut writer = Writer::new(room);
                worker_totals::write(&mut writer, totals);
                (header(TOTALS, [0; 3]), Payload::Bytes(room))
            }
            Self::Heartbeat => (header(HEARTBEAT, [0; 3]), Payload::NONE),
            Self::ShardsDiffer => (header(SHARDS_DIFFER, [0; 3]), Payload::NONE),
        }
    }

    pub(crate) fn decode(frame: &Frame<'a>) -> Result<Self, ProtocolError> {
        Self::from_parts(&frame.header, payload_of(frame)?)
    }

    /// The message that a frame's header and payload are.
    pub(crate) fn from_parts(header: &Header, payload: Payload<'a>) -> Result<Self, ProtocolError> {
        let parts = |name| Parts::new(name, header, payload);
        match header.kind.0 {
            JOIN => {
                let mut parts = parts("join");
                let identity = parts.text()?;
                parts.done(Self::Join { identity })
            }
            READ => {
                let mut parts = parts("read");
                let clock = parts.count(0)?;
                parts.done(Self::Read { clock })
            }
            PUSH => {
                let mut parts = parts("push");
                let (is_last, then_read) = (parts.flag(LAST), parts.flag(THEN_READ));
                let (clock, values) = (parts.count(0)?, parts.payload());
                if let Payload::Bytes(_) = values {
                    return Err(parts.malformed("it carries bytes where numbers are due"));
                }
                parts.done(Self::Push {
                    clock,
                    values,
                    is_last,
                    then_read,
                })
            }
            TOTALS => {
                let mut parts = parts("totals");
                let mut reader = Reader::new("totals", parts.bytes()?);
                let totals = Cow::Owned(worker_totals::read(&mut reader)?);
                reader.done()?;
                parts.done(Self::Totals { totals })
            }
            HEARTBEAT => parts("heartbeat").done(Self::Heartbeat),
            SHARDS_DIFFER => parts("shards differ").done(Self::ShardsDiffer),
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "to a server",
            }),
        }
    }
}

/// Numbers at the end of an update's dense values: what was found on its rows.
pub(crate) const TRAILER: usize = 6;

/// A tally as numbers whose bits carry it.
pub(crate) fn trailer(tally: Tally) -> [f32; TRAILER] {
    let halves = |number: u64| {
        [
            f32::from_bits(number as u32),
            f32::from_bits((number >> 32) as u32),
        ]
    };
    let [a, b] = halves(tally.loss.to_bits());
    let [c, d] = halves(tally.hits);
    let [e, f] = halves(tally.rows);
    [a, b, c, d, e, f]
}

/// The tally that [`trailer`] carries.
pub(crate) fn tally_of(words: &[f32; TRAILER]) -> Tally {
    let number =
        |at: usize| u64::from(words[at].to_bits()) | u64::from(words[at + 1].to_bits()) << 32;
    Tally {
        loss: f64::from_bits(number(0)),
        hits: number(2),
        rows: number(4),
    }
}
