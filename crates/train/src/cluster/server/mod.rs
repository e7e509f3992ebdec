//! A server: holds a range of the parameters for workers that connect to it.

mod opening;

pub use opening::{ServeError, serve, serve_at};

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_nets::Tally;
use paceline_sync::{
    Action, Clock, Consistency, Coordinator, Doing, Incarnation, LossCause, Message, Receipt,
    Refusal, Sender, Tick,
};
use paceline_wire::{
    Connection, Flags, Frame, Header, Held, Kind, Member, Payload, ReadHalf, Refusals, Role,
    WriteHalf,
};

use super::compress::{Compression, to_half, unpack_dense};
use super::evaluator::{Due, Milestones, PROGRESS_EVERY};
use super::frames::{
    ABOUT_OTHER_TRAINING, AT_NEXT_STEP, Caption, NOBODY, NOTICE, OTHER_TRAINING, SILENT, TRAILER,
    WAITS, pack, pack_account, tally, unpack, unpack_accounts,
};
use super::handover::Handover;
use super::identity::TrainingIdentity;
use super::session::ClusterSession;
use super::store::{Rates, Store};
use super::totals::WorkerTotals;
use super::update::{Part, Span};
use crate::clock::now;
use crate::optimizer::OptimizerState;

/// How long a server waits for the last words of its workers.
const GRACE: Duration = Duration::from_secs(2);

/// What a worker sent.
#[derive(Debug, Default)]
struct Received {
    /// The dense part and its trailer where they arrived, if nothing had to be
    /// decoded.
    frame: Held,
    /// The dense part otherwise.
    dense: Vec<f32>,
    rows: Vec<u32>,
    cells: Vec<f32>,
    tally: Tally,
}

impl Received {
    /// The dense part and its trailer in the frame that is held.
    fn held(&self) -> Option<(&[f32], &[f32; TRAILER])> {
        match self.frame.frame()?.payload() {
            Ok(Payload::Dense(values)) => values.split_last_chunk(),
            _ => None,
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            dense: self.held().map_or(&self.dense, |(dense, _)| dense),
            rows: &self.rows,
            cells: &self.cells,
        }
    }
}

struct Server<'a> {
    session: &'a ClusterSession,
    rank: u32,
    identity: TrainingIdentity,
    refusals: Refusals,
    /// The controller went away.
    is_abandoned: bool,
    consistency: Consistency,
    workers: usize,
    milestones: Milestones,
    store: Store,
    coordinator: Coordinator,
    began: Instant,
    writers: Vec<WriteHalf>,
    /// By worker: what arrives, and what counts for the open iteration.
    arriving: Vec<Received>,
    updates: Vec<Received>,
    counts: Vec<bool>,
    actions: Vec<Action>,
    /// The training rows since the last snapshot, and since the last report.
    tally: Tally,
    pulse: Tally,
    /// Updates that count; with gathered updates, iterations.
    counted: u64,
    looked: u64,
    /// A snapshot is with the controller.
    is_watched: bool,
    /// A snapshot is due before workers go on.
    held: Option<(Due, Vec<Action>)>,
    /// The controller wants the end at this step, or as soon as may be.
    end_at: Option<u64>,
    /// Nothing changes any more.
    is_over: bool,
    farewell: Option<Instant>,
    totals: Vec<WorkerTotals>,
    looked_around: Instant,
    /// By worker: what it waits for, since when, and whether that was told.
    waits: Vec<Option<(Clock, Instant, bool)>>,
    /// By worker: whether its last update came too late.
    late: Vec<bool>,
    kernels: Kernels,
    /// The parameters in half precision, once somebody wants them; and room to
    /// round them in.
    halves: Vec<u16>,
    room: Vec<f32>,
}

