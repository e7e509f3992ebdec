//! Generated data whose best model is known.

use paceline_numeric::{Chance, Threads, dot};

use crate::chance::Purpose;
use crate::csr::Csr;
use crate::dataset::{DataSet, Features, Labels, Split};
use crate::error::OpenDataError;

/// How many rows share one stream of random numbers. Part of the meaning of a
/// seed: it makes the data the same for every number of threads.
const BLOCK_ROWS: usize = 64;

/// Rows for two-class logistic regression without intercept.
///
/// Each feature is uniform on (−√3, √3), so it has mean 0 and variance 1. The
/// true coefficients are such numbers too, scaled so that the margin `w·x` has
/// a standard deviation of `signal`.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// Rows to learn from.
    pub rows: usize,
    /// Rows to judge by.
    pub test_rows: usize,
    /// Features of a row.
    pub width: usize,
    /// How many features of a row are not zero; all without it. Each falls
    /// into its own of as many equal parts of the columns.
    pub entries: Option<usize>,
    /// The standard deviation of the margin. Larger is easier.
    pub signal: f64,
    /// How a row gets its class.
    pub law: Law,
    /// What determines all random numbers.
    pub seed: u64,
}

/// How the class of a row follows from its features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Class 1 with probability 1 / (1 + exp(−w·x)). The true coefficients
    /// minimise the expected loss; those that minimise the loss of the rows at
    /// hand differ by sampling error.
    Bernoulli,
    /// Rows come in fours with equal features, moved along `w` until
    /// `w·x = ±ln 3`; three of the four have the class of that sign. No model
    /// can have a loss below the entropy of (¼, ¾), and the true coefficients
    /// reach it: they are the optimum of the rows at hand, exact up to the
    /// rounding of single precision, and the only one if the distinct rows
    /// span all columns.
    Exact,
}

/// Generated rows and the truth behind them.
#[derive(Debug, Clone)]
pub struct Generated<T> {
    /// The rows.
    pub split: Split,
    /// What they were drawn from.
    pub truth: T,
}

/// The model that logistic rows were drawn from.
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticTruth {
    /// One per feature. The intercept is zero.
    pub coefficients: Vec<f32>,
    /// The least mean loss (natural logarithm) that any model can have on
    /// these rows, where it is known: under [`Law::Exact`].
    pub optimal_loss: Option<f64>,
}

/// Rows in round clouds, one cloud per class: features are normal with
/// variance 1 around the centre of the class; the coordinates of the centres
/// are normal with standard deviation `spread`. Classes take turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Blobs {
    /// Rows to learn from.
    pub rows: usize,
    /// Rows to judge by.
    pub test_rows: usize,
    /// Features of a row.
    pub width: usize,
    /// How many clouds there are.
    pub classes: usize,
    /// How far apart they are.
    pub spread: f64,
    /// What determines all random numbers.
    pub seed: u64,
}

/// The centres of the clouds. The classifier with the least expected error is
/// softmax with weights `centre` and intercept `−|centre|² / 2`, since the
/// clouds are normal with equal covariance (Hastie, Tibshirani and Friedman
/// 2009, section 4.3).
#[derive(Debug, Clone, PartialEq)]
pub struct BlobsTruth {
    /// One row of `width` coordinates per class.
    pub centres: Vec<f32>,
}

