//! The trainer's part where workers sum among themselves: it has them meet,
//! looks at snapshots, deals with losses and ends the training.
//!
//! [`GroupController`] decides and knows no socket; [`sockets`] has them.

mod losses;
mod sockets;

pub(in crate::cluster) use sockets::train;

use std::sync::Arc;
use std::time::Instant;

use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::{Member, Role};

use super::worker_slot::WorkerSlot;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::{Ended, Kill, Launcher};
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

/// The trainer's connections to its workers.
pub(in crate::cluster) trait WorkerLinks {
    fn is_connected(&self, worker: usize) -> bool;

    /// Says something to a worker without waiting for it; false if it cannot be
    /// said, and the connection is closed then.
    fn say(&mut self, worker: usize, message: &FromController<'_>) -> bool;

    /// Gives a worker a state to go on from, as [`WorkerLinks::say`]; it takes it
    /// while it waits.
    fn give(&mut self, worker: usize, state: &Snapshot) -> bool;

    /// Closes the connection to a worker.
    fn disconnect(&mut self, worker: usize);
}

/// The trainer's part without its sockets.
pub(in crate::cluster) struct GroupController<'a> {
    session: &'a ClusterSession,
    rendezvous: &'a Rendezvous,
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
#[derive(Debug)]
pub(in crate::cluster) enum Heard {
    Nothing,
    Ends(Ending),
    /// The worker does not follow the protocol.
    Breach(ProtocolError),
}

/// What a message says.
enum News {
    Nothing,
    /// The worker was started for another training, which differs in this.
    OtherTraining(String),
    Snapshot(Snapshot),
    Diverged,
}

impl<'a> GroupController<'a> {
    pub(in crate::cluster) fn new(
        session: &'a ClusterSession,
        rendezvous: &'a Rendezvous,
        launcher: &'a mut dyn Launcher,
        kills: &[Kill],
        now: Instant,
    ) -> Self {
        let workers = session.cluster.workers.get() as usize;
        let (optimizer, len) = (session.settings.optimizer, session.layout().len());
        let slot = |_| WorkerSlot::new(Assembler::whole(optimizer, len), now);
        let consistency = session.cluster.consistency();
        // The workers meet at the trainer, which is there.
        let mut membership = Membership::new(&rendezvous.servers[..1], workers, now);
        membership.server_came(0, now);
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
            began: now,
            ending: None,
            session,
            rendezvous,
        }
    }

    /// Starts the workers.
    pub(in crate::cluster) fn start(&mut self, now: Instant) -> Result<(), TrainError> {
        for worker in 0..self.slots.len() {
            self.members.start(Role::Worker, rank(worker), now)?;
            self.slots[worker].begin_anew(now);
        }
        self.began = now;
        Ok(())
    }

    /// Whether somebody who has come is let in.
    pub(in crate::cluster) fn admits(&self, peer: Member) -> bool {
        let Some(member) = self.members.member(peer.role, peer.rank) else {
            return false;
        };
        // Who starts a worker elsewhere need not count its starts. Anybody
        // else is a process that was given up.
        self.is_external || member.incarnation == peer.incarnation
    }

    /// A worker's process has come. One that somebody else started anew takes the
    /// place of the former, whose connection the new one replaces.
    pub(in crate::cluster) fn on_connected(
        &mut self,
        worker: usize,
        has_replaced: bool,
        now: Instant,
        links: &mut dyn WorkerLinks,
    ) {
        self.slots[worker].part();
        self.slots[worker].hears(now);
        if has_replaced {
            self.dissolve_group(links);
        }
    }

    /// Takes what a worker says.
    pub(in crate::cluster) fn on_message(
        &mut self,
        worker: usize,
        message: ToController<'_>,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Heard, TrainError> {
        match self.hear(worker, message, now, links) {
            Ok(news) => Ok(match self.judge(worker, news, links, evaluator)? {
                Some(ending) => Heard::Ends(ending),
                None => Heard::Nothing,
            }),
            Err(error) => Ok(Heard::Breach(error)),
        }
    }

