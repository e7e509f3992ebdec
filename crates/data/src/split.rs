//! Rows to judge by, for data that comes without them.

use std::fmt;
use std::str::FromStr;

use crate::chance::Purpose;

/// Which rows are held out for the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Holdout {
    /// The data set's own test rows; where it has none, this part of each
    /// class, drawn with the seed.
    Fraction(TestFraction),
    /// One of several folds of the training rows, for cross-validation. The
    /// data set's own test rows stay out of it.
    Fold(Fold),
}

/// A part of the rows, between zero and one, both excluded.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct TestFraction(f64);

/// One of at least two folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    index: u32,
    of: u32,
}

/// Why a value is no test fraction or fold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HoldoutError {
    /// The part is not strictly between zero and one.
    #[error("a test fraction lies between 0 and 1, not at {0}")]
    Fraction(f64),
    /// There are fewer than two folds, or the fold is not one of them.
    #[error("fold {index} of {of} does not exist")]
    Fold {
        /// The fold, counted from zero.
        index: u32,
        /// How many there are.
        of: u32,
    },
    /// The text is neither a fraction nor `fold:I/K`.
    #[error("`{0}` is neither a test fraction such as 0.2 nor a fold such as `fold:1/5`")]
    Text(String),
}

impl TestFraction {
    /// A part strictly between zero and one.
    pub fn new(fraction: f64) -> Result<Self, HoldoutError> {
        if fraction > 0.0 && fraction < 1.0 {
            Ok(Self(fraction))
        } else {
            Err(HoldoutError::Fraction(fraction))
        }
    }

    /// The part as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Fold {
    /// Fold `index`, counted from zero, of `of` folds.
    pub fn new(index: u32, of: u32) -> Result<Self, HoldoutError> {
        if of >= 2 && index < of {
            Ok(Self { index, of })
        } else {
            Err(HoldoutError::Fold { index, of })
        }
    }

    /// All folds of a cross-validation.
    pub fn all(of: u32) -> Result<Vec<Self>, HoldoutError> {
        Self::new(0, of)?;
        Ok((0..of).map(|index| Self { index, of }).collect())
    }

    /// Which fold, counted from zero.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many folds there are.
    pub fn of(self) -> u32 {
        self.of
    }
}

impl Default for Holdout {
    fn default() -> Self {
        Self::Fraction(TestFraction(0.2))
    }
}

/// As a user types it: `0.2`, or `fold:1/5` for the first of five.
impl FromStr for Holdout {
    type Err = HoldoutError;

    fn from_str(text: &str) -> Result<Self, HoldoutError> {
        let unknown = || HoldoutError::Text(text.into());
        if let Some(fold) = text.strip_prefix("fold:") {
            let (number, of) = fold.split_once('/').ok_or_else(unknown)?;
            let number: u32 = number.parse().map_err(|_| unknown())?;
            let of = of.parse().map_err(|_| unknown())?;
            let index = number.checked_sub(1).ok_or_else(unknown)?;
            Fold::new(index, of).map(Self::Fold)
        } else {
            let fraction = text.parse().map_err(|_| unknown())?;
            TestFraction::new(fraction).map(Self::Fraction)
        }
    }
}

impl fmt::Display for Holdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fraction(fraction) => write!(f, "{}", fraction.0),
            Self::Fold(fold) => write!(f, "fold:{}/{}", fold.index + 1, fold.of),
        }
    }
}

/// The rows to learn from and the rows to judge by, each ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Rows to learn from.
    pub train: Vec<u32>,
    /// Rows to judge by.
    pub test: Vec<u32>,
}

