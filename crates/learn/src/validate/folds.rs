//! Dividing rows into those to learn from and those to judge by.

use paceline_numeric::Chance;
use std::collections::BTreeMap;
use thiserror::Error;

/// The rows to learn from and the rows to judge by; together all rows, each
/// once, both ascending and both with at least one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    train: Vec<usize>,
    test: Vec<usize>,
}

impl Fold {
    /// The rows to learn from.
    pub fn train(&self) -> &[usize] {
        &self.train
    }

    /// The rows to judge by.
    pub fn test(&self) -> &[usize] {
        &self.test
    }

    fn all(count: usize, fold_of: &[usize]) -> Vec<Self> {
        let of = |fold| {
            let (test, train) = (0..fold_of.len()).partition(|&row| fold_of[row] == fold);
            Self { train, test }
        };
        (0..count).map(of).collect()
    }
}

/// Why rows cannot be divided so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FoldError {
    /// One fold leaves nothing to learn from.
    #[error("{folds} folds; at least two are needed")]
    TooFewFolds {
        /// How many folds were asked for.
        folds: usize,
    },
    /// Some folds would have no row.
    #[error("{rows} rows cannot be divided into {folds} folds")]
    TooFewRows {
        /// How many folds were asked for.
        folds: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// Some folds would have no group.
    #[error("{groups} groups cannot be divided into {folds} folds")]
    TooFewGroups {
        /// How many folds were asked for.
        folds: usize,
        /// How many distinct groups there are.
        groups: usize,
    },
}

/// Folds whose sizes differ by one row at most, in random order.
pub fn k_fold(rows: usize, folds: usize, seed: u64) -> Result<Vec<Fold>, FoldError> {
    if folds < 2 {
        return Err(FoldError::TooFewFolds { folds });
    }
    if rows < folds {
        return Err(FoldError::TooFewRows { folds, rows });
    }
    let mut fold_of: Vec<usize> = (0..rows).map(|row| row % folds).collect();
    Chance::of_learner(seed, 0).shuffle(&mut fold_of);
    Ok(Fold::all(folds, &fold_of))
}

/// Folds that keep the rows of a group together, as even as the groups allow.
///
/// `groups` names the group of each row. Groups are taken in random order, the
/// larger ones first, each into the smallest fold so far.
pub fn grouped_k_fold<G: Ord>(
    groups: &[G],
    folds: usize,
    seed: u64,
) -> Result<Vec<Fold>, FoldError> {
    if folds < 2 {
        return Err(FoldError::TooFewFolds { folds });
    }
    let mut members: Vec<Vec<usize>> = by_group(groups);
    if members.len() < folds {
        return Err(FoldError::TooFewGroups {
            folds,
            groups: members.len(),
        });
    }
    Chance::of_learner(seed, 0).shuffle(&mut members);
    members.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
    let mut fold_of = vec![0; groups.len()];
    let mut sizes = vec![0; folds];
    for rows in members {
        let smallest = (0..folds)
            .min_by_key(|&fold| sizes[fold])
            .expect("there are at least two folds");
        sizes[smallest] += rows.len();
        for row in rows {
            fold_of[row] = smallest;
        }
    }
    Ok(Fold::all(folds, &fold_of))
}

/// One fold per group, which is judged by what was learned from all others, in
/// ascending order of group.
pub fn leave_one_group_out<G: Ord>(groups: &[G]) -> Result<Vec<Fold>, FoldError> {
    let members = by_group(groups);
    if members.len() < 2 {
        return Err(FoldError::TooFewGroups {
            folds: 2,
            groups: members.len(),
        });
    }
    let mut fold_of = vec![0; groups.len()];
    for (fold, rows) in members.iter().enumerate() {
        for &row in rows {
            fold_of[row] = fold;
        }
    }
    Ok(Fold::all(members.len(), &fold_of))
}

fn by_group<G: Ord>(groups: &[G]) -> Vec<Vec<usize>> {
    let mut members: BTreeMap<&G, Vec<usize>> = BTreeMap::new();
    for (row, group) in groups.iter().enumerate() {
        members.entry(group).or_default().push(row);
    }
    members.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_divisions_say_what_is_missing() {
        assert_eq!(k_fold(10, 1, 0), Err(FoldError::TooFewFolds { folds: 1 }));
        assert_eq!(
            k_fold(2, 3, 0),
            Err(FoldError::TooFewRows { folds: 3, rows: 2 })
        );
        assert_eq!(
            grouped_k_fold(&["a", "a", "b"], 3, 0),
            Err(FoldError::TooFewGroups {
                folds: 3,
                groups: 2
            })
        );
        assert!(leave_one_group_out(&["a", "a"]).is_err());
    }

    #[test]
    fn one_group_is_left_out_at_a_time() {
        let folds = leave_one_group_out(&["b", "a", "b", "c"]).unwrap();
        let tests: Vec<&[usize]> = folds.iter().map(Fold::test).collect();
        assert_eq!(tests, [&[1][..], &[0, 2], &[3]]);
    }

    #[test]
    fn groups_of_equal_size_are_spread_evenly() {
        let groups: Vec<usize> = (0..30).map(|row| row / 3).collect();
        for fold in grouped_k_fold(&groups, 5, 1).unwrap() {
            assert_eq!(fold.test().len(), 6);
        }
    }
}
