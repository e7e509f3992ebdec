//! The process at one draw of its hyper-parameters.

use super::cells::Cells;
use super::density::{Point, Solved};
use paceline_numeric::dot;

/// A draw with what predicting takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draw {
    pub(super) point: Point,
    pub(super) solved: Solved,
    /// The common variance: `(1 + y′K⁻¹y)/(n + 2)`.
    pub(super) variance: f64,
    /// How each cell's own replicates scatter, relative to the noise there.
    pub(super) own_noise: Vec<f64>,
}

/// What a draw says of a run: Student's t with `n + 2` degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Said {
    pub(super) mean: f64,
    pub(super) squared_scale: f64,
}

/// How many runs the model's noise counts for beside a cell's own replicates.
const NOISE_COUNTS: f64 = 8.0;

impl Draw {
    pub(super) fn new(point: Point, solved: Solved, cells: &Cells) -> Self {
        let runs = cells.rows.len() as f64;
        let variance = (1.0 + solved.misfit) / (runs + 2.0);
        // Noise differs from cell to cell in ways that no slope along a factor
        // tells: the posterior mean of an inverse-gamma factor around one.
        let own_noise = (0..cells.len())
            .map(|cell| {
                let expected = solved.noise[cell] * variance;
                let freedom = cells.counts[cell] - 1.0;
                (NOISE_COUNTS + cells.squares[cell] / expected) / (NOISE_COUNTS + freedom)
            })
            .collect();
        Self {
            point,
            solved,
            variance,
            own_noise,
        }
    }

    /// A new run at a place. `products` and `squares` are its inner products with
    /// and its squared distances from the cells, `seen` the cell it replicates.
    pub(super) fn at(
        &self,
        centred: &[f64],
        products: &[f64],
        squares: &[f64],
        seen: Option<usize>,
        covariances: &mut Vec<f64>,
    ) -> Said {
        let lengths = self.point.closeness.len();
        covariances.clear();
        covariances.extend(
            products
                .iter()
                .zip(squares.chunks_exact(lengths))
                .map(|(&product, squares)| self.point.covariance(product, squares.iter().copied())),
        );
        let mean = dot(covariances, &self.solved.weights);
        self.solved.factor.solve_lower(covariances);
        let explained = dot(covariances, covariances);
        let function = (self.point.variance(centred) - explained).max(0.0);
        let own = seen.map_or(1.0, |cell| self.own_noise[cell]);
        Said {
            mean,
            squared_scale: self.variance * (function + own * self.point.noise(centred)),
        }
    }
}