impl<'a> Server<'a> {
    fn new(
        session: &'a ClusterSession,
        rank: u32,
        span: Span,
        start: Handover,
        identity: TrainingIdentity,
    ) -> Self {
        let consistency = session.cluster.consistency();
        let workers = session.cluster.workers.get() as usize;
        let steps = start.steps;
        let optimizer = OptimizerState {
            optimizer: session.server_optimizer(),
            moments: start.moments,
            steps: start.optimizer_steps,
        };
        let rules = session
            .rules
            .resumed_at(Clock(steps))
            .failure_timeout(ticks(session.cluster.failure_timeout))
            .join_timeout(ticks(start.join_within));
        Self {
            rank,
            identity,
            refusals: Refusals::default(),
            is_abandoned: false,
            consistency,
            workers,
            milestones: start.milestones,
            store: Store::of_part(span, start.parameters, optimizer),
            coordinator: Coordinator::new(rules),
            began: now(),
            writers: Vec::new(),
            arriving: (0..workers).map(|_| Received::default()).collect(),
            updates: (0..workers).map(|_| Received::default()).collect(),
            counts: vec![false; workers],
            actions: Vec::with_capacity(2 * workers + 2),
            tally: Tally::default(),
            pulse: Tally::default(),
            counted: if consistency.gathers() {
                steps
            } else {
                steps * workers as u64
            },
            looked: steps,
            is_watched: false,
            held: None,
            end_at: None,
            is_over: false,
            farewell: None,
            totals: vec![WorkerTotals::new(workers); workers],
            looked_around: now(),
            waits: vec![None; workers],
            late: vec![false; workers],
            kernels: Kernels::detect(),
            halves: Vec::new(),
            room: Vec::new(),
            session,
        }
    }

    fn admit(&mut self, connection: Connection, readers: &mut Vec<ReadHalf>) {
        // One controller is enough: another has the token and is mistaken.
        if connection.peer().role == Role::Controller {
            return;
        }
        let (reader, writer) = connection.split();
        readers.push(reader);
        self.writers.push(writer);
    }

