//! How both ends prove that they know the token without sending it.
//!
//! ```text
//! connecting → listening   hello      magic, version, who, nonce
//! listening → connecting   challenge  magic, version, who, nonce
//! connecting → listening   proof      HMAC(token, "connect", hello, challenge, session)
//! listening → connecting   verdict    code, HMAC(token, "listen", code, hello, challenge, proof, session)
//! ```
//!
//! Both nonces are in both MACs, so that a recorded handshake proves nothing
//! later; so are both identities, so that nobody speaks for another; the
//! purposes differ, so that a proof cannot be reflected. `session` is what TLS
//! derived, if there is TLS: a MAC cannot be carried from one session into
//! another. The connecting end proves itself first; a port scanner gets at most
//! a nonce.

use std::io;

use hmac::Mac;
use thiserror::Error;

use crate::deadline::Deadline;
use crate::member::{Member, Role};
use crate::stream::{ExactError, Stream};
use crate::token::{RandomnessError, Token, random_bytes};

/// The version of handshake and frames that this build speaks.
pub const PROTOCOL_VERSION: u16 = 4;

const MAGIC: [u8; 8] = *b"PACELINE";
/// How a record of TLS begins: its type, and the protocol's major version.
const RECORD: [u8; 2] = [0x16, 3];
const ALERT: u8 = 0x15;
const INTRODUCTION_BYTES: usize = 56;
const MAC_BYTES: usize = 32;
const VERDICT_BYTES: usize = 1 + MAC_BYTES;

const ACCEPTED: u8 = 0;
const WRONG_TOKEN: u8 = 1;

/// Who speaks, and a nonce: the hello and the challenge have one layout.
///
/// ```text
///  0  magic        8 bytes
///  8  version      u16
/// 10  role         u8
/// 11  reserved     u8, zero
/// 12  rank         u32
/// 16  incarnation  u32
/// 20  reserved     u32, zero
/// 24  nonce        32 bytes
/// ```
struct Introduction([u8; INTRODUCTION_BYTES]);

