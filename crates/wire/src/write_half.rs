//! Sending frames.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::deadline::{Deadline, now};
use crate::frame::{HEADER_BYTES, Header, Parts, Payload, PayloadError};
use crate::impairment::ImpairedLink;
use crate::member::Member;
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
    broken: bool,
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
        send_timeout: Duration,
        impaired: Option<ImpairedLink>,
    ) -> Self {
        Self {
            stream,
            counters,
            peer,
            send_timeout,
            impaired,
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
        let mut outgoing = self.begin(header, payload)?;
        let total = outgoing.total() as u64;
        while !self.advance(&mut outgoing)? {
            match self.stream.wait(Ready::Write, deadline) {
                Ok(()) => {}
                Err(WaitError::TimedOut) => return Err(self.give_up(SendError::TimedOut)),
                Err(WaitError::Io(error)) => return Err(self.give_up(SendError::Io(error))),
            }
        }
        self.counters.sent(total, now() - begun);
        Ok(())
    }

    /// Closes the connection in both directions; both halves at both ends see
    /// it. Frames that an impairment holds back are lost.
    pub fn close(&mut self) {
        self.broken = true;
        self.stream.shut_down();
    }

    /// Begins to send a frame; an impaired link takes it at once.
    pub(crate) fn begin<'a>(
        &mut self,
        header: &Header,
        payload: Payload<'a>,
    ) -> Result<Outgoing<'a>, SendError> {
        let mut outgoing = Outgoing::new(header, payload.parts()?);
        if self.broken {
            return Err(SendError::Closed);
        }
        if let Some(link) = &self.impaired {
            let queued = link.send(outgoing.copy(), Deadline::after(self.send_timeout));
            if let Err(error) = queued {
                return Err(self.give_up(error));
            }
            outgoing.sent = outgoing.total();
        }
        Ok(outgoing)
    }

    /// Sends what fits; says whether all is sent.
    pub(crate) fn advance(&mut self, outgoing: &mut Outgoing<'_>) -> Result<bool, SendError> {
        match outgoing.advance(&self.stream) {
            Ok(done) => Ok(done),
            Err(error) => Err(self.give_up(match error.kind() {
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected => SendError::Closed,
                _ => SendError::Io(error),
            })),
        }
    }

    pub(crate) fn give_up(&mut self, error: SendError) -> SendError {
        self.close();
        error
    }
}

/// A frame on its way out.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// The header and, for rows, their number and width.
    head: [u8; HEADER_BYTES + 8],
    head_bytes: usize,
    slices: [&'a [u8]; 2],
    sent: usize,
}

impl<'a> Outgoing<'a> {
    fn new(header: &Header, parts: Parts<'a>) -> Self {
        let mut head = [0; HEADER_BYTES + 8];
        head[..HEADER_BYTES].copy_from_slice(&header.encode(parts.encoding, parts.length));
        let mut head_bytes = HEADER_BYTES;
        if let Some([count, width]) = parts.prefix {
            head[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&count.to_le_bytes());
            head[HEADER_BYTES + 4..].copy_from_slice(&width.to_le_bytes());
            head_bytes += 8;
        }
        Self {
            head,
            head_bytes,
            slices: parts.slices,
            sent: 0,
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.head_bytes + self.slices[0].len() + self.slices[1].len()
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    fn copy(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.total());
        bytes.extend_from_slice(&self.head[..self.head_bytes]);
        for slice in self.slices {
            bytes.extend_from_slice(slice);
        }
        bytes
    }

    fn advance(&mut self, stream: &Stream) -> io::Result<bool> {
        while self.sent < self.total() {
            let mut skip = self.sent;
            let parts = [
                &self.head[..self.head_bytes],
                self.slices[0],
                self.slices[1],
            ]
            .map(|part| {
                let skipped = skip.min(part.len());
                skip -= skipped;
                IoSlice::new(&part[skipped..])
            });
            match stream.try_write(&parts)? {
                Some(count) => self.sent += count,
                None => return Ok(false),
            }
        }
        stream.try_flush()
    }
}
