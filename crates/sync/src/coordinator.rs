//! The state machine of one server.

use paceline_model::WorkerId;

use crate::member::Member;
use crate::{
    Action, Clock, LossCause, MemberView, Message, OnWorkerLoss, Presence, Receipt, Refusal,
    Sender, Settings, Tally, Tick,
};

/// Decides for a group of workers who may go on and which updates count.
///
/// Each call takes the caller's time and appends to `actions` what is to be
/// done, in order; nothing is ever removed from `actions`. No call allocates
/// unless `actions` must grow: room for twice the workers that the run has room
/// for, and two more, is enough for any call. A call takes time proportional to
/// the number of workers at most; under `ssp` and `async` an update that is not
/// the slowest worker's takes constant time, and so does every read.
///
/// The worker's clock and the version of the parameters are as in Ho et al.
/// (2013): a worker at clock `c` may start iteration `c` under `ssp:S` once the
/// version, which is the clock of the slowest worker, is at least `c − S`.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) settings: Settings,
    /// The place of worker `i` is at index `i`.
    pub(crate) members: Vec<Member>,
    /// The version. Where updates are gathered, the iteration that is open;
    /// elsewhere the clock of the slowest worker. It never falls.
    pub(crate) version: Clock,
    /// How many updates the open iteration has gathered.
    pub(crate) gathered: u32,
    /// How many workers of the start are awaited and never joined. No iteration
    /// starts while there are any.
    pub(crate) unjoined: u32,
}

