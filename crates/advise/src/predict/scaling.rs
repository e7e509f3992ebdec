//! Laws of scaling: Ernest's and the universal scalability law.

use super::FitPredictorError;
use super::role::{Role, Roles};
use super::training::{Training, cell};
use crate::least_squares::nnls;
use crate::runs::Factors;

/// Which law of scaling fits better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalingLaw {
    /// `T = a + b·work/m + c·ln m + d·m`: serial part, parallel part, tree-shaped
    /// and all-to-one communication (Venkataraman and others, "Ernest", NSDI
    /// 2016).
    Ernest,
    /// `T = work·(1 + α(m−1) + βm(m−1))/(γm)`: contention α and coherence β
    /// (Gunther, Guerrilla Capacity Planning, 2007).
    Universal,
}

/// A law of scaling for each combination of categories.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scaling {
    roles: Roles,
    machines: usize,
    factors: Factors,
    law: ScalingLaw,
    /// One set of coefficients per cell; a single one if cells are too small.
    coefficients: Vec<(usize, Vec<f64>)>,
}

impl Scaling {
    /// Fits both laws by non-negative least squares on relative errors and keeps
    /// the one of lower error per degree of freedom.
    pub(crate) fn fit(data: &Training<'_>) -> Result<Self, FitPredictorError> {
        let machines = [Role::Machines, Role::Cpus]
            .iter()
            .find_map(|&role| data.roles.position(role))
            .ok_or(FitPredictorError::NoRole(Role::Machines))?;
        if !data.is_positive() {
            return Err(FitPredictorError::NotPositive);
        }
        let mut counts: Vec<f64> = data.rows.iter().map(|row| row[machines]).collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        if counts.len() < 3 {
            return Err(FitPredictorError::TooFewMachineCounts {
                needed: 3,
                found: counts.len(),
            });
        }
        let laws = [ScalingLaw::Ernest, ScalingLaw::Universal];
        let fits = laws.map(|law| Self::fit_law(data, machines, law));
        let mut best: Option<(f64, Self)> = None;
        for fit in fits {
            let (error, model) = fit?;
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, model));
            }
        }
        Ok(best.expect("two laws were fitted").1)
    }

    fn fit_law(
        data: &Training<'_>,
        machines: usize,
        law: ScalingLaw,
    ) -> Result<(f64, Self), FitPredictorError> {
        let mut groups = cells_with_rows(data);
        let terms = law.terms(1.0, 1.0).len();
        // A law with as many coefficients as rows would only repeat them.
        if groups.iter().any(|(_, rows)| rows.len() < terms + 2) {
            groups = vec![(0, (0..data.rows.len()).collect())];
        }
        let rows = data.rows.len();
        let used = groups.len() * terms;
        let mut squares = 0.0;
        let mut coefficients = Vec::with_capacity(groups.len());
        for (cell, rows) in groups {
            let columns: Vec<Vec<f64>> = (0..terms)
                .map(|term| {
                    let relative = |&row: &usize| {
                        let work = work(data.roles, data.rows[row]);
                        law.terms(data.rows[row][machines], work)[term] / data.response[row]
                    };
                    rows.iter().map(relative).collect()
                })
                .collect();
            let fit = nnls(&columns, &vec![1.0; rows.len()])?;
            squares += fit.residual_norm * fit.residual_norm;
            coefficients.push((cell, fit.coefficients));
        }
        let freedom = rows.saturating_sub(used).max(1) as f64;
        let model = Self {
            roles: data.roles.clone(),
            machines,
            factors: data.factors.clone(),
            law,
            coefficients,
        };
        Ok((squares / freedom, model))
    }

    pub(crate) fn predict(&self, configuration: &[f64]) -> f64 {
        let here = cell(&self.factors, configuration);
        let known = self.coefficients.iter().find(|(cell, _)| *cell == here);
        let (_, coefficients) = known.unwrap_or(&self.coefficients[0]);
        let work = work(&self.roles, configuration);
        let terms = self.law.terms(configuration[self.machines].max(1e-9), work);
        terms.iter().zip(coefficients).map(|(x, c)| x * c).sum()
    }

    pub(crate) fn law(&self) -> ScalingLaw {
        self.law
    }
}

impl ScalingLaw {
    /// What the coefficients multiply.
    pub(crate) fn terms(self, machines: f64, work: f64) -> Vec<f64> {
        match self {
            Self::Ernest => vec![1.0, work / machines, machines.ln().max(0.0), machines],
            Self::Universal => vec![
                work / machines,
                work * (machines - 1.0).max(0.0) / machines,
                work * (machines - 1.0).max(0.0),
            ],
        }
    }
}

fn cells_with_rows(data: &Training<'_>) -> Vec<(usize, Vec<usize>)> {
    let mut cells: Vec<(usize, Vec<usize>)> = Vec::new();
    for (row, setting) in data.rows.iter().enumerate() {
        let here = data.cell(setting);
        match cells.iter_mut().find(|(cell, _)| *cell == here) {
            Some((_, rows)) => rows.push(row),
            None => cells.push((here, vec![row])),
        }
    }
    cells
}

/// Records to be processed, as far as they vary.
fn work(roles: &Roles, configuration: &[f64]) -> f64 {
    roles.level(Role::Samples, configuration) * roles.level(Role::Epochs, configuration)
}
