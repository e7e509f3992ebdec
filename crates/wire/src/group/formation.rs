//! Becoming a group.

use std::time::Duration;

use thiserror::Error;

use super::{Group, ReduceError};
use crate::address::Address;
use crate::connect::{ConnectError, connect};
use crate::connection::Connection;
use crate::deadline::Deadline;
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

impl Group {
    /// Forms a group with the members that listen at `addresses`, by rank;
    /// this member's own rank is in its credentials, and its listener's
    /// address in the list. Each connects to the ranks below its own and
    /// accepts those above. Then the group measures both algorithms and
    /// agrees on which to use from which length on.
    ///
    /// Group members have this member's role. The listener serves the group
    /// alone until it is formed.
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
        let me = credentials.me;
        let (rank, size) = (me.rank as usize, addresses.len());
        let mut connections: Vec<Option<Connection>> = Vec::new();
        connections.resize_with(size, || None);
        for (below, address) in addresses.iter().enumerate().take(rank) {
            let connection =
                connect(address, credentials, settings, deadline).map_err(|source| {
                    FormError::Unreached {
                        rank: below,
                        source,
                    }
                })?;
            let peer = connection.peer();
            if (peer.role, peer.rank as usize) != (me.role, below) {
                return Err(FormError::Stranger { found: peer });
            }
            connections[below] = Some(connection);
        }
        for _ in rank + 1..size {
            let connection = listener
                .accept(deadline)
                .map_err(|source| FormError::Absent {
                    missing: (rank + 1..size)
                        .filter(|&above| connections[above].is_none())
                        .collect(),
                    source,
                })?;
            let found = connection.peer();
            let place = connections
                .get_mut(found.rank as usize)
                .filter(|place| place.is_none() && found.role == me.role && found.rank > me.rank)
                .ok_or(FormError::Stranger { found })?;
            *place = Some(connection);
        }
        let mut group = Self::new(rank, connections, patience)?;
        group.measure().map_err(FormError::Measured)?;
        Ok(group)
    }
}
