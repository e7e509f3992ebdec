use paceline_design::{Kind, ModelTerms, Term};

use crate::{coded, standard, unit_factors};

#[test]
fn plackett_burman_designs_are_balanced_and_orthogonal_at_every_size() {
    for runs in (4..=100_u32).step_by(4) {
        let factors = runs as usize - 1;
        let design = standard(unit_factors(factors), Kind::PlackettBurman { runs: None });
        let properties = design.properties();
        assert_eq!(properties.runs, runs as usize);
        assert!(
            properties.balanced && properties.is_orthogonal(),
            "{runs} runs"
        );
        assert_eq!(properties.resolution, Some(3), "{runs} runs");
        // As Plackett and Burman list it, the last run has every factor low.
        assert!(coded(&design)[runs as usize - 1].iter().all(|x| *x == -1.0));
    }
}

#[test]
fn interactions_leak_a_third_into_each_other_main_effect_in_twelve_runs() {
    // Each two-factor interaction is spread with weight ±1/3 over the main
    // effects of the nine other factors (Lin and Draper 1992).
    let design = standard(unit_factors(11), Kind::PlackettBurman { runs: Some(12) });
    let omitted = ModelTerms::Explicit(vec![Term::interaction(&[0, 1])]);
    let biases = design.biases(&ModelTerms::Main, &omitted).unwrap();
    assert_eq!(biases.len(), 9);
    for bias in biases {
        assert!((bias.coefficient.abs() - 1.0 / 3.0).abs() < 1e-12);
        assert!(bias.term != Term::main(0) && bias.term != Term::main(1));
    }
}

#[test]
fn a_doubled_design_with_few_factors_keeps_main_effects_clear_of_interactions() {
    for (factors, runs) in [(8, 16), (20, 40), (12, 56)] {
        let kind = Kind::PlackettBurman { runs: Some(runs) };
        let design = standard(unit_factors(factors), kind);
        assert_eq!(
            design.properties().resolution,
            Some(4),
            "{factors} factors in {runs} runs"
        );
        assert!(
            design
                .biases(&ModelTerms::Main, &ModelTerms::TwoFactor)
                .unwrap()
                .is_empty()
        );
    }
}
