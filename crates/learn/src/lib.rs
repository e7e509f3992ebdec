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
//! # Classifiers
//!
//! The classifiers learn from data sets rather than tables of runs, so they take
//! checked views of single-precision [`DenseRows`] or [`SparseRows`] with their
//! labels ([`Labelled`]) and copy nothing: [`LinearClassifier`] (support vector
//! machines and logistic regression, solved to the optimum), [`KernelSvm`] and
//! [`RandomForestClassifier`]. A trained one turns into plain numbers
//! (`to_parts`) and back (`from_parts`, which checks them), so that whoever owns a
//! file format can store it.
//!
//! ```
//! use paceline_learn::{DenseRows, KernelSvmParams, Labelled, SvmKernel, Threads};
//!
//! let points = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
//! let corners = DenseRows::new(&points, 2)?;
//! let crossed = Labelled::new(corners, &[0, 0, 1, 1], 2)?;
//! let kernel = SvmKernel::Rbf { gamma: 1.0 };
//! let machine = KernelSvmParams { kernel, cost: 10.0, ..Default::default() }.check()?;
//! let model = machine.fit(&crossed, Threads::ONE)?;
//! assert_eq!(model.predict(corners, Threads::ONE)?, [0, 0, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why the trees are our own
//!
//! No maintained crate offers what a predictor of runs needs together: the
//! absolute-error criterion, forests that are the same for any number of
//! threads, and predictions that take microseconds. Tables of runs are small, so
//! regression trees are exact: every feature is sorted once for the whole
//! ensemble, and a node keeps its rows in order by stable partition instead of
//! sorting again, unless it considers only a few among many features. Trees are
//! stored as flat arrays whose two children lie side by side, and a batch is
//! predicted tree by tree over blocks of rows. A forest grown on factors of few
//! levels cannot tell most candidates of a fine grid apart; such candidates are
//! predicted once. On continuous features a large batch goes down the trees as sets
//! of rows, by bitwise operations. Classification trees see features as bin numbers,
//! one bin per distinct value or at most 256 bins, and count.
//!
//! # What this crate does not do
//!
//! It reads no files, no clock and no environment, it holds no categorical or
//! missing values (the caller encodes them), it takes no row or class weights,
//! and its learners of a number do not scale to millions of rows: regression trees
//! have no histograms, and there are no sparse Gaussian processes.

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
mod parameter;
mod parts;
mod samples;
mod silhouette;
mod standardize;
mod svm;
mod tree;
mod validate;

pub use boost::{BoostLoss, GradientBoosting, GradientBoostingModel, GradientBoostingParams};
pub use dataset::{Dataset, DatasetError};
pub use features::{Features, FeaturesError};
pub use forest::{
    RandomForest, RandomForestClassifier, RandomForestClassifierModel,
    RandomForestClassifierParams, RandomForestClassifierParts, RandomForestModel,
    RandomForestParams, Splits,
};
pub use gp::{
    AveragedPrediction, AveragedProcess, AveragedProcessModel, AveragedProcessParams,
    GaussianProcess, GaussianProcessModel, GaussianProcessParams, GpPrediction, Hyperparameters,
    Kernel, LeftOut,
};
pub use isolation::{IsolationForest, IsolationForestModel, IsolationForestParams};
pub use kmeans::{KMeans, KMeansModel, KMeansParams};
pub use learner::{FitError, Learner, Model, PredictError};
pub use linear::{Lasso, LassoModel, LassoParams, Ridge, RidgeModel, RidgeParams};
pub use metric::{Metric, MetricError};
pub use paceline_numeric::Threads;
pub use parameter::ParameterError;
pub use parts::PartsError;
pub use samples::{DenseRows, Labelled, LabelledError, Rows, RowsError, SparseRows};
pub use silhouette::{ChosenClusters, choose_clusters, silhouettes};
pub use standardize::Standardizer;
pub use svm::{
    HingeLoss, KernelSvm, KernelSvmModel, KernelSvmParams, KernelSvmParts, LinearClassifier,
    LinearClassifierModel, LinearClassifierParams, LinearClassifierParts, LinearLoss, LinearMethod,
    SmoothLoss, SupportVectors, SvmKernel,
};
pub use tree::{
    DecisionTree, DecisionTreeModel, DecisionTreeParams, MaxFeatures, SplitCriterion, TreeShape,
};
pub use validate::{
    CrossValidateError, Fold, FoldError, GridSearch, GridSearchError, Importance, ImportanceError,
    OutOfFold, cross_validate, grid_search, grouped_k_fold, k_fold, leave_one_group_out,
    permutation_importance,
};
