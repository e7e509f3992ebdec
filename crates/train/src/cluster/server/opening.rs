//! What a server is told before it serves, without sockets.

use std::time::Duration;

use super::Beginning;
use crate::cluster::identity::TrainingIdentity;
use crate::cluster::milestones::Milestones;
use crate::cluster::protocol::{FromController, ProtocolError};
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::Assembler;
use crate::cluster::update::Span;

/// Takes what a controller says first: what a server is to know, and a snapshot
/// to begin with.
pub(in crate::cluster) struct Opening {
    span: Span,
    identity: TrainingIdentity,
    assembler: Assembler,
    begun: Option<Begun>,
}

struct Begun {
    generation: u32,
    milestones: Milestones,
    join_within: Duration,
    /// How the controller's training differs.
    difference: Option<String>,
}

/// Why a server does not begin.
#[derive(Debug)]
pub(in crate::cluster) enum OpeningError {
    /// The controller's options are not this server's.
    OtherTraining(String),
    /// The controller does not follow the protocol.
    Breach(ProtocolError),
}

impl From<ProtocolError> for OpeningError {
    fn from(error: ProtocolError) -> Self {
        Self::Breach(error)
    }
}

impl Opening {
    pub(in crate::cluster) fn new(session: &ClusterSession, rank: u32) -> Self {
        let shards = session.cluster.servers.get() as usize;
        let span = Span::cut(session.model.layout(), shards).swap_remove(rank as usize);
        Self {
            identity: session.identity().clone(),
            assembler: Assembler::whole(session.server_optimizer(), span.len()),
            span,
            begun: None,
        }
    }

    /// The range that the server holds.
    pub(in crate::cluster) fn span(&self) -> &Span {
        &self.span
    }

    /// Takes a message; gives all that a server needs once it is there.
    pub(in crate::cluster) fn take(
        &mut self,
        message: FromController<'_>,
    ) -> Result<Option<Beginning>, OpeningError> {
        match (message, &self.begun) {
            (
                FromController::Begin {
                    generation,
                    milestones,
                    join_within,
                    identity,
                },
                None,
            ) => {
                self.begun = Some(Begun {
                    generation,
                    milestones,
                    join_within,
                    difference: self.identity.difference(identity),
                });
                Ok(None)
            }
            (FromController::Snapshot(part), Some(begun)) => {
                // What is left unread when a connection closes may take the
                // answer with it: all of a snapshot is taken, whosesoever it is.
                if let Some(difference) = &begun.difference {
                    return match part.is_last() {
                        true => Err(OpeningError::OtherTraining(difference.clone())),
                        false => Ok(None),
                    };
                }
                let snapshot = self.assembler.take(0, part)?;
                Ok(snapshot.map(|snapshot| Beginning {
                    generation: begun.generation,
                    milestones: begun.milestones,
                    join_within: begun.join_within,
                    snapshot,
                }))
            }
            (message, _) => Err(message.out_of_place().into()),
        }
    }
}
