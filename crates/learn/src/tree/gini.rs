//! The Gini criterion of classification.

use super::criterion::{Best, Criterion, Cut};

/// Reduces the chance that two draws from a node are of different classes
/// (Breiman, Friedman, Olshen and Stone 1984, section 4.3.1).
pub(crate) struct Gini {
    labels: Vec<u32>,
    weights: Vec<f64>,
    /// Weight by class: of the node, and of the left side while scanning.
    node: Vec<f64>,
    left: Vec<f64>,
    weight: f64,
}

impl Gini {
    /// `weights` are zero for rows that take no part.
    pub(crate) fn new(labels: &[u32], classes: usize, weights: &[f64]) -> Self {
        Self {
            labels: labels.to_vec(),
            weights: weights.to_vec(),
            node: vec![0.0; classes],
            left: vec![0.0; classes],
            weight: 0.0,
        }
    }
}

impl Criterion for Gini {
    fn enter(&mut self, rows: &[u32]) -> bool {
        self.node.fill(0.0);
        for &row in rows {
            self.node[self.labels[row as usize] as usize] += self.weights[row as usize];
        }
        self.weight = self.node.iter().sum();
        self.node.iter().filter(|&&weight| weight > 0.0).count() == 1
    }

    /// Maximises `Σ l² / w + Σ r² / (W − w)` over classes, `l` and `r` the
    /// weights of a class on both sides. Moving one row changes one class, so
    /// the two sums of squares are updated in constant time.
    fn best_cut(&mut self, ascending: &[u32], values: &[f64], min_leaf: usize) -> Option<Cut> {
        let rows = ascending.len();
        self.left.fill(0.0);
        let mut left_weight = 0.0;
        let mut left_squares = 0.0;
        let mut right_squares: f64 = self.node.iter().map(|weight| weight * weight).sum();
        let whole = right_squares / self.weight;
        let mut best = Best::none();
        for (index, pair) in ascending.windows(2).enumerate() {
            let row = pair[0] as usize;
            let class = self.labels[row] as usize;
            let weight = self.weights[row];
            let on_left = self.left[class];
            let on_right = self.node[class] - on_left;
            left_squares += weight * (2.0 * on_left + weight);
            right_squares -= weight * (2.0 * on_right - weight);
            self.left[class] = on_left + weight;
            left_weight += weight;
            let left = index + 1;
            let is_cut = values[pair[1] as usize] > values[row];
            if is_cut && left >= min_leaf && rows - left >= min_leaf {
                let gain = left_squares / left_weight + right_squares / (self.weight - left_weight)
                    - whole;
                best.offer(left, gain);
            }
        }
        best.found()
    }
}
