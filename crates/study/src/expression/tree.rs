//! The parsed form of an expression or a condition.

use super::parser::{ExpressionError, ExpressionErrorKind};
use crate::words::Word as _;
use crate::words::words;
use paceline_model::Level;
use std::fmt;
use std::ops::Range;

words! {
    /// The functions an expression may call.
    pub enum Function {
        Log = "log", "Natural logarithm.";
        Log2 = "log2", "Logarithm to base two.";
        Log10 = "log10", "Logarithm to base ten.";
        Exp = "exp", "e to the power of the argument.";
        Sqrt = "sqrt", "Square root.";
        Abs = "abs", "Absolute value.";
        Min = "min", "The smallest of one or more arguments.";
        Max = "max", "The largest of one or more arguments.";
    }
}

words! {
    /// The operators of arithmetic.
    pub(crate) enum Operator {
        Add = "+", "Sum.";
        Subtract = "-", "Difference.";
        Multiply = "*", "Product.";
        Divide = "/", "Quotient.";
        Power = "^", "Power.";
    }
}

words! {
    /// The comparisons.
    pub(crate) enum Comparison {
        Equal = "==", "Equal.";
        Unequal = "!=", "Not equal.";
        Less = "<", "Less.";
        LessOrEqual = "<=", "Less or equal.";
        Greater = ">", "Greater.";
        GreaterOrEqual = ">=", "Greater or equal.";
    }
}

impl Comparison {
    pub(super) fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::Unequal)
    }
}

/// True for words that cannot name a factor or a response.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "and" | "or" | "not" | "true" | "false") || Function::from_word(name).is_some()
}

