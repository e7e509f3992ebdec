//! What a variable was made of: the columns behind it, and how.

use super::expression::{Expression, ExpressionKind, Function, Operator};

/// Where a variable's values come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// A column as it stands, or as categories.
    Column(String),
    /// Arithmetic over columns.
    Expression(Box<Expression>),
    /// Computed elsewhere; nothing is known but the values.
    Computed,
}

/// How a numeric variable follows the one column it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// The column itself.
    Line,
    /// A logarithm of it, to this base.
    Log(f64),
    /// This power of it.
    Power(f64),
    /// Something else.
    Other,
}

impl Origin {
    pub(super) fn of(expression: &Expression) -> Origin {
        match expression.as_column() {
            Some(name) => Origin::Column(name.to_owned()),
            None => Origin::Expression(Box::new(expression.clone())),
        }
    }

    /// The columns behind the variable, each once.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        match self {
            Origin::Column(name) => columns.push(name.as_str()),
            Origin::Expression(expression) => expression.columns(&mut |name, _| {
                if !columns.contains(&name) {
                    columns.push(name);
                }
            }),
            Origin::Computed => {}
        }
        columns
    }

    /// The shape, if the variable is made of a single column.
    pub(crate) fn shape(&self) -> Option<Shape> {
        match self {
            Origin::Column(_) => Some(Shape::Line),
            Origin::Expression(expression) => {
                (self.columns().len() == 1).then(|| shape(expression))
            }
            Origin::Computed => None,
        }
    }

    /// The value where the columns have the values that `lookup` gives; `None`
    /// where the origin is not known.
    pub(crate) fn value(&self, lookup: &impl Fn(&str) -> f64) -> Option<f64> {
        match self {
            Origin::Column(name) => Some(lookup(name)),
            Origin::Expression(expression) => Some(expression.evaluate(lookup).to_f64()),
            Origin::Computed => None,
        }
    }
}

fn shape(expression: &Expression) -> Shape {
    match &expression.kind {
        ExpressionKind::Column(_) => Shape::Line,
        ExpressionKind::Call(Function::Identity, inner) => shape(inner),
        ExpressionKind::Call(function, inner) if inner.as_column().is_some() => match function {
            Function::Log => Shape::Log(std::f64::consts::E),
            Function::Log2 => Shape::Log(2.0),
            Function::Log10 => Shape::Log(10.0),
            Function::Sqrt => Shape::Power(0.5),
            _ => Shape::Other,
        },
        ExpressionKind::Binary(operator, left, right) => {
            match (operator, left.as_column(), &right.kind) {
                (Operator::Power, Some(_), ExpressionKind::Number(power)) => Shape::Power(*power),
                (Operator::Multiply, Some(_), ExpressionKind::Column(_)) => Shape::Power(2.0),
                _ => Shape::Other,
            }
        }
        _ => Shape::Other,
    }
}

/// A power as people write it: `x²`.
fn raised(column: &str, power: f64) -> Option<String> {
    match power {
        2.0 => Some(format!("{column}²")),
        3.0 => Some(format!("{column}³")),
        0.5 => Some(format!("√{column}")),
        -1.0 => Some(format!("1/{column}")),
        _ => None,
    }
}

/// The variable in people's words: `batch_size` for `C(batch_size)`, `x²` for
/// `I(x^2)`, and the label where nothing is shorter.
pub(crate) fn spoken(origin: &Origin, label: &str) -> String {
    match origin {
        Origin::Column(name) => name.clone(),
        Origin::Expression(_) => {
            let columns = origin.columns();
            let words = match (origin.shape(), columns.as_slice()) {
                (Some(Shape::Line), [column]) => Some((*column).to_owned()),
                (Some(Shape::Power(power)), [column]) => raised(column, power),
                _ => None,
            };
            words.unwrap_or_else(|| match label.strip_prefix("I(") {
                Some(inner) if label.ends_with(')') => inner[..inner.len() - 1].to_owned(),
                _ => label.to_owned(),
            })
        }
        Origin::Computed => label.to_owned(),
    }
}
