//! What an agent says of the run on its node. Times are those of the run's clock
//! on the node, which began at [`NodeMessage::Begun`].

use super::ProtocolError;
use super::bytes::{Reader, Writer};
use paceline_engine::Usage;
use paceline_model::{ExitStatus, Stream};

/// What an agent says of the run on its node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeMessage {
    /// The commands are started. The run's clock on the node read zero when the
    /// agent's read `zero_us`.
    Begun {
        run: u64,
        zero_us: u64,
    },
    /// The commands are not started.
    Refused {
        run: u64,
        why: Refusal,
        what: String,
    },
    Started {
        worker: u32,
        at: u64,
        pid: i32,
    },
    Output {
        worker: u32,
        stream: Stream,
        at: u64,
        bytes: Vec<u8>,
    },
    /// In the encoding that the agent's dictionary names.
    Sample {
        bytes: Vec<u8>,
    },
    Suspended {
        worker: u32,
        stopped: bool,
        at: u64,
    },
    /// What was appended to the file of reports.
    Reports {
        at: u64,
        bytes: Vec<u8>,
    },
    Exited {
        worker: u32,
        at: u64,
        status: ExitStatus,
        usage: Usage,
    },
    /// All commands have exited, and nothing more follows of this run.
    Ended {
        run: u64,
        leftovers: u32,
        memory_kills: u64,
        /// CPU seconds and number of samples, if the node was sampled.
        probe: Option<(f64, u64)>,
    },
}

/// Who is at fault if commands are not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The command: there is no such program or directory.
    Command,
    /// The node.
    Node,
}

/// Kinds from here on are numbered messages.
pub(super) const FIRST_NUMBERED: u16 = 0x0300;

const BEGUN: u16 = 0x0301;
const REFUSED: u16 = 0x0302;
const STARTED: u16 = 0x0303;
const OUTPUT: u16 = 0x0304;
const SAMPLE: u16 = 0x0305;
const SUSPENDED: u16 = 0x0306;
const REPORTS: u16 = 0x0307;
const EXITED: u16 = 0x0308;
const ENDED: u16 = 0x0309;

impl NodeMessage {
    /// Lays the payload out in `room`; the kind is that of its frame.
    pub(crate) fn encode(&self, room: &mut Vec<u8>) -> u16 {
        room.clear();
        let mut writer = Writer(room);
        match self {
            Self::Begun { run, zero_us } => {
                writer.long(*run).long(*zero_us);
                BEGUN
            }
            Self::Refused { run, why, what } => {
                let code = match why {
                    Refusal::Command => 1,
                    Refusal::Node => 2,
                };
                writer.long(*run).long(code).text(what);
                REFUSED
            }
            Self::Started { worker, at, pid } => {
                writer.long(u64::from(*worker)).long(*at);
                writer.signed(i64::from(*pid));
                STARTED
            }
            Self::Output {
                worker,
                stream,
                at,
                bytes,
            } => {
                let stream = match stream {
                    Stream::Out => 1,
                    Stream::Err => 2,
                };
                writer.long(u64::from(*worker)).long(stream).long(*at);
                room.extend_from_slice(bytes);
                OUTPUT
            }
            Self::Sample { bytes } => {
                room.extend_from_slice(bytes);
                SAMPLE
            }
            Self::Suspended {
                worker,
                stopped,
                at,
            } => {
                writer.long(u64::from(*worker)).long(*at);
                writer.long(u64::from(*stopped));
                SUSPENDED
            }
            Self::Reports { at, bytes } => {
                writer.long(*at);
                room.extend_from_slice(bytes);
                REPORTS
            }
            Self::Exited {
                worker,
                at,
                status,
                usage,
            } => {
                let (how, number) = match status {
                    ExitStatus::Exited(code) => (1, *code),
                    ExitStatus::Signalled(signal) => (2, *signal),
                    ExitStatus::Lost => (3, 0),
                };
                writer.long(u64::from(*worker)).long(*at).long(how);
                writer
                    .signed(i64::from(number))
                    .real(usage.cpu_user_s)
                    .real(usage.cpu_system_s)
                    .long(usage.max_rss_bytes);
                EXITED
            }
            Self::Ended {
                run,
                leftovers,
                memory_kills,
                probe,
            } => {
                writer.long(*run).long(u64::from(*leftovers));
                writer.long(*memory_kills);
                writer.maybe(probe.map(|(_, samples)| samples));
                writer.real(probe.map_or(0.0, |(cpu_s, _)| cpu_s));
                ENDED
            }
        }
    }

