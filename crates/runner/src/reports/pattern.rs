//! Metrics found in a log by a regular expression.

use super::{Report, ReportKind};
use regex::bytes::Regex;

/// A metric that a log line shows: `accuracy=test acc: ([0-9.]+)`.
#[derive(Debug, Clone)]
pub struct MetricPattern {
    name: String,
    pattern: Regex,
}

/// Why a text is no metric pattern.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricPatternError {
    /// There is no `=` between a name and an expression.
    #[error("`{0}` has no `=` between the metric's name and its expression")]
    NoName(String),
    /// The expression does not compile.
    #[error("the expression of `{name}` cannot be read: {cause}")]
    Expression {
        /// The metric.
        name: String,
        /// What the expression's parser says.
        cause: regex::Error,
    },
    /// The expression captures nothing, so there is no number to read.
    #[error("the expression of `{0}` captures nothing; put the number in parentheses")]
    NoCapture(String),
}

impl MetricPattern {
    /// Reads `name=expression`. The number is the group named `value`, else the
    /// first group.
    ///
    /// # Errors
    /// If there is no name, or the expression does not compile or captures nothing.
    pub fn parse(text: &str) -> Result<Self, MetricPatternError> {
        match text.split_once('=') {
            Some((name, expression)) if !name.trim().is_empty() => {
                Self::new(name.trim(), expression)
            }
            _ => Err(MetricPatternError::NoName(text.to_owned())),
        }
    }

    /// As [`MetricPattern::parse`], the two parts given apart.
    ///
    /// # Errors
    /// If the expression does not compile or captures nothing.
    pub fn new(name: &str, expression: &str) -> Result<Self, MetricPatternError> {
        let name = name.to_owned();
        let pattern = match Regex::new(expression) {
            Ok(pattern) => pattern,
            Err(cause) => return Err(MetricPatternError::Expression { name, cause }),
        };
        if pattern.captures_len() < 2 {
            return Err(MetricPatternError::NoCapture(name));
        }
        Ok(Self { name, pattern })
    }

    /// The metric, if `line` shows it. Text that is no number is no metric.
    #[must_use]
    pub fn find(&self, line: &[u8]) -> Option<Report> {
        let captures = self.pattern.captures(line)?;
        let group = captures.name("value").or_else(|| captures.get(1))?;
        let value = std::str::from_utf8(group.as_bytes())
            .ok()?
            .trim()
            .parse()
            .ok()?;
        let kind = ReportKind::Metric(value);
        Some(Report {
            worker: None,
            step: None,
            name: self.name.clone(),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(pattern: &str, line: &[u8]) -> Option<f64> {
        match MetricPattern::parse(pattern).unwrap().find(line)?.kind {
            ReportKind::Metric(value) => Some(value),
            ReportKind::Phase | ReportKind::Notice(_) => None,
        }
    }

    #[test]
    fn a_group_is_the_value() {
        let pattern = "accuracy=test acc: ([0-9.]+)";
        assert_eq!(value(pattern, b"epoch 3, test acc: 0.981"), Some(0.981));
        assert_eq!(value(pattern, b"test acc: ..."), None);
        assert_eq!(value("x=(a|b)=(?<value>\\d+)", b"b=12"), Some(12.0));
    }

    #[test]
    fn mistakes_are_told_before_anything_runs() {
        assert!(matches!(
            MetricPattern::parse("acc"),
            Err(MetricPatternError::NoName(_))
        ));
        assert!(matches!(
            MetricPattern::parse("a=("),
            Err(MetricPatternError::Expression { .. })
        ));
        assert!(matches!(
            MetricPattern::parse("a=b"),
            Err(MetricPatternError::NoCapture(_))
        ));
    }
}
