//! What must hold for every hypothesis test and all data.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::checks::{self, Groups, SampleError};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases on every machine; a failure is repeated by running again.
fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20_240_229),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn values(size: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-100.0..100.0_f64, size)
}

fn some_groups() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(values(3..12), 2..6)
}

type GroupTest = fn(&Groups<'_>) -> Result<(f64, f64), SampleError>;

/// Statistic and p-value of every test that compares groups.
const GROUP_TESTS: [(&str, GroupTest); 6] = [
    ("one-way", |g| {
        checks::one_way_anova(g).map(|t| (t.statistic, t.p))
    }),
    ("Welch", |g| {
        checks::welch_anova(g).map(|t| (t.statistic, t.p))
    }),
    ("Kruskal", |g| {
        checks::kruskal_wallis(g).map(|t| (t.statistic, t.p))
    }),
    ("Bartlett", |g| {
        checks::bartlett(g).map(|t| (t.statistic, t.p))
    }),
    ("Levene", |g| checks::levene(g).map(|t| (t.statistic, t.p))),
    ("Brown", |g| {
        checks::brown_forsythe(g).map(|t| (t.statistic, t.p))
    }),
];

fn apply(test: GroupTest, groups: &[Vec<f64>]) -> (f64, f64) {
    let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
    test(&Groups::new(&slices).unwrap()).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(seeded(128))]

    #[test]
    fn tests_of_groups_ignore_shift_scale_and_order(
        groups in some_groups(),
        shift in -1e3..1e3_f64,
        scale in 0.01..100.0_f64,
    ) {
        for (name, test) in GROUP_TESTS {
            let (statistic, p) = apply(test, &groups);
            prop_assert!((0.0..=1.0).contains(&p), "{name}: p is {p}");
            prop_assert!(statistic >= 0.0);
            let moved: Vec<Vec<f64>> = groups
                .iter()
                .map(|g| g.iter().map(|v| shift - scale * v).collect())
                .collect();
            let reordered: Vec<Vec<f64>> = groups
                .iter()
                .rev()
                .map(|g| g.iter().rev().copied().collect())
                .collect();
            for (change, changed) in [("moved", moved), ("reordered", reordered)] {
                let (other, other_p) = apply(test, &changed);
                prop_assert!(close(statistic, other, 1e-8), "{name} {change}: {statistic} {other}");
                prop_assert!(close(p, other_p, 1e-8), "{name} {change}: {p} {other_p}");
            }
        }
    }

    #[test]
    fn tests_of_normality_ignore_shift_scale_and_order(
        sample in values(8..60),
        shift in -1e3..1e3_f64,
        scale in 0.01..100.0_f64,
    ) {
        let moved: Vec<f64> = sample.iter().rev().map(|v| shift - scale * v).collect();
        for test in [checks::shapiro_wilk, checks::anderson_darling] {
            let (a, b) = (test(&sample).unwrap(), test(&moved).unwrap());
            prop_assert!(close(a.statistic, b.statistic, 1e-9));
            prop_assert!(close(a.p, b.p, 1e-7));
            prop_assert!((0.0..=1.0).contains(&a.p));
        }
        let w = checks::shapiro_wilk(&sample).unwrap().statistic;
        prop_assert!(w > 0.0 && w <= 1.0);
    }

    #[test]
    fn corrections_keep_the_order_and_only_raise(p in prop::collection::vec(0.0..=1.0_f64, 1..30)) {
        let holm = checks::holm(&p).unwrap();
        for i in 0..p.len() {
            // Never more than Bonferroni's correction.
            prop_assert!(p[i] <= holm[i] && holm[i] <= (p.len() as f64 * p[i]).min(1.0));
            for j in 0..p.len() {
                if p[i] <= p[j] {
                    prop_assert!(holm[i] <= holm[j]);
                }
            }
        }
    }

    #[test]
    fn lenth_scales_with_the_effects(effects in values(3..32), scale in 0.01..100.0_f64) {
        let one = checks::lenth(&effects, 0.95).unwrap();
        let scaled: Vec<f64> = effects.iter().map(|e| -scale * e).collect();
        let other = checks::lenth(&scaled, 0.95).unwrap();
        prop_assert!(close(one.margin * scale, other.margin, 1e-12));
        prop_assert!(one.simultaneous_margin >= one.margin);
        for (a, b) in one.effects.iter().zip(&other.effects) {
            prop_assert!(close(a.p, b.p, 1e-9));
        }
    }

    #[test]
    fn breusch_and_pagan_ignore_a_recoding_of_the_columns(
        rows in prop::collection::vec((-5.0..5.0_f64, -5.0..5.0_f64, -5.0..5.0_f64), 8..40),
    ) {
        let e: Vec<f64> = rows.iter().map(|r| r.0).collect();
        let x: Vec<f64> = rows.iter().map(|r| r.1).collect();
        let z: Vec<f64> = rows.iter().map(|r| r.2).collect();
        let mixed: Vec<f64> = rows.iter().map(|r| 3.0 * r.1 - 100.0 * r.2 + 7.0).collect();
        let ones = vec![1.0; rows.len()];
        let one = checks::breusch_pagan(&e, &[&x, &z]).unwrap();
        let other = checks::breusch_pagan(&e, &[&ones, &mixed, &x, &z]).unwrap();
        prop_assert!(close(one.lagrange.statistic, other.lagrange.statistic, 1e-8));
        prop_assert_eq!(one.lagrange.df, other.lagrange.df);
        prop_assert!(close(one.f.p, other.f.p, 1e-8));
    }
}

