//! A connected stream socket that never blocks by itself.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_user_timeout,
};

use crate::deadline::Deadline;

/// How long a connection may be idle before the system asks the peer, and how
/// often it asks.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);

/// How long a peer may leave bytes or questions unanswered (RFC 5482). It also
/// bounds how long a peer may take no bytes; the longest that one is busy with
/// something else, an evaluation, must be shorter or leave little to take.
const USER_TIMEOUT_MS: u32 = 60_000;

/// A connected socket in non-blocking mode. Waiting is separate, so that every
/// wait has a deadline and one thread can wait for several sockets.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Read,
    Write,
}

impl Socket {
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // A clock or a heartbeat must not wait for the acknowledgement of the
        // update before it (Nagle).
        stream.set_nodelay(true)?;
        // A host that loses its power or its network closes nothing: both the
        // idle end and the one that has sent must learn of it some day.
        set_socket_keepalive(&stream, true)?;
        set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
        set_tcp_keepintvl(&stream, KEEPALIVE_EVERY)?;
        set_tcp_user_timeout(&stream, USER_TIMEOUT_MS)?;
        Ok(Self::Tcp(stream))
    }

    pub(crate) fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(stream))
    }

    /// This end's address in the network; none for a Unix socket.
    pub(crate) fn local_ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip()),
            Self::Unix(_) => None,
        }
    }

    /// Sets the kernel's send buffer. The kernel doubles the value for its own
    /// needs and cuts it to `net.core.wmem_max`.
    pub(crate) fn set_send_buffer(&self, bytes: usize) -> io::Result<()> {
        rustix::net::sockopt::set_socket_send_buffer_size(self.as_fd(), bytes)?;
        Ok(())
    }

    /// Reads what is there; `None` if nothing is, zero bytes at the end.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let result = match self {
                Self::Tcp(stream) => (&*stream).read(buffer),
                Self::Unix(stream) => (&*stream).read(buffer),
            };
            if let Some(result) = unless_interrupted(result) {
                return result;
            }
        }
    }

    /// Writes what fits; `None` if nothing does.
    pub(crate) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        loop {
            let result = match self {
                Self::Tcp(stream) => (&*stream).write_vectored(parts),
                Self::Unix(stream) => (&*stream).write_vectored(parts),
            };
            if let Some(result) = unless_interrupted(result) {
                return result;
            }
        }
    }

    /// Ends the connection in both directions: who waits on either end wakes.
    pub(crate) fn shut_down(&self) {
        // A peer that is gone already has nothing left to be told.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// The outcome of one attempt, `None` if a signal interrupted it.
fn unless_interrupted(result: io::Result<usize>) -> Option<io::Result<Option<usize>>> {
    match result {
        Ok(count) => Some(Ok(Some(count))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(Ok(None)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        Err(error) => Some(Err(error)),
    }
}

/// Blocks until one of the sockets is ready (or broken, which the next attempt
/// reports) or the deadline passes; says whether one is.
pub(crate) fn wait(sockets: &[(BorrowedFd<'_>, Ready)], deadline: Deadline) -> io::Result<bool> {
    loop {
        let remaining = deadline.remaining();
        let mut polled: Vec<PollFd<'_>> = sockets
            .iter()
            .map(|&(fd, ready)| {
                let flags = match ready {
                    Ready::Read => PollFlags::IN,
                    Ready::Write => PollFlags::OUT,
                };
                PollFd::from_borrowed_fd(fd, flags)
            })
            .collect();
        let timeout = remaining.map(timespec);
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) if deadline.has_passed() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        // Longer than the age of the universe is long enough.
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
