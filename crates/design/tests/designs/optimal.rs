use std::sync::Arc;

use paceline_design::{
    Budget, Condition, Forbidden, FractionBy, Kind, ModelTerms, Optimal, Request, Term, Test,
};
use paceline_model::Level;

use crate::{coded, factors_with, standard, unit_factors};

fn optimal(terms: ModelTerms, runs: u32) -> Kind {
    Kind::Optimal(Optimal::new(terms, runs))
}

#[test]
fn saturated_main_effect_designs_reach_the_greatest_determinant_of_signs() {
    // The greatest determinants of n × n matrices of ±1 (OEIS A003433).
    for (n, greatest) in [
        (3, 4.0),
        (4, 16.0),
        (5, 48.0),
        (6, 160.0),
        (7, 576.0),
        (8, 4096.0),
    ] {
        let design = standard(unit_factors(n - 1), optimal(ModelTerms::Main, n as u32));
        let assessment = design.assess(&ModelTerms::Main, None).unwrap();
        let wanted = f64::powf(greatest * greatest, 1.0 / n as f64) / n as f64;
        let found = assessment.d_efficiency.unwrap();
        assert!(
            (found - wanted).abs() < 1e-9,
            "{n} runs: {found} is not {wanted}"
        );
    }
}

#[test]
fn with_enough_runs_it_is_as_good_as_an_orthogonal_design() {
    let design = standard(unit_factors(4), optimal(ModelTerms::TwoFactor, 16));
    let full = standard(unit_factors(4), Kind::TwoLevel);
    let efficiency = |d: &paceline_design::Design| {
        d.assess(&ModelTerms::TwoFactor, None)
            .unwrap()
            .d_efficiency
            .unwrap()
    };
    assert!((efficiency(&full) - 1.0).abs() < 1e-12);
    assert!((efficiency(&design) - 1.0).abs() < 1e-9);
    let half = standard(unit_factors(5), Kind::Fractional(FractionBy::Resolution(5)));
    let optimal = standard(unit_factors(5), optimal(ModelTerms::TwoFactor, 16));
    assert!(efficiency(&optimal) > efficiency(&half) - 1e-9);
}

#[test]
fn a_quadratic_model_gets_middle_levels_and_beats_the_composite() {
    let design = standard(unit_factors(2), optimal(ModelTerms::Quadratic, 9));
    let mut rows = coded(&design);
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    // The best nine points on {-1, 0, 1}² are all nine (Box and Draper 1971).
    let grid: Vec<Vec<f64>> = [-1.0, 0.0, 1.0]
        .iter()
        .flat_map(|x| [-1.0, 0.0, 1.0].map(|y| vec![*x, y]))
        .collect();
    assert_eq!(rows, grid);
}

#[test]
fn categories_are_balanced_when_the_runs_allow_it() {
    let design = standard(factors_with(&[-3, -4]), optimal(ModelTerms::Main, 12));
    let properties = design.properties();
    assert!(properties.balanced && properties.is_orthogonal());
    let efficiency = design
        .assess(&ModelTerms::Main, None)
        .unwrap()
        .d_efficiency
        .unwrap();
    assert!((efficiency - 1.0).abs() < 1e-9);
}

#[test]
fn forbidden_combinations_are_avoided_and_the_model_stays_estimable() {
    let is = |factor: &str, level: i64| Condition {
        factor: factor.to_owned(),
        test: Test::Is(Level::Integer(level)),
    };
    let mut request = Request::new(
        factors_with(&[3, 3, -3]),
        optimal(ModelTerms::TwoFactor, 20),
    );
    request.forbidden = vec![
        Forbidden(vec![is("x1", 2), is("x2", 2)]),
        Forbidden(vec![
            is("x3", 0),
            Condition {
                factor: "x1".into(),
                test: Test::AtMost(0.5),
            },
        ]),
    ];
    let design = request.plan(5).unwrap();
    for run in design.runs() {
        let levels: Vec<f64> = design
            .levels(run.trial)
            .map(|level| level.as_number().unwrap())
            .collect();
        assert!(!(levels[0] == 2.0 && levels[1] == 2.0));
        assert!(!(levels[2] == 0.0 && levels[0] <= 0.5));
    }
    let assessment = design.assess(&ModelTerms::TwoFactor, None).unwrap();
    assert!(assessment.terms.iter().all(|term| term.estimable));
}

#[test]
fn a_budget_is_kept_and_buys_less_than_no_budget() {
    let cost = |levels: &[Level]| {
        1.0 + levels
            .iter()
            .filter_map(Level::as_number)
            .filter(|x| *x > 0.0)
            .sum::<f64>()
    };
    let plan = |limit: Option<f64>| {
        let mut wanted = Optimal::new(ModelTerms::Main, 8);
        wanted.budget = limit.map(|limit| Budget {
            cost: Arc::new(cost),
            limit,
        });
        Request::new(unit_factors(4), Kind::Optimal(wanted)).plan(2)
    };
    let free = plan(None).unwrap();
    let tight = plan(Some(18.0)).unwrap();
    assert!(free.expected_total(cost) > 18.0);
    assert!(tight.expected_total(cost) <= 18.0);
    let efficiency = |design: &paceline_design::Design| {
        design
            .assess(&ModelTerms::Main, None)
            .unwrap()
            .d_efficiency
            .unwrap()
    };
    assert!(efficiency(&tight) < efficiency(&free));
    let error = plan(Some(7.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "8 runs cost at least 8, more than the budget of 7"
    );
    assert_eq!(error.hint(), "the budget pays for at most 7 runs");
}

#[test]
fn explicit_terms_are_all_that_is_paid_for() {
    let terms = ModelTerms::Explicit(vec![
        Term::main(0),
        Term::main(1),
        Term::main(2),
        Term::interaction(&[0, 2]),
    ]);
    let design = standard(unit_factors(3), optimal(terms.clone(), 5));
    let assessment = design.assess(&terms, None).unwrap();
    assert!(assessment.terms.iter().all(|term| term.estimable));
    assert_eq!(assessment.residual_df, 0);
}
