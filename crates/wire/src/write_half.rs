//! Sending frames.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::deadline::{Deadline, now};
use crate::frame::{HEADER_BYTES, Header, PLACE_BYTES, Parts, Payload, PayloadError};
use crate::impairment::ImpairedLink;
use crate::member::Member;
use crate::settings::Settings;
use crate::shared_memory::{Outbox, SHARED_FROM};
use crate::socket::Ready;
use crate::stream::{Stream, WaitError};
use crate::traffic::{Counters, Traffic};

/// The sending half of a connection.
#[derive(Debug)]
pub struct WriteHalf {
    pub(crate) stream: Arc<Stream>,
    pub(crate) counters: Arc<Counters>,
    peer: Member,
    send_timeout: Duration,
    impaired: Option<ImpairedLink>,
    lane: Lane,
    /// What was posted and did not fit.
    backlog: VecDeque<u8>,
    backlog_limit: usize,
    behind: bool,
    broken: bool,
}

/// How large payloads reach the peer.
#[derive(Debug)]
enum Lane {
    /// Through the socket, as everything.
    Socket,
    /// Through memory that both ends see, once there is a large one.
    Memory(Option<Outbox>),
}

/// Why a frame was not sent.
#[derive(Debug, Error)]
pub enum SendError {
    /// The connection is closed, here or by the peer.
    #[error("the connection is closed")]
    Closed,
    /// The peer did not read for the send time-out.
    #[error("the peer did not take the frame in time")]
    TimedOut,
    /// The peer is further behind than the settings allow.
    #[error("the peer is more than {limit} bytes behind")]
    Backlog {
        /// How far it may be behind.
        limit: usize,
    },
    /// The payload contradicts itself; nothing was sent.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
}

impl WriteHalf {
    pub(crate) fn new(
        stream: Arc<Stream>,
        counters: Arc<Counters>,
        peer: Member,
        settings: &Settings,
        impaired: Option<ImpairedLink>,
    ) -> Self {
        let shares = settings.shared_memory && impaired.is_none() && stream.is_local();
        Self {
            lane: if shares {
                Lane::Memory(None)
            } else {
                Lane::Socket
            },
            stream,
            counters,
            peer,
            send_timeout: settings.send_timeout,
            impaired,
            backlog: VecDeque::new(),
            backlog_limit: settings.backlog_limit,
            behind: false,
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

    /// Sends a frame. The payload goes from the caller's slices to the system
    /// without a copy in between; the slices are free again on return.
    ///
    /// Two ends that send more than the system buffers, and neither receives
    /// meanwhile, wait for each other until the send time-out: receive on
    /// another thread, or by turns.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. After any but `Payload` the peer may have got part
    /// of the frame, and the connection is closed.
    pub fn send(&mut self, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let begun = now();
        let deadline = Deadline::after(self.send_timeout);
        let parts = payload.parts()?;
        while !self.drain()? {
            self.wait(deadline)?;
        }
        let outgoing = self.lay_out(header, parts);
        let pieces = outgoing.pieces();
        let total = length(&pieces);
        let mut sent = 0;
        while sent < total {
            match self.write_part(&after(&pieces, sent))? {
                Some(count) => sent += count,
                None => self.wait(deadline)?,
            }
        }
        while !self.flush()? {
            self.wait(deadline)?;
        }
        self.counters.sent(outgoing.size(), now() - begun);
        Ok(())
    }

    /// Sends what the system takes of a frame and keeps a copy of the rest;
    /// never waits. A server that serves many on one thread is not held up by
    /// one that does not read. Says whether nothing is left; if something is,
    /// call [`WriteHalf::drain`] when [`wait_any`](crate::wait_any) finds room.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; `Backlog` if more would be left than the settings
    /// allow. After any but `Payload` the connection is closed.
    pub fn post(&mut self, header: &Header, payload: Payload<'_>) -> Result<bool, SendError> {
        let begun = now();
        let parts = payload.parts()?;
        let mut room = self.drain()?;
        let outgoing = self.lay_out(header, parts);
        let pieces = outgoing.pieces();
        let total = length(&pieces);
        let mut sent = 0;
        while room && sent < total {
            match self.write_part(&after(&pieces, sent))? {
                Some(count) => sent += count,
                None => room = false,
            }
        }
        if self.backlog.len() + (total - sent) > self.backlog_limit {
            return Err(self.give_up(SendError::Backlog {
                limit: self.backlog_limit,
            }));
        }
        for piece in after(&pieces, sent) {
            self.backlog.extend(piece.iter());
        }
        self.counters.sent(outgoing.size(), now() - begun);
        self.drain()
    }

    /// Decides how the payload travels; lays it where the peer finds it if it
    /// may.
    fn lay_out<'a>(&mut self, header: &Header, parts: Parts<'a>) -> Outgoing<'a> {
        let mut outgoing = Outgoing {
            announcement: None,
            head: header.encode(parts.encoding, parts.length),
            place: None,
            parts,
        };
        let size = parts.length as usize;
        let Lane::Memory(outbox) = &mut self.lane else {
            return outgoing;
        };
        if size < SHARED_FROM {
            return outgoing;
        }
        match outbox {
            Some(outbox) if outbox.suits(size) => {
                if let Some(place) = outbox.lay(&parts.body()) {
                    outgoing.head = header.encode_shared(parts.encoding, parts.length);
                    outgoing.place = Some(place.to_le_bytes());
                }
            }
            // The peer looks for it when it reads the announcement, so this
            // payload goes through the socket.
            _ => match Outbox::new(size) {
                Ok(fresh) => {
                    outgoing.announcement = Some(fresh.announcement().encode());
                    *outbox = Some(fresh);
                }
                Err(_) => self.lane = Lane::Socket,
            },
        }
        outgoing
    }

