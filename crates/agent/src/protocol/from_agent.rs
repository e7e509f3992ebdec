//! What an agent says of itself.

use super::bytes::{Reader, Writer};
use super::node_message::{FIRST_NUMBERED, NodeMessage};
use super::{ProtocolError, bytes_of};
use paceline_model::{Machine, NodeName};
use paceline_wire::{Frame, Header, Kind};

/// What an agent says to its controller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FromAgent {
    /// Who it is: the first message of every connection.
    Hello(Box<Hello>),
    /// The answer to a ping, with the times by the agent's own clocks.
    Pong {
        /// As the ping had it.
        sent_us: u64,
        /// When it came.
        received_us: u64,
        /// When this answer left.
        replied_us: u64,
        /// The same instant as the wall clock shows it, since 1970.
        wall_us: u64,
    },
    /// Ports of the node on which nobody listens.
    Ports { request: u64, ports: Vec<u16> },
    /// A numbered message about the run.
    Node { number: u64, message: NodeMessage },
}

/// Who an agent is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hello {
    /// The version of the conversation.
    pub(crate) version: u64,
    /// What the controller started the agent as, so that one of an allocation
    /// that is over is not taken for one of the next.
    pub(crate) group: String,
    /// Differs between two agents of the same name.
    pub(crate) life: u64,
    /// The node, by the name under which the user knows it, and its machine.
    pub(crate) machine: Machine,
    /// Where the other nodes reach it.
    pub(crate) address: String,
    pub(crate) pid: u32,
    /// How samples are encoded.
    pub(crate) dictionary: Vec<u8>,
}

const HELLO: u16 = 0x0201;
const PONG: u16 = 0x0202;
const PORTS: u16 = 0x0203;

impl FromAgent {
    /// The message as a frame, whose payload is laid out in `room`.
    pub(crate) fn encode(&self, room: &mut Vec<u8>) -> Header {
        room.clear();
        let mut writer = Writer(room);
        match self {
            Self::Hello(hello) => {
                hello.write(&mut writer);
                Header::new(Kind(HELLO))
            }
            Self::Pong {
                sent_us,
                received_us,
                replied_us,
                wall_us,
            } => {
                let numbers = [*sent_us, *received_us, *replied_us, *wall_us];
                for number in numbers {
                    writer.long(number);
                }
                Header::new(Kind(PONG))
            }
            Self::Ports { request, ports } => {
                writer.long(*request).long(ports.len() as u64);
                for port in ports {
                    writer.long(u64::from(*port));
                }
                Header::new(Kind(PORTS))
            }
            Self::Node { number, message } => {
                let kind = message.encode(room);
                numbered(kind, *number)
            }
        }
    }

    pub(crate) fn decode(frame: &Frame<'_>) -> Result<Self, ProtocolError> {
        let Header { kind, fields, .. } = frame.header;
        Self::from_parts(kind.0, fields[0], bytes_of(frame)?)
    }

    pub(super) fn from_parts(kind: u16, number: u64, bytes: &[u8]) -> Result<Self, ProtocolError> {
        let reader = |name| Reader::new(name, bytes);
        match kind {
            HELLO => {
                let mut reader = reader("hello");
                let hello = Hello::read(&mut reader)?;
                reader.done(Self::Hello(Box::new(hello)))
            }
            PONG => {
                let mut reader = reader("pong");
                let pong = Self::Pong {
                    sent_us: reader.long()?,
                    received_us: reader.long()?,
                    replied_us: reader.long()?,
                    wall_us: reader.long()?,
                };
                reader.done(pong)
            }
            PORTS => {
                let mut reader = reader("ports");
                let request = reader.long()?;
                let mut ports = Vec::new();
                for _ in 0..reader.count(8)? {
                    let port = u16::try_from(reader.long()?);
                    ports.push(port.map_err(|_| reader.malformed("a port is too large"))?);
                }
                reader.done(Self::Ports { request, ports })
            }
            kind if kind >= FIRST_NUMBERED => Ok(Self::Node {
                number,
                message: NodeMessage::decode(kind, bytes)?,
            }),
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "from an agent",
            }),
        }
    }
}

/// The header of a node message that was encoded before it had a connection.
pub(crate) fn numbered(kind: u16, number: u64) -> Header {
    Header::new(Kind(kind)).with_fields([number, 0, 0])
}

impl Hello {
    fn write(&self, writer: &mut Writer<'_>) {
        let machine = &self.machine;
        writer
            .long(self.version)
            .text(&self.group)
            .long(self.life)
            .text(machine.node.as_str())
            .text(&machine.os)
            .text(&machine.kernel)
            .text(&machine.architecture)
            .maybe_text(machine.cpu_model.as_deref())
            .long(u64::from(machine.cpus_count))
            .maybe(machine.memory_bytes)
            .text(&self.address)
            .long(u64::from(self.pid))
            .bytes(&self.dictionary);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            version: reader.long()?,
            group: reader.text()?,
            life: reader.long()?,
            machine: Machine {
                node: NodeName::from_host(&reader.text()?),
                os: reader.text()?,
                kernel: reader.text()?,
                architecture: reader.text()?,
                cpu_model: reader.maybe_text()?,
                cpus_count: reader.word()?.max(1),
                memory_bytes: reader.maybe()?,
            },
            address: reader.text()?,
            pid: reader.word()?,
            dictionary: reader.bytes()?.to_vec(),
        })
    }
}
