use paceline_design::{
    Alpha, CentralComposite, CompositeCube, CompositeShape, Design, Effect, Kind, ModelTerms,
    Request, Term,
};

use crate::{factors_with, oracle, standard, unit_factors};

fn replicated(factors: paceline_design::Factors, replicates: u32) -> Design {
    let mut request = Request::new(factors, Kind::Full);
    request.replicates = replicates;
    request.plan(1).unwrap()
}

#[test]
fn power_agrees_with_scipy() {
    let composite = CentralComposite {
        shape: CompositeShape::FaceCentred,
        alpha: Alpha::Rotatable,
        cube: CompositeCube::Full,
    };
    for case in oracle()["powers"].as_array().unwrap() {
        let (design, terms) = match case["design"].as_str().unwrap() {
            "2^3 twice" => (replicated(unit_factors(3), 2), ModelTerms::TwoFactor),
            "3x2 three times" => (replicated(factors_with(&[-3, 2]), 3), ModelTerms::Main),
            "face-centred" => (
                standard(unit_factors(2), Kind::CentralComposite(composite)),
                ModelTerms::Quadratic,
            ),
            other => panic!("no design for {other}"),
        };
        let term = match case["term"].as_str().unwrap() {
            "0" => Term::main(0),
            "1" => Term::main(1),
            "0:1" => Term::interaction(&[0, 1]),
            "0^2" => Term::powers([(0, 2)]),
            other => panic!("no term for {other}"),
        };
        let size = case["size"].as_f64().unwrap();
        let effect = Effect::new(size, 1.0, 0.05).unwrap();
        let assessment = design.assess(&terms, Some(effect)).unwrap();
        let found = assessment
            .terms
            .iter()
            .find(|t| t.term == term)
            .unwrap()
            .power
            .unwrap();
        let wanted = case["power"].as_f64().unwrap();
        // SciPy's noncentral F keeps about ten digits.
        assert!((found - wanted).abs() < 1e-8, "{case}: {found}");
    }
}

#[test]
fn power_grows_with_replicates_and_is_alpha_without_an_effect() {
    let power = |replicates, size| {
        let effect = Effect::new(size, 2.0, 0.01).unwrap();
        let design = replicated(factors_with(&[2, -3]), replicates);
        let assessment = design.assess(&ModelTerms::TwoFactor, Some(effect)).unwrap();
        assessment
            .terms
            .iter()
            .map(|term| term.power.unwrap())
            .collect::<Vec<_>>()
    };
    for (few, many) in power(2, 1.0).iter().zip(power(4, 1.0)) {
        assert!(*few < many);
    }
    for none in power(2, 0.0) {
        assert!((none - 0.01).abs() < 1e-10);
    }
}

#[test]
fn impossible_effects_are_refused() {
    assert!(Effect::new(f64::NAN, 1.0, 0.05).is_err());
    assert!(Effect::new(1.0, 0.0, 0.05).is_err());
    let error = Effect::new(1.0, 1.0, 5.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the significance level must lie between 0 and 1, not 5"
    );
}

#[test]
fn without_residual_degrees_of_freedom_there_is_no_power() {
    let design = standard(unit_factors(2), Kind::TwoLevel);
    let effect = Effect::new(1.0, 1.0, 0.05).unwrap();
    let assessment = design.assess(&ModelTerms::TwoFactor, Some(effect)).unwrap();
    assert_eq!(assessment.residual_df, 0);
    assert!(
        assessment
            .terms
            .iter()
            .all(|term| term.estimable && term.power.is_none())
    );
}
