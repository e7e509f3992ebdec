//! What a server, or a worker that sums with its peers, says to the controller.

use std::borrow::Cow;

use paceline_nets::Tally;
use paceline_wire::{Frame, Header, Payload};

use super::bytes::{Reader, Writer};
use super::group::{Activity, JoinRequest};
use super::snapshot::SnapshotPart;
use super::{Parts, ProtocolError, flag, header, payload_of, worker_totals};
use crate::cluster::totals::WorkerTotals;

/// What a server, or a worker that sums with its peers, says to the controller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToController<'a> {
    /// A server: a worker has joined.
    WorkerJoined { worker: u32 },
    /// A server: a worker is lost.
    WorkerLost {
        worker: u32,
        /// It said nothing for too long, and may still run.
        is_silent: bool,
        /// How it was seen and what the worker was doing last.
        words: &'a str,
    },
    /// A server: somebody is to take the place of a worker that is lost.
    ReplaceWorker {
        worker: u32,
        /// The lowest number with which it may join.
        incarnation: u32,
    },
    /// A server: a worker is lost without which the training must not go on.
    WorkerRequired { worker: u32 },
    /// How far the sender is, and what workers have done so far: all of them by
    /// number from a server, itself alone from a worker.
    Progress {
        steps: u64,
        /// The training rows since the last report.
        tally: Tally,
        totals: Cow<'a, [WorkerTotals]>,
        /// The sender says nothing more.
        is_last: bool,
    },
    /// A server: words for the user.
    Notice { subject: Subject, words: &'a str },
    /// A server: it is alive.
    Heartbeat,
    /// A worker: it is alive, and this is what it does.
    Working { activity: Activity },
    /// A part of a snapshot.
    Snapshot(SnapshotPart<'a>),
    /// The loss is not a number any more.
    Diverged,
    /// A server: it was started for another training, which this identifies.
    OtherTraining { identity: &'a str },
    /// A worker asks to take part in the next group.
    JoinGroup(JoinRequest),
    /// A server: a worker has found the servers at different versions.
    ShardsDiffer,
}

/// What a server's words are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A connection that was refused or closed.
    Connection,
    /// A worker that waits for long.
    WaitingWorker(u32),
    /// A worker of another training.
    OtherTraining,
}

const WORKER_JOINED: u16 = 0x0301;
const WORKER_LOST: u16 = 0x0302;
const REPLACE_WORKER: u16 = 0x0303;
const WORKER_REQUIRED: u16 = 0x0304;
const PROGRESS: u16 = 0x0305;
const NOTICE: u16 = 0x0306;
const HEARTBEAT: u16 = 0x0307;
const WORKING: u16 = 0x0308;
const DIVERGED: u16 = 0x0309;
const OTHER_TRAINING: u16 = 0x030a;
const JOIN_GROUP: u16 = 0x030b;
const SHARDS_DIFFER: u16 = 0x030c;

const SILENT: u8 = 1;
const LAST: u8 = 1;

impl<'a> ToController<'a> {
    /// The message as a frame; `room` is for what has to be laid out.
    pub(crate) fn encode(&'a self, room: &'a mut Vec<u8>) -> (Header, Payload<'a>) {
        let about = |kind, worker: u32| header(kind, [u64::from(worker), 0, 0]);
        match self {
            Self::WorkerJoined { worker } => (about(WORKER_JOINED, *worker), Payload::NONE),
            Self::WorkerLost {
                worker,
                is_silent,
                words,
            } => (
                about(WORKER_LOST, *worker).with_flags(flag(*is_silent, SILENT)),
                Payload::Bytes(words.as_bytes()),
            ),
            Self::ReplaceWorker {
                worker,
                incarnation,
            } => {
                let fields = [u64::from(*worker), u64::from(*incarnation), 0];
                (header(REPLACE_WORKER, fields), Payload::NONE)
            }
            Self::WorkerRequired { worker } => (about(WORKER_REQUIRED, *worker), Payload::NONE),
            Self::Progress {
                steps,
                tally,
                totals,
                is_last,
            } => {
                let mut writer = Writer::new(room);
                writer.tally(*tally).long(totals.len() as u64);
                for totals in &**totals {
                    worker_totals::write(&mut writer, totals);
                }
                let header = header(PROGRESS, [*steps, 0, 0]);
                (
                    header.with_flags(flag(*is_last, LAST)),
                    Payload::Bytes(room),
                )
            }
            Self::Notice { subject, words } => {
                let fields = match subject {
                    Subject::Connection => [0, 0, 0],
                    Subject::WaitingWorker(worker) => [1, u64::from(*worker), 0],
                    Subject::OtherTraining => [2, 0, 0],
                };
                (header(NOTICE, fields), Payload::Bytes(words.as_bytes()))
            }
            Self::Heartbeat => (header(HEARTBEAT, [0; 3]), Payload::NONE),
            Self::Working { activity } => {
                let [code, step] = activity.numbers();
                (header(WORKING, [code, step, 0]), Payload::NONE)
            }
            Self::Snapshot(part) => part.encode(room),
            Self::Diverged => (header(DIVERGED, [0; 3]), Payload::NONE),
            Self::ShardsDiffer => (header(SHARDS_DIFFER, [0; 3]), Payload::NONE),
            Self::OtherTraining { identity } => (
                header(OTHER_TRAINING, [0; 3]),
                Payload::Bytes(identity.as_bytes()),
            ),
            Self::JoinGroup(request) => {
                request.write(&mut Writer::new(room));
                (header(JOIN_GROUP, [0; 3]), Payload::Bytes(room))
            }
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
            WORKER_JOINED => {
                let mut parts = parts("worker joined");
                let worker = parts.word(0)?;
                parts.done(Self::WorkerJoined { worker })
            }
            WORKER_LOST => {
                let mut parts = parts("worker lost");
                let message = Self::WorkerLost {
                    worker: parts.word(0)?,
                    is_silent: parts.flag(SILENT),
                    words: parts.text()?,
                };
                parts.done(message)
            }
            REPLACE_WORKER => {
                let mut parts = parts("replace worker");
                let (worker, incarnation) = (parts.word(0)?, parts.word(1)?);
                parts.done(Self::ReplaceWorker {
                    worker,
                    incarnation,
                })
            }
            WORKER_REQUIRED => {
                let mut parts = parts("worker required");
                let worker = parts.word(0)?;
                parts.done(Self::WorkerRequired { worker })
            }
            PROGRESS => progress(parts("progress")),
            NOTICE => {
                let mut parts = parts("notice");
                let (code, worker) = (parts.long(0), parts.word(1)?);
                let subject = match (code, worker) {
                    (0, 0) => Subject::Connection,
                    (1, worker) => Subject::WaitingWorker(worker),
                    (2, 0) => Subject::OtherTraining,
                    _ => return Err(parts.malformed("it is about nothing known")),
                };
                let words = parts.text()?;
                parts.done(Self::Notice { subject, words })
            }
            HEARTBEAT => parts("heartbeat").done(Self::Heartbeat),
            WORKING => {
                let mut parts = parts("working");
                let activity = Activity::from_numbers([parts.long(0), parts.long(1)])
                    .ok_or_else(|| parts.malformed("its activity is none"))?;
                parts.done(Self::Working { activity })
            }
            DIVERGED => parts("diverged").done(Self::Diverged),
            SHARDS_DIFFER => parts("shards differ").done(Self::ShardsDiffer),
            OTHER_TRAINING => {
                let mut parts = parts("other training");
                let identity = parts.text()?;
                parts.done(Self::OtherTraining { identity })
            }
            JOIN_GROUP => {
                let mut parts = parts("join group");
                let mut reader = Reader::new("join group", parts.bytes()?);
                let request = JoinRequest::read(&mut reader)?;
                reader.done()?;
                parts.done(Self::JoinGroup(request))
            }
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "to the controller",
            }),
        }
    }

    /// The message's name, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::WorkerJoined { .. } => "worker joined",
            Self::WorkerLost { .. } => "worker lost",
            Self::ReplaceWorker { .. } => "replace worker",
            Self::WorkerRequired { .. } => "worker required",
            Self::Progress { .. } => "progress",
            Self::Notice { .. } => "notice",
            Self::Heartbeat => "heartbeat",
            Self::Working { .. } => "working",
            Self::Snapshot(_) => "snapshot",
            Self::Diverged => "diverged",
            Self::ShardsDiffer => "shards differ",
            Self::OtherTraining { .. } => "other training",
            Self::JoinGroup(_) => "join group",
        }
    }

    /// The error of a message that has no business here.
    pub(crate) fn out_of_place(&self) -> ProtocolError {
        ProtocolError::OutOfPlace { name: self.name() }
    }
}

fn progress<'a>(mut parts: Parts<'a>) -> Result<ToController<'a>, ProtocolError> {
    let mut reader = Reader::new("progress", parts.bytes()?);
    let tally = reader.tally()?;
    let count = usize::try_from(reader.long()?)
        .ok()
        .filter(|count| *count <= reader.numbers_left())
        .ok_or_else(|| reader.malformed("it is too short"))?;
    let totals = (0..count)
        .map(|_| worker_totals::read(&mut reader))
        .collect::<Result<_, _>>()?;
    reader.done()?;
    let message = ToController::Progress {
        steps: parts.count(0)?,
        tally,
        totals: Cow::Owned(totals),
        is_last: parts.flag(LAST),
    };
    parts.done(message)
}
