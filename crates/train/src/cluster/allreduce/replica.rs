//! One worker's steps, which are everybody's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_model::{Iteration, WorkerId};
use paceline_nets::Tally;
use paceline_wire::{Buckets, Group, ReduceError};

use super::collective::{Broken, Collective};
use super::overlap_trial::OverlapTrial;
use super::status::SharedStatus;
use super::sum_buffer::{Contribution, SumBuffer};
use crate::clock::now;
use crate::cluster::milestones::{Due, Milestones};
use crate::cluster::protocol::{Activity, Caption, Roster};
use crate::cluster::session::ClusterSession;
use crate::cluster::shard::{Rates, Store};
use crate::cluster::snapshot::Snapshot;
use crate::cluster::update::{Span, Update};
use crate::cluster::worker_compute::WorkerCompute;
use crate::cluster::worker_log::WorkerLog;

/// A worker that holds all parameters and takes the same steps as the others.
pub(in crate::cluster) struct Replica<'a> {
    session: &'a ClusterSession,
    milestones: Milestones,
    worker: usize,
    compute: WorkerCompute,
    store: Store,
    update: Update,
    sums: SumBuffer,
    step: u64,
    /// The rows of all workers since the last milestone, that of this step not
    /// counted as one.
    since: Tally,
    /// When this worker left the last sum.
    left: Instant,
    /// To be told with the next sum.
    vote: f32,
}

/// This worker's part of a step, which is laid down to be summed.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) struct Computed {
    began: Instant,
    ended: Instant,
    /// How long this worker was busy since the last sum.
    busy: Duration,
    own: Tally,
}

/// What came of a step.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) enum StepResult {
    /// It was taken.
    Taken(Taken),
    /// Somebody wants to stop: nobody took it.
    Stopped,
    /// The loss is not a number any more: nobody took it.
    Diverged,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) struct Taken {
    /// What is due after it.
    pub(in crate::cluster) due: Due,
    /// This worker's rows.
    pub(in crate::cluster) own: Tally,
    /// The rows of all workers.
    pub(in crate::cluster) all: Tally,
    number: u64,
    began: Instant,
    /// What was voted, by all together.
    pub(in crate::cluster) votes: f32,
    computing: Duration,
    waiting: Duration,
    /// Who was waited for.
    last: Option<WorkerId>,
    sending: Duration,
    on_wire: Duration,
}

impl Taken {
    /// The step as it is written down.
    pub(super) fn row(&self, log: &WorkerLog) -> Iteration {
        Iteration {
            clock: self.number,
            iterations: 1,
            began: log.at(self.began),
            waiting: self.waiting,
            waited_for: self.last,
            computing: self.computing,
            sending: self.sending,
            on_wire: self.on_wire,
            rows: self.own.rows,
            ..Iteration::default()
        }
    }
}

impl<'a> Replica<'a> {
    pub(in crate::cluster) fn new(session: &'a ClusterSession, worker: u32) -> Self {
        let layout = session.model.layout();
        Self {
            session,
            milestones: session.milestones(),
            worker: worker as usize,
            compute: WorkerCompute::new(
                worker,
                Arc::clone(&session.model),
                session.data.train.clone(),
                session.settings.clone(),
                &session.cluster,
            ),
            store: Store::new(Span::whole(layout), &session.parameters, &session.optimizer),
            update: Update::none(layout),
            sums: SumBuffer::new(layout, session.cluster.workers.get() as usize),
            step: session.progress.steps,
            since: Tally::default(),
            left: now(),
            vote: 0.0,
        }
    }

    /// What is due when, by the trainer's word.
    pub(in crate::cluster) fn follow(&mut self, milestones: Milestones) {
        self.milestones = milestones;
    }

    /// Steps taken so far.
    pub(in crate::cluster) fn step(&self) -> u64 {
        self.step
    }

    /// Whether buckets should leave early is to be tried; none where they
    /// cannot.
    pub(super) fn trial(&self) -> Option<OverlapTrial> {
        let several = self.session.cluster.workers.get() > 1;
        (several && self.sums.has_buckets() && self.compute.has_parts()).then(OverlapTrial::new)
    }

    /// Tells the others a number with the next sum, which adds them up.
    pub(super) fn vote(&mut self, vote: f32) {
        self.vote = vote;
    }

    /// Takes one step with the others.
    pub(super) fn stride(
        &mut self,
        collective: &mut Collective,
        status: &SharedStatus,
    ) -> Result<StepResult, Broken> {
        let early = match collective {
            Collective::Overlapped(buckets) => Some(buckets),
            _ => None,
        };
        let computed = self.compute(early, status);
        collective.sum(&mut self.sums)?;
        let is_wired = !matches!(collective, Collective::Threads(_));
        Ok(self.take(computed, is_wired))
    }

    /// Computes this worker's part of a step and lays it down to be summed; what is
    /// complete leaves `early`, if it may.
    pub(in crate::cluster) fn compute(
        &mut self,
        early: Option<&mut Buckets>,
        status: &SharedStatus,
    ) -> Computed {
        let began = now();
        status.does(Activity::Computing(self.step));
        let Self {
            compute,
            store,
            update,
            sums,
            ..
        } = self;
        let parameters = &store.parameters()[..];
        let own = if let Some(buckets) = early {
            compute.compute_in_parts(self.step, parameters, update, &mut |start, values| {
                sums.put_part(start, values, buckets);
            })
        } else {
            let own = compute.compute(self.step, parameters, update);
            sums.put_dense(&update.dense);
            own
        };
        let ended = now();
        let busy = ended - self.left;
        status.does(Activity::Summing(self.step));
        let words = Contribution {
            worker: self.worker,
            tally: own,
            stops: status.stops(),
            vote: std::mem::take(&mut self.vote),
            busy,
        };
        sums.put_rest(update, words);
        Computed {
            began,
            ended,
            busy,
            own,
        }
    }

