//! Reads tokens into a tree: the response's arithmetic and the terms' algebra.

use super::Formula;
use super::error::{ParseFormulaError, ParseProblem, Span};
use super::expression::{Expression, ExpressionKind, Function, Operator};
use super::token::{Token, TokenKind, tokens};
use crate::matrix::Contrast;
use paceline_model::spelling::nearest;

/// The algebra of terms, unexpanded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// `1` (with) or `0` (without).
    Intercept(bool),
    /// `.`
    Others,
    /// A column, numeric or categorical as the table says, or an expression.
    Variable(Expression),
    /// `C(column)`, with a contrast of its own if one was named.
    Categories(String, Option<Contrast>),
    Negate(Box<Node>),
    Binary(Algebra, Box<Node>, Box<Node>),
    Power(Box<Node>, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algebra {
    With,
    Without,
    Interaction,
    Cross,
    Nest,
}

const DEEPEST: usize = 64;
/// Long chains of operators become deep trees; this bounds them.
const LONGEST: usize = 2_000;

pub(super) fn parse(source: &str) -> Result<Formula, ParseFormulaError> {
    let whole = Span {
        start: 0,
        end: source.len(),
    };
    if source.trim().is_empty() {
        return Err(ParseFormulaError::new(source, whole, ParseProblem::Empty));
    }
    let mut parser = Parser {
        source,
        tokens: tokens(source)?,
        next: 0,
        depth: 0,
    };
    if let Some(token) = parser.tokens.get(LONGEST) {
        let problem = ParseProblem::TooLong { limit: LONGEST };
        return Err(ParseFormulaError::new(source, token.span, problem));
    }
    if !parser.tokens.iter().any(|t| t.kind == TokenKind::Tilde) {
        return Err(ParseFormulaError::new(source, whole, ParseProblem::NoTilde));
    }
    let response = parser.sum()?;
    if parser.peek() != &TokenKind::Tilde {
        return Err(parser.unexpected("`~`"));
    }
    parser.advance();
    let terms = parser.additive()?;
    match parser.peek() {
        TokenKind::End => Ok(Formula {
            source: source.to_owned(),
            response,
            terms,
        }),
        TokenKind::Tilde => Err(parser.problem(parser.span(), ParseProblem::SecondTilde)),
        _ => Err(parser.unexpected("an operator or the end of the formula")),
    }
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.next].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.next].span
    }

    /// Takes the next token; the end is never passed.
    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].clone();
        if token.kind != TokenKind::End {
            self.next += 1;
        }
        token
    }

    fn problem(&self, span: Span, problem: ParseProblem) -> ParseFormulaError {
        ParseFormulaError::new(self.source, span, problem)
    }

    fn unexpected(&self, expected: &'static str) -> ParseFormulaError {
        let span = self.span();
        let found = self.peek().describe(&self.source[span.start..span.end]);
        self.problem(span, ParseProblem::Unexpected { expected, found })
    }

    fn enter(&mut self) -> Result<(), ParseFormulaError> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(self.problem(self.span(), ParseProblem::TooDeep { limit: DEEPEST })),
            false => Ok(()),
        }
    }

    fn close(&mut self, open: Span) -> Result<Span, ParseFormulaError> {
        self.depth -= 1;
        match self.peek() {
            TokenKind::Close => Ok(self.advance().span),
            TokenKind::End => Err(self.problem(open, ParseProblem::UnclosedParenthesis)),
            _ => Err(self.unexpected("an operator or `)`")),
        }
    }

    // ---- the algebra of terms -------------------------------------------

    fn additive(&mut self) -> Result<Node, ParseFormulaError> {
        let mut left = match self.peek() {
            TokenKind::Minus => {
                let start = self.advance().span;
                let inner = self.crossing()?;
                Node {
                    span: start.to(inner.span),
                    kind: NodeKind::Negate(Box::new(inner)),
                }
            }
            TokenKind::Plus => {
                self.advance();
                self.crossing()?
            }
            _ => self.crossing()?,
        };
        loop {
            let algebra = match self.peek() {
                TokenKind::Plus => Algebra::With,
                TokenKind::Minus => Algebra::Without,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.crossing()?;
            left = joined(algebra, left, right);
        }
    }

    fn crossing(&mut self) -> Result<Node, ParseFormulaError> {
        let mut left = self.interaction()?;
        loop {
            let algebra = match self.peek() {
                TokenKind::Star => Algebra::Cross,
                TokenKind::Slash => Algebra::Nest,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.interaction()?;
            self.refuse_number(&left)?;
            self.refuse_number(&right)?;
            left = joined(algebra, left, right);
        }
    }

    fn interaction(&mut self) -> Result<Node, ParseFormulaError> {
        let mut left = self.power()?;
        while self.peek() == &TokenKind::Colon {
            self.advance();
            let right = self.power()?;
            self.refuse_number(&left)?;
            self.refuse_number(&right)?;
            left = joined(Algebra::Interaction, left, right);
        }
        Ok(left)
    }

    fn refuse_number(&self, node: &Node) -> Result<(), ParseFormulaError> {
        match node.kind {
            NodeKind::Intercept(_) => Err(self.problem(node.span, ParseProblem::NumberAsTerm)),
            _ => Ok(()),
        }
    }

    fn power(&mut self) -> Result<Node, ParseFormulaError> {
        let mut base = self.term()?;
        while self.peek() == &TokenKind::Power {
            self.advance();
            let token = self.advance();
            let exponent = match token.kind {
                TokenKind::Number(value) if value.fract() == 0.0 => value,
                _ => return Err(self.problem(token.span, ParseProblem::BadPower)),
            };
            if !(1.0..=12.0).contains(&exponent) {
                return Err(self.problem(token.span, ParseProblem::BadPower));
            }
            self.refuse_number(&base)?;
            base = Node {
                span: base.span.to(token.span),
                kind: NodeKind::Power(Box::new(base), exponent as u32),
            };
        }
        Ok(base)
    }

    fn term(&mut self) -> Result<Node, ParseFormulaError> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Number(value) => {
                self.advance();
                let kind = match value {
                    0.0 => NodeKind::Intercept(false),
                    1.0 => NodeKind::Intercept(true),
                    _ => return Err(self.problem(span, ParseProblem::NumberAsTerm)),
                };
                Ok(Node { kind, span })
            }
            TokenKind::Dot => {
                self.advance();
                Ok(Node {
                    kind: NodeKind::Others,
                    span,
                })
            }
            TokenKind::Open => {
                self.enter()?;
                self.advance();
                let mut inner = self.additive()?;
                inner.span = span.to(self.close(span)?);
                Ok(inner)
            }
            TokenKind::Name(name) => {
                self.advance();
                let quoted = self.source[span.start..].starts_with('`');
                if self.peek() == &TokenKind::Open && !quoted && name == "C" {
                    return self.categories(span);
                }
                let expression = self.named(name, span, quoted)?;
                Ok(Node {
                    span: expression.span,
                    kind: NodeKind::Variable(expression),
                })
            }
            _ => Err(self.unexpected("a term")),
        }
    }

    /// `C(column)`, `C(column, Sum)`, `C(column, Treatment)`.
    fn categories(&mut self, start: Span) -> Result<Node, ParseFormulaError> {
        let open = self.advance().span;
        self.depth += 1;
        let TokenKind::Name(mut column) = self.peek().clone() else {
            return Err(self.unexpected("a column name"));
        };
        self.advance();
        if column == "Q" && self.peek() == &TokenKind::Open {
            column = self.quoted_column()?.0;
        }
        let mut contrast = None;
        if self.peek() == &TokenKind::Comma {
            self.advance();
            let TokenKind::Name(name) = self.peek().clone() else {
                return Err(self.unexpected("`Treatment` or `Sum`"));
            };
            contrast = match name.as_str() {
                "Sum" => Some(Contrast::Sum),
                "Treatment" => Some(Contrast::Treatment),
                _ => {
                    let problem = ParseProblem::UnknownContrast(name);
                    return Err(self.problem(self.span(), problem));
                }
            };
            self.advance();
        }
        let end = self.close(open)?;
        Ok(Node {
            kind: NodeKind::Categories(column, contrast),
            span: start.to(end),
        })
    }

    // ---- arithmetic -------------------------------------------------------

    fn sum(&mut self) -> Result<Expression, ParseFormulaError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Plus => Operator::Add,
                TokenKind::Minus => Operator::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.product()?;
            left = applied(operator, left, right);
        }
    }

    fn product(&mut self) -> Result<Expression, ParseFormulaError> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Star => Operator::Multiply,
                TokenKind::Slash => Operator::Divide,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.signed()?;
            left = applied(operator, left, right);
        }
    }

    fn signed(&mut self) -> Result<Expression, ParseFormulaError> {
        match self.peek() {
            TokenKind::Minus => {
                self.enter()?;
                let start = self.advance().span;
                let inner = self.signed()?;
                self.depth -= 1;
                Ok(Expression {
                    span: start.to(inner.span),
                    kind: ExpressionKind::Negate(Box::new(inner)),
                })
            }
            TokenKind::Plus => {
                self.enter()?;
                self.advance();
                let inner = self.signed()?;
                self.depth -= 1;
                Ok(inner)
            }
            _ => self.raised(),
        }
    }

    /// Powers, which associate to the right: `2^3^2` is `2^9`.
    fn raised(&mut self) -> Result<Expression, ParseFormulaError> {
        let base = self.value()?;
        if self.peek() != &TokenKind::Power {
            return Ok(base);
        }
        self.advance();
        self.enter()?;
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(applied(Operator::Power, base, exponent))
    }

    fn value(&mut self) -> Result<Expression, ParseFormulaError> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Number(value) => {
                self.advance();
                Ok(Expression {
                    kind: ExpressionKind::Number(value),
                    span,
                })
            }
            TokenKind::Name(name) => {
                self.advance();
                let quoted = self.source[span.start..].starts_with('`');
                self.named(name, span, quoted)
            }
            TokenKind::Open => {
                self.enter()?;
                self.advance();
                let mut inner = self.sum()?;
                inner.span = span.to(self.close(span)?);
                Ok(inner)
            }
            _ => Err(self.unexpected("a column or a number")),
        }
    }

    /// A column, `Q("…")`, or a function of an expression.
    fn named(
        &mut self,
        name: String,
        span: Span,
        quoted: bool,
    ) -> Result<Expression, ParseFormulaError> {
        if self.peek() != &TokenKind::Open || quoted {
            return Ok(Expression {
                kind: ExpressionKind::Column(name),
                span,
            });
        }
        if name == "Q" {
            let (column, end) = self.quoted_column()?;
            return Ok(Expression {
                kind: ExpressionKind::Column(column),
                span: span.to(end),
            });
        }
        let Some(function) = Function::named(&name) else {
            let known = Function::ALL.iter().map(|(known, _)| *known);
            let nearest = nearest(&name, known.chain(["C", "Q"])).map(str::to_owned);
            return Err(self.problem(span, ParseProblem::UnknownFunction { name, nearest }));
        };
        self.enter()?;
        let open = self.advance().span;
        let argument = self.sum()?;
        let end = self.close(open)?;
        Ok(Expression {
            kind: ExpressionKind::Call(function, Box::new(argument)),
            span: span.to(end),
        })
    }

    /// The rest of `Q("name")` after `Q`.
    fn quoted_column(&mut self) -> Result<(String, Span), ParseFormulaError> {
        let open = self.advance().span;
        self.depth += 1;
        let TokenKind::Text(column) = self.peek().clone() else {
            return Err(self.unexpected("a quoted column name"));
        };
        self.advance();
        let end = self.close(open)?;
        Ok((column, end))
    }
}

fn joined(algebra: Algebra, left: Node, right: Node) -> Node {
    Node {
        span: left.span.to(right.span),
        kind: NodeKind::Binary(algebra, Box::new(left), Box::new(right)),
    }
}

fn applied(operator: Operator, left: Expression, right: Expression) -> Expression {
    Expression {
        span: left.span.to(right.span),
        kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
    }
}
