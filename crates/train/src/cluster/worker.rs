//! A worker that reaches its servers over connections.

use parking_lot::Mutex;
use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_model::{Iteration, WorkerId};
use paceline_nets::Tally;
use paceline_sync::{Clock, Consistency, Strategy, WorkerClock};
use paceline_wire::{
    Address, ConnectError, Connection, Credentials, Deadline, HandshakeError, Payload, ReadHalf,
    ReceiveError, Role, SendError, WriteHalf, connect,
};

use super::allreduce;
use super::compress::{Compression, Compressor, bytes_of};
use super::evaluator::PROGRESS_EVERY;
use super::protocol::{FromServer, Grant, ProtocolError, ToServer, trailer};
use super::rendezvous::Rendezvous;
use super::session::ClusterSession;
use super::totals::WorkerTotals;
use super::update::{Span, Update};
use super::welcomes::{Welcomed, Welcomes};
use super::work_error::WorkError;
use super::worker_compute::WorkerCompute;
use super::worker_log::WorkerLog;
use crate::clock::{Stopwatch, now};

/// Why an incarnation of a worker ended.
enum Departure {
    /// The training is over.
    Over,
    /// A connection broke, or a server does not know the worker any more: it
    /// may join again in at least this incarnation.
    Parted(u32),
    /// This server serves another training.
    OtherTraining { server: usize, difference: String },
}

/// Works until the servers, or without them the trainer, say that the training
/// is over.
///
/// # Errors
/// If a server is not reached, also again after a connection broke; or, without
/// servers, if the trainer is not reached or gone; or if the iterations cannot be
/// recorded.
pub fn work(
    session: &ClusterSession,
    worker: u32,
    incarnation: u32,
    rendezvous: &Rendezvous,
) -> Result<(), WorkError> {
    if session.cluster.strategy == Strategy::AllReduce {
        return allreduce::work(session, worker, incarnation, rendezvous);
    }
    let workers = session.cluster.workers.get() as usize;
    let mut compute = WorkerCompute::new(
        worker,
        Arc::clone(&session.model),
        session.data.train.clone(),
        session.settings.clone(),
        &session.cluster,
    );
    let unrecorded = |source| WorkError::Record { worker, source };
    let mut books = Bookkeeping {
        totals: WorkerTotals {
            restarts: incarnation,
            ..WorkerTotals::new(workers)
        },
        log: WorkerLog::open(session.record.as_ref(), worker).map_err(unrecorded)?,
        last: None,
    };
    // What updates left out outlives a connection, though not the process.
    let dense = session.model.layout().dense().len();
    let mut compressor = Compressor::new(session.cluster.compress, dense);
    let mut incarnation = incarnation;
    loop {
        let mut connected = Connected::begin(
            session,
            worker,
            incarnation,
            rendezvous,
            &mut books,
            &mut compressor,
        )?;
        let departure = connected.go_on(&mut compute);
        drop(connected);
        books.settle();
        match departure {
            Departure::Over => return books.log.close().map_err(unrecorded),
            Departure::Parted(least) => incarnation = least.max(incarnation + 1),
            Departure::OtherTraining { server, difference } => {
                return Err(WorkError::OtherTraining {
                    worker,
                    server,
                    difference,
                });
            }
        }
    }
}

/// What the worker writes down of itself.
struct Bookkeeping {
    totals: WorkerTotals,
    log: WorkerLog,
    /// The last iteration: whether its update counted is heard with the answer
    /// to it.
    last: Option<Iteration>,
}

impl Bookkeeping {
    /// The last iteration is as it is.
    fn settle(&mut self) {
        if let Some(row) = self.last.take() {
            self.totals.enter(&row);
            self.log.enter(&row);
        }
    }
}

const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// A worker in one incarnation, connected to its servers.
struct Connected<'a> {
    identity: String,
    /// A server that says nothing for this long is given up.
    patience: Duration,
    /// Where messages are laid out.
    room: Vec<u8>,
    clock: WorkerClock,
    spans: Vec<Span>,
    readers: Vec<ReadHalf>,
    writers: Arc<Vec<Mutex<WriteHalf>>>,
    parameters: AlignedBuffer,
    update: Update,
    staged: Vec<f32>,
    books: &'a mut Bookkeeping,
    compressor: &'a mut Compressor,
    /// Whether parameters come in half precision.
    is_half: bool,
    kernels: Kernels,
    since: Stopwatch,
    told: Duration,
    ended: Arc<AtomicBool>,
    iterations_per_update: u64,
    consistency: Consistency,
}

