//! Receiving frames.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use thiserror::Error;

use crate::deadline::{Deadline, now};
use crate::frame::{
    Decoded, Encoding, HEADER_BYTES, Header, HeaderError, Kind, PLACE_BYTES, Payload, PayloadError,
};
use crate::member::Member;
use crate::shared_memory::{Announcement, Inbox, Lease};
use crate::socket::Ready;
use crate::staged::Staged;
use crate::stream::{Patience, Stream, WaitError};
use crate::traffic::{Counters, Traffic};

/// The receiving half of a connection.
///
/// A frame arrives either in the half's own buffer, which grows with what
/// really arrives and is used again, or straight in the caller's slice.
#[derive(Debug)]
pub struct ReadHalf {
    pub(crate) stream: Arc<Stream>,
    pub(crate) counters: Arc<Counters>,
    peer: Member,
    frame_limit: u32,
    staged: Staged,
    current: Option<Arriving>,
    /// The header of a frame whose place in shared memory has yet to arrive.
    unplaced: Option<Decoded>,
    /// The frame that lies in `body`, or in the ring.
    last: Option<Arriving>,
    body: Vec<u32>,
    /// Where the peer lays large payloads.
    inbox: Option<Inbox>,
    /// The payload of the frame that is arriving, or of the last, if it lies
    /// there.
    lease: Option<Lease>,
    /// Whether the last attempt found nothing more to read.
    pub(crate) drained: bool,
    broken: bool,
}

/// Why no frame was received.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The peer closed the connection between two frames, or it was closed
    /// here.
    #[error("the connection is closed")]
    Closed,
    /// The connection ended within a frame: the peer died or was cut off.
    #[error("the connection ended within a frame, {missing} bytes before its end")]
    Truncated {
        /// Bytes of the header or of the payload that are missing.
        missing: usize,
    },
    /// Nothing, or not all of a frame, arrived in time. What has arrived is
    /// kept; a later call goes on.
    #[error("no frame arrived in time")]
    TimedOut,
    /// The payload is said to lie where none can.
    #[error("a payload of {length} bytes cannot lie at {place} of the shared memory")]
    Misplaced {
        /// The payload's length.
        length: u32,
        /// Where it should lie.
        place: u64,
    },
    /// The frame is longer than the limit; nothing was allocated for it.
    #[error("a frame of {length} bytes exceeds the limit of {limit}")]
    TooLong {
        /// The length the peer announced.
        length: u32,
        /// The limit.
        limit: u32,
    },
    /// The bytes are no frame.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The frame is not the one that is due.
    #[error("a frame {found:?} of {bytes} bytes came where {due:?} of {due_bytes} was due")]
    Unexpected {
        /// The kind that came.
        found: Kind,
        /// Its payload's length.
        bytes: usize,
        /// The kind that was due.
        due: Kind,
        /// The payload's length that was due.
        due_bytes: usize,
    },
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
}

/// A frame in the half's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What the frame says of itself.
    pub header: Header,
    encoding: Encoding,
    words: &'a [u32],
    length: usize,
}

impl<'a> Frame<'a> {
    /// The payload.
    ///
    /// # Errors
    ///
    /// The payload contradicts its own layout.
    pub fn payload(&self) -> Result<Payload<'a>, PayloadError> {
        Payload::view(self.encoding, self.words, self.length)
    }

    /// Bytes of the payload.
    pub fn length(&self) -> usize {
        self.length
    }
}

/// A frame that was taken out of its connection; see [`ReadHalf::hold`].
#[derive(Debug, Default)]
pub struct Held {
    decoded: Option<Decoded>,
    body: Vec<u32>,
    lease: Option<Lease>,
}

impl Held {
    /// The frame; none if nothing is held.
    pub fn frame(&self) -> Option<Frame<'_>> {
        let decoded = self.decoded?;
        Some(Frame {
            header: decoded.header,
            encoding: decoded.encoding,
            words: match &self.lease {
                Some(lease) => lease.words(),
                None => &self.body,
            },
            length: decoded.length as usize,
        })
    }

    /// Lets go of the frame; its memory is kept for the next.
    pub fn release(&mut self) {
        self.decoded = None;
        self.lease = None;
    }
}

/// A frame whose header has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) decoded: Decoded,
    /// Bytes of the payload that have arrived.
    pub(crate) filled: usize,
    /// Whether the payload lies in shared memory.
    pub(crate) is_shared: bool,
}

