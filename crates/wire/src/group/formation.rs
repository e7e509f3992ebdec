//! Becoming a group.

use std::time::Duration;

use thiserror::Error;

use super::{Group, ReduceError};
use crate::address::Address;
use crate::connect::{ConnectError, connect};
use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::handshake::HandshakeError;
use crate::listener::{AcceptError, Listener};
use crate::member::Member;
use crate::settings::{Credentials, Settings};

/// Why no group was formed.
#[derive(Debug, Error)]
pub enum FormError {
    /// A lower rank was not reached.
    #[error("cannot reach worker {rank}")]
    Unreached {
        /// The rank.
        rank: usize,
        /// Why.
        #[source]
        source: ConnectError,
    },
    /// Higher ranks did not come.
    #[error("workers {missing:?} did not come")]
    Absent {
        /// The ranks.
        missing: Vec<usize>,
        /// Why waiting ended.
        #[source]
        source: AcceptError,
    },
    /// Somebody else is where a member of the group should be, or came twice.
    #[error("{found} came where the group awaits others")]
    Stranger {
        /// Who came.
        found: Member,
    },
    /// There is no connection to a member, or one to this member itself.
    #[error("the group lacks a connection to worker {rank}, or has one to itself")]
    Missing {
        /// The rank.
        rank: usize,
    },
    /// Measuring the group failed.
    #[error("the group broke while it was measured")]
    Measured(#[source] ReduceError),
}

/// A group in the making.
///
/// Each member connects to the ranks below its own and accepts those above.
/// Its credentials' incarnation is the group's: members form one group after
/// another at the same listeners, and who comes from an earlier one is passed
/// over.
#[derive(Debug)]
pub struct Formation<'a> {
    listener: &'a Listener,
    addresses: &'a [Address],
    credentials: &'a Credentials,
    settings: &'a Settings,
    connections: Vec<Option<Connection>>,
}

impl<'a> Formation<'a> {
    /// A group with the members that listen at `addresses`, by rank; this
    /// member's own rank is in its credentials, and its listener's address in
    /// the list. The listener serves the group alone until it is formed.
    pub fn new(
        listener: &'a Listener,
        addresses: &'a [Address],
        credentials: &'a Credentials,
        settings: &'a Settings,
    ) -> Self {
        Self {
            listener,
            addresses,
            credentials,
            settings,
            connections: addresses.iter().map(|_| None).collect(),
        }
    }

    /// Connects and accepts until all are there or the deadline has come. May
    /// be called again after a member was [`FormError::Unreached`] or
    /// [`FormError::Absent`]: those that are there stay.
    ///
    /// # Errors
    ///
    /// See [`FormError`].
    pub fn advance(&mut self, deadline: Deadline) -> Result<(), FormError> {
        let rank = self.credentials.me.rank as usize;
        for below in 0..rank.min(self.addresses.len()) {
            if self.connections[below].is_none() {
                self.connections[below] = Some(self.reach(below, deadline)?);
            }
        }
        loop {
            let missing: Vec<usize> = (rank + 1..self.addresses.len())
                .filter(|above| self.connections[*above].is_none())
                .collect();
            if missing.is_empty() {
                return Ok(());
            }
            let arrival = self.listener.accept(deadline);
            let connection = arrival.map_err(|source| FormError::Absent { missing, source })?;
            self.seat(connection)?;
        }
    }

    /// The group, once all are there; nothing is measured. `patience` is how
    /// long a member waits for a peer that sends nothing.
    ///
    /// # Errors
    ///
    /// A member is missing.
    pub fn into_group(self, patience: Duration) -> Result<Group, FormError> {
        let rank = self.credentials.me.rank as usize;
        Group::new(rank, self.connections, patience)
    }

    fn reach(&self, below: usize, deadline: Deadline) -> Result<Connection, FormError> {
        let me = self.credentials.me;
        loop {
            let reached = connect(
                &self.addresses[below],
                self.credentials,
                self.settings,
                deadline,
            );
            let connection = match reached {
                Ok(connection) => connection,
                // One that died in the handshake: its successor may be there.
                Err(ConnectError::Handshake {
                    source: HandshakeError::Truncated | HandshakeError::Io(_),
                    ..
                }) if !deadline.has_passed() => {
                    std::thread::sleep(BEFORE_ANOTHER_TRY);
                    continue;
                }
                Err(source) => {
                    return Err(FormError::Unreached {
                        rank: below,
                        source,
                    });
                }
            };
            let peer = connection.peer();
            if (peer.role, peer.rank as usize) != (me.role, below) {
                return Err(FormError::Stranger { found: peer });
            }
            return Ok(connection);
        }
    }

    fn seat(&mut self, connection: Connection) -> Result<(), FormError> {
        let (me, found) = (self.credentials.me, connection.peer());
        if found.role == me.role && found.incarnation < me.incarnation {
            return Ok(());
        }
        let place = self
            .connections
            .get_mut(found.rank as usize)
            .filter(|place| {
                place.is_none()
                    && found.role == me.role
                    && found.rank > me.rank
                    && found.incarnation == me.incarnation
            })
            .ok_or(FormError::Stranger { found })?;
        *place = Some(connection);
        Ok(())
    }
}

const BEFORE_ANOTHER_TRY: Duration = Duration::from_millis(5);

impl Group {
    /// Forms a group with the members that listen at `addresses`; see
    /// [`Formation`]. Then the group measures both algorithms and agrees on
    /// which to use from which length on.
    ///
    /// # Errors
    ///
    /// See [`FormError`].
    pub fn form(
        listener: &Listener,
        addresses: &[Address],
        credentials: &Credentials,
        settings: &Settings,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<Self, FormError> {
        let mut formation = Formation::new(listener, addresses, credentials, settings);
        formation.advance(deadline)?;
        let mut group = formation.into_group(patience)?;
        group.measure().map_err(FormError::Measured)?;
        Ok(group)
    }
}
