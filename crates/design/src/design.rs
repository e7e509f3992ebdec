//! A planned design: its trials, its runs and their order.

use paceline_model::Level;

use crate::factor::{Factor, Factors, Setting};
use crate::fraction::Fraction;

/// A planned design.
///
/// Trials are stored once and runs refer to them by number, so a plan of many
/// replicates stays small and natural levels are made only when asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    pub(crate) factors: Factors,
    pub(crate) trials: Points,
    pub(crate) runs: Vec<Run>,
    pub(crate) blocks: u32,
    /// Into how many blocks one replicate is split; 1 when blocks are complete.
    /// Block `b` holds part `b % parts` of a replicate.
    pub(crate) parts: u32,
    pub(crate) structure: Structure,
}

/// One planned execution of a trial. All numbers count from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Which combination of levels; runs of the same combination share it.
    pub trial: u32,
    /// Which repetition of that trial.
    pub replicate: u32,
    /// Which block.
    pub block: u32,
    /// The place in the standard order, before randomisation.
    pub standard: u32,
}

/// What is known about a design from its construction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Structure {
    /// A regular two-level design, with its block generators over the base factors.
    Regular {
        fraction: Fraction,
        blocks: Vec<u32>,
    },
    /// A two-level orthogonal array from a Hadamard matrix.
    Hadamard,
    /// No algebra to rely on.
    General,
}

impl Design {
    /// The factors, in order.
    #[must_use]
    pub fn factors(&self) -> &Factors {
        &self.factors
    }

    /// The runs in the order they are to be executed.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many different combinations of levels there are.
    #[must_use]
    pub fn trial_count(&self) -> usize {
        self.trials.len()
    }

    /// How many blocks the runs are divided into; one means none.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.blocks
    }

    /// A trial's settings, one per factor.
    ///
    /// # Panics
    /// When there is no such trial.
    #[must_use]
    pub fn settings(&self, trial: u32) -> &[Setting] {
        self.trials.row(trial as usize)
    }

    /// A trial's levels in natural units, one per factor.
    ///
    /// # Panics
    /// When there is no such trial.
    pub fn levels(&self, trial: u32) -> impl Iterator<Item = Level> {
        self.by_factor(trial)
            .map(|(factor, setting)| factor.natural(setting))
    }

    /// A trial's coded levels, one per factor; see [`Factor::coded`].
    ///
    /// # Panics
    /// When there is no such trial.
    pub fn coded(&self, trial: u32) -> impl Iterator<Item = f64> {
        self.by_factor(trial)
            .map(|(factor, setting)| factor.coded(setting))
    }

    fn by_factor(&self, trial: u32) -> impl Iterator<Item = (&Factor, Setting)> {
        self.factors
            .iter()
            .zip(self.settings(trial).iter().copied())
    }

    /// The fraction behind a regular two-level design.
    #[must_use]
    pub fn fraction(&self) -> Option<&Fraction> {
        match &self.structure {
            Structure::Regular { fraction, .. } => Some(fraction),
            Structure::Hadamard | Structure::General => None,
        }
    }

    /// The sum over all runs of an estimate per run: seconds, money, anything
    /// that adds up. The estimate sees the levels in the order of the factors.
    pub fn expected_total(&self, mut per_run: impl FnMut(&[Level]) -> f64) -> f64 {
        let mut repeats = vec![0_u32; self.trials.len()];
        for run in &self.runs {
            repeats[run.trial as usize] += 1;
        }
        let mut total = 0.0;
        for (trial, count) in repeats.into_iter().enumerate() {
            let levels: Vec<Level> = self.levels(trial as u32).collect();
            total += f64::from(count) * per_run(&levels);
        }
        total
    }
}

/// Combinations of settings, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Points {
    width: usize,
    settings: Vec<Setting>,
}

impl Points {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            settings: Vec::new(),
        }
    }

    pub(crate) fn with_capacity(width: usize, rows: usize) -> Self {
        Self {
            width,
            settings: Vec::with_capacity(width * rows),
        }
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Setting>) {
        self.settings.extend(row);
        debug_assert!(self.settings.len().is_multiple_of(self.width));
    }

    pub(crate) fn len(&self) -> usize {
        self.settings.len() / self.width
    }

    pub(crate) fn row(&self, index: usize) -> &[Setting] {
        &self.settings[index * self.width..(index + 1) * self.width]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Setting]> {
        self.settings.chunks_exact(self.width)
    }
}