impl Arriving {
    pub(crate) fn length(&self) -> usize {
        self.decoded.length as usize
    }
}

impl ReadHalf {
    pub(crate) fn new(
        stream: Arc<Stream>,
        counters: Arc<Counters>,
        peer: Member,
        frame_limit: u32,
    ) -> Self {
        Self {
            stream,
            counters,
            peer,
            frame_limit,
            staged: Staged::default(),
            current: None,
            unplaced: None,
            last: None,
            body: Vec::new(),
            inbox: None,
            lease: None,
            drained: false,
            broken: false,
        }
    }

    /// Who is at the other end, as the handshake has proven.
    pub fn peer(&self) -> Member {
        self.peer
    }

    /// What the connection carried so far, both ways.
    pub fn traffic(&self) -> Traffic {
        self.counters.snapshot()
    }

    /// Takes what has arrived and returns the next frame if it is complete.
    /// Never waits: a server serves many connections from one thread by this
    /// and [`wait_any`](crate::wait_any).
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`]; after any error but `TimedOut` the connection is
    /// of no further use.
    pub fn try_receive(&mut self) -> Result<Option<Frame<'_>>, ReceiveError> {
        self.drained = !self.advance()?;
        if self.drained {
            return Ok(None);
        }
        Ok(Some(self.take_frame()))
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`]; after any error but `TimedOut` the connection is
    /// of no further use.
    pub fn receive(&mut self, deadline: Deadline) -> Result<Frame<'_>, ReceiveError> {
        let begun = now();
        self.drained = false;
        let mut patience = self.stream.patience(deadline);
        while !self.advance()? {
            self.pause(&mut patience, deadline)?;
        }
        self.counters.waited_to_receive(now() - begun);
        Ok(self.take_frame())
    }

    /// Waits for the header of the next frame, which stays the next: a worker
    /// that awaits parameters, or the end of the run, looks which it is before
    /// it has them arrive in place by [`ReadHalf::receive_into`].
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`]; after any error but `TimedOut` the connection is
    /// of no further use.
    pub fn peek(&mut self, deadline: Deadline) -> Result<Header, ReceiveError> {
        let begun = now();
        let arriving = self.wait_for_header(&mut self.stream.patience(deadline), deadline)?;
        self.counters.waited_to_receive(now() - begun);
        Ok(arriving.decoded.header)
    }

    fn wait_for_header(
        &mut self,
        patience: &mut Patience,
        deadline: Deadline,
    ) -> Result<Arriving, ReceiveError> {
        self.drained = false;
        loop {
            match self.advance_header()? {
                Some(arriving) => return Ok(arriving),
                None => self.pause(patience, deadline)?,
            }
        }
    }

    /// Waits for a dense frame of `kind` with exactly `values.len()` numbers,
    /// and has them arrive in `values` without a copy in between (but for what
    /// came along with the header).
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`]; another frame than the one due is `Unexpected`.
    /// After any error the connection is of no further use and `values` may be
    /// partly written, except that nothing is lost by a `TimedOut` before the
    /// frame has begun to arrive.
    pub fn receive_into(
        &mut self,
        kind: Kind,
        values: &mut [f32],
        deadline: Deadline,
    ) -> Result<Header, ReceiveError> {
        let begun = now();
        let mut patience = self.stream.patience(deadline);
        let arriving = self.wait_for_header(&mut patience, deadline)?;
        let bytes: &mut [u8] = cast_slice_mut(values);
        self.check_due(&arriving, kind, bytes.len())?;
        if let Some(lease) = self.lease.take() {
            bytes.copy_from_slice(cast_slice(lease.words()));
        }
        let mut filled = arriving.filled;
        while !self.fill(bytes, &mut filled)? {
            if let Err(error) = self.pause(&mut patience, deadline) {
                return Err(self.give_up(error));
            }
        }
        self.counters.waited_to_receive(now() - begun);
        self.finish_frame();
        Ok(arriving.decoded.header)
    }

    pub(crate) fn check_due(
        &mut self,
        arriving: &Arriving,
        due: Kind,
        due_bytes: usize,
    ) -> Result<(), ReceiveError> {
        let decoded = &arriving.decoded;
        if decoded.header.kind == due
            && decoded.encoding == Encoding::Dense
            && arriving.length() == due_bytes
            && (arriving.filled == 0 || arriving.is_shared)
        {
            return Ok(());
        }
        let error = ReceiveError::Unexpected {
            found: decoded.header.kind,
            bytes: arriving.length(),
            due,
            due_bytes,
        };
        Err(self.give_up(error))
    }

    fn pause(&self, patience: &mut Patience, deadline: Deadline) -> Result<(), ReceiveError> {
        if deadline.has_passed() {
            return Err(ReceiveError::TimedOut);
        }
        patience
            .pause(&[(self.stream.as_fd(), Ready::Read)])
            .map_err(|error| match error {
                WaitError::TimedOut => ReceiveError::TimedOut,
                WaitError::Io(error) => ReceiveError::Io(error),
            })
    }

    /// Reads what there is of the next frame; says whether it is complete.
    fn advance(&mut self) -> Result<bool, ReceiveError> {
        let Some(mut arriving) = self.advance_header()? else {
            return Ok(false);
        };
        if arriving.is_shared {
            return Ok(true);
        }
        let length = arriving.length();
        let mut body = std::mem::take(&mut self.body);
        let complete = loop {
            grow(&mut body, arriving.filled, length);
            let room = length.min(body.len() * 4);
            let bytes = &mut cast_slice_mut::<u32, u8>(&mut body)[..room];
            match self.fill(bytes, &mut arriving.filled) {
                Ok(true) if arriving.filled < length => {}
                other => break other,
            }
        };
        self.body = body;
        self.current = Some(arriving);
        complete
    }

    fn take_frame(&mut self) -> Frame<'_> {
        let last = self.current.expect("the frame is complete");
        self.last = Some(last);
        self.finish_frame();
        Frame {
            header: last.decoded.header,
            encoding: last.decoded.encoding,
            words: match &self.lease {
                Some(lease) => lease.words(),
                None => &self.body,
            },
            length: last.length(),
        }
    }

    /// Takes the last frame out of the half, which gets the memory of the one
    /// held before; says whether there was one. A server that needs the updates
    /// of all workers at once holds each where it arrived, and the connection
    /// goes on.
    pub fn hold(&mut self, held: &mut Held) -> bool {
        let Some(last) = self.last.take() else {
            return false;
        };
        held.decoded = Some(last.decoded);
        held.lease = self.lease.take();
        if held.lease.is_none() {
            std::mem::swap(&mut held.body, &mut self.body);
        }
        true
    }

    pub(crate) fn finish_frame(&mut self) {
        if let Some(arriving) = self.current.take() {
            self.counters
                .received((HEADER_BYTES + arriving.length()) as u64);
        }
    }

    /// The frame that is arriving, once its header is here.
    pub(crate) fn advance_header(&mut self) -> Result<Option<Arriving>, ReceiveError> {
        if self.broken {
            return Err(ReceiveError::Closed);
        }
        if let Some(arriving) = self.current {
            return Ok(Some(arriving));
        }
        loop {
            if let Some(decoded) = self.unplaced {
                if let Some(bytes) = self.staged.take::<PLACE_BYTES>() {
                    self.unplaced = None;
                    return self.begin_frame(decoded, Some(u64::from_le_bytes(bytes)));
                }
            } else if let Some(bytes) = self.staged.take::<HEADER_BYTES>() {
                if let Some(announced) = Announcement::decode(&bytes) {
                    self.open_ring(announced);
                    continue;
                }
                let decoded = match Header::decode(&bytes) {
                    Ok(decoded) => decoded,
                    Err(error) => return Err(self.give_up(error.into())),
                };
                self.forget_last();
                if !decoded.is_shared {
                    return self.begin_frame(decoded, None);
                }
                self.unplaced = Some(decoded);
                continue;
            }
            let (due, is_within) = match self.unplaced {
                Some(_) => (PLACE_BYTES, true),
                None => (HEADER_BYTES, self.staged.len() > 0),
            };
            let missing = due - self.staged.len();
            match self.staged.read_more(&self.stream) {
                Ok(None) => return Ok(None),
                Ok(Some(0)) if is_within => {
                    return Err(self.give_up(ReceiveError::Truncated { missing }));
                }
                Ok(Some(0)) => return Err(self.give_up(ReceiveError::Closed)),
                Ok(Some(_)) => {}
                Err(error) => return Err(self.give_up(lost(error, is_within, missing))),
            }
        }
    }

    fn begin_frame(
        &mut self,
        decoded: Decoded,
        place: Option<u64>,
    ) -> Result<Option<Arriving>, ReceiveError> {
        let Decoded { length, .. } = decoded;
        if length > self.frame_limit {
            return Err(self.give_up(ReceiveError::TooLong {
                length,
                limit: self.frame_limit,
            }));
        }
        if let Some(place) = place {
            let inbox = self.inbox.as_ref();
            self.lease = inbox.and_then(|inbox| inbox.take(place, length as usize));
            if self.lease.is_none() {
                return Err(self.give_up(ReceiveError::Misplaced { length, place }));
            }
        }
        let is_shared = place.is_some();
        let arriving = Arriving {
            decoded,
            filled: if is_shared { length as usize } else { 0 },
            is_shared,
        };
        self.current = Some(arriving);
        Ok(Some(arriving))
    }

    /// The peer says where it will lay payloads. If that is not to be found
    /// from here, it goes on sending them.
    fn open_ring(&mut self, announced: Announcement) {
        self.forget_last();
        if self.stream.is_local() {
            self.inbox = Inbox::open(announced).ok();
        }
    }

    /// The last frame is not needed any more.
    fn forget_last(&mut self) {
        self.last = None;
        self.lease = None;
    }

    /// Fills `bytes` from `filled` on with what there is of the payload; says
    /// whether it is full.
    pub(crate) fn fill(
        &mut self,
        bytes: &mut [u8],
        filled: &mut usize,
    ) -> Result<bool, ReceiveError> {
        while *filled < bytes.len() {
            let rest = &mut bytes[*filled..];
            let staged = self.staged.take_into(rest);
            if staged > 0 {
                *filled += staged;
                continue;
            }
            match self.stream.try_read(rest) {
                Ok(None) => return Ok(false),
                Ok(Some(0)) => {
                    let missing = bytes.len() - *filled;
                    return Err(self.give_up(ReceiveError::Truncated { missing }));
                }
                Ok(Some(count)) => *filled += count,
                Err(error) => {
                    let missing = bytes.len() - *filled;
                    return Err(self.give_up(lost(error, true, missing)));
                }
            }
        }
        Ok(true)
    }

    /// Ends the connection: after a broken frame nothing on it can be trusted.
    pub(crate) fn give_up(&mut self, error: ReceiveError) -> ReceiveError {
        self.broken = true;
        self.current = None;
        self.stream.shut_down();
        error
    }
}

