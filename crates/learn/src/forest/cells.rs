//! Telling which rows a forest can tell apart.

use crate::Features;
use crate::tree::Ensemble;
use std::collections::HashMap;

/// Above this many distinct thresholds the features are continuous, and rows
/// that share all their cells are too rare to look for.
const MOST_THRESHOLDS: usize = 512;

/// The distinct thresholds of each feature, over all trees. They cut the space
/// into cells, and two rows in one cell have the same prediction in every tree.
///
/// Factors have few levels, so a forest grown on a factorial design has few
/// cells, however fine the grid of candidates is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    thresholds: Vec<Vec<f64>>,
}

impl Cells {
    /// `None` if there are too many thresholds or cells to be of use.
    pub(super) fn of(ensemble: &Ensemble, columns: usize) -> Option<Self> {
        let mut thresholds: Vec<Vec<f64>> = vec![Vec::new(); columns];
        let mut count = 0;
        for (feature, threshold) in ensemble.cuts() {
            let known = &mut thresholds[feature];
            let place = known.partition_point(|&other| other < threshold);
            if known.get(place) != Some(&threshold) {
                known.insert(place, threshold);
                count += 1;
                if count > MOST_THRESHOLDS {
                    return None;
                }
            }
        }
        let cells = Self { thresholds };
        let number = cells.thresholds.iter().try_fold(1_u64, |product, known| {
            product.checked_mul(known.len() as u64 + 1)
        });
        number.is_some().then_some(cells)
    }

    /// The rows in which each cell is first met, and for every row the place of
    /// its cell in that list.
    pub(super) fn distinct(&self, features: &Features) -> (Vec<usize>, Vec<usize>) {
        let mut first_rows = Vec::new();
        let mut places = HashMap::new();
        let places = features
            .iter()
            .enumerate()
            .map(|(row, values)| {
                *places.entry(self.cell(values)).or_insert_with(|| {
                    first_rows.push(row);
                    first_rows.len() - 1
                })
            })
            .collect();
        (first_rows, places)
    }

    /// The number of the cell that a row lies in.
    fn cell(&self, row: &[f64]) -> u64 {
        self.thresholds
            .iter()
            .zip(row)
            .fold(0, |cell, (known, &value)| {
                let above = known.partition_point(|&threshold| threshold < value);
                cell * (known.len() as u64 + 1) + above as u64
            })
    }
}
