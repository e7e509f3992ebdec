//! Where the members of a training find each other.

use std::time::Duration;

use paceline_wire::{Address, Credentials, Member, Role, Security, Token};

/// Where the members of a training find each other, and what they know.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// Where each server listens, by number.
    pub servers: Vec<Address>,
    /// What every member knows.
    pub token: Token,
    /// How bytes are protected.
    pub security: Security,
    /// Limits, and a slower network than there is.
    pub wire: paceline_wire::Settings,
    /// How long a member waits for another that is away before it gives up.
    pub patience: Duration,
}

impl Rendezvous {
    /// How long members of one host wait for each other: one that dies is
    /// started again at once.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    pub(crate) fn credentials(&self, role: Role, rank: u32, incarnation: u32) -> Credentials {
        Credentials {
            me: Member {
                role,
                rank,
                incarnation,
            },
            token: self.token.clone(),
            security: self.security,
        }
    }
}
