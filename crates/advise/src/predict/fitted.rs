//! The closed set of predictors.

use super::FitPredictorError;
use super::averaged::Averaged;
use super::linear::Linear;
use super::operational::Operational;
use super::penalised::{Penalised, Penalty};
use super::process::Process;
use super::scale::Scale;
use super::scaling::Scaling;
use super::training::Training;
use super::trees::{Growth, Trees};
use paceline_learn::{Threads, grouped_k_fold};
use std::fmt;

/// A predictor, from the simplest to the most flexible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Main effects and two-factor interactions; the response or its logarithm,
    /// whichever cross-validation prefers.
    Linear,
    /// The same terms with a penalty on squared coefficients.
    Ridge,
    /// The same terms with a penalty on the sizes of coefficients.
    Lasso,
    /// The operational law of a processor and a disk with a queue.
    Queue,
    /// Ernest's law or the universal scalability law.
    Scaling,
    /// One regression tree.
    Tree,
    /// A linear trend or the operational law, and a Gaussian process of the
    /// greatest likelihood around it.
    Kriging,
    /// A Gaussian process averaged over its hyper-parameters, and a quarter of a
    /// forest.
    Gp,
    /// Gradient-boosted trees.
    Boost,
    /// A random forest.
    Forest,
}

impl Kind {
    /// All predictors.
    pub const ALL: [Self; 10] = [
        Self::Linear,
        Self::Ridge,
        Self::Lasso,
        Self::Queue,
        Self::Scaling,
        Self::Tree,
        Self::Kriging,
        Self::Gp,
        Self::Boost,
        Self::Forest,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Ridge => "ridge",
            Self::Lasso => "lasso",
            Self::Queue => "queue",
            Self::Scaling => "scaling",
            Self::Tree => "tree",
            Self::Kriging => "kriging",
            Self::Gp => "gp",
            Self::Boost => "boost",
            Self::Forest => "forest",
        }
    }

    /// The predictor of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A predictor fitted to data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fitted {
    Linear(Linear),
    Penalised(Penalised),
    Queue(Operational),
    Scaling(Scaling),
    Kriging(Process),
    Gp(Box<Averaged>),
    Trees(Trees),
}

impl Fitted {
    pub(crate) fn fit(
        kind: Kind,
        data: &Training<'_>,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        let trees = |growth| Ok(Self::Trees(Trees::fit(data, growth, seed, threads)?));
        let penalised = |penalty| {
            let model = Penalised::fit(data, penalty, seed, threads)?;
            Ok(Self::Penalised(model))
        };
        match kind {
            Kind::Linear => Ok(Self::Linear(linear(data, seed)?)),
            Kind::Ridge => penalised(Penalty::Squares),
            Kind::Lasso => penalised(Penalty::Sizes),
            Kind::Queue => Ok(Self::Queue(Operational::fit(data)?)),
            Kind::Scaling => Ok(Self::Scaling(Scaling::fit(data)?)),
            Kind::Tree => trees(Growth::Tree),
            Kind::Kriging => {
                let scale = data.scale();
                let process = Process::fit(data, scale, 0, seed, threads)?;
                Ok(Self::Kriging(process))
            }
            Kind::Gp => Ok(Self::Gp(Box::new(Averaged::fit(data, seed, threads)?))),
            Kind::Boost => trees(Growth::Boost),
            Kind::Forest => trees(Growth::Forest),
        }
    }

    pub(crate) fn predict_all(&self, configurations: &[&[f64]], threads: Threads) -> Vec<f64> {
        let each = |predict: &dyn Fn(&[f64]) -> f64| {
            configurations
                .iter()
                .map(|configuration| predict(configuration))
                .collect()
        };
        match self {
            Self::Linear(model) => each(&|at| model.predict(at)),
            Self::Penalised(model) => each(&|at| model.predict(at)),
            Self::Queue(model) => each(&|at| model.predict(at)),
            Self::Scaling(model) => each(&|at| model.predict(at)),
            Self::Kriging(model) => each(&|at| model.predict(at)),
            Self::Gp(model) => {
                let beliefs = model.beliefs(configurations, threads).into_iter();
                let scale = model.scale();
                beliefs.map(|(centre, _)| scale.back(centre)).collect()
            }
            Self::Trees(model) => model.predict_all(configurations, threads),
        }
    }

    /// The standard deviation of a run by the model's own account, on the scale
    /// of its errors; `None` for models that give none.
    pub(crate) fn deviation(&self, configuration: &[f64]) -> Option<f64> {
        match self {
            Self::Kriging(model) => Some(model.run_deviation(configuration)),
            _ => None,
        }
    }

    /// The scale on which its errors are judged.
    pub(crate) fn scale(&self) -> Scale {
        match self {
            Self::Linear(model) => model.scale(),
            Self::Penalised(model) => model.scale(),
            // Both are fitted to relative errors of positive times.
            Self::Queue(_) | Self::Scaling(_) => Scale::Log,
            Self::Kriging(model) => model.scale(),
            Self::Gp(model) => model.scale(),
            Self::Trees(model) => model.scale(),
        }
    }

    /// The hyper-parameters that a grid search settled on, in words.
    pub(crate) fn settled(&self) -> Option<String> {
        match self {
            Self::Penalised(model) => Some(model.settled()),
            Self::Trees(model) => Some(model.settled().to_owned()),
            _ => None,
        }
    }
}

/// The response or its logarithm, whichever predicts other trials better.
fn linear(data: &Training<'_>, seed: u64) -> Result<Linear, FitPredictorError> {
    let plain = Linear::fit(data, Scale::Identity)?;
    if !data.is_positive() {
        return Ok(plain);
    }
    let Ok(folds) = grouped_k_fold(&data.trials, 5, seed) else {
        return Ok(plain);
    };
    let error = |scale: Scale| {
        let mut squares = 0.0;
        for fold in &folds {
            let model = Linear::fit(&data.select(fold.train()), scale)?;
            for &row in fold.test() {
                let missed = data.response[row] - model.predict(data.rows[row]);
                squares += missed * missed;
            }
        }
        Ok::<f64, FitPredictorError>(squares)
    };
    match (error(Scale::Identity), error(Scale::Log)) {
        (Ok(identity), Ok(log)) if log < identity => Linear::fit(data, Scale::Log),
        _ => Ok(plain),
    }
}