proptest! {
    #![proptest_config(seeded(24))]

    #[test]
    fn durbin_and_watson_ignore_scale_sign_and_direction(e in values(10..40)) {
        let t = checks::durbin_watson(&e, &[]).unwrap();
        prop_assert!(t.statistic >= 0.0 && t.statistic <= 4.0);
        for p in [t.p_positive, t.p_negative, t.p()] {
            prop_assert!((0.0..=1.0).contains(&p));
        }
        let doubled: Vec<f64> = e.iter().map(|v| -2.0 * v).collect();
        let other = checks::durbin_watson(&doubled, &[]).unwrap();
        prop_assert!(close(t.p_positive, other.p_positive, 1e-9));
        let reversed: Vec<f64> = e.iter().rev().copied().collect();
        let other = checks::durbin_watson(&reversed, &[]).unwrap();
        prop_assert!(close(t.p_positive, other.p_positive, 1e-9));
    }

    #[test]
    fn intervals_of_pairs_agree_with_their_p_values(groups in prop::collection::vec(values(3..8), 2..4)) {
        let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let groups = Groups::new(&slices).unwrap();
        for test in [checks::tukey_hsd, checks::games_howell] {
            for pair in test(&groups, 0.95).unwrap() {
                let excludes_zero = pair.lower > 0.0 || pair.upper < 0.0;
                prop_assert_eq!(excludes_zero, pair.p < 0.05);
                prop_assert!(pair.lower <= pair.difference && pair.difference <= pair.upper);
            }
        }
    }

    #[test]
    fn a_shuffled_p_value_is_never_zero_and_repeats(groups in some_groups(), seed: u64) {
        let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let response = groups.concat();
        let ones = vec![1.0; response.len()];
        let own: Vec<usize> = (0..groups.len())
            .flat_map(|group| std::iter::repeat_n(group, groups[group].len()))
            .collect();
        let dummies: Vec<Vec<f64>> = (1..groups.len())
            .map(|group| own.iter().map(|&of| f64::from(u8::from(of == group))).collect())
            .collect();
        let added: Vec<&[f64]> = dummies.iter().map(Vec::as_slice).collect();
        let test = || checks::freedman_lane(&response, &[&ones], &added, 99, seed).unwrap();
        let once = test();
        prop_assert!(once.p >= 0.01 && once.p <= 1.0);
        prop_assert_eq!(once, test());
        let f = checks::one_way_anova(&Groups::new(&slices).unwrap()).unwrap();
        prop_assert!(close(once.statistic, f.statistic, 1e-8));
    }
}

