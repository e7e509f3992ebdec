//! One connection of an agent with its controller.

use super::task::Task;
use super::{Shared, Stop, wall_us};
use crate::protocol::{FromAgent, Hello, NodeMessage, Refusal, ToAgent, numbered};
use paceline_model::Micros;
use paceline_wire::{Connection, Deadline, Payload, ReceiveError, SendError, WriteHalf};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a conversation ended.
pub(super) enum Ended {
    /// The controller has let the agent go.
    Left,
    /// The controller does not want it.
    Unwanted(String),
    /// A signal asked it to end.
    Stopped,
    /// The line is cut; the controller was heard last at this time.
    Cut { heard: Micros },
}

/// How often the agent looks whether it is to end, while nothing is heard.
const GLANCE: Duration = Duration::from_millis(500);
/// How long the sender waits for something to send before it looks around.
const IDLE: Duration = Duration::from_secs(1);

/// Talks until the connection ends.
pub(super) fn converse(
    shared: &Arc<Shared>,
    connection: Connection,
    hello: Hello,
    stop: &Stop,
) -> Ended {
    let (mut reader, writer) = connection.split();
    let line = Line {
        writer: Mutex::new(writer),
        is_closed: AtomicBool::new(false),
    };
    let mut heard = shared.clock.now();
    if line.say(&FromAgent::Hello(Box::new(hello))).is_err() {
        return Ended::Cut { heard };
    }
    std::thread::scope(|scope| {
        let mut sender = None;
        let ended = loop {
            if stop.is_asked() {
                break Ended::Stopped;
            }
            let message = match reader.receive(Deadline::after(GLANCE)) {
                Ok(frame) => match ToAgent::decode(&frame) {
                    Ok(message) => message,
                    Err(_) => break Ended::Cut { heard },
                },
                Err(ReceiveError::TimedOut) => {
                    let silent = Duration::from(shared.clock.now().since(heard));
                    if silent >= shared.silence / 2 || line.is_closed() {
                        break Ended::Cut { heard };
                    }
                    continue;
                }
                Err(_) => break Ended::Cut { heard },
            };
            heard = shared.clock.now();
            match message {
                ToAgent::Welcome { received } => {
                    shared.spool.connected(received);
                    if sender.is_none() {
                        let line = &line;
                        let started = std::thread::Builder::new()
                            .name("sender".to_owned())
                            .spawn_scoped(scope, move || send_all(shared, line));
                        match started {
                            Ok(thread) => sender = Some(thread),
                            Err(_) => break Ended::Cut { heard },
                        }
                    }
                }
                ToAgent::Unwanted { why } => break Ended::Unwanted(why),
                ToAgent::Leave => break Ended::Left,
                message => {
                    if act(shared, &line, message, heard).is_err() {
                        break Ended::Cut { heard };
                    }
                }
            }
        };
        line.close();
        ended
    })
}

/// The sending half, which two threads use.
struct Line {
    writer: Mutex<WriteHalf>,
    is_closed: AtomicBool,
}

impl Line {
    fn say(&self, message: &FromAgent) -> Result<(), SendError> {
        let mut room = Vec::new();
        let header = message.encode(&mut room);
        self.writer.lock().send(&header, Payload::Bytes(&room))
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.writer.lock().close();
    }
}

/// Sends what waits in the spool until the line is closed.
fn send_all(shared: &Shared, line: &Line) {
    while !line.is_closed() {
        let next = match shared.spool.next(IDLE) {
            Ok(Some(next)) => next,
            Ok(None) => continue,
            Err(_) => break,
        };
        let header = numbered(next.kind, next.number);
        let sent = line
            .writer
            .lock()
            .send(&header, Payload::Bytes(&next.bytes));
        if sent.is_err() {
            break;
        }
    }
    line.close();
}

/// Does what the controller says.
fn act(
    shared: &Arc<Shared>,
    line: &Line,
    message: ToAgent,
    received: Micros,
) -> Result<(), SendError> {
    match message {
        ToAgent::Ping {
            sent_us,
            received: arrived,
        } => {
            shared.spool.arrived(arrived);
            let replied = shared.clock.now().0;
            return line.say(&FromAgent::Pong {
                sent_us,
                received_us: received.0,
                replied_us: replied,
                wall_us: wall_us(&shared.clock, replied),
            });
        }
        ToAgent::Ack { received } => shared.spool.arrived(received),
        ToAgent::Reserve { request, ports } => {
            // A node without ports answers with none, and the controller says so.
            let ports = paceline_engine::host::free_ports(ports as usize).unwrap_or_default();
            return line.say(&FromAgent::Ports { request, ports });
        }
        ToAgent::Start(start) => {
            let run = start.run;
            let mut task = shared.task.lock();
            let begun = match &*task {
                Some(busy) if !busy.is_over_soon() => {
                    Err((Refusal::Node, "another run takes place".to_owned()))
                }
                _ => Task::start(shared, *start),
            };
            match begun {
                Ok(begun) => *task = Some(begun),
                Err((why, what)) => {
                    let mut room = Vec::new();
                    let kind = NodeMessage::Refused { run, why, what }.encode(&mut room);
                    shared.spool.append(kind, &room);
                }
            }
        }
        ToAgent::Signal { signal } => {
            if let Some(task) = &*shared.task.lock() {
                task.signal(signal);
            }
        }
        ToAgent::Kill => {
            if let Some(task) = &*shared.task.lock() {
                task.kill();
            }
        }
        ToAgent::Welcome { .. } | ToAgent::Unwanted { .. } | ToAgent::Leave => {
            unreachable!("the caller takes these itself")
        }
    }
    Ok(())
}
