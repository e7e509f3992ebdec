//! A server's sockets: where it listens, what arrives, what leaves.

use std::io;
use std::time::Duration;

use paceline_sync::Sender;
use paceline_wire::{
    AcceptError, Address, BindError, Connection, Deadline, Listener, Member, ReadHalf, Refusals,
    Role, WriteHalf, wait_any,
};

use super::queue::ServerQueue;
use super::{
    Beginning, Dismissal, HeldPush, Opening, OpeningError, Outbox, Server, notify, sender,
};
use crate::clock::now;
use crate::cluster::protocol::{FromController, FromServer, ProtocolError, ToController, ToServer};
use crate::cluster::rendezvous::Rendezvous;
use crate::cluster::session::ClusterSession;

/// Why a server could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nobody could connect.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system cannot wait for connections.
    #[error("cannot wait for workers")]
    Wait(#[from] io::Error),
    /// Nobody can connect any more.
    #[error(transparent)]
    Door(AcceptError),
    /// The trainer did not come, or went away and did not come back.
    #[error("no trainer came to server {rank} within {} s", patience.as_secs_f64())]
    Abandoned {
        /// This server.
        rank: u32,
        /// How long it waited.
        patience: Duration,
    },
    /// The trainer's options are not this server's.
    #[error("the trainer trains something else: {difference}")]
    OtherTraining {
        /// The first option that differs.
        difference: String,
    },
}

/// How long a server looks at its connections before it looks whether somebody
/// new has come.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// How long one frame of what a server begins with may take.
const FRAME_WITHIN: Duration = Duration::from_secs(60);

/// How long a server waits for the last words of its workers.
const GRACE: Duration = Duration::from_secs(2);

/// Serves range `rank` of the session's parameters until the controller ends
/// the training, at the address where the others look for it.
///
/// # Errors
/// See [`ServeError`].
pub fn serve(
    session: &ClusterSession,
    rank: u32,
    rendezvous: &Rendezvous,
) -> Result<(), ServeError> {
    serve_at(
        session,
        rank,
        rendezvous,
        &rendezvous.servers[rank as usize],
    )
}

/// As [`serve`], listening at `address`: behind a forwarded port that is not
/// the one where the others look.
///
/// The parameters come from the controller. If it goes away, the server waits
/// for it to come back, and begins where it then says.
///
/// # Errors
/// See [`ServeError`].
pub fn serve_at(
    session: &ClusterSession,
    rank: u32,
    rendezvous: &Rendezvous,
    address: &Address,
) -> Result<(), ServeError> {
    let credentials = rendezvous.credentials(Role::Server, rank, 0);
    let listener = Listener::bind(address, &credentials, &rendezvous.wire)?;
    let mut successor = None;
    loop {
        let serving = begin(session, rank, rendezvous, &listener, successor)?;
        match serving.run(&listener)? {
            End::Over => return Ok(()),
            End::Abandoned { by } => successor = by,
        }
    }
}

/// Waits for the controller and what it hands over; it may have come already.
/// Workers that come before it have to wait.
fn begin<'a>(
    session: &'a ClusterSession,
    rank: u32,
    rendezvous: &Rendezvous,
    listener: &Listener,
    mut come: Option<Box<Connection>>,
) -> Result<Serving<'a>, ServeError> {
    let deadline = Deadline::after(rendezvous.patience);
    let mut early = Vec::new();
    loop {
        let connection = match come.take() {
            Some(connection) => *connection,
            None => listener.accept(deadline).map_err(|error| match error {
                AcceptError::TimedOut => ServeError::Abandoned {
                    rank,
                    patience: rendezvous.patience,
                },
                AcceptError::Ended => ServeError::Door(error),
            })?,
        };
        if connection.peer().role != Role::Controller {
            early.push(connection);
            continue;
        }
        let (mut reader, writer) = connection.split();
        let mut links = Links {
            writers: vec![writer],
            room: Vec::new(),
            queue: ServerQueue::default(),
        };
        let mut opening = Opening::new(session, rank);
        match take_beginning(&mut reader, &mut opening) {
            Ok(beginning) => {
                let span = opening.span().clone();
                let mut serving = Serving {
                    rank,
                    server: Server::new(session, rank, span, beginning, now()),
                    readers: vec![reader],
                    links,
                    refusals: listener.refusals(),
                    is_abandoned: false,
                };
                for connection in early {
                    serving.admit(connection);
                }
                return Ok(serving);
            }
            Err(BeginError::Opening(OpeningError::OtherTraining(difference))) => {
                // Both ends say in their own words how the other differs.
                links.to_controller(&ToController::OtherTraining {
                    identity: &session.identity().text(),
                });
                links.drain_for(GRACE);
                return Err(ServeError::OtherTraining { difference });
            }
            Err(BeginError::Opening(OpeningError::Breach(error))) => {
                let words =
                    format!("server {rank} closed a connection of the trainer, which sent {error}");
                notify(&words, &mut links);
                links.drain_for(GRACE);
            }
            // It comes again if it is still there.
            Err(BeginError::Broken) => {}
        }
    }
}

