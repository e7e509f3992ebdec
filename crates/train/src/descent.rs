use std::sync::Arc;

use paceline_data::{DataSet, Features};
use paceline_kernels::AlignedBuffer;
use paceline_nets::{Batch, Csr, Inputs, Model, RowStep, Tally};

use crate::optimizer::Optimizer;
use crate::session::Settings;

/// Rows that are taken in one call: enough that looking at the clock costs
/// nothing, few enough that a stop and the time are noticed soon.
const ROWS_AT_ONCE: usize = 512;

/// Up to this many rows per step one thread is done before several have met.
const FEW_ROWS: usize = 64;

/// Plain SGD in the model's own way, which writes no gradient; see
/// [`Model::descend`]. All rows stay where they lie: a shuffled epoch copies
/// none of them.
pub(crate) struct Descent {
    model: Arc<dyn Model>,
    batch_size: usize,
    decay: f32,
    /// Where sparse rows start, in the form that models read.
    starts: Vec<usize>,
    rows: Vec<RowStep>,
    scratch: AlignedBuffer,
}

impl Descent {
    /// Nothing if the model has no such way for these rows and settings, or if
    /// it would not give what gradients give.
    pub(crate) fn of(
        model: &Arc<dyn Model>,
        data: &DataSet,
        settings: &Settings,
        parameters: &mut [f32],
    ) -> Option<Self> {
        let starts = match data.features() {
            Features::Dense { .. } => Vec::new(),
            // Here decay reaches every weight, but in the other way only those
            // that a row touches; and where a call ends would show in the bits.
            Features::Sparse(_) if settings.decay != 0.0 => return None,
            Features::Sparse(matrix) => matrix.indptr().iter().map(|at| *at as usize).collect(),
            Features::Bytes { .. } | Features::Tokens { .. } => return None,
        };
        if settings.optimizer != Optimizer::Sgd
            || settings.clip.is_some()
            || (settings.threads > 1 && settings.batch_size > FEW_ROWS)
        {
            return None;
        }
        let mut descent = Self {
            model: Arc::clone(model),
            batch_size: settings.batch_size,
            decay: settings.decay,
            starts,
            rows: Vec::new(),
            scratch: AlignedBuffer::zeroed(model.scratch_len(settings.batch_size)),
        };
        // No steps change nothing, and tell whether the model has that way.
        descent.run(data, parameters)?;
        Some(descent)
    }

    /// How many steps to take at once, of `most` that may be.
    pub(crate) fn steps(&self, most: u64) -> usize {
        let at_once = ROWS_AT_ONCE.div_ceil(self.batch_size);
        usize::try_from(most).map_or(at_once, |most| most.min(at_once))
    }

    /// Steps through `order`, the first of them at `rate(0)`.
    pub(crate) fn take(
        &mut self,
        data: &DataSet,
        order: &[u32],
        rate: impl Fn(u64) -> f32,
        parameters: &mut [f32],
    ) -> Tally {
        self.rows.clear();
        for (step, rows) in (0..).zip(order.chunks(self.batch_size)) {
            let rate = rate(step);
            let rows = rows.iter().map(|row| RowStep { row: *row, rate });
            self.rows.extend(rows);
        }
        self.run(data, parameters)
            .expect("the model has been asked whether it can")
    }

    fn run(&mut self, data: &DataSet, parameters: &mut [f32]) -> Option<Tally> {
        let inputs = match data.features() {
            Features::Dense { values, width } => Inputs::Dense {
                values,
                width: *width,
            },
            Features::Sparse(matrix) => Inputs::Sparse(Csr {
                starts: &self.starts,
                columns: matrix.indices(),
                values: matrix.values(),
            }),
            Features::Bytes { .. } | Features::Tokens { .. } => {
                unreachable!("such rows are refused at the start")
            }
        };
        let batch = Batch {
            inputs,
            labels: data.labels(),
        };
        self.model.descend(
            parameters,
            &batch,
            &self.rows,
            self.batch_size,
            self.decay,
            &mut self.scratch,
        )
    }
}
