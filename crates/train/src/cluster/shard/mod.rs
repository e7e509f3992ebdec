//! A shard: a range of the parameters, the rules by which workers use it, and
//! when it is looked at. No I/O and no clock: a server puts sockets around it,
//! threads a lock.

mod plan;
mod rules;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use plan::ShardPlan;
pub(crate) use rules::{ShardEvent, ShardRules, Shown};
pub(crate) use store::{Rates, Store};

use paceline_nets::Tally;
use paceline_sync::{Clock, Message, Receipt, Refusal, Sender, Tick};

use super::update::{Part, Span};

/// An update that waits until its iteration closes.
pub(crate) trait Gathered {
    /// What of it concerns a shard.
    fn part<'a>(&'a self, span: &Span) -> Part<'a>;

    /// It was applied: its memory is for the next.
    fn release(&mut self) {}
}

/// A shard of the parameters.
pub(crate) struct ParameterShard<U> {
    rules: ShardRules,
    store: Store,
    /// By worker: its update of the open iteration.
    gathered: Vec<Slot<U>>,
}

/// A worker's place among the gathered updates.
struct Slot<U> {
    update: U,
    /// What was found on its rows; none if its update has not come.
    tally: Option<Tally>,
}

/// An update as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) from: Sender,
    pub(crate) clock: Clock,
    /// What was found on its rows.
    pub(crate) tally: Tally,
    /// Whether the worker asks for the next iteration as well.
    pub(crate) then_read: bool,
}

impl<U: Gathered> ParameterShard<U> {
    /// A shard whose gathered updates lie in `empty`, one for each worker.
    pub(crate) fn new(rules: ShardRules, store: Store, empty: impl FnMut() -> U) -> Self {
        let mut empty = empty;
        let slot = |_| Slot {
            update: empty(),
            tally: None,
        };
        Self {
            gathered: (0..rules.plan().workers).map(slot).collect(),
            rules,
            store,
        }
    }

    pub(crate) fn rules(&self) -> &ShardRules {
        &self.rules
    }

    pub(crate) fn rules_mut(&mut self) -> &mut ShardRules {
        &mut self.rules
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// An update has arrived. Where updates are gathered and this one counts,
    /// it is kept, and `update` becomes one that is not needed any more.
    ///
    /// # Errors
    /// If the rules refuse it.
    pub(crate) fn on_update(
        &mut self,
        arrival: Arrival,
        update: &mut U,
        now: Tick,
        events: &mut Vec<ShardEvent>,
    ) -> Result<Receipt, Refusal> {
        if self.rules.is_over() {
            if arrival.then_read && self.rules.plan().has_backups() {
                let read = self.rules.read_next(arrival, now);
                self.settle(events);
                read?;
            }
            return Ok(Receipt::Heard);
        }
        let receipt = self.rules.update(arrival, now);
        if receipt == Ok(Receipt::Counted) {
            self.count(arrival, update, events);
        }
        let receipt = receipt.and_then(|receipt| {
            if arrival.then_read {
                self.rules.read_next(arrival, now)?;
            }
            Ok(receipt)
        });
        self.settle(events);
        receipt
    }

    /// A worker says something else than an update.
    ///
    /// # Errors
    /// If the rules refuse it.
    pub(crate) fn on_message(
        &mut self,
        from: Sender,
        message: Message,
        now: Tick,
        events: &mut Vec<ShardEvent>,
    ) -> Result<(), Refusal> {
        let taken = self.rules.step(from, message, now);
        self.settle(events);
        taken
    }

    /// A worker's connection broke.
    pub(crate) fn on_disconnect(&mut self, who: Sender, now: Tick, events: &mut Vec<ShardEvent>) {
        self.rules.disconnect(who, now);
        self.settle(events);
    }

    /// A worker has ended and nobody replaces it.
    pub(crate) fn on_worker_gone(&mut self, worker: u32, now: Tick, events: &mut Vec<ShardEvent>) {
        self.rules.worker_gone(worker, now);
        self.settle(events);
    }

    /// Time passes.
    pub(crate) fn on_tick(&mut self, now: Tick, events: &mut Vec<ShardEvent>) {
        if !self.rules.is_over() {
            self.rules.tick(now);
            self.settle(events);
        }
    }

    fn count(&mut self, arrival: Arrival, update: &mut U, events: &mut Vec<ShardEvent>) {
        if !self.rules.check_loss(arrival.tally, events) {
            return;
        }
        if self.rules.plan().consistency.gathers() {
            let slot = &mut self.gathered[arrival.from.worker.0 as usize];
            std::mem::swap(&mut slot.update, update);
            slot.tally = Some(arrival.tally);
            return;
        }
        let rates = self.rules.rates();
        self.store.apply(&[update.part(self.store.span())], rates);
        update.release();
        self.rules.applied(arrival.tally, events);
    }

    /// Does what the rules have decided.
    fn settle(&mut self, events: &mut Vec<ShardEvent>) {
        let Self {
            rules,
            store,
            gathered,
        } = self;
        rules.settle(events, |rates| close(store, gathered, rates));
    }
}

/// Applies the updates of an iteration, in the order of the workers; gives what
/// was found on their rows.
fn close<U: Gathered>(store: &mut Store, gathered: &mut [Slot<U>], rates: Rates) -> Tally {
    let span = store.span().clone();
    let parts: Vec<Part<'_>> = gathered
        .iter()
        .filter(|slot| slot.tally.is_some())
        .map(|slot| slot.update.part(&span))
        .collect();
    store.apply(&parts, rates);
    let mut sum = Tally::default();
    for slot in gathered {
        if let Some(tally) = slot.tally.take() {
            sum.add(tally);
            slot.update.release();
        }
    }
    sum
}
