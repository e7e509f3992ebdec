//! The analysis of variance table, types I, II and III.

use crate::fit::{Fit, FitError, FitOptions, fit, upper_f};
use crate::formula::Term;
use crate::matrix::{Contrast, ModelMatrix};

/// Which sums of squares a table shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnovaType {
    /// Sequential: each term after those before it in the model.
    I,
    /// Each term after all terms that do not contain it.
    #[default]
    II,
    /// Each term after all others, containing ones included. Computed with sum
    /// contrasts whatever the fit uses, since with treatment contrasts the main
    /// effects of a type III table mean nothing. A numeric variable that takes
    /// part in an interaction is tested at zero of the others: centre it first
    /// if zero is not a sensible value.
    III,
}

/// An analysis of variance.
#[derive(Clone, Debug, PartialEq)]
pub struct Anova {
    /// Which sums of squares these are.
    pub kind: AnovaType,
    /// One row per term, in model order.
    pub rows: Vec<AnovaRow>,
    /// The intercept's row; only type III has one.
    pub intercept: Option<AnovaRow>,
    /// The residual.
    pub residual: ResidualRow,
    /// The sum of squares about the mean, or about zero without a constant.
    pub total_sum_of_squares: f64,
}

/// One term of an analysis of variance.
#[derive(Clone, Debug, PartialEq)]
pub struct AnovaRow {
    /// The term as the formula writes it.
    pub term: String,
    /// The term in people's words, such as `batch_size with workers`.
    pub name: String,
    /// Degrees of freedom; zero for a term that is entirely aliased.
    pub df: usize,
    /// The sum of squares.
    pub sum_of_squares: f64,
    /// The test; `None` for a term without degrees of freedom, or where nothing
    /// is left for error, or where the hypothesis is not estimable.
    pub test: Option<AnovaTest>,
    /// Whether the runs determine what the row claims to test. In type III a
    /// term's means are averaged over all combinations of the factors it
    /// interacts with; if one of them was never run, there is no such mean.
    pub estimable: bool,
    /// The sum of squares as a percentage of the total. Percentages add up to
    /// 100 with the residual's in type I, and in every type if the design is
    /// orthogonal. NaN for the intercept, which is no part of the variation, and
    /// for a row that is not estimable.
    pub percent: f64,
    /// SS / (SS + residual SS): the share of what other terms leave.
    pub partial_eta_squared: f64,
    /// (SS − df·MSE) / (total + MSE): the share in the population, less biased
    /// than a percentage and negative for a term weaker than chance
    /// (W. L. Hays, *Statistics*, 1963).
    pub omega_squared: f64,
}

/// The F test of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnovaTest {
    /// The mean square.
    pub mean_square: f64,
    /// Mean square over residual mean square.
    pub f: f64,
    /// The probability of an F at least as large if the term has no effect.
    pub p: f64,
}

/// What no term explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResidualRow {
    /// Degrees of freedom.
    pub df: usize,
    /// The sum of squares.
    pub sum_of_squares: f64,
    /// The mean square.
    pub mean_square: f64,
    /// The sum of squares as a percentage of the total.
    pub percent: f64,
}

impl Anova {
    /// The analysis of variance of a fit.
    ///
    /// # Errors
    ///
    /// As [`fit`], since types II and III may fit again with other contrasts.
    pub fn of(model: &Fit<'_>, kind: AnovaType) -> Result<Anova, FitError> {
        let frame = model.matrix().frame();
        let by_degree = frame.terms().is_sorted_by_key(|term| term.variables.len());
        match kind {
            AnovaType::I => Ok(table(model, kind)),
            AnovaType::II if by_degree => Ok(table(model, kind)),
            AnovaType::II | AnovaType::III => {
                let matrix = ModelMatrix::marginal(frame, Contrast::Sum);
                let options = FitOptions {
                    confidence: model.confidence(),
                    saturated: true,
                    ..FitOptions::default()
                };
                Ok(table(&fit(&matrix, &options)?, kind))
            }
        }
    }

    /// The row of this term.
    pub fn row(&self, term: &str) -> Option<&AnovaRow> {
        self.rows.iter().find(|row| row.term == term)
    }
}

