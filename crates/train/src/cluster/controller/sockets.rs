//! The controller's sockets: reaches servers, reads and writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paceline_wire::{Deadline, ReadHalf, WriteHalf, wait_any};

use super::{Controller, Heard, ServerLinks};
use crate::clock::now;
use crate::cluster::connecting::{ConnectNews, Connecting};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::{Kill, Launcher};
use crate::cluster::members::GRACE;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::{FromController, ToController};
use crate::cluster::rendezvous::Rendezvous;
use crate::cluster::session::ClusterSession;
use crate::cluster::totals::WorkerTotals;
use crate::session::{Ending, TrainError};

/// How long the controller looks at its connections before it looks at its
/// children.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The same while a server is being reached.
const POLL_EVERY_WHILE_CONNECTING: Duration = Duration::from_millis(2);

/// Trains until the goal is met. All members have ended on return.
pub(in crate::cluster) fn train(
    session: &ClusterSession,
    rendezvous: &Rendezvous,
    launcher: &mut dyn Launcher,
    kills: &[Kill],
    evaluator: &mut Evaluator<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<WorkerTotals>), TrainError> {
    let mut controlling = Controlling {
        controller: Controller::new(session, rendezvous, launcher, kills, now()),
        links: Links::new(rendezvous),
    };
    let outcome = controlling.run(evaluator, stop);
    controlling.dismiss(evaluator);
    let ending = outcome?;
    Ok((ending, controlling.controller.totals()))
}

/// The connections to the servers.
struct Links<'a> {
    rendezvous: &'a Rendezvous,
    readers: Vec<Option<ReadHalf>>,
    writers: Vec<Option<WriteHalf>>,
    /// The servers that are being reached.
    connecting: Vec<Option<Connecting>>,
    /// Where messages are laid out.
    room: Vec<u8>,
}

impl ServerLinks for Links<'_> {
    fn send(&mut self, server: usize, message: &FromController<'_>) -> bool {
        let Some(writer) = &mut self.writers[server] else {
            return false;
        };
        let (header, payload) = message.encode(&mut self.room);
        writer.send(&header, payload).is_ok()
    }

    fn connect(&mut self, server: usize, within: Option<Duration>) -> Result<(), TrainError> {
        let deadline = within.map_or(Deadline::NEVER, Deadline::after);
        let connecting =
            Connecting::start(self.rendezvous, server, deadline).map_err(TrainError::Wait)?;
        self.connecting[server] = Some(connecting);
        Ok(())
    }

    fn disconnect(&mut self, server: usize) {
        self.readers[server] = None;
        self.writers[server] = None;
        self.connecting[server] = None;
    }
}

impl<'a> Links<'a> {
    fn new(rendezvous: &'a Rendezvous) -> Self {
        let count = rendezvous.servers.len();
        Self {
            rendezvous,
            readers: (0..count).map(|_| None).collect(),
            writers: (0..count).map(|_| None).collect(),
            connecting: (0..count).map(|_| None).collect(),
            room: Vec::new(),
        }
    }

    fn wait(&self) -> Result<(), TrainError> {
        let readers: Vec<&ReadHalf> = self.readers.iter().flatten().collect();
        let writers: Vec<&WriteHalf> = self.writers.iter().flatten().collect();
        let is_connecting = self.connecting.iter().any(Option::is_some);
        let soon = if is_connecting {
            POLL_EVERY_WHILE_CONNECTING
        } else {
            POLL_EVERY
        };
        if readers.is_empty() {
            std::thread::sleep(soon);
            return Ok(());
        }
        wait_any(&readers, &writers, Deadline::after(soon))
            .map(drop)
            .map_err(TrainError::Wait)
    }
}

/// A controller with its sockets.
struct Controlling<'a> {
    controller: Controller<'a>,
    links: Links<'a>,
}