impl<'a> Connected<'a> {
    fn begin(
        session: &ClusterSession,
        worker: u32,
        incarnation: u32,
        rendezvous: &Rendezvous,
        books: &'a mut Bookkeeping,
        compressor: &'a mut Compressor,
    ) -> Result<Self, WorkError> {
        let layout = session.model.layout();
        let count = rendezvous.servers.len();
        let credentials = rendezvous.credentials(Role::Worker, worker, incarnation);
        let (mut readers, mut writers) = (Vec::new(), Vec::new());
        for (server, address) in rendezvous.servers.iter().enumerate() {
            let connection = reach(address, &credentials, rendezvous).map_err(|source| {
                WorkError::Unreached {
                    worker,
                    server,
                    source,
                }
            })?;
            let (reader, writer) = connection.split();
            readers.push(reader);
            writers.push(Mutex::new(writer));
        }
        let writers = Arc::new(writers);
        let ended = Arc::new(AtomicBool::new(false));
        say_alive(
            Arc::clone(&writers),
            Arc::clone(&ended),
            session.cluster.failure_timeout / 4,
        );
        let servers = NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
        let consistency = session.cluster.consistency();
        Ok(Self {
            identity: session.identity().text(),
            patience: rendezvous.patience,
            room: Vec::new(),
            clock: WorkerClock::new(consistency, servers),
            spans: Span::cut(layout, count),
            readers,
            writers,
            parameters: AlignedBuffer::zeroed(layout.len()),
            update: Update::none(layout),
            staged: Vec::new(),
            books,
            compressor,
            is_half: session.cluster.compress == Compression::Half,
            kernels: Kernels::detect(),
            since: Stopwatch::starting_at(Duration::ZERO),
            told: Duration::ZERO,
            ended,
            iterations_per_update: consistency.iterations_per_update(),
            consistency,
        })
    }

    fn go_on(&mut self, compute: &mut WorkerCompute) -> Departure {
        match self.iterate(compute) {
            Ok(departure) => departure,
            Err(Broken) => Departure::Parted(0),
        }
    }

    fn iterate(&mut self, compute: &mut WorkerCompute) -> Result<Departure, Broken> {
        let identity = std::mem::take(&mut self.identity);
        for server in 0..self.readers.len() {
            let identity = &identity;
            self.send(server, &ToServer::Join { identity })?;
        }
        let mut welcomes = Welcomes::new(self.consistency, self.readers.len());
        let mut welcomed = Welcomed::NotByAll;
        for server in 0..self.readers.len() {
            let frame = self.readers[server].receive(Deadline::after(self.patience))?;
            match FromServer::decode(&frame)? {
                FromServer::Welcome { clock, generation } => {
                    self.clock.welcome(server, Clock(clock));
                    welcomed = welcomes.take(server, generation, clock);
                }
                FromServer::End { .. } => return Ok(Departure::Over),
                FromServer::OtherTraining { difference } => {
                    let difference = difference.to_owned();
                    return Ok(Departure::OtherTraining { server, difference });
                }
                FromServer::Refused { join_with, .. } => return Ok(Departure::Parted(join_with)),
                FromServer::Parameters { .. } | FromServer::Heartbeat => {
                    return Err(ProtocolError::OutOfPlace { name: "answer" }.into());
                }
            }
        }
        match welcomed {
            Welcomed::ByAll | Welcomed::NotByAll => {}
            Welcomed::ByDifferentGenerations => {
                std::thread::sleep(TRIED_AGAIN_AFTER);
                return Err(Broken);
            }
            Welcomed::ByDifferentShards => {
                self.send(0, &ToServer::ShardsDiffer)?;
                return self.await_departure();
            }
        }
        self.ask()?;
        let mut began = now();
        loop {
            let mut row = Iteration {
                iterations: self.iterations_per_update,
                began: self.books.log.at(began),
                ..Iteration::default()
            };
            let start = loop {
                if let Some(departure) = self.receive(&mut began, &mut row)? {
                    return Ok(departure);
                }
                match self.clock.start() {
                    Some(start) => break start,
                    None => self.ask()?,
                }
            };
            let tally = compute.compute(start.clock.0, &self.parameters, &mut self.update);
            let computed = now();
            let mut due = None;
            for _ in 0..self.iterations_per_update {
                due = self.clock.finish();
            }
            self.report(false)?;
            let clock = due.expect("an update is due after its iterations");
            row.clock = start.clock.0;
            row.computing = computed - began;
            row.rows = tally.rows;
            row.staleness = start.staleness * self.iterations_per_update;
            let pushed = self.push(clock, tally)?;
            began = now();
            row.sent_bytes = pushed.bytes;
            row.serialising = pushed.serialising;
            row.sending = (began - computed).saturating_sub(pushed.serialising);
            self.books.last = Some(row);
        }
    }