/// Divides rows by their class, so that both parts have the classes in the
/// same proportion, as nearly as whole rows allow.
///
/// For a fraction, each class gives its rounded share of rows, drawn without
/// replacement; a class of one row gives it to the training part. For a fold,
/// the rows of all classes are shuffled within their class, laid end to end
/// and dealt to the folds in turn, so folds differ by at most one row, in all
/// and in each class. The same seed gives the same division on every machine.
///
/// # Panics
///
/// If there are more rows than 32 bits can number.
pub fn stratified(labels: &[u32], holdout: Holdout, seed: u64) -> Parts {
    let classes = labels
        .iter()
        .max()
        .map_or(0, |largest| *largest as usize + 1);
    let mut rows_of = vec![Vec::new(); classes];
    for (row, label) in labels.iter().enumerate() {
        let row = u32::try_from(row).expect("a data set numbers its rows with 32 bits");
        rows_of[*label as usize].push(row);
    }
    let purpose = match holdout {
        Holdout::Fraction(_) => Purpose::Holdout,
        Holdout::Fold(_) => Purpose::Folds,
    };
    let mut chance = purpose.chance(seed);
    let mut parts = Parts {
        train: Vec::with_capacity(labels.len()),
        test: Vec::new(),
    };
    let mut dealt = 0_u64;
    for rows in &mut rows_of {
        chance.shuffle(rows);
        match holdout {
            Holdout::Fraction(TestFraction(fraction)) => {
                let share = (rows.len() as f64 * fraction).round() as usize;
                let (test, train) = rows.split_at(share.min(rows.len().saturating_sub(1)));
                parts.test.extend_from_slice(test);
                parts.train.extend_from_slice(train);
            }
            Holdout::Fold(fold) => {
                for row in rows.iter() {
                    let held_out = dealt % u64::from(fold.of) == u64::from(fold.index);
                    if held_out {
                        &mut parts.test
                    } else {
                        &mut parts.train
                    }
                    .push(*row);
                    dealt += 1;
                }
            }
        }
    }
    parts.train.sort_unstable();
    parts.test.sort_unstable();
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fraction(part: f64) -> Holdout {
        Holdout::Fraction(TestFraction::new(part).unwrap())
    }

    proptest! {
        #[test]
        fn every_row_is_in_exactly_one_part(
            labels in proptest::collection::vec(0_u32..4, 0..300),
            seed: u64,
            part in 0.01_f64..0.99,
        ) {
            let parts = stratified(&labels, fraction(part), seed);
            let mut all = [parts.train, parts.test].concat();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..labels.len() as u32));
        }

        #[test]
        fn every_row_is_tested_in_exactly_one_fold(
            labels in proptest::collection::vec(0_u32..4, 0..300),
            seed: u64,
            of in 2_u32..8,
        ) {
            let mut tested = Vec::new();
            for fold in Fold::all(of).unwrap() {
                let parts = stratified(&labels, Holdout::Fold(fold), seed);
                prop_assert!(parts.test.len() >= labels.len() / of as usize);
                for class in 0..4 {
                    let all = labels.iter().filter(|label| **label == class).count();
                    let here = parts.test.iter().filter(|row| labels[**row as usize] == class).count();
                    prop_assert!(here.abs_diff(all / of as usize) <= 1);
                }
                tested.extend(parts.test);
            }
            tested.sort_unstable();
            prop_assert!(tested.into_iter().eq(0..labels.len() as u32));
        }
    }

    #[test]
    fn both_parts_have_the_classes_in_proportion() {
        let labels: Vec<u32> = (0..1000).map(|row| u32::from(row % 10 == 0)).collect();
        let parts = stratified(&labels, fraction(0.2), 1);
        let rare = parts.test.iter().filter(|row| labels[**row as usize] == 1);
        assert_eq!((parts.test.len(), rare.count()), (200, 20));
    }

    #[test]
    fn another_seed_holds_out_other_rows() {
        let labels = vec![0; 100];
        assert_ne!(
            stratified(&labels, fraction(0.2), 1),
            stratified(&labels, fraction(0.2), 2)
        );
    }

    #[test]
    fn the_words_for_a_holdout_are_read_back_as_written() {
        for word in ["0.25", "fold:1/5", "fold:5/5"] {
            assert_eq!(word.parse::<Holdout>().unwrap().to_string(), word);
        }
        for wrong in [
            "", "1", "0", "nan", "fold:0/5", "fold:6/5", "fold:1/1", "fold:1",
        ] {
            assert!(wrong.parse::<Holdout>().is_err(), "{wrong}");
        }
    }
}
