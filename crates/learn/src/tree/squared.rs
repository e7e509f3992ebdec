//! The squared-error criterion.

use super::criterion::{Criterion, Cut};

/// Reduces the sum of squared deviations from the mean (Breiman, Friedman,
/// Olshen and Stone, Classification and Regression Trees, 1984, section 8.4).
pub(crate) struct Squared {
    /// Weight, and weight times target, by row.
    weighted: Vec<[f64; 2]>,
    target: Vec<f64>,
    weight: f64,
    mean: f64,
}

impl Squared {
    /// `weights` are zero for rows that take no part.
    pub(crate) fn new(target: &[f64], weights: &[f64]) -> Self {
        let weighted = target
            .iter()
            .zip(weights)
            .map(|(&y, &w)| [w, w * y])
            .collect();
        Self {
            weighted,
            target: target.to_vec(),
            weight: 0.0,
            mean: 0.0,
        }
    }
}

impl Criterion for Squared {
    fn enter(&mut self, rows: &[u32]) -> bool {
        let mut weight = 0.0;
        let mut sum = 0.0;
        let first = self.target[rows[0] as usize];
        let mut pure = true;
        for &row in rows {
            let [w, wy] = self.weighted[row as usize];
            weight += w;
            sum += wy;
            pure &= self.target[row as usize] == first;
        }
        self.weight = weight;
        self.mean = sum / weight;
        pure
    }

    /// With deviations from the node's mean, the sum of squares falls by
    /// `s² W / (w (W − w))`, where `s` and `w` are the left side's sum of
    /// deviations and weight and `W` is the weight of the node.
    fn best_cut(&mut self, ascending: &[u32], values: &[f64], min_leaf: usize) -> Option<Cut> {
        let rows = ascending.len();
        let mut left_weight = 0.0;
        let mut left_sum = 0.0;
        let mut best_gain = f64::NEG_INFINITY;
        let mut best_left = 0;
        let mut value = values[ascending[0] as usize];
        for (index, pair) in ascending.windows(2).enumerate() {
            let [w, wy] = self.weighted[pair[0] as usize];
            left_weight += w;
            left_sum += wy;
            let next = values[pair[1] as usize];
            let left = index + 1;
            if next > value && left >= min_leaf && rows - left >= min_leaf {
                let deviation = left_sum - self.mean * left_weight;
                let gain = deviation * deviation / (left_weight * (self.weight - left_weight));
                if gain > best_gain {
                    best_gain = gain;
                    best_left = left;
                }
            }
            value = next;
        }
        (best_left > 0).then_some(Cut {
            left: best_left,
            gain: best_gain * self.weight,
        })
    }
}
