//! What a predictor is fitted to.

use super::demand::Demand;
use super::role::Roles;
use super::scale::Scale;
use crate::runs::{Configuration, Factors, key};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Settings and one response, with the trial of each row.
#[derive(Debug, Clone)]
pub(crate) struct Training<'a> {
    pub(crate) factors: &'a Factors,
    pub(crate) roles: &'a Roles,
    pub(crate) rows: Vec<&'a [f64]>,
    pub(crate) response: Vec<f64>,
    pub(crate) trials: Vec<usize>,
    /// What each row's run used, if it was recorded.
    pub(crate) demands: Option<Vec<Demand>>,
}

impl<'a> Training<'a> {
    pub(crate) fn new(
        factors: &'a Factors,
        roles: &'a Roles,
        settings: &'a [Configuration],
        response: &[f64],
        trials: &[usize],
    ) -> Self {
        Self {
            factors,
            roles,
            rows: settings.iter().map(Vec::as_slice).collect(),
            response: response.to_vec(),
            trials: trials.to_vec(),
            demands: None,
        }
    }

    /// The same runs in an order that follows from them alone, with trials numbered
    /// anew in that order: no answer may depend on how a table happens to be sorted.
    pub(crate) fn canonical(&self) -> Self {
        let trials = self.trials_in_order();
        let order: Vec<usize> = trials.iter().flatten().copied().collect();
        let numbers = trials.iter().enumerate();
        let numbers = numbers.flat_map(|(number, rows)| std::iter::repeat_n(number, rows.len()));
        Self {
            trials: numbers.collect(),
            ..self.select(&order)
        }
    }

    /// The trial of every row, as [`Training::canonical`] numbers it.
    pub(crate) fn canonical_trials(&self) -> Vec<usize> {
        let mut trials = vec![0; self.rows.len()];
        for (number, rows) in self.trials_in_order().iter().enumerate() {
            for &row in rows {
                trials[row] = number;
            }
        }
        trials
    }

    /// The rows of each trial, both in order of what they hold.
    fn trials_in_order(&self) -> Vec<Vec<usize>> {
        let row_order = |a: usize, b: usize| {
            let settings = self.rows[a].iter().zip(self.rows[b]);
            let mut settings = settings.map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
            let by_setting = settings.find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
            let used = |row: usize| {
                let demand = self.demands.as_ref().map(|demands| demands[row]);
                demand.map_or([0.0; 2], |demand| [demand.cpu_s, demand.disk_s])
            };
            let by_use = || {
                let pairs = used(a).into_iter().zip(used(b));
                let mut pairs = pairs.map(|(x, y)| x.total_cmp(&y));
                pairs.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            };
            by_setting
                .then_with(|| self.response[a].total_cmp(&self.response[b]))
                .then_with(by_use)
        };
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (row, &trial) in self.trials.iter().enumerate() {
            members.entry(trial).or_default().push(row);
        }
        let mut trials: Vec<Vec<usize>> = members.into_values().collect();
        for rows in &mut trials {
            rows.sort_by(|&a, &b| row_order(a, b));
        }
        // Trials of equal runs may change places without anyone noticing.
        trials.sort_by(|a, b| {
            let mut pairs = a.iter().zip(b).map(|(&a, &b)| row_order(a, b));
            let first = pairs.find(|o| o.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        });
        trials
    }

    /// Whether runs of one trial have different settings, as the epochs of one run
    /// have: they err together.
    pub(crate) fn trials_span_settings(&self) -> bool {
        let mut settings: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut pairs = self.trials.iter().zip(&self.rows);
        pairs.any(|(&trial, row)| *settings.entry(trial).or_insert_with(|| key(row)) != key(row))
    }

    /// With what each run used.
    pub(crate) fn with_demands(self, demands: Option<Vec<Demand>>) -> Self {
        Self { demands, ..self }
    }

    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self {
            factors: self.factors,
            roles: self.roles,
            rows: rows.iter().map(|&row| self.rows[row]).collect(),
            response: rows.iter().map(|&row| self.response[row]).collect(),
            trials: rows.iter().map(|&row| self.trials[row]).collect(),
            demands: self
                .demands
                .as_ref()
                .map(|demands| rows.iter().map(|&row| demands[row]).collect()),
        }
    }

    /// How many distinct settings there are.
    pub(crate) fn settings(&self) -> usize {
        let mut keys: Vec<Vec<u64>> = self.rows.iter().map(|row| key(row)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }

    /// Distinct settings with the mean of a quantity over their replicates, in
    /// order of first appearance.
    pub(crate) fn means(&self, quantity: impl Fn(f64) -> f64) -> (Vec<&'a [f64]>, Vec<f64>) {
        let mut places: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        let mut rows = Vec::new();
        let mut sums: Vec<(f64, f64)> = Vec::new();
        for (row, &response) in self.rows.iter().zip(&self.response) {
            let place = *places.entry(key(row)).or_insert_with(|| {
                rows.push(*row);
                sums.push((0.0, 0.0));
                rows.len() - 1
            });
            sums[place].0 += quantity(response);
            sums[place].1 += 1.0;
        }
        (
            rows,
            sums.into_iter().map(|(sum, count)| sum / count).collect(),
        )
    }

    /// The variance of a quantity between replicates, pooled over the settings;
    /// `None` without replicates.
    pub(crate) fn replicate_variance(&self, quantity: impl Fn(f64) -> f64) -> Option<f64> {
        let (rows, means) = self.means(&quantity);
        let freedom = self.rows.len() - rows.len();
        let places: BTreeMap<Vec<u64>, f64> = rows
            .iter()
            .zip(means)
            .map(|(row, mean)| (key(row), mean))
            .collect();
        let runs = self.rows.iter().zip(&self.response);
        let squares: f64 = runs
            .map(|(row, &response)| (quantity(response) - places[&key(row)]).powi(2))
            .sum();
        (freedom > 0).then(|| squares / freedom as f64)
    }

    /// The scale for a learner that is given only one.
    pub(crate) fn scale(&self) -> Scale {
        // The power of the epochs is a line in the response itself.
        if self.roles.is_levelling_off() {
            Scale::Identity
        } else {
            Scale::of(&self.response)
        }
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.response.iter().all(|&value| value > 0.0)
    }

    /// The combination of categories of a configuration, as one number.
    pub(crate) fn cell(&self, configuration: &[f64]) -> usize {
        cell(self.factors, configuration)
    }
}

/// The combination of categories of a configuration, as one number.
pub(crate) fn cell(factors: &Factors, configuration: &[f64]) -> usize {
    let pairs = factors.iter().zip(configuration);
    pairs
        .filter(|(factor, _)| factor.is_categorical())
        .fold(0, |cell, (factor, &value)| {
            cell * factor.level_count() + value as usize
        })
}
