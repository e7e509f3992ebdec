//! Tokens into a tree.
//!
//! ```text
//! or         = and ("or" and)*
//! and        = not ("and" not)*
//! not        = "not" not | comparison
//! comparison = sum (("==" | "!=" | "<" | "<=" | ">" | ">=") sum)?
//! sum        = product (("+" | "-") product)*
//! product    = unary (("*" | "/") unary)*
//! unary      = "-" unary | power
//! power      = atom ("^" unary)?
//! atom       = number | text | "true" | "false" | name | name "(" or ("," or)* ")" | "(" or ")"
//! ```

use super::token::{Token, tokens};
use super::tree::{Comparison, Function, Operator, Tree, TreeKind};
use crate::words::Word as _;
use std::ops::Range;

/// Longer texts are refused, so that neither parsing nor evaluation can exhaust
/// the stack.
const MAX_BYTES: usize = 2_000;
const MAX_DEPTH: usize = 50;

/// Why a text is not an expression or a condition, and which bytes are at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ExpressionError {
    /// The bytes at fault; empty at the end of the text.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub kind: ExpressionErrorKind,
}

/// What can be wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionErrorKind {
    /// Nothing was given.
    #[error("expected an expression, found nothing")]
    Empty,
    /// More than 2,000 bytes.
    #[error("expression is longer than 2,000 characters")]
    TooLong,
    /// More than 50 levels of parentheses, signs and calls.
    #[error("expression is nested more than 50 levels deep")]
    TooDeep,
    /// A character that has no meaning.
    #[error("`{0}` has no meaning in an expression")]
    Character(char),
    /// `=` where `==` is meant.
    #[error("`=` compares nothing; write `==`")]
    SingleEquals,
    /// A sign of another language.
    #[error("`{sign}` has no meaning in an expression; write `{word}`")]
    WordNotSign {
        /// What was typed.
        sign: char,
        /// What to type.
        word: &'static str,
    },
    /// A number out of range or misspelt.
    #[error("`{0}` is not a number")]
    Number(String),
    /// A quote that is not closed.
    #[error("quoted text is not closed")]
    OpenText,
    /// Something else than what must come here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What may come here.
        expected: &'static str,
        /// What came.
        found: String,
    },
    /// A call of something that is not a function.
    #[error("`{0}` is not a function (log, log2, log10, exp, sqrt, abs, min, max are)")]
    Function(String),
    /// A function with the wrong number of arguments.
    #[error("`{0}` takes one argument")]
    Arguments(&'static str),
    /// A comparison or a word where a number is needed.
    #[error("this is not a number")]
    NotANumber,
    /// A number or a word where a condition is needed.
    #[error("this is neither true nor false; compare it with something")]
    NotACondition,
}

