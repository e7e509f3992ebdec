use paceline_design::{
    Condition, Cost, Forbidden, FractionBy, Kind, ModelTerms, Optimal, Request, Term, Test,
};
use paceline_model::Level;

use crate::{factors_with, standard, unit_factors};

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
fn no_choice_of_grid_points_is_better_for_a_quadratic_model() {
    let efficiency = |points: &[[f64; 2]]| {
        let mut gram = [[0.0; 6]; 6];
        for [x, y] in points {
            let row = [1.0, *x, *y, x * y, x * x, y * y];
            for i in 0..6 {
                for j in 0..6 {
                    gram[i][j] += row[i] * row[j];
                }
            }
        }
        determinant(gram).max(0.0).powf(1.0 / 6.0) / points.len() as f64
    };
    let grid: Vec<[f64; 2]> = [-1.0, 0.0, 1.0]
        .iter()
        .flat_map(|x| [-1.0, 0.0, 1.0].map(|y| [*x, y]))
        .collect();
    for runs in 6..=9 {
        let mut best: f64 = 0.0;
        for_each_choice(&grid, runs, &mut Vec::new(), &mut |points| {
            best = best.max(efficiency(points));
        });
        let design = standard(unit_factors(2), optimal(ModelTerms::Quadratic, runs as u32));
        let found = design
            .assess(&ModelTerms::Quadratic, None)
            .unwrap()
            .d_efficiency
            .unwrap();
        assert!(
            (found - best).abs() < 1e-9,
            "{runs} runs: {found} is not {best}"
        );
    }
}

/// Every way to choose so many points, repetition allowed.
fn for_each_choice(
    points: &[[f64; 2]],
    left: usize,
    chosen: &mut Vec<[f64; 2]>,
    visit: &mut impl FnMut(&[[f64; 2]]),
) {
    if left == 0 {
        return visit(chosen);
    }
    for (i, point) in points.iter().enumerate() {
        chosen.push(*point);
        for_each_choice(&points[i..], left - 1, chosen, visit);
        chosen.pop();
    }
}

/// By elimination with pivoting.
fn determinant(mut matrix: [[f64; 6]; 6]) -> f64 {
    let mut product = 1.0;
    for column in 0..6 {
        let largest = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..6)
            .max_by(|a, b| largest(a).total_cmp(&largest(b)))
            .unwrap();
        if matrix[pivot][column].abs() < 1e-9 {
            return 0.0;
        }
        if pivot != column {
            matrix.swap(pivot, column);
            product = -product;
        }
        product *= matrix[column][column];
        let pivot = matrix[column];
        for row in &mut matrix[column + 1..] {
            let factor = row[column] / pivot[column];
            row.iter_mut()
                .zip(pivot)
                .for_each(|(x, y)| *x -= factor * y);
        }
    }
    product
}

#[test]
fn a_run_of_infinite_cost_is_never_bought() {
    let mut wanted = Optimal::new(ModelTerms::Main, 9);
    let cost = |levels: &[Level]| {
        if levels[0] == Level::Integer(2) && levels[1] == Level::Integer(2) {
            f64::INFINITY
        } else {
            1.0
        }
    };
    wanted.budget = Some(9.0);
    let mut request = Request::new(factors_with(&[-3, -3]), Kind::Optimal(wanted));
    request.cost = Some(Cost::new(cost));
    let design = request.plan(4).unwrap();
    assert_eq!(design.expected_total(cost), 9.0);
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
        wanted.budget = limit;
        let mut request = Request::new(unit_factors(4), Kind::Optimal(wanted));
        request.cost = Some(Cost::new(cost));
        request.plan(2)
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
fn a_budget_without_costs_is_refused() {
    let mut wanted = Optimal::new(ModelTerms::Main, 8);
    wanted.budget = Some(18.0);
    let error = Request::new(unit_factors(4), Kind::Optimal(wanted))
        .plan(2)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is a budget, but nothing says what one run costs"
    );
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
