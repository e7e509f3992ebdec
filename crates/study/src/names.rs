//! The names of one study: factors and constants.

use crate::factor::{Factor, FactorType};
use crate::problem::{Place, Problem};
use paceline_model::Level;
use paceline_model::spelling::suggestion;
use std::ops::Range;

/// What the rest of the file may refer to.
pub(crate) struct Names<'a> {
    /// Every factor that was typed, even if something is wrong with it, so that
    /// one mistake is reported once.
    pub(crate) factor_names: Vec<&'a str>,
    /// Every constant that was typed, likewise.
    pub(crate) fixed_names: Vec<&'a str>,
    /// The factors that passed their own checks.
    pub(crate) factors: Vec<(Place, Factor)>,
    /// The constants that passed theirs.
    pub(crate) fixed: Vec<(Place, String, Level)>,
}

impl Names<'_> {
    pub(crate) fn is_factor(&self, name: &str) -> bool {
        self.factor_names.contains(&name)
    }

    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.is_factor(name) || self.fixed_names.contains(&name)
    }

    pub(crate) fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors
            .iter()
            .map(|(_, factor)| factor)
            .find(|factor| factor.name == name)
    }

    pub(crate) fn constant(&self, name: &str) -> Option<&Level> {
        self.fixed
            .iter()
            .find(|(_, fixed, _)| fixed == name)
            .map(|(_, _, level)| level)
    }

    /// Every name, factors first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> + Clone {
        self.factor_names.iter().chain(&self.fixed_names).copied()
    }

    /// True if `name` stands for words rather than numbers.
    pub(crate) fn is_wordy(&self, name: &str) -> bool {
        match (self.factor(name), self.constant(name)) {
            (Some(factor), _) => {
                factor.kind == FactorType::Categorical
                    && factor
                        .levels
                        .iter()
                        .any(|level| level.as_number().is_none())
            }
            (None, Some(level)) => level.as_number().is_none(),
            (None, None) => false,
        }
    }

    /// Reports a name that is neither a factor nor a constant.
    pub(crate) fn check_known(
        &self,
        name: &str,
        place: &Place,
        title: &str,
        (text, span): (&str, &Range<usize>),
        problems: &mut Vec<Problem>,
    ) {
        if !self.is_known(name) {
            let hint = if self.has_level(name) {
                Some(format!("put words in quotes, as in '{name}'"))
            } else {
                suggestion(name, self.all())
            };
            problems.push(
                Problem::new(place, format!("{title}: `{name}` is not a factor"))
                    .excerpt(text, span)
                    .maybe_hint(hint),
            );
        }
    }

    /// Reports a name that is used as a condition but is never true.
    pub(crate) fn check_switch(
        &self,
        name: &str,
        place: &Place,
        title: &str,
        (text, span): (&str, &Range<usize>),
        problems: &mut Vec<Problem>,
    ) {
        let is_switch = |level: &Level| matches!(level, Level::Switch(_));
        let never = match (self.factor(name), self.constant(name)) {
            (Some(factor), _) => !factor.levels.iter().any(is_switch),
            (None, Some(level)) => !is_switch(level),
            (None, None) => false,
        };
        if never {
            problems.push(
                Problem::new(
                    place,
                    format!("{title}: `{name}` is neither true nor false"),
                )
                .excerpt(text, span)
                .hint("compare it with something"),
            );
        }
    }

    /// Reports a name that is unknown or stands for words.
    pub(crate) fn check_number(
        &self,
        name: &str,
        place: &Place,
        title: &str,
        excerpt: (&str, &Range<usize>),
        problems: &mut Vec<Problem>,
    ) {
        if self.is_wordy(name) {
            problems.push(
                Problem::new(place, format!("{title}: `{name}` is not a number"))
                    .excerpt(excerpt.0, excerpt.1),
            );
        } else {
            self.check_known(name, place, title, excerpt, problems);
        }
    }

    fn has_level(&self, word: &str) -> bool {
        self.factors
            .iter()
            .flat_map(|(_, factor)| &factor.levels)
            .any(|level| matches!(level, Level::Word(own) if own == word))
    }
}
