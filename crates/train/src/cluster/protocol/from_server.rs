//! What a server says to a worker.

use std::time::Duration;

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
    /// How long what the receiver sent was there before what it waited for came.
    pub(crate) waited: Duration,
    /// How long either was in the server's queue, or being applied.
    pub(crate) queued: Duration,
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
        let (clock, version) = (parts.count(0)?, parts.count(1)?);
        Ok(Self {
            clock,
            version,
            is_late: parts.flag(LATE),
            ..Self::unpack(parts)?
        })
    }

    fn header(&self) -> Header {
        let fields = [self.clock, self.version, self.packed()];
        header(PARAMETERS, fields).with_flags(flag(self.is_late, LATE))
    }
}

/// The worker in a grant's third field takes the low bits, each time as many above.
const WORKER_BITS: u32 = 24;
const TIME_BITS: u32 = 20;
/// Of a time's bits, so many are its highest ones; the rest count how many were cut off.
const EXACT_BITS: u32 = 14;

impl Grant {
    /// Whom the receiver waited for, and its times, in one number.
    fn packed(&self) -> u64 {
        let worker = maybe(self.waited_for).min((1 << WORKER_BITS) - 1);
        worker | short(self.waited) << WORKER_BITS | short(self.queued) << (WORKER_BITS + TIME_BITS)
    }

    /// A grant of which only [`Grant::packed`] is known.
    fn unpack(parts: &mut Parts<'_>) -> Result<Self, ProtocolError> {
        let packed = parts.long(2);
        let long = |place: u32| {
            let bits = (packed >> place) & ((1 << TIME_BITS) - 1);
            long(bits).ok_or_else(|| parts.malformed("a time is too long"))
        };
        let worker = packed & ((1 << WORKER_BITS) - 1);
        Ok(Self {
            clock: 0,
            version: 0,
            waited_for: u32::try_from(worker).ok().and_then(|w| w.checked_sub(1)),
            is_late: false,
            waited: long(WORKER_BITS)?,
            queued: long(WORKER_BITS + TIME_BITS)?,
        })
    }
}

/// A time in few bits: exact up to 16 microseconds, to 1 in 8,192 above.
fn short(time: Duration) -> u64 {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let cut = (u64::BITS - nanos.leading_zeros()).saturating_sub(EXACT_BITS);
    u64::from(cut) << EXACT_BITS | nanos >> cut
}

fn long(bits: u64) -> Option<Duration> {
    let (cut, high) = (bits >> EXACT_BITS, bits & ((1 << EXACT_BITS) - 1));
    let most = u64::from(u64::BITS - EXACT_BITS);
    (cut <= most).then(|| Duration::from_nanos(high << cut))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_time_is_exact_and_a_long_one_nearly() {
        for nanos in [0, 1, 16_383, 16_384, 999_999, 71_000_000_000, u64::MAX] {
            let back = long(short(Duration::from_nanos(nanos))).unwrap().as_nanos() as f64;
            assert!(nanos as f64 - back <= nanos as f64 / 8_192.0, "{nanos}");
            assert!(back <= nanos as f64 && short(Duration::from_nanos(nanos)) < 1 << TIME_BITS);
        }
        assert_eq!(long((1 << TIME_BITS) - 1), None);
    }
}
