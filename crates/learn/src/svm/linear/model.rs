//! What linear machines predict, and the plain form in which they are stored.

use super::machines;
use super::matrix::{Matrix, Solved};
use crate::learner::check_columns;
use crate::parts::{expect_finite, expect_length};
use crate::{Labelled, PartsError, PredictError, Rows, Threads};

/// Trained linear machines.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearClassifierModel {
    /// Machine after machine.
    weights: Vec<f32>,
    intercepts: Vec<f32>,
    classes: usize,
    columns: usize,
    converged: bool,
}

/// The parts of a [`LinearClassifierModel`] as plain numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearClassifierParts {
    /// How many classes there are.
    pub classes: usize,
    /// How many features a row has.
    pub columns: usize,
    /// One weight per feature, machine after machine: one machine for two
    /// classes, else one per class.
    pub weights: Vec<f32>,
    /// What each machine adds.
    pub intercepts: Vec<f32>,
    /// Whether every machine reached its tolerance.
    pub converged: bool,
}

/// Rows that one thread decides at a time.
const BLOCK_ROWS: usize = 256;

impl LinearClassifierModel {
    pub(super) fn new(data: &Labelled<'_>, bias: f64, solved: &[Solved]) -> Self {
        let columns = data.columns();
        let weights = solved
            .iter()
            .flat_map(|machine| &machine.weights[..columns]);
        let intercepts = solved.iter();
        let intercepts = intercepts.map(|machine| (bias * machine.weights[columns]) as f32);
        Self {
            weights: weights.map(|&weight| weight as f32).collect(),
            intercepts: intercepts.collect(),
            classes: data.classes(),
            columns,
            converged: solved.iter().all(|machine| machine.converged),
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        let mut numbers = self.weights.iter().chain(&self.intercepts);
        numbers.all(|number| number.is_finite())
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How many features a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many machines there are: one for two classes, else one per class.
    pub fn machines(&self) -> usize {
        self.intercepts.len()
    }

    /// The weights of a machine, one per feature.
    ///
    /// # Panics
    ///
    /// If there is no such machine.
    pub fn weights(&self, machine: usize) -> &[f32] {
        &self.weights[machine * self.columns..][..self.columns]
    }

    /// What each machine adds to its weighted sum.
    pub fn intercepts(&self) -> &[f32] {
        &self.intercepts
    }

    /// Whether every machine reached its tolerance within the passes allowed.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Half the squares of the weights, the constant's included.
    pub(super) fn penalty(&self, machine: usize, bias: f64) -> f64 {
        let square = |&weight: &f32| f64::from(weight) * f64::from(weight);
        let constant = if bias > 0.0 {
            (f64::from(self.intercepts[machine]) / bias).powi(2)
        } else {
            0.0
        };
        0.5 * (self.weights(machine).iter().map(square).sum::<f64>() + constant)
    }

    /// The decision of every machine for every row, row after row. With two
    /// classes, above zero it is for class 1.
    pub fn decisions<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<f32>, PredictError> {
        let rows = rows.into();
        check_columns(rows.columns(), self.columns)?;
        Ok(match rows {
            Rows::Dense(rows) => self.decide(&rows, threads),
            Rows::Sparse(rows) => self.decide(&rows, threads),
        })
    }

    fn decide<M: Matrix>(&self, rows: &M, threads: Threads) -> Vec<f32> {
        let weights: Vec<f64> = self
            .weights
            .iter()
            .map(|&weight| f64::from(weight))
            .collect();
        let blocks = rows.rows().div_ceil(BLOCK_ROWS);
        let parts = threads.map(blocks, |block| {
            let start = block * BLOCK_ROWS;
            let end = rows.rows().min(start + BLOCK_ROWS);
            let mut decisions = Vec::with_capacity((end - start) * self.machines());
            for row in start..end {
                let machines = weights.chunks_exact(self.columns).zip(&self.intercepts);
                decisions.extend(machines.map(|(weights, &intercept)| {
                    (rows.dot(row, weights) + f64::from(intercept)) as f32
                }));
            }
            decisions
        });
        parts.concat()
    }

    /// The class of every row: that of the largest decision, the first of equals.
    pub fn predict<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        threads: Threads,
    ) -> Result<Vec<u32>, PredictError> {
        let decisions = self.decisions(rows, threads)?;
        let class = |decisions: &[f32]| {
            if let [only] = decisions {
                return u32::from(*only > 0.0);
            }
            let mut best = 0;
            for (class, &decision) in decisions.iter().enumerate() {
                if decision > decisions[best] {
                    best = class;
                }
            }
            best as u32
        };
        Ok(decisions.chunks_exact(self.machines()).map(class).collect())
    }

    /// The model as plain numbers.
    pub fn to_parts(&self) -> LinearClassifierParts {
        LinearClassifierParts {
            classes: self.classes,
            columns: self.columns,
            weights: self.weights.clone(),
            intercepts: self.intercepts.clone(),
            converged: self.converged,
        }
    }

    /// Checks plain numbers that [`LinearClassifierModel::to_parts`] may have given.
    pub fn from_parts(parts: LinearClassifierParts) -> Result<Self, PartsError> {
        for (part, value, least) in [("classes", parts.classes, 2), ("columns", parts.columns, 1)] {
            if value < least {
                return Err(PartsError::Value {
                    part,
                    entry: 0,
                    value: value as f64,
                });
            }
        }
        let machines = machines(parts.classes);
        let weights = machines.saturating_mul(parts.columns);
        expect_length("weights", parts.weights.len(), weights)?;
        expect_length("intercepts", parts.intercepts.len(), machines)?;
        expect_finite("weights", &parts.weights)?;
        expect_finite("intercepts", &parts.intercepts)?;
        Ok(Self {
            weights: parts.weights,
            intercepts: parts.intercepts,
            classes: parts.classes,
            columns: parts.columns,
            converged: parts.converged,
        })
    }
}
