//! A connection to a proven peer.

use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::deadline::Deadline;
use crate::frame::{Header, Kind, Payload};
use crate::impairment::ImpairedLink;
use crate::member::Member;
use crate::read_half::{Frame, ReadHalf, ReceiveError};
use crate::settings::Settings;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::traffic::{Counters, Traffic};
use crate::write_half::{SendError, WriteHalf};

/// A connection to a peer that has proven who it is.
///
/// Its halves can be used from two threads. Dropping both closes it.
#[derive(Debug)]
pub struct Connection {
    reader: ReadHalf,
    writer: WriteHalf,
}

impl Connection {
    pub(crate) fn new(stream: Arc<Stream>, peer: Member, settings: &Settings) -> io::Result<Self> {
        let counters = Arc::new(Counters::default());
        let impaired = if settings.impairment.is_none() {
            None
        } else {
            Some(ImpairedLink::start(
                Arc::clone(&stream),
                settings.impairment,
                settings.send_timeout,
            )?)
        };
        Ok(Self {
            reader: ReadHalf::new(
                Arc::clone(&stream),
                Arc::clone(&counters),
                peer,
                settings.frame_limit,
            ),
            writer: WriteHalf::new(stream, counters, peer, settings, impaired),
        })
    }

    /// Two ends within one process, without a handshake: `(a, b)`, where `a`
    /// is the end of member `first`, whose peer is `second`.
    ///
    /// # Errors
    ///
    /// The system gives no socket pair.
    pub fn pair(first: Member, second: Member, settings: &Settings) -> io::Result<(Self, Self)> {
        let (a, b) = UnixStream::pair()?;
        let end = |stream: UnixStream, peer| {
            let socket = Socket::unix(stream)?;
            if let Some(bytes) = settings.send_buffer {
                socket.set_send_buffer(bytes)?;
            }
            Self::new(
                Arc::new(Stream::plain(socket, settings.spin)),
                peer,
                settings,
            )
        };
        Ok((end(a, second)?, end(b, first)?))
    }

    /// Who is at the other end, as the handshake has proven.
    pub fn peer(&self) -> Member {
        self.reader.peer()
    }

    /// This end's address in the network that leads to the peer: where the
    /// peer, and who shares its network, can reach this host. `None` for a
    /// Unix socket.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.reader.stream.local_ip()
    }

    /// What the connection carried so far.
    pub fn traffic(&self) -> Traffic {
        self.reader.traffic()
    }

    /// The two halves, for two threads.
    pub fn split(self) -> (ReadHalf, WriteHalf) {
        (self.reader, self.writer)
    }

    /// Sends a frame; see [`WriteHalf::send`].
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub fn send(&mut self, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        self.writer.send(header, payload)
    }

    /// Waits for a frame; see [`ReadHalf::receive`].
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`].
    pub fn receive(&mut self, deadline: Deadline) -> Result<Frame<'_>, ReceiveError> {
        self.reader.receive(deadline)
    }

    /// Waits for the header of the next frame; see [`ReadHalf::peek`].
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`].
    pub fn peek(&mut self, deadline: Deadline) -> Result<Header, ReceiveError> {
        self.reader.peek(deadline)
    }

    /// Waits for a dense frame; see [`ReadHalf::receive_into`].
    ///
    /// # Errors
    ///
    /// See [`ReceiveError`].
    pub fn receive_into(
        &mut self,
        kind: Kind,
        values: &mut [f32],
        deadline: Deadline,
    ) -> Result<Header, ReceiveError> {
        self.reader.receive_into(kind, values, deadline)
    }
}
