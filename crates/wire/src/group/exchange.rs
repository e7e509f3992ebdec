//! Sending to one peer while receiving from another, on one thread.
//!
//! Both directions progress as they can, so that two members that send each
//! other more than their sockets hold do not block.

use std::io::IoSlice;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytemuck::{cast_slice, cast_slice_mut};

use super::{Group, ReduceError, add};
use crate::deadline::{Deadline, now};
use crate::frame::{Encoding, HEADER_BYTES, Header, Kind, PayloadError};
use crate::read_half::{ReadHalf, ReceiveError};
use crate::socket::Ready;
use crate::stream::{Patience, WaitError};
use crate::write_half::{SendError, WriteHalf};

/// One step of an operation: what goes where, and what comes from where.
#[derive(Debug)]
pub(super) struct Step<'a> {
    /// Which step of the operation this is; the receiving peer checks it.
    pub(super) number: u64,
    /// To whom this member sends, and what.
    pub(super) to: Option<(usize, &'a [f32])>,
    /// From whom it receives, and where to.
    pub(super) from: Option<(usize, &'a mut [f32], Arrival)>,
}

/// What becomes of the numbers that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// They replace what is there.
    Replace,
    /// They are added to what is there.
    Add,
}

/// Numbers travel in pieces of this many: a piece that arrived is added, and
/// passed on, while it is in the core's cache and the peer sends the next.
pub(super) const PIECE: usize = 16 * 1024;

/// How far a direction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// A piece passed; there may be more at once.
    Moved,
    /// Nothing passes until the socket is ready.
    Blocked,
    /// What is to be passed on has not arrived yet.
    Starved,
    /// The frame has passed.
    Done,
}

impl Group {
    /// Takes one step, to its end.
    pub(super) fn take(&mut self, step: Step<'_>) -> Result<(), ReduceError> {
        let mut sending = match step.to {
            Some((to, values)) => {
                Some((self.begin_sending(to, step.number, values.len())?, values))
            }
            None => None,
        };
        let mut receiving = step.from.map(|(from, values, arrival)| {
            let receiving = self.begin_receiving(from, step.number, values.len());
            (receiving, values, arrival)
        });
        let mut waiting = None;
        loop {
            let mut out = Flow::Done;
            if let Some((sending, values)) = &mut sending {
                out = sending.advance(self.writer(sending.to), values, values.len())?;
            }
            let mut into = Flow::Done;
            if let Some((receiving, values, arrival)) = &mut receiving {
                into = self.advance_receiving(receiving, values, *arrival)?;
            }
            if (out, into) == (Flow::Done, Flow::Done) {
                return Ok(());
            }
            let to = sending.as_ref().map(|(sending, _)| sending.to);
            let from = receiving.as_ref().map(|(receiving, ..)| receiving.from);
            self.pause(&mut waiting, (to, out), (from, into))?;
        }
    }

    pub(super) fn begin_sending(
        &self,
        to: usize,
        number: u64,
        length: usize,
    ) -> Result<Sending, ReduceError> {
        let bytes = length.saturating_mul(size_of::<f32>());
        let frame_length = u32::try_from(bytes).map_err(|_| ReduceError::Unsent {
            rank: to,
            source: PayloadError::TooLong(bytes).into(),
        })?;
        Ok(Sending {
            to,
            head: self.header(number).encode(Encoding::Dense, frame_length),
            total: HEADER_BYTES + bytes,
            sent: 0,
            begun: now(),
        })
    }

    pub(super) fn begin_receiving(&self, from: usize, number: u64, length: usize) -> Receiving {
        Receiving {
            from,
            due: self.header(number),
            length,
            expected: false,
            done: 0,
            filled: 0,
            begun: now(),
            complete: false,
        }
    }

    fn header(&self, number: u64) -> Header {
        Header::new(Kind::REDUCE).with_fields([self.operation, number, self.rank as u64])
    }

    pub(super) fn writer(&mut self, to: usize) -> &mut WriteHalf {
        self.writers[to]
            .as_mut()
            .expect("a step goes to another member")
    }

    pub(super) fn advance_receiving(
        &mut self,
        receiving: &mut Receiving,
        values: &mut [f32],
        arrival: Arrival,
    ) -> Result<Flow, ReduceError> {
        self.piece.resize(PIECE, 0.0);
        let reader = self.readers[receiving.from]
            .as_mut()
            .expect("a step comes from another member");
        receiving.advance(reader, values, arrival, &mut self.piece)
    }

