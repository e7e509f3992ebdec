//! Whether replicated runs scatter less than the model says they should.

use crate::cells::Cells;
use crate::fit::{Fit, upper_f};
use crate::lstsq::{mean, sum_of_squares};

/// The residual split into pure error between replicates and lack of fit of the
/// cell means (N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd
/// edition, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// Degrees of freedom of lack of fit: distinct settings minus parameters.
    pub df: usize,
    /// The sum of squares of lack of fit.
    pub sum_of_squares: f64,
    /// Degrees of freedom of pure error: runs minus distinct settings.
    pub pure_df: usize,
    /// The sum of squares within cells.
    pub pure_sum_of_squares: f64,
    /// The F statistic.
    pub f: f64,
    /// Its p-value. Small means that the model misses something systematic.
    pub p: f64,
}

impl LackOfFit {
    /// The test, if there are replicates and the model does not already have a
    /// parameter for every distinct setting.
    pub fn of(fit: &Fit<'_>) -> Option<LackOfFit> {
        LackOfFit::within(fit, &Cells::of(fit.matrix().frame()))
    }

    /// The test, given the cells of the fit's frame.
    pub(crate) fn within(fit: &Fit<'_>, cells: &Cells) -> Option<LackOfFit> {
        let frame = fit.matrix().frame();
        let pure_df = frame.len() - cells.len();
        let df = cells.len().checked_sub(fit.rank()).filter(|&df| df > 0)?;
        if pure_df == 0 {
            return None;
        }
        let groups = cells.groups(fit.residuals());
        // Fitted values are equal within a cell, so residuals scatter as the
        // response does, without its common digits.
        let pure: f64 = groups
            .iter()
            .map(|group| {
                let centre = mean(group);
                sum_of_squares(group.iter().map(|value| value - centre))
            })
            .sum();
        let lack: f64 = groups
            .iter()
            .map(|group| group.len() as f64 * mean(group).powi(2))
            .sum();
        let f = (lack / df as f64) / (pure / pure_df as f64);
        Some(LackOfFit {
            df,
            sum_of_squares: lack,
            pure_df,
            pure_sum_of_squares: pure,
            f,
            p: if f.is_nan() {
                1.0
            } else {
                upper_f(f, df, pure_df)
            },
        })
    }
}
