//! What a server says to a worker.

use paceline_wire::{Frame, Header, Kind, Payload};

use super::{Parts, ProtocolError, flag, header, maybe, payload_of};

/// What a server says to a worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FromServer<'a> {
    /// The worker takes part and starts at iteration `clock`.
    Welcome {
        clock: u64,
        /// How often all servers were taken back to one version.
        generation: u32,
    },
    /// The worker may start an iteration, with these parameters.
    Parameters { grant: Grant, values: Payload<'a> },
    /// The worker does not take part, or broke the rules: it may join again in
    /// life `join_with` or a later one.
    Refused { join_with: u32, reason: &'a str },
    /// The worker trains something else.
    OtherTraining { difference: &'a str },
    /// The server is alive, while the worker waits.
    Heartbeat,
    /// The training is over.
    End {
        /// The worker's last update came too late to count.
        is_late: bool,
    },
}

/// What is said of parameters before they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The iteration that may start.
    pub(crate) clock: u64,
    /// The version of the parameters.
    pub(crate) version: u64,
    /// The worker that was waited for.
    pub(crate) waited_for: Option<u32>,
    /// The receiver's last update came too late to count.
    pub(crate) is_late: bool,
}

const WELCOME: u16 = 0x0201;
const PARAMETERS: u16 = 0x0202;
const REFUSED: u16 = 0x0203;
const OTHER_TRAINING: u16 = 0x0204;
const HEARTBEAT: u16 = 0x0205;
const END: u16 = 0x0206;

const LATE: u8 = 1;

impl Grant {
    /// The kind of frame that carries parameters, for receiving them in place.
    pub(crate) const KIND: Kind = Kind(PARAMETERS);

    /// The grant whose parameters follow a header; none if something else does.
    pub(crate) fn announced_by(header: &Header) -> Result<Option<Self>, ProtocolError> {
        if header.kind != Self::KIND {
            return Ok(None);
        }
        let mut parts = Parts::new("parameters", header, Payload::NONE);
        let grant = Self::take(&mut parts)?;
        parts.done(Some(grant))
    }

    fn take(parts: &mut Parts<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            clock: parts.count(0)?,
            version: parts.count(1)?,
            waited_for: parts.maybe_word(2)?,
            is_late: parts.flag(LATE),
        })
    }

    fn header(&self) -> Header {
        let fields = [self.clock, self.version, maybe(self.waited_for)];
        header(PARAMETERS, fields).with_flags(flag(self.is_late, LATE))
    }
}

impl<'a> FromServer<'a> {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> (Header, Payload<'a>) {
        match *self {
            Self::Welcome { clock, generation } => {
                let fields = [clock, u64::from(generation), 0];
                (header(WELCOME, fields), Payload::NONE)
            }
            Self::Parameters { grant, values } => (grant.header(), values),
            Self::Refused { join_with, reason } => (
                header(REFUSED, [u64::from(join_with), 0, 0]),
                Payload::Bytes(reason.as_bytes()),
            ),
            Self::OtherTraining { difference } => (
                header(OTHER_TRAINING, [0; 3]),
                Payload::Bytes(difference.as_bytes()),
            ),
            Self::Heartbeat => (header(HEARTBEAT, [0; 3]), Payload::NONE),
            Self::End { is_late } => {
                let flags = flag(is_late, LATE);
                (header(END, [0; 3]).with_flags(flags), Payload::NONE)
            }
        }
    }

    pub(crate) fn decode(frame: &Frame<'a>) -> Result<Self, ProtocolError> {
        Self::from_parts(&frame.header, payload_of(frame)?)
    }

    /// The message that a frame's header and payload are.
    pub(crate) fn from_parts(header: &Header, payload: Payload<'a>) -> Result<Self, ProtocolError> {
        let parts = |name| Parts::new(name, header, payload);
        match header.kind.0 {
            WELCOME => {
                let mut parts = parts("welcome");
                let (clock, generation) = (parts.count(0)?, parts.word(1)?);
                parts.done(Self::Welcome { clock, generation })
            }
            PARAMETERS => {
                let mut parts = parts("parameters");
                let grant = Grant::take(&mut parts)?;
                let values = parts.payload();
                if !matches!(values, Payload::Dense(_) | Payload::Half(_)) {
                    return Err(parts.malformed("it carries no consecutive numbers"));
                }
                parts.done(Self::Parameters { grant, values })
            }
            REFUSED => {
                let mut parts = parts("refused");
                let (join_with, reason) = (parts.word(0)?, parts.text()?);
                parts.done(Self::Refused { join_with, reason })
            }
            OTHER_TRAINING => {
                let mut parts = parts("other training");
                let difference = parts.text()?;
                parts.done(Self::OtherTraining { difference })
            }
            HEARTBEAT => parts("heartbeat").done(Self::Heartbeat),
            END => {
                let mut parts = parts("end");
                let is_late = parts.flag(LATE);
                parts.done(Self::End { is_late })
            }
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "to a worker",
            }),
        }
    }
}
