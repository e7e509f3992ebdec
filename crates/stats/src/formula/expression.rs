//! Arithmetic inside `I(…)`, functions and the response.

use super::error::Span;
use crate::lstsq::DoubleDouble;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(super) kind: ExpressionKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpressionKind {
    Number(f64),
    Column(String),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Call(Function, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `I(…)`: the arithmetic value itself.
    Identity,
    Log,
    Log2,
    Log10,
    Log1p,
    Sqrt,
    Exp,
    Abs,
}

impl Function {
    pub(super) const ALL: [(&'static str, Function); 8] = [
        ("I", Function::Identity),
        ("log", Function::Log),
        ("log2", Function::Log2),
        ("log10", Function::Log10),
        ("log1p", Function::Log1p),
        ("sqrt", Function::Sqrt),
        ("exp", Function::Exp),
        ("abs", Function::Abs),
    ];

    pub(super) fn named(name: &str) -> Option<Function> {
        Function::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, function)| function)
    }
}

impl Expression {
    /// Visits every column name, with its place.
    pub(super) fn columns<'a>(&'a self, visit: &mut impl FnMut(&'a str, Span)) {
        match &self.kind {
            ExpressionKind::Number(_) => {}
            ExpressionKind::Column(name) => visit(name, self.span),
            ExpressionKind::Negate(inner) | ExpressionKind::Call(_, inner) => inner.columns(visit),
            ExpressionKind::Binary(_, left, right) => {
                left.columns(visit);
                right.columns(visit);
            }
        }
    }

    /// The name of the column, if the expression is nothing else.
    pub(super) fn as_column(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Column(name) => Some(name),
            _ => None,
        }
    }

    /// The value in a row whose column values `lookup` supplies.
    ///
    /// Sums, products, quotients and whole powers carry 32 digits, so that
    /// `I(x^10)` loses nothing before the fit; other functions round to `f64`.
    pub(super) fn evaluate(&self, lookup: &impl Fn(&str) -> f64) -> DoubleDouble {
        match &self.kind {
            ExpressionKind::Number(value) => DoubleDouble::from(*value),
            ExpressionKind::Column(name) => DoubleDouble::from(lookup(name)),
            ExpressionKind::Negate(inner) => -inner.evaluate(lookup),
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (left.evaluate(lookup), right.evaluate(lookup));
                binary(*operator, left, right)
            }
            ExpressionKind::Call(function, inner) => call(*function, inner.evaluate(lookup)),
        }
    }
}

fn binary(operator: Operator, left: DoubleDouble, right: DoubleDouble) -> DoubleDouble {
    let rounded = |value: DoubleDouble, plain: f64| match value.is_finite() {
        true => value,
        // Splitting overflows before the value itself does.
        false => DoubleDouble::from(plain),
    };
    let (l, r) = (left.to_f64(), right.to_f64());
    match operator {
        Operator::Add => rounded(left + right, l + r),
        Operator::Subtract => rounded(left - right, l - r),
        Operator::Multiply => rounded(left * right, l * r),
        Operator::Divide => rounded(left / right, l / r),
        Operator::Power => {
            let whole = r.abs() <= 1024.0 && r.fract() == 0.0;
            if !whole {
                return DoubleDouble::from(l.powf(r));
            }
            let power = left.powi(r.abs() as u32);
            match r < 0.0 {
                true => rounded(DoubleDouble::from(1.0) / power, l.powf(r)),
                false => rounded(power, l.powf(r)),
            }
        }
    }
}

fn call(function: Function, value: DoubleDouble) -> DoubleDouble {
    let x = value.to_f64();
    DoubleDouble::from(match function {
        Function::Identity => return value,
        Function::Abs => {
            return match x < 0.0 {
                true => -value,
                false => value,
            };
        }
        Function::Log => x.ln(),
        Function::Log2 => x.log2(),
        Function::Log10 => x.log10(),
        Function::Log1p => x.ln_1p(),
        Function::Sqrt => x.sqrt(),
        Function::Exp => x.exp(),
    })
}
