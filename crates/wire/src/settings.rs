//! What a caller decides about its connections.

use std::time::Duration;

use crate::impairment::Impairment;
use crate::member::Member;
use crate::token::Token;

/// Who this end is, what it knows, and how it protects what it sends.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Who this end is.
    pub me: Member,
    /// What every member of the run knows.
    pub token: Token,
    /// How the bytes are protected.
    pub security: Security,
}

/// How the bytes of a connection are protected. Both ends must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Only the handshake is protected: for one host, or a network that the
    /// run trusts. Who can alter packets can alter frames.
    #[default]
    Plain,
    /// TLS 1.3 with a key that the token implies.
    Tls,
}

/// Limits and tuning of connections. Every wait and every buffer has a bound.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a whole handshake may take.
    pub handshake_timeout: Duration,
    /// How many connections may be in their handshake at once. Beyond it the
    /// oldest is dropped: a member finishes in an instant, who dawdles does not.
    pub handshakes_at_once: usize,
    /// The longest payload that is accepted, in bytes.
    pub frame_limit: u32,
    /// How long a send may wait for a peer that does not read.
    pub send_timeout: Duration,
    /// How many bytes may be posted and unsent before the peer is given up.
    pub backlog_limit: usize,
    /// How long a receive polls before it blocks. A blocked thread is woken
    /// later than a polling one sees its message; a polling thread keeps a
    /// core busy.
    pub spin: Duration,
    /// The kernel's send buffer in bytes; `None` leaves the system's.
    pub send_buffer: Option<usize>,
    /// Whether large payloads between processes of one host stay in memory
    /// that both see, and only their headers go through the Unix socket.
    pub shared_memory: bool,
    /// A slower network than there is, for experiments.
    pub impairment: Impairment,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            handshake_timeout: Duration::from_secs(5),
            handshakes_at_once: 64,
            frame_limit: 1 << 30,
            send_timeout: Duration::from_secs(30),
            backlog_limit: 256 << 20,
            spin: Duration::from_micros(50),
            send_buffer: None,
            shared_memory: true,
            impairment: Impairment::NONE,
        }
    }
}
