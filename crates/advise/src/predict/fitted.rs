//! The closed set of predictors.

use super::FitPredictorError;
use super::linear::Linear;
use super::operational::Operational;
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
    /// The operational law of a processor and a disk with a queue.
    Queue,
    /// Ernest's law or the universal scalability law.
    Scaling,
    /// A linear trend or the operational law, and a Gaussian process around it.
    Gp,
    /// Gradient-boosted trees.
    Boost,
    /// A random forest.
    Forest,
}

impl Kind {
    /// All predictors.
    pub const ALL: [Self; 6] = [
        Self::Linear,
        Self::Queue,
        Self::Scaling,
        Self::Gp,
        Self::Boost,
        Self::Forest,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Queue => "queue",
            Self::Scaling => "scaling",
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
    Queue(Operational),
    Scaling(Scaling),
    Gp(Process),
    Boost(Trees),
    Forest(Trees),
}

impl Fitted {
    pub(crate) fn fit(
        kind: Kind,
        data: &Training<'_>,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        Ok(match kind {
            Kind::Linear => Self::Linear(linear(data, seed)?),
            Kind::Queue => Self::Queue(Operational::fit(data)?),
            Kind::Scaling => Self::Scaling(Scaling::fit(data)?),
            Kind::Gp => {
                let scale = data.scale();
                Self::Gp(Process::fit(data, scale, 0, seed, threads)?)
            }
            Kind::Boost => Self::Boost(Trees::fit(data, Growth::Boost, seed, threads)?),
            Kind::Forest => Self::Forest(Trees::fit(data, Growth::Forest, seed, threads)?),
        })
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
            Self::Queue(model) => each(&|at| model.predict(at)),
            Self::Scaling(model) => each(&|at| model.predict(at)),
            Self::Gp(model) => each(&|at| model.predict(at)),
            Self::Boost(model) | Self::Forest(model) => model.predict_all(configurations, threads),
        }
    }

    /// The standard deviation of a run by the model's own account, on the scale
    /// of its errors; `None` for models that give none.
    pub(crate) fn deviation(&self, configuration: &[f64]) -> Option<f64> {
        match self {
            Self::Gp(model) => Some(model.run_deviation(configuration)),
            _ => None,
        }
    }

    /// The scale on which its errors are judged.
    pub(crate) fn scale(&self) -> Scale {
        match self {
            Self::Linear(model) => model.scale(),
            // Both are fitted to relative errors of positive times.
            Self::Queue(_) | Self::Scaling(_) => Scale::Log,
            Self::Gp(model) => model.scale(),
            Self::Boost(model) | Self::Forest(model) => model.scale(),
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
