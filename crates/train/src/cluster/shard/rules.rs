//! Everything of a shard but its values: who may go on, which updates count,
//! how far it is, and when it is to be shown.

use paceline_nets::Tally;
use paceline_sync::{
    Action, Clock, Coordinator, Doing, Incarnation, LossCause, Message, Receipt, Refusal, Sender,
    Tick,
};

use super::{Arrival, Rates, ShardPlan};
use crate::cluster::milestones::Due;

/// What a shard wants done, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ShardEvent {
    /// A worker takes part, from iteration `clock` on.
    Welcome { to: Sender, clock: Clock },
    /// A worker may start an iteration, with the parameters as they are.
    Proceed {
        to: Sender,
        clock: Clock,
        version: Clock,
        waited_for: Option<u32>,
        /// Its last update came too late to count.
        is_late: bool,
    },
    /// A worker is lost.
    Lost {
        worker: u32,
        cause: LossCause,
        clock: Clock,
        doing: Doing,
    },
    /// Somebody is to take the place of a worker.
    Replace {
        worker: u32,
        incarnation: Incarnation,
    },
    /// A worker is lost without which the training must not go on.
    Required { worker: u32 },
    /// The parameters as they are now are to be looked at.
    Show(Shown),
    /// The loss is not a number any more: nothing changes from here on.
    Diverged,
}

/// What is said of a shard that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) steps: u64,
    /// The training rows since it was last shown.
    pub(crate) tally: Tally,
    pub(crate) due: Due,
}

/// The rules, milestones and tallies of a shard.
#[derive(Debug)]
pub(crate) struct ShardRules {
    plan: ShardPlan,
    coordinator: Coordinator,
    actions: Vec<Action>,
    /// Another shard says when this one is shown. Shards that apply updates as
    /// they come are not at one step: the first says when, the others follow.
    follows: bool,
    /// Updates that count; where they are gathered, iterations.
    counted: u64,
    /// The training rows since the shard was last shown.
    tally: Tally,
    /// What is due at the version that somebody looks at.
    looked_at: Option<Due>,
    /// What has become due meanwhile.
    overdue: Option<Due>,
    /// Workers that go on once that was shown, or once the end is none.
    held: Vec<ShardEvent>,
    /// The training is to end at this step.
    end_at: Option<u64>,
    /// Nothing changes any more.
    is_over: bool,
    /// By worker: whether its last update came too late.
    late: Vec<bool>,
}

impl ShardRules {
    /// A shard at step `steps`.
    pub(crate) fn new(plan: ShardPlan, coordinator: Coordinator, steps: u64) -> Self {
        Self {
            counted: plan.counted_at(steps),
            actions: Vec::with_capacity(2 * plan.workers + 2),
            late: vec![false; plan.workers],
            coordinator,
            follows: false,
            tally: Tally::default(),
            looked_at: None,
            overdue: None,
            held: Vec::new(),
            end_at: None,
            is_over: false,
            plan,
        }
    }

    /// The same, shown when another shard is.
    pub(crate) fn following(mut self, follows: bool) -> Self {
        self.follows = follows && !self.plan.consistency.gathers();
        self
    }