impl Controlling<'_> {
    fn run(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        self.controller.start(now(), &mut self.links)?;
        loop {
            self.links.wait()?;
            for server in 0..self.links.readers.len() {
                if let Some(ending) = self.listen(server, evaluator)? {
                    return Ok(ending);
                }
            }
            self.greet(evaluator)?;
            let is_stopped = stop.load(Ordering::Relaxed);
            let ending = self
                .controller
                .on_tick(is_stopped, now(), &mut self.links, evaluator)?;
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// Takes what a server says; says if that ends the training.
    fn listen(
        &mut self,
        server: usize,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(mut reader) = self.links.readers[server].take() else {
            return Ok(None);
        };
        loop {
            let heard = match reader.try_receive() {
                Ok(Some(frame)) => match ToController::decode(&frame) {
                    Ok(message) => self.controller.on_message(
                        server,
                        message,
                        now(),
                        &mut self.links,
                        evaluator,
                    )?,
                    Err(error) => Heard::Breach(error),
                },
                Ok(None) => {
                    // Somebody may have given the server up meanwhile.
                    if self.links.writers[server].is_some() {
                        self.links.readers[server] = Some(reader);
                    }
                    return Ok(None);
                }
                Err(_) => {
                    self.links.disconnect(server);
                    self.controller
                        .on_disconnected(server, now(), &mut self.links, evaluator)?;
                    return Ok(None);
                }
            };
            match heard {
                Heard::Nothing => {}
                Heard::Ends(ending) => {
                    self.links.readers[server] = Some(reader);
                    return Ok(Some(ending));
                }
                Heard::OtherTraining => {
                    self.links.disconnect(server);
                    self.controller.reach(server, &mut self.links)?;
                    return Ok(None);
                }
                Heard::Breach(error) => {
                    evaluator.watch.noticed(&Notice::Connection {
                        words: format!(
                            "the connection of server {server} is closed, which sent {error}"
                        ),
                    });
                    self.links.disconnect(server);
                    self.controller
                        .on_disconnected(server, now(), &mut self.links, evaluator)?;
                    return Ok(None);
                }
            }
        }
    }

    /// Meets the servers that were reached.
    fn greet(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        for server in 0..self.links.connecting.len() {
            let news = self.links.connecting[server].as_ref();
            match news.and_then(Connecting::news) {
                None => {}
                Some(ConnectNews::Reached(connection)) => {
                    self.links.connecting[server] = None;
                    let (reader, writer) = connection.split();
                    self.links.readers[server] = Some(reader);
                    self.links.writers[server] = Some(writer);
                    self.controller
                        .on_connected(server, now(), &mut self.links, evaluator)?;
                }
                Some(ConnectNews::Hindered(error)) => {
                    let why = std::error::Error::source(&error).map(ToString::to_string);
                    evaluator.watch.noticed(&Notice::Connection {
                        words: format!("{error}: {}; it is tried again", why.unwrap_or_default()),
                    });
                }
                Some(ConnectNews::GivenUp(source)) => {
                    self.links.connecting[server] = None;
                    self.controller
                        .on_unreached(server, &source.to_string(), evaluator);
                }
            }
        }
        Ok(())
    }

    /// Sends everybody home and waits for the last words.
    fn dismiss(&mut self, evaluator: &mut Evaluator<'_>) {
        self.controller.stop(&mut self.links);
        let since = now();
        while !self.controller.has_last_words() && since.elapsed() < GRACE {
            if self.links.readers.first().is_none_or(Option::is_none) {
                break;
            }
            // Nobody is left to be told of what fails now.
            if self.links.wait().is_err() || self.hear_last_words(evaluator).is_none() {
                break;
            }
        }
        self.controller.dismiss();
    }

    /// Takes the first server's last words; none if it is gone.
    fn hear_last_words(&mut self, evaluator: &mut Evaluator<'_>) -> Option<()> {
        let mut reader = self.links.readers[0].take()?;
        loop {
            match reader.try_receive() {
                Ok(Some(frame)) => {
                    let message = ToController::decode(&frame).ok()?;
                    // Nothing else matters any more.
                    if let ToController::Progress { .. } | ToController::Notice { .. } = message {
                        self.controller
                            .on_message(0, message, now(), &mut self.links, evaluator)
                            .ok()?;
                    }
                }
                Ok(None) => {
                    self.links.readers[0] = Some(reader);
                    return Some(());
                }
                Err(_) => return None,
            }
        }
    }
}
