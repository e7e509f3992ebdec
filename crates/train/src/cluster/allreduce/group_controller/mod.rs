//! The trainer's part where workers sum among themselves: it has them meet,
//! looks at snapshots, deals with losses and ends the training.

mod losses;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::{
    Deadline, FirstRefusal, Frame, Header, Kind, Listener, Member, Payload, ReadHalf, Role,
    WriteHalf, wait_any,
};

use super::roster::{Roster, Standing};
use super::snapshots::Arriving;
use super::status::Doing;
use super::worker_slot::WorkerSlot;
use crate::clock::now;
use crate::cluster::evaluator::{Due, Evaluator, Snapshot};
use crate::cluster::frames::{AT_NEXT_STEP, OTHER_TRAINING, Rendezvous, unpack, unpack_accounts};
use crate::cluster::identity::TrainingIdentity;
use crate::cluster::launcher::{Kill, Launcher};
use crate::cluster::membership::Membership;
use crate::cluster::notice::Notice;
use crate::cluster::session::ClusterSession;
use crate::cluster::totals::WorkerTotals;
use crate::session::{Ending, TrainError};

/// Groups that form and break again before anybody completes a step.
const MOST_ATTEMPTS: u32 = 5;

/// How long the trainer waits for last words.
const GRACE: Duration = Duration::from_secs(5);

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
    let mut controller = GroupController::new(session, rendezvous, &listener, launcher, kills);
    let outcome = controller.conduct(evaluator, stop);
    controller.dismiss();
    let ending = outcome?;
    Ok((ending, controller.totals()))
}

struct GroupController<'a> {
    session: &'a ClusterSession,
    rendezvous: &'a Rendezvous,
    listener: &'a Listener,
    launcher: &'a mut dyn Launcher,
    /// Workers are started by somebody else.
    is_external: bool,
    identity: TrainingIdentity,
    membership: Membership,
    policy: OnWorkerLoss,
    kills: Vec<Kill>,
    slots: Vec<WorkerSlot>,
    /// The number of the last group.
    generation: u32,
    /// Whether that group is at work, as far as is known.
    is_grouped: bool,
    /// Groups in a row that completed no step, and where they stood.
    attempts: u32,
    stood: Option<u64>,
    /// The step of the last snapshot that was looked at.
    looked: u64,
    pulse: Tally,
    steps: u64,
    began: Instant,
    /// The training is to end, for this reason, as soon as the workers agree.
    ending: Option<(Ending, Instant)>,
}

impl<'a> GroupController<'a> {
    fn new(
        session: &'a ClusterSession,
        rendezvous: &'a Rendezvous,
        listener: &'a Listener,
        launcher: &'a mut dyn Launcher,
        kills: &[Kill],
    ) -> Self {
        let workers = session.cluster.workers.get();
        let layout = session.model.layout();
        let arriving = || Arriving::new(layout, session.settings.optimizer);
        let consistency = session.cluster.consistency();
        // The workers meet at the trainer, which is there.
        let mut membership = Membership::new(&rendezvous.servers[..1], workers as usize, now());
        membership.server_came(0, now());
        Self {
            is_external: launcher.is_external(),
            identity: TrainingIdentity::of(session),
            membership,
            policy: session
                .cluster
                .on_worker_loss
                .unwrap_or(OnWorkerLoss::usual_for(consistency)),
            kills: kills.to_vec(),
            slots: (0..workers)
                .map(|rank| WorkerSlot::new(rank, workers as usize, arriving()))
                .collect(),
            generation: 0,
            is_grouped: false,
            attempts: 0,
            stood: None,
            looked: session.progress.steps,
            pulse: Tally::default(),
            steps: session.progress.steps,
            began: now(),
            ending: None,
            session,
            rendezvous,
            listener,
            launcher,
        }
    }

    fn conduct(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        for worker in 0..self.slots.len() {
            self.start(worker)?;
        }
        self.began = now();
        loop {
            self.admit();
            self.tell_refusals(evaluator);
            self.wait()?;
            for worker in 0..self.slots.len() {
                if let Some(ending) = self.listen(worker, evaluator)? {
                    return Ok(ending);
                }
            }
            if let Some(ending) = self.look_after(evaluator)? {
                return Ok(ending);
            }
            self.mind_silence(evaluator)?;
            self.check_membership(evaluator)?;
            self.kill();
            self.convene(evaluator)?;
            let pulse = std::mem::take(&mut self.pulse);
            evaluator.tell(pulse, self.steps, || self.totals());
            let is_stopped = stop.load(Ordering::Relaxed);
            let has_begun = self.generation > 0;
            match self.ending {
                // There is nothing to look at, and perhaps nobody to ask.
                None if is_stopped && !has_begun => return Ok(Ending::Interrupted),
                None if is_stopped => self.end(Ending::Interrupted),
                None if has_begun && evaluator.is_late() => self.end(Ending::Time),
                // Workers that hang do not hold up the end: the last snapshot
                // that was looked at is what remains.
                Some((ending, since)) if since.elapsed() > GRACE => return Ok(ending),
                _ => {}
            }
        }
    }