#[test]
fn data_that_cannot_be_tested_are_refused_with_the_reason() {
    let too_few = SampleError::TooFew {
        needed: 3,
        found: 2,
    };
    assert_eq!(checks::shapiro_wilk(&[1.0, 2.0]), Err(too_few));
    assert_eq!(checks::shapiro_wilk(&[7.1; 10]), Err(SampleError::Constant));
    assert_eq!(
        checks::anderson_darling(&[0.1; 10]),
        Err(SampleError::Constant)
    );
    assert_eq!(
        checks::shapiro_wilk(&[0.0; 5001]),
        Err(SampleError::TooMany {
            limit: 5000,
            found: 5001
        })
    );
    let error = checks::shapiro_wilk(&[1.0, f64::NAN, 2.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "value 1 is NaN; the test needs finite numbers"
    );
    let error = checks::shapiro_wilk(&[1.0, 2.0, 1e200]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "value 2 is 1e200; the test needs values within ±1e150"
    );
    assert_eq!(
        checks::durbin_watson(&[1.0; 3], &[&[1.0; 4]]),
        Err(SampleError::LengthMismatch {
            expected: 3,
            found: 4
        })
    );
    assert!(matches!(
        Groups::new(&[&[1.0]]),
        Err(SampleError::TooFewGroups { found: 1 })
    ));
    assert!(matches!(
        Groups::new(&[&[1.0], &[]]),
        Err(SampleError::SmallGroup {
            group: 1,
            needed: 1,
            found: 0
        })
    ));
    assert!(matches!(
        Groups::new(&[&[1.0], &[2.0, f64::INFINITY]]),
        Err(SampleError::NotFinite { index: 2, .. })
    ));

    let single: [&[f64]; 2] = [&[1.0], &[2.0]];
    let single = Groups::new(&single).unwrap();
    let few = SampleError::TooFew {
        needed: 3,
        found: 2,
    };
    assert_eq!(checks::one_way_anova(&single), Err(few));
    assert_eq!(checks::tukey_hsd(&single, 0.95), Err(few));
    let small = SampleError::SmallGroup {
        group: 0,
        needed: 2,
        found: 1,
    };
    assert_eq!(checks::bartlett(&single), Err(small));

    let constant: [&[f64]; 2] = [&[3.0, 3.0, 3.0], &[3.0, 3.0]];
    let constant = Groups::new(&constant).unwrap();
    assert_eq!(checks::one_way_anova(&constant), Err(SampleError::Constant));
    assert_eq!(
        checks::kruskal_wallis(&constant),
        Err(SampleError::Constant)
    );
    assert_eq!(checks::levene(&constant), Err(SampleError::Constant));
    assert_eq!(
        checks::tukey_hsd(&constant, 0.95),
        Err(SampleError::Constant)
    );
    assert_eq!(
        checks::welch_anova(&constant),
        Err(SampleError::ConstantGroup { group: 0 })
    );

    let varied: [&[f64]; 2] = [&[1.0, 2.0], &[2.0, 4.0]];
    let varied = Groups::new(&varied).unwrap();
    assert_eq!(
        checks::tukey_hsd(&varied, 1.0),
        Err(SampleError::Level { level: 1.0 })
    );

    let e = [0.5, -0.25, 1.0, -1.25, 0.75];
    assert_eq!(
        checks::breusch_pagan(&e, &[&[2.0; 5]]),
        Err(SampleError::NothingAdded)
    );
    assert_eq!(
        checks::durbin_watson(&[0.0; 5], &[]),
        Err(SampleError::Constant)
    );
    assert_eq!(
        checks::freedman_lane(&e, &[&[1.0; 5]], &[&[4.0; 5]], 9, 1),
        Err(SampleError::NothingAdded)
    );
    assert_eq!(
        checks::lenth(&[1.0, 0.0, 0.0, 0.0], 0.95),
        Err(SampleError::Constant)
    );
    let error = checks::holm(&[0.5, 1.5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p-value 1 is 1.5, which is not between 0 and 1"
    );
}

#[test]
fn fewer_neighbours_alike_make_a_larger_durbin_watson_p() {
    let ones = [1.0; 12];
    let smooth: Vec<f64> = (0..12).map(|i| (f64::from(i) - 5.5).signum()).collect();
    let alternating: Vec<f64> = (0..12)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    let smooth = checks::durbin_watson(&smooth, &[&ones]).unwrap();
    let alternating = checks::durbin_watson(&alternating, &[&ones]).unwrap();
    assert!(smooth.p_positive < 0.001 && alternating.p_negative < 0.001);
    assert!(smooth.p() < 0.002);
}
