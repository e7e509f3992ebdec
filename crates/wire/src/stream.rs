//! A byte stream to a peer: a socket, with TLS over it or not.

use parking_lot::Mutex;
use std::io::{self, IoSlice, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crate::deadline::{Deadline, now};
use crate::socket::{Ready, Socket, wait};

/// A byte stream to a peer. Both directions may be used at once from two
/// threads; no call blocks except the waits, which have deadlines.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    tls: Option<Mutex<rustls::Connection>>,
    spin: Duration,
}

/// Why waiting ended without the stream being ready.
#[derive(Debug)]
pub(crate) enum WaitError {
    TimedOut,
    Io(io::Error),
}

/// Why an exact number of bytes did not pass.
#[derive(Debug)]
pub(crate) enum ExactError {
    TimedOut,
    /// The stream ended after this many bytes.
    Ended(usize),
    Io(io::Error),
}

impl From<WaitError> for ExactError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => Self::TimedOut,
            WaitError::Io(error) => Self::Io(error),
        }
    }
}

/// How much TLS may hold back unsent: enough for the socket to stay busy,
/// little enough that memory is bounded.
const TLS_SEND_BUFFER: usize = 256 * 1024;

impl Stream {
    pub(crate) fn plain(socket: Socket, spin: Duration) -> Self {
        Self {
            socket,
            tls: None,
            spin,
        }
    }

    pub(crate) fn tls(socket: Socket, mut connection: rustls::Connection, spin: Duration) -> Self {
        connection.set_buffer_limit(Some(TLS_SEND_BUFFER));
        Self {
            socket,
            tls: Some(Mutex::new(connection)),
            spin,
        }
    }

