//! The trainer's sockets: workers come to it; it reads and writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paceline_wire::{
    Connection, Deadline, FirstRefusal, Listener, ReadHalf, Role, WriteHalf, wait_any,
};

use super::{GroupController, Heard, WorkerLinks};
use crate::clock::now;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::{Kill, Launcher};
use crate::cluster::notice::Notice;
use crate::cluster::protocol::{FromController, ToController};
use crate::cluster::rendezvous::Rendezvous;
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::Snapshot;
use crate::cluster::totals::WorkerTotals;
use crate::session::{Ending, TrainError};

/// How long it looks at its connections before it looks at its children.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Trains until the goal is met. All workers have ended on return.
pub(in crate::cluster) fn train(
    session: &ClusterSession,
    rendezvous: &Rendezvous,
    launcher: &mut dyn Launcher,
    kills: &[Kill],
    evaluator: &mut Evaluator<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<WorkerTotals>), TrainError> {
    let address = rendezvous.servers.first().ok_or(TrainError::NoAddress)?;
    let me = rendezvous.credentials(Role::Controller, 0, 0);
    let listener =
        Listener::bind(address, &me, &rendezvous.wire).map_err(TrainError::CannotListen)?;
    let workers = session.cluster.workers.get() as usize;
    let mut controlling = Controlling {
        controller: GroupController::new(session, rendezvous, launcher, kills, now()),
        listener,
        links: Links((0..workers).map(|_| Link::default()).collect()),
    };
    let outcome = controlling.run(evaluator, stop);
    controlling.dismiss(evaluator);
    let ending = outcome?;
    Ok((ending, controlling.controller.totals()))
}

/// A connection to a worker. It lasts as long as its writer; its reader is
/// elsewhere while what it has received is heard.
#[derive(Default)]
struct Link {
    reader: Option<ReadHalf>,
    writer: Option<WriteHalf>,
}

impl Link {
    fn close(&mut self) {
        *self = Self::default();
    }

    /// What the worker says is read here, to be put back.
    fn lend(&mut self) -> Option<ReadHalf> {
        self.reader.take()
    }

    fn put_back(&mut self, reader: ReadHalf) {
        if self.writer.is_some() {
            self.reader = Some(reader);
        }
    }
}

/// By worker.
struct Links(Vec<Link>);

impl WorkerLinks for Links {
    fn is_connected(&self, worker: usize) -> bool {
        self.0[worker].writer.is_some()
    }

    fn say(&mut self, worker: usize, message: &FromController<'_>) -> bool {
        let link = &mut self.0[worker];
        let mut room = Vec::new();
        let (header, payload) = message.encode(&mut room);
        let said = link
            .writer
            .as_mut()
            .is_some_and(|writer| writer.post(&header, payload).is_ok());
        if !said {
            link.close();
        }
        said
    }

    fn give(&mut self, worker: usize, state: &Snapshot) -> bool {
        let link = &mut self.0[worker];
        let Some(writer) = &mut link.writer else {
            return false;
        };
        let mut room = Vec::new();
        let sent = state.view().send(|part| {
            let message = FromController::Snapshot(part);
            let (header, payload) = message.encode(&mut room);
            writer.send(&header, payload)
        });
        if sent.is_err() {
            link.close();
        }
        sent.is_ok()
    }

    fn disconnect(&mut self, worker: usize) {
        self.0[worker].close();
    }
}

impl Links {
    /// A worker has come; says if another connection of it was there.
    fn meet(&mut self, worker: usize, connection: Connection) -> bool {
        let (reader, writer) = connection.split();
        let link = Link {
            reader: Some(reader),
            writer: Some(writer),
        };
        let before = std::mem::replace(&mut self.0[worker], link);
        before.writer.is_some()
    }

    fn wait(&self) -> Result<(), TrainError> {
        let links = self.0.iter();
        let (readers, writers): (Vec<&ReadHalf>, Vec<&WriteHalf>) = links
            .filter_map(|link| link.reader.as_ref().zip(link.writer.as_ref()))
            .unzip();
        if readers.is_empty() {
            std::thread::sleep(POLL_EVERY);
            return Ok(());
        }
        wait_any(&readers, &writers, Deadline::after(POLL_EVERY))
            .map(drop)
            .map_err(TrainError::Wait)
    }
}

/// The trainer's part with its sockets.
struct Controlling<'a> {
    controller: GroupController<'a>,
    listener: Listener,
    links: Links,
}

