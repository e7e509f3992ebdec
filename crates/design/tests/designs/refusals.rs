use paceline_design::{
    Alpha, CentralComposite, CompositeCube, CompositeShape, Factor, Factors, FractionBy, Kind,
    ModelTerms, Optimal, Request,
};
use paceline_model::Level;

use crate::{factors_with, generated, unit_factors};

fn check(factors: Factors, kind: Kind, error: &str, hint: &str) {
    let refused = Request::new(factors, kind).plan(0).unwrap_err();
    assert_eq!(refused.to_string(), error);
    assert_eq!(refused.hint(), hint);
}

#[test]
fn an_impossible_resolution_names_the_best_one_and_what_would_be_enough() {
    check(
        unit_factors(7),
        Kind::Fractional(FractionBy::RunsAndResolution {
            runs: 16,
            resolution: 6,
        }),
        "no two-level fraction of 7 factors in 16 runs has resolution 6; the best has resolution 4",
        "64 runs are enough for that resolution",
    );
    check(
        unit_factors(12),
        Kind::Fractional(FractionBy::Resolution(5)),
        "no two-level fraction of 12 factors in 128 runs has resolution 5; the best has resolution 4",
        "ask for resolution 4, drop factors, give generators, or use a full or an optimal design",
    );
}

#[test]
fn impossible_numbers_of_runs_name_the_possible_ones() {
    check(
        unit_factors(6),
        Kind::Fractional(FractionBy::Runs(24)),
        "24 runs cannot hold a two-level fraction of 6 factors",
        "possible numbers of runs are 8, 16, 32, 64; use replicates for more",
    );
    check(
        unit_factors(11),
        Kind::PlackettBurman { runs: Some(8) },
        "no Plackett–Burman design has 11 factors in 8 runs",
        "runs must be a multiple of 4 from 12 to 100",
    );
}

#[test]
fn bad_generators_say_what_is_wrong() {
    let refused = |texts: &[&str]| {
        Request::new(unit_factors(5), generated(5, texts))
            .plan(0)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&["E = AB", "E = CD"]),
        "generator `x5 = x3*x4` defines a factor that is already defined, or uses one that is not \
         yet",
    );
    assert!(refused(&["D = AE", "E = AB"]).contains("uses one that is not yet"));
    assert_eq!(
        refused(&["D = AB", "E = AB"]),
        "generator `x5 = x1*x2` makes two factors equal, so neither effect could be told from the \
         other",
    );
    let of_more_factors = Request::new(unit_factors(4), generated(5, &["E = AB"]));
    assert_eq!(
        of_more_factors.plan(0).unwrap_err().to_string(),
        "a generator refers to factor number 5, but there are only 4"
    );
}

#[test]
fn levels_that_do_not_fit_the_design_are_refused() {
    check(
        factors_with(&[2, 3]),
        Kind::TwoLevel,
        "factor `x2` has 3 levels, but this design takes two",
        "list only the lowest and the highest level of `x2`, or use a full or an optimal design",
    );
    check(
        factors_with(&[3, 3, -2]),
        Kind::BoxBehnken,
        "factor `x3` is categorical, but this design needs numbers",
        "use an optimal design, which takes categories too",
    );
    check(
        factors_with(&[3, 3, 2]),
        Kind::BoxBehnken,
        "factor `x3` has no whole value between its levels, but this design needs one",
        "move its levels apart, or use a two-level or an optimal design",
    );
}

#[test]
fn a_batch_size_below_zero_is_never_planned() {
    let batch = vec![Level::Integer(64), Level::Integer(512)];
    let nodes = vec![Level::Integer(10), Level::Integer(12)];
    let factors = Factors::new(vec![
        Factor::new("batch", batch).unwrap(),
        Factor::new("nodes", nodes).unwrap(),
    ])
    .unwrap();
    let composite = CentralComposite {
        shape: CompositeShape::Circumscribed,
        alpha: Alpha::Rotatable,
        cube: CompositeCube::Full,
    };
    check(
        factors,
        Kind::CentralComposite(composite),
        "an axial point would set `batch` to -29, though all its levels are positive",
        "use an inscribed or a face-centred design, or a log scale",
    );
}

#[test]
fn too_large_and_too_small_plans_are_refused() {
    check(
        factors_with(&[10; 8]),
        Kind::Full,
        "the design has more than 1048576 runs",
        "use a fractional, Plackett–Burman, Latin hypercube or optimal design",
    );
    check(
        unit_factors(4),
        Kind::Optimal(Optimal::new(ModelTerms::TwoFactor, 8)),
        "8 runs cannot estimate the model's 11 coefficients",
        "ask for at least 11 runs, or drop terms from the model",
    );
}