/// A node and the bytes it was read from. Equality ignores the bytes.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) kind: TreeKind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TreeKind {
    /// Finite and not negative.
    Number(f64),
    Text(String),
    Switch(bool),
    Name(String),
    Negate(Box<Tree>),
    Arithmetic(Operator, Box<Tree>, Box<Tree>),
    Call(Function, Vec<Tree>),
    Compare(Comparison, Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Tree {
    /// Visits the node and everything below it, in the order of the text.
    pub(super) fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Tree)) {
        visitor(self);
        match &self.kind {
            TreeKind::Number(_) | TreeKind::Text(_) | TreeKind::Switch(_) | TreeKind::Name(_) => {}
            TreeKind::Negate(operand) | TreeKind::Not(operand) => operand.visit(visitor),
            TreeKind::Arithmetic(_, left, right)
            | TreeKind::Compare(_, left, right)
            | TreeKind::And(left, right)
            | TreeKind::Or(left, right) => {
                left.visit(visitor);
                right.visit(visitor);
            }
            TreeKind::Call(_, arguments) => {
                for argument in arguments {
                    argument.visit(visitor);
                }
            }
        }
    }

    pub(super) fn names(&self) -> Vec<(&str, Range<usize>)> {
        let mut names = Vec::new();
        self.visit(&mut |tree| {
            if let TreeKind::Name(name) = &tree.kind {
                names.push((name.as_str(), tree.span.clone()));
            }
        });
        names
    }

    pub(super) fn as_name(&self) -> Option<&str> {
        match &self.kind {
            TreeKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The level this node spells, if it is a constant.
    pub(super) fn as_constant(&self) -> Option<Level> {
        match &self.kind {
            TreeKind::Number(x) => Some(Level::Number(*x)),
            TreeKind::Text(text) => Some(Level::Word(text.clone())),
            TreeKind::Switch(b) => Some(Level::Switch(*b)),
            TreeKind::Negate(operand) => match operand.kind {
                TreeKind::Number(x) => Some(Level::Number(-x)),
                _ => None,
            },
            _ => None,
        }
    }

    fn fault(&self, kind: ExpressionErrorKind) -> Result<(), ExpressionError> {
        Err(ExpressionError {
            span: self.span.clone(),
            kind,
        })
    }

    /// Checks that the node and all below it calculate a number.
    pub(super) fn require_number(&self) -> Result<(), ExpressionError> {
        match &self.kind {
            TreeKind::Number(_) | TreeKind::Name(_) => Ok(()),
            TreeKind::Negate(operand) => operand.require_number(),
            TreeKind::Arithmetic(_, left, right) => {
                left.require_number()?;
                right.require_number()
            }
            TreeKind::Call(_, arguments) => arguments.iter().try_for_each(Self::require_number),
            _ => self.fault(ExpressionErrorKind::NotANumber),
        }
    }

    /// Checks that the node and all below it decide between true and false.
    pub(super) fn require_condition(&self) -> Result<(), ExpressionError> {
        match &self.kind {
            // A name may be a factor whose levels are true and false.
            TreeKind::Switch(_) | TreeKind::Name(_) => Ok(()),
            TreeKind::Not(operand) => operand.require_condition(),
            TreeKind::And(left, right) | TreeKind::Or(left, right) => {
                left.require_condition()?;
                right.require_condition()
            }
            TreeKind::Compare(comparison, left, right) => {
                for side in [left, right] {
                    match &side.kind {
                        TreeKind::Text(_) | TreeKind::Switch(_) if comparison.is_equality() => {}
                        _ => side.require_number()?,
                    }
                }
                Ok(())
            }
            _ => self.fault(ExpressionErrorKind::NotACondition),
        }
    }

    /// How tightly the node binds; see the grammar in the parser.
    fn precedence(&self) -> u8 {
        match &self.kind {
            TreeKind::Or(..) => 1,
            TreeKind::And(..) => 2,
            TreeKind::Not(_) => 3,
            TreeKind::Compare(..) => 4,
            TreeKind::Arithmetic(Operator::Add | Operator::Subtract, ..) => 5,
            TreeKind::Arithmetic(Operator::Multiply | Operator::Divide, ..) => 6,
            TreeKind::Negate(_) => 7,
            TreeKind::Arithmetic(Operator::Power, ..) => 8,
            _ => 9,
        }
    }
}

/// Writes `tree`, in parentheses if it binds less tightly than `needed`.
fn within(f: &mut fmt::Formatter<'_>, tree: &Tree, needed: u8) -> fmt::Result {
    if tree.precedence() < needed {
        write!(f, "({tree})")
    } else {
        write!(f, "{tree}")
    }
}

/// The canonical text: one spelling per tree, and it reads back as the same tree.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.precedence();
        let mut binary = |left: &Tree, sign: &str, right: &Tree, right_needed: u8| {
            within(f, left, if sign == "^" { own + 1 } else { own })?;
            write!(f, " {sign} ")?;
            within(f, right, right_needed)
        };
        match &self.kind {
            TreeKind::Or(left, right) => binary(left, "or", right, own + 1),
            TreeKind::And(left, right) => binary(left, "and", right, own + 1),
            // Comparisons do not chain: `a < b < c` is not a condition.
            TreeKind::Compare(comparison, left, right) => {
                within(f, left, own + 1)?;
                write!(f, " {} ", comparison.word())?;
                within(f, right, own + 1)
            }
            TreeKind::Arithmetic(Operator::Power, left, right) => binary(left, "^", right, 7),
            TreeKind::Arithmetic(operator, left, right) => {
                binary(left, operator.word(), right, own + 1)
            }
            TreeKind::Not(operand) => {
                f.write_str("not ")?;
                within(f, operand, own)
            }
            TreeKind::Negate(operand) => {
                f.write_str("-")?;
                within(f, operand, own)
            }
            TreeKind::Call(function, arguments) => {
                write!(f, "{}(", function.word())?;
                for (index, argument) in arguments.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{argument}")?;
                }
                f.write_str(")")
            }
            TreeKind::Number(x) => {
                // `{:?}` is the shortest text that reads back, with an exponent
                // where digits would be many.
                let text = format!("{x:?}");
                f.write_str(text.strip_suffix(".0").unwrap_or(&text))
            }
            // A text holds at most one kind of quote: there are no escapes.
            TreeKind::Text(text) if text.contains('"') => write!(f, "'{text}'"),
            TreeKind::Text(text) => write!(f, "\"{text}\""),
            TreeKind::Switch(b) => write!(f, "{b}"),
            TreeKind::Name(name) => f.write_str(name),
        }
    }
}
