//! Expands the algebra of terms into a list of terms.

use std::collections::HashSet;

use super::error::{ResolveFormulaError, ResolveProblem, Span};
use super::parse::{Algebra, Node, NodeKind};
use crate::matrix::Contrast;

/// More terms than this are a typing error, not a model.
const MOST_TERMS: usize = 5_000;

/// A variable of a term before it is looked up: how it was written, and where.
#[derive(Clone, Debug)]
pub(super) enum Mention<'a> {
    Expression(&'a super::expression::Expression),
    Categories {
        column: &'a str,
        contrast: Option<Contrast>,
        span: Span,
    },
    /// A column named by `.`.
    Other {
        column: &'a str,
        span: Span,
    },
}

impl<'a> Mention<'a> {
    /// The columns it reads, each with its place.
    pub(super) fn columns(&self) -> Vec<(&'a str, Span)> {
        match self {
            Mention::Expression(expression) => {
                let mut columns = Vec::new();
                expression.columns(&mut |name, span| columns.push((name, span)));
                columns
            }
            Mention::Categories { column, span, .. } | Mention::Other { column, span } => {
                vec![(column, *span)]
            }
        }
    }
}

/// The terms of a formula: each a set of indices into `mentions`.
#[derive(Debug)]
pub(super) struct Expansion<'a> {
    pub(super) mentions: Vec<(String, Mention<'a>)>,
    /// Variables that were mentioned only to be taken away.
    pub(super) unused: Vec<Mention<'a>>,
    pub(super) terms: Vec<Vec<usize>>,
    pub(super) intercept: bool,
}

/// Expands `node`; `others` are the columns that `.` stands for.
pub(super) fn expand<'a>(
    source: &str,
    node: &'a Node,
    others: &[&'a str],
) -> Result<Expansion<'a>, ResolveFormulaError> {
    let mut expander = Expander {
        source,
        others,
        mentions: Vec::new(),
    };
    let set = expander.set(node)?;
    // A variable whose every term was taken away again is not part of the model:
    // its values must not decide which rows are complete.
    let mut position = vec![None; expander.mentions.len()];
    let mut mentions = Vec::new();
    let mut unused = Vec::new();
    for (index, mention) in expander.mentions.into_iter().enumerate() {
        match set.terms.iter().any(|term| term.contains(&index)) {
            true => {
                position[index] = Some(mentions.len());
                mentions.push(mention);
            }
            false => unused.push(mention.1),
        }
    }
    let terms = set
        .terms
        .iter()
        .map(|term| term.iter().filter_map(|&index| position[index]).collect())
        .collect();
    Ok(Expansion {
        mentions,
        unused,
        terms,
        intercept: set.intercept.unwrap_or(true),
    })
}

struct Expander<'a, 'b> {
    source: &'b str,
    others: &'b [&'a str],
    mentions: Vec<(String, Mention<'a>)>,
}

/// Terms in written order; the intercept is kept apart because it is implied
/// unless the formula speaks of it.
#[derive(Clone, Debug, Default)]
struct TermSet {
    terms: Vec<Vec<usize>>,
    known: HashSet<Vec<usize>>,
    intercept: Option<bool>,
}

impl TermSet {
    fn insert(&mut self, term: Vec<usize>) {
        let mut key = term.clone();
        key.sort_unstable();
        if self.known.insert(key) {
            self.terms.push(term);
        }
    }

    fn remove(&mut self, term: &[usize]) {
        let mut key = term.to_vec();
        key.sort_unstable();
        if self.known.remove(&key) {
            self.terms.retain(|other| {
                let mut other = other.clone();
                other.sort_unstable();
                other != key
            });
        }
    }

    fn extend(&mut self, other: &TermSet) {
        for term in &other.terms {
            self.insert(term.clone());
        }
        self.intercept = other.intercept.or(self.intercept);
    }

    /// The terms, with the empty one if `1` was written among them.
    fn factors(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let one = (self.intercept == Some(true)).then(Vec::new);
        one.into_iter().chain(self.terms.iter().cloned())
    }
}

