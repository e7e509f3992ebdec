//! The controller: starts servers and workers, looks at snapshots, deals with
//! losses and ends the training.

mod gathering;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_kernels::AlignedBuffer;
use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::{
    Deadline, Flags, Frame, Header, Kind, Member, Payload, ReadHalf, Role, WriteHalf, wait_any,
};

use super::connecting::Connecting;
use super::evaluator::{Evaluator, Milestones, Snapshot};
use super::frames::{
    ABOUT_OTHER_TRAINING, AT_NEXT_STEP, Caption, OTHER_TRAINING, Rendezvous, SILENT, WAITS, unpack,
    unpack_accounts,
};
use super::identity::TrainingIdentity;
use super::launcher::{Ended, Kill, Launcher, Moment};
use super::membership::Membership;
use super::notice::Notice;
use super::session::ClusterSession;
use super::totals::{LifetimeTotals, WorkerTotals};
use super::update::Span;
use crate::clock::now;
use crate::optimizer::OptimizerState;
use crate::session::{Ending, TrainError};

/// A member that has ended so often will not stay.
const MOST_STARTS: u32 = 20;

/// How long the controller waits for last words.
const GRACE: Duration = Duration::from_secs(5);

/// How long it looks at its connections before it looks at its children.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The same while a server is being reached.
const POLL_EVERY_WHILE_CONNECTING: Duration = Duration::from_millis(2);

/// Trains until the goal is met. All members have ended on return.
pub(super) fn train(
    session: &ClusterSession,
    rendezvous: &Rendezvous,
    launcher: &mut dyn Launcher,
    kills: &[Kill],
    evaluator: &mut Evaluator<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<WorkerTotals>), TrainError> {
    let mut controller = Controller::new(session, rendezvous, launcher, kills);
    let outcome = controller.conduct(evaluator, stop);
    controller.dismiss(evaluator);
    let ending = outcome?;
    Ok((ending, controller.totals()))
}

struct Controller<'a> {
    session: &'a ClusterSession,
    rendezvous: &'a Rendezvous,
    launcher: &'a mut dyn Launcher,
    /// Members are started by somebody else.
    is_external: bool,
    policy: OnWorkerLoss,
    gathers: bool,
    milestones: Milestones,
    identity: TrainingIdentity,
    kills: Vec<Kill>,
    spans: Vec<Span>,
    readers: Vec<Option<ReadHalf>>,
    writers: Vec<Option<WriteHalf>>,
    /// The servers that are being reached.
    connecting: Vec<Option<Connecting>>,
    /// When each server was last heard, unless its silence was told.
    heard_at: Vec<Option<Instant>>,
    membership: Membership,
    /// Workers have been started, or the last that is started elsewhere came.
    has_begun: bool,
    /// Who runs, or ran last, by role and number.
    running: BTreeMap<(Role, u32), Running>,
    assemblies: BTreeMap<u64, Assembly>,
    /// The last step that was looked at.
    heard: Option<u64>,
    lifetimes: Vec<LifetimeTotals>,
    pulse: Tally,
    steps: u64,
    began: Instant,
    /// The training is to end, for this reason, as soon as the servers can.
    ending: Option<(Ending, Instant)>,
    /// Workers that fell silent.
    silent: BTreeSet<u32>,
    /// Workers elsewhere without which the training must not go on, and since
    /// when they are lost.
    doomed: BTreeMap<u32, Instant>,
    has_last_words: bool,
}

#[derive(Clone, Debug)]
struct Running {
    member: Member,
    is_alive: bool,
    starts: u32,
}

/// A snapshot of which parts are still on their way.
struct Assembly {
    caption: Option<Caption>,
    parameters: AlignedBuffer,
    optimizer: OptimizerState,
    complete: Vec<bool>,
}

/// What a frame leads to.
enum News {
    Nothing,
    Snapshot(u64),
    Ends(Ending),
    /// The server was started for another training.
    Strange,
}

