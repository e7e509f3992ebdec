//! Listening for peers, and keeping everybody else out.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use thiserror::Error;

use crate::address::Address;
use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::handshake;
use crate::refusals::{Cause, Refusals};
use crate::settings::{Credentials, Security, Settings};
use crate::socket::{self, Ready, Socket};
use crate::stream::Stream;
use crate::tls;

/// Listens for peers. Only those that prove themselves come out of
/// [`Listener::accept`]; everybody else is refused, counted and forgotten, on
/// threads of its own, without disturbing those inside.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    arrivals: Receiver<Connection>,
    door: Arc<Door>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// Why nobody can listen there.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address cannot be bound.
    #[error("cannot listen at {address}")]
    Bind {
        /// Where.
        address: Address,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others may enter the socket's directory.
    #[error(
        "others may enter {directory} (mode {mode:o}); a Unix socket needs a directory of mode 700 that is yours"
    )]
    OpenDirectory {
        /// The directory.
        directory: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Something else is at the socket's path, or somebody listens there.
    #[error("{path} is in use")]
    InUse {
        /// The path.
        path: PathBuf,
    },
}

/// Why no peer was accepted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AcceptError {
    /// No peer came in time.
    #[error("no peer came in time")]
    TimedOut,
    /// The listener's thread has ended.
    #[error("the listener has ended")]
    Ended,
}

impl Listener {
    /// Listens at `address`; TCP port 0 takes a free one, see
    /// [`Listener::address`]. A Unix socket's directory is made with mode 700
    /// if it is missing, and refused if others may enter it.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub fn bind(
        address: &Address,
        credentials: &Credentials,
        settings: &Settings,
    ) -> Result<Self, BindError> {
        let failed = |source| BindError::Bind {
            address: address.clone(),
            source,
        };
        let (socket, bound) = match address {
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).map_err(failed)?;
                let port = listener.local_addr().map_err(failed)?.port();
                listener.set_nonblocking(true).map_err(failed)?;
                let bound = Address::Tcp {
                    host: host.clone(),
                    port,
                };
                (Bound::Tcp(listener), bound)
            }
            Address::Unix(path) => {
                prepare_directory(path, failed)?;
                remove_stale(path)?;
                let listener = UnixListener::bind(path).map_err(failed)?;
                // Until here the directory alone keeps others out.
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                (Bound::Unix(listener, path.clone()), address.clone())
            }
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| failed(errno.into()))?;
        let wake = Arc::new(wake);
        let (sender, arrivals) = sync_channel(settings.handshakes_at_once.max(1));
        let door = Arc::new(Door {
            credentials: credentials.clone(),
            settings: settings.clone(),
            refusals: Refusals::default(),
            inside: Mutex::new(VecDeque::new()),
            closed: AtomicBool::new(false),
        });
        let thread = std::thread::Builder::new()
            .name("wire-listener".to_owned())
            .spawn({
                let (door, wake) = (Arc::clone(&door), Arc::clone(&wake));
                move || keep_door(&door, &socket, &wake, &sender)
            })
            .map_err(failed)?;
        Ok(Self {
            address: bound,
            arrivals,
            door,
            wake,
            thread: Some(thread),
        })
    }

    /// Where peers connect, the port that the system chose included.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Who was refused, and why.
    pub fn refusals(&self) -> Refusals {
        self.door.refusals.clone()
    }

    /// Waits for the next peer that has proven itself.
    ///
    /// # Errors
    ///
    /// No peer came before the deadline.
    pub fn accept(&self, deadline: Deadline) -> Result<Connection, AcceptError> {
        match deadline.remaining() {
            None => self.arrivals.recv().map_err(|_| AcceptError::Ended),
            Some(patience) => self
                .arrivals
                .recv_timeout(patience)
                .map_err(|error| match error {
                    RecvTimeoutError::Timeout => AcceptError::TimedOut,
                    RecvTimeoutError::Disconnected => AcceptError::Ended,
                }),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.door.closed.store(true, Ordering::Release);
        // An event counter at its limit has woken the thread already.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic there has ended the thread, which is all that is wanted.
            let _ = thread.join();
        }
        for visitor in self.door.inside().drain(..) {
            visitor.turn_away();
        }
    }
}

/// A bound socket; a Unix socket's file goes with it.
enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Bound {
    /// The next connection, if one waits, and where it comes from.
    fn next(&self) -> io::Result<(Socket, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                Ok((Socket::tcp(stream)?, from.to_string()))
            }
            Self::Unix(listener, path) => {
                let (stream, _) = listener.accept()?;
                Ok((Socket::unix(stream)?, path.display().to_string()))
            }
        }
    }
}

impl AsFd for Bound {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Somebody else may have removed it; it is gone either way.
            let _ = fs::remove_file(path);
        }
    }
}

#[derive(Debug)]
struct Door {
    credentials: Credentials,
    settings: Settings,
    refusals: Refusals,
    /// Connections in their handshake, the oldest first.
    inside: Mutex<VecDeque<Arc<Visitor>>>,
    closed: AtomicBool,
}

