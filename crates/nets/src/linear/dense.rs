use paceline_kernels::{Kernels, prefetch};

use super::MarginLoss;
use super::margin_loss::write_pairs;
use crate::{Batch, Gradient, Input, Inputs, Layout, Model, ModelBase, RowStep, Tally};

/// A binary classifier of dense rows: score = weights · row + bias.
///
/// With [`MarginLoss::Logistic`] it is logistic regression, with the hinge
/// losses a linear support vector machine. The scores of the two classes are 0
/// and the score, so that their softmax are the probabilities of logistic
/// regression.
#[derive(Clone, Debug)]
pub struct DenseLinear {
    base: ModelBase,
    bias: usize,
    width: usize,
    loss: MarginLoss,
    kernels: Kernels,
}

impl DenseLinear {
    /// A model of rows of `width` values.
    pub fn new(width: usize, loss: MarginLoss, kernels: Kernels) -> Self {
        let mut layout = Layout::builder();
        layout.vector("weight", width, width);
        let bias = layout.vector("bias", 1, 1);
        Self {
            base: ModelBase {
                layout: layout.build(),
                input: Input::Dense { width },
                classes: 2,
            },
            bias,
            width,
            loss,
            kernels,
        }
    }

    fn rows<'a>(&self, batch: &Batch<'a>) -> DenseRows<'a> {
        let Inputs::Dense { values, width } = batch.inputs else {
            panic!("a model of dense rows is given dense rows, as its `input` says");
        };
        assert_eq!(width, self.width, "rows are as wide as the model");
        DenseRows { values, width }
    }

    fn score(&self, parameters: &[f32], row: &[f32]) -> f32 {
        self.kernels.dot(&parameters[..self.width], row) + parameters[self.bias]
    }
}

#[derive(Clone, Copy)]
struct DenseRows<'a> {
    values: &'a [f32],
    width: usize,
}

impl<'a> DenseRows<'a> {
    fn row(self, row: usize) -> &'a [f32] {
        &self.values[row * self.width..][..self.width]
    }
}

impl Model for DenseLinear {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn scratch_len(&self, _rows: usize) -> usize {
        0
    }

    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        _scratch: &mut [f32],
    ) -> Tally {
        let rows = self.rows(batch);
        let gradient = gradient.dense_mut();
        gradient.fill(0.0);
        let mut sum = self.loss.sum();
        for (index, label) in batch.labels.iter().enumerate() {
            let row = rows.row(index);
            // The row is still in the cache when it is added.
            let slope = sum.add(self.score(parameters, row), *label);
            if slope != 0.0 {
                self.kernels
                    .axpy(scale * slope, row, &mut gradient[..self.width]);
                gradient[self.bias] += scale * slope;
            }
        }
        sum.tally()
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, _scratch: &mut [f32]) -> Tally {
        let rows = self.rows(batch);
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
        let rows = self.rows(batch);
        write_pairs(scores, |index| self.score(parameters, rows.row(index)));
    }

    fn flops_per_row(&self) -> f64 {
        4.0 * self.width as f64
    }

    /// A step and the next row's score are one pass over the weights, so that
    /// each row is read from memory once and no gradient is ever written. With
    /// more rows in a step the gradient is as good.
    fn descend(
        &self,
        parameters: &mut [f32],
        data: &Batch<'_>,
        steps: &[RowStep],
        batch: usize,
        decay: f32,
        _scratch: &mut [f32],
    ) -> Option<Tally> {
        if batch != 1 {
            return None;
        }
        let rows = self.rows(data);
        let (weights, rest) = parameters.split_at_mut(self.bias);
        let weights = &mut weights[..self.width];
        let bias = &mut rest[0];
        let mut sum = self.loss.sum();
        let Some(first) = steps.first() else {
            return Some(sum.tally());
        };
        prefetch(rows.row(first.row as usize));
        // What the step before leaves to be done: nothing at first.
        let mut pending = (1.0, 0.0);
        let mut previous = rows.row(first.row as usize);
        for (index, step) in steps.iter().enumerate() {
            let row = rows.row(step.row as usize);
            let upcoming = steps
                .get(index + 1)
                .map_or(&[][..], |step| rows.row(step.row as usize));
            let dot = self
                .kernels
                .update_then_dot(weights, pending, previous, row, upcoming);
            let slope = sum.add(dot + *bias, data.labels[step.row as usize]);
            let keep = 1.0 - step.rate * decay;
            let factor = -step.rate * slope;
            *bias = keep * *bias + factor;
            pending = (keep, factor);
            previous = row;
        }
        self.kernels
            .update_then_dot(weights, pending, previous, previous, &[]);
        Some(sum.tally())
    }
}
