//! A Gaussian process averaged over its hyper-parameters, and a quarter of a
//! forest.

use super::FitPredictorError;
use super::encode::{Encoding, Style};
use super::mixture::{Mixture, Student};
use super::scale::Scale;
use super::training::Training;
use super::trees::Trees;
use paceline_learn::{
    AveragedPrediction, AveragedProcessModel, AveragedProcessParams, Dataset, Features, Threads,
};
use std::sync::Arc;

/// The default predictor. A process with a linear part bends as little as the
/// runs ask for; the forest, which knows cliffs, has a quarter of the say, and
/// where the two disagree, intervals widen. On tables of 8 to 40 runs this keeps
/// its promises better than choosing one predictor by cross-validation:
/// `cargo xtask bench promises`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Averaged {
    encoding: Encoding,
    scale: Scale,
    process: AveragedProcessModel,
    forest: Trees,
    /// The levels of each numeric factor, in order; empty for others.
    levels: Vec<Vec<f64>>,
    student: Arc<Student>,
}

/// The forest's share of the point, at levels that were run.
const FOREST: f64 = 0.25;
const TREES: usize = 60;
/// Candidates further out than this many standard deviations are as unknown as
/// those at this distance.
const FARTHEST: f64 = 1e3;

impl Averaged {
    /// More distinct settings than this take too long.
    pub(crate) const MOST_SETTINGS: usize = 400;

    pub(crate) fn fit(
        data: &Training<'_>,
        seed: u64,
        threads: Threads,
    ) -> Result<Self, FitPredictorError> {
        const LEAST: usize = 4;
        let found = data.settings();
        if found < LEAST {
            return Err(FitPredictorError::TooFewSettings {
                needed: LEAST,
                found,
            });
        }
        if found > Self::MOST_SETTINGS {
            return Err(FitPredictorError::TooManySettings {
                most: Self::MOST_SETTINGS,
                found,
            });
        }
        let style = Style::Places;
        let encoding = Encoding::new(data.factors, data.roles, &data.rows, style, false);
        let scale = data.scale();
        let target: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
        let params = AveragedProcessParams {
            factors: encoding.factor_of_columns(),
        };
        let table = Dataset::new(features(&encoding, &data.rows)?, target)?;
        let process = params.check()?.fit(&table, seed, threads)?;
        Ok(Self {
            student: Arc::new(Student::new(process.freedom())),
            forest: Trees::forest(data, TREES, seed, threads)?,
            levels: levels(data),
            encoding,
            scale,
            process,
        })
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// What a run is believed to yield, on the model's scale: a centre, and a
    /// mixture around it.
    pub(crate) fn beliefs(
        &self,
        configurations: &[&[f64]],
        threads: Threads,
    ) -> Vec<(f64, Mixture)> {
        let rows = features(&self.encoding, configurations).expect("encoded features are finite");
        let said = self.process.predict(&rows, threads);
        let said = said.expect("configurations are encoded as the runs were");
        let forest = self.forest.predict_all(configurations, threads);
        let pairs = said.into_iter().zip(configurations.iter().zip(forest));
        pairs
            .map(|(said, (configuration, forest))| {
                let share = if self.has_levels(configuration) {
                    FOREST
                } else {
                    0.0
                };
                self.belief(said, self.scale.to(forest), share)
            })
            .collect()
    }

    /// Whether every numeric factor is at a level that was run. Between levels a
    /// forest says what it says at one of them, so that it is not asked there.
    fn has_levels(&self, configuration: &[f64]) -> bool {
        let mut pairs = configuration.iter().zip(&self.levels);
        pairs.all(|(value, levels)| {
            let known = |level: &f64| level.total_cmp(&(value + 0.0));
            levels.is_empty() || levels.binary_search_by(known).is_ok()
        })
    }

    /// Where process and forest disagree, both are less sure.
    fn belief(&self, said: AveragedPrediction, forest: f64, share: f64) -> (f64, Mixture) {
        let process = said.mean;
        let centre = (1.0 - share) * process + share * forest;
        let square = |x: f64| x * x;
        let between = (1.0 - share) * square(process - centre) + share * square(forest - centre);
        let disagreement = if said.variance > 0.0 {
            (1.0 + between / said.variance).sqrt()
        } else {
            1.0
        };
        let draws = said.draws.into_iter().zip(self.process.weights());
        let parts = draws.map(|((mean, scale), &weight)| (weight, mean, scale));
        let mixture = Mixture::new(Arc::clone(&self.student), parts.collect());
        let factor = self.process.calibration() * disagreement;
        (centre, mixture.stretched(process, centre, factor))
    }

    /// What the process says of each run without any run of its settings: its
    /// mean and its standard deviation, on the model's scale.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let factor = self.process.calibration();
        let left_out = self.process.left_out().iter();
        left_out.map(move |left| (left.unseen_mean, factor * left.unseen_variance.sqrt()))
    }

    /// How many standard deviations hold a run with that probability.
    pub(crate) fn half_width(&self, coverage: f64) -> f64 {
        self.student.upper_quantile((1.0 - coverage) / 2.0)
    }

    /// How much of the belief is that the spread changes along the factors.
    pub(crate) fn unequal_share(&self) -> f64 {
        self.process.unequal_share()
    }
}

fn levels(data: &Training<'_>) -> Vec<Vec<f64>> {
    let factors = data.factors.iter().enumerate();
    factors
        .map(|(at, factor)| {
            if factor.is_categorical() {
                return Vec::new();
            }
            let mut levels: Vec<f64> = data.rows.iter().map(|row| row[at] + 0.0).collect();
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            levels
        })
        .collect()
}

/// A table has at least one column, also if nothing varied.
fn features(encoding: &Encoding, rows: &[&[f64]]) -> Result<Features, FitPredictorError> {
    let encoded = rows.iter().flat_map(|row| {
        let mut features = encoding.features(row);
        for value in &mut features {
            *value = value.clamp(-FARTHEST, FARTHEST);
        }
        if features.is_empty() {
            features.push(0.0);
        }
        features
    });
    Ok(Features::from_flat(
        encoded.collect(),
        encoding.len().max(1),
    )?)
}
