//! How designs are written: the terms of a model and the generators of a
//! fraction, over named factors.

use std::ops::Range;

use paceline_model::spelling::suggestion;

use crate::factor::Factors;
use crate::terms::{ModelTerms, Term};

/// What is wrong with the text of a model or a generator, and which bytes of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotationError {
    /// The offending bytes of the text.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub message: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

/// One two-level factor set to the product of others, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    target: usize,
    /// At least two, ascending, without the target.
    product: Vec<usize>,
    negative: bool,
}

/// The models that have a name, as they are typed.
const NAMED: [(&str, ModelTerms); 3] = [
    ("main", ModelTerms::Main),
    ("interactions", ModelTerms::TwoFactor),
    ("quadratic", ModelTerms::Quadratic),
];

/// The most factors in one `a*b*c`, which stands for all products of them.
const MAX_CROSSED: usize = 6;
const MAX_TERMS: usize = 1_000;

impl ModelTerms {
    /// Reads `main`, `interactions`, `quadratic`, or a formula over the factors
    /// of these names such as `a + b + a:b + a^2`; `a*b` stands for
    /// `a + b + a:b`, `I(a^2)` for `a^2`.
    ///
    /// # Errors
    /// The first part of `text` that is none of these.
    pub fn parse(text: &str, factors: &[&str]) -> Result<Self, NotationError> {
        if let Some((_, named)) = NAMED.iter().find(|(word, _)| *word == text.trim()) {
            return Ok(named.clone());
        }
        let mut terms: Vec<Term> = Vec::new();
        for (start, sum_part) in parts(text, &['+']) {
            let crossed: Vec<Term> = parts(sum_part, &['*'])
                .map(|(at, product)| interaction(product, start + at, factors))
                .collect::<Result<_, _>>()?;
            if crossed.len() > MAX_CROSSED || terms.len() > MAX_TERMS {
                return Err(NotationError {
                    span: start..start + sum_part.len(),
                    message: "the model has too many terms".to_owned(),
                    hint: Some(format!("cross at most {MAX_CROSSED} factors with `*`")),
                });
            }
            let mut subsets: Vec<u32> = (1..1_u32 << crossed.len()).collect();
            subsets.sort_by_key(|subset| (subset.count_ones(), *subset));
            for subset in subsets {
                let chosen = (0..crossed.len()).filter(|i| subset >> i & 1 == 1);
                let term = product_of(chosen.flat_map(|i| crossed[i].parts().iter().copied()));
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        Ok(Self::Explicit(terms))
    }

    /// The text that [`ModelTerms::parse`] reads as this model.
    ///
    /// # Panics
    /// When a term names a factor beyond `factors`.
    #[must_use]
    pub fn text(&self, factors: &[&str]) -> String {
        let Self::Explicit(terms) = self else {
            let named = NAMED.iter().find(|(_, terms)| terms == self);
            return named.expect("every other model has a name").0.to_owned();
        };
        let power = |(factor, power): &(usize, u32)| match power {
            1 => factors[*factor].to_owned(),
            _ => format!("{}^{power}", factors[*factor]),
        };
        terms
            .iter()
            .map(|term| term.parts().iter().map(power).collect::<Vec<_>>().join(":"))
            .collect::<Vec<_>>()
            .join(" + ")
    }
}

impl Generator {
    /// Reads `F = A*B*C`, `F = ABC`, `F = -A:B` or the same with factor names.
    ///
    /// # Errors
    /// The first part of `text` that is no generator over these factors.
    pub fn parse(text: &str, factors: &[&str]) -> Result<Self, NotationError> {
        let fault = |span: Range<usize>, message: &str, hint: Option<String>| NotationError {
            span,
            message: message.to_owned(),
            hint,
        };
        let form = || Some("write generators as `F = A*B*C`".to_owned());
        let Some((left, right)) = text.split_once('=') else {
            return Err(fault(0..text.len(), "a generator needs `=`", form()));
        };
        // A name wins over a letter. Where a factor's name is itself a letter, only
        // names count: `B` must never mean two things.
        let is_letter = |name: &str| name.len() == 1 && name.as_bytes()[0].is_ascii_uppercase();
        let letters_count = !factors.iter().any(|name| is_letter(name));
        let position = |name: &str| {
            let named = factors.iter().position(|factor| *factor == name);
            named.or_else(|| {
                let letter = name
                    .chars()
                    .next()
                    .filter(|_| letters_count && is_letter(name))?;
                (0..factors.len()).find(|&i| Factors::letter(i) == Some(letter))
            })
        };
        let unknown = |name: &str, start: usize| {
            let hint = suggestion(name, factors.iter().copied())
                .map(|hint| format!("{hint} (or a letter: A is the first factor, there is no I)"));
            let message = if name.is_empty() {
                "a factor is missing".to_owned()
            } else {
                format!("`{name}` is not a factor")
            };
            fault(start..start + name.len(), &message, hint)
        };
        let start = left.len() - left.trim_start().len();
        let Some(target) = position(left.trim()) else {
            return Err(unknown(left.trim(), start));
        };
        let mut offset = left.len() + 1;
        let trimmed = right.trim_start();
        offset += right.len() - trimmed.len();
        let negative = trimmed.starts_with(['-', '−']);
        let product_text = trimmed.strip_prefix(['-', '−', '+']).unwrap_or(trimmed);
        offset += trimmed.len() - product_text.len();
        let mut product = Vec::new();
        for (at, name) in parts(product_text, &['*', ':']) {
            let start = offset + at;
            match position(name) {
                Some(factor) => product.push(factor),
                // `ABC` without stars, if it is not a name.
                None if name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase()) => {
                    for (index, single) in name.char_indices() {
                        match position(single.encode_utf8(&mut [0; 4])) {
                            Some(factor) => product.push(factor),
                            None => {
                                return Err(unknown(&single.to_string(), start + index));
                            }
                        }
                    }
                }
                None => return Err(unknown(name, start)),
            }
        }
        product.sort_unstable();
        if product.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(fault(
                0..text.len(),
                "a factor is multiplied with itself",
                Some("a two-level factor times itself is nothing; leave it out".to_owned()),
            ));
        }
        if product.len() < 2 || product.contains(&target) {
            return Err(fault(
                0..text.len(),
                "a generator needs the product of at least two other factors",
                form(),
            ));
        }
        Ok(Self {
            target,
            product,
            negative,
        })
    }