impl Coordinator {
    /// The state before any worker has joined.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let place = |id| {
            let presence = if id < settings.workers {
                Presence::Expected
            } else {
                Presence::Absent
            };
            Member::new(presence, settings.first, settings.start)
        };
        Self {
            members: (0..settings.capacity).map(place).collect(),
            version: settings.first,
            gathered: 0,
            unjoined: settings.workers,
            settings,
        }
    }

    /// Takes one message. The other methods are the same, one per message, for
    /// callers that need no message.
    ///
    /// # Errors
    /// If the sender does not take part or breaks the rules: tell it so.
    pub fn step(
        &mut self,
        from: Sender,
        message: Message,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        match message {
            Message::Join => self.join(from, now, actions),
            Message::Update { clock } => self.update(from, clock, now, actions),
            Message::Read { clock } => self.read(from, clock, now, actions),
            Message::Heartbeat => self.heartbeat(from, now),
            Message::Leave => self.leave(from, now, actions),
        }
    }

    /// A worker joins, or comes back in a new life.
    ///
    /// It starts where the slowest of the others is (under models that gather,
    /// at the open iteration), or where its former life got to if that is
    /// further. Nobody else is set back.
    ///
    /// # Errors
    /// If there is no room for it, or its life is not a new one.
    pub fn join(
        &mut self,
        from: Sender,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        let version = self.version;
        let steps = self.settings.consistency.iterations_per_update();
        let member = self.place(from.worker)?;
        let enters = match member.admit(from) {
            Ok(()) => false,
            Err(refusal) if from.incarnation < member.join_with() => {
                member.tally.refused += 1;
                return Err(refusal);
            }
            Err(_) => true,
        };
        if enters {
            if member.is_live() {
                actions.push(member.lost(from.worker, LossCause::Restarted));
            }
            let awaited_first = member.incarnation.is_none() && member.is_present();
            member.enter(from.incarnation, version, steps);
            if awaited_first {
                self.unjoined -= 1;
            }
        }
        let member = self.place(from.worker)?;
        member.heard = now;
        actions.push(Action::Welcome {
            to: from,
            clock: member.next,
        });
        if enters {
            self.regroup(from.worker, actions);
        }
        Ok(Receipt::Heard)
    }

    /// A worker sends the update of iteration `clock`.
    ///
    /// # Errors
    /// If the sender does not take part, or the update cannot be of an
    /// iteration that it was allowed to start.
    pub fn update(
        &mut self,
        from: Sender,
        clock: Clock,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        let before = self.place(from.worker)?.next;
        let receipt = if self.settings.consistency.gathers() {
            self.gather(from, clock, now)?
        } else {
            self.apply(from, clock, now)?
        };
        let member = self.place(from.worker)?;
        match receipt {
            Receipt::Counted => {
                member.tally.counted += 1;
                member.pace.observe(now);
                self.advance(from.worker, before, actions);
            }
            Receipt::Late => {
                member.tally.late += 1;
                self.advance(from.worker, before, actions);
            }
            Receipt::Duplicate => member.tally.duplicate += 1,
            Receipt::Heard => {}
        }
        Ok(receipt)
    }

    /// A worker wants to start iteration `clock`.
    ///
    /// It gets [`Action::Proceed`] now or, from a later call, once it may.
    /// Asking again repeats an answer that may have been lost.
    ///
    /// # Errors
    /// If the sender does not take part.
    pub fn read(
        &mut self,
        from: Sender,
        clock: Clock,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        let member = self.hear(from, now)?;
        match member.waiting {
            // From before the present wait and delayed on its way, or repeated.
            // A repetition must not change what `dynamic-ssp` decided.
            Some(waits) if waits >= clock => {}
            _ => {
                member.waiting = Some(clock);
                self.grant_more(from.worker, clock);
                self.release(from.worker, None, actions);
            }
        }
        Ok(Receipt::Heard)
    }

    /// [`Self::update`] and then [`Self::read`] for the iteration that follows,
    /// for workers that share the coordinator's memory and would otherwise lock
    /// it twice per iteration.
    ///
    /// # Errors
    /// As [`Self::update`]; then nothing is read either.
    pub fn update_and_read(
        &mut self,
        from: Sender,
        clock: Clock,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        let receipt = self.update(from, clock, now, actions)?;
        let next = clock.plus(self.settings.consistency.iterations_per_update());
        self.read(from, next, now, actions)?;
        Ok(receipt)
    }

    /// A worker is alive.
    ///
    /// # Errors
    /// If the sender does not take part.
    pub fn heartbeat(&mut self, from: Sender, now: Tick) -> Result<Receipt, Refusal> {
        self.hear(from, now)?;
        Ok(Receipt::Heard)
    }

    /// A worker is done. What it sent still counts.
    ///
    /// # Errors
    /// If the sender does not take part.
    pub fn leave(
        &mut self,
        from: Sender,
        now: Tick,
        actions: &mut Vec<Action>,
    ) -> Result<Receipt, Refusal> {
        let member = self.hear(from, now)?;
        member.presence = Presence::Absent;
        member.waiting = None;
        self.regroup(from.worker, actions);
        Ok(Receipt::Heard)
    }

    /// The caller knows that a worker is gone: its connection broke, its
    /// process ended. Nothing happens if that was not its present life.
    pub fn disconnect(&mut self, who: Sender, now: Tick, actions: &mut Vec<Action>) {
        let current = self
            .place(who.worker)
            .is_ok_and(|member| member.admit(who).is_ok());
        if current {
            self.lose(who.worker, LossCause::Disconnected, now, actions);
        }
    }

    /// Time passes: declares lost whoever was silent for too long, and asks
    /// again for a replacement that did not join in time.
    pub fn tick(&mut self, now: Tick, actions: &mut Vec<Action>) {
        let Settings {
            failure_timeout,
            join_timeout,
            on_worker_loss,
            ..
        } = self.settings;
        for id in 0..self.settings.capacity {
            let member = &mut self.members[id as usize];
            let over = |since: Tick, limit: Option<u64>| {
                limit.is_some_and(|limit| now.since(since) >= limit)
            };
            match member.presence {
                Presence::Live if over(member.heard, failure_timeout) => {
                    self.lose(WorkerId(id), LossCause::Silent, now, actions);
                }
                Presence::Expected if over(member.heard, join_timeout) => {
                    self.lose(WorkerId(id), LossCause::NeverJoined, now, actions);
                }
                Presence::Awaited
                    if on_worker_loss == OnWorkerLoss::Replace
                        && over(member.replacing_since, join_timeout) =>
                {
                    actions.push(member.replace(WorkerId(id), now));
                }
                _ => {}
            }
        }
    }

    /// The settings it was made with.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The version of the parameters: every update of an iteration below it is
    /// in them, as far as it counts.
    #[must_use]
    pub const fn version(&self) -> Clock {
        self.version
    }

    /// How many updates of the open iteration are gathered and not yet applied.
    #[must_use]
    pub const fn gathered(&self) -> u32 {
        self.gathered
    }

    /// Everyone others reckon with, in the order of their numbers.
    pub fn members(&self) -> impl Iterator<Item = MemberView> {
        self.present().map(|(worker, member)| member.view(worker))
    }

    /// What became of the updates of one worker; nothing of an unknown one.
    #[must_use]
    pub fn tally(&self, worker: WorkerId) -> Tally {
        self.members
            .get(worker.0 as usize)
            .map_or_else(Tally::default, |member| member.tally)
    }

    /// What became of all updates.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.members
            .iter()
            .fold(Tally::default(), |sum, member| sum.plus(member.tally))
    }

    /// Whom a waiting worker waits for, in the order of their numbers. Empty if
    /// it does not wait, or only for its own update.
    pub fn holdups(&self, waiter: WorkerId) -> impl Iterator<Item = MemberView> {
        let waits = self
            .members
            .get(waiter.0 as usize)
            .and_then(|member| member.waiting);
        let gate = self.unjoined > 0;
        self.present()
            .filter(move |(worker, member)| {
                let Some(clock) = waits else { return false };
                if gate {
                    return member.incarnation.is_none();
                }
                *worker != waiter && member.next < self.settings.consistency.oldest_usable(clock)
            })
            .map(|(worker, member)| member.view(worker))
    }

    pub(crate) fn place(&mut self, worker: WorkerId) -> Result<&mut Member, Refusal> {
        self.members
            .get_mut(worker.0 as usize)
            .ok_or(Refusal::NoSuchWorker {
                worker,
                capacity: self.settings.capacity,
            })
    }

    /// The member that the sender is; remembers that it was heard.
    fn hear(&mut self, from: Sender, now: Tick) -> Result<&mut Member, Refusal> {
        let member = self.place(from.worker)?;
        match member.admit(from) {
            Ok(()) => {
                member.heard = now;
                Ok(member)
            }
            Err(refusal) => {
                member.tally.refused += 1;
                Err(refusal)
            }
        }
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = (WorkerId, &Member)> {
        (0u32..)
            .map(WorkerId)
            .zip(&self.members)
            .filter(|(_, member)| member.is_present())
    }

    /// The rule where an iteration closes: its updates count while it is open.
    fn gather(&mut self, from: Sender, clock: Clock, now: Tick) -> Result<Receipt, Refusal> {
        let open = self.version;
        let steps = self.settings.consistency.iterations_per_update();
        let member = self.hear(from, now)?;
        let refusal = if !clock.0.is_multiple_of(steps) {
            Refusal::OffRound { clock, steps }
        } else if clock > open {
            Refusal::AheadOfServer {
                worker: from.worker,
                clock,
                at: open,
            }
        } else if !member.hear_once(clock, steps) {
            return Ok(Receipt::Duplicate);
        } else if clock < open {
            return Ok(Receipt::Late);
        } else {
            self.gathered += 1;
            return Ok(Receipt::Counted);
        };
        member.tally.refused += 1;
        Err(refusal)
    }

    /// The rule where updates are applied as they arrive: each counts once.
    fn apply(&mut self, from: Sender, clock: Clock, now: Tick) -> Result<Receipt, Refusal> {
        let member = self.hear(from, now)?;
        match member.count_once(from.worker, clock) {
            Ok(true) => Ok(Receipt::Counted),
            Ok(false) => Ok(Receipt::Duplicate),
            Err(refusal) => {
                member.tally.refused += 1;
                Err(refusal)
            }
        }
    }
}
