//! A tree, forests and boosting on the factors and on what is derived from them.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::scale::Scale;
use super::training::Training;
use super::tuned;
use paceline_learn::{
    BoostLoss, Dataset, DecisionTreeModel, DecisionTreeParams, Features, GradientBoostingModel,
    GradientBoostingParams, Learner, MaxFeatures, Model, RandomForestModel, RandomForestParams,
    SplitCriterion, Threads, TreeShape,
};

/// Trees of one kind, with the scale they were grown on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trees {
    encoding: Encoding,
    scale: Scale,
    ensemble: Ensemble,
    settled: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Ensemble {
    Constant(f64),
    Tree(DecisionTreeModel),
    Forest(RandomForestModel),
    Boost(GradientBoostingModel),
}

/// Which trees are grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    Tree,
    Forest,
    Boost,
}

/// Trees of a forest while the search compares, and of the one it settles on: more
/// trees change no comparison and only steady the answer.
const SEARCHED_TREES: usize = 40;
const TREES: usize = 150;
/// Depths of table 7 of paper 003; `None` is as deep as it goes.
const DEPTHS: [Option<usize>; 3] = [Some(4), Some(6), None];
const CRITERIA: [SplitCriterion; 2] = [SplitCriterion::Squared, SplitCriterion::Absolute];

impl Trees {
    /// A forest of so many trees, not tuned.
    pub(crate) fn forest(
        data: &Training<'_>,
        trees: usize,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        let params = RandomForestParams {
            trees,
            ..RandomForestParams::default()
        };
        Self::grow(data, |table| {
            let forest = params.check()?.fit(table, seed, threads)?;
            Ok((Ensemble::Forest(forest), format!("{trees} trees")))
        })
    }

    /// Trees whose shape a grid search finds.
    pub(crate) fn fit(
        data: &Training<'_>,
        growth: Growth,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        Self::grow(data, |table| match growth {
            Growth::Tree => tree(table, data, seed, threads),
            Growth::Forest => forest(table, data, seed, threads),
            Growth::Boost => boost(table, data, seed, threads),
        })
    }

    fn grow(
        data: &Training<'_>,
        ensemble: impl FnOnce(&Dataset) -> Result<(Ensemble, String), FitPredictorError>,
    ) -> Result<Self, FitPredictorError> {
        const LEAST: usize = 4;
        let found = data.rows.len();
        if found < LEAST {
            return Err(FitPredictorError::TooFewRuns {
                needed: LEAST,
                found,
            });
        }
        // Trees see only the order of a feature, so its logarithm adds nothing.
        let encoding = Encoding::new(data.factors, data.roles, &data.rows, Style::Plain, true);
        let scale = data.scale();
        let target: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
        let (ensemble, settled) = if encoding.len() == 0 {
            let mean = target.iter().sum::<f64>() / target.len() as f64;
            (Ensemble::Constant(mean), String::new())
        } else {
            let rows: Vec<Vec<f64>> = data.rows.iter().map(|row| encoding.features(row)).collect();
            ensemble(&Dataset::new(Features::from_rows(&rows)?, target)?)?
        };
        Ok(Self {
            encoding,
            scale,
            ensemble,
            settled,
        })
    }