pub(super) fn parse(text: &str) -> Result<Tree, ExpressionError> {
    let fault = |kind| ExpressionError {
        span: 0..text.len(),
        kind,
    };
    if text.trim().is_empty() {
        return Err(fault(ExpressionErrorKind::Empty));
    }
    if text.len() > MAX_BYTES {
        return Err(fault(ExpressionErrorKind::TooLong));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let tree = parser.or()?;
    match parser.peek() {
        Token::End => Ok(tree),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn advance(&mut self) {
        // The last token is the end, which is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn eat_mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(m) if *m == mark);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(name) if name == word);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let found = match self.peek() {
            Token::Number(x) => format!("`{x}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end".to_owned(),
        };
        ExpressionError {
            span: self.span(),
            kind: ExpressionErrorKind::Unexpected { expected, found },
        }
    }

    /// Runs `parse` one level deeper.
    fn deeper(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Tree, ExpressionError>,
    ) -> Result<Tree, ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ExpressionError {
                span: self.span(),
                kind: ExpressionErrorKind::TooDeep,
            });
        }
        let tree = parse(self)?;
        self.depth -= 1;
        Ok(tree)
    }

    fn or(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.and()?;
        while self.eat_word("or") {
            let right = self.and()?;
            left = join(left, right, TreeKind::Or);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.not()?;
        while self.eat_word("and") {
            let right = self.not()?;
            left = join(left, right, TreeKind::And);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Tree, ExpressionError> {
        let start = self.span().start;
        if self.eat_word("not") {
            let operand = self.deeper(Self::not)?;
            return Ok(Tree {
                span: start..operand.span.end,
                kind: TreeKind::Not(Box::new(operand)),
            });
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Tree, ExpressionError> {
        let left = self.sum()?;
        let Token::Mark(mark) = *self.peek() else {
            return Ok(left);
        };
        let Some(comparison) = Comparison::from_word(mark) else {
            return Ok(left);
        };
        self.advance();
        let right = self.sum()?;
        Ok(join(left, right, |l, r| {
            TreeKind::Compare(comparison, l, r)
        }))
    }

    fn sum(&mut self) -> Result<Tree, ExpressionError> {
        let signs = [Operator::Add, Operator::Subtract];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Result<Tree, ExpressionError> {
        let signs = [Operator::Multiply, Operator::Divide];
        self.chain(&signs, Self::unary)
    }

    /// Operands of equal rank, joined from the left.
    fn chain(
        &mut self,
        operators: &[Operator],
        operand: fn(&mut Self) -> Result<Tree, ExpressionError>,
    ) -> Result<Tree, ExpressionError> {
        let mut left = operand(self)?;
        while let Some(&operator) = operators
            .iter()
            .find(|operator| matches!(self.peek(), Token::Mark(m) if *m == operator.word()))
        {
            self.advance();
            let right = operand(self)?;
            left = join(left, right, |l, r| TreeKind::Arithmetic(operator, l, r));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, ExpressionError> {
        let start = self.span().start;
        if self.eat_mark("-") {
            let operand = self.deeper(Self::unary)?;
            return Ok(Tree {
                span: start..operand.span.end,
                kind: TreeKind::Negate(Box::new(operand)),
            });
        }
        let base = self.atom()?;
        if self.eat_mark("^") {
            let exponent = self.deeper(Self::unary)?;
            return Ok(join(base, exponent, |l, r| {
                TreeKind::Arithmetic(Operator::Power, l, r)
            }));
        }
        Ok(base)
    }

    fn atom(&mut self) -> Result<Tree, ExpressionError> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Number(x) => TreeKind::Number(x),
            Token::Text(text) => TreeKind::Text(text),
            Token::Name(word) if word == "true" || word == "false" => {
                TreeKind::Switch(word == "true")
            }
            Token::Name(word) if matches!(word.as_str(), "and" | "or" | "not") => {
                return Err(self.unexpected("a number, a name or `(`"));
            }
            Token::Name(name) => {
                self.advance();
                if self.eat_mark("(") {
                    return self.call(&name, span);
                }
                return Ok(Tree {
                    kind: TreeKind::Name(name),
                    span,
                });
            }
            Token::Mark("(") => {
                self.advance();
                let inner = self.deeper(Self::or)?;
                if !self.eat_mark(")") {
                    return Err(self.unexpected("`)`"));
                }
                return Ok(inner);
            }
            Token::Mark(_) | Token::End => {
                return Err(self.unexpected("a number, a name or `(`"));
            }
        };
        self.advance();
        Ok(Tree { kind, span })
    }

    /// The arguments of a call whose name and `(` have been read.
    fn call(&mut self, name: &str, span: Range<usize>) -> Result<Tree, ExpressionError> {
        let Some(function) = Function::from_word(name) else {
            return Err(ExpressionError {
                span,
                kind: ExpressionErrorKind::Function(name.to_owned()),
            });
        };
        let mut arguments = vec![self.deeper(Self::or)?];
        while self.eat_mark(",") {
            arguments.push(self.deeper(Self::or)?);
        }
        let whole = span.start..self.span().end;
        if !self.eat_mark(")") {
            return Err(self.unexpected("`,` or `)`"));
        }
        if arguments.len() > 1 && !matches!(function, Function::Min | Function::Max) {
            return Err(ExpressionError {
                span: whole,
                kind: ExpressionErrorKind::Arguments(function.word()),
            });
        }
        Ok(Tree {
            kind: TreeKind::Call(function, arguments),
            span: whole,
        })
    }
}

fn join(left: Tree, right: Tree, kind: impl FnOnce(Box<Tree>, Box<Tree>) -> TreeKind) -> Tree {
    Tree {
        span: left.span.start..right.span.end,
        kind: kind(Box::new(left), Box::new(right)),
    }
}
