use std::collections::BTreeMap;

use paceline_design::{FractionBy, Kind, Request};

use crate::{standard, unit_factors};

/// Word-length patterns from length 3 on, trailing zeros left out.
///
/// Up to 64 runs: Chen, Sun and Wu (1993), *International Statistical Review*
/// 61 (also Wu and Hamada, *Experiments*, appendix of chapter 5). Those of
/// 128 runs are what the enumeration below finds; Xu (2009), *Technometrics* 51,
/// enumerated the same designs.
const PATTERNS: &[(usize, u32, &[u64])] = &[
    (4, 8, &[0, 1]),
    (5, 8, &[2, 1]),
    (6, 8, &[4, 3]),
    (7, 8, &[7, 7, 0, 0, 1]),
    (5, 16, &[0, 0, 1]),
    (6, 16, &[0, 3]),
    (7, 16, &[0, 7]),
    (8, 16, &[0, 14, 0, 0, 0, 1]),
    (9, 16, &[4, 14, 8, 0, 4, 1]),
    (10, 16, &[8, 18, 16, 8, 8, 5]),
    (11, 16, &[12, 26, 28, 24, 20, 13, 4]),
    (12, 16, &[16, 39, 48, 48, 48, 39, 16, 0, 0, 1]),
    (13, 16, &[22, 55, 72, 96, 116, 87, 40, 16, 6, 1]),
    (14, 16, &[28, 77, 112, 168, 232, 203, 112, 56, 28, 7]),
    (
        15,
        16,
        &[35, 105, 168, 280, 435, 435, 280, 168, 105, 35, 0, 0, 1],
    ),
    (6, 32, &[0, 0, 0, 1]),
    (7, 32, &[0, 1, 2]),
    (8, 32, &[0, 3, 4]),
    (9, 32, &[0, 6, 8, 0, 0, 1]),
    (10, 32, &[0, 10, 16, 0, 0, 5]),
    (11, 32, &[0, 25, 0, 27, 0, 10, 0, 1]),
    (12, 32, &[0, 38, 0, 52, 0, 33, 0, 4]),
    (13, 32, &[0, 55, 0, 96, 0, 87, 0, 16, 0, 1]),
    (14, 32, &[0, 77, 0, 168, 0, 203, 0, 56, 0, 7]),
    (15, 32, &[0, 105, 0, 280, 0, 435, 0, 168, 0, 35]),
    (7, 64, &[0, 0, 0, 0, 1]),
    (8, 64, &[0, 0, 2, 1]),
    (9, 64, &[0, 1, 4, 2]),
    (10, 64, &[0, 2, 8, 4, 0, 1]),
    (11, 64, &[0, 4, 14, 8, 0, 3, 2]),
    (12, 64, &[0, 6, 24, 16, 0, 9, 8]),
    (13, 64, &[0, 14, 28, 24, 24, 17, 12, 8]),
    (14, 64, &[0, 22, 40, 36, 56, 49, 24, 20, 8]),
    (15, 64, &[0, 30, 60, 60, 105, 105, 60, 60, 30, 0, 0, 0, 1]),
    (8, 128, &[0, 0, 0, 0, 0, 1]),
    (9, 128, &[0, 0, 0, 3]),
    (10, 128, &[0, 0, 3, 3, 1]),
    (11, 128, &[0, 0, 6, 6, 2, 1]),
    (12, 128, &[0, 1, 8, 12, 8, 1, 0, 0, 0, 1]),
    (13, 128, &[0, 2, 16, 18, 10, 9, 4, 2, 2]),
    (14, 128, &[0, 3, 24, 36, 16, 11, 24, 12, 0, 1]),
    (15, 128, &[0, 7, 32, 52, 40, 35, 48, 28, 8, 5]),
];

fn pattern(factors: usize, runs: u32) -> Vec<u64> {
    let kind = Kind::Fractional(FractionBy::Runs(runs));
    let design = standard(unit_factors(factors), kind);
    let mut pattern = design
        .properties()
        .word_length_pattern
        .unwrap()
        .split_off(3);
    while pattern.last() == Some(&0) {
        pattern.pop();
    }
    pattern
}

#[test]
fn every_catalogued_fraction_has_the_known_word_length_pattern() {
    for (factors, runs, wanted) in PATTERNS {
        assert_eq!(
            pattern(*factors, *runs),
            *wanted,
            "{factors} factors in {runs} runs"
        );
    }
}

