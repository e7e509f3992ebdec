use paceline_design::{
    BlockBy, Blocks, FractionBy, Kind, ModelTerms, Order, Partner, PlanError, Request,
};
use proptest::prelude::*;

use crate::{factors_with, unit_factors};

fn blocked(factors: usize, runs: u32, count: u32) -> Result<paceline_design::Design, PlanError> {
    let kind = Kind::Fractional(FractionBy::Runs(runs));
    let mut request = Request::new(unit_factors(factors), kind);
    request.blocks = Blocks {
        count,
        by: BlockBy::Time,
    };
    request.plan(11)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn blocks_are_of_equal_size_and_confound_no_main_effect(
        factors in 3_usize..=12,
        power in 2_u32..=6,
        split in 1_u32..=3,
    ) {
        prop_assume!(power as usize <= factors && factors < 1 << power && split < power);
        let Ok(design) = blocked(factors, 1 << power, 1 << split) else {
            // Only designs with hardly a free column cannot be blocked.
            prop_assert!(factors + (1 << split) > 1 << (power - 1));
            return Ok(());
        };
        for block in 0..1 << split {
            let size = design.runs().iter().filter(|run| run.block == block).count();
            prop_assert_eq!(size, 1 << (power - split));
        }
        let assessment = design.assess(&ModelTerms::Main, None).unwrap();
        prop_assert!(assessment.terms.iter().all(|term| term.estimable));
    }
}

#[test]
fn a_full_factorial_of_three_in_two_blocks_gives_up_the_three_factor_interaction() {
    let design = blocked(3, 8, 2).unwrap();
    let generators: Vec<String> = design
        .properties()
        .block_generators
        .iter()
        .map(|word| word.letters())
        .collect();
    assert_eq!(generators, ["ABC"]);
    let sets = design.aliases(3).unwrap();
    let lost: Vec<String> = sets
        .iter()
        .filter(|set| set.with_blocks)
        .map(|set| set.effects[0].letters())
        .collect();
    assert_eq!(lost, ["ABC"]);
}

#[test]
fn an_interaction_lost_to_blocks_is_reported_as_such() {
    // Four blocks of two runs must give up two-factor interactions.
    let design = blocked(3, 8, 4).unwrap();
    let assessment = design.assess(&ModelTerms::TwoFactor, None).unwrap();
    let lost: Vec<_> = assessment
        .terms
        .iter()
        .filter(|term| !term.estimable)
        .collect();
    assert_eq!(lost.len(), 3);
    assert!(
        lost.iter()
            .all(|term| term.confounded_with.contains(&Partner::Blocks))
    );
}

#[test]
fn complete_blocks_hold_every_trial_and_run_one_after_the_other() {
    let mut request = Request::new(factors_with(&[3, -2]), Kind::Full);
    request.replicates = 6;
    request.blocks = Blocks {
        count: 3,
        by: BlockBy::Time,
    };
    let design = request.plan(1).unwrap();
    let blocks: Vec<u32> = design.runs().iter().map(|run| run.block).collect();
    assert!(blocks.is_sorted());
    for block in 0..3 {
        for trial in 0..6 {
            let count = design
                .runs()
                .iter()
                .filter(|r| r.block == block && r.trial == trial)
                .count();
            assert_eq!(count, 2);
        }
    }
}

#[test]
fn blocks_cost_degrees_of_freedom_whether_complete_or_not() {
    let kind = Kind::TwoLevel;
    let mut request = Request::new(unit_factors(3), kind);
    request.replicates = 4;
    for (count, residual) in [(1, 32 - 7), (2, 32 - 8), (4, 32 - 10), (8, 32 - 14)] {
        request.blocks.count = count;
        let design = request.plan(1).unwrap();
        let assessment = design.assess(&ModelTerms::TwoFactor, None).unwrap();
        assert_eq!(assessment.residual_df, residual, "{count} blocks");
        assert_eq!(assessment.rank, 32 - residual);
    }
}

#[test]
fn the_smallest_blocks_pair_opposite_runs() {
    // Blocks of two keep main effects only if every factor changes within.
    for factors in 3..=8 {
        let design = blocked(factors, 1 << factors, 1 << (factors - 1)).unwrap();
        let assessment = design.assess(&ModelTerms::Main, None).unwrap();
        assert!(
            assessment.terms.iter().all(|term| term.estimable),
            "{factors} factors"
        );
    }
}

#[test]
fn nodes_take_turns() {
    let mut request = Request::new(factors_with(&[3]), Kind::Full);
    request.replicates = 2;
    request.blocks = Blocks {
        count: 2,
        by: BlockBy::Node,
    };
    let design = request.plan(1).unwrap();
    let blocks: Vec<u32> = design.runs().iter().map(|run| run.block).collect();
    assert_eq!(blocks, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn impossible_blocks_name_the_possible_ones() {
    let mut request = Request::new(factors_with(&[3, 3]), Kind::Full);
    request.replicates = 4;
    request.order = Order::Standard;
    request.blocks.count = 3;
    let error = request.plan(1).unwrap_err();
    assert_eq!(
        error.hint(),
        "with these replicates the blocks can be 1, 2, 4"
    );
    let error = blocked(7, 8, 2).unwrap_err();
    assert_eq!(error.hint(), "with these replicates the blocks can be 1");
}
