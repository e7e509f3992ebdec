//! What the controller says to a server, or to a worker that sums with its
//! peers.

use std::time::Duration;

use paceline_wire::{Frame, Header, Payload};

use super::bytes::{Reader, Writer};
use super::group::{Roster, read_milestones, write_milestones};
use super::snapshot::SnapshotPart;
use super::{Parts, ProtocolError, header, payload_of};
use crate::cluster::milestones::Milestones;

/// What the controller says to a server, or to a worker that sums with its
/// peers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FromController<'a> {
    /// To a server, first of all: what it is to know. The snapshot that it
    /// begins with follows.
    Begin {
        /// How often all servers were taken back to one version.
        generation: u32,
        milestones: Milestones,
        /// A worker that has not joined after this time is lost. In whole
        /// microseconds.
        join_within: Duration,
        /// What is trained.
        identity: &'a str,
    },
    /// A part of a snapshot to go on from.
    Snapshot(SnapshotPart<'a>),
    /// The snapshot of this step was dealt with.
    SnapshotTaken { steps: u64 },
    /// To a server: the snapshot that it waits for will never be complete, and
    /// is not to be waited for.
    SnapshotWaived,
    /// To a server: show a snapshot, as that of this step.
    ShowSnapshot { steps: u64 },
    /// To a server: end at this step, and show a snapshot.
    EndAt { step: u64 },
    /// End as soon as all can agree to, and show a snapshot.
    EndSoon,
    /// To a server: a worker has ended and nobody replaces it.
    WorkerGone { worker: u32 },
    /// The training is over.
    Stop,
    /// To a worker: form a group.
    FormGroup(Roster),
    /// To a worker: the group of this number, and those before, are no more.
    DissolveGroup { generation: u32 },
    /// To a worker: it trains something else.
    OtherTraining { difference: &'a str },
}

const BEGIN: u16 = 0x0401;
const SNAPSHOT_TAKEN: u16 = 0x0402;
const SNAPSHOT_WAIVED: u16 = 0x0403;
const SHOW_SNAPSHOT: u16 = 0x0404;
const END_AT: u16 = 0x0405;
const END_SOON: u16 = 0x0406;
const WORKER_GONE: u16 = 0x0407;
const STOP: u16 = 0x0408;
const FORM_GROUP: u16 = 0x0409;
const DISSOLVE_GROUP: u16 = 0x040a;
const OTHER_TRAINING: u16 = 0x040b;

impl<'a> FromController<'a> {
    /// The message as a frame; `room` is for what has to be laid out.
    pub(crate) fn encode(&'a self, room: &'a mut Vec<u8>) -> (Header, Payload<'a>) {
        let plain = |kind, number: u64| (header(kind, [number, 0, 0]), Payload::NONE);
        match self {
            Self::Begin {
                generation,
                milestones,
                join_within,
                identity,
            } => {
                let mut writer = Writer::new(room);
                write_milestones(&mut writer, milestones);
                let micros = u64::try_from(join_within.as_micros()).unwrap_or(u64::MAX);
                writer.long(micros).text(identity);
                let fields = [u64::from(*generation), 0, 0];
                (header(BEGIN, fields), Payload::Bytes(room))
            }
            Self::Snapshot(part) => part.encode(room),
            Self::SnapshotTaken { steps } => plain(SNAPSHOT_TAKEN, *steps),
            Self::SnapshotWaived => plain(SNAPSHOT_WAIVED, 0),
            Self::ShowSnapshot { steps } => plain(SHOW_SNAPSHOT, *steps),
            Self::EndAt { step } => plain(END_AT, *step),
            Self::EndSoon => plain(END_SOON, 0),
            Self::WorkerGone { worker } => plain(WORKER_GONE, u64::from(*worker)),
            Self::Stop => plain(STOP, 0),
            Self::FormGroup(roster) => {
                roster.write(&mut Writer::new(room));
                (header(FORM_GROUP, [0; 3]), Payload::Bytes(room))
            }
            Self::DissolveGroup { generation } => plain(DISSOLVE_GROUP, u64::from(*generation)),
            Self::OtherTraining { difference } => (
                header(OTHER_TRAINING, [0; 3]),
                Payload::Bytes(difference.as_bytes()),
            ),
        }
    }

    pub(crate) fn decode(frame: &Frame<'a>) -> Result<Self, ProtocolError> {
        Self::from_parts(&frame.header, payload_of(frame)?)
    }

    /// The message that a frame's header and payload are.
    pub(crate) fn from_parts(header: &Header, payload: Payload<'a>) -> Result<Self, ProtocolError> {
        if let Some(part) = SnapshotPart::from_parts(header, payload)? {
            return Ok(Self::Snapshot(part));
        }
        let parts = |name| Parts::new(name, header, payload);
        match header.kind.0 {
            BEGIN => {
                let mut parts = parts("begin");
                let mut reader = Reader::new("begin", parts.bytes()?);
                let message = Self::Begin {
                    generation: parts.word(0)?,
                    milestones: read_milestones(&mut reader)?,
                    join_within: Duration::from_micros(reader.long()?),
                    identity: reader.text()?,
                };
                reader.done()?;
                parts.done(message)
            }
            SNAPSHOT_TAKEN => {
                let mut parts = parts("snapshot taken");
                let steps = parts.count(0)?;
                parts.done(Self::SnapshotTaken { steps })
            }
            SNAPSHOT_WAIVED => parts("snapshot waived").done(Self::SnapshotWaived),
            SHOW_SNAPSHOT => {
                let mut parts = parts("show snapshot");
                let steps = parts.count(0)?;
                parts.done(Self::ShowSnapshot { steps })
            }
            END_AT => {
                let mut parts = parts("end at");
                let step = parts.count(0)?;
                parts.done(Self::EndAt { step })
            }
            END_SOON => parts("end soon").done(Self::EndSoon),
            WORKER_GONE => {
                let mut parts = parts("worker gone");
                let worker = parts.word(0)?;
                parts.done(Self::WorkerGone { worker })
            }
            STOP => parts("stop").done(Self::Stop),
            FORM_GROUP => {
                let mut parts = parts("form group");
                let mut reader = Reader::new("form group", parts.bytes()?);
                let roster = Roster::read(&mut reader)?;
                reader.done()?;
                parts.done(Self::FormGroup(roster))
            }
            DISSOLVE_GROUP => {
                let mut parts = parts("dissolve group");
                let generation = parts.word(0)?;
                parts.done(Self::DissolveGroup { generation })
            }
            OTHER_TRAINING => {
                let mut parts = parts("other training");
                let difference = parts.text()?;
                parts.done(Self::OtherTraining { difference })
            }
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "from the controller",
            }),
        }
    }

    /// The message's name, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Snapshot(_) => "snapshot",
            Self::SnapshotTaken { .. } => "snapshot taken",
            Self::SnapshotWaived => "snapshot waived",
            Self::ShowSnapshot { .. } => "show snapshot",
            Self::EndAt { .. } => "end at",
            Self::EndSoon => "end soon",
            Self::WorkerGone { .. } => "worker gone",
            Self::Stop => "stop",
            Self::FormGroup(_) => "form group",
            Self::DissolveGroup { .. } => "dissolve group",
            Self::OtherTraining { .. } => "other training",
        }
    }

    /// The error of a message that has no business here.
    pub(crate) fn out_of_place(&self) -> ProtocolError {
        ProtocolError::OutOfPlace { name: self.name() }
    }
}
