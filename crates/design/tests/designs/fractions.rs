use paceline_design::{Fraction, FractionBy, Kind, Request};
use proptest::prelude::*;

use crate::{coded, generated, oracle, signs, standard, texts, unit_factors};

fn fraction(factors: usize, by: FractionBy) -> Fraction {
    let design = standard(unit_factors(factors), Kind::Fractional(by));
    design.fraction().unwrap().clone()
}

/// Table I of Marinos, Voorhout and Tehrany, "Optimization of machine learning
/// training workflows on Apache Spark cluster", as printed.
const PAPER_TABLE_1: [&str; 32] = [
    "------", "+----+", "-+---+", "++----", "--+--+", "+-+---", "-++---", "+++--+", "---+-+",
    "+--+--", "-+----", "++-+-+", "--++--", "+-++-+", "-+++-+", "++++--", "----++", "+---+-",
    "-+--+-", "++--++", "--+-+-", "+-+-++", "-++-++", "+++-+-", "---++-", "+--+++", "-+-+++",
    "++-++-", "--++++", "+-+++-", "-++++-", "++++++",
];

#[test]
fn the_half_fraction_of_six_factors_is_the_table_of_the_spark_paper_but_for_its_misprint() {
    let design = standard(unit_factors(6), generated(6, &["F = A*B*C*D*E"]));
    let rows: Vec<String> = coded(&design)
        .iter()
        .map(|row| {
            row.iter()
                .map(|x| if *x > 0.0 { '+' } else { '-' })
                .collect()
        })
        .collect();
    let differing: Vec<usize> = (0..32)
        .filter(|i| rows[*i] != PAPER_TABLE_1[*i])
        .map(|i| i + 1)
        .collect();
    assert_eq!(differing, [11]);
    // Row 11 is printed with D low. The rows around it, the balance of D and
    // the relation I = ABCDEF all demand D high.
    assert_eq!((PAPER_TABLE_1[10], rows[10].as_str()), ("-+----", "-+-+--"));
    let odd = |row: &&&str| row.matches('-').count() % 2 == 1;
    assert_eq!(
        PAPER_TABLE_1.iter().filter(odd).collect::<Vec<_>>(),
        [&"-+----"]
    );

    let properties = design.properties();
    assert_eq!(properties.runs, 32);
    assert_eq!(properties.resolution, Some(6));
    assert_eq!(properties.defining_relation.as_deref(), Some("I = ABCDEF"));
}

