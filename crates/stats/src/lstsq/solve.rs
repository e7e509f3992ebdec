//! From a model matrix and a response to coefficients and residuals.

use super::double_double::DoubleDouble;
use super::scalar::Scalar;
use super::triangle::{Elimination, Triangle, eliminate};
use crate::cells::Cells;
use crate::formula::VariableData;
use crate::matrix::{ModelMatrix, scale_of};
use crate::parallel::in_chunks;

/// The precision of the factorisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 digits for small or nearly collinear problems, `f64` with residuals
    /// and refinement in 32 digits otherwise.
    #[default]
    Automatic,
    /// `f64`, with residuals and one refinement in 32 digits.
    Double,
    /// 32 digits throughout.
    Extended,
}

/// A solved least-squares problem.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) factored: Factored,
    /// The independent columns in model order.
    pub(crate) independent: Vec<usize>,
    /// Dependent columns, each with its combination of independent ones.
    pub(crate) dependent: Vec<(usize, Vec<(usize, f64)>)>,
    /// Coefficients of the independent columns.
    pub(crate) coefficients: Vec<f64>,
    /// R⁻¹ of the scaled columns, column by column.
    pub(crate) scaled_inverse: Vec<Vec<f64>>,
    /// The power-of-two scale of each independent column.
    pub(crate) scales: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
    /// The rows grouped by settings, if they repeat so much that one row per
    /// cell was solved.
    pub(crate) cells: Option<Cells>,
    pub(crate) residual_square: f64,
    /// The sum of squares around the mean, and around zero.
    pub(crate) total_centred: f64,
    pub(crate) total_raw: f64,
    /// Whether a constant lies in the span of the columns.
    pub(crate) has_constant: bool,
    /// Squares are in units of the response times this, squared.
    pub(crate) response_scale: f64,
    pub(crate) extended: bool,
}

/// The triangle of [X, 1?, y] in whichever precision it was computed.
#[derive(Clone, Debug)]
pub(crate) enum Factored {
    Double(Triangle<f64>),
    Extended(Triangle<DoubleDouble>),
}

impl Factored {
    /// The sum of squares, in scaled units, and degrees of freedom that `columns`
    /// add to a model of `before`.
    pub(crate) fn added(&self, before: &[usize], columns: &[usize]) -> (f64, usize) {
        let order: Vec<usize> = before.iter().chain(columns).copied().collect();
        match self {
            Factored::Double(triangle) => eliminate(triangle, &order).explained_by(columns),
            Factored::Extended(triangle) => eliminate(triangle, &order).explained_by(columns),
        }
    }

    /// The sums of squares of consecutive groups of columns, in scaled units.
    pub(crate) fn sequential(&self, groups: &[Vec<usize>]) -> Vec<(f64, usize)> {
        fn each<S: Scalar>(triangle: &Triangle<S>, groups: &[Vec<usize>]) -> Vec<(f64, usize)> {
            let order: Vec<usize> = groups.iter().flatten().copied().collect();
            let elimination = eliminate(triangle, &order);
            groups
                .iter()
                .map(|columns| elimination.explained_by(columns))
                .collect()
        }
        match self {
            Factored::Double(triangle) => each(triangle, groups),
            Factored::Extended(triangle) => each(triangle, groups),
        }
    }

    /// The columns of R over `order`'s independent columns.
    pub(crate) fn upper(&self, order: &[usize]) -> Vec<Vec<f64>> {
        match self {
            Factored::Double(triangle) => eliminate(triangle, order).columns_f64(),
            Factored::Extended(triangle) => eliminate(triangle, order).columns_f64(),
        }
    }
}

/// Rows folded into a triangle at a time; a block stays in the cache.
const BLOCK: usize = 256;
/// Up to this many rows times squared columns, 32 digits cost next to nothing.
const SMALL: usize = 200_000;
/// Up to this many, they are affordable where the problem needs them.
const AFFORDABLE: usize = 400_000_000;
/// Where every column's new part is above this fraction of it, the first solution
/// is as good as the data and refinement would only cost another pass.
const WELL_CONDITIONED: f64 = 0.05;
/// A column whose new part is below this fraction of it needs 32 digits.
const NEARLY_COLLINEAR: f64 = 1e-4;

