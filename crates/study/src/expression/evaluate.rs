//! A tree and the values of its names into a result.

use super::tree::{Comparison, Function, Operator, Tree, TreeKind};
use paceline_model::Level;

/// Why there is no number. An outcome of a run, not an error: it is recorded
/// in place of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// The run did not report this name.
    #[error("`{0}` was not reported")]
    Missing(String),
    /// This part of the calculation, or this reported value, is infinite or
    /// not a number.
    #[error("`{0}` is not a finite number")]
    NotFinite(String),
}

pub(super) fn number(tree: &Tree, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Absent> {
    let value = match &tree.kind {
        TreeKind::Number(x) => *x,
        TreeKind::Name(name) => value_of(name).ok_or_else(|| Absent::Missing(name.clone()))?,
        TreeKind::Negate(operand) => -number(operand, value_of)?,
        TreeKind::Arithmetic(operator, left, right) => {
            let left = number(left, value_of)?;
            let right = number(right, value_of)?;
            match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => left / right,
                Operator::Power => left.powf(right),
            }
        }
        TreeKind::Call(function, arguments) => {
            let values: Vec<f64> = arguments
                .iter()
                .map(|argument| number(argument, value_of))
                .collect::<Result<_, _>>()?;
            let first = values[0];
            match function {
                Function::Log => first.ln(),
                Function::Log2 => first.log2(),
                Function::Log10 => first.log10(),
                Function::Exp => first.exp(),
                Function::Sqrt => first.sqrt(),
                Function::Abs => first.abs(),
                Function::Min => values.into_iter().fold(first, f64::min),
                Function::Max => values.into_iter().fold(first, f64::max),
            }
        }
        TreeKind::Text(_)
        | TreeKind::Switch(_)
        | TreeKind::Compare(..)
        | TreeKind::Not(_)
        | TreeKind::And(..)
        | TreeKind::Or(..) => {
            unreachable!("a tree is checked to be a number before it is evaluated as one")
        }
    };
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Absent::NotFinite(tree.to_string()))
    }
}

pub(super) fn condition(
    tree: &Tree,
    level_of: &dyn Fn(&str) -> Option<Level>,
) -> Result<bool, Absent> {
    match &tree.kind {
        TreeKind::Switch(b) => Ok(*b),
        TreeKind::Name(name) => match level_of(name) {
            Some(level) => Ok(level == Level::Switch(true)),
            None => Err(Absent::Missing(name.clone())),
        },
        TreeKind::Not(operand) => Ok(!condition(operand, level_of)?),
        TreeKind::And(left, right) => Ok(condition(left, level_of)? && condition(right, level_of)?),
        TreeKind::Or(left, right) => Ok(condition(left, level_of)? || condition(right, level_of)?),
        TreeKind::Compare(comparison, left, right) => {
            let left = operand(left, level_of)?;
            let right = operand(right, level_of)?;
            Ok(compare(*comparison, &left, &right))
        }
        TreeKind::Number(_)
        | TreeKind::Text(_)
        | TreeKind::Negate(_)
        | TreeKind::Arithmetic(..)
        | TreeKind::Call(..) => {
            unreachable!("a tree is checked to be a condition before it is evaluated as one")
        }
    }
}

/// One side of a comparison: a level as it is, or a calculated number.
fn operand(tree: &Tree, level_of: &dyn Fn(&str) -> Option<Level>) -> Result<Level, Absent> {
    match &tree.kind {
        TreeKind::Name(name) => level_of(name).ok_or_else(|| Absent::Missing(name.clone())),
        TreeKind::Text(text) => Ok(Level::Word(text.clone())),
        TreeKind::Switch(b) => Ok(Level::Switch(*b)),
        _ => number(tree, &|name| level_of(name)?.as_number()).map(Level::Number),
    }
}

impl super::Literal {
    /// Whether the comparison holds for `level`.
    pub(crate) fn holds(&self, level: &Level) -> bool {
        compare(self.comparison, level, &self.level)
    }
}

fn compare(comparison: Comparison, left: &Level, right: &Level) -> bool {
    let (Some(a), Some(b)) = (left.as_number(), right.as_number()) else {
        return match comparison {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            // Words have no order; the study's check refuses to ask for one.
            _ => false,
        };
    };
    match comparison {
        Comparison::Equal => a == b,
        Comparison::Unequal => a != b,
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
    }
}
