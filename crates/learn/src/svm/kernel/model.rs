//! What kernel machines predict.

use super::SvmKernel;
use super::classifier::pair_index;
use super::points::Points;
use crate::learner::check_columns;
use crate::{PredictError, Rows, Threads};
use std::ops::Range;

/// Trained kernel machines, one per pair of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSvmModel {
    pub(super) kernel: SvmKernel,
    /// The support vectors in order of class.
    pub(super) vectors: Points,
    /// How many support vectors each class has; none if it had no rows.
    pub(super) counts: Vec<usize>,
    /// Signed weights, one line of all support vectors for each class but one:
    /// a vector of class `a` has its weight against class `b` in line `b`, or
    /// `b − 1` if `b` is above `a`.
    pub(super) weights: Vec<f32>,
    /// The threshold of each pair of classes: 0 and 1, 0 and 2, …
    pub(super) thresholds: Vec<f32>,
    pub(super) converged: bool,
}

/// Rows whose kernel values are computed at a time by one thread.
const BLOCK_ROWS: usize = 32;

impl KernelSvmModel {
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.counts.len()
    }

    /// How many features a row has.
    pub fn columns(&self) -> usize {
        self.vectors.columns()
    }

    /// How many support vectors each class has.
    pub fn support_counts(&self) -> &[usize] {
        &self.counts
    }

    /// Whether every machine reached its tolerance within the iterations.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The class that wins the most pairs; the first of equals.
    pub fn predict<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<u32>, PredictError> {
        let classes = self.classes();
        let decisions = self.decisions(rows, threads)?;
        let mut votes = vec![0_usize; classes];
        let winner = |decisions: &[f32]| {
            votes.fill(0);
            for (first, second) in self.pairs() {
                let decision = decisions[pair_index(first, second, classes)];
                votes[if decision > 0.0 { first } else { second }] += 1;
            }
            let most = votes.iter().max().expect("there are at least two classes");
            let winner = votes.iter().position(|votes| votes == most);
            winner.expect("the maximum is among the votes") as u32
        };
        let per_row = classes * (classes - 1) / 2;
        Ok(decisions.chunks_exact(per_row).map(winner).collect())
    }

    /// The decision of each pair of classes (0 and 1, 0 and 2, …) for each row;
    /// above zero it is for the first of the pair. A pair with a class that had
    /// no rows decides zero.
    pub fn decisions<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<f32>, PredictError> {
        let rows = rows.into();
        check_columns(rows.columns(), self.columns())?;
        let vectors: Vec<u32> = (0..self.vectors.rows() as u32).collect();
        let ranges = self.ranges();
        let blocks = rows.rows().div_ceil(BLOCK_ROWS);
        let parts = threads.map(blocks, |block| {
            let start = block * BLOCK_ROWS;
            let chosen: Vec<u32> = (start..rows.rows().min(start + BLOCK_ROWS))
                .map(|row| row as u32)
                .collect();
            self.decide(rows, &chosen, &vectors, &ranges)
        });
        Ok(parts.concat())
    }

    fn decide(
        &self,
        rows: Rows<'_>,
        chosen: &[u32],
        vectors: &[u32],
        ranges: &[Range<usize>],
    ) -> Vec<f32> {
        let points = self.vectors.like(rows, chosen);
        let local: Vec<u32> = (0..chosen.len() as u32).collect();
        let mut kernel = vec![0.0; chosen.len() * vectors.len()];
        points.kernel_block(self.kernel, &local, &self.vectors, vectors, &mut kernel);
        let classes = self.classes();
        let per_row = classes * (classes - 1) / 2;
        let mut decisions = vec![0.0; chosen.len() * per_row];
        for (row, decisions) in decisions.chunks_exact_mut(per_row).enumerate() {
            let kernel = &kernel[row * vectors.len()..][..vectors.len()];
            for (first, second) in self.pairs() {
                let line = |line: usize, class: usize| {
                    let range = ranges[class].clone();
                    let weights = &self.weights[line * vectors.len()..][range.clone()];
                    weighted_sum(weights, &kernel[range])
                };
                let sum = line(second - 1, first) + line(first, second);
                let pair = pair_index(first, second, classes);
                decisions[pair] = (sum - f64::from(self.thresholds[pair])) as f32;
            }
        }
        decisions
    }

    /// The pairs of classes that have support vectors.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let has_rows = |class: &usize| self.counts[*class] > 0;
        (0..self.classes()).filter(has_rows).flat_map(move |first| {
            let others = (first + 1..self.classes()).filter(has_rows);
            others.map(move |second| (first, second))
        })
    }

    fn ranges(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let range = |&count: &usize| {
            let start = end;
            end += count;
            start..end
        };
        self.counts.iter().map(range).collect()
    }
}

/// In double precision and in four sums, so that additions need not wait for
/// one another.
fn weighted_sum(weights: &[f32], values: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 4];
    let (weight_fours, weight_rest) = weights.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    for (weights, values) in weight_fours.iter().zip(value_fours) {
        for lane in 0..4 {
            sums[lane] += f64::from(weights[lane]) * f64::from(values[lane]);
        }
    }
    let rest: f64 = weight_rest
        .iter()
        .zip(value_rest)
        .map(|(&w, &v)| f64::from(w) * f64::from(v))
        .sum();
    sums.iter().sum::<f64>() + rest
}