fn table(model: &Fit<'_>, kind: AnovaType) -> Anova {
    let frame = model.matrix().frame();
    let columns_of = |term: Option<usize>| -> Vec<usize> {
        let columns = model.matrix().columns().iter().enumerate();
        columns
            .filter(|(_, column)| column.term() == term)
            .map(|(index, _)| index)
            .collect()
    };
    let groups: Vec<Vec<usize>> = (0..frame.terms().len())
        .map(|term| columns_of(Some(term)))
        .collect();
    let constant = columns_of(None);
    let factored = &model.solution.factored;
    let squares: Vec<(f64, usize)> = match kind {
        AnovaType::I => {
            let mut order = vec![constant.clone()];
            order.extend(groups.iter().cloned());
            factored.sequential(&order).split_off(1)
        }
        AnovaType::II => (0..groups.len())
            .map(|term| {
                let before = others(frame.terms(), &groups, &constant, |other| {
                    !other.contains(&frame.terms()[term])
                });
                factored.added(&before, &groups[term])
            })
            .collect(),
        AnovaType::III => (0..groups.len())
            .map(|term| {
                let before = others(frame.terms(), &groups, &constant, |other| {
                    other != &frame.terms()[term]
                });
                factored.added(&before, &groups[term])
            })
            .collect(),
    };
    let unit = model.solution.response_scale.powi(2);
    let rows = frame
        .terms()
        .iter()
        .zip(squares)
        .enumerate()
        .map(|(index, (term, (square, df)))| {
            let names = (term.label.clone(), frame.term_name(index));
            let estimable = kind != AnovaType::III || estimable(model, term);
            row(model, names, square / unit, df, estimable)
        })
        .collect();
    let intercept = (kind == AnovaType::III && frame.has_intercept()).then(|| {
        // The response was centred before it was factored, which only the
        // intercept notices: its sum of squares follows from its estimate.
        let estimate = model.solution.coefficients[0];
        let square = estimate * estimate / model.unscaled_covariance(0, 0);
        let names = ("Intercept".to_owned(), "intercept".to_owned());
        let everywhere = model.aliases().is_empty();
        AnovaRow {
            percent: f64::NAN,
            ..row(model, names, square, 1, everywhere)
        }
    });
    let residual = model.residual_sum_of_squares();
    let total = model.total_sum_of_squares();
    Anova {
        kind,
        rows,
        intercept,
        residual: ResidualRow {
            df: model.residual_df(),
            sum_of_squares: residual,
            mean_square: model.error_variance(),
            percent: 100.0 * residual / total,
        },
        total_sum_of_squares: total,
    }
}

/// The constant's columns and those of every term that `keep` accepts.
fn others(
    terms: &[Term],
    groups: &[Vec<usize>],
    constant: &[usize],
    keep: impl Fn(&Term) -> bool,
) -> Vec<usize> {
    let kept = terms
        .iter()
        .zip(groups)
        .filter(|(term, _)| keep(term))
        .flat_map(|(_, group)| group.iter().copied());
    constant.iter().copied().chain(kept).collect()
}

/// Whether no column of a wider term is missing.
fn estimable(model: &Fit<'_>, term: &Term) -> bool {
    let terms = model.matrix().frame().terms();
    model.aliases().iter().all(|alias| {
        let wider = alias.term.map(|index| &terms[index]);
        !wider.is_some_and(|wider| wider != term && wider.contains(term))
    })
}

fn row(
    model: &Fit<'_>,
    (term, name): (String, String),
    sum_of_squares: f64,
    df: usize,
    estimable: bool,
) -> AnovaRow {
    let residual = model.residual_sum_of_squares();
    let error = model.error_variance();
    let total = model.total_sum_of_squares();
    let tested = df > 0 && estimable && !model.is_saturated();
    let test = tested.then(|| {
        let mean_square = sum_of_squares / df as f64;
        let f = mean_square / error;
        AnovaTest {
            mean_square,
            f,
            p: upper_f(f, df, model.residual_df()),
        }
    });
    AnovaRow {
        term,
        name,
        df,
        sum_of_squares,
        test,
        estimable,
        percent: match estimable {
            true => 100.0 * sum_of_squares / total,
            false => f64::NAN,
        },
        partial_eta_squared: sum_of_squares / (sum_of_squares + residual),
        omega_squared: (sum_of_squares - df as f64 * error) / (total + error),
    }
}
