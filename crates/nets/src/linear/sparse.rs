use paceline_kernels::{prefetch, sparse_axpy, sparse_dot};

use super::MarginLoss;
use super::margin_loss::write_pairs;
use crate::{Batch, Csr, Gradient, Input, Inputs, Layout, Model, ModelBase, RowStep, Tally};

/// How many rows ahead a descent fetches the entries: about the time that
/// memory takes to answer.
const ROWS_AHEAD: usize = 4;

/// How many rows ahead it fetches where the entries lie, which must be known
/// before they can be fetched themselves.
const PLACES_AHEAD: usize = 2 * ROWS_AHEAD;

/// A shared factor of the weights below which they are multiplied out, long
/// before `f32` loses digits.
const SMALLEST_FACTOR: f32 = 1e-6;

/// A binary classifier of sparse rows: score = weights · row + bias.
///
/// The same model as [`DenseLinear`](super::DenseLinear), for rows that are
/// mostly zero. The weights are the layout's table, a row for each column, so
/// that a step touches what its rows name. An empty row has the bias as its
/// score.
#[derive(Clone, Debug)]
pub struct SparseLinear {
    base: ModelBase,
    table: usize,
    width: usize,
    loss: MarginLoss,
}

impl SparseLinear {
    /// A model of rows of `width` columns.
    pub fn new(width: usize, loss: MarginLoss) -> Self {
        let mut layout = Layout::builder();
        layout.vector("bias", 1, 1);
        let table = layout.table("weight", width, 1, 1);
        Self {
            base: ModelBase {
                layout: layout.build(),
                input: Input::Sparse { width },
                classes: 2,
            },
            table,
            width,
            loss,
        }
    }

    fn weights<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.table..][..self.width]
    }

    fn score(&self, parameters: &[f32], (columns, values): (&[u32], &[f32])) -> f32 {
        sparse_dot(columns, values, self.weights(parameters)) + parameters[0]
    }
}

pub(super) fn sparse_rows<'a>(batch: &Batch<'a>) -> Csr<'a> {
    let Inputs::Sparse(rows) = batch.inputs else {
        panic!("a model of sparse rows is given sparse rows, as its `input` says");
    };
    rows
}

impl Model for SparseLinear {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn scratch_len(&self, rows: usize) -> usize {
        rows
    }

    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        _scratch: &mut [f32],
    ) -> Tally {
        let rows = sparse_rows(batch);
        let mut sum = self.loss.sum();
        let mut bias = 0.0;
        for (index, label) in batch.labels.iter().enumerate() {
            let row = rows.row(index);
            let slope = sum.add(self.score(parameters, row), *label);
            if slope != 0.0 {
                for (column, value) in row.0.iter().zip(row.1) {
                    gradient.row_mut(*column)[0] += scale * slope * value;
                }
                bias += scale * slope;
            }
        }
        let dense = gradient.dense_mut();
        dense.fill(0.0);
        dense[0] = bias;
        sum.tally()
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, _scratch: &mut [f32]) -> Tally {
        let rows = sparse_rows(batch);
        self.loss.evaluate(batch.labels, |index| {
            self.score(parameters, rows.row(index))
        })
    }

    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        _scratch: &mut [f32],
    ) {
        let rows = sparse_rows(batch);
        write_pairs(scores, |index| self.score(parameters, rows.row(index)));
    }

    fn flops_per_row(&self) -> f64 {
        4.0
    }

    /// Decay reaches every weight, touched or not: the weights are kept as a
    /// common factor times a vector, and only the factor decays (Bottou 2012,
    /// "Stochastic gradient descent tricks", section 5.1). They are multiplied
    /// out at the end of the call, which costs a pass over all of them, so with
    /// decay the calls should be long.
    fn descend(
        &self,
        parameters: &mut [f32],
        data: &Batch<'_>,
        steps: &[RowStep],
        batch: usize,
        decay: f32,
        scratch: &mut [f32],
    ) -> Option<Tally> {
        let rows = sparse_rows(data);
        let (dense, table) = parameters.split_at_mut(self.table);
        let bias = &mut dense[0];
        let weights = &mut table[..self.width];
        let batch = batch.max(1);
        let mut sum = self.loss.sum();
        let mut factor = 1.0_f32;
        for (number, group) in steps.chunks(batch).enumerate() {
            // All scores of a step are of the weights before it.
            let mut slopes = 0.0;
            for (index, step) in group.iter().enumerate() {
                let place = number * batch + index;
                if let Some(ahead) = steps.get(place + PLACES_AHEAD) {
                    prefetch(&rows.starts[ahead.row as usize..][..2]);
                    prefetch(&data.labels[ahead.row as usize..][..1]);
                }
                if let Some(ahead) = steps.get(place + ROWS_AHEAD) {
                    let (columns, values) = rows.row(ahead.row as usize);
                    prefetch(columns);
                    prefetch(values);
                }
                let (columns, values) = rows.row(step.row as usize);
                let score = factor * sparse_dot(columns, values, weights) + *bias;
                let slope = sum.add(score, data.labels[step.row as usize]);
                scratch[index] = slope;
                slopes += slope;
            }
            let keep = 1.0 - group[0].rate * decay;
            factor *= keep;
            if factor < SMALLEST_FACTOR {
                weights.iter_mut().for_each(|weight| *weight *= factor);
                factor = 1.0;
            }
            let share = group[0].rate / group.len() as f32;
            *bias = keep * *bias - share * slopes;
            for (step, slope) in group.iter().zip(scratch.iter()) {
                if *slope != 0.0 {
                    let (columns, values) = rows.row(step.row as usize);
                    sparse_axpy(-share * slope / factor, columns, values, weights);
                }
            }
        }
        if factor != 1.0 {
            weights.iter_mut().for_each(|weight| *weight *= factor);
        }
        Some(sum.tally())
    }
}
