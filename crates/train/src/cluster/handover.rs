//! Where a server begins: what the controller gives it when they meet.
//!
//! A server that starts, and one that starts again, need no file: the
//! controller holds the parameters of the last version that it looked at.

use std::time::Duration;

use paceline_kernels::AlignedBuffer;
use paceline_wire::{
    Deadline, Flags, Header, Kind, Payload, ReadHalf, ReceiveError, SendError, WriteHalf,
};

use super::evaluator::Milestones;
use super::frames::{pack, unpack};
use super::identity::TrainingIdentity;
use super::update::Span;
use crate::optimizer::OptimizerState;

/// How long one frame of a hand-over may take.
const FRAME_WITHIN: Duration = Duration::from_secs(60);

/// Everything that a server does not know from its own options.
#[derive(Clone, Debug)]
pub(crate) struct Handover {
    /// The step that the parameters are of.
    pub(crate) steps: u64,
    /// The server's part of the parameters.
    pub(crate) parameters: AlignedBuffer,
    /// What the optimizer remembers of them.
    pub(crate) moments: Vec<AlignedBuffer>,
    pub(crate) optimizer_steps: u64,
    /// When something is due: where a checkpoint goes, and thus whether there
    /// is one, only the controller knows.
    pub(crate) milestones: Milestones,
    /// A worker that has not joined after this time is lost.
    pub(crate) join_within: Duration,
}

/// Why a server did not get what it needs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandoverError {
    /// The controller's options are not this server's.
    #[error("{0}")]
    OtherTraining(String),
    /// The connection broke.
    #[error(transparent)]
    Broken(#[from] ReceiveError),
    /// What came is no hand-over.
    #[error("what the trainer sent is no state of a server")]
    Malformed,
}

/// A version of all parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub(crate) steps: u64,
    pub(crate) parameters: &'a [f32],
    pub(crate) optimizer: &'a OptimizerState,
    /// How many of the optimizer's buffers servers keep.
    pub(crate) moments: usize,
}

/// Gives a server its part of a version.
pub(crate) fn give(
    writer: &mut WriteHalf,
    span: &Span,
    version: Version<'_>,
    milestones: Milestones,
    join_within: Duration,
    identity: &TrainingIdentity,
) -> Result<(), SendError> {
    let range = span.flat();
    let moments = &version.optimizer.moments[..version.moments];
    let mut words = pack(&[
        u64::try_from(join_within.as_micros()).unwrap_or(u64::MAX),
        version.optimizer.steps,
        moments.len() as u64,
    ]);
    words.extend(pack(&milestones.numbers()));
    words.extend_from_slice(identity.text().as_bytes());
    let header = |kind| Header::new(kind).clock(version.steps);
    writer.send(&header(Kind::Welcome), Payload::Bytes(&words))?;
    let flag = |is_last: bool| if is_last { Flags::LAST } else { Flags::NONE };
    let first = header(Kind::Parameters).flags(flag(moments.is_empty()));
    writer.send(&first, Payload::Dense(&version.parameters[range.clone()]))?;
    for (number, moment) in (1..).zip(moments) {
        let header = header(Kind::Checkpoint)
            .at(0, number)
            .flags(flag(number as usize == moments.len()));
        writer.send(&header, Payload::Dense(&moment[range.clone()]))?;
    }
    Ok(())
}

/// Numbers before the identity.
const NUMBERS: usize = 3 + Milestones::NUMBERS;

/// Takes what [`give`] gives.
pub(crate) fn take(
    reader: &mut ReadHalf,
    span: &Span,
    moments: usize,
    identity: &TrainingIdentity,
) -> Result<Handover, HandoverError> {
    let frame = reader.receive(Deadline::after(FRAME_WITHIN))?;
    let steps = frame.header.clock;
    let (Kind::Welcome, Ok(Payload::Bytes(words))) = (frame.header.kind, frame.payload()) else {
        return Err(HandoverError::Malformed);
    };
    let Some((numbers, theirs)) = words.split_at_checked(8 * NUMBERS) else {
        return Err(HandoverError::Malformed);
    };
    if let Some(difference) = identity.difference(theirs) {
        // What is left unread when a connection closes may take the answer
        // with it.
        while !reader
            .receive(Deadline::after(FRAME_WITHIN))?
            .header
            .flags
            .has(Flags::LAST)
        {}
        return Err(HandoverError::OtherTraining(difference));
    }
    let numbers = unpack(numbers);
    let [join_within, optimizer_steps, count, milestones @ ..] = &numbers[..] else {
        return Err(HandoverError::Malformed);
    };
    let milestones = Milestones::from_numbers(milestones)
        .filter(|_| *count == moments as u64)
        .ok_or(HandoverError::Malformed)?;
    let mut part = |kind| -> Result<AlignedBuffer, HandoverError> {
        let mut values = AlignedBuffer::zeroed(span.flat().len());
        reader.receive_into(kind, &mut values, Deadline::after(FRAME_WITHIN))?;
        Ok(values)
    };
    Ok(Handover {
        steps,
        parameters: part(Kind::Parameters)?,
        moments: (0..moments)
            .map(|_| part(Kind::Checkpoint))
            .collect::<Result<_, _>>()?,
        optimizer_steps: *optimizer_steps,
        milestones,
        join_within: Duration::from_micros(*join_within),
    })
}
