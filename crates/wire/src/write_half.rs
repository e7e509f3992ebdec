//! Sending frames.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use bytemuck::cast_slice;
use thiserror::Error;

use crate::deadline::{Deadline, now};
use crate::frame::{Header, Parts, Payload, PayloadError};
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
        let Parts {
            encoding,
            length,
            prefix,
            slices,
        } = payload.parts()?;
        let head = header.encode(encoding, length);
        let prefix: &[u8] = prefix.as_ref().map_or(&[], |numbers| cast_slice(numbers));
        let parts: [&[u8]; 4] = [&head, prefix, slices[0], slices[1]];
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        loop {
            let mut skip = sent;
            let rest = parts.map(|part| {
                let skipped = skip.min(part.len());
                skip -= skipped;
                IoSlice::new(&part[skipped..])
            });
            let blocked = if sent < total {
                match self.write_part(&rest)? {
                    Some(count) => {
                        sent += count;
                        continue;
                    }
                    None => true,
                }
            } else {
                !self.flush()?
            };
            if !blocked {
                break;
            }
            match self.stream.wait(Ready::Write, deadline) {
                Ok(()) => {}
                Err(WaitError::TimedOut) => return Err(self.give_up(SendError::TimedOut)),
                Err(WaitError::Io(error)) => return Err(self.give_up(SendError::Io(error))),
            }
        }
        self.counters.sent(total as u64, now() - begun);
        Ok(())
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
            let copy: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
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
