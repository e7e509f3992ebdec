//! One worker's steps, which are everybody's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_model::{Iteration, WorkerId};
use paceline_nets::Tally;
use paceline_wire::{Group, ReduceError};

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
pub(super) struct Replica<'a> {
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

/// What came of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepResult {
    /// It was taken.
    Taken(Taken),
    /// Somebody wants to stop: nobody took it.
    Stopped,
    /// The loss is not a number any more: nobody took it.
    Diverged,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// What is due after it.
    pub(super) due: Due,
    /// This worker's rows.
    pub(super) own: Tally,
    /// The rows of all workers.
    pub(super) all: Tally,
    number: u64,
    began: Instant,
    /// What was voted, by all together.
    pub(super) votes: f32,
    computing: Duration,
    waiting: Duration,
    /// Who was waited for.
    last: Option<WorkerId>,
    sending: Duration,
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
            rows: self.own.rows,
            ..Iteration::default()
        }
    }
}

impl<'a> Replica<'a> {
    pub(super) fn new(session: &'a ClusterSession, worker: u32) -> Self {
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
    pub(super) fn follow(&mut self, milestones: Milestones) {
        self.milestones = milestones;
    }

    /// Steps taken so far.
    pub(super) fn step(&self) -> u64 {
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
        let own = if let Collective::Overlapped(buckets) = collective {
            compute.compute_in_parts(self.step, parameters, update, &mut |start, values| {
                sums.put_part(start, values, buckets);
            })
        } else {
            let own = compute.compute(self.step, parameters, update);
            sums.put_dense(&update.dense);
            own
        };
        let computed = now();
        let busy = computed - self.left;
        status.does(Activity::Summing(self.step));
        let words = Contribution {
            worker: self.worker,
            tally: own,
            stops: status.stops(),
            vote: std::mem::take(&mut self.vote),
            busy,
        };
        sums.put_rest(update, words);
        collective.sum(sums)?;
        let summed = now();
        self.left = summed;
        let found = sums.found();
        if found.stops {
            return Ok(StepResult::Stopped);
        }
        if !found.tally.loss.is_finite() {
            return Ok(StepResult::Diverged);
        }
        let per_epoch = self.milestones.per_epoch;
        let rates = Rates::at(self.step, &self.session.settings, per_epoch);
        store.apply(&[sums.gradient()], rates);
        if self.due().is_any() {
            self.since = Tally::default();
        }
        self.since.add(found.tally);
        self.step += 1;
        // All left the last sum at once: who was busy for longer was waited
        // for by that much.
        let waited = found.longest.saturating_sub(busy).min(summed - computed);
        let last = u32::try_from(found.last)
            .ok()
            .filter(|_| found.last != self.worker);
        Ok(StepResult::Taken(Taken {
            due: self.due(),
            number: self.step - 1,
            began,
            own,
            all: found.tally,
            votes: found.votes,
            computing: computed - began,
            waiting: waited,
            last: last.map(WorkerId),
            sending: computed.elapsed().saturating_sub(waited),
        }))
    }

    /// What is due at this very step.
    fn due(&self) -> Due {
        match self.step.checked_sub(1) {
            Some(before) => self.milestones.between(before, self.step),
            None => Due::default(),
        }
    }

    /// What has become due since step `looked`.
    pub(super) fn due_since(&self, looked: u64) -> Due {
        self.milestones.between(looked, self.step)
    }

    /// What is known of the state besides its numbers.
    pub(super) fn caption(&self) -> Caption {
        Caption {
            steps: self.step,
            tally: self.since,
            optimizer_steps: self.store.optimizer().steps,
            due: Due::default(),
        }
    }

    /// The parameters after the last step.
    pub(super) fn snapshot(&self, due: Due) -> Snapshot {
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
    pub(super) fn last_snapshot(&self) -> Snapshot {
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
    pub(super) fn restore(&mut self, state: &Snapshot) {
        let span = Span::whole(self.session.model.layout());
        self.store = Store::new(span, &state.parameters, &state.optimizer);
        self.step = state.steps;
        self.since = state.tally;
    }

    /// Has everybody go on from the state of the roster's source.
    ///
    /// The numbers travel by a sum to which the others add nothing: minus zero,
    /// the one number that changes no other, not even plus or minus zero.
    pub(super) fn settle(&mut self, group: &mut Group, roster: &Roster) -> Result<(), ReduceError> {
        let mut state = Snapshot {
            steps: roster.step,
            tally: roster.tally,
            ..self.snapshot(Due::default())
        };
        state.optimizer.steps = roster.optimizer_steps;
        let parameters = Arc::make_mut(&mut state.parameters);
        for values in [parameters].into_iter().chain(&mut state.optimizer.moments) {
            if self.worker != roster.source as usize {
                values.fill(-0.0);
            }
            group.all_reduce(values)?;
        }
        self.restore(&state);
        self.left = now();
        self.vote = 0.0;
        Ok(())
    }
}
