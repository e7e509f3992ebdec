//! A worker's computation between two exchanges.

use std::sync::Arc;
use std::time::Duration;

use paceline_data::DataSet;
use paceline_kernels::AlignedBuffer;
use paceline_nets::{Model, Tally};
use paceline_sync::Consistency;

use super::config::Cluster;
use super::partition::Partition;
use super::update::Update;
use crate::clock::now;
use crate::compute::Compute;
use crate::optimizer::OptimizerState;
use crate::session::Settings;

/// Computes the updates of one worker.
pub(crate) struct WorkerCompute {
    worker: usize,
    workers: usize,
    consistency: Consistency,
    slowness: f64,
    data: DataSet,
    settings: Settings,
    compute: Compute,
    partition: Partition,
    /// The gradient of a part of a share that is larger than a batch.
    block: Update,
    local: Option<Local>,
}

/// What a worker keeps for steps of its own.
struct Local {
    parameters: AlignedBuffer,
    optimizer: OptimizerState,
    rows: Vec<u32>,
}

impl WorkerCompute {
    pub(crate) fn new(
        worker: u32,
        model: Arc<dyn Model>,
        data: DataSet,
        settings: Settings,
        cluster: &Cluster,
    ) -> Self {
        let workers = cluster.workers.get() as usize;
        let consistency = cluster.consistency();
        let len = model.layout().len();
        let local = matches!(consistency, Consistency::Local { .. }).then(|| Local {
            parameters: AlignedBuffer::zeroed(len),
            optimizer: OptimizerState::new(settings.optimizer, len),
            rows: Vec::new(),
        });
        Self {
            worker: worker as usize,
            workers,
            consistency,
            slowness: cluster.slowness(worker),
            partition: Partition::of(cluster, &settings, data.rows()),
            block: Update::none(model.layout()),
            compute: Compute::new(model, settings.threads, settings.batch_size),
            data,
            settings,
            local,
        }
    }

    /// Computes the update of iteration `clock` (with `local:H`, of the H
    /// iterations from it on) from `parameters`.
    ///
    /// Where updates are gathered, the sum over all workers is the gradient of
    /// their common batch; elsewhere an update is that of the worker's own rows.
    pub(crate) fn compute(&mut self, clock: u64, parameters: &[f32], update: &mut Update) -> Tally {
        let began = now();
        let tally = if self.local.is_some() {
            self.steps(clock, parameters, update)
        } else {
            self.gradient(clock, parameters, update)
        };
        if self.slowness > 1.0 {
            pause(began.elapsed().mul_f64(self.slowness - 1.0));
        }
        tally
    }

    /// Whether the gradient of an iteration can be handed over in parts: not
    /// where it is a sum over threads, or is clipped as a whole.
    pub(crate) fn has_parts(&self) -> bool {
        self.local.is_none() && self.settings.clip.is_none() && self.compute.has_parts()
    }

    /// As [`WorkerCompute::compute`], except that the dense part is handed over while
    /// it is computed (see [`Model::gradient_in_parts`]), and not written.
    pub(crate) fn compute_in_parts(
        &mut self,
        clock: u64,
        parameters: &[f32],
        update: &mut Update,
        part: &mut dyn FnMut(usize, &[f32]),
    ) -> Tally {
        let began = now();
        let share = self.partition.share(self.worker, clock);
        if share.rows.is_empty() {
            update.clear();
            part(0, &update.dense);
            return Tally::default();
        }
        let (rows, batch_rows) = (share.rows, share.batch_rows);
        let tally = self
            .compute
            .gradient_in_parts(&self.data, rows, batch_rows, parameters, part);
        self.compute.rows_into(update);
        if self.slowness > 1.0 {
            pause(began.elapsed().mul_f64(self.slowness - 1.0));
        }
        tally
    }

    fn gradient(&mut self, clock: u64, parameters: &[f32], update: &mut Update) -> Tally {
        let share = self.partition.share(self.worker, clock);
        if share.rows.is_empty() {
            update.clear();
            return Tally::default();
        }
        let batch_rows = if self.consistency.gathers() {
            share.batch_rows
        } else {
            share.rows.len()
        };
        let mut tally = Tally::default();
        for (number, rows) in share.rows.chunks(self.settings.batch_size).enumerate() {
            let found = self
                .compute
                .gradient_of_share(&self.data, rows, batch_rows, parameters);
            tally.add(found);
            if number == 0 {
                self.compute.sum_into(update);
            } else {
                self.compute.sum_into(&mut self.block);
                update.add(&self.block);
            }
        }
        if let Some(limit) = self.settings.clip {
            update.clip(limit, batch_rows as f64 / share.rows.len() as f64);
        }
        tally
    }

    fn steps(&mut self, clock: u64, parameters: &[f32], update: &mut Update) -> Tally {
        let Local {
            parameters: own,
            optimizer,
            rows: touched,
        } = self.local.as_mut().expect("there are local steps to take");
        own.copy_from_slice(parameters);
        touched.clear();
        let mut tally = Tally::default();
        let per_epoch = self.partition.iterations() as f64;
        for step in clock..clock + self.consistency.iterations_per_update() {
            let share = self.partition.share(self.worker, step);
            if share.rows.is_empty() {
                continue;
            }
            tally.add(self.compute.gradient(&self.data, share.rows, own));
            let factor = self.settings.schedule.factor(step as f64 / per_epoch);
            let rate = (self.settings.rate * factor) as f32;
            let Settings { decay, clip, .. } = self.settings;
            self.compute.update(own, optimizer, rate, decay, clip);
            touched.extend_from_slice(self.compute.touched());
        }
        touched.sort_unstable();
        touched.dedup();
        // As a gradient, so that a step of rate one from the common parameters
        // leads to the workers' mean.
        let share = 1.0 / self.workers as f32;
        for ((slope, from), to) in update.dense.iter_mut().zip(parameters).zip(own.iter()) {
            *slope = (from - to) * share;
        }
        update.rows.clone_from(touched);
        update.cells.clear();
        let layout = self.compute.model().layout();
        if let Some(table) = layout.table() {
            for row in touched {
                let start = table.offset + *row as usize * table.stride;
                let (from, to) = (&parameters[start..], &own[start..]);
                let slopes = from.iter().zip(to).take(table.stride);
                update
                    .cells
                    .extend(slopes.map(|(from, to)| (from - to) * share));
            }
        }
        tally
    }
}

/// Below this a thread that sleeps wakes up too late to be of use.
const WORTH_SLEEPING: Duration = Duration::from_micros(200);

fn pause(length: Duration) {
    let began = now();
    if length > WORTH_SLEEPING {
        std::thread::sleep(length);
    }
    while began.elapsed() < length {
        std::hint::spin_loop();
    }
}