    fn start(&mut self, worker: usize) -> Result<(), TrainError> {
        let slot = &mut self.slots[worker];
        let member = Member {
            incarnation: slot.starts,
            ..slot.member
        };
        self.launcher.start(member)?;
        slot.take(member);
        // A new member is a new attempt.
        self.attempts = 0;
        Ok(())
    }

    /// Lets workers in that have come.
    fn admit(&mut self) {
        while let Ok(connection) = self.listener.accept(Deadline::PASSED) {
            let peer = connection.peer();
            let is_external = self.is_external;
            let slot = self.slots.iter_mut().find(|slot| {
                // Who starts a worker elsewhere need not count its starts.
                let counts = |member: Member| Member {
                    incarnation: if is_external { 0 } else { member.incarnation },
                    ..member
                };
                counts(slot.member) == counts(peer)
            });
            // Anybody else is a process that was given up.
            let Some(slot) = slot else {
                continue;
            };
            let is_another = slot.is_connected();
            slot.meet(connection);
            if is_another {
                self.call_off();
            }
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

    fn wait(&mut self) -> Result<(), TrainError> {
        let links = self.slots.iter().filter_map(WorkerSlot::link);
        let (readers, writers): (Vec<&ReadHalf>, Vec<&WriteHalf>) = links.unzip();
        if readers.is_empty() {
            std::thread::sleep(POLL_EVERY);
        } else {
            wait_any(&readers, &writers, Deadline::after(POLL_EVERY)).map_err(TrainError::Wait)?;
        }
        for slot in &mut self.slots {
            slot.drain();
        }
        Ok(())
    }

    /// Takes what a worker says; says if that ends the training.
    fn listen(
        &mut self,
        worker: usize,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(mut reader) = self.slots[worker].lend() else {
            return Ok(None);
        };
        loop {
            match reader.try_receive() {
                Ok(Some(frame)) => {
                    self.slots[worker].hears();
                    let news = self.hear(worker, &frame);
                    if let Some(ending) = self.judge(worker, news, evaluator)? {
                        self.slots[worker].put_back(reader);
                        return Ok(Some(ending));
                    }
                }
                Ok(None) => {
                    self.slots[worker].put_back(reader);
                    return Ok(None);
                }
                Err(_) => {
                    // Whether a process of this host has ended is seen where
                    // they are looked after, or by its silence.
                    if self.is_external {
                        self.lose(worker, "its connection broke".to_owned(), evaluator)?;
                    } else {
                        self.part(worker);
                    }
                    return Ok(None);
                }
            }
        }
    }

    fn hear(&mut self, worker: usize, frame: &Frame<'_>) -> News {
        let header = frame.header;
        let slot = &mut self.slots[worker];
        match (header.kind, frame.payload()) {
            (Kind::Heartbeat, _) => slot.doing = Doing::from_code(header.start),
            (Kind::Join, Ok(Payload::Bytes(bytes))) => {
                let Some(standing) = Standing::unpack(&header, bytes) else {
                    return News::Nothing;
                };
                let theirs = standing.identity.as_bytes();
                if let Some(difference) = self.identity.difference(theirs) {
                    return News::OtherTraining(difference);
                }
                slot.standing = Some(standing);
                slot.doing = Doing::Gathering;
                self.membership.worker_came(slot.member.rank, 0, now());
                self.call_off();
            }
            (Kind::Record, Ok(Payload::Bytes(bytes))) => {
                self.note(worker, &unpack(bytes));
            }
            (Kind::Fault, _) => return News::Diverged,
            _ => {
                if let Some(snapshot) = slot.arriving.take(frame) {
                    return News::Snapshot(snapshot);
                }
            }
        }
        News::Nothing
    }

    fn note(&mut self, worker: usize, numbers: &[u64]) {
        let [step, loss, hits, rows, totals @ ..] = numbers else {
            return;
        };
        self.steps = self.steps.max(*step);
        self.pulse.add(Tally {
            loss: f64::from_bits(*loss),
            hits: *hits,
            rows: *rows,
        });
        let found = unpack_accounts(totals, self.slots.len());
        if let Some(totals) = found.into_iter().next() {
            self.slots[worker].note(totals);
        }
    }

    fn judge(
        &mut self,
        worker: usize,
        news: News,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let mut snapshot = match news {
            News::Nothing => return Ok(None),
            News::Diverged => return Ok(Some(Ending::Diverged)),
            News::OtherTraining(difference) => {
                let member = self.slots[worker].member;
                evaluator.watch.noticed(&Notice::OtherTraining {
                    words: format!("{member} was told to train something else: {difference}"),
                });
                let header = Header::new(Kind::Fault).at(0, OTHER_TRAINING);
                self.slots[worker].say(&header, Payload::Bytes(difference.as_bytes()));
                return Ok(None);
            }
            News::Snapshot(snapshot) => snapshot,
        };
        let (steps, ends) = (snapshot.steps, snapshot.due.end);
        self.looked = self.looked.max(steps);
        self.steps = self.steps.max(steps);
        let asked = self.ending.map(|(ending, _)| ending);
        snapshot.due.evaluation |= ends && asked == Some(Ending::Time);
        let found = evaluator.hear(snapshot)?;
        let ending = found.or(asked.filter(|_| ends));
        if ending.is_none() {
            self.slots[0].say(&Header::new(Kind::Clock).clock(steps), Payload::NONE);
        }
        Ok(ending)
    }

    /// Has the workers agree on a step at which all stop.
    fn end(&mut self, ending: Ending) {
        self.ending = Some((ending, now()));
        let header = Header::new(Kind::Checkpoint).clock(AT_NEXT_STEP);
        for slot in &mut self.slots {
            slot.say(&header, Payload::NONE);
        }
    }

    /// Has everybody leave the group that is broken.
    fn call_off(&mut self) {
        if !self.is_grouped {
            return;
        }
        self.is_grouped = false;
        let header = Header::new(Kind::Leave).at(0, u64::from(self.generation));
        for slot in &mut self.slots {
            slot.say(&header, Payload::NONE);
        }
    }

    /// Once all ask for it, has them form a group.
    fn convene(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        if self.is_grouped {
            return Ok(());
        }
        let standings: Option<Vec<&Standing>> = self
            .slots
            .iter()
            .map(|slot| slot.standing.as_ref().filter(|_| slot.is_connected()))
            .collect();
        let Some(standings) = standings else {
            return Ok(());
        };
        let addresses = standings.iter().map(|one| one.address.clone()).collect();
        // Of those who are furthest, the first.
        let (source, furthest) = (0..)
            .zip(&standings)
            .min_by_key(|(_, standing)| std::cmp::Reverse(standing.step))
            .expect("there are workers");
        let (mut source, mut step, mut caption) = (source, furthest.step, furthest.caption);
        // Where all begin, or were lost at once, the trainer may know better.
        if let Some(state) = self.known_beyond(step, evaluator) {
            (source, step) = (0, state.steps);
            caption.tally = Tally::default();
            caption.optimizer_steps = state.optimizer.steps;
            self.slots[0].give(&state);
        }
        self.count_attempt(step)?;
        if self.generation == 0 {
            if self.is_external {
                evaluator.begin();
            }
            self.began = now();
        } else {
            let lost = self.steps.saturating_sub(step);
            evaluator
                .watch
                .noticed(&Notice::GroupResumed { step, lost });
        }
        self.generation += 1;
        self.is_grouped = true;
        self.steps = step;
        let roster = Roster {
            generation: self.generation,
            source,
            step,
            caption,
            looked: self.looked,
            milestones: self.session.milestones(),
            stops: self.ending.is_some(),
            addresses,
        };
        let (header, bytes) = (roster.header(), roster.pack());
        for slot in &mut self.slots {
            slot.standing = None;
            slot.say(&header, Payload::Bytes(&bytes));
        }
        Ok(())
    }

    /// The last version that the trainer looked at, or what it began with, if
    /// that is further than `step`.
    fn known_beyond(&self, step: u64, evaluator: &Evaluator<'_>) -> Option<Snapshot> {
        if let Some(last) = evaluator.last() {
            return (last.steps > step).then(|| Snapshot {
                tally: Tally::default(),
                ..last.clone()
            });
        }
        let session = self.session;
        (session.progress.steps > step).then(|| Snapshot {
            steps: session.progress.steps,
            parameters: Arc::new(session.parameters.clone()),
            optimizer: session.optimizer.clone(),
            tally: Tally::default(),
            due: Due::default(),
        })
    }

    fn count_attempt(&mut self, step: u64) -> Result<(), TrainError> {
        if self.stood.replace(step) != Some(step) {
            self.attempts = 0;
        }
        self.attempts += 1;
        if self.attempts > MOST_ATTEMPTS {
            return Err(TrainError::GroupKeepsBreaking {
                times: MOST_ATTEMPTS,
                step,
            });
        }
        Ok(())
    }

    fn totals(&self) -> Vec<WorkerTotals> {
        self.slots.iter().map(WorkerSlot::totals).collect()
    }
}

/// What a frame leads to.
enum News {
    Nothing,
    /// The worker was started for another training, which differs in this.
    OtherTraining(String),
    Snapshot(Snapshot),
    Diverged,
}