    /// The servers begin anew; waits until the first one has.
    fn await_departure(&mut self) -> Result<Departure, Broken> {
        loop {
            if let Some(departure) = self.take_other(0)? {
                return Ok(departure);
            }
        }
    }

    /// Asks every server whose parameters are too old for the next iteration.
    fn ask(&mut self) -> Result<(), Broken> {
        let clock = self.clock.read_clock().0;
        for server in 0..self.readers.len() {
            if self.clock.must_read(server) {
                self.send(server, &ToServer::Read { clock })?;
            }
        }
        Ok(())
    }

    /// Takes the parameters of every server, from `since` on, which becomes the
    /// moment when all are there.
    fn receive(
        &mut self,
        since: &mut Instant,
        row: &mut Iteration,
    ) -> Result<Option<Departure>, Broken> {
        let asked = *since;
        for server in 0..self.readers.len() {
            loop {
                let deadline = Deadline::after(self.patience);
                let header = self.readers[server].peek(deadline)?;
                let arrived = now();
                let Some(grant) = Grant::announced_by(&header)? else {
                    match self.take_other(server)? {
                        None => continue,
                        departure => return Ok(departure),
                    }
                };
                self.settle_last(server, grant.is_late);
                let (clock, version) = (Clock(grant.clock), Clock(grant.version));
                if !self.clock.proceed(server, clock, version) {
                    // From before the connection's present question.
                    self.readers[server].receive(deadline)?;
                    continue;
                }
                let own = &mut self.parameters[self.spans[server].flat()];
                if self.is_half {
                    let frame = self.readers[server].receive(deadline)?;
                    match frame.payload() {
                        Ok(Payload::Half(halves)) if halves.len() == own.len() => {
                            self.kernels.from_half(halves, own);
                        }
                        _ => return Err(Broken),
                    }
                    row.received_bytes += 2 * own.len() as u64;
                } else {
                    self.readers[server].receive_into(Grant::KIND, own, deadline)?;
                    row.received_bytes += 4 * own.len() as u64;
                }
                split_wait(
                    row,
                    arrived.saturating_duration_since(*since),
                    arrived.saturating_duration_since(asked),
                    &grant,
                );
                if let (0, Some(other)) = (server, grant.waited_for) {
                    row.waited_for = Some(WorkerId(other));
                }
                *since = now();
                row.receiving += *since - arrived;
                break;
            }
        }
        Ok(None)
    }

    /// The first server's answer says what became of the last update.
    fn settle_last(&mut self, server: usize, is_late: bool) {
        if let (0, Some(last)) = (server, &mut self.books.last) {
            last.dropped = u64::from(is_late);
            self.books.settle();
        }
    }

    /// Takes what is no parameters; says if that ends this incarnation.
    fn take_other(&mut self, server: usize) -> Result<Option<Departure>, Broken> {
        let frame = self.readers[server].receive(Deadline::after(self.patience))?;
        match FromServer::decode(&frame)? {
            // A welcome may be repeated.
            FromServer::Heartbeat | FromServer::Welcome { .. } => Ok(None),
            FromServer::End { is_late } => {
                self.settle_last(server, is_late);
                self.report(true)?;
                Ok(Some(Departure::Over))
            }
            FromServer::Refused { join_with, .. } => {
                self.settle_last(server, false);
                Ok(Some(Departure::Parted(join_with)))
            }
            FromServer::OtherTraining { difference } => {
                let difference = difference.to_owned();
                Ok(Some(Departure::OtherTraining { server, difference }))
            }
            FromServer::Parameters { .. } => {
                Err(ProtocolError::OutOfPlace { name: "parameters" }.into())
            }
        }
    }

