//! How a server opens: where it listens, and where it begins.

use std::io;
use std::time::Duration;

use paceline_wire::{
    AcceptError, Address, BindError, Deadline, Header, Kind, Listener, Payload, ReadHalf, Role,
    WriteHalf, wait_any,
};

use super::Server;
use crate::cluster::frames::{OTHER_TRAINING, Rendezvous};
use crate::cluster::handover::{self, HandoverError};
use crate::cluster::identity::TrainingIdentity;
use crate::cluster::session::ClusterSession;
use crate::cluster::update::Span;

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
    loop {
        let mut readers: Vec<ReadHalf> = Vec::new();
        let mut server = begin(session, rank, rendezvous, &listener, &mut readers)?;
        loop {
            let patience = if readers.is_empty() {
                Deadline::after(POLL_EVERY)
            } else {
                Deadline::PASSED
            };
            match listener.accept(patience) {
                Ok(connection) => server.admit(connection, &mut readers),
                Err(AcceptError::TimedOut) => {}
                Err(error) => return Err(ServeError::Door(error)),
            }
            if !readers.is_empty() {
                let awaited: Vec<&ReadHalf> = readers.iter().collect();
                let behind: Vec<&WriteHalf> = server.writers.iter().collect();
                wait_any(&awaited, &behind, Deadline::after(POLL_EVERY))?;
            }
            server.hear(&mut readers);
            server.look_around();
            if server.is_done() {
                return Ok(());
            }
            if server.is_abandoned {
                break;
            }
        }
    }
}

/// Waits for the controller and what it hands over. Workers that come before
/// it have to wait.
fn begin<'a>(
    session: &'a ClusterSession,
    rank: u32,
    rendezvous: &Rendezvous,
    listener: &Listener,
    readers: &mut Vec<ReadHalf>,
) -> Result<Server<'a>, ServeError> {
    let identity = TrainingIdentity::of(session);
    let span =
        Span::cut(session.model.layout(), rendezvous.servers.len()).swap_remove(rank as usize);
    let optimizer = session.server_optimizer();
    let deadline = Deadline::after(rendezvous.patience);
    let mut early = Vec::new();
    loop {
        let connection = listener.accept(deadline).map_err(|error| match error {
            AcceptError::TimedOut => ServeError::Abandoned {
                rank,
                patience: rendezvous.patience,
            },
            AcceptError::Ended => ServeError::Door(error),
        })?;
        if connection.peer().role != Role::Controller {
            early.push(connection);
            continue;
        }
        let (mut reader, mut writer) = connection.split();
        match handover::take(&mut reader, &span, optimizer.moments(), &identity) {
            Ok(start) => {
                let mut server = Server::new(session, rank, span, start, identity);
                server.refusals = listener.refusals();
                readers.push(reader);
                server.writers.push(writer);
                for connection in early {
                    server.admit(connection, readers);
                }
                return Ok(server);
            }
            Err(HandoverError::OtherTraining(difference)) => {
                let header = Header::new(Kind::Fault).at(rank, OTHER_TRAINING);
                // Both ends say in their own words how the other differs.
                let own = TrainingIdentity::of(session);
                let _ = writer.send(&header, Payload::Bytes(own.text().as_bytes()));
                return Err(ServeError::OtherTraining { difference });
            }
            // It comes again if it is still there.
            Err(HandoverError::Broken(_) | HandoverError::Malformed) => {}
        }
    }
}