impl<'a> Controller<'a> {
    fn new(
        session: &'a ClusterSession,
        rendezvous: &'a Rendezvous,
        launcher: &'a mut dyn Launcher,
        kills: &[Kill],
    ) -> Self {
        let count = rendezvous.servers.len();
        let workers = session.cluster.workers.get() as usize;
        let consistency = session.cluster.consistency();
        Self {
            is_external: launcher.is_external(),
            milestones: session.milestones(),
            identity: TrainingIdentity::of(session),
            connecting: (0..count).map(|_| None).collect(),
            heard_at: vec![None; count],
            membership: Membership::new(&rendezvous.servers, workers, now()),
            has_begun: false,
            policy: session
                .cluster
                .on_worker_loss
                .unwrap_or(OnWorkerLoss::usual_for(consistency)),
            gathers: consistency.gathers(),
            kills: kills.to_vec(),
            spans: Span::cut(session.model.layout(), count),
            readers: (0..count).map(|_| None).collect(),
            writers: (0..count).map(|_| None).collect(),
            running: BTreeMap::new(),
            assemblies: BTreeMap::new(),
            heard: None,
            lifetimes: vec![LifetimeTotals::new(workers); workers],
            pulse: Tally::default(),
            steps: session.progress.steps,
            began: now(),
            ending: None,
            silent: BTreeSet::new(),
            doomed: BTreeMap::new(),
            has_last_words: false,
            session,
            rendezvous,
            launcher,
        }
    }

    fn conduct(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        let servers = u32::try_from(self.readers.len()).expect("servers are counted by 32 bits");
        for rank in 0..servers {
            self.start(Role::Server, rank)?;
            self.dial(rank as usize)?;
        }
        loop {
            let awaited: Vec<&ReadHalf> = self.readers.iter().flatten().collect();
            let behind: Vec<&WriteHalf> = self.writers.iter().flatten().collect();
            let is_dialing = self.connecting.iter().any(Option::is_some);
            let glance = if is_dialing {
                POLL_EVERY_WHILE_CONNECTING
            } else {
                POLL_EVERY
            };
            if awaited.is_empty() {
                std::thread::sleep(glance);
            } else {
                wait_any(&awaited, &behind, Deadline::after(glance)).map_err(TrainError::Wait)?;
            }
            for server in 0..self.readers.len() {
                if let Some(ending) = self.listen(server, evaluator)? {
                    return Ok(ending);
                }
            }
            self.look_after(evaluator)?;
            self.greet(evaluator)?;
            self.begin(evaluator)?;
            if self.is_external {
                self.check_membership(evaluator)?;
            }
            if self.has_begun {
                self.kill();
            }
            let pulse = std::mem::take(&mut self.pulse);
            evaluator.tell(pulse, self.steps, || self.totals());
            let is_stopped = stop.load(Ordering::Relaxed);
            match self.ending {
                // There is nothing to look at, and perhaps nobody to ask.
                None if is_stopped && !self.has_begun => return Ok(Ending::Interrupted),
                None if is_stopped => self.end(Ending::Interrupted),
                None if self.has_begun && evaluator.is_late() => self.end(Ending::Time),
                // Workers that hang do not hold up the end: the last snapshot
                // that was looked at is what remains.
                Some((ending, since)) if since.elapsed() > GRACE => return Ok(ending),
                _ => {}
            }
        }
    }

    fn start(&mut self, role: Role, rank: u32) -> Result<(), TrainError> {
        let before = self.running.get(&(role, rank));
        let starts = before.map_or(0, |running| running.starts);
        let member = Member {
            role,
            rank,
            incarnation: starts,
        };
        self.launcher.start(member)?;
        let running = Running {
            member,
            is_alive: true,
            starts: starts + 1,
        };
        self.running.insert((role, rank), running);
        Ok(())
    }

    /// Takes what a server says; says if that ends the training.
    fn listen(
        &mut self,
        server: usize,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(mut reader) = self.readers[server].take() else {
            return Ok(None);
        };
        loop {
            let news = match reader.try_receive() {
                Ok(Some(frame)) => {
                    self.heard_at[server] = Some(now());
                    self.hear(server, &frame, evaluator)?
                }
                Ok(None) => {
                    self.readers[server] = Some(reader);
                    return Ok(None);
                }
                Err(_) => {
                    self.writers[server] = None;
                    // The end of a child is seen where they are looked after.
                    if self.is_external && self.ending.is_none() {
                        self.await_again(server, evaluator)?;
                    }
                    return Ok(None);
                }
            };
            let ending = match news {
                News::Nothing => None,
                News::Ends(ending) => Some(ending),
                News::Snapshot(steps) => self.look(steps, evaluator)?,
                News::Strange => {
                    self.writers[server] = None;
                    self.dial(server)?;
                    return Ok(None);
                }
            };
            if ending.is_some() {
                self.readers[server] = Some(reader);
                return Ok(ending);
            }
        }
    }

