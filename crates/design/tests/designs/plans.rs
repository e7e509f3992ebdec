use std::collections::BTreeSet;

use paceline_design::{
    Condition, Factor, Factors, Forbidden, Kind, ModelTerms, Order, Partner, Request, Run, Term,
    Test,
};
use paceline_model::Level;
use proptest::prelude::*;

use crate::{coded, factors_with, generated, oracle, standard, unit_factors};

proptest! {
    #[test]
    fn full_factorials_hold_every_combination_equally_often(
        levels in prop::collection::vec((2_i64..5, any::<bool>()), 1..5),
        replicates in 1_u32..4,
        seed: u64,
    ) {
        let counts: Vec<i64> = levels.iter().map(|(n, word)| if *word { -n } else { *n }).collect();
        let mut request = Request::new(factors_with(&counts), Kind::Full);
        request.replicates = replicates;
        let design = request.plan(seed).unwrap();
        let combinations: i64 = levels.iter().map(|(n, _)| n).product();
        prop_assert_eq!(design.trial_count() as i64, combinations);
        let distinct: BTreeSet<String> =
            (0..combinations as u32).map(|t| format!("{:?}", design.settings(t))).collect();
        prop_assert_eq!(distinct.len() as i64, combinations);
        let properties = design.properties();
        prop_assert!(properties.balanced && properties.is_orthogonal());
        for trial in 0..combinations as u32 {
            let mut repeats: Vec<u32> =
                design.runs().iter().filter(|r| r.trial == trial).map(|r| r.replicate).collect();
            repeats.sort_unstable();
            prop_assert_eq!(repeats, (0..replicates).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_seed_is_one_plan_and_random_order_only_reorders(seed: u64) {
        let mut request = Request::new(factors_with(&[2, 3, -2]), Kind::Full);
        request.replicates = 2;
        let random = request.plan(seed).unwrap();
        prop_assert_eq!(&random, &request.plan(seed).unwrap());
        request.order = Order::Standard;
        let standard = request.plan(seed).unwrap();
        let mut runs: Vec<Run> = random.runs().to_vec();
        runs.sort_by_key(|run| run.standard);
        prop_assert_eq!(runs.as_slice(), standard.runs());
    }
}

#[test]
fn the_order_of_a_seed_is_that_of_an_independent_chacha8() {
    let shuffles = oracle()["shuffles"].clone();
    for (seed, wanted) in shuffles.as_object().unwrap() {
        let levels = (0..40).map(Level::Integer).collect();
        let factors = Factors::new(vec![Factor::new("x", levels).unwrap()]).unwrap();
        let design = Request::new(factors, Kind::Full)
            .plan(seed.parse().unwrap())
            .unwrap();
        let order: Vec<u64> = design
            .runs()
            .iter()
            .map(|run| u64::from(run.standard))
            .collect();
        let wanted: Vec<u64> = wanted
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect();
        assert_eq!(order, wanted, "seed {seed}");
    }
}

#[test]
fn one_at_a_time_moves_one_factor_from_the_control() {
    let control = vec![("x2".to_owned(), Level::Integer(1))];
    let design = standard(factors_with(&[3, 2, -2]), Kind::OneAtATime { control });
    let rows: Vec<Vec<i64>> = design
        .runs()
        .iter()
        .map(|run| {
            design
                .levels(run.trial)
                .map(|l| l.as_number().unwrap() as i64)
                .collect()
        })
        .collect();
    assert_eq!(
        rows,
        [[0, 1, 0], [1, 1, 0], [2, 1, 0], [0, 0, 0], [0, 1, 1]]
    );
    let assessment = design.assess(&ModelTerms::TwoFactor, None).unwrap();
    let estimable: Vec<bool> = assessment.terms.iter().map(|term| term.estimable).collect();
    assert!(
        !estimable[3..].iter().any(|e| *e),
        "no interaction is estimable"
    );
}

#[test]
fn forbidden_combinations_are_left_out_of_a_full_factorial() {
    let condition = |factor: &str, test| Condition {
        factor: factor.to_owned(),
        test,
    };
    let mut request = Request::new(factors_with(&[3, 3]), Kind::Full);
    request.forbidden = vec![Forbidden(vec![
        condition("x1", Test::AtLeast(1.0)),
        condition("x2", Test::Is(Level::Integer(2))),
    ])];
    let design = request.plan(1).unwrap();
    assert_eq!(design.runs().len(), 7);
    assert!(!design.properties().balanced);
}

#[test]
fn centre_points_visit_every_level_of_a_factor_without_a_middle() {
    let whole = |low, high| vec![Level::Integer(low), Level::Integer(high)];
    let factors = Factors::new(vec![
        Factor::new("batch", whole(64, 256)).unwrap(),
        Factor::categorical("sync", whole(0, 1)).unwrap(),
        Factor::new("nodes", whole(1, 2)).unwrap(),
    ])
    .unwrap();
    let mut request = Request::new(factors, Kind::TwoLevel);
    request.centre_points = Some(3);
    request.order = Order::Standard;
    let design = request.plan(1).unwrap();
    assert_eq!((design.trial_count(), design.runs().len()), (12, 20));
    let centres = &coded(&design)[8..];
    assert!(
        centres
            .iter()
            .all(|row| row[0] == 0.0 && row[1].abs() == 1.0 && row[2].abs() == 1.0)
    );
}

#[test]
fn a_confounded_term_names_its_partners() {
    let kind = generated(4, &["D = ABC"]);
    let design = standard(unit_factors(4), kind);
    let assessment = design.assess(&ModelTerms::TwoFactor, None).unwrap();
    let ab = assessment
        .terms
        .iter()
        .find(|t| t.term == Term::interaction(&[0, 1]))
        .unwrap();
    assert!(!ab.estimable);
    assert_eq!(
        ab.confounded_with,
        [Partner::Term(Term::interaction(&[2, 3]))]
    );
    assert!(assessment.terms[..4].iter().all(|term| term.estimable));
    assert_eq!(assessment.rank, 8);
    let squares = ModelTerms::Explicit(vec![Term::powers([(0, 2)])]);
    let square = &design.assess(&squares, None).unwrap().terms[0];
    assert_eq!(square.confounded_with, [Partner::Intercept]);
}

#[test]
fn expected_totals_count_every_run_at_its_own_levels() {
    let mut request = Request::new(factors_with(&[3, 2]), Kind::Full);
    request.replicates = 5;
    let design = request.plan(1).unwrap();
    let seconds = |levels: &[Level]| 10.0 * levels[0].as_number().unwrap() + 1.0;
    assert_eq!(
        design.expected_total(seconds),
        5.0 * 2.0 * (1.0 + 11.0 + 21.0)
    );
}

#[test]
fn a_plan_of_a_hundred_thousand_runs_is_complete() {
    let mut request = Request::new(factors_with(&[10, 10, 10, -10]), Kind::Full);
    request.replicates = 10;
    let design = request.plan(1).unwrap();
    assert_eq!(design.runs().len(), 100_000);
    let mut standard: Vec<u32> = design.runs().iter().map(|run| run.standard).collect();
    standard.sort_unstable();
    assert!(standard.into_iter().eq(0..100_000));
}
