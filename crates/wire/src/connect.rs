//! Connecting to a peer.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use thiserror::Error;

use crate::address::Address;
use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::handshake::{self, HandshakeError};
use crate::settings::{Credentials, Security, Settings};
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls;

/// Why a peer was not reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody listens there, or nobody answered in time.
    #[error("cannot reach {address}")]
    Unreachable {
        /// Where.
        address: Address,
        /// What the system said last.
        #[source]
        source: io::Error,
    },
    /// The peer or this end failed to prove itself.
    #[error("{address} and this end do not trust each other")]
    Handshake {
        /// Where.
        address: Address,
        /// Why.
        #[source]
        source: HandshakeError,
    },
    /// The connection could not be set up.
    #[error("cannot set up the connection to {address}")]
    SetUp {
        /// Where.
        address: Address,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Connects to `address`, proves this end and has the peer prove itself.
///
/// A peer that does not listen yet is tried again until the deadline, because
/// members of a run start in any order. A peer that answers wrongly is not.
///
/// # Errors
///
/// See [`ConnectError`].
pub fn connect(
    address: &Address,
    credentials: &Credentials,
    settings: &Settings,
    deadline: Deadline,
) -> Result<Connection, ConnectError> {
    let set_up = |source| ConnectError::SetUp {
        address: address.clone(),
        source,
    };
    let mut pause = FIRST_PAUSE;
    loop {
        let socket = match reach(address, deadline) {
            Ok(socket) => socket,
            Err(source) => {
                let remaining = deadline.remaining().unwrap_or(Duration::MAX);
                if remaining.is_zero() || !may_come(&source) {
                    return Err(ConnectError::Unreachable {
                        address: address.clone(),
                        source,
                    });
                }
                std::thread::sleep(pause.min(remaining));
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
        };
        if let Some(bytes) = settings.send_buffer {
            socket.set_send_buffer(bytes).map_err(set_up)?;
        }
        let stream = match credentials.security {
            Security::Plain => Stream::plain(socket, settings.spin),
            Security::Tls => {
                let session = tls::connect(&credentials.token)
                    .map_err(|error| set_up(io::Error::other(error)))?;
                Stream::tls(socket, session, settings.spin)
            }
        };
        let until = Deadline::after(settings.handshake_timeout).or_sooner(deadline);
        let peer = handshake::connect(&stream, &credentials.token, credentials.me, until).map_err(
            |source| ConnectError::Handshake {
                address: address.clone(),
                source,
            },
        )?;
        return Connection::new(Arc::new(stream), peer, settings).map_err(set_up);
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long one address of a host may take; the deadline covers all of them.
const ONE_ATTEMPT: Duration = Duration::from_secs(3);

fn reach(address: &Address, deadline: Deadline) -> io::Result<Socket> {
    match address {
        Address::Tcp { host, port } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
            for resolved in (host.as_str(), *port).to_socket_addrs()? {
                let patience = deadline.remaining().unwrap_or(ONE_ATTEMPT).min(ONE_ATTEMPT);
                if patience.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                match TcpStream::connect_timeout(&resolved, patience) {
                    Ok(stream) => return Socket::tcp(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
        Address::Unix(path) => Socket::unix(reach_unix(path)?),
    }
}

/// Without blocking: a listener whose queue is full answers `EAGAIN`, and is
/// tried again until the deadline.
fn reach_unix(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Whether a listener may appear where none is.
fn may_come(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NotFound
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}