    /// Sends what fits of the frames that were posted; says whether nothing is
    /// left.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; the connection is then closed.
    pub fn drain(&mut self) -> Result<bool, SendError> {
        let mut backlog = std::mem::take(&mut self.backlog);
        while !backlog.is_empty() {
            let (front, back) = backlog.as_slices();
            match self.write_part(&[IoSlice::new(front), IoSlice::new(back)])? {
                Some(count) => drop(backlog.drain(..count)),
                None => break,
            }
        }
        self.backlog = backlog;
        self.behind = !self.backlog.is_empty() || !self.flush()?;
        Ok(!self.behind)
    }

    /// Whether [`WriteHalf::drain`] has more to do, TLS's own buffer included.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Bytes that were posted and have not been sent.
    pub fn backlog(&self) -> usize {
        self.backlog.len()
    }

    fn wait(&mut self, deadline: Deadline) -> Result<(), SendError> {
        match self.stream.wait(Ready::Write, deadline) {
            Ok(()) => Ok(()),
            Err(WaitError::TimedOut) => Err(self.give_up(SendError::TimedOut)),
            Err(WaitError::Io(error)) => Err(self.give_up(SendError::Io(error))),
        }
    }

    /// Closes the connection in both directions; both halves at both ends see
    /// it. Frames that an impairment holds back are lost.
    pub fn close(&mut self) {
        self.broken = true;
        self.stream.shut_down();
    }

    /// Sends what fits of `parts`; `None` if nothing does. An impaired link
    /// takes all of it at once.
    pub(crate) fn write_part(&mut self, parts: &[IoSlice<'_>]) -> Result<Option<usize>, SendError> {
        if self.broken {
            return Err(SendError::Closed);
        }
        if let Some(link) = &self.impaired {
            let mut copy = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
            for part in parts {
                copy.extend_from_slice(part);
            }
            let count = copy.len();
            return match link.send(copy, Deadline::after(self.send_timeout)) {
                Ok(()) => Ok(Some(count)),
                Err(error) => Err(self.give_up(error)),
            };
        }
        self.stream
            .try_write(parts)
            .map_err(|error| self.give_up(worded(error)))
    }

    /// Passes on what TLS holds back; says whether nothing is left.
    pub(crate) fn flush(&mut self) -> Result<bool, SendError> {
        self.stream
            .try_flush()
            .map_err(|error| self.give_up(worded(error)))
    }

    pub(crate) fn give_up(&mut self, error: SendError) -> SendError {
        self.close();
        error
    }
}

/// A frame on its way, after the announcement of a ring if there is a new one.
struct Outgoing<'a> {
    announcement: Option<[u8; HEADER_BYTES]>,
    head: [u8; HEADER_BYTES],
    /// Where the payload lies already.
    place: Option<[u8; PLACE_BYTES]>,
    parts: Parts<'a>,
}

impl Outgoing<'_> {
    /// What goes through the socket, in its order.
    fn pieces(&self) -> [&[u8]; PIECES] {
        let announcement = self.announcement.as_ref().map_or(&[][..], |head| &head[..]);
        match &self.place {
            Some(place) => [announcement, &self.head, place, &[], &[]],
            None => {
                let [prefix, first, second] = self.parts.body();
                [announcement, &self.head, prefix, first, second]
            }
        }
    }

    /// Bytes of the frame, wherever they lie.
    fn size(&self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.parts.length)
    }
}

/// Pieces of a frame: a vectored write takes them at once.
const PIECES: usize = 5;

fn length(pieces: &[&[u8]; PIECES]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// What is left of the pieces after their first `sent` bytes.
fn after<'a>(pieces: &[&'a [u8]; PIECES], mut sent: usize) -> [IoSlice<'a>; PIECES] {
    pieces.map(|piece| {
        let skipped = sent.min(piece.len());
        sent -= skipped;
        IoSlice::new(&piece[skipped..])
    })
}

/// A connection that the peer closed is closed, whichever way the system words
/// it.
fn worded(error: io::Error) -> SendError {
    match error.kind() {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected => SendError::Closed,
        _ => SendError::Io(error),
    }
}