impl Introduction {
    fn new(me: Member) -> Result<Self, RandomnessError> {
        let mut bytes = [0; INTRODUCTION_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        bytes[10] = me.role.code();
        bytes[12..16].copy_from_slice(&me.rank.to_le_bytes());
        bytes[16..20].copy_from_slice(&me.incarnation.to_le_bytes());
        bytes[24..].copy_from_slice(&random_bytes::<32>()?);
        Ok(Self(bytes))
    }

    fn version(&self) -> u16 {
        u16::from_le_bytes([self.0[8], self.0[9]])
    }

    fn member(&self) -> Option<Member> {
        let number =
            |at: usize| u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"));
        let reserved_are_zero = self.0[11] == 0 && number(20) == 0;
        Some(Member {
            role: Role::from_code(self.0[10]).filter(|_| reserved_are_zero)?,
            rank: number(12),
            incarnation: number(16),
        })
    }

    /// Reads the magic and version first, so that a stranger is known by its
    /// first bytes and an old member by its version, whatever follows.
    fn read(stream: &Stream, deadline: Deadline) -> Result<Self, HandshakeError> {
        let mut bytes = [0; INTRODUCTION_BYTES];
        // The shortest record of TLS is shorter than the magic.
        stream
            .read_exact(&mut bytes[..RECORD.len()], deadline)
            .map_err(|error| match error {
                ExactError::Ended(0) => HandshakeError::Silent,
                other => other.into(),
            })?;
        if is_tls(&bytes) {
            return Err(HandshakeError::SpeaksTls);
        }
        stream.read_exact(&mut bytes[RECORD.len()..MAGIC.len()], deadline)?;
        if bytes[..MAGIC.len()] != MAGIC {
            return Err(HandshakeError::NotPaceline);
        }
        stream.read_exact(&mut bytes[8..10], deadline)?;
        let introduction = Self(bytes);
        if introduction.version() != PROTOCOL_VERSION {
            return Err(HandshakeError::Version(introduction.version()));
        }
        let Self(mut bytes) = introduction;
        stream.read_exact(&mut bytes[10..], deadline)?;
        Ok(Self(bytes))
    }
}

/// Whether a peer that should introduce itself begins, or refuses, TLS.
fn is_tls(bytes: &[u8]) -> bool {
    [RECORD[0], ALERT].contains(&bytes[0]) && bytes[1] == RECORD[1]
}

/// Why a handshake failed. Sizes are fixed and one deadline covers all of it.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The peer closed the connection without a word.
    #[error("the peer closed the connection without a word")]
    Silent,
    /// The peer speaks another protocol.
    #[error("the peer does not speak Paceline's protocol")]
    NotPaceline,
    /// The peer speaks another version.
    #[error("the peer speaks version {0} of the protocol, not {PROTOCOL_VERSION}")]
    Version(u16),
    /// The peer introduced itself as nobody.
    #[error("the peer introduced itself with an unknown role")]
    Nobody,
    /// The peer does not know the token.
    #[error("the peer does not know the run's token")]
    WrongToken,
    /// The peer says that this end does not know the token.
    #[error("the peer refused the token")]
    Refused,
    /// The peer did not finish in time.
    #[error("the peer did not finish the handshake in time")]
    TimedOut,
    /// The peer closed the connection in the middle.
    #[error("the peer closed the connection during the handshake")]
    Truncated,
    /// The peer speaks TLS, and this end does not.
    #[error("the peer speaks TLS and this end does not: --tls is for all members or for none")]
    SpeaksTls,
    /// The peer does not speak TLS, and this end does.
    #[error("this end speaks TLS and the peer does not: --tls is for all members or for none")]
    SpeaksPlain,
    /// TLS failed: the peer has another token's key, or spoke it wrongly.
    #[error("TLS failed")]
    Tls(#[source] io::Error),
    /// The connection failed.
    #[error("the connection failed during the handshake")]
    Io(#[source] io::Error),
    /// The system gives no random bytes.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

impl From<ExactError> for HandshakeError {
    fn from(error: ExactError) -> Self {
        match error {
            ExactError::TimedOut => Self::TimedOut,
            ExactError::Ended(_) => Self::Truncated,
            ExactError::Io(error) if is_cut(&error) => Self::Truncated,
            ExactError::Io(error) => Self::Io(error),
        }
    }
}

/// Whether the peer is gone, which says nothing about what it knows.
fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
    )
}

/// Proves `me` to a listening peer; returns who it is.
pub(crate) fn connect(
    stream: &Stream,
    token: &Token,
    me: Member,
    deadline: Deadline,
) -> Result<Member, HandshakeError> {
    let session = secure(stream, deadline)?;
    let hello = Introduction::new(me)?;
    stream.write_all(&hello.0, deadline)?;

    let challenge = Introduction::read(stream, deadline)?;
    let peer = challenge.member().ok_or(HandshakeError::Nobody)?;
    let proof = proof(token, &hello, &challenge, session.as_ref());
    let proof: [u8; MAC_BYTES] = proof.finalize().into_bytes().into();
    stream.write_all(&proof, deadline)?;

    let mut verdict = [0; VERDICT_BYTES];
    stream.read_exact(&mut verdict, deadline)?;
    let expected = verdict_mac(
        token,
        verdict[0],
        &hello,
        &challenge,
        &proof,
        session.as_ref(),
    );
    match verdict[0] {
        // A refusal cannot be proven: who refuses has another token.
        WRONG_TOKEN => Err(HandshakeError::Refused),
        ACCEPTED if expected.verify_slice(&verdict[1..]).is_ok() => Ok(peer),
        _ => Err(HandshakeError::WrongToken),
    }
}

/// Has a connecting peer prove itself to `me`; returns who it is.
pub(crate) fn listen(
    stream: &Stream,
    token: &Token,
    me: Member,
    deadline: Deadline,
) -> Result<Member, HandshakeError> {
    let session = secure(stream, deadline)?;
    let challenge = Introduction::new(me)?;
    let hello = match Introduction::read(stream, deadline) {
        Err(error @ HandshakeError::Version(_)) => {
            // The peer learns this end's version from the challenge, and can
            // say what is wrong.
            stream.write_all(&challenge.0, deadline)?;
            return Err(error);
        }
        Err(error @ HandshakeError::SpeaksTls) => {
            // Any answer that is no TLS tells the peer. Its greeting is read to
            // the end: closing with bytes unread would take the answer back.
            let mut rest = [0; 3];
            stream.read_exact(&mut rest, deadline)?;
            let mut greeting = vec![0; u16::from_be_bytes([rest[1], rest[2]]).into()];
            stream.read_exact(&mut greeting, deadline)?;
            stream.write_all(&challenge.0, deadline)?;
            return Err(error);
        }
        other => other?,
    };
    let peer = hello.member().ok_or(HandshakeError::Nobody)?;
    stream.write_all(&challenge.0, deadline)?;

    let mut shown = [0; MAC_BYTES];
    stream.read_exact(&mut shown, deadline)?;
    if proof(token, &hello, &challenge, session.as_ref())
        .verify_slice(&shown)
        .is_err()
    {
        let mut verdict = [0; VERDICT_BYTES];
        verdict[0] = WRONG_TOKEN;
        stream.write_all(&verdict, deadline)?;
        return Err(HandshakeError::WrongToken);
    }
    let mac = verdict_mac(
        token,
        ACCEPTED,
        &hello,
        &challenge,
        &shown,
        session.as_ref(),
    );
    let mut verdict = [ACCEPTED; VERDICT_BYTES];
    verdict[1..].copy_from_slice(&mac.finalize().into_bytes());
    stream.write_all(&verdict, deadline)?;
    Ok(peer)
}

fn secure(stream: &Stream, deadline: Deadline) -> Result<Option<[u8; 32]>, HandshakeError> {
    stream.secure(deadline).map_err(|error| match error {
        ExactError::TimedOut => HandshakeError::TimedOut,
        ExactError::Ended(_) => HandshakeError::Truncated,
        ExactError::Io(error) if is_cut(&error) => HandshakeError::Truncated,
        ExactError::Io(error) if is_no_tls(&error) => HandshakeError::SpeaksPlain,
        ExactError::Io(error) => HandshakeError::Tls(error),
    })
}

/// Whether what came was no record of TLS at all.
fn is_no_tls(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    matches!(
        cause,
        Some(rustls::Error::InvalidMessage(
            rustls::InvalidMessage::InvalidContentType
        ))
    )
}

type HmacSha256 = hmac::Hmac<sha2::Sha256>;

fn proof(
    token: &Token,
    hello: &Introduction,
    challenge: &Introduction,
    session: Option<&[u8; 32]>,
) -> HmacSha256 {
    let mut mac = token.mac("paceline connect 1");
    mac.update(&hello.0);
    mac.update(&challenge.0);
    // All parts have fixed sizes; with or without a session, no two
    // transcripts are the same bytes.
    mac.update(&[u8::from(session.is_some())]);
    mac.update(session.map_or(&[], |secret| secret));
    mac
}

fn verdict_mac(
    token: &Token,
    code: u8,
    hello: &Introduction,
    challenge: &Introduction,
    proof: &[u8; MAC_BYTES],
    session: Option<&[u8; 32]>,
) -> HmacSha256 {
    let mut mac = token.mac("paceline listen 1");
    mac.update(&[code]);
    mac.update(&hello.0);
    mac.update(&challenge.0);
    mac.update(proof);
    mac.update(&[u8::from(session.is_some())]);
    mac.update(session.map_or(&[], |secret| secret));
    mac
}