    pub(crate) fn decode(kind: u16, bytes: &[u8]) -> Result<Self, ProtocolError> {
        let reader = |name| Reader::new(name, bytes);
        match kind {
            BEGUN => {
                let mut reader = reader("begun");
                let (run, zero_us) = (reader.long()?, reader.long()?);
                reader.done(Self::Begun { run, zero_us })
            }
            REFUSED => {
                let mut reader = reader("refused");
                let run = reader.long()?;
                let why = match reader.long()? {
                    1 => Refusal::Command,
                    2 => Refusal::Node,
                    _ => return Err(reader.malformed("nobody known is at fault")),
                };
                let what = reader.text()?;
                reader.done(Self::Refused { run, why, what })
            }
            STARTED => {
                let mut reader = reader("started");
                let (worker, at, pid) = (reader.word()?, reader.long()?, reader.code()?);
                reader.done(Self::Started { worker, at, pid })
            }
            OUTPUT => {
                let mut reader = reader("output");
                let worker = reader.word()?;
                let stream = match reader.long()? {
                    1 => Stream::Out,
                    2 => Stream::Err,
                    _ => return Err(reader.malformed("it is of no stream")),
                };
                let at = reader.long()?;
                let bytes = reader.remainder().to_vec();
                Ok(Self::Output {
                    worker,
                    stream,
                    at,
                    bytes,
                })
            }
            SAMPLE => Ok(Self::Sample {
                bytes: bytes.to_vec(),
            }),
            SUSPENDED => {
                let mut reader = reader("suspended");
                let (worker, at) = (reader.word()?, reader.long()?);
                let stopped = match reader.long()? {
                    0 => false,
                    1 => true,
                    _ => return Err(reader.malformed("it has an unknown mark")),
                };
                reader.done(Self::Suspended {
                    worker,
                    stopped,
                    at,
                })
            }
            REPORTS => {
                let mut reader = reader("reports");
                let at = reader.long()?;
                let bytes = reader.remainder().to_vec();
                Ok(Self::Reports { at, bytes })
            }
            EXITED => exited(reader("exited")),
            ENDED => {
                let mut reader = reader("ended");
                let (run, leftovers) = (reader.long()?, reader.word()?);
                let (memory_kills, samples) = (reader.long()?, reader.maybe()?);
                let cpu_s = reader.real()?;
                reader.done(Self::Ended {
                    run,
                    leftovers,
                    memory_kills,
                    probe: samples.map(|samples| (cpu_s, samples)),
                })
            }
            kind => Err(ProtocolError::Unknown {
                kind,
                direction: "about a run",
            }),
        }
    }
}

fn exited(mut reader: Reader<'_>) -> Result<NodeMessage, ProtocolError> {
    let (worker, at, how, number) = (
        reader.word()?,
        reader.long()?,
        reader.long()?,
        reader.code()?,
    );
    let status = match how {
        1 => ExitStatus::Exited(number),
        2 => ExitStatus::Signalled(number),
        3 => ExitStatus::Lost,
        _ => return Err(reader.malformed("it exited in no known way")),
    };
    let usage = Usage {
        cpu_user_s: reader.real()?,
        cpu_system_s: reader.real()?,
        max_rss_bytes: reader.long()?,
    };
    reader.done(NodeMessage::Exited {
        worker,
        at,
        status,
        usage,
    })
}
