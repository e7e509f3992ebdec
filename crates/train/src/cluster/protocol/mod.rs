//! What the members of a training say to each other: one enum per direction,
//! one meaning per message.
//!
//! | Enum | Who speaks | Who listens |
//! |---|---|---|
//! | [`ToServer`] | a worker | a server |
//! | [`FromServer`] | a server | a worker |
//! | [`ToController`] | a server, or a worker that sums with its peers | the controller |
//! | [`FromController`] | the controller | a server, or such a worker |
//!
//! Peers that sum send each other nothing but parts of sums, which
//! `paceline_wire::Group` frames itself.
//!
//! `encode` gives a frame's header and its payload, which borrows: an update
//! and the parameters go from where they lie to the socket. `decode` refuses
//! what it does not know, by name: a number of another direction, a field or a
//! flag that a message does not have, a text that is none. Whatever decodes,
//! encodes to the same bytes again.
//!
//! `docs/design/protocol.md` describes the conversation, for whoever writes
//! another member.

mod bytes;
mod from_controller;
mod from_server;
mod group;
mod snapshot;
#[cfg(test)]
mod tests;
mod to_controller;
mod to_server;
mod worker_totals;

pub(crate) use from_controller::FromController;
pub(crate) use from_server::{FromServer, Grant};
pub(crate) use group::{Activity, JoinRequest, Roster};
pub(crate) use snapshot::{Buffer, Caption, SnapshotPart};
pub(crate) use to_controller::{Subject, ToController};
pub(crate) use to_server::{TRAILER, ToServer, tally_of, trailer};

use paceline_wire::{Frame, Header, Kind, Payload, PayloadError};

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
    /// The message is sound, but not for this member, or not now.
    #[error("a message `{name}` that is out of place here")]
    OutOfPlace { name: &'static str },
}

/// No training takes so many steps, nor sees so many rows. A larger count would
/// overflow whoever adds to it.
pub(super) const MOST_COUNT: u64 = 1 << 62;

/// A frame, taken apart. Everything must be taken: [`Parts::done`] objects to
/// what is left.
struct Parts<'a> {
    name: &'static str,
    flags: u8,
    fields: [Option<u64>; 3],
    payload: Option<Payload<'a>>,
}

impl<'a> Parts<'a> {
    fn new(name: &'static str, header: &Header, payload: Payload<'a>) -> Self {
        Self {
            name,
            flags: header.flags,
            fields: header.fields.map(Some),
            payload: Some(payload),
        }
    }

    fn malformed(&self, what: &'static str) -> ProtocolError {
        ProtocolError::Malformed {
            name: self.name,
            what,
        }
    }

    fn long(&mut self, at: usize) -> u64 {
        self.fields[at].take().expect("a field is taken once")
    }

    /// A clock, or a number of steps.
    fn count(&mut self, at: usize) -> Result<u64, ProtocolError> {
        let value = self.long(at);
        match value <= MOST_COUNT {
            true => Ok(value),
            false => Err(self.malformed("a number is too large")),
        }
    }

    fn word(&mut self, at: usize) -> Result<u32, ProtocolError> {
        let value = self.long(at);
        u32::try_from(value).map_err(|_| self.malformed("a number is too large"))
    }

    /// A number that may be missing: zero, or one more than it is.
    fn maybe_word(&mut self, at: usize) -> Result<Option<u32>, ProtocolError> {
        match self.long(at).checked_sub(1) {
            None => Ok(None),
            Some(value) => u32::try_from(value)
                .map(Some)
                .map_err(|_| self.malformed("a number is too large")),
        }
    }

    fn flag(&mut self, flag: u8) -> bool {
        let is_set = self.flags & flag != 0;
        self.flags &= !flag;
        is_set
    }

    fn payload(&mut self) -> Payload<'a> {
        self.payload.take().expect("a payload is taken once")
    }

    fn bytes(&mut self) -> Result<&'a [u8], ProtocolError> {
        match self.payload() {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(self.malformed("it carries numbers where bytes are due")),
        }
    }

    fn text(&mut self) -> Result<&'a str, ProtocolError> {
        let bytes = self.bytes()?;
        str::from_utf8(bytes).map_err(|_| self.malformed("its text is not UTF-8"))
    }

    fn dense(&mut self) -> Result<&'a [f32], ProtocolError> {
        match self.payload() {
            Payload::Dense(values) => Ok(values),
            _ => Err(self.malformed("it carries no consecutive numbers")),
        }
    }

    /// Nothing may be left.
    fn done<M>(self, message: M) -> Result<M, ProtocolError> {
        if self.flags != 0 {
            return Err(self.malformed("it has an unknown flag"));
        }
        if self.fields.iter().flatten().any(|field| *field != 0) {
            return Err(self.malformed("it has a field too many"));
        }
        match self.payload {
            None => Ok(message),
            Some(payload) if payload == Payload::NONE => Ok(message),
            Some(_) => Err(self.malformed("it has a payload")),
        }
    }
}

/// The payload of a frame for [`Parts`].
fn payload_of<'a>(frame: &Frame<'a>) -> Result<Payload<'a>, ProtocolError> {
    frame.payload().map_err(|error| ProtocolError::Malformed {
        name: "frame",
        what: match error {
            PayloadError::Length { .. } => "its length does not suit its encoding",
            PayloadError::Shape { .. } => "its rows and values do not suit each other",
            PayloadError::TooLong(_) => "it is too long",
        },
    })
}

/// One more than the number, or zero for none; see [`Parts::maybe_word`].
fn maybe(number: Option<u32>) -> u64 {
    number.map_or(0, |number| u64::from(number) + 1)
}

/// A mark that is set, or not.
const fn flag(is_set: bool, mark: u8) -> u8 {
    if is_set { mark } else { 0 }
}

/// A header of a message.
const fn header(kind: u16, fields: [u64; 3]) -> Header {
    Header::new(Kind(kind)).with_fields(fields)
}