#[test]
fn fractions_agree_with_pydoe3() {
    for case in oracle()["fractions"].as_array().unwrap() {
        let factors = case["factors"].as_u64().unwrap() as usize;
        let generators = texts(&case["generators"]);
        let kind = generated(factors, &generators);
        let design = standard(unit_factors(factors), kind);
        assert_eq!(signs(&design), texts(&case["rows"]), "{generators:?}");

        let fraction = design.fraction().unwrap();
        let resolution = case["resolution"].as_u64().map(|r| r as u32);
        assert_eq!(fraction.resolution(), resolution, "{generators:?}");
        let lengths: Vec<u64> = case["word_lengths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect();
        assert_eq!(fraction.word_length_pattern(), lengths, "{generators:?}");
        let mut words: Vec<String> = fraction
            .words()
            .unwrap()
            .into_iter()
            .map(|w| w.letters())
            .collect();
        words.sort();
        assert_eq!(words, texts(&case["words"]), "{generators:?}");

        let mut aliases: Vec<Vec<String>> = design
            .aliases(2)
            .unwrap()
            .into_iter()
            .filter(|set| set.effects.len() > 1)
            .map(|set| {
                let mut names: Vec<String> = set
                    .effects
                    .into_iter()
                    .map(|effect| effect.letters())
                    .collect();
                names.sort();
                names
            })
            .collect();
        aliases.sort();
        let wanted: Vec<Vec<String>> = case["aliases"]
            .as_array()
            .unwrap()
            .iter()
            .map(texts)
            .collect();
        assert_eq!(aliases, wanted, "{generators:?}");
    }
}

#[test]
fn the_saturated_fraction_of_fifteen_factors_agrees_with_pydoe3() {
    let generators = [
        "E = AB", "F = AC", "G = BC", "H = ABC", "J = AD", "K = BD", "L = ABD", "M = CD",
        "N = ACD", "O = BCD", "P = ABCD",
    ];
    let design = standard(unit_factors(15), generated(15, &generators));
    assert_eq!(signs(&design), texts(&oracle()["saturated"]));
    let properties = design.properties();
    assert_eq!(properties.resolution, Some(3));
    assert!(
        properties
            .defining_relation
            .unwrap()
            .starts_with("I = ABE = ACF = ADJ")
    );
    let lengths = properties.word_length_pattern.unwrap();
    assert_eq!(lengths.iter().sum::<u64>(), (1 << 11) - 1);
    let saturated = &oracle()["saturated_words"];
    let wanted: Vec<u64> = saturated
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    assert_eq!(lengths, wanted);
}

#[test]
fn generators_are_read_by_letter_by_name_and_with_a_sign() {
    let words = |texts: &[&str]| -> Vec<String> {
        let design = standard(unit_factors(4), generated(4, texts));
        design
            .fraction()
            .unwrap()
            .words()
            .unwrap()
            .into_iter()
            .map(|w| w.letters())
            .collect()
    };
    for text in [
        "D = A*B*C",
        "D=ABC",
        "x4 = x1*x2*x3",
        "D = x1 : B*C",
        " D  =  +ABC ",
    ] {
        assert_eq!(words(&[text]), ["ABCD"], "{text}");
    }
    for text in ["D = -ABC", "x4 = -x1*x2*x3", "D = −A*B*C"] {
        assert_eq!(words(&[text]), ["-ABCD"], "{text}");
    }
}

#[test]
fn a_generator_may_use_a_factor_generated_before_it() {
    let design = standard(unit_factors(5), generated(5, &["D = AB", "E = CD"]));
    assert_eq!(
        design.properties().defining_relation.as_deref(),
        Some("I = ABD = CDE = ABCE")
    );
}

#[test]
fn a_negative_generator_takes_the_other_half() {
    let positive = signs(&standard(unit_factors(4), generated(4, &["D = ABC"])));
    let negative = signs(&standard(unit_factors(4), generated(4, &["D = -ABC"])));
    assert!(positive.iter().all(|row| !negative.contains(row)));
    assert_eq!(positive.len() + negative.len(), 16);
}

#[test]
fn aliases_carry_the_sign_with_which_they_add() {
    let design = standard(unit_factors(3), generated(3, &["C = -AB"]));
    let sets = design.aliases(2).unwrap();
    let text: Vec<Vec<String>> = sets
        .iter()
        .map(|set| set.effects.iter().map(|effect| effect.letters()).collect())
        .collect();
    assert_eq!(text, [["A", "-BC"], ["B", "-AC"], ["C", "-AB"]]);
}

#[test]
fn the_best_resolutions_are_those_of_the_textbooks() {
    // Box, Hunter and Hunter, "Statistics for Experimenters", 2nd edition,
    // table 6.22: the number of runs and the resolution reached.
    let table = [
        (3, 4, 3),
        (4, 8, 4),
        (5, 8, 3),
        (5, 16, 5),
        (6, 8, 3),
        (6, 16, 4),
        (6, 32, 6),
        (7, 8, 3),
        (7, 16, 4),
        (7, 32, 4),
        (7, 64, 7),
        (8, 16, 4),
        (8, 32, 4),
        (8, 64, 5),
        (8, 128, 8),
        (9, 16, 3),
        (9, 32, 4),
        (9, 64, 4),
        (9, 128, 6),
        (10, 16, 3),
        (10, 32, 4),
        (10, 64, 4),
        (10, 128, 5),
        (11, 16, 3),
        (11, 32, 4),
        (11, 64, 4),
        (11, 128, 5),
        (15, 16, 3),
    ];
    for (factors, runs, resolution) in table {
        let chosen = fraction(factors, FractionBy::Runs(runs));
        assert_eq!(
            chosen.resolution(),
            Some(resolution),
            "{factors} factors in {runs} runs"
        );
    }
}

#[test]
fn a_wanted_resolution_gets_the_fewest_runs() {
    let check = |factors, resolution, runs| {
        let chosen = fraction(factors, FractionBy::Resolution(resolution));
        assert_eq!(
            chosen.runs(),
            runs,
            "{factors} factors at resolution {resolution}"
        );
    };
    check(7, 3, 8);
    check(7, 4, 16);
    check(7, 5, 64);
    check(6, 5, 32);
    check(11, 5, 128);
    check(15, 3, 16);
    check(15, 4, 32);
    check(3, 4, 8); // Only the full factorial is better than resolution III.
}

#[test]
fn a_fraction_with_too_many_words_to_list_still_knows_its_resolution() {
    // Every column of 32 runs: 2^(31−26).
    let factors = 31;
    let generators: Vec<String> = (1..32_u32)
        .filter(|column| column.count_ones() > 1)
        .enumerate()
        .map(|(i, column)| {
            let product: Vec<String> = (0..5)
                .filter(|b| column >> b & 1 == 1)
                .map(|b| format!("x{}", b + 1))
                .collect();
            format!("x{} = {}", i + 6, product.join("*"))
        })
        .collect();
    let design = standard(unit_factors(factors), generated(factors, &generators));
    let properties = design.properties();
    assert_eq!(properties.resolution, Some(3));
    assert!(properties.is_orthogonal());
    let lengths = properties.word_length_pattern.unwrap();
    // Each pair of columns and its product: 31·30/6 words of three letters.
    assert_eq!(lengths[3], 155);
    assert_eq!(lengths.iter().sum::<u64>(), (1 << 26) - 1);
    assert!(design.fraction().unwrap().words().is_none());
    assert_eq!(design.aliases(2).unwrap().len(), 31);
    assert!(design.aliases(10).is_none());
}

proptest! {
    #[test]
    fn every_fraction_is_balanced_orthogonal_and_obeys_its_words(
        factors in 3_usize..=15,
        power in 2_u32..=7,
    ) {
        let wanted = Request::new(
            unit_factors(factors),
            Kind::Fractional(FractionBy::Runs(1 << power)),
        );
        let Ok(design) = wanted.plan(7) else {
            // Too few runs for the factors, or more than the full factorial.
            prop_assert!(factors >= 1 << power || (power as usize) > factors);
            return Ok(());
        };
        let properties = design.properties();
        prop_assert!(properties.balanced && properties.is_orthogonal());
        prop_assert_eq!(properties.runs, 1 << power);
        let rows = coded(&design);
        for word in design.fraction().unwrap().words().unwrap() {
            let sign = if word.negative { -1.0 } else { 1.0 };
            for row in &rows {
                let product: f64 = word.positions().map(|i| row[i]).product();
                prop_assert_eq!(product, sign);
            }
        }
    }

    #[test]
    fn the_alias_table_is_what_the_columns_do(
        factors in 4_usize..=9,
        power in 3_u32..=5,
    ) {
        prop_assume!((power as usize) < factors && factors < 1 << power);
        let kind = Kind::Fractional(FractionBy::Runs(1 << power));
        let design = standard(unit_factors(factors), kind);
        let rows = coded(&design);
        let column = |word: paceline_design::Word| -> Vec<f64> {
            let sign = if word.negative { -1.0 } else { 1.0 };
            rows.iter().map(|row| sign * word.positions().map(|i| row[i]).product::<f64>()).collect()
        };
        let sets = design.aliases(3).unwrap();
        let mut seen = 0;
        for (i, set) in sets.iter().enumerate() {
            seen += set.effects.len();
            let first = column(set.effects[0]);
            let constant = first.iter().all(|x| *x == first[0]);
            for effect in &set.effects[1..] {
                prop_assert_eq!(&column(*effect), &first);
            }
            for other in &sets[..i] {
                let second = column(other.effects[0]);
                let dot: f64 = first.iter().zip(&second).map(|(x, y)| x * y).sum();
                prop_assert!(dot == 0.0 || constant);
            }
        }
        let k = factors;
        prop_assert_eq!(seen, k + k * (k - 1) / 2 + k * (k - 1) * (k - 2) / 6);
    }
}