    /// The position of the factor that is set.
    #[must_use]
    pub fn target(&self) -> usize {
        self.target
    }

    /// The positions of the factors whose product it is: at least two, ascending.
    #[must_use]
    pub fn product(&self) -> &[usize] {
        &self.product
    }

    /// Whether the product's sign is reversed.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The text that [`Generator::parse`] reads as this generator.
    ///
    /// # Panics
    /// When it names a factor beyond `factors`.
    #[must_use]
    pub fn text(&self, factors: &[&str]) -> String {
        let names: Vec<&str> = self.product.iter().map(|&i| factors[i]).collect();
        let sign = if self.negative { "-" } else { "" };
        format!("{} = {sign}{}", factors[self.target], names.join("*"))
    }
}

fn interaction(text: &str, start: usize, factors: &[&str]) -> Result<Term, NotationError> {
    let powers = parts(text, &[':'])
        .map(|(at, part)| power(part, start + at, factors))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(product_of(powers.into_iter()))
}

fn product_of(powers: impl Iterator<Item = (usize, u32)>) -> Term {
    let mut merged: Vec<(usize, u32)> = Vec::new();
    for (factor, power) in powers {
        match merged.iter_mut().find(|(other, _)| *other == factor) {
            // R and its formulas: a factor crossed with itself is itself.
            Some((_, known)) => *known = (*known).max(power),
            None => merged.push((factor, power)),
        }
    }
    merged.sort_unstable();
    Term::powers(merged)
}