#[test]
fn the_catalogue_is_complete_up_to_fifteen_factors_and_128_runs() {
    let mut count = 0;
    for factors in 3..=15_usize {
        for power in 2..=7_u32 {
            let possible = (power as usize) < factors && factors < 1 << power;
            let kind = Kind::Fractional(FractionBy::Runs(1 << power));
            let planned = Request::new(unit_factors(factors), kind).plan(0);
            assert_eq!(planned.is_ok(), possible || factors == power as usize);
            count += usize::from(possible);
        }
    }
    // The list above leaves out only the three factors in four runs.
    assert_eq!(count, PATTERNS.len() + 1);
}

/// All ways to add columns one by one, designs with equal invariants counted
/// once. The invariant is the word-length pattern with those of all designs
/// that leave one factor out.
///
/// Up to half as many factors as runs some design has resolution IV, and leaving
/// out a factor never lowers the resolution, so from 64 runs on words of three
/// letters need not be followed.
fn enumerate(power: u32, most_factors: usize) {
    let identities: Vec<MacWilliams> = (0..=most_factors).map(MacWilliams::new).collect();
    let base: Vec<u32> = (0..power).map(|i| 1 << i).collect();
    let mut designs = vec![base];
    for factors in power as usize + 1..=most_factors {
        let mut classes: BTreeMap<Vec<Vec<i64>>, Vec<u32>> = BTreeMap::new();
        for design in &designs {
            for column in (1..1_u32 << power).filter(|column| !design.contains(column)) {
                let is_product = |a: &u32| design.contains(&(a ^ column));
                if power >= 6 && design.iter().any(is_product) {
                    continue;
                }
                let mut extended = design.clone();
                extended.push(column);
                let key = invariant(&extended, power, &identities);
                classes.entry(key).or_insert(extended);
            }
        }
        let (best, _) = classes.first_key_value().unwrap();
        let mut least: Vec<u64> = best[0][3..].iter().map(|n| *n as u64).collect();
        while least.last() == Some(&0) {
            least.pop();
        }
        assert_eq!(
            pattern(factors, 1 << power),
            least,
            "{factors} factors, 2^{power} runs"
        );
        designs = classes.into_values().collect();
    }
}

#[test]
fn no_fraction_of_up_to_64_runs_has_less_aberration_than_the_catalogue() {
    enumerate(3, 7);
    enumerate(4, 15);
    enumerate(5, 15);
    enumerate(6, 15);
}

#[test]
fn no_fraction_of_128_runs_and_up_to_15_factors_has_less_aberration_than_the_catalogue() {
    enumerate(7, 15);
}

fn invariant(columns: &[u32], power: u32, identities: &[MacWilliams]) -> Vec<Vec<i64>> {
    let k = columns.len();
    let rows: Vec<Vec<usize>> = (0..1_u32 << power)
        .map(|row| {
            columns
                .iter()
                .map(|c| ((row & c).count_ones() % 2) as usize)
                .collect()
        })
        .collect();
    let weight: Vec<usize> = rows.iter().map(|row| row.iter().sum()).collect();
    let mut patterns: Vec<Vec<i64>> = (0..k)
        .map(|left_out| {
            let mut weights = vec![0; k];
            for (row, weight) in rows.iter().zip(&weight) {
                weights[weight - row[left_out]] += 1;
            }
            identities[k - 1].word_lengths(&weights, power)
        })
        .collect();
    patterns.sort();
    let mut weights = vec![0; k + 1];
    weight.iter().for_each(|w| weights[*w] += 1);
    patterns.insert(0, identities[k].word_lengths(&weights, power));
    patterns
}

/// The pattern of words from the weights of the rows by MacWilliams's identity,
/// which shares nothing with the multiplication of words.
struct MacWilliams {
    krawtchouk: Vec<Vec<i64>>,
}

impl MacWilliams {
    fn new(k: usize) -> Self {
        let choose = |n: usize, r: usize| -> i64 {
            (0..r).fold(1, |product, i| product * (n - i) as i64 / (i + 1) as i64)
        };
        let entry = |length: usize, weight: usize| -> i64 {
            (0..=length.min(weight))
                .filter(|j| length - j <= k - weight)
                .map(|j| {
                    let sign = if j % 2 == 0 { 1 } else { -1 };
                    sign * choose(weight, j) * choose(k - weight, length - j)
                })
                .sum()
        };
        Self {
            krawtchouk: (0..=k)
                .map(|i| (0..=k).map(|w| entry(i, w)).collect())
                .collect(),
        }
    }

    fn word_lengths(&self, weights: &[i64], power: u32) -> Vec<i64> {
        let sum = |row: &Vec<i64>| -> i64 { row.iter().zip(weights).map(|(a, b)| a * b).sum() };
        self.krawtchouk
            .iter()
            .map(|row| sum(row) >> power)
            .collect()
    }
}
