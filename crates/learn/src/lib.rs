//! Learners for the tables that a study yields: tens to thousands of runs, a
//! handful of factors, and a response to predict.
//!
//! Data come in as [`Features`] and a [`Dataset`], which hold finite numbers
//! only, so a learner never meets a NaN. Every learner has three faces: its
//! hyper-parameters as typed (`RidgeParams`), the same once checked ([`Ridge`]),
//! and what fitting returns ([`RidgeModel`]). All learners of a number implement
//! [`Learner`] and their models [`Model`], which is what cross-validation, grid
//! search and permutation importance work on.
//!
//! ```
//! use paceline_learn::{Dataset, Features, Model, RandomForestParams, Threads};
//!
//! let features = Features::from_rows(&[[64.0, 1.0], [128.0, 1.0], [64.0, 2.0], [128.0, 2.0]])?;
//! let runs = Dataset::new(features, vec![90.0, 60.0, 50.0, 35.0])?;
//! let forest = RandomForestParams { trees: 50, ..Default::default() }.check()?;
//! let model = forest.fit(&runs, 7, Threads::ONE)?;
//! let seconds = model.predict_row(&[128.0, 2.0])?;
//! assert!((35.0..=90.0).contains(&seconds));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Seeds and threads
//!
//! Whatever is random takes a seed, and each tree, restart or repetition draws
//! from its own stream of that seed. Work is shared by [`Threads`] inside a
//! call, and its results are gathered in order, so a result depends on the
//! data, the parameters and the seed, never on the number of threads.
//!
//! # Why the trees are our own
//!
//! No maintained crate offers what a predictor of runs needs together: the
//! absolute-error criterion, forests that are the same for any number of
//! threads, and predictions that take microseconds. The tables here are small,
//! so the trees are exact: every feature is sorted once for the whole ensemble,
//! and a node keeps its rows in order by stable partition instead of sorting
//! again, unless it considers only a few among many features. Trees are stored as flat arrays whose two children lie side by side,
//! and a batch is predicted tree by tree over blocks of rows. A forest grown on
//! factors of few levels cannot tell most candidates of a fine grid apart; such
//! candidates are predicted once.
//!
//! # What this crate does not do
//!
//! It reads no files, no clock and no environment, it holds no categorical or
//! missing values (the caller encodes them), it takes no row weights, and it
//! does not scale to millions of rows: there are no histogram trees and no
//! sparse Gaussian processes.

mod boost;
mod dataset;
mod features;
mod forest;
mod gp;
mod isolation;
mod kmeans;
mod learner;
mod linear;
mod metric;
mod order_statistics;
mod parallel;
mod parameter;
mod random;
mod standardize;
mod tree;
mod validate;

pub use boost::{BoostLoss, GradientBoosting, GradientBoostingModel, GradientBoostingParams};
pub use dataset::{Dataset, DatasetError, Labelled, LabelledError};
pub use features::{Features, FeaturesError};
pub use forest::{
    RandomForest, RandomForestClassifier, RandomForestClassifierModel,
    RandomForestClassifierParams, RandomForestModel, RandomForestParams,
};
pub use gp::{
    GaussianProcess, GaussianProcessModel, GaussianProcessParams, GpPrediction, Hyperparameters,
    Kernel,
};
pub use isolation::{IsolationForest, IsolationForestModel, IsolationForestParams};
pub use kmeans::{KMeans, KMeansModel, KMeansParams};
pub use learner::{FitError, Learner, Model, PredictError};
pub use linear::{Lasso, LassoModel, LassoParams, Ridge, RidgeModel, RidgeParams};
pub use metric::{Metric, MetricError};
pub use parallel::Threads;
pub use parameter::ParameterError;
pub use standardize::Standardizer;
pub use tree::{
    DecisionTree, DecisionTreeModel, DecisionTreeParams, MaxFeatures, SplitCriterion, TreeShape,
};
pub use validate::{
    CrossValidateError, Fold, FoldError, GridSearch, GridSearchError, Importance, ImportanceError,
    OutOfFold, cross_validate, grid_search, grouped_k_fold, k_fold, leave_one_group_out,
    permutation_importance,
};
