//! How probable hyper-parameters are, given the runs.

use super::cells::Cells;
use paceline_numeric::{Cholesky, SymmetricMatrix, dot};

/// Prior variance of the constant, in variances of the process.
const CONSTANT: f64 = 10.0;
/// Within these bounds lies the logarithm of the noise, relative to the process.
const LOG_NOISE: (f64, f64) = (-6.0, 3.0);

/// Mean and standard deviation of a normal prior.
type Prior = (f64, f64);
const LOG_SLOPE: Prior = (0.0, 1.2);
const LEVEL_OF_NOISE: Prior = (-1.203_972_804_325_936, 1.2); // ln 0.3
const LOG_LENGTH: Prior = (std::f64::consts::LN_2, 1.0);
const SLOPE_OF_NOISE: Prior = (0.0, 0.35);

/// The covariance of runs, up to a common variance τ² that is integrated out:
///
/// `10 + a²·z·z′ + Matérn₅⸝₂(√Σ d²ₖ/ℓₖ²) + [same run]·exp 2(h + z·b)`
///
/// over centred features `z`: a constant, a linear part, what bends, and the
/// noise of a run, whose logarithm may change along the features. Columns of one
/// factor share their length (Rasmussen and Williams 2006, chapters 2 and 4; for
/// the spread, Harvey 1976 and Goldberg, Williams and Bishop 1998).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Covariance {
    /// Which length each column has.
    pub(super) groups: Vec<usize>,
    pub(super) lengths: usize,
    /// Whether the noise may change along the features.
    pub(super) unequal: bool,
}

/// One point of the space of hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    /// The standard deviation of a slope: `a`.
    pub(super) slope: f64,
    /// `h`.
    pub(super) level: f64,
    /// `1/ℓₖ²`.
    pub(super) closeness: Vec<f64>,
    /// `b`; empty if the spread is equal.
    pub(super) tilt: Vec<f64>,
}

impl Covariance {
    /// The prior of each coordinate: `ln a`, `h`, `ln ℓₖ` and `bⱼ`.
    pub(super) fn priors(&self) -> Vec<Prior> {
        let mut priors = vec![LOG_SLOPE, LEVEL_OF_NOISE];
        priors.extend((0..self.lengths).map(|_| LOG_LENGTH));
        if self.unequal {
            priors.extend(self.groups.iter().map(|_| SLOPE_OF_NOISE));
        }
        priors
    }

    pub(super) fn point(&self, coordinates: &[f64]) -> Point {
        let (lengths, tilt) = coordinates[2..].split_at(self.lengths);
        Point {
            slope: coordinates[0].exp(),
            level: coordinates[1],
            closeness: lengths.iter().map(|log| (-2.0 * log).exp()).collect(),
            tilt: tilt.to_vec(),
        }
    }
}

impl Point {
    /// The variance of a run's noise at a centred row, relative to the process.
    pub(super) fn noise(&self, centred: &[f64]) -> f64 {
        let tilted: f64 = self.tilt.iter().zip(centred).map(|(b, z)| b * z).sum();
        (2.0 * (self.level + tilted).clamp(LOG_NOISE.0, LOG_NOISE.1)).exp()
    }

    /// The covariance of the function at two places whose centred rows have this
    /// inner product, and whose squared distances by factor are these.
    pub(super) fn covariance(&self, product: f64, squares: impl Iterator<Item = f64>) -> f64 {
        let pairs = squares.zip(&self.closeness);
        let square: f64 = pairs.map(|(d, closeness)| d * closeness).sum();
        CONSTANT + self.slope * self.slope * product + matern(square)
    }

    /// The variance of the function at a centred row.
    pub(super) fn variance(&self, centred: &[f64]) -> f64 {
        CONSTANT + self.slope * self.slope * dot(centred, centred) + 1.0
    }
}

