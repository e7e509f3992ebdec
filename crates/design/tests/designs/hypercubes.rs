use paceline_design::{Kind, Request};
use proptest::prelude::*;

use crate::{coded, factors_with, standard, unit_factors};

fn least_distance(rows: &[Vec<f64>]) -> f64 {
    let mut least = f64::INFINITY;
    for (i, a) in rows.iter().enumerate() {
        for b in &rows[..i] {
            let square: f64 = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum();
            least = least.min(square.sqrt());
        }
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_stratum_of_every_factor_is_used_once(
        factors in 1_usize..6,
        runs in 2_u32..40,
        seed: u64,
    ) {
        let request = Request::new(unit_factors(factors), Kind::LatinHypercube { runs });
        let design = request.plan(seed).unwrap();
        let rows = coded(&design);
        for factor in 0..factors {
            let mut strata: Vec<u32> = rows
                .iter()
                .map(|row| ((row[factor] + 1.0) / 2.0 * f64::from(runs)).floor() as u32)
                .collect();
            strata.sort_unstable();
            prop_assert_eq!(strata, (0..runs).collect::<Vec<_>>());
        }
    }
}

#[test]
fn points_lie_further_apart_than_the_best_of_a_hundred_random_hypercubes() {
    for (factors, runs) in [(2, 10), (3, 20), (6, 30)] {
        let design = standard(unit_factors(factors), Kind::LatinHypercube { runs });
        let found = least_distance(&coded(&design));
        // Columns of designs with one factor are plain random permutations.
        let column = |seed: u64| -> Vec<f64> {
            let request = Request::new(unit_factors(1), Kind::LatinHypercube { runs });
            coded(&request.plan(seed).unwrap())
                .into_iter()
                .map(|row| row[0])
                .collect()
        };
        let best_random = (0..100)
            .map(|attempt| {
                let columns: Vec<Vec<f64>> = (0..factors as u64)
                    .map(|i| column(1000 + attempt * 10 + i))
                    .collect();
                let rows: Vec<Vec<f64>> = (0..runs as usize)
                    .map(|row| columns.iter().map(|column| column[row]).collect())
                    .collect();
                least_distance(&rows)
            })
            .fold(0.0, f64::max);
        assert!(
            found > best_random,
            "{factors} factors: {found} and {best_random}"
        );
    }
}

#[test]
fn categories_and_listed_levels_share_the_strata_evenly() {
    let design = standard(factors_with(&[-3, 4, 2]), Kind::LatinHypercube { runs: 24 });
    let rows = coded(&design);
    for level in [-1.0, 0.0, 1.0] {
        assert_eq!(rows.iter().filter(|row| row[0] == level).count(), 8);
    }
    for level in [-1.0, 1.0] {
        assert_eq!(rows.iter().filter(|row| row[1] == level).count(), 6);
    }
}