    /// Hands over the update.
    fn push(&mut self, clock: Clock, tally: Tally) -> Result<Pushed, Broken> {
        let found = trailer(tally);
        let began = now();
        self.compressor.take(&mut self.update.dense);
        let mut serialising = began.elapsed();
        let mut bytes = 0;
        for server in 0..self.readers.len() {
            let span = &self.spans[server];
            let part = self.update.within(span);
            let range = span.dense.clone();
            let began = now();
            let dense = self
                .compressor
                .part(range, part.dense, &found, &mut self.staged);
            serialising += began.elapsed();
            let rows_follow = !part.rows.is_empty();
            let push = |values, is_last| ToServer::Push {
                clock: clock.0,
                values,
                is_last,
                then_read: is_last,
            };
            bytes += bytes_of(dense) + 4 * (part.rows.len() + part.cells.len()) as u64;
            let mut writer = self.writers[server].lock();
            send(&mut writer, &push(dense, !rows_follow), &mut self.room)?;
            if rows_follow {
                let rows = Payload::Rows {
                    width: u32::try_from(span.stride).expect("a row has few cells"),
                    rows: part.rows,
                    values: part.cells,
                };
                send(&mut writer, &push(rows, true), &mut self.room)?;
            }
        }
        Ok(Pushed { bytes, serialising })
    }

    /// Tells the first server what this worker did, now and then.
    fn report(&mut self, always: bool) -> Result<(), Broken> {
        let elapsed = self.since.elapsed();
        if always || elapsed.saturating_sub(self.told) >= PROGRESS_EVERY {
            self.told = elapsed;
            let totals = Cow::Borrowed(&self.books.totals);
            let mut writer = self.writers[0].lock();
            send(&mut writer, &ToServer::Totals { totals }, &mut self.room)?;
        }
        Ok(())
    }

    fn send(&mut self, server: usize, message: &ToServer<'_>) -> Result<(), Broken> {
        let mut writer = self.writers[server].lock();
        Ok(send(&mut writer, message, &mut self.room)?)
    }
}

/// An update that was handed over.
struct Pushed {
    bytes: u64,
    serialising: Duration,
}

/// Divides the time until a server's answer. That answers the message of `since_asked`
/// ago; of several servers' answers, only the rest of the time was for this one's.
fn split_wait(row: &mut Iteration, time: Duration, since_asked: Duration, grant: &Grant) {
    let of_server = grant.waited + grant.queued;
    // No clock is the same everywhere: a server may think that it took longer.
    let whole = since_asked.max(of_server).as_secs_f64();
    if whole <= 0.0 {
        return;
    }
    let part = |of: Duration| time.mul_f64((of.as_secs_f64() / whole).min(1.0));
    let (waited, queued) = (part(grant.waited), part(grant.queued));
    row.waiting += waited;
    row.queued += queued;
    row.on_wire += time.saturating_sub(waited + queued);
}

fn send(
    writer: &mut WriteHalf,
    message: &ToServer<'_>,
    room: &mut Vec<u8>,
) -> Result<(), SendError> {
    let (header, payload) = message.encode(room);
    writer.send(&header, payload)
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The thread that says the worker is alive still holds them.
        for writer in self.writers.iter() {
            writer.lock().close();
        }
    }
}

/// Connects to a server. One that dies during the handshake is tried again: its
/// successor listens soon.
pub(super) fn reach(
    address: &Address,
    credentials: &Credentials,
    rendezvous: &Rendezvous,
) -> Result<Connection, ConnectError> {
    let deadline = Deadline::after(rendezvous.patience);
    loop {
        match connect(address, credentials, &rendezvous.wire, deadline) {
            Err(ConnectError::Handshake {
                source:
                    HandshakeError::Silent
                    | HandshakeError::TimedOut
                    | HandshakeError::Truncated
                    | HandshakeError::Io(_),
                ..
            }) if !deadline.has_passed() => std::thread::sleep(TRIED_AGAIN_AFTER),
            other => return other,
        }
    }
}

/// Says on a thread of its own that the worker is alive, while it computes or
/// waits for long.
fn say_alive(writers: Arc<Vec<Mutex<WriteHalf>>>, ended: Arc<AtomicBool>, every: Duration) {
    // Without the thread a long computation may be taken for a loss, and the
    // worker joins again: no reason to give up.
    let _ = std::thread::Builder::new()
        .name("heartbeat".to_owned())
        .spawn(move || {
            let mut room = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(every);
                for writer in writers.iter() {
                    if send(&mut writer.lock(), &ToServer::Heartbeat, &mut room).is_err() {
                        return;
                    }
                }
            }
        });
}

/// The connection to a server is of no further use.
struct Broken;

impl From<ReceiveError> for Broken {
    fn from(_: ReceiveError) -> Self {
        Self
    }
}

impl From<ProtocolError> for Broken {
    fn from(_: ProtocolError) -> Self {
        Self
    }
}

impl From<SendError> for Broken {
    fn from(_: SendError) -> Self {
        Self
    }
}