impl Logistic {
    /// Draws the rows on up to `threads` threads. The result does not depend
    /// on how many there are.
    pub fn generate(&self, threads: usize) -> Result<Generated<LogisticTruth>, OpenDataError> {
        // Sizes are checked before the first number is drawn.
        for rows in [self.rows, self.test_rows] {
            let width = self.entries_per_row();
            let fits = rows.checked_mul(width).and_then(|size| size.checked_mul(4));
            let columns = self.entries.is_none() || u32::try_from(self.width).is_ok();
            if !columns || fits.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
                return Err(OpenDataError::TooLarge { rows, width });
            }
        }
        let coefficients = self.coefficients();
        let split = Split {
            train: self.draw(self.rows, Purpose::TrainRows, &coefficients, threads)?,
            test: self.draw(self.test_rows, Purpose::TestRows, &coefficients, threads)?,
        };
        let optimal_loss = match self.law {
            Law::Bernoulli => None,
            Law::Exact => Some(-0.25 * libm::log(0.25) - 0.75 * libm::log(0.75)),
        };
        Ok(Generated {
            split,
            truth: LogisticTruth {
                coefficients,
                optimal_loss,
            },
        })
    }

    fn entries_per_row(&self) -> usize {
        self.entries.unwrap_or(self.width).min(self.width)
    }

    fn coefficients(&self) -> Vec<f32> {
        let mut coefficients = vec![0.0; self.width];
        Purpose::Coefficients
            .chance(self.seed)
            .fill_uniform(&mut coefficients);
        let scale = self.signal / (self.entries_per_row().max(1) as f64).sqrt();
        for coefficient in &mut coefficients {
            *coefficient = (f64::from(*coefficient) * scale) as f32;
        }
        coefficients
    }

    fn draw(
        &self,
        rows: usize,
        purpose: fn(u64) -> Purpose,
        coefficients: &[f32],
        threads: usize,
    ) -> Result<DataSet, OpenDataError> {
        let entries = self.entries_per_row();
        let sparse = self.entries.is_some();
        let too_large = || OpenDataError::TooLarge {
            rows,
            width: entries,
        };
        let size = rows.checked_mul(entries).ok_or_else(too_large)?;
        let mut values = zeros::<f32>(size).ok_or_else(too_large)?;
        let mut columns = zeros::<u32>(if sparse { size } else { 0 }).ok_or_else(too_large)?;
        let mut labels = zeros::<u32>(rows).ok_or_else(too_large)?;
        let block_size = (BLOCK_ROWS * entries).max(1);
        let mut column_blocks = columns.chunks_mut(block_size);
        let blocks: Vec<_> = values
            .chunks_mut(block_size)
            .zip(labels.chunks_mut(BLOCK_ROWS))
            .enumerate()
            .map(|(block, (values, labels))| Block {
                chance: purpose(block as u64).chance(self.seed),
                columns: column_blocks.next().unwrap_or_default(),
                values,
                labels,
            })
            .collect();
        Threads::new(threads).for_each(blocks, |mut block| {
            block.fill(self, entries, coefficients);
        });
        let features = if sparse {
            let indptr: Vec<u64> = (0..=rows as u64).map(|row| row * entries as u64).collect();
            let csr = Csr::new(indptr, columns, values, self.width)
                .expect("each entry lies in its own part of the columns");
            Features::Sparse(csr)
        } else {
            Features::Dense {
                values: values.into(),
                width: self.width,
            }
        };
        let name = if sparse {
            "synthetic:sparse"
        } else {
            "synthetic:dense"
        };
        data_set(name, features, labels, 2)
    }
}

/// Consecutive rows that share a stream of random numbers.
struct Block<'a> {
    chance: Chance,
    columns: &'a mut [u32],
    values: &'a mut [f32],
    labels: &'a mut [u32],
}

impl Block<'_> {
    fn fill(&mut self, law: &Logistic, entries: usize, coefficients: &[f32]) {
        let sparse = law.entries.is_some();
        let mut gathered = vec![0.0; if sparse { entries } else { 0 }];
        let mut majority = 0;
        for (row, label) in self.labels.iter_mut().enumerate() {
            let range = row * entries..(row + 1) * entries;
            // Blocks begin with the first of four.
            let member = row % 4;
            if law.law == Law::Exact && member > 0 {
                let before = range.start - entries..range.start;
                self.values.copy_within(before.clone(), range.start);
                if sparse {
                    self.columns.copy_within(before, range.start);
                }
                *label = if member == 3 { 1 - majority } else { majority };
                continue;
            }
            let values = &mut self.values[range.clone()];
            self.chance.fill_uniform(values);
            let weights = if sparse {
                let columns = &mut self.columns[range];
                draw_columns(&mut self.chance, columns, law.width);
                for (weight, column) in gathered.iter_mut().zip(columns) {
                    *weight = coefficients[*column as usize];
                }
                &gathered
            } else {
                coefficients
            };
            let margin = dot(values, weights);
            *label = match law.law {
                Law::Bernoulli => {
                    let probability = 1.0 / (1.0 + libm::exp(-margin));
                    u32::from(self.chance.unit() < probability)
                }
                Law::Exact => {
                    let target = if margin < 0.0 { -LN_3 } else { LN_3 };
                    move_margin(values, weights, margin, target);
                    majority = u32::from(target > 0.0);
                    majority
                }
            };
        }
    }
}

