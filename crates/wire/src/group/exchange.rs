//! Sending to one peer while receiving from another, on one thread.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bytemuck::cast_slice_mut;

use super::{Group, ReduceError, add};
use crate::deadline::{Deadline, now};
use crate::frame::{Header, Kind, Payload};
use crate::read_half::{ReadHalf, ReceiveError};
use crate::socket::Ready;
use crate::stream::{Patience, WaitError};
use crate::write_half::{Outgoing, SendError, WriteHalf};

/// One step of an operation: what goes where, and what comes from where.
#[derive(Debug)]
pub(super) struct Step<'a> {
    /// Which step of the operation this is; the receiving peer checks it.
    pub(super) number: u64,
    /// To whom this member sends, and what.
    pub(super) to: Option<(usize, &'a [f32])>,
    /// From whom it receives, and what becomes of that.
    pub(super) from: Option<(usize, Arrival<'a>)>,
}

/// What becomes of the numbers that arrive.
#[derive(Debug)]
pub(super) enum Arrival<'a> {
    /// They replace these.
    Replace(&'a mut [f32]),
    /// They are added to these.
    Add(&'a mut [f32]),
}

/// Numbers that arrive are added in pieces of this many: they are still in the
/// core's cache, and the peer goes on sending meanwhile.
const PIECE: usize = 16 * 1024;

impl Group {
    /// Takes a step. Both directions progress as they can, so that two members
    /// that send each other more than their sockets hold do not block.
    pub(super) fn take(&mut self, step: Step<'_>) -> Result<(), ReduceError> {
        let header = Header::new(Kind::Reduce)
            .clock(self.operation)
            .sender(u32::try_from(self.rank).unwrap_or(u32::MAX))
            .at(0, step.number);
        let mut sending = None;
        if let Some((to, values)) = step.to {
            let writer = self.writers[to]
                .as_mut()
                .expect("a step goes to another member");
            sending = Some(Sending::begin(to, writer, &header, values)?);
        }
        let mut receiving = step.from.map(|(from, arrival)| {
            let reader = self.readers[from]
                .as_mut()
                .expect("a step comes from another member");
            Receiving::begin(from, reader, header, arrival)
        });
        self.piece.resize(PIECE, 0.0);
        drive(&mut sending, &mut receiving, &mut self.piece, self.patience)
    }
}

fn drive(
    sending: &mut Option<Sending<'_>>,
    receiving: &mut Option<Receiving<'_>>,
    piece: &mut [f32],
    patience: Duration,
) -> Result<(), ReduceError> {
    let spin = receiving
        .as_ref()
        .map_or(Duration::ZERO, |receiving| receiving.reader.stream.spin());
    let begin_to_wait = || Patience::new(spin, Deadline::after(patience));
    let mut waiting = begin_to_wait();
    let mut passed_before = 0;
    loop {
        let mut passed = 0;
        if let Some(sending) = sending.as_mut() {
            sending.advance()?;
            passed += sending.outgoing.sent();
        }
        if let Some(receiving) = receiving.as_mut() {
            receiving.advance(piece)?;
            passed += receiving.arrived;
        }
        let unsent = sending.as_ref().filter(|sending| !sending.complete);
        let awaited = receiving.as_ref().filter(|receiving| !receiving.complete);
        if passed > passed_before {
            // Patience is for a peer that does nothing, not for a slow one.
            waiting = begin_to_wait();
            passed_before = passed;
        }
        let paused = match (unsent, awaited) {
            (None, None) => return Ok(()),
            (Some(sending), None) => waiting.pause(&[sending.wait()]),
            (None, Some(receiving)) => waiting.pause(&[receiving.wait()]),
            (Some(sending), Some(receiving)) => waiting.pause(&[receiving.wait(), sending.wait()]),
        };
        match (paused, awaited, unsent) {
            (Ok(()), _, _) => {}
            (Err(error), Some(receiving), _) => {
                return Err(ReduceError::Lost {
                    rank: receiving.from,
                    source: match error {
                        WaitError::TimedOut => ReceiveError::TimedOut,
                        WaitError::Io(error) => ReceiveError::Io(error),
                    },
                });
            }
            (Err(error), None, sending) => {
                return Err(ReduceError::Unsent {
                    rank: sending.map_or(0, |sending| sending.to),
                    source: match error {
                        WaitError::TimedOut => SendError::TimedOut,
                        WaitError::Io(error) => SendError::Io(error),
                    },
                });
            }
        }
    }
}

/// This member's part on its way to a peer.
#[derive(Debug)]
struct Sending<'a> {
    to: usize,
    writer: &'a mut WriteHalf,
    outgoing: Outgoing<'a>,
    begun: Instant,
    complete: bool,
}

impl<'a> Sending<'a> {
    fn begin(
        to: usize,
        writer: &'a mut WriteHalf,
        header: &Header,
        values: &'a [f32],
    ) -> Result<Self, ReduceError> {
        let outgoing = writer
            .begin(header, Payload::Dense(values))
            .map_err(|source| ReduceError::Unsent { rank: to, source })?;
        Ok(Self {
            to,
            writer,
            outgoing,
            begun: now(),
            complete: false,
        })
    }

    fn advance(&mut self) -> Result<(), ReduceError> {
        if self.complete {
            return Ok(());
        }
        let rank = self.to;
        self.complete = self
            .writer
            .advance(&mut self.outgoing)
            .map_err(|source| ReduceError::Unsent { rank, source })?;
        if self.complete {
            let total = self.outgoing.total() as u64;
            self.writer.counters.sent(total, now() - self.begun);
        }
        Ok(())
    }

    fn wait(&self) -> (BorrowedFd<'_>, Ready) {
        (self.writer.stream.as_fd(), Ready::Write)
    }
}

/// A peer's part on its way here.
#[derive(Debug)]
struct Receiving<'a> {
    from: usize,
    reader: &'a mut ReadHalf,
    due: Header,
    arrival: Arrival<'a>,
    /// Whether the frame's header has come and is the one that is due.
    expected: bool,
    /// Numbers that are where they belong.
    done: usize,
    /// Bytes beyond them that have arrived.
    filled: usize,
    /// All bytes that have arrived, to tell a slow peer from a silent one.
    arrived: usize,
    begun: Instant,
    complete: bool,
}