    /// Waits until a direction may move again. Patience begins anew whenever
    /// one has moved: it is for a peer that does nothing, not for a slow one.
    pub(super) fn pause(
        &self,
        waiting: &mut Option<Patience>,
        (to, out): (Option<usize>, Flow),
        (from, into): (Option<usize>, Flow),
    ) -> Result<(), ReduceError> {
        if out == Flow::Moved || into == Flow::Moved {
            *waiting = None;
            return Ok(());
        }
        let writer = to
            .filter(|_| out == Flow::Blocked)
            .and_then(|to| self.writers[to].as_ref());
        let reader = from
            .filter(|_| into == Flow::Blocked)
            .and_then(|from| self.readers[from].as_ref());
        let waiting = waiting.get_or_insert_with(|| {
            let spin = reader.map_or(Duration::ZERO, |reader| reader.stream.spin());
            Patience::new(spin, Deadline::after(self.patience))
        });
        let paused = match (writer, reader) {
            (Some(writer), Some(reader)) => waiting.pause(&[
                (reader.stream.as_fd(), Ready::Read),
                (writer.stream.as_fd(), Ready::Write),
            ]),
            (Some(writer), None) => waiting.pause(&[(writer.stream.as_fd(), Ready::Write)]),
            (None, Some(reader)) => waiting.pause(&[(reader.stream.as_fd(), Ready::Read)]),
            (None, None) => Ok(()),
        };
        let Err(error) = paused else {
            return Ok(());
        };
        // Who is awaited comes first: the other may only wait for the same.
        Err(match (from.filter(|_| reader.is_some()), to) {
            (Some(rank), _) => ReduceError::Lost {
                rank,
                source: match error {
                    WaitError::TimedOut => ReceiveError::TimedOut,
                    WaitError::Io(error) => ReceiveError::Io(error),
                },
            },
            (None, rank) => ReduceError::Unsent {
                rank: rank.unwrap_or(self.rank),
                source: match error {
                    WaitError::TimedOut => SendError::TimedOut,
                    WaitError::Io(error) => SendError::Io(error),
                },
            },
        })
    }
}

/// A frame on its way to a peer, whose numbers may still be arriving here.
#[derive(Debug)]
pub(super) struct Sending {
    to: usize,
    head: [u8; HEADER_BYTES],
    /// Bytes of header and numbers.
    total: usize,
    sent: usize,
    begun: Instant,
}

impl Sending {
    /// Sends what fits of the first `available` numbers of `values`.
    pub(super) fn advance(
        &mut self,
        writer: &mut WriteHalf,
        values: &[f32],
        available: usize,
    ) -> Result<Flow, ReduceError> {
        let unsent = |source| ReduceError::Unsent {
            rank: self.to,
            source,
        };
        if self.sent == self.total {
            return match writer.flush().map_err(unsent)? {
                true => Ok(Flow::Done),
                false => Ok(Flow::Blocked),
            };
        }
        let ready = HEADER_BYTES + size_of_val(&values[..available]);
        // Not in driblets: a whole piece, or the rest.
        let least = (self.sent + PIECE * size_of::<f32>()).min(self.total);
        if ready < least {
            return Ok(Flow::Starved);
        }
        let numbers: &[u8] = cast_slice(&values[..available]);
        let head = &self.head[self.sent.min(HEADER_BYTES)..];
        let body = &numbers[self.sent.saturating_sub(HEADER_BYTES)..];
        let parts = [IoSlice::new(head), IoSlice::new(body)];
        match writer.write_part(&parts).map_err(unsent)? {
            None => Ok(Flow::Blocked),
            Some(count) => {
                self.sent += count;
                if self.sent == self.total {
                    writer.counters.sent(self.total as u64, now() - self.begun);
                }
                Ok(Flow::Moved)
            }
        }
    }
}

/// A frame on its way here.
#[derive(Debug)]
pub(super) struct Receiving {
    from: usize,
    due: Header,
    /// Numbers in the frame.
    length: usize,
    /// Whether the header has come and is the one that is due.
    expected: bool,
    /// Numbers that are where they belong.
    done: usize,
    /// Bytes beyond them that have arrived.
    filled: usize,
    begun: Instant,
    complete: bool,
}

impl Receiving {
    /// How many numbers are where they belong.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Receives one piece, or what there is of it.
    fn advance(
        &mut self,
        reader: &mut ReadHalf,
        values: &mut [f32],
        arrival: Arrival,
        piece: &mut [f32],
    ) -> Result<Flow, ReduceError> {
        if self.complete {
            return Ok(Flow::Done);
        }
        if !self.expected {
            self.expected = self.check_header(reader)?;
            if !self.expected {
                return Ok(Flow::Blocked);
            }
        }
        let rest = &mut values[self.done..];
        let count = rest.len().min(PIECE);
        let target = match arrival {
            Arrival::Replace => &mut rest[..count],
            Arrival::Add => &mut piece[..count],
        };
        let full = reader
            .fill(cast_slice_mut(target), &mut self.filled)
            .map_err(|source| ReduceError::Lost {
                rank: self.from,
                source,
            })?;
        if !full {
            return Ok(Flow::Blocked);
        }
        if arrival == Arrival::Add {
            add(&mut rest[..count], &piece[..count]);
        }
        self.done += count;
        self.filled = 0;
        if self.done < self.length {
            return Ok(Flow::Moved);
        }
        self.complete = true;
        reader.finish_frame();
        reader.counters.waited_to_receive(now() - self.begun);
        Ok(Flow::Done)
    }

    /// Whether the header has come; an error if it is not the one that is due.
    fn check_header(&self, reader: &mut ReadHalf) -> Result<bool, ReduceError> {
        let rank = self.from;
        let lost = |source| ReduceError::Lost { rank, source };
        let Some(arriving) = reader.advance_header().map_err(lost)? else {
            return Ok(false);
        };
        let header = arriving.decoded.header;
        if header.kind == Kind::REDUCE && header.fields[..2] != self.due.fields[..2] {
            return Err(ReduceError::OutOfStep {
                rank,
                theirs: header.fields[0],
                ours: self.due.fields[0],
            });
        }
        reader
            .check_due(&arriving, Kind::REDUCE, self.length * size_of::<f32>())
            .map_err(lost)?;
        Ok(true)
    }
}
