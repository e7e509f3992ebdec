//! The trainer's part where workers sum among themselves: it has them meet,
//! looks at snapshots, deals with losses and ends the training.

mod losses;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::{
    Deadline, FirstRefusal, Frame, Listener, Member, ReadHalf, Role, WriteHalf, wait_any,
};

use super::worker_slot::WorkerSlot;
use crate::clock::now;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::{Kill, Launcher};
use crate::cluster::members::{GRACE, Members};
use crate::cluster::membership::Membership;
use crate::cluster::milestones::Due;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::{
    Activity, FromController, JoinRequest, ProtocolError, Roster, ToController,
};
use crate::cluster::rendezvous::Rendezvous;
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::{Assembler, Snapshot};
use crate::cluster::totals::{LifetimeTotals, WorkerTotals};
use crate::session::{Ending, TrainError};

/// Groups that form and break again before anybody completes a step.
const MOST_ATTEMPTS: u32 = 5;

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
    let outcome = controller.run(evaluator, stop);
    controller.dismiss();
    let ending = outcome?;
    Ok((ending, controller.totals()))
}

struct GroupController<'a> {
    session: &'a ClusterSession,
    rendezvous: &'a Rendezvous,
    listener: &'a Listener,
    members: Members<'a>,
    /// Workers are started by somebody else.
    is_external: bool,
    membership: Membership,
    policy: OnWorkerLoss,
    slots: Vec<WorkerSlot>,
    lifetimes: Vec<LifetimeTotals>,
    /// The number of the last group.
    generation: u32,
    /// Whether that group is at work, as far as is known.
    is_grouped: bool,
    /// Groups in a row that completed no step, and where they stood.
    attempts: u32,
    stood: Option<u64>,
    /// The step of the last snapshot that was taken.
    taken: u64,
    pulse: Tally,
    steps: u64,
    began: Instant,
    /// The training is to end, for this reason, as soon as the workers agree.
    ending: Option<(Ending, Instant)>,
}

/// What a message leads to.
enum News {
    Nothing,
    /// The worker was started for another training, which differs in this.
    OtherTraining(String),
    Snapshot(Snapshot),
    Diverged,
}

impl<'a> GroupController<'a> {
    fn new(
        session: &'a ClusterSession,
        rendezvous: &'a Rendezvous,
        listener: &'a Listener,
        launcher: &'a mut dyn Launcher,
        kills: &[Kill],
    ) -> Self {
        let workers = session.cluster.workers.get() as usize;
        let (optimizer, len) = (session.settings.optimizer, session.layout().len());
        let slot = |_| WorkerSlot::new(Assembler::whole(optimizer, len));
        let consistency = session.cluster.consistency();
        // The workers meet at the trainer, which is there.
        let mut membership = Membership::new(&rendezvous.servers[..1], workers, now());
        membership.server_came(0, now());
        let members = Members::new(launcher, kills);
        Self {
            is_external: members.are_external(),
            members,
            membership,
            policy: session
                .cluster
                .on_worker_loss
                .unwrap_or(OnWorkerLoss::usual_for(consistency)),
            slots: (0..workers).map(slot).collect(),
            lifetimes: vec![LifetimeTotals::new(workers); workers],
            generation: 0,
            is_grouped: false,
            attempts: 0,
            stood: None,
            taken: session.progress.steps,
            pulse: Tally::default(),
            steps: session.progress.steps,
            began: now(),
            ending: None,
            session,
            rendezvous,
            listener,
        }
    }