    /// Reads what is there; `None` if nothing is, zero bytes at the end.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(tls) = &self.tls else {
            return self.socket.try_read(buffer);
        };
        let mut tls = tls.lock();
        loop {
            match tls.reader().read(buffer) {
                Ok(count) => return Ok(Some(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer's process ended without closing TLS. Whether that
                // cut a frame is for the frame's length to say.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(0)),
                Err(error) => return Err(error),
            }
            // The end of the stream, too, is for the reader above to report.
            if self.feed_tls(&mut tls)? == Fed::Nothing {
                return Ok(None);
            }
        }
    }

    /// Writes what fits; `None` if nothing does. With TLS, bytes that were
    /// accepted may wait for [`Stream::try_flush`].
    pub(crate) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        let Some(tls) = &self.tls else {
            return self.socket.try_write(parts);
        };
        let mut tls = tls.lock();
        let accepted = tls.writer().write_vectored(parts)?;
        self.drain_tls(&mut tls)?;
        if accepted == 0 {
            return Ok(None);
        }
        Ok(Some(accepted))
    }

    /// Passes on what TLS holds back; says whether nothing is left.
    pub(crate) fn try_flush(&self) -> io::Result<bool> {
        match &self.tls {
            None => Ok(true),
            Some(tls) => self.drain_tls(&mut tls.lock()),
        }
    }

    /// Reads from the socket into TLS.
    fn feed_tls(&self, tls: &mut rustls::Connection) -> io::Result<Fed> {
        let fed = match tls.read_tls(&mut SocketBytes(&self.socket)) {
            Ok(0) => Fed::End,
            Ok(_) => Fed::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Fed::Nothing),
            Err(error) => return Err(error),
        };
        let processed = tls.process_new_packets();
        // An alert, or an answer to a change of keys, leaves even if what came
        // in was refused.
        self.drain_tls(tls)?;
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(fed)
    }

    fn drain_tls(&self, tls: &mut rustls::Connection) -> io::Result<bool> {
        while tls.wants_write() {
            match tls.write_tls(&mut SocketBytes(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Completes the TLS handshake, if there is TLS, and returns what both
    /// ends derive from it and nobody else can: a MAC over it is worthless in
    /// any other session (RFC 9266).
    pub(crate) fn secure(&self, deadline: Deadline) -> Result<Option<[u8; 32]>, ExactError> {
        let Some(tls) = &self.tls else {
            return Ok(None);
        };
        loop {
            // Data that trickles in must not hide that the time is up.
            if deadline.has_passed() {
                return Err(ExactError::TimedOut);
            }
            let ready = {
                let mut tls = tls.lock();
                if !self.drain_tls(&mut tls).map_err(ExactError::Io)? {
                    Ready::Write
                } else if tls.is_handshaking() {
                    match self.feed_tls(&mut tls).map_err(ExactError::Io)? {
                        Fed::Bytes => continue,
                        Fed::End => return Err(ExactError::Ended(0)),
                        Fed::Nothing => Ready::Read,
                    }
                } else {
                    let secret = tls
                        .export_keying_material([0; 32], b"EXPORTER-Channel-Binding", None)
                        .map_err(|error| ExactError::Io(io::Error::other(error)))?;
                    return Ok(Some(secret));
                }
            };
            self.wait(ready, deadline)?;
        }
    }

    pub(crate) fn wait(&self, ready: Ready, deadline: Deadline) -> Result<(), WaitError> {
        match wait(&[(self.as_fd(), ready)], deadline) {
            Ok(true) => Ok(()),
            Ok(false) => Err(WaitError::TimedOut),
            Err(error) => Err(WaitError::Io(error)),
        }
    }

    /// Starts a wait that first spins.
    pub(crate) fn patience(&self, deadline: Deadline) -> Patience {
        Patience::new(self.spin, deadline)
    }

    pub(crate) fn local_ip(&self) -> Option<IpAddr> {
        self.socket.local_ip()
    }

    pub(crate) fn spin(&self) -> Duration {
        self.spin
    }

    /// Whether both ends are of this host and nothing hides what passes.
    pub(crate) fn is_local(&self) -> bool {
        self.tls.is_none() && matches!(self.socket, Socket::Unix(_))
    }

    /// Reads exactly `buffer`; for the handshake, where no spinning is due.
    pub(crate) fn read_exact(
        &self,
        buffer: &mut [u8],
        deadline: Deadline,
    ) -> Result<(), ExactError> {
        let mut filled = 0;
        while filled < buffer.len() {
            // Data that trickles in must not hide that the time is up.
            if deadline.has_passed() {
                return Err(ExactError::TimedOut);
            }
            match self
                .try_read(&mut buffer[filled..])
                .map_err(ExactError::Io)?
            {
                Some(0) => return Err(ExactError::Ended(filled)),
                Some(count) => filled += count,
                None => self.wait(Ready::Read, deadline)?,
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`; for the handshake.
    pub(crate) fn write_all(&self, bytes: &[u8], deadline: Deadline) -> Result<(), ExactError> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self
                .try_write(&[IoSlice::new(&bytes[sent..])])
                .map_err(ExactError::Io)?
            {
                Some(count) => sent += count,
                None => self.wait(Ready::Write, deadline)?,
            }
        }
        while !self.try_flush().map_err(ExactError::Io)? {
            self.wait(Ready::Write, deadline)?;
        }
        Ok(())
    }

    pub(crate) fn shut_down(&self) {
        if let Some(tls) = &self.tls {
            let mut tls = tls.lock();
            tls.send_close_notify();
            // Best effort: the socket is closed next, with or without it.
            let _ = self.drain_tls(&mut tls);
        }
        self.socket.shut_down();
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A wait that spins for a bounded time before it blocks: an answer that comes
/// within that time saves the wake-up of a sleeping thread.
#[derive(Debug)]
pub(crate) struct Patience {
    spin_until: Option<std::time::Instant>,
    deadline: Deadline,
}

impl Patience {
    pub(crate) fn new(spin: Duration, deadline: Deadline) -> Self {
        let spin_until = (!spin.is_zero()).then(|| now().checked_add(spin)).flatten();
        Self {
            spin_until,
            deadline,
        }
    }

    /// Waits a moment: yields while the spinning lasts, then blocks. Returns
    /// without error whenever another attempt is due.
    pub(crate) fn pause(&mut self, waits: &[(BorrowedFd<'_>, Ready)]) -> Result<(), WaitError> {
        if let Some(until) = self.spin_until {
            if now() < until {
                // Where members outnumber the cores, the one waited for may
                // need this very core.
                std::thread::yield_now();
                return Ok(());
            }
            self.spin_until = None;
        }
        match wait(waits, self.deadline) {
            Ok(true) => Ok(()),
            Ok(false) => Err(WaitError::TimedOut),
            Err(error) => Err(WaitError::Io(error)),
        }
    }
}

/// What TLS got from the socket.
#[derive(PartialEq, Eq)]
enum Fed {
    Bytes,
    Nothing,
    End,
}

struct SocketBytes<'a>(&'a Socket);

impl Read for SocketBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0
            .try_read(buffer)?
            .ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Write for SocketBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0
            .try_write(parts)?
            .ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
