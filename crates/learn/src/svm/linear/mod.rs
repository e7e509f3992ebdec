//! Linear classifiers with a squared penalty: support vector machines and
//! logistic regression, one machine per class against the rest.

mod dual;
mod gradient;
mod loss;
mod matrix;
mod model;
mod newton;

pub use loss::{HingeLoss, LinearLoss, SmoothLoss};
pub use model::{LinearClassifierModel, LinearClassifierParts};

use crate::learner::require_rows;
use crate::parameter::{require, require_count};
use crate::{FitError, Labelled, ParameterError, PredictError, Rows, Threads};
use dual::Descent;
use gradient::Stochastic;
use matrix::{Compressed, Matrix, Problem, Solved};
use newton::Newton;
use paceline_numeric::Chance;

/// How the weights are found, for a loss that the way can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearMethod {
    /// Coordinate descent on the dual, to the optimum.
    Dual(HingeLoss),
    /// Truncated Newton on the primal, to the optimum.
    Newton(SmoothLoss),
    /// Stochastic gradient descent on the primal, near the optimum.
    Stochastic {
        /// What a margin costs.
        loss: LinearLoss,
        /// How often every row is seen.
        epochs: usize,
    },
}

impl LinearMethod {
    /// What a margin costs.
    pub fn loss(self) -> LinearLoss {
        match self {
            Self::Dual(HingeLoss::Plain) => LinearLoss::Hinge,
            Self::Dual(HingeLoss::Squared) => LinearLoss::SquaredHinge,
            Self::Newton(SmoothLoss::SquaredHinge) => LinearLoss::SquaredHinge,
            Self::Newton(SmoothLoss::Logistic) => LinearLoss::Logistic,
            Self::Stochastic { loss, .. } => loss,
        }
    }
}

/// Hyper-parameters of [`LinearClassifier`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearClassifierParams {
    /// What a margin costs and how the weights are found.
    pub method: LinearMethod,
    /// The weight C of the losses against the penalty `½‖w‖²`.
    pub cost: f64,
    /// The value of a constant feature, whose weight is penalised like the others;
    /// zero is no constant term.
    pub bias: f64,
    /// How near to the optimum a solver goes: the spread of projected gradients
    /// ([`LinearMethod::Dual`]) or the fall of the gradient
    /// ([`LinearMethod::Newton`]), as in LIBLINEAR.
    pub tolerance: f64,
    /// The most passes over the rows or Newton steps.
    pub max_passes: usize,
}

impl Default for LinearClassifierParams {
    fn default() -> Self {
        Self {
            method: LinearMethod::Dual(HingeLoss::Squared),
            cost: 1.0,
            bias: 1.0,
            tolerance: 1e-4,
            max_passes: 1000,
        }
    }
}

impl LinearClassifierParams {
    /// Accepts a cost and a tolerance above zero and a bias of at least zero.
    pub fn check(self) -> Result<LinearClassifier, ParameterError> {
        require("cost", self.cost, self.cost > 0.0, "above 0")?;
        require("bias", self.bias, self.bias >= 0.0, "at least 0")?;
        require("tolerance", self.tolerance, self.tolerance > 0.0, "above 0")?;
        require_count("max_passes", self.max_passes, 1)?;
        if let LinearMethod::Stochastic { epochs, .. } = self.method {
            require_count("epochs", epochs, 1)?;
        }
        Ok(LinearClassifier(self))
    }
}

/// A linear classifier: a support vector machine (Cortes and Vapnik 1995) or
/// logistic regression. With two classes there is one machine, whose positive
/// side is class 1; with more, each class is told from the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearClassifier(LinearClassifierParams);

impl LinearClassifier {
    /// Finds the weights of every machine. The seed orders the rows; an optimum
    /// does not depend on it beyond the tolerance.
    pub fn fit(
        &self,
        data: &Labelled<'_>,
        seed: u64,
        threads: Threads,
    ) -> Result<LinearClassifierModel, FitError> {
        require_rows(data.rows(), 2)?;
        let sizes = data.class_sizes();
        if sizes.iter().filter(|&&size| size > 0).count() < 2 {
            return Err(FitError::OneClass);
        }
        let solved = match (Compressed::of(data.features()), data.features()) {
            (Some(compressed), _) => self.solve_all(&compressed.rows(), data, seed, threads),
            (None, Rows::Dense(rows)) => self.solve_all(&rows, data, seed, threads),
            (None, Rows::Sparse(rows)) => self.solve_all(&rows, data, seed, threads),
        };
        let model = LinearClassifierModel::new(data, self.0.bias, &solved);
        if !model.is_finite() {
            return Err(FitError::Overflow);
        }
        Ok(model)
    }

    fn solve_all<M: Matrix>(
        &self,
        matrix: &M,
        data: &Labelled<'_>,
        seed: u64,
        threads: Threads,
    ) -> Vec<Solved> {
        let machines = machines(data.classes());
        threads.map(machines, |machine| {
            let problem = Problem {
                matrix,
                labels: labels_of(data, machine),
                bias: self.0.bias,
                columns: data.columns(),
            };
            self.solve(&problem, &mut Chance::of_learner(seed, machine as u64))
        })
    }

    fn solve<M: Matrix>(&self, problem: &Problem<'_, M>, draws: &mut Chance) -> Solved {
        let LinearClassifierParams {
            method,
            cost,
            tolerance,
            max_passes,
            ..
        } = self.0;
        match method {
            LinearMethod::Dual(hinge) => Descent {
                hinge,
                cost,
                tolerance,
                max_passes,
            }
            .solve(problem, draws),
            LinearMethod::Newton(loss) => Newton {
                loss,
                cost,
                tolerance,
                max_passes,
            }
            .solve(problem),
            LinearMethod::Stochastic { loss, epochs } => {
                Stochastic { loss, cost, epochs }.solve(problem, draws)
            }
        }
    }

    /// The objective `½(‖w‖² + v²) + cost·Σ loss` of each machine of a model on
    /// data, `v` being the weight of the constant feature. The optimum is the
    /// least value that any weights have.
    pub fn objectives(
        &self,
        model: &LinearClassifierModel,
        data: &Labelled<'_>,
        threads: Threads,
    ) -> Result<Vec<f64>, PredictError> {
        let decisions = model.decisions(data.features(), threads)?;
        let machines = model.machines();
        let loss = self.0.method.loss();
        let objective = |machine: usize| {
            let labels = labels_of(data, machine);
            let of_rows = decisions.iter().skip(machine).step_by(machines);
            let losses: f64 = labels
                .iter()
                .zip(of_rows)
                .map(|(label, &decision)| loss.value(label * f64::from(decision)))
                .sum();
            model.penalty(machine, self.0.bias) + self.0.cost * losses
        };
        Ok((0..machines).map(objective).collect())
    }
}

/// How many machines tell so many classes apart.
fn machines(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

fn labels_of(data: &Labelled<'_>, machine: usize) -> Vec<f64> {
    let positive = if data.classes() == 2 { 1 } else { machine };
    let sign = |&label: &u32| {
        if label as usize == positive {
            1.0
        } else {
            -1.0
        }
    };
    data.labels().iter().map(sign).collect()
}
