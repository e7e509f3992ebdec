//! Fitting, and asking what was fitted.

use std::ops::Range;
use std::time::Duration;

use paceline_data::DataSet;
use paceline_learn::{
    FitError, HingeLoss, KernelSvmModel, KernelSvmParams, Labelled, LabelledError,
    LinearClassifierModel, LinearClassifierParams, LinearLoss, LinearMethod, ParameterError,
    PredictError, RandomForestClassifierModel, RandomForestClassifierParams, Rows, RowsError,
    SmoothLoss, Splits, SvmKernel, Threads,
};

use super::rows::Held;
use super::spec::{ClassicSpec, Duality};
use crate::clock::Stopwatch;

/// How near to the optimum the linear solvers go. LIBLINEAR stops at 0.1 (dual)
/// and 0.01 (primal); at a tenth of the latter the two find the same loss to
/// three digits, which a test checks.
const TOLERANCE: f64 = 1e-3;

/// Rows that are asked about at a time: a copy of so many bytes as floats stays
/// small beside the data.
const ASKED_AT_ONCE: usize = 8192;

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicModel {
    pub(super) spec: ClassicSpec,
    pub(super) machine: Machine,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Machine {
    Kernel(KernelSvmModel),
    Linear(LinearClassifierModel),
    Forest(RandomForestClassifierModel),
}

/// What came of fitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The trained model.
    pub model: ClassicModel,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a model found on some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// How many rows it saw.
    pub rows: u64,
    /// How many it classified rightly.
    pub hits: u64,
    /// The mean over the rows of what it minimises, summed over its machines
    /// and without the penalty. Kernel machines and forests have none.
    pub loss: Option<f64>,
}

impl Judged {
    /// The share of rows classified rightly.
    pub fn accuracy(&self) -> f64 {
        self.hits as f64 / self.rows as f64
    }
}

/// Why rows cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RowsRefused {
    /// Sequences of words have no columns.
    #[error("{model} reads dense or sparse rows; the data has sequences of words")]
    Words {
        /// The model's name.
        model: &'static str,
    },
    /// A value is not finite, or there are no columns.
    #[error("the rows cannot be learnt from: {0}")]
    Form(#[from] RowsError),
}