impl<'a> Receiving<'a> {
    fn begin(from: usize, reader: &'a mut ReadHalf, due: Header, arrival: Arrival<'a>) -> Self {
        Self {
            from,
            reader,
            due,
            arrival,
            expected: false,
            done: 0,
            filled: 0,
            arrived: 0,
            begun: now(),
            complete: false,
        }
    }

    fn advance(&mut self, piece: &mut [f32]) -> Result<(), ReduceError> {
        if self.complete {
            return Ok(());
        }
        let rank = self.from;
        let lost = |source| ReduceError::Lost { rank, source };
        if !self.expected {
            self.expected = self.check_header()?;
            if !self.expected {
                return Ok(());
            }
            self.arrived += 1;
        }
        self.complete = match &mut self.arrival {
            Arrival::Replace(values) => {
                let bytes: &mut [u8] = cast_slice_mut(values);
                let full = self.reader.fill(bytes, &mut self.filled).map_err(lost)?;
                self.arrived = 1 + self.filled;
                full
            }
            Arrival::Add(values) => loop {
                let rest = &mut values[self.done..];
                if rest.is_empty() {
                    break true;
                }
                let count = rest.len().min(piece.len());
                let before = self.filled;
                let bytes: &mut [u8] = cast_slice_mut(&mut piece[..count]);
                let full = self.reader.fill(bytes, &mut self.filled).map_err(lost)?;
                self.arrived += self.filled - before;
                if !full {
                    break false;
                }
                add(&mut rest[..count], &piece[..count]);
                self.done += count;
                self.filled = 0;
            },
        };
        if self.complete {
            self.reader.finish_frame();
            self.reader.counters.waited_to_receive(now() - self.begun);
        }
        Ok(())
    }

    /// Whether the header has come; an error if it is not the one that is due.
    fn check_header(&mut self) -> Result<bool, ReduceError> {
        let rank = self.from;
        let lost = |source| ReduceError::Lost { rank, source };
        let Some(arriving) = self.reader.advance_header().map_err(lost)? else {
            return Ok(false);
        };
        let (Arrival::Replace(values) | Arrival::Add(values)) = &self.arrival;
        let due_bytes = size_of_val(&**values);
        let header = arriving.decoded.header;
        if header.kind == Kind::Reduce
            && (header.clock, header.start) != (self.due.clock, self.due.start)
        {
            return Err(ReduceError::OutOfStep {
                rank,
                theirs: header.clock,
                ours: self.due.clock,
            });
        }
        self.reader
            .check_due(&arriving, Kind::Reduce, due_bytes)
            .map_err(lost)?;
        Ok(true)
    }

    fn wait(&self) -> (BorrowedFd<'_>, Ready) {
        (self.reader.stream.as_fd(), Ready::Read)
    }
}
