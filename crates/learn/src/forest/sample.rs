//! Which rows a tree sees.

use paceline_numeric::Chance;

/// How often each row was drawn; a row not drawn is out of bag.
pub(super) struct Sample {
    pub(super) weights: Vec<f64>,
}

impl Sample {
    /// As many draws with replacement as there are rows (Breiman, "Bagging
    /// predictors", 1996), or every row once.
    pub(super) fn draw(rows: usize, bootstrap: bool, draws: &mut Chance) -> Self {
        if !bootstrap {
            return Self {
                weights: vec![1.0; rows],
            };
        }
        let mut weights = vec![0.0; rows];
        for _ in 0..rows {
            weights[draws.below(rows)] += 1.0;
        }
        Self { weights }
    }

    /// The drawn rows among `rows`, each once, in the same order.
    pub(super) fn drawn(&self, rows: &[u32]) -> Vec<u32> {
        let drawn = rows.iter().filter(|&&row| self.weights[row as usize] > 0.0);
        drawn.copied().collect()
    }

    /// The rows that were not drawn.
    pub(super) fn out_of_bag(&self) -> impl Iterator<Item = usize> {
        let rows = self.weights.iter().enumerate();
        rows.filter(|&(_, &weight)| weight == 0.0)
            .map(|(row, _)| row)
    }
}