/// Why a model cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FitClassicError {
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsRefused),
    /// Rows and labels do not make a problem.
    #[error(transparent)]
    Labels(#[from] LabelledError),
    /// An option is outside its range.
    #[error(transparent)]
    Option(#[from] ParameterError),
    /// The solver cannot use the data.
    #[error(transparent)]
    Solver(#[from] FitError),
}

/// Why a model cannot be asked about some rows.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum AskClassicError {
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsRefused),
    /// The rows are not as wide as those the model was trained on.
    #[error(transparent)]
    Width(#[from] PredictError),
    /// The data has other classes than the model was trained on.
    #[error("the data has {found} classes; the model was trained on {expected}")]
    Classes {
        /// How many the model knows.
        expected: usize,
        /// How many the data has.
        found: usize,
    },
}

impl ClassicSpec {
    /// Fits the model to all rows of `data`. The same data and seed give the
    /// same model, whatever the number of threads.
    pub fn fit(
        &self,
        data: &DataSet,
        seed: u64,
        threads: usize,
    ) -> Result<Fitted, FitClassicError> {
        let clock = Stopwatch::starting_at(Duration::ZERO);
        let held = held(data, self)?;
        let rows = held.rows().map_err(RowsRefused::Form)?;
        let labelled = Labelled::new(rows, data.labels(), data.classes())?;
        let threads = Threads::new(threads);
        let machine = match *self {
            Self::RbfSvm { cost, gamma } => {
                let gamma = gamma.unwrap_or_else(|| held.usual_gamma());
                let params = KernelSvmParams {
                    kernel: SvmKernel::Rbf { gamma },
                    cost,
                    ..KernelSvmParams::default()
                };
                Machine::Kernel(params.check()?.fit(&labelled, threads)?)
            }
            Self::LinearSvm { cost, .. } | Self::Logistic { cost } => {
                let params = LinearClassifierParams {
                    method: self.linear_method().expect("these are the linear models"),
                    cost,
                    tolerance: TOLERANCE,
                    ..LinearClassifierParams::default()
                };
                Machine::Linear(params.check()?.fit(&labelled, seed, threads)?)
            }
            Self::Forest { trees, exact } => {
                let splits = match exact {
                    true => Splits::Exact,
                    false => Splits::Histogram { bins: 256 },
                };
                let params = RandomForestClassifierParams {
                    trees,
                    splits,
                    ..RandomForestClassifierParams::default()
                };
                Machine::Forest(params.check()?.fit(&labelled, seed, threads)?)
            }
        };
        Ok(Fitted {
            model: ClassicModel {
                spec: *self,
                machine,
            },
            elapsed: clock.elapsed(),
        })
    }

    /// How a linear model is solved.
    fn linear_method(&self) -> Option<LinearMethod> {
        match self {
            Self::LinearSvm {
                duality: Duality::Dual,
                ..
            } => Some(LinearMethod::Dual(HingeLoss::Squared)),
            Self::LinearSvm {
                duality: Duality::Primal,
                ..
            } => Some(LinearMethod::Newton(SmoothLoss::SquaredHinge)),
            Self::Logistic { .. } => Some(LinearMethod::Newton(SmoothLoss::Logistic)),
            Self::RbfSvm { .. } | Self::Forest { .. } => None,
        }
    }
}

impl ClassicModel {
    /// What the model is called.
    pub fn spec(&self) -> &ClassicSpec {
        &self.spec
    }

    /// How many classes it tells apart.
    pub fn classes(&self) -> usize {
        match &self.machine {
            Machine::Kernel(model) => model.classes(),
            Machine::Linear(model) => model.classes(),
            Machine::Forest(model) => model.classes(),
        }
    }

    /// Whether the solver reached its tolerance. A forest is always complete.
    pub fn converged(&self) -> bool {
        match &self.machine {
            Machine::Kernel(model) => model.converged(),
            Machine::Linear(model) => model.converged(),
            Machine::Forest(_) => true,
        }
    }

    /// How large it is, in its own unit: support vectors, weights or nodes.
    pub fn size(&self) -> (&'static str, usize) {
        match &self.machine {
            Machine::Kernel(model) => ("support_vectors", model.support_counts().iter().sum()),
            Machine::Linear(model) => ("weights", model.machines() * model.columns()),
            Machine::Forest(model) => ("nodes", model.nodes()),
        }
    }

    /// The score of each class for each row of `data`, row after row; the
    /// largest in a row, the first of equals, is the model's answer. A linear
    /// model scores by its decision, a kernel machine by the pairs of classes
    /// that a class wins, a forest by probability.
    pub fn scores(&self, data: &DataSet, threads: usize) -> Result<Vec<f32>, AskClassicError> {
        if data.classes() != self.classes() {
            return Err(AskClassicError::Classes {
                expected: self.classes(),
                found: data.classes(),
            });
        }
        let mut scores = Vec::with_capacity(data.rows() * self.classes());
        for block in blocks(data.rows()) {
            let part = data.slice(block);
            let held = held(&part, &self.spec)?;
            let rows = held.rows().map_err(RowsRefused::Form)?;
            scores.extend(self.score(rows, Threads::new(threads))?);
        }
        Ok(scores)
    }

    /// How good the model is on `data`.
    pub fn judge(&self, data: &DataSet, threads: usize) -> Result<Judged, AskClassicError> {
        let scores = self.scores(data, threads)?;
        let rows = scores
            .chunks_exact(self.classes())
            .zip(data.labels().iter());
        let hits = rows
            .clone()
            .filter(|(scores, label)| best(scores) == **label);
        let loss = self.loss().map(|loss| {
            let sum: f64 = rows
                .clone()
                .map(|(scores, label)| row_loss(loss, scores, *label))
                .sum();
            sum / data.rows() as f64
        });
        Ok(Judged {
            rows: data.rows() as u64,
            hits: hits.count() as u64,
            loss,
        })
    }

    fn loss(&self) -> Option<LinearLoss> {
        self.spec.linear_method().map(LinearMethod::loss)
    }

    fn score(&self, rows: Rows<'_>, threads: Threads) -> Result<Vec<f32>, PredictError> {
        match &self.machine {
            Machine::Linear(model) => {
                let decisions = model.decisions(rows, threads)?;
                if model.machines() > 1 {
                    return Ok(decisions);
                }
                // One machine: its positive side is class 1.
                Ok(decisions
                    .into_iter()
                    .flat_map(|side| [-side, side])
                    .collect())
            }
            Machine::Kernel(model) => {
                let decisions = model.decisions(rows, threads)?;
                Ok(votes(model.support_counts(), &decisions))
            }
            Machine::Forest(model) => {
                let probabilities = model.probabilities(rows, threads)?;
                Ok(probabilities
                    .into_iter()
                    .map(|share| share as f32)
                    .collect())
            }
        }
    }
}

fn held<'a>(data: &'a DataSet, spec: &ClassicSpec) -> Result<Held<'a>, RowsRefused> {
    Held::of(data).ok_or(RowsRefused::Words {
        model: spec.family(),
    })
}

fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows)
        .step_by(ASKED_AT_ONCE)
        .map(move |start| start..rows.min(start + ASKED_AT_ONCE))
}

/// The class with the largest score; the first of equals.
fn best(scores: &[f32]) -> u32 {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best as u32
}

/// How many pairs each class wins, row after row. Decisions are of the pairs 0
/// and 1, 0 and 2, …; a class without support vectors takes no part.
fn votes(support: &[usize], decisions: &[f32]) -> Vec<f32> {
    let classes = support.len();
    let pairs: Vec<(usize, usize)> = (0..classes)
        .flat_map(|first| (first + 1..classes).map(move |second| (first, second)))
        .collect();
    let mut votes = vec![0.0; decisions.len() / pairs.len() * classes];
    let rows = votes.chunks_exact_mut(classes);
    for (row, decisions) in rows.zip(decisions.chunks_exact(pairs.len())) {
        for ((first, second), decision) in pairs.iter().zip(decisions) {
            if support[*first] > 0 && support[*second] > 0 {
                row[if *decision > 0.0 { *first } else { *second }] += 1.0;
            }
        }
    }
    votes
}

/// The loss of a row over all machines. With two classes there is one machine,
/// whose decision is the score of class 1.
fn row_loss(loss: LinearLoss, scores: &[f32], label: u32) -> f64 {
    let machines = if scores.len() == 2 {
        1..2
    } else {
        0..scores.len()
    };
    machines
        .map(|class| {
            let sign = if class == label as usize { 1.0 } else { -1.0 };
            let margin = sign * f64::from(scores[class]);
            match loss {
                LinearLoss::Hinge => (1.0 - margin).max(0.0),
                LinearLoss::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
                // log(1 + e^−z), written so that the exponential never overflows.
                LinearLoss::Logistic => (-margin).max(0.0) + (-margin.abs()).exp().ln_1p(),
            }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_data::{DataSpec, Options, Split};

    const ALL: [&str; 6] = [
        "svm-rbf",
        "svm-linear",
        "svm-linear-primal",
        "logistic-exact",
        "forest:20",
        "forest-exact:20",
    ];

    fn open(words: &str) -> Split {
        let spec: DataSpec = words.parse().unwrap();
        paceline_data::open(&spec, &Options::default()).unwrap()
    }

    fn fit(spec: &str, data: &Split, threads: usize) -> ClassicModel {
        let spec: ClassicSpec = spec.parse().unwrap();
        spec.fit(&data.train, 1, threads).unwrap().model
    }

    #[test]
    fn every_model_tells_blobs_apart_and_answers_as_its_learner_does() {
        let data = open("synthetic:blobs,rows=300,test=200,width=8,classes=3,seed=2");
        for name in ALL {
            let model = fit(name, &data, 2);
            let judged = model.judge(&data.test, 2).unwrap();
            assert!(judged.accuracy() > 0.85, "{name}: {}", judged.accuracy());
            let held = Held::of(&data.test).unwrap();
            let rows = held.rows().unwrap();
            let predicted = match &model.machine {
                Machine::Kernel(model) => model.predict(rows, Threads::ONE),
                Machine::Linear(model) => model.predict(rows, Threads::ONE),
                Machine::Forest(model) => model.predict(rows, Threads::ONE),
            };
            let scores = model.scores(&data.test, 1).unwrap();
            let answers: Vec<u32> = scores.chunks_exact(3).map(best).collect();
            assert_eq!(answers, predicted.unwrap(), "{name}");
        }
    }

    #[test]
    fn two_classes_and_sparse_rows_are_learnt_too() {
        let words = "synthetic:sparse,rows=600,test=300,width=50,entries=10,signal=8";
        let data = open(words);
        for name in ALL {
            let judged = fit(name, &data, 1).judge(&data.test, 1).unwrap();
            assert!(judged.accuracy() > 0.65, "{name}: {}", judged.accuracy());
            let has_loss = name.starts_with("svm-linear") || name.starts_with("logistic");
            assert_eq!(judged.loss.is_some(), has_loss, "{name}");
        }
    }

    #[test]
    fn a_model_does_not_depend_on_the_number_of_threads() {
        let data = open("synthetic:blobs,rows=200,test=50,width=6,classes=4,seed=5");
        for name in ALL {
            assert_eq!(fit(name, &data, 1), fit(name, &data, 3), "{name}");
        }
    }

    #[test]
    fn primal_and_dual_find_one_optimum() {
        let data = open("synthetic:dense,rows=400,test=100,width=10");
        let loss = |name| {
            let judged = fit(name, &data, 1).judge(&data.train, 1).unwrap();
            judged.loss.unwrap()
        };
        let (primal, dual) = (loss("svm-linear-primal:C=1"), loss("svm-linear:C=1"));
        assert!((primal - dual).abs() < 1e-3 * dual, "{primal} {dual}");
    }

    #[test]
    fn the_loss_of_a_row_is_as_by_hand() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6);
        near(row_loss(LinearLoss::Hinge, &[-0.5, 0.5], 1), 0.5);
        near(row_loss(LinearLoss::SquaredHinge, &[-0.5, 0.5], 0), 2.25);
        near(row_loss(LinearLoss::Logistic, &[0.0, 0.0], 1), 2_f64.ln());
        // Class 1 of three: margins −2, 0.5 and 3.
        near(row_loss(LinearLoss::Hinge, &[2.0, 0.5, -3.0], 1), 3.5);
    }

    #[test]
    fn a_class_without_rows_gets_no_votes() {
        assert_eq!(votes(&[2, 0, 3], &[0.0, -1.0, 0.0]), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn words_and_other_classes_are_refused() {
        let spec: ClassicSpec = "forest:2".parse().unwrap();
        let words = open("tweets");
        let error = spec.fit(&words.train, 1, 1).unwrap_err().to_string();
        assert!(error.contains("sequences of words"), "{error}");
        let three = open("synthetic:blobs,rows=90,test=30,width=4,classes=3");
        let four = open("synthetic:blobs,rows=90,test=30,width=4,classes=4");
        let model = fit("forest:2", &three, 1);
        let error = model.judge(&four.test, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the data has 4 classes; the model was trained on 3"
        );
    }
}