impl Controlling<'_> {
    fn run(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        self.controller.start(now())?;
        loop {
            self.admit();
            self.tell_refusals(evaluator);
            self.links.wait()?;
            self.drain(evaluator)?;
            for worker in 0..self.links.0.len() {
                if let Some(ending) = self.listen(worker, evaluator)? {
                    return Ok(ending);
                }
            }
            for ended in self.controller.take_ended() {
                let worker = ended.member.rank as usize;
                if let Some(ending) = self.listen(worker, evaluator)? {
                    return Ok(ending);
                }
                self.controller
                    .on_ended(ended, now(), &mut self.links, evaluator)?;
            }
            let is_stopped = stop.load(Ordering::Relaxed);
            let ending = self
                .controller
                .on_tick(is_stopped, now(), &mut self.links, evaluator)?;
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// Lets workers in that have come.
    fn admit(&mut self) {
        while let Ok(connection) = self.listener.accept(Deadline::PASSED) {
            let peer = connection.peer();
            if !self.controller.admits(peer) {
                continue;
            }
            let worker = peer.rank as usize;
            let has_replaced = self.links.meet(worker, connection);
            self.controller
                .on_connected(worker, has_replaced, now(), &mut self.links);
        }
    }

    /// Says who was refused first for each cause.
    fn tell_refusals(&self, evaluator: &mut Evaluator<'_>) {
        for FirstRefusal { from, cause } in self.listener.refusals().take_firsts() {
            evaluator.watch.noticed(&Notice::Connection {
                words: format!("the trainer refused {from}, which {cause}"),
            });
        }
    }

    /// Sends what was said and did not fit.
    fn drain(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        for worker in 0..self.links.0.len() {
            let writer = self.links.0[worker].writer.as_mut();
            if writer.is_some_and(|writer| writer.drain().is_err()) {
                self.lose_connection(worker, "its connection broke", evaluator)?;
            }
        }
        Ok(())
    }

    /// Takes what a worker says; says if that ends the training.
    fn listen(
        &mut self,
        worker: usize,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(mut reader) = self.links.0[worker].lend() else {
            return Ok(None);
        };
        loop {
            let heard = match reader.try_receive() {
                Ok(Some(frame)) => match ToController::decode(&frame) {
                    Ok(message) => self.controller.on_message(
                        worker,
                        message,
                        now(),
                        &mut self.links,
                        evaluator,
                    )?,
                    Err(error) => Heard::Breach(error),
                },
                Ok(None) => {
                    self.links.0[worker].put_back(reader);
                    return Ok(None);
                }
                Err(_) => {
                    self.lose_connection(worker, "its connection broke", evaluator)?;
                    return Ok(None);
                }
            };
            match heard {
                Heard::Nothing => {}
                Heard::Ends(ending) => {
                    self.links.0[worker].put_back(reader);
                    return Ok(Some(ending));
                }
                Heard::Breach(error) => {
                    evaluator.watch.noticed(&Notice::Connection {
                        words: format!(
                            "the connection of worker {worker} is closed, which sent {error}"
                        ),
                    });
                    self.lose_connection(worker, "it broke the protocol", evaluator)?;
                    return Ok(None);
                }
            }
        }
    }

    fn lose_connection(
        &mut self,
        worker: usize,
        how: &str,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        self.controller
            .on_disconnected(worker, how, now(), &mut self.links, evaluator)
    }

    /// Sends everybody home, waits for the last words, and ends who stays.
    fn dismiss(&mut self, evaluator: &mut Evaluator<'_>) {
        self.controller.end_silent();
        let mut told = vec![false; self.links.0.len()];
        let since = now();
        loop {
            self.admit();
            for (worker, told) in told.iter_mut().enumerate() {
                if self.links.is_connected(worker) && !std::mem::replace(told, true) {
                    self.links.say(worker, &FromController::Stop);
                }
            }
            for worker in 0..self.links.0.len() {
                self.hear_out(worker, evaluator);
            }
            let mut workers = 0..self.links.0.len();
            let are_connected = workers.any(|worker| self.links.is_connected(worker));
            if !self
                .controller
                .members
                .await_departure(are_connected, since)
            {
                return;
            }
        }
    }

    /// Takes a worker's words for the record, and heeds nothing else.
    fn hear_out(&mut self, worker: usize, evaluator: &mut Evaluator<'_>) {
        let Some(mut reader) = self.links.0[worker].lend() else {
            return;
        };
        loop {
            match reader.try_receive() {
                Ok(Some(frame)) => {
                    // Nobody is left to be told of what is wrong now.
                    if let Ok(message @ ToController::Progress { .. }) =
                        ToController::decode(&frame)
                    {
                        let _ = self.controller.on_message(
                            worker,
                            message,
                            now(),
                            &mut self.links,
                            evaluator,
                        );
                    }
                }
                Ok(None) => {
                    self.links.0[worker].put_back(reader);
                    return;
                }
                Err(_) => {
                    self.links.disconnect(worker);
                    return;
                }
            }
        }
    }
}