/// One column in each of as many equal parts of the columns: distinct and
/// ascending without a search.
fn draw_columns(chance: &mut Chance, columns: &mut [u32], width: usize) {
    let parts = columns.len() as u64;
    // Both factors are below 2³², which `generate` has checked.
    let bound = |part: usize| (part as u64 * width as u64 / parts) as u32;
    for (part, column) in columns.iter_mut().enumerate() {
        let (low, high) = (bound(part), bound(part + 1));
        *column = low + chance.below((high - low) as usize) as u32;
    }
}

const LN_3: f64 = 1.098_612_288_668_109_8;

/// Moves a row along the weights until its margin is `target`.
fn move_margin(values: &mut [f32], weights: &[f32], margin: f64, target: f64) {
    let square = dot(weights, weights);
    if square == 0.0 {
        return;
    }
    let step = (target - margin) / square;
    for (value, weight) in values.iter_mut().zip(weights) {
        *value = (f64::from(*value) + step * f64::from(*weight)) as f32;
    }
}

impl Blobs {
    /// Draws the rows.
    pub fn generate(&self) -> Result<Generated<BlobsTruth>, OpenDataError> {
        let mut chance = Purpose::Coefficients.chance(self.seed);
        let size = self.classes.checked_mul(self.width);
        let mut centres = size.and_then(zeros::<f32>).ok_or(OpenDataError::TooLarge {
            rows: self.classes,
            width: self.width,
        })?;
        for coordinate in &mut centres {
            *coordinate = (self.spread * chance.normal()) as f32;
        }
        let truth = BlobsTruth { centres };
        let split = Split {
            train: self.draw(self.rows, Purpose::TrainRows(0), &truth)?,
            test: self.draw(self.test_rows, Purpose::TestRows(0), &truth)?,
        };
        Ok(Generated { split, truth })
    }

    fn draw(
        &self,
        rows: usize,
        purpose: Purpose,
        truth: &BlobsTruth,
    ) -> Result<DataSet, OpenDataError> {
        let size = rows.checked_mul(self.width);
        let mut values = size.and_then(zeros::<f32>).ok_or(OpenDataError::TooLarge {
            rows,
            width: self.width,
        })?;
        let mut chance = purpose.chance(self.seed);
        let labels: Vec<u32> = (0..rows).map(|row| (row % self.classes) as u32).collect();
        for (row, label) in values.chunks_mut(self.width).zip(&labels) {
            let centre = &truth.centres[*label as usize * self.width..][..self.width];
            for (value, coordinate) in row.iter_mut().zip(centre) {
                *value = (f64::from(*coordinate) + chance.normal()) as f32;
            }
        }
        let features = Features::Dense {
            values: values.into(),
            width: self.width,
        };
        data_set("synthetic:blobs", features, labels, self.classes)
    }
}

fn data_set(
    name: &str,
    features: Features,
    labels: Vec<u32>,
    classes: usize,
) -> Result<DataSet, OpenDataError> {
    let names = (0..classes).map(|class| class.to_string()).collect();
    Labels::new(labels, names)
        .and_then(|labels| DataSet::new(name, features, labels))
        .map_err(|source| OpenDataError::Shape {
            name: name.into(),
            source,
        })
}