/// Why a server did not get what it needs.
enum BeginError {
    Opening(OpeningError),
    /// The connection broke, or the controller fell silent.
    Broken,
}

fn take_beginning(reader: &mut ReadHalf, opening: &mut Opening) -> Result<Beginning, BeginError> {
    loop {
        let frame = reader
            .receive(Deadline::after(FRAME_WITHIN))
            .map_err(|_| BeginError::Broken)?;
        let taken = FromController::decode(&frame)
            .map_err(OpeningError::Breach)
            .and_then(|message| opening.take(message));
        if let Some(beginning) = taken.map_err(BeginError::Opening)? {
            return Ok(beginning);
        }
    }
}

/// What a server sends, by connection.
#[derive(Default)]
struct Links {
    writers: Vec<WriteHalf>,
    /// Where messages are laid out.
    room: Vec<u8>,
    queue: ServerQueue,
}

impl Outbox for Links {
    fn to_worker(&mut self, to: Sender, message: &FromServer<'_>) {
        let timed = match *message {
            FromServer::Parameters { grant, values } => Some(FromServer::Parameters {
                grant: self.queue.timed(to.worker.0, grant, now()),
                values,
            }),
            _ => None,
        };
        let (header, payload) = timed.as_ref().unwrap_or(message).encode();
        for writer in &mut self.writers {
            let peer = writer.peer();
            if peer.role == Role::Worker && sender(peer) == to {
                // What fails is seen when the connection is read.
                let _ = writer.post(&header, payload);
            }
        }
    }

    fn to_controller(&mut self, message: &ToController<'_>) {
        let (header, payload) = message.encode(&mut self.room);
        for writer in &mut self.writers {
            if writer.peer().role == Role::Controller {
                let _ = writer.post(&header, payload);
            }
        }
    }
}

impl Links {
    fn drain(&mut self) {
        for writer in &mut self.writers {
            // What fails is seen when the connection is read.
            let _ = writer.drain();
        }
    }

    /// Sends what was posted, as far as the peers take it in time.
    fn drain_for(&mut self, time: Duration) {
        let since = now();
        while self.writers.iter().any(|writer| writer.backlog() > 0) && since.elapsed() < time {
            self.drain();
            std::thread::yield_now();
        }
    }
}

/// A server with its sockets.
struct Serving<'a> {
    rank: u32,
    server: Server<'a>,
    /// The writer of each is at the same place of `links`.
    readers: Vec<ReadHalf>,
    links: Links,
    refusals: Refusals,
    /// The controller went away.
    is_abandoned: bool,
}

/// Why a server has nothing more to do.
enum End {
    Over,
    /// The controller went away. It may come back, or has come already.
    Abandoned {
        by: Option<Box<Connection>>,
    },
}

