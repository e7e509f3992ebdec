//! The parameters that one server holds.

use std::sync::Arc;

use paceline_kernels::{AlignedBuffer, Kernels};

use crate::cluster::update::{Part, Span};
use crate::optimizer::{Optimizer, OptimizerState, Step};
use crate::session::Settings;

/// A range of the parameters and what the optimizer remembers of it.
#[derive(Debug)]
pub(crate) struct Store {
    kernels: Kernels,
    span: Span,
    /// Shared with whoever reads a version: an update works in place unless
    /// somebody still holds the version before it.
    parameters: Arc<AlignedBuffer>,
    optimizer: OptimizerState,
    /// Touched rows as (row, part, place in the part), kept for its memory.
    touched: Vec<(u32, u32, u32)>,
}

/// What is known of an update besides its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) rate: f32,
    pub(crate) decay: f32,
    /// Multiplies the sum of the parts.
    pub(crate) shrink: f32,
}

impl Rates {
    /// Those of a step, with `per_epoch` steps to an epoch.
    pub(crate) fn at(step: u64, settings: &Settings, per_epoch: u64) -> Self {
        let epochs = step as f64 / per_epoch as f64;
        Self {
            rate: (settings.rate * settings.schedule.factor(epochs)) as f32,
            decay: settings.decay,
            shrink: 1.0,
        }
    }
}

impl Store {
    /// The range `span` of these parameters and of this optimizer's memory.
    pub(crate) fn new(span: Span, parameters: &[f32], optimizer: &OptimizerState) -> Self {
        let range = span.flat();
        let part = |whole: &[f32]| {
            let mut own = AlignedBuffer::zeroed(range.len());
            own.copy_from_slice(&whole[range.clone()]);
            own
        };
        Self {
            kernels: Kernels::detect(),
            parameters: Arc::new(part(parameters)),
            optimizer: OptimizerState {
                optimizer: optimizer.optimizer,
                moments: optimizer.moments.iter().map(|all| part(all)).collect(),
                steps: optimizer.steps,
            },
            span,
            touched: Vec::new(),
        }
    }

    /// The range `span`, of which these are the values.
    pub(crate) fn of_part(
        span: Span,
        parameters: AlignedBuffer,
        optimizer: OptimizerState,
    ) -> Self {
        Self {
            kernels: Kernels::detect(),
            parameters: Arc::new(parameters),
            optimizer,
            span,
            touched: Vec::new(),
        }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn parameters(&self) -> &Arc<AlignedBuffer> {
        &self.parameters
    }

    pub(crate) fn optimizer(&self) -> &OptimizerState {
        &self.optimizer
    }

    /// Applies the sum of `parts`, formed in the order given.
    pub(crate) fn apply(&mut self, parts: &[Part<'_>], rates: Rates) {
        let optimizer = &mut self.optimizer;
        optimizer.steps += 1;
        let step = Step {
            rate: rates.rate,
            decay: rates.decay,
            shrink: rates.shrink,
            number: optimizer.steps,
        };
        let rule: Optimizer = optimizer.optimizer;
        let parameters = Arc::make_mut(&mut self.parameters);
        let dense = self.span.dense.len();
        let mut moments: Vec<&mut [f32]> = optimizer
            .moments
            .iter_mut()
            .map(|all| &mut all[..dense])
            .collect();
        let slopes: Vec<&[f32]> = parts.iter().map(|part| part.dense).collect();
        rule.apply(
            self.kernels,
            step,
            &mut parameters[..dense],
            &slopes,
            &mut moments,
        );
        self.touched.clear();
        for (number, part) in (0..).zip(parts) {
            let rows = (0..).zip(part.rows);
            self.touched
                .extend(rows.map(|(place, row)| (*row, number, place)));
        }
        // By row, and within a row in the order of the parts.
        self.touched.sort_unstable();
        let stride = self.span.stride;
        for same in self.touched.chunk_by(|one, other| one.0 == other.0) {
            let cells = self.span.row(same[0].0);
            let slopes: Vec<&[f32]> = same
                .iter()
                .map(|(_, part, place)| {
                    &parts[*part as usize].cells[*place as usize * stride..][..stride]
                })
                .collect();
            let mut moments: Vec<&mut [f32]> = optimizer
                .moments
                .iter_mut()
                .map(|all| &mut all[cells.clone()])
                .collect();
            rule.apply(
                self.kernels,
                step,
                &mut parameters[cells],
                &slopes,
                &mut moments,
            );
        }
    }
}