    fn run(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        for worker in 0..self.slots.len() {
            self.members.start(Role::Worker, rank(worker), now())?;
            self.slots[worker].begin_anew();
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
            self.members.kill_due(self.began.elapsed(), self.steps);
            self.form_group(evaluator)?;
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
                // that was taken is what remains.
                Some((ending, since)) if since.elapsed() > GRACE => return Ok(ending),
                _ => {}
            }
        }
    }

    /// Lets workers in that have come.
    fn admit(&mut self) {
        while let Ok(connection) = self.listener.accept(Deadline::PASSED) {
            let peer = connection.peer();
            let Some(member) = self.members.member(peer.role, peer.rank) else {
                continue;
            };
            // Who starts a worker elsewhere need not count its starts. Anybody
            // else is a process that was given up.
            if !self.is_external && member.incarnation != peer.incarnation {
                continue;
            }
            let slot = &mut self.slots[peer.rank as usize];
            let is_another = slot.is_connected();
            slot.meet(connection);
            if is_another {
                self.dissolve_group();
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
            let news = match reader.try_receive() {
                Ok(Some(frame)) => {
                    self.slots[worker].hears();
                    self.hear(worker, &frame)
                }
                Ok(None) => {
                    self.slots[worker].put_back(reader);
                    return Ok(None);
                }
                Err(_) => {
                    self.lose_connection(worker, "its connection broke", evaluator)?;
                    return Ok(None);
                }
            };
            match news {
                Ok(news) => {
                    if let Some(ending) = self.judge(worker, news, evaluator)? {
                        self.slots[worker].put_back(reader);
                        return Ok(Some(ending));
                    }
                }
                Err(error) => {
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

    fn hear(&mut self, worker: usize, frame: &Frame<'_>) -> Result<News, ProtocolError> {
        let slot = &mut self.slots[worker];
        match ToController::decode(frame)? {
            ToController::Working { activity } => slot.activity = activity,
            ToController::JoinGroup(request) => {
                if let Some(difference) = self.session.identity().difference(&request.identity) {
                    return Ok(News::OtherTraining(difference));
                }
                slot.request = Some(request);
                slot.activity = Activity::Joining;
                self.membership.worker_came(rank(worker), 0, now());
                self.dissolve_group();
            }
            ToController::Progress {
                steps,
                tally,
                totals,
                ..
            } => {
                self.steps = self.steps.max(steps);
                self.pulse.add(tally);
                if let Some(totals) = totals.into_owned().pop() {
                    self.lifetimes[worker].hear(totals);
                }
            }
            ToController::Diverged => return Ok(News::Diverged),
            ToController::Snapshot(part) => {
                if let Some(snapshot) = slot.arriving.take(0, part)? {
                    return Ok(News::Snapshot(snapshot));
                }
            }
            message @ (ToController::WorkerJoined { .. }
            | ToController::WorkerLost { .. }
            | ToController::ReplaceWorker { .. }
            | ToController::WorkerRequired { .. }
            | ToController::Notice { .. }
            | ToController::Heartbeat
            | ToController::ShardsDiffer
            | ToController::OtherTraining { .. }) => return Err(message.out_of_place()),
        }
        Ok(News::Nothing)
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
                let member = self.member(worker);
                evaluator.watch.noticed(&Notice::OtherTraining {
                    words: format!("{member} was told to train something else: {difference}"),
                });
                let difference = &difference;
                self.slots[worker].say(&FromController::OtherTraining { difference });
                return Ok(None);
            }
            News::Snapshot(snapshot) => snapshot,
        };
        let (steps, ends) = (snapshot.steps, snapshot.due.end);
        self.taken = self.taken.max(steps);
        self.steps = self.steps.max(steps);
        let asked = self.ending.map(|(ending, _)| ending);
        snapshot.due.evaluation |= ends && asked == Some(Ending::Time);
        let found = evaluator.hear(snapshot)?;
        let ending = found.or(asked.filter(|_| ends));
        if ending.is_none() {
            self.slots[0].say(&FromController::SnapshotTaken { steps });
        }
        Ok(ending)
    }

    /// Has the workers agree on a step at which all stop.
    fn end(&mut self, ending: Ending) {
        self.ending = Some((ending, now()));
        for slot in &mut self.slots {
            slot.say(&FromController::EndSoon);
        }
    }

    /// Has everybody leave the group that is broken.
    fn dissolve_group(&mut self) {
        if !self.is_grouped {
            return;
        }
        self.is_grouped = false;
        let generation = self.generation;
        for slot in &mut self.slots {
            slot.say(&FromController::DissolveGroup { generation });
        }
    }

    /// Once all ask for it, has them form a group.
    fn form_group(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        if self.is_grouped {
            return Ok(());
        }
        let requests: Option<Vec<&JoinRequest>> = self
            .slots
            .iter()
            .map(|slot| slot.request.as_ref().filter(|_| slot.is_connected()))
            .collect();
        let Some(requests) = requests else {
            return Ok(());
        };
        // Of those who are furthest, the first.
        let (source, furthest) = (0..)
            .zip(&requests)
            .min_by_key(|(_, request)| std::cmp::Reverse(request.step))
            .expect("there are workers");
        let mut roster = Roster {
            generation: self.generation + 1,
            source,
            step: furthest.step,
            optimizer_steps: furthest.optimizer_steps,
            tally: furthest.tally,
            taken: self.taken,
            milestones: self.session.milestones(),
            stops: self.ending.is_some(),
            addresses: requests.iter().map(|one| one.address.clone()).collect(),
        };
        // Where all begin, or were lost at once, the trainer may know better.
        if let Some(state) = self.known_beyond(roster.step, evaluator) {
            (roster.source, roster.step) = (0, state.steps);
            roster.tally = Tally::default();
            roster.optimizer_steps = state.optimizer.steps;
            self.slots[0].give(&state);
        }
        let step = roster.step;
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
        self.generation = roster.generation;
        self.is_grouped = true;
        self.steps = step;
        let message = FromController::FormGroup(roster);
        for slot in &mut self.slots {
            slot.request = None;
            slot.say(&message);
        }
        Ok(())
    }

    /// The last version that the trainer has taken, or what it began with, if
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

    /// Who works, or worked last, in a place.
    fn member(&self, worker: usize) -> Member {
        self.members
            .member(Role::Worker, rank(worker))
            .expect("every worker was started")
    }

    fn totals(&self) -> Vec<WorkerTotals> {
        self.lifetimes.iter().map(LifetimeTotals::sum).collect()
    }
}

/// A worker's number as members are numbered.
fn rank(worker: usize) -> u32 {
    u32::try_from(worker).expect("workers are counted by 32 bits")
}