impl Serving<'_> {
    fn run(mut self, listener: &Listener) -> Result<End, ServeError> {
        loop {
            let patience = if self.readers.is_empty() {
                Deadline::after(POLL_EVERY)
            } else {
                Deadline::PASSED
            };
            let mut successor = None;
            match listener.accept(patience) {
                Ok(connection) if connection.peer().role == Role::Controller => {
                    successor = Some(Box::new(connection));
                }
                Ok(connection) => self.admit(connection),
                Err(AcceptError::TimedOut) => {}
                Err(error) => return Err(ServeError::Door(error)),
            }
            if !self.readers.is_empty() {
                let readers: Vec<&ReadHalf> = self.readers.iter().collect();
                let writers: Vec<&WriteHalf> = self.links.writers.iter().collect();
                wait_any(&readers, &writers, Deadline::after(POLL_EVERY))?;
                self.links.queue.woken(now());
            }
            self.listen();
            if self.server.on_tick(now(), &mut self.links) {
                self.tell_refusals();
            }
            if self.is_done() {
                return Ok(End::Over);
            }
            if self.is_abandoned {
                return Ok(End::Abandoned { by: successor });
            }
            // One controller is enough: another has the token and is mistaken.
        }
    }

    fn admit(&mut self, connection: Connection) {
        if connection.peer().role != Role::Worker {
            return;
        }
        let (reader, writer) = connection.split();
        self.readers.push(reader);
        self.links.writers.push(writer);
    }

    /// Takes what has arrived.
    fn listen(&mut self) {
        let mut place = 0;
        while place < self.readers.len() {
            let peer = self.readers[place].peer();
            let is_open = loop {
                match take(&mut self.server, &mut self.readers[place], &mut self.links) {
                    Taken::Nothing => break true,
                    Taken::Something => {}
                    Taken::Closed => break false,
                }
            };
            if is_open {
                place += 1;
                continue;
            }
            self.readers.remove(place);
            self.links.writers.remove(place).close();
            if peer.role == Role::Worker {
                self.server.on_disconnect(peer, now(), &mut self.links);
            } else if self.server.stopped().is_none() {
                // Whatever is computed from here on, nobody would look at it.
                self.is_abandoned = true;
            }
        }
        self.links.drain();
    }

    /// Says who was refused first for each cause.
    fn tell_refusals(&mut self) {
        for first in self.refusals.take_firsts() {
            let (server, from, cause) = (self.rank, first.from, first.cause);
            let words = format!("server {server} refused {from}, which {cause}");
            notify(&words, &mut self.links);
        }
    }

    /// Whether everybody has gone.
    fn is_done(&mut self) -> bool {
        let Some(since) = self.server.stopped() else {
            return false;
        };
        let is_worker = |writer: &WriteHalf| writer.peer().role == Role::Worker;
        if self.links.writers.iter().any(is_worker) && since.elapsed() < GRACE {
            return false;
        }
        self.tell_refusals();
        let refused = self.refusals.total();
        if refused > 0 {
            let server = self.rank;
            let words = format!("server {server} refused {refused} connections");
            notify(&words, &mut self.links);
        }
        self.server.take_leave(&mut self.links);
        self.links.drain_for(GRACE);
        true
    }
}

/// What came of looking for a frame.
enum Taken {
    /// Nothing is there yet.
    Nothing,
    Something,
    /// The connection is of no further use.
    Closed,
}

/// Takes one frame, if there is one.
fn take(server: &mut Server<'_>, reader: &mut ReadHalf, links: &mut Links) -> Taken {
    let peer = reader.peer();
    let frame = match reader.try_receive() {
        Ok(Some(frame)) => frame,
        Ok(None) => return Taken::Nothing,
        Err(_) => return Taken::Closed,
    };
    links.queue.took(now());
    let taken = match peer.role {
        Role::Worker => match ToServer::decode(&frame) {
            Ok(message) => {
                if message.is_question() {
                    links.queue.asked(peer.rank);
                }
                match HeldPush::of(&message) {
                    Some(push) => {
                        drop(message);
                        take_push(server, peer, push, reader, links)
                    }
                    None => server.on_worker(peer, message, now(), links),
                }
            }
            Err(error) => Err(error.into()),
        },
        Role::Controller => FromController::decode(&frame)
            .and_then(|message| server.on_controller(&message, now(), links))
            .map_err(Dismissal::Breach),
        Role::Server => Err(Dismissal::Told),
    };
    match taken {
        Ok(()) => Taken::Something,
        Err(dismissal) => {
            if let Dismissal::Breach(error) = dismissal {
                server.on_breach(peer, &error, links);
            }
            Taken::Closed
        }
    }
}

/// An update that needs no decoding stays where it arrived.
fn take_push(
    server: &mut Server<'_>,
    peer: Member,
    push: HeldPush,
    reader: &mut ReadHalf,
    links: &mut Links,
) -> Result<(), Dismissal> {
    let room = server
        .room_for(peer.rank)
        .ok_or(ProtocolError::OutOfPlace { name: "push" })?;
    reader.hold(&mut room.frame);
    server.on_held_push(peer, push, now(), links)
}
