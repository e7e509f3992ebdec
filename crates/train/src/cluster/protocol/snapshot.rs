//! A version of the parameters on its way: a caption, the parameters, and what
//! the optimizer remembers.

use paceline_nets::Tally;
use paceline_wire::{Header, Payload};

use super::bytes::{Reader, Writer};
use super::{Parts, ProtocolError, flag, header};
use crate::cluster::milestones::Due;

/// A part of a snapshot. The caption comes first, then the parameters, then the
/// optimizer's moments from the first on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SnapshotPart<'a> {
    /// What is said of the snapshot.
    Caption(Caption),
    /// Numbers of the snapshot of step `steps`.
    Values {
        steps: u64,
        buffer: Buffer,
        /// The snapshot is complete.
        is_last: bool,
        values: &'a [f32],
    },
}

/// What is said of a snapshot before its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Caption {
    /// The step that it is of.
    pub(crate) steps: u64,
    /// The steps that the optimizer has counted.
    pub(crate) optimizer_steps: u64,
    /// The training rows since the last snapshot.
    pub(crate) tally: Tally,
    /// What is due at this step.
    pub(crate) due: Due,
}

/// Which numbers of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    /// The parameters.
    Parameters,
    /// A moment of the optimizer, from zero.
    Moment(u32),
}

const CAPTION: u16 = 0x0501;
const VALUES: u16 = 0x0502;

const LAST: u8 = 1;

const EVALUATION: u8 = 1;
const CHECKPOINT: u8 = 2;
const END: u8 = 4;

impl<'a> SnapshotPart<'a> {
    /// Whether the sender has no more of this snapshot.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Self::Values { is_last: true, .. })
    }

    pub(super) fn encode(&self, room: &'a mut Vec<u8>) -> (Header, Payload<'a>) {
        match *self {
            Self::Caption(caption) => {
                let due = caption.due;
                let flags = flag(due.evaluation, EVALUATION)
                    | flag(due.checkpoint, CHECKPOINT)
                    | flag(due.end, END);
                Writer::new(room).tally(caption.tally);
                let fields = [caption.steps, caption.optimizer_steps, 0];
                (
                    header(CAPTION, fields).with_flags(flags),
                    Payload::Bytes(room),
                )
            }
            Self::Values {
                steps,
                buffer,
                is_last,
                values,
            } => {
                let number = match buffer {
                    Buffer::Parameters => 0,
                    Buffer::Moment(number) => u64::from(number) + 1,
                };
                let flags = flag(is_last, LAST);
                (
                    header(VALUES, [steps, number, 0]).with_flags(flags),
                    Payload::Dense(values),
                )
            }
        }
    }

    /// None if the frame is no part of a snapshot.
    pub(super) fn from_parts(
        header: &Header,
        payload: Payload<'a>,
    ) -> Result<Option<Self>, ProtocolError> {
        let parts = |name| Parts::new(name, header, payload);
        match header.kind.0 {
            CAPTION => {
                let mut parts = parts("caption");
                let due = Due {
                    evaluation: parts.flag(EVALUATION),
                    checkpoint: parts.flag(CHECKPOINT),
                    end: parts.flag(END),
                };
                let mut reader = Reader::new("caption", parts.bytes()?);
                let caption = Caption {
                    steps: parts.count(0)?,
                    optimizer_steps: parts.count(1)?,
                    tally: reader.tally()?,
                    due,
                };
                reader.done()?;
                parts.done(Some(Self::Caption(caption)))
            }
            VALUES => {
                let mut parts = parts("snapshot");
                let part = Self::Values {
                    steps: parts.count(0)?,
                    buffer: parts
                        .maybe_word(1)?
                        .map_or(Buffer::Parameters, Buffer::Moment),
                    is_last: parts.flag(LAST),
                    values: parts.dense()?,
                };
                parts.done(Some(part))
            }
            _ => Ok(None),
        }
    }
}
