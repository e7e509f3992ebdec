//! What is said of terms, aliases and power.

use crate::number::{self, count};
use paceline_design::{Factors, Partner, Term, TermAssessment};

/// How many partners of a confounded term are named.
const PARTNERS_SHOWN: usize = 5;
/// The columns that a defining relation may take before it is cut.
const RELATION_WIDTH: usize = 400;

pub(super) fn confounding(term: &TermAssessment, factors: &Factors) -> String {
    let partners: Vec<String> = term
        .confounded_with
        .iter()
        .map(|partner| match partner {
            Partner::Intercept => "the mean".to_owned(),
            Partner::Blocks => "blocks".to_owned(),
            Partner::Term(other) => other.name(factors),
        })
        .collect();
    match partners.as_slice() {
        [] => "it does not vary".to_owned(),
        names if names.len() > PARTNERS_SHOWN => format!(
            "confounded with {} and {} others",
            names[..PARTNERS_SHOWN].join(", "),
            names.len() - PARTNERS_SHOWN
        ),
        names => format!("confounded with {}", names.join(", ")),
    }
}

/// A relation that is too long to read is cut after a whole word.
pub(super) fn shortened(relation: &str) -> String {
    if relation.len() <= RELATION_WIDTH {
        return relation.to_owned();
    }
    let words: Vec<&str> = relation.split(" = ").collect();
    let mut text = words[0].to_owned();
    for word in &words[1..] {
        if text.len() + word.len() + 3 > RELATION_WIDTH {
            break;
        }
        text.push_str(" = ");
        text.push_str(word);
    }
    let all = count(words.len() as u64 - 1);
    format!("{text} = … ({all} words, all in --format json)")
}

/// What a resolution promises (Box and Hunter 1961).
pub(crate) fn meaning_of_resolution(resolution: u32) -> &'static str {
    match resolution {
        0..=2 => "main effects are aliased with each other",
        3 => "main effects are aliased with interactions of two factors",
        4 => {
            "main effects are clear of interactions of two factors, which are aliased with each \
             other"
        }
        5 => "main effects and interactions of two factors are clear of each other",
        6 => {
            "main effects and interactions of two factors are clear of each other and of \
             interactions of three"
        }
        _ => "effects of up to three factors are clear of each other",
    }
}

/// Resolutions are written as Roman numerals.
pub(super) fn roman(mut n: u32) -> String {
    let mut text = String::new();
    for (value, numeral) in [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")] {
        while n >= value {
            text.push_str(numeral);
            n -= value;
        }
    }
    text
}

/// Terms with their degrees of freedom and power. Terms of one kind that are
/// all found alike share a row.
pub(super) fn power_rows(
    terms: &[TermAssessment],
    factors: &Factors,
) -> Vec<(String, usize, String)> {
    let power = |term: &TermAssessment| term.power.map_or(number::ABSENT.to_owned(), power_text);
    let mut kinds: Vec<(String, Vec<&TermAssessment>)> = Vec::new();
    for term in terms {
        let kind = kind_of(&term.term);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, same)) => same.push(term),
            None => kinds.push((kind, vec![term])),
        }
    }
    let mut rows = Vec::new();
    for (kind, same) in kinds {
        let first = same[0];
        let alike = same
            .iter()
            .all(|term| term.df == first.df && power(term) == power(first));
        if alike && same.len() > 2 {
            rows.push((
                format!("each of {} {kind}", same.len()),
                first.df,
                power(first),
            ));
        } else {
            let row = |term: &&TermAssessment| (term.term.name(factors), term.df, power(term));
            rows.extend(same.iter().map(row));
        }
    }
    rows
}

/// The kind of a term, as the plural of a noun.
fn kind_of(term: &Term) -> String {
    match term.parts() {
        [(_, 1)] => "main effects".to_owned(),
        [(_, 2)] => "squares".to_owned(),
        parts if parts.iter().all(|(_, power)| *power == 1) => {
            format!("interactions of {} factors", parts.len())
        }
        _ => "products of powers".to_owned(),
    }
}

/// A probability that is not quite one does not read as one.
fn power_text(power: f64) -> String {
    if power > 0.999 && power < 1.0 {
        ">0.999".to_owned()
    } else {
        format!("{power:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_are_roman() {
        let shown: Vec<String> = [3, 4, 5, 6, 9, 14].map(roman).to_vec();
        assert_eq!(shown, ["III", "IV", "V", "VI", "IX", "XIV"]);
    }

    #[test]
    fn a_long_relation_is_cut_between_words_and_says_how_long_it_is() {
        let relation = format!("I{}", " = ABCDEFGH".repeat(100));
        let text = shortened(&relation);
        assert!(text.len() < RELATION_WIDTH + 50);
        assert!(text.ends_with(" = ABCDEFGH = … (100 words, all in --format json)"));
    }

    #[test]
    fn a_power_below_one_never_reads_as_one() {
        assert_eq!(power_text(0.99999), ">0.999");
        assert_eq!(power_text(1.0), "1.000");
        assert_eq!(power_text(0.8049), "0.805");
    }
}