fn power(text: &str, start: usize, factors: &[&str]) -> Result<(usize, u32), NotationError> {
    let span = start..start + text.len();
    let inner = text
        .strip_prefix("I(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text)
        .trim();
    let (name, exponent) = match inner.split_once('^') {
        Some((name, exponent)) => (name.trim(), exponent.trim().parse().ok()),
        None => (inner, Some(1)),
    };
    let fault = |message: String, hint| {
        Err(NotationError {
            span: span.clone(),
            message,
            hint,
        })
    };
    let Some(exponent) = exponent.filter(|exponent| (1..=9).contains(exponent)) else {
        return fault(
            format!("`{text}` is not a term"),
            Some("powers are whole numbers from 1 to 9".to_owned()),
        );
    };
    match factors.iter().position(|factor| *factor == name) {
        Some(position) => Ok((position, exponent)),
        None if name.is_empty() => fault("a term is missing".to_owned(), None),
        None => fault(
            format!("`{name}` is not a factor"),
            suggestion(name, factors.iter().copied()),
        ),
    }
}

/// The trimmed pieces of `text` between `separators` of one byte, with their places.
fn parts<'a>(text: &'a str, separators: &'a [char]) -> impl Iterator<Item = (usize, &'a str)> {
    let mut at = 0;
    text.split(separators).map(move |part| {
        let start = at + (part.len() - part.trim_start().len());
        at += part.len() + 1;
        (start, part.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: [&str; 6] = ["cores", "memory", "nodes", "batch_size", "rate", "epochs"];

    fn check_generator(text: &str, expected: &str) {
        let shown = match Generator::parse(text, &FACTORS) {
            Ok(generator) => generator.text(&FACTORS),
            Err(fault) => format!("{} at {:?}", fault.message, fault.span),
        };
        assert_eq!(shown, expected, "{text}");
    }

    fn check_model(text: &str, expected: &str) {
        let shown = match ModelTerms::parse(text, &FACTORS) {
            Ok(model) => model.text(&FACTORS),
            Err(fault) => format!("{} at {:?}", fault.message, fault.span),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn generators_take_letters_and_names() {
        let full = "epochs = cores*memory*nodes*batch_size*rate";
        check_generator("F = A*B*C*D*E", full);
        check_generator("F=ABCDE", full);
        check_generator(full, full);
        check_generator("epochs = -A * nodes", "epochs = -cores*nodes");
        check_generator("epochs = −A:nodes", "epochs = -cores*nodes");
        check_generator("epochs = + A:nodes", "epochs = cores*nodes");
    }

    #[test]
    fn generators_without_sense_are_pointed_at() {
        check_generator("ABC", "a generator needs `=` at 0..3");
        check_generator("G = A*B", "`G` is not a factor at 0..1");
        check_generator("F = A*nods", "`nods` is not a factor at 6..10");
        check_generator("F = ABI", "`I` is not a factor at 6..7");
        check_generator(
            "F = A",
            "a generator needs the product of at least two other factors at 0..5",
        );
        check_generator(
            "F = A*F",
            "a generator needs the product of at least two other factors at 0..7",
        );
        check_generator("F = A*A*B", "a factor is multiplied with itself at 0..9");
        check_generator("F = ", "a factor is missing at 4..4");
    }

    #[test]
    fn models_expand_crossings() {
        check_model("quadratic", "quadratic");
        check_model("cores*nodes", "cores + nodes + cores:nodes");
        check_model("rate + I(rate^2) + rate", "rate + rate^2");
        check_model("nodes:cores", "cores:nodes");
    }

    #[test]
    fn models_without_sense_are_pointed_at() {
        check_model("cores + nods", "`nods` is not a factor at 8..12");
        check_model("cores +", "a term is missing at 7..7");
        check_model("cores^x", "`cores^x` is not a term at 0..7");
        check_model("", "a term is missing at 0..0");
    }

    #[test]
    fn a_letter_never_means_two_factors() {
        let factors = ["B", "A", "rate"];
        assert!(Generator::parse("rate = A*B", &factors).is_ok());
        let error = Generator::parse("C = A*B", &factors).unwrap_err();
        assert_eq!(error.to_string(), "`C` is not a factor");
    }
}
