//! What the controller says to an agent.

use super::bytes::{Reader, Writer};
use super::{ProtocolError, bytes_of};
use paceline_wire::{Frame, Header, Kind};

/// What the controller says to an agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToAgent {
    /// The agent is known; of its node messages, those up to this number have
    /// arrived.
    Welcome { received: u64 },
    /// The agent is not wanted, and ends.
    Unwanted { why: String },
    /// The controller is there. `sent_us` is its clock.
    Ping { sent_us: u64, received: u64 },
    /// Node messages up to this number have arrived.
    Ack { received: u64 },
    /// So many free ports are asked for.
    Reserve { request: u64, ports: u32 },
    /// The part of a run that takes place on the agent's node.
    Start(Box<StartRun>),
    /// A signal for the commands of the run.
    Signal { signal: i32 },
    /// Every process of the run is to end at once.
    Kill,
    /// Nothing more will come: the agent ends, and all that it has started.
    Leave,
}

/// The part of a run that takes place on one node.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct StartRun {
    /// The controller's number of the run.
    pub(crate) run: u64,
    /// The run's id.
    pub(crate) id: String,
    /// Paceline's own program, as the controller names it: a command that is it
    /// is the agent's own program here.
    pub(crate) program: String,
    /// The run's record at the controller. Where a command names it, it means a
    /// directory of the node's own, unless the two share their disks.
    pub(crate) record: Option<String>,
    /// The time between two samples, in microseconds.
    pub(crate) interval_us: u64,
    /// The memory of all commands on the node.
    pub(crate) memory_max: Option<u64>,
    /// Whether what outlives the commands is ended.
    pub(crate) ends_leftovers: bool,
    pub(crate) commands: Vec<StartCommand>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct StartCommand {
    pub(crate) worker: u32,
    pub(crate) argv: Vec<Vec<u8>>,
    pub(crate) env: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) cwd: Option<String>,
    /// How many of the node's CPUs it may use; all of them without.
    pub(crate) cpus: Option<u64>,
}

const WELCOME: u16 = 0x0101;
const UNWANTED: u16 = 0x0102;
const PING: u16 = 0x0103;
const ACK: u16 = 0x0104;
const RESERVE: u16 = 0x0105;
const START: u16 = 0x0106;
const SIGNAL: u16 = 0x0107;
const KILL: u16 = 0x0108;
const LEAVE: u16 = 0x0109;

impl ToAgent {
    /// The message as a frame, whose payload is laid out in `room`.
    pub(crate) fn encode(&self, room: &mut Vec<u8>) -> Header {
        room.clear();
        let mut writer = Writer(room);
        let kind = match self {
            Self::Welcome { received } => {
                writer.long(*received);
                WELCOME
            }
            Self::Unwanted { why } => {
                writer.text(why);
                UNWANTED
            }
            Self::Ping { sent_us, received } => {
                writer.long(*sent_us).long(*received);
                PING
            }
            Self::Ack { received } => {
                writer.long(*received);
                ACK
            }
            Self::Reserve { request, ports } => {
                writer.long(*request).long(u64::from(*ports));
                RESERVE
            }
            Self::Start(start) => {
                start.write(&mut writer);
                START
            }
            Self::Signal { signal } => {
                writer.signed(i64::from(*signal));
                SIGNAL
            }
            Self::Kill => KILL,
            Self::Leave => LEAVE,
        };
        Header::new(Kind(kind))
    }

    pub(crate) fn decode(frame: &Frame<'_>) -> Result<Self, ProtocolError> {
        Self::from_parts(frame.header.kind.0, bytes_of(frame)?)
    }

    pub(super) fn from_parts(kind: u16, bytes: &[u8]) -> Result<Self, ProtocolError> {
        let reader = |name| Reader::new(name, bytes);
        match kind {
            WELCOME => {
                let mut reader = reader("welcome");
                let received = reader.long()?;
                reader.done(Self::Welcome { received })
            }
            UNWANTED => {
                let mut reader = reader("unwanted");
                let why = reader.text()?;
                reader.done(Self::Unwanted { why })
            }
            PING => {
                let mut reader = reader("ping");
                let (sent_us, received) = (reader.long()?, reader.long()?);
                reader.done(Self::Ping { sent_us, received })
            }
            ACK => {
                let mut reader = reader("ack");
                let received = reader.long()?;
                reader.done(Self::Ack { received })
            }
            RESERVE => {
                let mut reader = reader("reserve");
                let (request, ports) = (reader.long()?, reader.word()?);
                reader.done(Self::Reserve { request, ports })
            }
            START => {
                let mut reader = reader("start");
                let start = StartRun::read(&mut reader)?;
                reader.done(Self::Start(Box::new(start)))
            }
            SIGNAL => {
                let mut reader = reader("signal");
                let signal = reader.code()?;
                reader.done(Self::Signal { signal })
            }
            KILL => reader("kill").done(Self::Kill),
            LEAVE => reader("leave").done(Self::Leave),
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "to an agent",
            }),
        }
    }
}

impl StartRun {
    fn write(&self, writer: &mut Writer<'_>) {
        writer
            .long(self.run)
            .text(&self.id)
            .text(&self.program)
            .maybe_text(self.record.as_deref())
            .long(self.interval_us)
            .maybe(self.memory_max)
            .long(u64::from(self.ends_leftovers))
            .long(self.commands.len() as u64);
        for command in &self.commands {
            writer.long(u64::from(command.worker));
            writer.long(command.argv.len() as u64);
            for word in &command.argv {
                writer.bytes(word);
            }
            writer.long(command.env.len() as u64);
            for (name, value) in &command.env {
                writer.bytes(name).bytes(value);
            }
            writer
                .maybe_text(command.cwd.as_deref())
                .maybe(command.cpus);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let mut start = Self {
            run: reader.long()?,
            id: reader.text()?,
            program: reader.text()?,
            record: reader.maybe_text()?,
            interval_us: reader.long()?,
            memory_max: reader.maybe()?,
            ends_leftovers: match reader.long()? {
                0 => false,
                1 => true,
                _ => return Err(reader.malformed("it has an unknown mark")),
            },
            commands: Vec::new(),
        };
        for _ in 0..reader.count(42)? {
            let mut command = StartCommand {
                worker: reader.word()?,
                ..StartCommand::default()
            };
            for _ in 0..reader.count(8)? {
                command.argv.push(reader.bytes()?.to_vec());
            }
            for _ in 0..reader.count(16)? {
                let name = reader.bytes()?.to_vec();
                command.env.push((name, reader.bytes()?.to_vec()));
            }
            command.cwd = reader.maybe_text()?;
            command.cpus = reader.maybe()?;
            start.commands.push(command);
        }
        Ok(start)
    }
}