/// Matérn 5/2 of a squared distance (Rasmussen and Williams 2006, equation 4.17).
fn matern(square: f64) -> f64 {
    let root = (5.0 * square).sqrt();
    (1.0 + root + root * root / 3.0) * (-root).exp()
}

/// What does not depend on hyper-parameters, worked out once.
pub(super) struct Problem<'a> {
    pub(super) cells: &'a Cells,
    pub(super) covariance: &'a Covariance,
    /// Inner products of centred rows, lower triangle, row after row.
    products: Vec<f64>,
    /// Squared distances by factor, in the order of the products.
    squares: Vec<f64>,
}

/// The kernel matrix of the cells' means, factored, with what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Solved {
    pub(super) factor: Cholesky,
    /// `K⁻¹ȳ`.
    pub(super) weights: Vec<f64>,
    /// The noise of a run in each cell.
    pub(super) noise: Vec<f64>,
    /// `y′K⁻¹y` over all runs.
    pub(super) misfit: f64,
    /// `ln p(y | hyper-parameters)` up to a constant.
    pub(super) log_density: f64,
}

impl<'a> Problem<'a> {
    pub(super) fn new(cells: &'a Cells, covariance: &'a Covariance) -> Self {
        let rows = cells.len();
        let pairs = rows * (rows + 1) / 2;
        let mut products = Vec::with_capacity(pairs);
        let mut squares = Vec::with_capacity(pairs * covariance.lengths);
        for i in 0..rows {
            for j in 0..=i {
                let (a, b) = (cells.centred.row(i), cells.centred.row(j));
                products.push(dot(a, b));
                let from = squares.len();
                squares.resize(from + covariance.lengths, 0.0);
                add_squares(a, b, &covariance.groups, &mut squares[from..]);
            }
        }
        Self {
            cells,
            covariance,
            products,
            squares,
        }
    }

    /// The log density of the runs, with τ² ~ IG(1, ½) integrated out:
    /// `−½ ln|K| − ½(n+2) ln(1 + y′K⁻¹y)` (Shah, Wilson and Ghahramani 2014), by
    /// the means of the cells: replicates add `(r−1) ln v + ln r` to `ln|K|` and
    /// their scatter over `v` to `y′K⁻¹y`. `None` where it cannot be computed.
    pub(super) fn solve(&self, point: &Point) -> Option<Solved> {
        let cells = self.cells;
        let lengths = self.covariance.lengths;
        let noise: Vec<f64> = (0..cells.len())
            .map(|cell| point.noise(cells.centred.row(cell)))
            .collect();
        let mut pair = 0;
        let matrix = SymmetricMatrix::from_lower(cells.len(), |i, j| {
            let squares = &self.squares[pair * lengths..][..lengths];
            let mut value = point.covariance(self.products[pair], squares.iter().copied());
            if i == j {
                value += noise[i] / cells.counts[i];
            }
            pair += 1;
            value
        });
        let factor = Cholesky::of(matrix)?;
        let mut weights = cells.means.clone();
        factor.solve(&mut weights);
        let mut misfit = dot(&weights, &cells.means);
        let mut log_determinant = factor.log_determinant();
        for ((&count, &squares), &noise) in cells.counts.iter().zip(&cells.squares).zip(&noise) {
            misfit += squares / noise;
            log_determinant += (count - 1.0) * noise.ln() + count.ln();
        }
        let runs = cells.rows.len() as f64;
        let log_density = -0.5 * log_determinant - 0.5 * (runs + 2.0) * misfit.max(0.0).ln_1p();
        log_density.is_finite().then_some(Solved {
            factor,
            weights,
            noise,
            misfit: misfit.max(0.0),
            log_density,
        })
    }
}

/// Adds squared differences to the sum of each column's factor.
pub(super) fn add_squares(a: &[f64], b: &[f64], groups: &[usize], sums: &mut [f64]) {
    for ((a, b), &group) in a.iter().zip(b).zip(groups) {
        sums[group] += (a - b) * (a - b);
    }
}
