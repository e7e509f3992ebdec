//! A condition as alternatives of simple comparisons.

use super::Condition;
use super::tree::{Comparison, Tree, TreeKind};
use paceline_model::Level;

/// A name compared with a constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Literal {
    pub(crate) name: String,
    pub(crate) comparison: Comparison,
    pub(crate) level: Level,
}

/// More alternatives than any sensible condition has.
const MAX_ALTERNATIVES: usize = 1_000;

impl Condition {
    /// The disjunctive normal form: the condition holds if all literals of some
    /// alternative do. `None` if it compares anything but a name with a
    /// constant, or would have too many alternatives.
    pub(crate) fn alternatives(&self) -> Option<Vec<Vec<Literal>>> {
        alternatives(&self.tree, false)
    }
}

/// The alternatives of `tree`, or of its negation.
fn alternatives(tree: &Tree, negated: bool) -> Option<Vec<Vec<Literal>>> {
    let literal = |name: &str, comparison: Comparison, level: Level| {
        let comparison = if negated {
            comparison.negated()
        } else {
            comparison
        };
        Some(vec![vec![Literal {
            name: name.to_owned(),
            comparison,
            level,
        }]])
    };
    match &tree.kind {
        // One alternative without literals always holds; none never does.
        TreeKind::Switch(b) => Some(if *b != negated { vec![vec![]] } else { vec![] }),
        TreeKind::Name(name) => literal(name, Comparison::Equal, Level::Switch(true)),
        TreeKind::Not(operand) => alternatives(operand, !negated),
        TreeKind::And(left, right) | TreeKind::Or(left, right) => {
            let left = alternatives(left, negated)?;
            let right = alternatives(right, negated)?;
            let is_and = matches!(tree.kind, TreeKind::And(..));
            // De Morgan: a negated `and` is an `or` of negations.
            let joined: Vec<Vec<Literal>> = if is_and == negated {
                left.into_iter().chain(right).collect()
            } else if left.len() * right.len() > MAX_ALTERNATIVES {
                return None;
            } else {
                left.iter()
                    .flat_map(|l| right.iter().map(|r| [l.as_slice(), r].concat()))
                    .collect()
            };
            (joined.len() <= MAX_ALTERNATIVES).then_some(joined)
        }
        TreeKind::Compare(comparison, left, right) => {
            if let (Some(name), Some(level)) = (left.as_name(), right.as_constant()) {
                literal(name, *comparison, level)
            } else {
                let (name, level) = right.as_name().zip(left.as_constant())?;
                literal(name, comparison.mirrored(), level)
            }
        }
        _ => None,
    }
}

impl Comparison {
    fn negated(self) -> Self {
        match self {
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The comparison with its sides exchanged.
    fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::Unequal => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}