    fn hear(
        &mut self,
        server: usize,
        frame: &Frame<'_>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<News, TrainError> {
        let header = frame.header;
        let Ok(payload) = frame.payload() else {
            return Ok(News::Nothing);
        };
        match (header.kind, payload) {
            (Kind::Record, Payload::Bytes(words)) if header.start != 0 => {
                evaluator.watch.noticed(&notice(&header, words));
            }
            (Kind::Record, Payload::Bytes(bytes)) => self.note(&unpack(bytes)),
            (Kind::Saved, Payload::Bytes(bytes)) => {
                let caption = Caption::unpack(bytes);
                // The rows are told by every server; the first speaks for all.
                if server == 0 {
                    self.assembly(header.clock).caption = caption;
                    self.have_others_follow(header.clock, caption);
                }
            }
            (Kind::Parameters | Kind::Checkpoint, Payload::Dense(values)) => {
                return Ok(self.assemble(server, &header, values));
            }
            (Kind::Join, _) => {
                self.membership.worker_came(header.sender, server, now());
                self.silent.remove(&header.sender);
                self.doomed.remove(&header.sender);
            }
            (Kind::Leave, Payload::Bytes(text)) => {
                self.membership.worker_went(header.sender, server, now());
                // Every server sees a loss; the first speaks for all.
                if server == 0 {
                    evaluator.watch.noticed(&Notice::WorkerLost {
                        worker: header.sender,
                        words: String::from_utf8_lossy(text).into_owned(),
                    });
                }
                if header.start == SILENT {
                    self.silent.insert(header.sender);
                    if self.policy == OnWorkerLoss::Replace {
                        self.end_member(Role::Worker, header.sender);
                    }
                }
            }
            (Kind::Roster, _) => {
                let worker = (Role::Worker, header.sender);
                let runs = self.running.get(&worker).is_some_and(|who| who.is_alive);
                if !runs && self.ending.is_none() {
                    self.replace(worker, "a server asks for it", evaluator)?;
                }
            }
            // A worker that left one server because another died is on its way
            // back; one whose process has ended is dealt with there.
            (Kind::Stop, _) if self.silent.contains(&header.sender) => {
                return Err(TrainError::Lost {
                    worker: header.sender,
                    how: "it was silent for too long".to_owned(),
                });
            }
            (Kind::Stop, _) if self.is_external && self.policy == OnWorkerLoss::Fail => {
                self.doomed.entry(header.sender).or_insert_with(now);
            }
            (Kind::Fault, Payload::Bytes(theirs)) if header.start == OTHER_TRAINING => {
                let difference = self.identity.difference(theirs).unwrap_or_default();
                evaluator.watch.noticed(&Notice::OtherTraining {
                    words: format!("server {server} trains something else: {difference}"),
                });
                self.heard_at[server] = None;
                self.membership.server_went(server, now());
                return Ok(News::Strange);
            }
            (Kind::Fault, _) => return Ok(News::Ends(Ending::Diverged)),
            _ => {}
        }
        Ok(News::Nothing)
    }

    /// The first server shows step `steps`: where the others do not know, they
    /// are told.
    fn have_others_follow(&mut self, steps: u64, caption: Option<Caption>) {
        let ends = caption.is_some_and(|said| said.due.end);
        let kind = match (ends, self.gathers) {
            (true, true) if self.ending.is_some() => Kind::Checkpoint,
            (_, true) => return,
            (true, false) => Kind::Checkpoint,
            (false, false) => Kind::Clock,
        };
        for other in 1..self.writers.len() {
            self.say(other, &Header::new(kind).clock(steps));
        }
    }

    fn note(&mut self, numbers: &[u64]) {
        let [steps, loss, hits, rows, totals @ ..] = numbers else {
            return;
        };
        self.steps = *steps;
        self.pulse.add(Tally {
            loss: f64::from_bits(*loss),
            hits: *hits,
            rows: *rows,
        });
        let found = unpack_accounts(totals, self.lifetimes.len());
        for (lifetimes, totals) in self.lifetimes.iter_mut().zip(found) {
            lifetimes.hear(totals);
        }
    }

