//! Who was refused at the door, and why.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::handshake::HandshakeError;

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// It closed without a word: a port scanner, or a health check.
    Silent,
    /// It spoke another protocol.
    NotPaceline,
    /// It spoke another version.
    Version,
    /// It did not know the token.
    WrongToken,
    /// It did not finish in time.
    TooSlow,
    /// It closed in the middle.
    Truncated,
    /// TLS failed.
    Tls,
    /// It spoke TLS, and the listener does not.
    SpeaksTls,
    /// It did not speak TLS, and the listener does.
    SpeaksPlain,
    /// It was the oldest of too many in their handshake.
    Crowded,
    /// The listener's owner left too many proven peers unclaimed.
    Unclaimed,
    /// The system failed: out of descriptors, threads or random bytes.
    System,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 12] = [
        Self::Silent,
        Self::NotPaceline,
        Self::Version,
        Self::WrongToken,
        Self::TooSlow,
        Self::Truncated,
        Self::Tls,
        Self::SpeaksTls,
        Self::SpeaksPlain,
        Self::Crowded,
        Self::Unclaimed,
        Self::System,
    ];
}

impl From<&HandshakeError> for Cause {
    fn from(error: &HandshakeError) -> Self {
        match error {
            HandshakeError::Silent => Self::Silent,
            HandshakeError::NotPaceline | HandshakeError::Nobody => Self::NotPaceline,
            HandshakeError::Version(_) => Self::Version,
            HandshakeError::WrongToken | HandshakeError::Refused => Self::WrongToken,
            HandshakeError::TimedOut => Self::TooSlow,
            HandshakeError::Truncated => Self::Truncated,
            HandshakeError::Tls(_) => Self::Tls,
            HandshakeError::SpeaksTls => Self::SpeaksTls,
            HandshakeError::SpeaksPlain => Self::SpeaksPlain,
            HandshakeError::Io(_) | HandshakeError::Randomness(_) => Self::System,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "closed without a word",
            Self::NotPaceline => "does not speak Paceline's protocol",
            Self::Version => "speaks another version of the protocol",
            Self::WrongToken => "does not know the run's token",
            Self::TooSlow => "did not finish the handshake in time",
            Self::Truncated => "closed during the handshake",
            Self::Tls => "failed in TLS",
            Self::SpeaksTls => "speaks TLS, which this training does not",
            Self::SpeaksPlain => "does not speak TLS, which this training does",
            Self::Crowded => "gave way: too many handshakes at once",
            Self::Unclaimed => "was proven but not claimed",
            Self::System => "failed for want of system resources",
        })
    }
}

/// The first refusal for a cause: worth one line in a log. Later ones are only
/// counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRefusal {
    /// Why.
    pub cause: Cause,
    /// Where the connection came from, as far as the system knows.
    pub from: String,
}

/// Refusals of a listener, counted by cause. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Refusals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    counts: [AtomicU64; Cause::ALL.len()],
    firsts: Mutex<Vec<FirstRefusal>>,
}

impl Refusals {
    /// How many were refused for `cause`.
    pub fn count(&self, cause: Cause) -> u64 {
        self.0.counts[cause as usize].load(Ordering::Relaxed)
    }

    /// How many were refused.
    pub fn total(&self) -> u64 {
        Cause::ALL.into_iter().map(|cause| self.count(cause)).sum()
    }

    /// The first refusals since the last call, at most one for each cause in a
    /// listener's life.
    pub fn take_firsts(&self) -> Vec<FirstRefusal> {
        let mut firsts = self.0.firsts.lock();
        std::mem::take(&mut firsts)
    }

    pub(crate) fn add(&self, cause: Cause, from: &str) {
        if self.0.counts[cause as usize].fetch_add(1, Ordering::Relaxed) == 0 {
            self.0.firsts.lock().push(FirstRefusal {
                cause,
                from: from.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_cause_and_told_once() {
        let refusals = Refusals::default();
        for _ in 0..3 {
            refusals.clone().add(Cause::Version, "10.0.0.1:5");
        }
        refusals.add(Cause::Silent, "10.0.0.2:6");
        assert_eq!(refusals.count(Cause::Version), 3);
        assert_eq!(refusals.total(), 4);
        let causes: Vec<_> = refusals.take_firsts().iter().map(|f| f.cause).collect();
        assert_eq!(causes, [Cause::Version, Cause::Silent]);
        refusals.add(Cause::Version, "10.0.0.3:7");
        assert_eq!(refusals.take_firsts(), []);
    }

    #[test]
    fn causes_are_indexed_in_order() {
        for (index, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
    }
}