impl<'a> Expander<'a, '_> {
    fn set(&mut self, node: &'a Node) -> Result<TermSet, ResolveFormulaError> {
        let mut set = TermSet::default();
        match &node.kind {
            NodeKind::Intercept(present) => set.intercept = Some(*present),
            NodeKind::Others => {
                for &column in self.others {
                    let mention = Mention::Other {
                        column,
                        span: node.span,
                    };
                    let index = self.mention(column.to_owned(), mention);
                    set.insert(vec![index]);
                }
            }
            NodeKind::Variable(expression) => {
                let label = match expression.as_column() {
                    Some(name) => name.to_owned(),
                    None => self.text(node.span),
                };
                let index = self.mention(label, Mention::Expression(expression));
                set.insert(vec![index]);
            }
            NodeKind::Categories(column, contrast) => {
                let mention = Mention::Categories {
                    column,
                    contrast: *contrast,
                    span: node.span,
                };
                let label = self.text(node.span);
                let index = self.mention(label, mention);
                set.insert(vec![index]);
            }
            NodeKind::Negate(inner) => {
                let inner = self.set(inner)?;
                set.intercept = inner.intercept.map(|present| !present);
            }
            NodeKind::Binary(algebra, left, right) => {
                let (left, right) = (self.set(left)?, self.set(right)?);
                set = self.combine(*algebra, left, &right, node.span)?;
            }
            NodeKind::Power(base, exponent) => {
                let base = self.set(base)?;
                set = base.clone();
                for _ in 1..*exponent {
                    let before = set.terms.len();
                    let left = set.clone();
                    self.cross(&mut set, left.factors(), &base, node.span)?;
                    if set.terms.len() == before {
                        break;
                    }
                }
            }
        }
        Ok(set)
    }

    fn combine(
        &self,
        algebra: Algebra,
        mut left: TermSet,
        right: &TermSet,
        span: Span,
    ) -> Result<TermSet, ResolveFormulaError> {
        match algebra {
            Algebra::With => left.extend(right),
            Algebra::Without => {
                for term in &right.terms {
                    left.remove(term);
                }
                if let Some(present) = right.intercept {
                    left.intercept = Some(!present);
                }
            }
            Algebra::Interaction => {
                let mut set = TermSet::default();
                self.cross(&mut set, left.factors(), right, span)?;
                return Ok(set);
            }
            Algebra::Cross => {
                let mut set = left.clone();
                set.extend(right);
                self.cross(&mut set, left.factors(), right, span)?;
                return Ok(set);
            }
            Algebra::Nest => {
                let mut all: Vec<usize> = Vec::new();
                for &index in left.terms.iter().flatten() {
                    if !all.contains(&index) {
                        all.push(index);
                    }
                }
                let mut set = left;
                self.cross(&mut set, std::iter::once(all), right, span)?;
                return Ok(set);
            }
        }
        Ok(left)
    }

    /// Adds the interaction of every left term with every right term.
    fn cross(
        &self,
        set: &mut TermSet,
        left: impl Iterator<Item = Vec<usize>>,
        right: &TermSet,
        span: Span,
    ) -> Result<(), ResolveFormulaError> {
        for left in left {
            for right in right.factors() {
                let mut term = left.clone();
                for index in right {
                    if !term.contains(&index) {
                        term.push(index);
                    }
                }
                match term.is_empty() {
                    true => set.intercept = Some(true),
                    false => set.insert(term),
                }
                if set.terms.len() > MOST_TERMS {
                    let problem = ResolveProblem::TooManyTerms { limit: MOST_TERMS };
                    return Err(ResolveFormulaError::new(self.source, span, problem));
                }
            }
        }
        Ok(())
    }

    fn mention(&mut self, label: String, mention: Mention<'a>) -> usize {
        match self.mentions.iter().position(|(known, _)| *known == label) {
            Some(index) => index,
            None => {
                self.mentions.push((label, mention));
                self.mentions.len() - 1
            }
        }
    }

    /// The formula's text at a place, without blanks outside quotes.
    fn text(&self, span: Span) -> String {
        let mut quote = None;
        self.source[span.start..span.end]
            .chars()
            .filter(|&c| {
                match quote {
                    Some(open) if c == open => quote = None,
                    None if matches!(c, '`' | '"' | '\'') => quote = Some(c),
                    _ => {}
                }
                quote.is_some() || !c.is_whitespace()
            })
            .collect()
    }
}