    fn totals(&self) -> Vec<WorkerTotals> {
        self.lifetimes.iter().map(LifetimeTotals::sum).collect()
    }

    fn assembly(&mut self, steps: u64) -> &mut Assembly {
        let len = self.session.model.layout().len();
        let optimizer = self.session.settings.optimizer;
        let servers = self.readers.len();
        self.assemblies.entry(steps).or_insert_with(|| Assembly {
            caption: None,
            parameters: AlignedBuffer::zeroed(len),
            optimizer: OptimizerState::new(optimizer, len),
            complete: vec![false; servers],
        })
    }

    fn assemble(&mut self, server: usize, header: &Header, values: &[f32]) -> News {
        let range = self.spans[server].flat();
        if values.len() != range.len() {
            return News::Nothing;
        }
        let assembly = self.assembly(header.clock);
        match (header.kind, header.start.checked_sub(1)) {
            (Kind::Parameters, _) => assembly.parameters[range].copy_from_slice(values),
            (_, Some(moment)) => {
                if let Some(all) = assembly.optimizer.moments.get_mut(moment as usize) {
                    all[range].copy_from_slice(values);
                }
            }
            _ => {}
        }
        if header.flags.has(Flags::LAST) {
            assembly.complete[server] = true;
            let is_complete = assembly.complete.iter().all(|part| *part);
            let is_old = self.heard.is_some_and(|heard| header.clock <= heard);
            if is_old && self.gathers {
                // A server that was started anew repeats what was looked at.
                self.assemblies.remove(&header.clock);
                self.say(server, &Header::new(Kind::Saved).clock(header.clock));
            } else if is_complete {
                return News::Snapshot(header.clock);
            }
        }
        News::Nothing
    }

    /// Looks at a complete snapshot, and lets the servers go on.
    fn look(
        &mut self,
        steps: u64,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(assembly) = self.assemblies.remove(&steps) else {
            return Ok(None);
        };
        let Some(caption) = assembly.caption else {
            return Ok(None);
        };
        self.heard = Some(steps);
        self.steps = self.steps.max(steps);
        let mut optimizer = assembly.optimizer;
        optimizer.steps = caption.optimizer_steps;
        let mut due = caption.due;
        if let Some((ending, _)) = self.ending {
            due.evaluation |= ending == Ending::Time;
        }
        let found = evaluator.hear(Snapshot {
            steps,
            parameters: Arc::new(assembly.parameters),
            optimizer,
            tally: caption.tally,
            due,
        })?;
        let ending = found.or_else(|| {
            let asked = self.ending.filter(|_| due.end);
            asked.map(|(ending, _)| ending)
        });
        if ending.is_none() {
            self.say_all(&Header::new(Kind::Saved).clock(steps));
        }
        Ok(ending)
    }

    /// Asks for a last snapshot: the first server names the step, the others
    /// follow when they hear of it.
    fn end(&mut self, ending: Ending) {
        self.ending = Some((ending, now()));
        self.say(0, &Header::new(Kind::Checkpoint).clock(AT_NEXT_STEP));
    }

    /// Looks at who has ended.
    fn look_after(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        for Ended { member, how } in self.launcher.ended() {
            let who = (member.role, member.rank);
            let Some(running) = self.running.get_mut(&who) else {
                continue;
            };
            if running.member != member {
                continue;
            }
            running.is_alive = false;
            if self.ending.is_some() {
                continue;
            }
            match (member.role, self.policy) {
                (Role::Server, _) => self.restart_server(member.rank, &how, evaluator)?,
                (Role::Worker, OnWorkerLoss::Replace) => self.replace(who, &how, evaluator)?,
                (Role::Worker, OnWorkerLoss::Fail) => {
                    return Err(TrainError::Lost {
                        worker: member.rank,
                        how,
                    });
                }
                (_, policy) => {
                    let notice = Notice::Ended {
                        member,
                        how: how.clone(),
                    };
                    evaluator.watch.noticed(&notice);
                    if policy == OnWorkerLoss::Continue {
                        if !self.has_workers() {
                            return Err(TrainError::NoWorkerLeft { how });
                        }
                        self.say_all(&Header::new(Kind::Leave).sender(member.rank));
                    }
                }
            }
        }
        Ok(())
    }

