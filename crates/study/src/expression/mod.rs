//! The little language of responses, costs and forbidden combinations.
//!
//! Numbers, names, `+ - * / ^`, unary minus, parentheses and a few functions
//! make an [`Expression`]; comparisons, `and`, `or`, `not` and quoted words
//! make a [`Condition`]. `^` binds tighter than unary minus and to the right,
//! as on paper: `-2^2` is −4 and `2^3^2` is 512. `log` is the natural logarithm.

mod evaluate;
mod normal;
mod parser;
mod token;
mod tree;

pub use evaluate::Absent;
pub use parser::{ExpressionError, ExpressionErrorKind};
pub use tree::Function;

use paceline_model::Level;
use std::fmt;
use std::ops::Range;
use tree::{Tree, TreeKind};

pub(crate) use normal::Literal;
pub(crate) use tree::{Comparison, is_reserved};

/// A formula with a number as its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    tree: Tree,
}

impl Expression {
    /// Reads `text`.
    ///
    /// # Errors
    /// If `text` is not an expression, or one whose result is not a number.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tree = parser::parse(text)?;
        tree.require_number()?;
        Ok(Self { tree })
    }

    /// Every name the expression reads, with its place in the text; a name used
    /// twice comes twice.
    #[must_use]
    pub fn names(&self) -> Vec<(&str, Range<usize>)> {
        self.tree.names()
    }

    /// The result, where `value_of` gives the value of a name or nothing.
    ///
    /// # Errors
    /// If a name has no value, or a step of the calculation is not finite: a
    /// division by zero never becomes a zero by a second division.
    pub fn evaluate(&self, value_of: impl Fn(&str) -> Option<f64>) -> Result<f64, Absent> {
        evaluate::number(&self.tree, &|name| value_of(name))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

/// A formula that holds or does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    tree: Tree,
}

impl Condition {
    /// Reads `text`.
    ///
    /// # Errors
    /// If `text` is not a condition.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tree = parser::parse(text)?;
        tree.require_condition()?;
        Ok(Self { tree })
    }

    /// Every name the condition reads, with its place in the text.
    #[must_use]
    pub fn names(&self) -> Vec<(&str, Range<usize>)> {
        self.tree.names()
    }

    /// Whether the condition holds where `level_of` gives the level of a name.
    /// A word never equals a number.
    ///
    /// # Errors
    /// If a name has no level or a calculation is not finite.
    pub fn holds<'a>(&self, level_of: impl Fn(&str) -> Option<&'a Level>) -> Result<bool, Absent> {
        evaluate::condition(&self.tree, &|name| level_of(name).cloned())
    }

    /// Every comparison of a name with a constant, for checks against levels.
    pub(crate) fn comparisons_with_constants(&self) -> Vec<(&str, Level, bool, Range<usize>)> {
        let mut found = Vec::new();
        self.tree.visit(&mut |tree| {
            if let TreeKind::Compare(comparison, left, right) = &tree.kind {
                let pair = match (left.as_name(), right.as_constant()) {
                    (Some(name), Some(level)) => Some((name, level)),
                    _ => right.as_name().zip(left.as_constant()),
                };
                if let Some((name, level)) = pair {
                    found.push((name, level, comparison.is_equality(), tree.span.clone()));
                }
            }
        });
        found
    }

    /// Every name that stands alone as a condition.
    pub(crate) fn names_used_as_conditions(&self) -> Vec<(&str, Range<usize>)> {
        let mut conditions: Vec<&Tree> = vec![&self.tree];
        self.tree.visit(&mut |tree| match &tree.kind {
            TreeKind::Not(operand) => conditions.push(operand),
            TreeKind::And(left, right) | TreeKind::Or(left, right) => {
                conditions.extend([left.as_ref(), right.as_ref()]);
            }
            _ => {}
        });
        named(conditions)
    }

    /// Every name that is used as a number rather than compared as a whole.
    pub(crate) fn names_used_as_numbers(&self) -> Vec<(&str, Range<usize>)> {
        let mut found = Vec::new();
        self.tree.visit(&mut |tree| {
            let operands: Vec<&Tree> = match &tree.kind {
                TreeKind::Negate(operand) => vec![operand],
                TreeKind::Arithmetic(_, left, right) => vec![left, right],
                TreeKind::Call(_, arguments) => arguments.iter().collect(),
                TreeKind::Compare(comparison, left, right) if !comparison.is_equality() => {
                    vec![left, right]
                }
                _ => vec![],
            };
            found.extend(named(operands));
        });
        found
    }
}

/// Those of `trees` that are names.
fn named(trees: Vec<&Tree>) -> Vec<(&str, Range<usize>)> {
    trees
        .into_iter()
        .filter_map(|tree| Some((tree.as_name()?, tree.span.clone())))
        .collect()
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

#[cfg(test)]
mod tests;