    pub(crate) fn plan(&self) -> &ShardPlan {
        &self.plan
    }

    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    pub(crate) fn steps(&self) -> u64 {
        self.plan.steps(self.counted)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Nothing changes from here on.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// The rates of an update that is applied now.
    pub(crate) fn rates(&self) -> Rates {
        self.plan.rates(self.steps())
    }

    /// The training rows since the shard was last shown.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Whether a worker's last update came too late; told once.
    pub(crate) fn take_lateness(&mut self, worker: u32) -> bool {
        let late = self.late.get_mut(worker as usize);
        late.is_some_and(std::mem::take)
    }

    pub(crate) fn update(&mut self, arrival: Arrival, now: Tick) -> Result<Receipt, Refusal> {
        let Arrival { from, clock, .. } = arrival;
        let receipt = self
            .coordinator
            .update(from, clock, now, &mut self.actions)?;
        if let Some(late) = self.late.get_mut(from.worker.0 as usize) {
            *late = receipt == Receipt::Late;
        }
        Ok(receipt)
    }

    /// The worker of an update asks for the iteration after it.
    pub(crate) fn read_next(&mut self, arrival: Arrival, now: Tick) -> Result<(), Refusal> {
        let next = arrival
            .clock
            .plus(self.plan.consistency.iterations_per_update());
        self.coordinator
            .read(arrival.from, next, now, &mut self.actions)
            .map(drop)
    }

    pub(crate) fn step(
        &mut self,
        from: Sender,
        message: Message,
        now: Tick,
    ) -> Result<(), Refusal> {
        self.coordinator
            .step(from, message, now, &mut self.actions)
            .map(drop)
    }

    pub(crate) fn disconnect(&mut self, who: Sender, now: Tick) {
        self.coordinator.disconnect(who, now, &mut self.actions);
    }

    /// A worker has ended and nobody replaces it. It may never have joined
    /// here: then it has come and gone.
    pub(crate) fn worker_gone(&mut self, worker: u32, now: Tick) {
        let gone = Sender::first(worker);
        if self.coordinator.join(gone, now, &mut self.actions).is_ok() {
            // It takes part, as of the line before.
            let _ = self.coordinator.leave(gone, now, &mut self.actions);
        }
    }

    pub(crate) fn tick(&mut self, now: Tick) {
        self.coordinator.tick(now, &mut self.actions);
    }

    /// Whether a loss is a number; if not, nothing changes any more.
    pub(crate) fn check_loss(&mut self, found: Tally, events: &mut Vec<ShardEvent>) -> bool {
        if found.loss.is_finite() {
            return true;
        }
        self.is_over = true;
        events.push(ShardEvent::Diverged);
        false
    }

    /// An update that counts was applied at once.
    pub(crate) fn applied(&mut self, found: Tally, events: &mut Vec<ShardEvent>) {
        let before = self.steps();
        self.tally.add(found);
        self.counted += 1;
        let due = self.due(before);
        if due.is_any() && !self.follows {
            self.show_when_seen(due, events);
        }
    }

    /// Does what was decided; `close` applies what was gathered with these rates
    /// and gives what was found on its rows.
    pub(crate) fn settle(
        &mut self,
        events: &mut Vec<ShardEvent>,
        mut close: impl FnMut(Rates) -> Tally,
    ) {
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Welcome { to, clock } => events.push(ShardEvent::Welcome { to, clock }),
                Action::Proceed {
                    to,
                    clock,
                    version,
                    waited_for,
                } => {
                    let proceed = ShardEvent::Proceed {
                        to,
                        clock,
                        version,
                        waited_for: waited_for.map(|other| other.0),
                        is_late: self.take_lateness(to.worker.0),
                    };
                    // Where nobody waits for anybody, nobody waits for a look.
                    let gathers = self.plan.consistency.gathers();
                    let waits_for_end = self.is_over && !self.plan.has_backups();
                    if waits_for_end || self.overdue.is_some() && gathers {
                        self.held.push(proceed);
                    } else {
                        events.push(proceed);
                    }
                }
                Action::Close { .. } if self.is_over => {}
                Action::Close {
                    clock,
                    counted,
                    version,
                } => {
                    let found = close(self.plan.closing_rates(clock.0, counted));
                    self.tally.add(found);
                    self.counted = version.0;
                    let due = self.due(clock.0);
                    if due.is_any() {
                        self.show_when_seen(due, events);
                    }
                }
                Action::Lost {
                    worker,
                    cause,
                    clock,
                    doing,
                    ..
                } => events.push(ShardEvent::Lost {
                    worker: worker.0,
                    cause,
                    clock,
                    doing,
                }),
                Action::Replace {
                    worker,
                    incarnation,
                } => events.push(ShardEvent::Replace {
                    worker: worker.0,
                    incarnation,
                }),
                Action::Fail { worker } => {
                    events.push(ShardEvent::Required { worker: worker.0 });
                }
                // Who starts the workers knows it before the rules do.
                Action::Empty => {}
            }
        }
        self.actions = actions;
    }

    /// The version that was shown has been looked at.
    pub(crate) fn seen(&mut self, events: &mut Vec<ShardEvent>) {
        self.looked_at = None;
        let Some(due) = self.overdue.take() else {
            return;
        };
        self.show_when_seen(due, events);
        if !self.is_over {
            events.append(&mut self.held);
        }
    }

    /// The version that was shown will never be looked at, because another shard
    /// is lost that has not shown its own. What was due is due again, and an end
    /// is none yet.
    pub(crate) fn waived(&mut self, events: &mut Vec<ShardEvent>) {
        let due = self.looked_at.take();
        self.is_over = false;
        if let (Some(due), false) = (due, self.follows) {
            let due = self.overdue.take().unwrap_or_default().and(due);
            self.show_when_seen(due, events);
        }
        if !self.is_over {
            events.append(&mut self.held);
        }
    }

    /// The training is to end at `step`, or if none is said, as soon as may be:
    /// where updates are gathered, at the end of the open iteration, before
    /// anybody goes on, so that no shard gets further than that.
    pub(crate) fn end_at(&mut self, step: Option<u64>, events: &mut Vec<ShardEvent>) {
        let gathers = self.plan.consistency.gathers();
        let step = step.unwrap_or(self.steps() + u64::from(gathers));
        self.end_at = Some(step);
        let has_passed = !gathers || self.steps() >= step;
        if !has_passed || self.is_over {
            return;
        }
        let due = Due {
            end: true,
            ..Due::default()
        };
        if self.follows {
            self.is_over = true;
            self.looked_at = Some(due);
            self.show(due, step, events);
        } else {
            self.show_when_seen(due, events);
        }
    }

    /// Shows the shard under the name of another one's step.
    pub(crate) fn show_as(&mut self, step: u64, events: &mut Vec<ShardEvent>) {
        self.show(Due::default(), step, events);
    }

    fn due(&self, before: u64) -> Due {
        let mut due = self.plan.milestones.between(before, self.steps());
        due.end |= self.end_at.is_some_and(|step| self.steps() >= step);
        due
    }

    /// Shows the shard, once the version before was looked at.
    fn show_when_seen(&mut self, due: Due, events: &mut Vec<ShardEvent>) {
        if self.looked_at.is_some() {
            let overdue = self.overdue.get_or_insert_default();
            *overdue = overdue.and(due);
            return;
        }
        self.looked_at = Some(due);
        self.is_over |= due.end;
        self.show(due, self.steps(), events);
    }

    fn show(&mut self, due: Due, steps: u64, events: &mut Vec<ShardEvent>) {
        let tally = std::mem::take(&mut self.tally);
        events.push(ShardEvent::Show(Shown { steps, tally, due }));
    }
}
