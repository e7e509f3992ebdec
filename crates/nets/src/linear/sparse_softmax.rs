use super::sparse::sparse_rows;
use crate::{Batch, Gradient, Input, Layout, Model, ModelBase, Tally};

/// Multinomial logistic regression on sparse rows: a score for each class,
/// linear in the row, and the cross-entropy of their softmax.
///
/// The weights are the layout's table: a row for each column, a value for each
/// class.
#[derive(Clone, Debug)]
pub struct SparseSoftmax {
    base: ModelBase,
    table: usize,
    width: usize,
    classes: usize,
}

impl SparseSoftmax {
    /// A model of rows of `width` columns in `classes` classes.
    pub fn new(width: usize, classes: usize) -> Self {
        let mut layout = Layout::builder();
        layout.vector("bias", classes, classes);
        let table = layout.table("weight", width, classes, classes);
        Self {
            base: ModelBase {
                layout: layout.build(),
                input: Input::Sparse { width },
                classes,
            },
            table,
            width,
            classes,
        }
    }

    fn row_scores(&self, parameters: &[f32], (columns, values): (&[u32], &[f32]), to: &mut [f32]) {
        to.copy_from_slice(&parameters[..self.classes]);
        let table = &parameters[self.table..][..self.width * self.classes];
        for (column, value) in columns.iter().zip(values) {
            let weights = &table[*column as usize * self.classes..][..self.classes];
            for (score, weight) in to.iter_mut().zip(weights) {
                *score += value * weight;
            }
        }
    }
}

/// Turns scores into probabilities; returns the loss of `label`, a hit if it has
/// the largest score. The largest score is subtracted first, so that no
/// exponential overflows.
fn softmax(scores: &mut [f32], label: usize) -> Tally {
    let (best, largest) =
        scores
            .iter()
            .copied()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (class, score)| {
                if score > best.1 { (class, score) } else { best }
            });
    let own = f64::from(scores[label]) - f64::from(largest);
    let mut sum = 0.0_f64;
    for score in scores.iter_mut() {
        let power = (f64::from(*score) - f64::from(largest)).exp();
        sum += power;
        *score = power as f32;
    }
    for score in scores.iter_mut() {
        *score = (f64::from(*score) / sum) as f32;
    }
    Tally {
        loss: sum.ln() - own,
        hits: u64::from(best == label),
        rows: 1,
    }
}

impl Model for SparseSoftmax {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn scratch_len(&self, _rows: usize) -> usize {
        2 * self.classes
    }

    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
    ) -> Tally {
        let rows = sparse_rows(batch);
        let (slopes, bias) = scratch[..2 * self.classes].split_at_mut(self.classes);
        bias.fill(0.0);
        let mut tally = Tally::default();
        for (index, label) in batch.labels.iter().enumerate() {
            let (columns, values) = rows.row(index);
            self.row_scores(parameters, (columns, values), slopes);
            let found = softmax(slopes, *label as usize);
            tally.add(found);
            slopes[*label as usize] -= 1.0;
            for (bias, slope) in bias.iter_mut().zip(slopes.iter_mut()) {
                *slope *= scale;
                *bias += *slope;
            }
            for (column, value) in columns.iter().zip(values) {
                for (entry, slope) in gradient.row_mut(*column).iter_mut().zip(slopes.iter()) {
                    *entry += value * slope;
                }
            }
        }
        let dense = gradient.dense_mut();
        dense.fill(0.0);
        dense[..self.classes].copy_from_slice(bias);
        tally
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, scratch: &mut [f32]) -> Tally {
        let rows = sparse_rows(batch);
        let scores = &mut scratch[..self.classes];
        let mut tally = Tally::default();
        for (index, label) in batch.labels.iter().enumerate() {
            self.row_scores(parameters, rows.row(index), scores);
            let found = softmax(scores, *label as usize);
            tally.add(found);
        }
        tally
    }

    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        _scratch: &mut [f32],
    ) {
        let rows = sparse_rows(batch);
        for (index, scores) in scores.chunks_exact_mut(self.classes).enumerate() {
            self.row_scores(parameters, rows.row(index), scores);
        }
    }

    fn flops_per_row(&self) -> f64 {
        4.0 * self.classes as f64
    }
}