    pub(crate) fn predict_all(&self, configurations: &[&[f64]], threads: Threads) -> Vec<f64> {
        let model: &dyn Model = match &self.ensemble {
            Ensemble::Constant(mean) => return vec![self.scale.back(*mean); configurations.len()],
            Ensemble::Tree(tree) => tree,
            Ensemble::Forest(forest) => forest,
            Ensemble::Boost(boost) => boost,
        };
        let columns = self.encoding.len();
        let flat = configurations
            .iter()
            .flat_map(|configuration| self.encoding.features(configuration))
            .collect();
        let features = Features::from_flat(flat, columns)
            .expect("configurations are finite and encoded alike");
        let predictions = model.predict_all_checked(&features, threads);
        predictions
            .into_iter()
            .map(|value| self.scale.back(value))
            .collect()
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// What the search settled on, in words.
    pub(crate) fn settled(&self) -> &str {
        &self.settled
    }
}

/// The best of a grid of parameters, each made into a learner.
fn search<P: Copy, L: Learner>(
    grid: &[P],
    learner: impl Fn(P) -> Result<L, paceline_learn::ParameterError>,
    table: &Dataset,
    data: &Training<'_>,
    seed: u64,
    threads: Threads,
) -> Result<P, FitPredictorError> {
    let learners = grid.iter().map(|&params| learner(params));
    let learners = learners.collect::<Result<Vec<L>, _>>()?;
    let candidates: Vec<&dyn Learner> = learners.iter().map(|one| one as _).collect();
    Ok(grid[tuned::best(&candidates, table, &data.trials, seed, threads)?])
}

fn tree(
    table: &Dataset,
    data: &Training<'_>,
    seed: u64,
    threads: Threads,
) -> Result<(Ensemble, String), FitPredictorError> {
    let mut grid = Vec::new();
    for criterion in CRITERIA {
        for max_depth in [Some(2), Some(3), Some(4), Some(6), None] {
            let shape = TreeShape {
                max_depth,
                ..TreeShape::default()
            };
            grid.push(DecisionTreeParams { criterion, shape });
        }
    }
    let best = search(&grid, |params| params.check(), table, data, seed, threads)?;
    let settled = format!(
        "{}, {}",
        depth(best.shape.max_depth),
        criterion(best.criterion)
    );
    Ok((Ensemble::Tree(best.check()?.fit(table, seed)?), settled))
}

/// The grid of table 7 of paper 003: features at a cut, depth, criterion.
fn forest(
    table: &Dataset,
    data: &Training<'_>,
    seed: u64,
    threads: Threads,
) -> Result<(Ensemble, String), FitPredictorError> {
    let columns = table.columns();
    let mut counts = vec![
        columns,
        columns.isqrt().max(1),
        columns.ilog2().max(1) as usize,
    ];
    counts.dedup();
    let mut grid = Vec::new();
    for &count in &counts {
        for criterion in CRITERIA {
            for max_depth in DEPTHS {
                grid.push(RandomForestParams {
                    trees: SEARCHED_TREES,
                    criterion,
                    shape: TreeShape {
                        max_depth,
                        max_features: MaxFeatures::Count(count),
                        ..TreeShape::default()
                    },
                    ..RandomForestParams::default()
                });
            }
        }
    }
    let best = search(&grid, |params| params.check(), table, data, seed, threads)?;
    let best = RandomForestParams {
        trees: TREES,
        ..best
    };
    let features = match best.shape.max_features {
        MaxFeatures::Count(count) if count < columns => format!("{count} of {columns} features"),
        _ => "all features".to_owned(),
    };
    let settled = format!(
        "{TREES} trees, {}, {features}, {}",
        depth(best.shape.max_depth),
        criterion(best.criterion)
    );
    let forest = best.check()?.fit(table, seed, threads)?;
    Ok((Ensemble::Forest(forest), settled))
}

/// The grid of table 10 of paper 003: number of trees, loss, depth.
fn boost(
    table: &Dataset,
    data: &Training<'_>,
    seed: u64,
    threads: Threads,
) -> Result<(Ensemble, String), FitPredictorError> {
    let losses = [
        BoostLoss::Squared,
        BoostLoss::Absolute,
        BoostLoss::Huber { quantile: 0.9 },
    ];
    let mut grid = Vec::new();
    for trees in [50, 200] {
        for loss in losses {
            for deep in [2, 3, 5] {
                grid.push(GradientBoostingParams {
                    trees,
                    loss,
                    shape: TreeShape {
                        max_depth: Some(deep),
                        ..TreeShape::default()
                    },
                    ..GradientBoostingParams::default()
                });
            }
        }
    }
    let best = search(&grid, |params| params.check(), table, data, seed, threads)?;
    let loss = match best.loss {
        BoostLoss::Squared => "squared",
        BoostLoss::Absolute => "absolute",
        BoostLoss::Huber { .. } => "Huber's",
    };
    let settled = format!(
        "{} trees, {}, {loss} error",
        best.trees,
        depth(best.shape.max_depth)
    );
    Ok((Ensemble::Boost(best.check()?.fit(table, seed)?), settled))
}

fn depth(most: Option<usize>) -> String {
    most.map_or("any depth".to_owned(), |most| format!("depth {most}"))
}

fn criterion(criterion: SplitCriterion) -> &'static str {
    match criterion {
        SplitCriterion::Squared => "squared error",
        SplitCriterion::Absolute => "absolute error",
    }
}