pub(crate) fn solve(matrix: &ModelMatrix<'_>, precision: Precision) -> Solution {
    let problem = Problem::new(matrix);
    let width = matrix.columns().len() + 2;
    let work = problem.rows.len().saturating_mul(width * width);
    match precision {
        Precision::Extended => problem.extended(),
        Precision::Double => problem.double().0,
        Precision::Automatic if work <= SMALL => problem.extended(),
        Precision::Automatic => {
            let (solution, smallest_ratio) = problem.double();
            match smallest_ratio < NEARLY_COLLINEAR && work <= AFFORDABLE {
                true => problem.extended(),
                false => solution,
            }
        }
    }
}

/// The rows to fit: those of the frame, or one per cell with its mean response.
struct Problem<'a> {
    matrix: &'a ModelMatrix<'a>,
    cells: Option<Cells>,
    rows: Vec<u32>,
    /// The scaled, centred response of each of `rows`.
    response: Vec<DoubleDouble>,
    /// How many rows of the frame each of `rows` stands for; empty for one each.
    weights: Vec<f64>,
    centre: f64,
    scale: f64,
}

impl<'a> Problem<'a> {
    fn new(matrix: &'a ModelMatrix<'a>) -> Problem<'a> {
        let frame = matrix.frame();
        let values = frame.response_values();
        // With an intercept, a constant can be taken off the response: digits
        // that all rows share then cost nothing.
        let centre = match frame.has_intercept() {
            true => mean(values),
            false => 0.0,
        };
        let scale = scale_of(values);
        let low = match frame.response().data() {
            VariableData::Numeric { low, .. } => low.as_slice(),
            VariableData::Categorical { .. } => &[],
        };
        let centred = |row: usize| {
            let value = DoubleDouble::exact_sum(values[row], -centre);
            let value = match low.get(row) {
                Some(&low) => value + DoubleDouble::from(low),
                None => value,
            };
            value.scale(scale)
        };
        let cells = Cells::if_repetitive(frame);
        let (rows, response, weights) = match &cells {
            None => (
                (0..values.len() as u32).collect(),
                (0..values.len()).map(centred).collect(),
                Vec::new(),
            ),
            Some(cells) => {
                let mut sums = vec![DoubleDouble::ZERO; cells.len()];
                for (row, &cell) in cells.of_row.iter().enumerate() {
                    let cell = cell as usize;
                    sums[cell] = sums[cell] + centred(row);
                }
                let weights: Vec<f64> = cells.counts.iter().map(|&c| f64::from(c)).collect();
                for (sum, &weight) in sums.iter_mut().zip(&weights) {
                    *sum = *sum / DoubleDouble::from(weight);
                }
                (cells.first_row.clone(), sums, weights)
            }
        };
        Problem {
            matrix,
            cells,
            rows,
            response,
            weights,
            centre,
            scale,
        }
    }

    fn extended(&self) -> Solution {
        let triangle: Triangle<DoubleDouble> = self.triangle();
        let elimination = self.eliminated(&triangle);
        let coefficients = elimination.coefficients();
        let (residuals, _) = self.residuals::<DoubleDouble>(&elimination, &coefficients);
        self.solution(
            Factored::Extended(triangle),
            &elimination,
            &coefficients,
            &residuals,
            true,
        )
    }

    /// The solution in `f64`, refined if need be, and how close to collinear it is.
    fn double(&self) -> (Solution, f64) {
        let triangle: Triangle<f64> = self.triangle();
        let elimination = self.eliminated(&triangle);
        let mut coefficients: Vec<DoubleDouble> = elimination
            .coefficients()
            .into_iter()
            .map(DoubleDouble::from)
            .collect();
        if elimination.smallest_ratio < WELL_CONDITIONED {
            // Corrected semi-normal equations (Å. Björck, "Stability analysis of
            // the method of seminormal equations", Linear Algebra Appl. 88/89,
            // 1987), with the residual in twice the precision.
            let (_, gradient) = self.residuals::<f64>(&elimination, &coefficients);
            let correction = elimination.solve_normal(&gradient);
            for (coefficient, correction) in coefficients.iter_mut().zip(correction) {
                *coefficient = *coefficient + DoubleDouble::from(correction);
            }
        }
        let (residuals, _) = self.residuals::<f64>(&elimination, &coefficients);
        let smallest_ratio = elimination.smallest_ratio;
        let solution = self.solution(
            Factored::Double(triangle),
            &elimination,
            &coefficients,
            &residuals,
            false,
        );
        (solution, smallest_ratio)
    }

    fn eliminated<S: Scalar>(&self, triangle: &Triangle<S>) -> Elimination<S> {
        let order: Vec<usize> = (0..self.matrix.columns().len()).collect();
        eliminate(triangle, &order)
    }

    /// Whether the triangle carries a column of ones besides those of the model.
    fn extra_ones(&self) -> bool {
        !self.matrix.frame().has_intercept()
    }

    fn triangle<S: Scalar>(&self) -> Triangle<S> {
        let columns = self.matrix.columns().len();
        let width = columns + usize::from(self.extra_ones()) + 1;
        let chunks = in_chunks(self.rows.len(), |range| {
            let mut triangle = Triangle::new(width);
            let mut buffer = vec![S::ZERO; BLOCK * width];
            for start in range.clone().step_by(BLOCK) {
                let end = (start + BLOCK).min(range.end);
                let rows = end - start;
                let block = &mut buffer[..rows * width];
                self.matrix.fill(&self.rows[start..end], block);
                if self.extra_ones() {
                    block[columns * rows..(columns + 1) * rows].fill(S::from_f64(1.0));
                }
                for (k, value) in self.response[start..end].iter().enumerate() {
                    block[(width - 1) * rows + k] = S::from_parts(value.high(), value.low());
                }
                if !self.weights.is_empty() {
                    let roots: Vec<S> = self.weights[start..end]
                        .iter()
                        .map(|&weight| S::from_f64(weight).sqrt())
                        .collect();
                    for column in block.chunks_exact_mut(rows) {
                        for (value, &root) in column.iter_mut().zip(&roots) {
                            *value = *value * root;
                        }
                    }
                }
                triangle.absorb(block, rows);
            }
            triangle
        });
        let mut merged = Triangle::new(width);
        for triangle in chunks {
            merged.merge(triangle);
        }
        merged
    }

    /// The residuals of `self.rows` in 32 digits and, rounded, Xᵀ times them.
    fn residuals<S: Scalar>(
        &self,
        elimination: &Elimination<S>,
        coefficients: &[DoubleDouble],
    ) -> (Vec<DoubleDouble>, Vec<f64>) {
        let columns = self.matrix.columns().len();
        let independent = &elimination.independent;
        let chunks = in_chunks(self.rows.len(), |range| {
            let mut residuals = Vec::with_capacity(range.len());
            let mut gradient = vec![0.0; independent.len()];
            let mut buffer = vec![S::ZERO; BLOCK * columns];
            let mut weighted = Vec::with_capacity(BLOCK);
            for start in range.clone().step_by(BLOCK) {
                let end = (start + BLOCK).min(range.end);
                let rows = end - start;
                let block = &mut buffer[..rows * columns];
                self.matrix.fill(&self.rows[start..end], block);
                let mut rest = self.response[start..end].to_vec();
                for (&column, &coefficient) in independent.iter().zip(coefficients) {
                    let values = &block[column * rows..(column + 1) * rows];
                    for (rest, value) in rest.iter_mut().zip(values) {
                        *rest = *rest - value.times(coefficient);
                    }
                }
                weighted.clear();
                weighted.extend(rest.iter().enumerate().map(|(k, rest)| {
                    let weight = self.weights.get(start + k).copied().unwrap_or(1.0);
                    rest.to_f64() * weight
                }));
                for (sum, &column) in gradient.iter_mut().zip(independent) {
                    let values = &block[column * rows..(column + 1) * rows];
                    *sum += values
                        .iter()
                        .zip(&weighted)
                        .map(|(value, rest)| value.to_f64() * rest)
                        .sum::<f64>();
                }
                residuals.extend_from_slice(&rest);
            }
            (residuals, gradient)
        });
        let mut residuals = Vec::with_capacity(self.rows.len());
        let mut gradient = vec![0.0; independent.len()];
        for (chunk, partial) in chunks {
            residuals.extend_from_slice(&chunk);
            for (sum, part) in gradient.iter_mut().zip(partial) {
                *sum += part;
            }
        }
        (residuals, gradient)
    }

    fn solution<S: Scalar>(
        &self,
        factored: Factored,
        elimination: &Elimination<S>,
        coefficients: &[DoubleDouble],
        residuals: &[DoubleDouble],
        extended: bool,
    ) -> Solution {
        let columns = self.matrix.columns();
        let independent = elimination.independent.clone();
        let scales: Vec<f64> = independent.iter().map(|&c| columns[c].scale()).collect();
        let dependent = elimination
            .dependent
            .iter()
            .enumerate()
            .map(|(k, &column)| {
                let combination = elimination.combination(k);
                let named = independent
                    .iter()
                    .zip(combination)
                    .map(|(&other, factor)| {
                        (
                            other,
                            factor * columns[other].scale() / columns[column].scale(),
                        )
                    })
                    .filter(|&(_, factor)| factor.abs() > 1e-9)
                    .collect();
                (column, named)
            })
            .collect();
        let coefficients = independent
            .iter()
            .zip(coefficients)
            .map(|(&column, coefficient)| {
                let value = coefficient.scale(columns[column].scale() / self.scale);
                match columns[column].term() {
                    None => (value + DoubleDouble::from(self.centre)).to_f64(),
                    Some(_) => value.to_f64(),
                }
            })
            .collect();
        let residuals = self.per_frame_row(residuals);
        let values = self.matrix.frame().response_values();
        let residual_square = sum_of_squares(residuals.iter().copied());
        let average = mean(values);
        Solution {
            has_constant: self.has_constant(&factored, &independent),
            factored,
            dependent,
            coefficients,
            scaled_inverse: elimination.inverse(),
            scales,
            residual_square,
            total_centred: sum_of_squares(values.iter().map(|value| value - average)),
            total_raw: sum_of_squares(values.iter().copied()),
            residuals,
            cells: self.cells.clone(),
            independent,
            response_scale: self.scale,
            extended,
        }
    }

    /// The residual of every row of the frame, in units of the response.
    fn per_frame_row(&self, residuals: &[DoubleDouble]) -> Vec<f64> {
        match &self.cells {
            None => residuals
                .iter()
                .map(|residual| residual.to_f64() / self.scale)
                .collect(),
            Some(cells) => {
                let fitted: Vec<DoubleDouble> = self
                    .response
                    .iter()
                    .zip(residuals)
                    .map(|(&mean, &residual)| (mean - residual).scale(1.0 / self.scale))
                    .collect();
                let values = self.matrix.frame().response_values();
                cells
                    .of_row
                    .iter()
                    .zip(values)
                    .map(|(&cell, &value)| {
                        let centred = DoubleDouble::exact_sum(value, -self.centre);
                        (centred - fitted[cell as usize]).to_f64()
                    })
                    .collect()
            }
        }
    }

    /// Whether the model can express a constant, by an intercept or by indicators
    /// of every level.
    fn has_constant(&self, factored: &Factored, independent: &[usize]) -> bool {
        let ones = self.matrix.columns().len();
        !self.extra_ones() || factored.added(independent, &[ones]).1 == 0
    }
}

/// The mean, correctly rounded but for the last place.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let sum = values.iter().fold(DoubleDouble::ZERO, |sum, &value| {
        sum + DoubleDouble::from(value)
    });
    (sum / DoubleDouble::from(values.len().max(1) as f64)).to_f64()
}

/// The sum of squares, without loss in the addition.
pub(crate) fn sum_of_squares(values: impl Iterator<Item = f64>) -> f64 {
    let (exact, plain) = values.fold((DoubleDouble::ZERO, 0.0), |(exact, plain), value| {
        let square = DoubleDouble::exact_product(value, value);
        (exact + square, plain + value * value)
    });
    // Exact products overflow before plain ones do.
    match exact.is_finite() {
        true => exact.to_f64(),
        false => plain,
    }
}