/// A connection in its handshake.
#[derive(Debug)]
struct Visitor {
    stream: Arc<Stream>,
    from: String,
    /// Set when the visitor had to give way, and is counted for that already.
    turned_away: AtomicBool,
}

impl Visitor {
    fn turn_away(&self) {
        self.turned_away.store(true, Ordering::Release);
        self.stream.shut_down();
    }
}

/// Waits out a shortage of descriptors or threads.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(10);
/// Enough for a TLS handshake in a build without optimisation.
const HANDSHAKE_STACK: usize = 512 * 1024;

fn keep_door(door: &Arc<Door>, socket: &Bound, wake: &OwnedFd, arrivals: &SyncSender<Connection>) {
    while !door.closed.load(Ordering::Acquire) {
        match socket.next() {
            Ok((socket, from)) => door.let_in(socket, from, arrivals),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let waits = [(socket.as_fd(), Ready::Read), (wake.as_fd(), Ready::Read)];
                if socket::wait(&waits, Deadline::NEVER).is_err() {
                    return;
                }
            }
            // The visitor left before it was greeted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                door.refusals.add(Cause::Silent, "unknown");
            }
            Err(_) => {
                door.refusals.add(Cause::System, "unknown");
                let waits = [(wake.as_fd(), Ready::Read)];
                if socket::wait(&waits, Deadline::after(SHORTAGE_PAUSE)).is_err() {
                    return;
                }
            }
        }
    }
}

impl Door {
    fn inside(&self) -> MutexGuard<'_, VecDeque<Arc<Visitor>>> {
        self.inside.lock()
    }

    fn let_in(self: &Arc<Self>, socket: Socket, from: String, arrivals: &SyncSender<Connection>) {
        let spin = self.settings.spin;
        if let Some(bytes) = self.settings.send_buffer
            && socket.set_send_buffer(bytes).is_err()
        {
            self.refusals.add(Cause::System, &from);
            return;
        }
        let stream = match self.credentials.security {
            Security::Plain => Stream::plain(socket, spin),
            Security::Tls => match tls::serve(&self.credentials.token) {
                Ok(session) => Stream::tls(socket, session, spin),
                Err(_) => {
                    self.refusals.add(Cause::Tls, &from);
                    return;
                }
            },
        };
        let visitor = Arc::new(Visitor {
            stream: Arc::new(stream),
            from,
            turned_away: AtomicBool::new(false),
        });
        {
            let mut inside = self.inside();
            while inside.len() >= self.settings.handshakes_at_once.max(1) {
                let oldest = inside.pop_front().expect("the queue is full");
                self.refusals.add(Cause::Crowded, &oldest.from);
                oldest.turn_away();
            }
            inside.push_back(Arc::clone(&visitor));
        }
        let spawned = std::thread::Builder::new()
            .name("wire-handshake".to_owned())
            .stack_size(HANDSHAKE_STACK)
            .spawn({
                let (door, visitor) = (Arc::clone(self), Arc::clone(&visitor));
                let arrivals = arrivals.clone();
                move || door.greet(&visitor, &arrivals)
            });
        if spawned.is_err() {
            self.see_off(&visitor);
            self.refusals.add(Cause::System, &visitor.from);
        }
    }

    fn greet(&self, visitor: &Arc<Visitor>, arrivals: &SyncSender<Connection>) {
        let deadline = Deadline::after(self.settings.handshake_timeout);
        let Credentials { me, token, .. } = &self.credentials;
        let outcome = handshake::listen(&visitor.stream, token, *me, deadline);
        self.see_off(visitor);
        let cause = match outcome {
            Ok(peer) => {
                match Connection::new(Arc::clone(&visitor.stream), peer, &self.settings) {
                    Ok(connection) => match arrivals.try_send(connection) {
                        // Without a listener there is nobody to be counted for.
                        Ok(()) | Err(TrySendError::Disconnected(_)) => return,
                        Err(TrySendError::Full(_)) => Cause::Unclaimed,
                    },
                    Err(_) => Cause::System,
                }
            }
            Err(error) => (&error).into(),
        };
        if !visitor.turned_away.load(Ordering::Acquire) {
            self.refusals.add(cause, &visitor.from);
        }
        visitor.stream.shut_down();
    }

    fn see_off(&self, visitor: &Arc<Visitor>) {
        self.inside().retain(|other| !Arc::ptr_eq(other, visitor));
    }
}

fn prepare_directory(
    path: &Path,
    failed: impl Fn(io::Error) -> BindError,
) -> Result<(), BindError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let metadata = fs::metadata(directory).map_err(&failed)?;
    let mode = metadata.mode() & 0o7777;
    let mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if mode & 0o077 != 0 || !mine {
        return Err(BindError::OpenDirectory {
            directory: directory.to_owned(),
            mode,
        });
    }
    Ok(())
}

/// Removes the socket of a member that died; refuses anything else.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    let in_use = || BindError::InUse {
        path: path.to_owned(),
    };
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        return Err(in_use());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|_| in_use())
        }
        _ => Err(in_use()),
    }
}