    /// What is to be summed, and then the sums.
    #[cfg(test)]
    pub(in crate::cluster) fn sums(&mut self) -> &mut [f32] {
        self.sums.values()
    }

    /// Takes the step, once everybody's parts are summed, between processes if
    /// `is_wired`.
    pub(in crate::cluster) fn take(&mut self, computed: Computed, is_wired: bool) -> StepResult {
        let Computed {
            began,
            ended,
            busy,
            own,
        } = computed;
        let summed = now();
        self.left = summed;
        let found = self.sums.found();
        if found.stops {
            return StepResult::Stopped;
        }
        if !found.tally.loss.is_finite() {
            return StepResult::Diverged;
        }
        let per_epoch = self.milestones.per_epoch;
        let rates = Rates::at(self.step, &self.session.settings, per_epoch);
        self.store.apply(&[self.sums.gradient()], rates);
        let applying = summed.elapsed();
        if self.due().is_any() {
            self.since = Tally::default();
        }
        self.since.add(found.tally);
        self.step += 1;
        // All left the last sum at once: who was busy for longer was waited
        // for by that much.
        let waited = found.longest.saturating_sub(busy).min(summed - ended);
        let exchange = (summed - ended).saturating_sub(waited);
        let (sending, on_wire) = match is_wired {
            true => (Duration::ZERO, exchange),
            false => (exchange, Duration::ZERO),
        };
        let last = u32::try_from(found.last)
            .ok()
            .filter(|_| found.last != self.worker);
        StepResult::Taken(Taken {
            due: self.due(),
            number: self.step - 1,
            began,
            own,
            all: found.tally,
            votes: found.votes,
            // Everybody takes the step that a server would.
            computing: ended - began + applying,
            waiting: waited,
            last: last.map(WorkerId),
            sending,
            on_wire,
        })
    }

    /// What is due at this very step.
    fn due(&self) -> Due {
        match self.step.checked_sub(1) {
            Some(before) => self.milestones.between(before, self.step),
            None => Due::default(),
        }
    }

    /// What has become due since step `looked`.
    pub(in crate::cluster) fn due_since(&self, looked: u64) -> Due {
        self.milestones.between(looked, self.step)
    }

    /// What is known of the state besides its numbers.
    pub(in crate::cluster) fn caption(&self) -> Caption {
        Caption {
            steps: self.step,
            tally: self.since,
            optimizer_steps: self.store.optimizer().steps,
            due: Due::default(),
        }
    }

    /// The parameters after the last step.
    pub(in crate::cluster) fn snapshot(&self, due: Due) -> Snapshot {
        Snapshot {
            steps: self.step,
            parameters: Arc::clone(self.store.parameters()),
            optimizer: self.store.optimizer().clone(),
            tally: self.since,
            due,
        }
    }

    /// The parameters at which all stopped between milestones. The rows up to
    /// a milestone were told with it.
    pub(in crate::cluster) fn last_snapshot(&self) -> Snapshot {
        let told = self.due().is_any();
        Snapshot {
            tally: if told { Tally::default() } else { self.since },
            ..self.snapshot(Due {
                end: true,
                ..Due::default()
            })
        }
    }

    /// Goes on from another state.
    pub(in crate::cluster) fn restore(&mut self, state: &Snapshot) {
        let span = Span::whole(self.session.model.layout());
        self.store = Store::new(span, &state.parameters, &state.optimizer);
        self.step = state.steps;
        self.since = state.tally;
    }

    /// Has everybody go on from the state of the roster's source.
    pub(super) fn settle(&mut self, group: &mut Group, roster: &Roster) -> Result<(), ReduceError> {
        let mut state = self.contribution_to(roster);
        let parameters = Arc::make_mut(&mut state.parameters);
        for values in [parameters].into_iter().chain(&mut state.optimizer.moments) {
            group.all_reduce(values)?;
        }
        self.settle_on(&state);
        Ok(())
    }

    /// What this worker adds to the state that a group begins with.
    ///
    /// The numbers travel by a sum to which all but the roster's source add
    /// nothing: minus zero, the one number that changes no other, not even plus or
    /// minus zero.
    pub(in crate::cluster) fn contribution_to(&self, roster: &Roster) -> Snapshot {
        let mut state = Snapshot {
            steps: roster.step,
            tally: roster.tally,
            ..self.snapshot(Due::default())
        };
        state.optimizer.steps = roster.optimizer_steps;
        if self.worker != roster.source as usize {
            let parameters = Arc::make_mut(&mut state.parameters);
            for values in [parameters].into_iter().chain(&mut state.optimizer.moments) {
                values.fill(-0.0);
            }
        }
        state
    }

    /// Begins a group with the state that all have summed.
    pub(in crate::cluster) fn settle_on(&mut self, state: &Snapshot) {
        self.restore(state);
        self.left = now();
        self.vote = 0.0;
    }
}
