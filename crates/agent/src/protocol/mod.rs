//! What a controller and its agents say to each other: one enum per direction,
//! one meaning per message.
//!
//! | Enum | Who speaks | Numbered |
//! |---|---|---|
//! | [`ToAgent`] | the controller | no |
//! | [`FromAgent`] | an agent, about itself and the line | no |
//! | [`NodeMessage`] | an agent, about the run on its node | yes |
//!
//! A node message has a number, from one on without a gap, for as long as the
//! agent lives. The agent keeps it until the controller says that it has
//! arrived, and sends it again over the next connection if it has not; what
//! arrives twice is taken once.
//!
//! Whatever decodes, encodes to the same bytes again; what is not known is
//! refused by name.

mod bytes;
mod from_agent;
mod node_message;
#[cfg(test)]
mod tests;
mod to_agent;

pub(crate) use from_agent::{FromAgent, Hello, numbered};
pub(crate) use node_message::{NodeMessage, Refusal};
pub(crate) use to_agent::{StartCommand, StartRun, ToAgent};

use paceline_wire::{Frame, Payload};

/// The version of the conversation; both ends must have the same.
pub(crate) const VERSION: u64 = 1;

/// The longest payload that either end accepts.
pub(crate) const FRAME_LIMIT: u32 = 8 << 20;

/// Why a frame is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolError {
    /// No message of this direction has the number.
    #[error("message {kind:#06x}, which nobody sends {direction}")]
    Unknown { kind: u16, direction: &'static str },
    /// The message lacks something, has too much, or contradicts itself.
    #[error("a malformed message `{name}`: {what}")]
    Malformed {
        name: &'static str,
        what: &'static str,
    },
}

/// The bytes of a frame's payload.
fn bytes_of<'a>(frame: &Frame<'a>) -> Result<&'a [u8], ProtocolError> {
    match frame.payload() {
        Ok(Payload::Bytes(bytes)) => Ok(bytes),
        _ => Err(ProtocolError::Malformed {
            name: "frame",
            what: "it carries numbers where bytes are due",
        }),
    }
}
