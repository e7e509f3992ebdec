//! What is to be as good as possible.

use std::fmt;

/// What is to be as good as possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Objective {
    /// A response that is better when larger.
    Maximise(String),
    /// A response that is better when smaller.
    Minimise(String),
    /// A weighted sum of responses that is better when larger, as
    /// `α·accuracy + β·time` with a negative β.
    Weighted(Vec<(String, f64)>),
}

impl Objective {
    /// The responses with their weights; larger sums are better.
    pub fn weights(&self) -> Vec<(&str, f64)> {
        match self {
            Self::Maximise(response) => vec![(response, 1.0)],
            Self::Minimise(response) => vec![(response, -1.0)],
            Self::Weighted(terms) => terms.iter().map(|(name, w)| (name.as_str(), *w)).collect(),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Maximise(response) => write!(f, "the most {response}"),
            Self::Minimise(response) => write!(f, "the least {response}"),
            Self::Weighted(terms) => {
                let terms: Vec<String> = terms
                    .iter()
                    .map(|(name, w)| format!("{w}·{name}"))
                    .collect();
                write!(f, "the most {}", terms.join(" + "))
            }
        }
    }
}
