use paceline_design::{
    Alpha, CentralComposite, CompositeCube, CompositeShape, Factor, Factors, Kind, ModelTerms,
    Request, Scale,
};
use paceline_model::Level;

use crate::{coded, numbers, oracle, standard, unit_factors};

fn composite(shape: CompositeShape, alpha: Alpha, cube: CompositeCube) -> Kind {
    Kind::CentralComposite(CentralComposite { shape, alpha, cube })
}

fn with_centres(factors: usize, kind: Kind, centres: u32) -> Vec<Vec<f64>> {
    let mut request = Request::new(unit_factors(factors), kind);
    request.centre_points = Some(centres);
    let mut rows = coded(&request.plan(3).unwrap());
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    rows
}

fn check_same(found: &[Vec<f64>], wanted: &[Vec<f64>], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (a, b) in found.iter().zip(wanted) {
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() < 1e-11, "{what}: {a:?} is not {b:?}");
        }
    }
}

#[test]
fn rotatable_composites_agree_with_pydoe3() {
    let tables = oracle();
    for (name, shape) in [
        ("ccc", CompositeShape::Circumscribed),
        ("cci", CompositeShape::Inscribed),
        ("ccf", CompositeShape::FaceCentred),
    ] {
        for factors in 2..=4 {
            let kind = composite(shape, Alpha::Rotatable, CompositeCube::Full);
            let what = format!("{name}{factors}");
            let wanted = numbers(&tables["composites"][&what]);
            check_same(&with_centres(factors, kind, 1), &wanted, &what);
        }
    }
}

#[test]
fn box_behnken_designs_agree_with_pydoe3_where_it_follows_the_paper() {
    // From six factors on pyDOE3 combines all pairs, 66 runs, where Box and
    // Behnken have 54.
    for factors in 3..=5 {
        let wanted = numbers(&oracle()["behnken"][&factors.to_string()]);
        check_same(
            &with_centres(factors, Kind::BoxBehnken, 1),
            &wanted,
            "Box–Behnken",
        );
    }
}

#[test]
fn box_behnken_designs_have_the_published_sizes_and_estimate_the_quadratic_model() {
    // Box and Behnken (1960) for 3 to 7 factors.
    for (factors, runs) in [
        (3, 15),
        (4, 27),
        (5, 46),
        (6, 54),
        (7, 62),
        (9, 106),
        (13, 218),
    ] {
        let design = standard(unit_factors(factors), Kind::BoxBehnken);
        assert_eq!(design.runs().len(), runs);
        let extremes = |row: &Vec<f64>| row.iter().all(|x| *x != 0.0);
        assert!(
            !coded(&design).iter().any(extremes),
            "never all factors at an end"
        );
        let assessment = design.assess(&ModelTerms::Quadratic, None).unwrap();
        assert!(
            assessment.terms.iter().all(|term| term.estimable),
            "{factors} factors"
        );
    }
}

#[test]
fn the_orthogonal_distance_makes_quadratic_columns_uncorrelated() {
    for (factors, centres, cube) in [
        (2, 1, CompositeCube::Full),
        (3, 4, CompositeCube::Full),
        (5, 3, CompositeCube::Fraction),
        (6, 2, CompositeCube::Fraction),
    ] {
        let kind = composite(CompositeShape::Circumscribed, Alpha::Orthogonal, cube);
        let rows = with_centres(factors, kind, centres);
        let n = rows.len() as f64;
        let mean: f64 = rows.iter().map(|row| row[0] * row[0]).sum::<f64>() / n;
        let cross: f64 = rows
            .iter()
            .map(|row| (row[0] * row[0] - mean) * (row[1] * row[1] - mean))
            .sum();
        assert!(cross.abs() < 1e-9, "{factors} factors: {cross}");
    }
}

#[test]
fn rotatable_composites_have_the_fourth_moments_of_a_sphere() {
    // Box and Hunter (1957): the sum of fourth powers is three times the sum
    // of products of squares.
    for (factors, cube) in [(2, CompositeCube::Full), (5, CompositeCube::Fraction)] {
        let kind = composite(CompositeShape::Circumscribed, Alpha::Rotatable, cube);
        let rows = with_centres(factors, kind, 2);
        let pure: f64 = rows.iter().map(|row| row[0].powi(4)).sum();
        let mixed: f64 = rows.iter().map(|row| (row[0] * row[1]).powi(2)).sum();
        assert!((pure - 3.0 * mixed).abs() < 1e-9);
    }
}

#[test]
fn composites_estimate_the_quadratic_model_even_on_a_fraction() {
    for factors in 2..=11 {
        let cube = if factors < 5 {
            CompositeCube::Full
        } else {
            CompositeCube::Fraction
        };
        let kind = composite(CompositeShape::FaceCentred, Alpha::Rotatable, cube);
        let design = standard(unit_factors(factors), kind);
        let assessment = design.assess(&ModelTerms::Quadratic, None).unwrap();
        assert!(
            assessment.terms.iter().all(|term| term.estimable),
            "{factors} factors"
        );
    }
}

#[test]
fn centre_runs_are_replicates_of_one_trial() {
    let kind = composite(
        CompositeShape::FaceCentred,
        Alpha::Rotatable,
        CompositeCube::Full,
    );
    let design = standard(unit_factors(2), kind);
    assert_eq!((design.trial_count(), design.runs().len()), (9, 13));
    let centre: Vec<u32> = design
        .runs()
        .iter()
        .filter(|run| run.trial == 8)
        .map(|run| run.replicate)
        .collect();
    assert_eq!(centre, [0, 1, 2, 3, 4]);
}

#[test]
fn log_scales_and_whole_numbers_reach_the_natural_levels() {
    let rate = vec![Level::Number(0.001), Level::Number(0.1)];
    let batch = vec![Level::Integer(64), Level::Integer(256)];
    let factors = Factors::new(vec![
        Factor::numeric("rate", rate, Scale::Log).unwrap(),
        Factor::numeric("batch", batch, Scale::Log).unwrap(),
    ])
    .unwrap();
    let kind = composite(
        CompositeShape::FaceCentred,
        Alpha::Rotatable,
        CompositeCube::Full,
    );
    let design = standard(factors, kind);
    let centre: Vec<Level> = design.levels(8).collect();
    let Level::Number(rate) = centre[0] else {
        panic!("rate is not whole")
    };
    assert!((rate - 0.01).abs() < 1e-15);
    assert_eq!(centre[1], Level::Integer(128));
}