    /// Takes what has arrived.
    fn hear(&mut self, readers: &mut Vec<ReadHalf>) {
        let mut place = 0;
        while place < readers.len() {
            let peer = readers[place].peer();
            let is_open = loop {
                let frame = match readers[place].try_receive() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break true,
                    Err(_) => break false,
                };
                let header = frame.header;
                let goes_on = match frame.payload() {
                    Ok(Payload::Dense(_))
                        if peer.role == Role::Worker && header.kind == Kind::Push =>
                    {
                        self.take_update(peer, &header, &mut readers[place])
                    }
                    _ => self.take(peer, &frame),
                };
                if !goes_on {
                    break false;
                }
            };
            if is_open {
                place += 1;
                continue;
            }
            readers.remove(place);
            let mut writer = self.writers.remove(place);
            writer.close();
            if peer.role == Role::Worker {
                let (who, now) = (sender(peer), self.tick());
                self.coordinator.disconnect(who, now, &mut self.actions);
                self.carry_out();
            } else if self.farewell.is_none() {
                // Whatever is computed from here on, nobody would look at it.
                self.is_over = true;
                self.is_abandoned = true;
            }
        }
        for writer in &mut self.writers {
            // What fails is seen when the connection is read.
            let _ = writer.drain();
        }
    }

    /// Deals with one frame; false if the connection is to be closed.
    fn take(&mut self, peer: Member, frame: &Frame<'_>) -> bool {
        match peer.role {
            Role::Controller => self.obey(frame),
            Role::Worker => self.serve(peer, frame),
            Role::Server => false,
        }
    }

    fn obey(&mut self, frame: &Frame<'_>) -> bool {
        match frame.header.kind {
            Kind::Saved => {
                self.is_watched = false;
                if let Some((due, actions)) = self.held.take() {
                    self.look(due);
                    self.actions = actions;
                    self.carry_out();
                }
            }
            Kind::Checkpoint => {
                // "As soon as may be" is the end of the open iteration, before
                // anybody is let go on: no server gets further than that.
                let step = match frame.header.clock {
                    AT_NEXT_STEP if self.consistency.gathers() => self.steps() + 1,
                    AT_NEXT_STEP => self.steps(),
                    step => step,
                };
                self.end_at = Some(step);
                let passed = !self.consistency.gathers() || self.steps() >= step;
                if passed && !self.is_over {
                    let due = Due {
                        end: true,
                        ..Due::default()
                    };
                    if self.follows() {
                        self.is_over = true;
                        self.show(due, step);
                    } else {
                        self.look(due);
                    }
                }
            }
            Kind::Clock => self.show(Due::default(), frame.header.clock),
            Kind::Stop => {
                self.is_over = true;
                self.farewell = Some(now());
                for writer in &mut self.writers {
                    if writer.peer().role == Role::Worker {
                        let flags = lateness(&mut self.late, writer.peer().rank);
                        let _ = writer.post(&Header::new(Kind::Stop).flags(flags), Payload::NONE);
                    }
                }
            }
            Kind::Leave => {
                // The worker's process has ended and nobody replaces it. It may
                // never have joined here: then it has come and gone.
                let gone = Sender::first(frame.header.sender);
                let now = self.tick();
                let coordinator = &mut self.coordinator;
                if coordinator.join(gone, now, &mut self.actions).is_ok() {
                    // It takes part, as of the line before.
                    let _ = coordinator.leave(gone, now, &mut self.actions);
                }
                self.carry_out();
            }
            _ => return false,
        }
        true
    }

    fn serve(&mut self, peer: Member, frame: &Frame<'_>) -> bool {
        let Ok(payload) = frame.payload() else {
            return false;
        };
        let (header, worker) = (frame.header, peer.rank as usize);
        if worker >= self.workers {
            return false;
        }
        let message = match (header.kind, payload) {
            (Kind::Join, Payload::Bytes(theirs)) => {
                if let Some(difference) = self.identity.difference(theirs) {
                    self.turn_away(peer, &difference);
                    return false;
                }
                Message::Join
            }
            (Kind::Heartbeat, _) => Message::Heartbeat,
            (Kind::Leave, _) => Message::Leave,
            (Kind::Pull, _) => Message::Read {
                clock: Clock(header.clock),
            },
            (Kind::Record, Payload::Bytes(bytes)) => {
                let found = unpack_accounts(&unpack(bytes), self.workers);
                if let [totals] = &found[..] {
                    self.totals[worker] = totals.clone();
                }
                return true;
            }
            (Kind::Push, payload) => {
                if !self.store_arriving(worker, payload) {
                    return false;
                }
                if !header.flags.has(Flags::LAST) {
                    return true;
                }
                Message::Update {
                    clock: Clock(header.clock),
                }
            }
            _ => return false,
        };
        self.advance(peer, &header, message)
    }

    /// Deals with an update that needs no decoding: it stays where it arrived.
    fn take_update(&mut self, peer: Member, header: &Header, reader: &mut ReadHalf) -> bool {
        let Some(arriving) = self.arriving.get_mut(peer.rank as usize) else {
            return false;
        };
        reader.hold(&mut arriving.frame);
        let found = match arriving.held() {
            Some((dense, found)) if dense.len() == self.store.span().dense.len() => tally(found),
            _ => return false,
        };
        arriving.tally = found;
        arriving.rows.clear();
        arriving.cells.clear();
        if !header.flags.has(Flags::LAST) {
            return true;
        }
        let clock = Clock(header.clock);
        self.advance(peer, header, Message::Update { clock })
    }

    /// Has the rules deal with what a worker said; false if the connection is
    /// to be closed.
    fn advance(&mut self, peer: Member, header: &Header, message: Message) -> bool {
        if self.is_over {
            return true;
        }
        let (from, worker) = (sender(peer), peer.rank as usize);
        let now = self.tick();
        let taken = self
            .coordinator
            .step(from, message, now, &mut self.actions)
            .and_then(|receipt| {
                if let Message::Update { clock } = message {
                    self.count(worker, receipt);
                    if header.flags.has(Flags::REPLY) {
                        let next = clock.plus(self.consistency.iterations_per_update());
                        let read = self.coordinator.read(from, next, now, &mut self.actions);
                        read?;
                    }
                }
                Ok(())
            });
        if let Err(refusal) = taken {
            self.refuse(peer, refusal);
            self.carry_out();
            return false;
        }
        self.carry_out();
        true
    }

    /// Keeps what arrives of an update; false if it does not fit this range.
    fn store_arriving(&mut self, worker: usize, payload: Payload<'_>) -> bool {
        let span = self.store.span();
        let arriving = &mut self.arriving[worker];
        match payload {
            dense @ (Payload::Half(_) | Payload::Sparse { .. }) => {
                arriving.frame.release();
                let len = span.dense.len();
                let Some(found) = unpack_dense(self.kernels, dense, len, &mut arriving.dense)
                else {
                    return false;
                };
                arriving.rows.clear();
                arriving.cells.clear();
                arriving.tally = tally(&found);
                true
            }
            Payload::Rows {
                width,
                rows,
                values,
            } => {
                let fits = width as usize == span.stride
                    && rows.iter().all(|row| span.rows.contains(row))
                    && rows.is_sorted_by(|one, next| one < next);
                if fits {
                    arriving.rows.clear();
                    arriving.rows.extend_from_slice(rows);
                    arriving.cells.clear();
                    arriving.cells.extend_from_slice(values);
                }
                fits
            }
            _ => false,
        }
    }

    /// An update has arrived: keeps or applies it, if it counts.
    fn count(&mut self, worker: usize, receipt: Receipt) {
        self.late[worker] = receipt == Receipt::Late;
        if receipt != Receipt::Counted {
            return;
        }
        let found = self.arriving[worker].tally;
        if !found.loss.is_finite() {
            self.is_over = true;
            self.tell(&Header::new(Kind::Fault), Payload::NONE);
            return;
        }
        self.pulse.add(found);
        if self.consistency.gathers() {
            std::mem::swap(&mut self.arriving[worker], &mut self.updates[worker]);
            self.counts[worker] = true;
            return;
        }
        let was = self.steps();
        let rates = self.rates(was);
        self.store.apply(&[self.arriving[worker].part()], rates);
        self.arriving[worker].frame.release();
        self.halves.clear();
        self.tally.add(found);
        self.counted += 1;
        let due = self.due(was);
        if due.is_any() && !self.follows() {
            self.look(due);
        }
    }

    fn carry_out(&mut self) {
        let mut actions = std::mem::take(&mut self.actions);
        let mut later = Vec::new();
        for action in actions.drain(..) {
            if self.is_over {
                break;
            }
            let waits = self.held.is_some() && matches!(action, Action::Proceed { .. });
            // Where nobody waits for anybody, nobody waits for an evaluation.
            if waits && self.consistency.gathers() {
                later.push(action);
            } else {
                self.act(action);
            }
        }
        if let Some((_, held)) = &mut self.held {
            held.append(&mut later);
        }
        self.actions = actions;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Welcome { to, clock } => {
                self.post(to, &Header::new(Kind::Welcome).clock(clock.0), false);
                let joined = Header::new(Kind::Join).sender(to.worker.0);
                self.tell(&joined, Payload::NONE);
            }
            Action::Proceed {
                to,
                clock,
                version,
                waited_for,
            } => {
                let header = Header::new(Kind::Parameters)
                    .flags(lateness(&mut self.late, to.worker.0))
                    .clock(version.0)
                    .sender(waited_for.map_or(NOBODY, |other| other.0))
                    .at(self.rank, clock.0);
                self.post(to, &header, true);
            }
            Action::Close {
                clock,
                counted,
                version,
            } => {
                self.close(clock, counted);
                self.counted = version.0;
                let due = self.due(clock.0);
                if due.is_any() {
                    self.look(due);
                }
            }
            Action::Lost {
                worker,
                cause,
                clock,
                doing,
                ..
            } => {
                let text = format!("{worker} is lost ({cause}) at clock {clock}, {doing}");
                let is_silent = u64::from(cause == LossCause::Silent) * SILENT;
                let header = Header::new(Kind::Leave)
                    .sender(worker.0)
                    .at(self.rank, is_silent);
                self.tell(&header, Payload::Bytes(text.as_bytes()));
            }
            Action::Replace {
                worker,
                incarnation,
            } => {
                let header = Header::new(Kind::Roster)
                    .sender(worker.0)
                    .clock(u64::from(incarnation.0));
                self.tell(&header, Payload::NONE);
            }
            Action::Fail { worker } => {
                self.tell(&Header::new(Kind::Stop).sender(worker.0), Payload::NONE);
            }
            Action::Empty => {
                self.tell(&Header::new(Kind::Stop).sender(NOBODY), Payload::NONE);
            }
        }
    }

    /// Applies the updates of an iteration, in the order of the workers.
    fn close(&mut self, clock: Clock, counted: u32) {
        let mut rates = match self.consistency {
            Consistency::Local { .. } => Rates {
                rate: 1.0,
                decay: 0.0,
                shrink: 1.0,
            },
            _ => self.rates(clock.0),
        };
        rates.shrink = self.workers as f32 / counted as f32;
        let parts: Vec<Part<'_>> = self
            .counts
            .iter()
            .zip(&self.updates)
            .filter(|(counts, _)| **counts)
            .map(|(_, update)| update.part())
            .collect();
        self.store.apply(&parts, rates);
        self.halves.clear();
        for (counts, update) in self.counts.iter_mut().zip(&mut self.updates) {
            if std::mem::take(counts) {
                self.tally.add(update.tally);
                update.frame.release();
            }
        }
    }

    fn due(&self, before: u64) -> Due {
        let mut due = self.milestones.between(before, self.steps());
        due.end |= self.end_at.is_some_and(|step| self.steps() >= step);
        due
    }

    /// Sends the controller a snapshot, once it has dealt with the last.
    fn look(&mut self, due: Due) {
        if self.is_watched {
            let (waiting, _) = self.held.get_or_insert_with(Default::default);
            waiting.evaluation |= due.evaluation;
            waiting.checkpoint |= due.checkpoint;
            waiting.end |= due.end;
            return;
        }
        self.is_watched = true;
        self.is_over |= due.end;
        self.show(due, self.steps());
    }

    /// Whether snapshots are another server's business. Servers that apply
    /// updates as they come are not at one step: the first says when, and the
    /// controller has the others follow.
    fn follows(&self) -> bool {
        self.rank > 0 && !self.consistency.gathers()
    }

    /// Sends the controller the parameters under the name of `step`.
    fn show(&mut self, due: Due, step: u64) {
        self.looked = step;
        let caption = Caption {
            tally: std::mem::take(&mut self.tally),
            optimizer_steps: self.store.optimizer().steps,
            due,
        };
        let header = |kind| Header::new(kind).clock(self.looked).at(self.rank, 0);
        let saved = header(Kind::Saved);
        let moments: Vec<AlignedBuffer> = match self.consistency {
            Consistency::Local { .. } => Vec::new(),
            _ => self.store.optimizer().moments.clone(),
        };
        let parameters = Arc::clone(self.store.parameters());
        let flag = |is_last: bool| if is_last { Flags::LAST } else { Flags::NONE };
        let first = header(Kind::Parameters).flags(flag(moments.is_empty()));
        self.tell(&saved, Payload::Bytes(&caption.pack()));
        self.tell(&first, Payload::Dense(&parameters));
        for (number, moment) in (1..).zip(&moments) {
            let header = Header::new(Kind::Checkpoint)
                .clock(self.looked)
                .at(self.rank, number)
                .flags(flag(number as usize == moments.len()));
            self.tell(&header, Payload::Dense(moment));
        }
    }

    /// Now and then: looks for losses and hangs, and reports.
    fn look_around(&mut self) {
        if self.looked_around.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.looked_around = now();
        if self.is_over {
            return;
        }
        let tick = self.tick();
        self.coordinator.tick(tick, &mut self.actions);
        self.carry_out();
        if self.rank == 0 {
            self.report(Flags::NONE);
            self.name_holdups();
        } else {
            self.tell(&Header::new(Kind::Heartbeat), Payload::NONE);
        }
        self.tell_refusals();
    }

    /// Says who was refused first for each cause.
    fn tell_refusals(&mut self) {
        for first in self.refusals.take_firsts() {
            let (server, from, cause) = (self.rank, first.from, first.cause);
            self.notify(&format!("server {server} refused {from}, which {cause}"));
        }
    }

    /// Words for the user.
    fn notify(&mut self, words: &str) {
        let header = Header::new(Kind::Record).at(self.rank, NOTICE);
        self.tell(&header, Payload::Bytes(words.as_bytes()));
    }

    /// Refuses a worker that was told to train something else.
    fn turn_away(&mut self, peer: Member, difference: &str) {
        let header = Header::new(Kind::Fault).at(self.rank, OTHER_TRAINING);
        for writer in &mut self.writers {
            if writer.peer() == peer {
                let _ = writer.post(&header, Payload::Bytes(difference.as_bytes()));
            }
        }
        let words = format!("worker {} trains something else: {difference}", peer.rank);
        let header = Header::new(Kind::Record).at(self.rank, ABOUT_OTHER_TRAINING);
        self.tell(&header, Payload::Bytes(words.as_bytes()));
    }

    fn report(&mut self, flags: Flags) {
        let pulse = std::mem::take(&mut self.pulse);
        let mut numbers = vec![self.steps(), pulse.loss.to_bits(), pulse.hits, pulse.rows];
        for totals in &self.totals {
            pack_account(totals, &mut numbers);
        }
        let header = Header::new(Kind::Record).flags(flags);
        self.tell(&header, Payload::Bytes(&pack(&numbers)));
    }

    /// Says for whom a worker waits longer than a loss takes to notice.
    fn name_holdups(&mut self) {
        let mut notices = Vec::new();
        for view in self.coordinator.members() {
            let wait = &mut self.waits[view.worker.0 as usize];
            let Doing::Waiting(clock) = view.doing else {
                *wait = None;
                continue;
            };
            match wait {
                Some((since, began, told)) if *since == clock => {
                    if !*told && began.elapsed() >= self.session.cluster.failure_timeout {
                        *told = true;
                        let others: Vec<String> = self
                            .coordinator
                            .holdups(view.worker)
                            .map(|other| other.to_string())
                            .collect();
                        let words = format!(
                            "{} waits to start iteration {clock} for {}",
                            view.worker,
                            others.join("; ")
                        );
                        notices.push((view.worker.0, words));
                    }
                }
                _ => *wait = Some((clock, now(), false)),
            }
        }
        for (worker, words) in notices {
            let header = Header::new(Kind::Record)
                .sender(worker)
                .at(self.rank, WAITS);
            self.tell(&header, Payload::Bytes(words.as_bytes()));
        }
    }

    /// Whether everybody has gone.
    fn is_done(&mut self) -> bool {
        let Some(since) = self.farewell else {
            return false;
        };
        let remaining = self
            .writers
            .iter()
            .any(|writer| writer.peer().role == Role::Worker);
        if remaining && since.elapsed() < GRACE {
            return false;
        }
        self.tell_refusals();
        let refused = self.refusals.total();
        if refused > 0 {
            let server = self.rank;
            self.notify(&format!("server {server} refused {refused} connections"));
        }
        if self.rank == 0 {
            self.report(Flags::LAST);
        }
        let until = now();
        while self.writers.iter().any(|writer| writer.backlog() > 0) && until.elapsed() < GRACE {
            for writer in &mut self.writers {
                let _ = writer.drain();
            }
            std::thread::yield_now();
        }
        true
    }

    fn refuse(&mut self, peer: Member, refusal: Refusal) {
        let join_with = match refusal {
            Refusal::NotAMember { join_with, .. } => join_with.0,
            Refusal::FormerLife { current, .. } => current.0 + 1,
            _ => peer.incarnation + 1,
        };
        let header = Header::new(Kind::Fault).clock(u64::from(join_with));
        for writer in &mut self.writers {
            if writer.peer() == peer {
                let text = refusal.to_string();
                let _ = writer.post(&header, Payload::Bytes(text.as_bytes()));
            }
        }
    }

    fn post(&mut self, to: Sender, header: &Header, with_parameters: bool) {
        let parameters = Arc::clone(self.store.parameters());
        let is_half = self.session.cluster.compress == Compression::Half;
        if with_parameters && is_half && self.halves.is_empty() {
            to_half(self.kernels, &parameters, &mut self.halves, &mut self.room);
        }
        let payload = match (with_parameters, is_half) {
            (false, _) => Payload::NONE,
            (true, false) => Payload::Dense(&parameters),
            (true, true) => Payload::Half(&self.halves),
        };
        for writer in &mut self.writers {
            let peer = writer.peer();
            if peer.role == Role::Worker && sender(peer) == to {
                // What fails is seen when the connection is read.
                let _ = writer.post(header, payload);
            }
        }
    }

    fn tell(&mut self, header: &Header, payload: Payload<'_>) {
        for writer in &mut self.writers {
            if writer.peer().role == Role::Controller {
                let _ = writer.post(header, payload);
            }
        }
    }

    fn steps(&self) -> u64 {
        if self.consistency.gathers() {
            self.counted
        } else {
            self.counted / self.workers as u64
        }
    }

    fn rates(&self, steps: u64) -> Rates {
        let settings = &self.session.settings;
        let epochs = steps as f64 / self.milestones.per_epoch as f64;
        Rates {
            rate: (settings.rate * settings.schedule.factor(epochs)) as f32,
            decay: settings.decay,
            shrink: 1.0,
        }
    }

    fn tick(&self) -> Tick {
        Tick(ticks(self.began.elapsed()))
    }
}

/// Marks the answer to an update that came too late, once.
fn lateness(late: &mut [bool], worker: u32) -> Flags {
    match late.get_mut(worker as usize).map(std::mem::take) {
        Some(true) => Flags::LATE,
        _ => Flags::NONE,
    }
}

fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn sender(peer: Member) -> Sender {
    Sender {
        worker: paceline_model::WorkerId(peer.rank),
        incarnation: Incarnation(peer.incarnation),
    }
}