/// A connection that the peer's death cut is closed or truncated, whichever
/// way the system words it.
fn lost(error: io::Error, within_frame: bool, missing: usize) -> ReceiveError {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if within_frame => {
            ReceiveError::Truncated { missing }
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ReceiveError::Closed,
        _ => ReceiveError::Io(error),
    }
}

/// How much is allocated before any of a payload has arrived.
const FIRST_GROWTH: usize = 1 << 20;

/// Makes room for a payload of `length` bytes of which `filled` are here: never
/// more than twice what has arrived, so that an announced length alone costs
/// nothing.
fn grow(body: &mut Vec<u32>, filled: usize, length: usize) {
    let words = length.div_ceil(4);
    if body.len() >= words || filled < body.len() * 4 {
        return;
    }
    let target = words.min((2 * body.len()).max(FIRST_GROWTH / 4));
    if body.is_empty() {
        // Fresh from the system, where zeros cost nothing.
        *body = vec![0; target];
    } else {
        body.resize(target, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announced_length_alone_allocates_little() {
        let length = 1 << 30;
        let mut body = Vec::new();
        grow(&mut body, 0, length);
        assert_eq!(body.len() * 4, FIRST_GROWTH);
        // Nothing more before what there is room for has arrived.
        grow(&mut body, FIRST_GROWTH - 1, length);
        assert_eq!(body.len() * 4, FIRST_GROWTH);
        grow(&mut body, FIRST_GROWTH, length);
        assert_eq!(body.len() * 4, 2 * FIRST_GROWTH);
    }

    #[test]
    fn a_payload_gets_no_more_room_than_it_needs() {
        let mut body = Vec::new();
        grow(&mut body, 0, 5);
        assert_eq!(body.len(), 2);
        grow(&mut body, 0, 0);
        assert_eq!(body.len(), 2);
        grow(&mut body, 8, 9);
        assert_eq!(body.len(), 3);
    }
}
