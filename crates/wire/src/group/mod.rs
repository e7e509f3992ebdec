//! All-reduce among peers: everybody ends with the sum of everybody's numbers.

mod calibration;
mod doubling;
mod exchange;
mod formation;
mod links;
mod ring;

use std::time::Duration;

use thiserror::Error;

use crate::connection::Connection;
use crate::member::Member;
use crate::read_half::{ReadHalf, ReceiveError};
use crate::traffic::Traffic;
use crate::write_half::{SendError, WriteHalf};

pub use formation::{FormError, Formation};
pub use links::Links;

/// Peers that reduce together, each connected to each.
///
/// All members call the same operations in the same order with the same
/// lengths; a member that does not is named by an error at its peers. The sum
/// of a number is formed in one order, on whichever ranks, so that all members
/// hold the same bits afterwards; the order depends on the number of members
/// and on the algorithm (see [`Group::set_algorithm`]) only.
#[derive(Debug)]
pub struct Group {
    rank: usize,
    /// By rank; none at this member's own.
    readers: Vec<Option<ReadHalf>>,
    writers: Vec<Option<WriteHalf>>,
    algorithm: Algorithm,
    /// How many operations have begun.
    operation: u64,
    /// Where numbers arrive a piece at a time before they are added.
    piece: Vec<f32>,
    /// Where a peer's whole vector arrives while this member's is being sent.
    incoming: Vec<f32>,
    patience: Duration,
    broken: bool,
}

/// How a group reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Every member sends all its numbers log₂(size) times: the fewest
    /// messages (Thakur, Rabenseifner and Gropp, 2005, section 4.1).
    Doubling,
    /// Every member sends 2(size − 1)/size of its numbers in all: the fewest
    /// bytes (Patarasuk and Yuan, 2009).
    Ring,
    /// Doubling below this many numbers, the ring from it on.
    RingFrom(usize),
}

impl Algorithm {
    /// What is used where nothing was measured: a vector that fits the
    /// socket's buffer is sent at once.
    pub const UNMEASURED: Self = Self::RingFrom(16 * 1024);

    fn uses_ring(self, length: usize) -> bool {
        match self {
            Self::Doubling => false,
            Self::Ring => true,
            Self::RingFrom(least) => length >= least,
        }
    }
}

/// Why numbers were not reduced. The group is of no further use: its
/// connections are closed, so that no member waits for another in vain.
#[derive(Debug, Error)]
pub enum ReduceError {
    /// A peer's part did not arrive.
    #[error("lost worker {rank} during an all-reduce")]
    Lost {
        /// The peer.
        rank: usize,
        /// What happened.
        #[source]
        source: ReceiveError,
    },
    /// A peer did not take this member's part.
    #[error("cannot send to worker {rank} during an all-reduce")]
    Unsent {
        /// The peer.
        rank: usize,
        /// What happened.
        #[source]
        source: SendError,
    },
    /// A peer is at another operation, or reduces another length.
    #[error("worker {rank} is at operation {theirs}, this one at {ours}")]
    OutOfStep {
        /// The peer.
        rank: usize,
        /// The operation it is at.
        theirs: u64,
        /// The operation this member is at.
        ours: u64,
    },
    /// An earlier operation failed.
    #[error("the group broke in an earlier operation")]
    Broken,
}

impl Group {
    /// A group of connected peers. `connections[i]` leads to the member that
    /// reduces as rank `i`; exactly the one at `rank`, this member's own, is
    /// `None`.
    ///
    /// `patience` is how long a member waits for a peer that sends nothing.
    /// Every member must be set to the same algorithm; nothing is measured.
    ///
    /// # Errors
    ///
    /// A connection is missing, or there is one to this member itself.
    pub fn new(
        rank: usize,
        connections: Vec<Option<Connection>>,
        patience: Duration,
    ) -> Result<Self, FormError> {
        for (other, connection) in connections.iter().enumerate() {
            if connection.is_some() == (other == rank) {
                return Err(FormError::Missing { rank: other });
            }
        }
        if rank >= connections.len() {
            return Err(FormError::Missing { rank });
        }
        let (readers, writers) = connections
            .into_iter()
            .map(|connection| connection.map(Connection::split).unzip())
            .unzip();
        Ok(Self {
            rank,
            readers,
            writers,
            algorithm: Algorithm::UNMEASURED,
            operation: 0,
            piece: Vec::new(),
            incoming: Vec::new(),
            patience,
            broken: false,
        })
    }

    /// This member's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.readers.len()
    }

    /// How the group reduces.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Sets how the group reduces; every member must set the same. A run that
    /// must be repeated bit for bit sets what its record names, because a
    /// measurement may turn out otherwise.
    pub fn set_algorithm(&mut self, algorithm: Algorithm) {
        self.algorithm = algorithm;
    }

    /// The members at the other ends, with what their connections carried.
    pub fn traffic(&self) -> impl Iterator<Item = (Member, Traffic)> {
        self.readers
            .iter()
            .flatten()
            .map(|reader| (reader.peer(), reader.traffic()))
    }

    /// Replaces `values` by their sums over all members.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`]; `values` are then of no use.
    pub fn all_reduce(&mut self, values: &mut [f32]) -> Result<(), ReduceError> {
        self.reduce_by(self.algorithm, values)
    }

    /// Waits until every member has come this far.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    pub fn meet(&mut self) -> Result<(), ReduceError> {
        self.reduce_by(Algorithm::Doubling, &mut [])
    }

    fn reduce_by(&mut self, algorithm: Algorithm, values: &mut [f32]) -> Result<(), ReduceError> {
        if self.broken {
            return Err(ReduceError::Broken);
        }
        if self.size() == 1 {
            return Ok(());
        }
        self.operation += 1;
        let reduced = if algorithm.uses_ring(values.len()) {
            self.reduce_by_ring(values)
        } else {
            self.reduce_by_doubling(values)
        };
        if reduced.is_err() {
            self.broken = true;
            for writer in self.writers.iter_mut().flatten() {
                writer.close();
            }
        }
        reduced
    }
}

/// Adds `addends` to `sums`, number by number.
fn add(sums: &mut [f32], addends: &[f32]) {
    for (sum, addend) in sums.iter_mut().zip(addends) {
        *sum += addend;
    }
}