/// Zeroed memory, if the system would give it. It is touched first by the
/// thread that fills it.
fn zeros<T: Clone + Default>(length: usize) -> Option<Vec<T>> {
    Vec::<T>::new().try_reserve_exact(length).ok()?;
    Some(vec![T::default(); length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(law: Law, entries: Option<usize>) -> Logistic {
        Logistic {
            rows: 4000,
            test_rows: 100,
            width: 20,
            entries,
            signal: 2.0,
            law,
            seed: 1,
        }
    }

    fn for_each_row(set: &DataSet, mut visit: impl FnMut(&[(usize, f64)], u32)) {
        for (row, label) in set.labels().iter().enumerate() {
            let entries: Vec<(usize, f64)> = match set.features() {
                Features::Dense { values, width } => values[row * width..][..*width]
                    .iter()
                    .map(|value| f64::from(*value))
                    .enumerate()
                    .collect(),
                Features::Sparse(csr) => {
                    let (columns, values) = csr.row(row);
                    let columns = columns.iter().map(|column| *column as usize);
                    columns
                        .zip(values.iter().map(|value| f64::from(*value)))
                        .collect()
                }
                _ => panic!("logistic rows are dense or sparse"),
            };
            visit(&entries, *label);
        }
    }

    /// Mean loss and its gradient at the true coefficients.
    fn loss_at_truth(generated: &Generated<LogisticTruth>) -> (f64, Vec<f64>) {
        let weights = &generated.truth.coefficients;
        let set = &generated.split.train;
        let rows = set.rows() as f64;
        let (mut loss, mut gradient) = (0.0, vec![0.0; weights.len()]);
        for_each_row(set, |entries, label| {
            let margin: f64 = entries
                .iter()
                .map(|(column, value)| value * f64::from(weights[*column]))
                .sum();
            let y = f64::from(label);
            let p = 1.0 / (1.0 + (-margin).exp());
            loss -= (y * p.ln() + (1.0 - y) * (1.0 - p).ln()) / rows;
            for (column, value) in entries {
                gradient[*column] += (p - y) * value / rows;
            }
        });
        (loss, gradient)
    }

    #[test]
    fn the_exact_law_has_its_optimum_at_the_true_coefficients() {
        for entries in [None, Some(5)] {
            let generated = example(Law::Exact, entries).generate(2).unwrap();
            let (loss, gradient) = loss_at_truth(&generated);
            // Margins are exact to the rounding of features in single
            // precision, about 1e-7 each.
            assert!((loss - generated.truth.optimal_loss.unwrap()).abs() < 1e-6);
            assert!(gradient.iter().all(|slope| slope.abs() < 1e-6));
        }
    }

    #[test]
    fn under_the_bernoulli_law_the_slope_at_the_truth_is_sampling_error() {
        for entries in [None, Some(5)] {
            let generated = example(Law::Bernoulli, entries).generate(2).unwrap();
            let (_, gradient) = loss_at_truth(&generated);
            // Each coordinate has a standard error of at most ½/√rows; five.
            let bound = 5.0 * 0.5 / 4000_f64.sqrt();
            assert!(gradient.iter().all(|slope| slope.abs() < bound));
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        for entries in [None, Some(5)] {
            let law = example(Law::Bernoulli, entries);
            let (one, three) = (law.generate(1).unwrap(), law.generate(3).unwrap());
            assert_eq!(one.split.train.features(), three.split.train.features());
            assert_eq!(one.split.train.labels(), three.split.train.labels());
        }
    }

    #[test]
    fn seeds_and_parts_have_rows_of_their_own() {
        let first = example(Law::Bernoulli, None).generate(1).unwrap();
        let mut other = example(Law::Bernoulli, None);
        other.seed = 2;
        let other = other.generate(1).unwrap();
        assert_ne!(first.split.train.features(), other.split.train.features());
        assert_ne!(
            first.split.train.slice(0..100).features(),
            first.split.test.features()
        );
    }

    #[test]
    fn the_known_classifier_of_blobs_is_nearly_always_right_when_they_are_far_apart() {
        let blobs = Blobs {
            rows: 500,
            test_rows: 200,
            width: 10,
            classes: 4,
            spread: 3.0,
            seed: 1,
        };
        let generated = blobs.generate().unwrap();
        let mut right = 0;
        for_each_row(&generated.split.test, |entries, label| {
            let score = |class: usize| -> f64 {
                let centre = &generated.truth.centres[class * 10..][..10];
                entries
                    .iter()
                    .map(|(column, value)| {
                        let centre = f64::from(centre[*column]);
                        value * centre - centre * centre / 2.0
                    })
                    .sum()
            };
            let best = (0..4).max_by(|a, b| score(*a).total_cmp(&score(*b)));
            right += u32::from(best == Some(label as usize));
        });
        assert!(right >= 198, "{right} of 200");
    }

    #[test]
    fn sizes_beyond_memory_are_an_error() {
        let mut law = example(Law::Bernoulli, None);
        law.width = 1 << 31;
        law.rows = 1 << 40;
        assert!(law.generate(1).is_err());
    }
}
