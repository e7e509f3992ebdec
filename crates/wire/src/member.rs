//! Who takes part in a run.

use std::fmt;

/// What a member does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Computes updates.
    Worker,
    /// Holds a shard of the parameters.
    Server,
    /// Starts the others, watches them and writes the record.
    Controller,
}

impl Role {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Worker => 1,
            Self::Server => 2,
            Self::Controller => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Worker),
            2 => Some(Self::Server),
            3 => Some(Self::Controller),
            _ => None,
        }
    }
}

/// One member of a run, as it proves itself in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// What it does.
    pub role: Role,
    /// Its number among those of its role, from zero.
    pub rank: u32,
    /// How often this rank was started: a replacement has a higher number than
    /// the member it replaces, so that a late message of the dead is known.
    pub incarnation: u32,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Worker => "worker",
            Role::Server => "server",
            Role::Controller => "controller",
        };
        write!(f, "{role} {}", self.rank)?;
        if self.incarnation > 0 {
            write!(f, " (restart {})", self.incarnation)?;
        }
        Ok(())
    }
}