    fn has_workers(&self) -> bool {
        self.running
            .iter()
            .any(|((role, _), who)| *role == Role::Worker && who.is_alive)
    }

    fn replace(
        &mut self,
        who: (Role, u32),
        how: &str,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let Some(running) = self.running.get(&who) else {
            return Ok(());
        };
        let (member, starts) = (running.member, running.starts);
        if starts >= MOST_STARTS {
            return Err(TrainError::KeepsEnding {
                member,
                times: starts,
                how: how.to_owned(),
            });
        }
        evaluator.watch.noticed(&Notice::Replaced {
            member,
            how: how.to_owned(),
        });
        self.start(who.0, who.1)
    }

    /// A server that died is started again, and gets the last version that was
    /// looked at when it listens.
    fn restart_server(
        &mut self,
        rank: u32,
        how: &str,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let server = rank as usize;
        if !self.has_begun {
            // One that cannot start is not waited for.
            let running = self.running.get(&(Role::Server, rank));
            if let Some(Running { member, starts, .. }) = running.cloned() {
                return Err(TrainError::KeepsEnding {
                    member,
                    times: starts,
                    how: how.to_owned(),
                });
            }
        }
        self.readers[server] = None;
        self.writers[server] = None;
        self.membership.server_went(server, now());
        self.replace((Role::Server, rank), how, evaluator)?;
        self.dial(server)
    }

    fn kill(&mut self) {
        let (elapsed, steps) = (self.began.elapsed(), self.steps);
        let is_due = |kill: &Kill| match kill.at {
            Moment::Time(time) => time <= elapsed,
            Moment::Step(step) => step <= steps,
        };
        let (due, later): (Vec<Kill>, _) = self.kills.drain(..).partition(is_due);
        self.kills = later;
        for kill in due {
            self.end_member(kill.role, kill.rank);
        }
    }

    fn end_member(&mut self, role: Role, rank: u32) {
        if let Some(running) = self.running.get(&(role, rank)) {
            self.launcher.end(running.member);
        }
    }

    fn say(&mut self, server: usize, header: &Header) {
        if let Some(writer) = &mut self.writers[server] {
            // A server that is gone is seen where children are looked after.
            let _ = writer.send(header, Payload::NONE);
        }
    }

    fn say_all(&mut self, header: &Header) {
        for server in 0..self.writers.len() {
            self.say(server, header);
        }
    }

    /// Sends everybody home and waits for the last words.
    fn dismiss(&mut self, evaluator: &mut Evaluator<'_>) {
        self.say_all(&Header::new(Kind::Stop));
        let since = now();
        while !self.has_last_words && since.elapsed() < GRACE {
            let Some(mut reader) = self.readers.first_mut().and_then(Option::take) else {
                break;
            };
            match reader.receive(Deadline::after(GRACE)) {
                Ok(frame) => {
                    let header = frame.header;
                    match (header.kind, frame.payload()) {
                        (Kind::Record, Ok(Payload::Bytes(words))) if header.start != 0 => {
                            evaluator.watch.noticed(&notice(&header, words));
                        }
                        (Kind::Record, Ok(Payload::Bytes(bytes))) => {
                            self.note(&unpack(bytes));
                            self.has_last_words = header.flags.has(Flags::LAST);
                        }
                        _ => {}
                    }
                }
                Err(_) => break,
            }
            self.readers[0] = Some(reader);
        }
        if self.is_external {
            return;
        }
        // Whoever has not gone by now is ended.
        while self.running.values().any(|who| who.is_alive) {
            for Ended { member, .. } in self.launcher.ended() {
                if let Some(running) = self.running.get_mut(&(member.role, member.rank)) {
                    running.is_alive = false;
                }
            }
            if since.elapsed() > GRACE {
                for running in self.running.values().filter(|who| who.is_alive) {
                    self.launcher.end(running.member);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A server's words for the user.
fn notice(header: &Header, words: &[u8]) -> Notice {
    let words = String::from_utf8_lossy(words).into_owned();
    let worker = header.sender;
    match header.start {
        WAITS => Notice::Waiting { worker, words },
        ABOUT_OTHER_TRAINING => Notice::OtherTraining { words },
        _ => Notice::Connection { words },
    }
}