    /// Looks after members and time. Says if that ends the training. Who has
    /// [ended](Self::take_ended) is looked at before.
    pub(in crate::cluster) fn on_tick(
        &mut self,
        is_stopped: bool,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        self.mind_silence(now, links, evaluator)?;
        self.check_membership(now, evaluator)?;
        let elapsed = now.saturating_duration_since(self.began);
        self.members.kill_due(elapsed, self.steps);
        self.form_group(now, links, evaluator)?;
        let pulse = std::mem::take(&mut self.pulse);
        evaluator.tell(pulse, self.steps, || self.totals());
        let has_begun = self.generation > 0;
        match self.ending {
            // There is nothing to look at, and perhaps nobody to ask.
            None if is_stopped && !has_begun => return Ok(Some(Ending::Interrupted)),
            None if is_stopped => self.end(Ending::Interrupted, now, links),
            None if has_begun && evaluator.is_late() => self.end(Ending::Time, now, links),
            // Workers that hang do not hold up the end: the last snapshot
            // that was taken is what remains.
            Some((ending, since)) if now.saturating_duration_since(since) > GRACE => {
                return Ok(Some(ending));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Who has ended since the last call: what each said before still counts, and
    /// is to be heard before [`GroupController::on_ended`].
    pub(in crate::cluster) fn take_ended(&mut self) -> Vec<Ended> {
        self.members.take_ended()
    }

    fn hear(
        &mut self,
        worker: usize,
        message: ToController<'_>,
        now: Instant,
        links: &mut dyn WorkerLinks,
    ) -> Result<News, ProtocolError> {
        let slot = &mut self.slots[worker];
        slot.hears(now);
        match message {
            ToController::Working { activity } => slot.activity = activity,
            ToController::JoinGroup(request) => {
                if let Some(difference) = self.session.identity().difference(&request.identity) {
                    return Ok(News::OtherTraining(difference));
                }
                slot.request = Some(request);
                slot.activity = Activity::Joining;
                self.membership.worker_came(rank(worker), 0, now);
                self.dissolve_group(links);
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
        links: &mut dyn WorkerLinks,
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
                self.say(worker, &FromController::OtherTraining { difference }, links);
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
            self.say(0, &FromController::SnapshotTaken { steps }, links);
        }
        Ok(ending)
    }

    /// Says something to a worker. One that is gone is seen where members are
    /// looked after.
    fn say(&mut self, worker: usize, message: &FromController<'_>, links: &mut dyn WorkerLinks) {
        if links.is_connected(worker) && !links.say(worker, message) {
            self.slots[worker].part();
        }
    }

    /// Has the workers agree on a step at which all stop.
    fn end(&mut self, ending: Ending, now: Instant, links: &mut dyn WorkerLinks) {
        self.ending = Some((ending, now));
        for worker in 0..self.slots.len() {
            self.say(worker, &FromController::EndSoon, links);
        }
    }

    /// Has everybody leave the group that is broken.
    fn dissolve_group(&mut self, links: &mut dyn WorkerLinks) {
        if !self.is_grouped {
            return;
        }
        self.is_grouped = false;
        let generation = self.generation;
        for worker in 0..self.slots.len() {
            self.say(worker, &FromController::DissolveGroup { generation }, links);
        }
    }

    /// Once all ask for it, has them form a group.
    fn form_group(
        &mut self,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.is_grouped {
            return Ok(());
        }
        let requests: Option<Vec<&JoinRequest>> = (0..)
            .zip(&self.slots)
            .map(|(worker, slot)| slot.request.as_ref().filter(|_| links.is_connected(worker)))
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
            if !links.give(0, &state) {
                self.slots[0].part();
            }
        }
        let step = roster.step;
        self.count_attempt(step)?;
        if self.generation == 0 {
            if self.is_external {
                evaluator.begin();
            }
            self.began = now;
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
        for worker in 0..self.slots.len() {
            self.slots[worker].request = None;
            self.say(worker, &message, links);
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

    pub(in crate::cluster) fn totals(&self) -> Vec<WorkerTotals> {
        self.lifetimes.iter().map(LifetimeTotals::sum).collect()
    }
}

/// A worker's number as members are numbered.
fn rank(worker: usize) -> u32 {
    u32::try_from(worker).expect("workers are counted by 32 bits")
}
