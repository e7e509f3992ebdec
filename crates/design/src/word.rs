//! Effects of two-level factors as words, and their algebra.

use std::fmt::Write as _;

use crate::factor::Factors;

/// A product of two-level factors with a sign: an effect, or a word of a
/// defining relation. The product of a factor with itself is the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word {
    /// Bit `i` is set when the factor at position `i` takes part.
    pub factors: u64,
    /// Whether the product is taken with a minus sign.
    pub negative: bool,
}

impl Word {
    /// The main effect of one factor.
    #[must_use]
    pub fn of(position: usize) -> Self {
        Self {
            factors: 1 << position,
            negative: false,
        }
    }

    /// How many factors take part.
    #[must_use]
    pub fn order(self) -> u32 {
        self.factors.count_ones()
    }

    /// The product of two words.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self {
            factors: self.factors ^ other.factors,
            negative: self.negative != other.negative,
        }
    }

    /// The positions of the factors that take part, ascending.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |i| self.factors >> i & 1 == 1)
    }

    /// The word in letters, `-ABD`; the identity is `I`. Factors beyond the
    /// 25th have no letter and are written by position, `[26]`.
    #[must_use]
    pub fn letters(self) -> String {
        let mut text = String::from(if self.negative { "-" } else { "" });
        if self.factors == 0 {
            text.push('I');
        }
        for position in self.positions() {
            match Factors::letter(position) {
                Some(letter) => text.push(letter),
                None => write!(text, "[{}]", position + 1).expect("writing to a string succeeds"),
            }
        }
        text
    }

    /// The word in factor names, `-nodes:epochs`.
    #[must_use]
    pub fn names(self, factors: &Factors) -> String {
        let names: Vec<&str> = self.positions().map(|i| factors.name(i)).collect();
        let sign = if self.negative { "-" } else { "" };
        if names.is_empty() {
            format!("{sign}I")
        } else {
            format!("{sign}{}", names.join(":"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_times_itself_is_the_identity_and_signs_multiply() {
        let ab = Word::of(0).times(Word::of(1));
        let minus_a = Word {
            factors: 1,
            negative: true,
        };
        assert_eq!(ab.times(Word::of(0)), Word::of(1));
        assert_eq!(minus_a.times(minus_a).letters(), "I");
        assert_eq!(minus_a.times(ab).letters(), "-B");
        assert_eq!(Word::of(8).letters(), "J");
    }
}
