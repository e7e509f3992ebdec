//! Metrics found in a log by a regular expression.

use super::step::step_in;
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
    /// first that took part; groups named `step` or `epoch` give the step, and
    /// groups with other names are metrics of these names.
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

    /// The metric's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The metrics, if `line` shows them, at the step that a group named `step` or
    /// `epoch` captured or the line names. Text that is no number is no metric.
    #[must_use]
    pub fn find(&self, line: &[u8]) -> Vec<Report> {
        let Some(captures) = self.pattern.captures(line) else {
            return Vec::new();
        };
        let text = |name: &str| {
            let group = captures.name(name)?;
            std::str::from_utf8(group.as_bytes()).ok()
        };
        let own = ["step", "epoch"].iter().find_map(|name| text(name));
        let step = match own {
            Some(text) => text.trim().parse().ok(),
            None => step_in(&String::from_utf8_lossy(line)),
        };
        let is_place = |name: &Option<&str>| matches!(name, Some("step" | "epoch"));
        let groups = self.pattern.capture_names().enumerate().skip(1);
        let groups: Vec<(usize, Option<&str>)> =
            groups.filter(|(_, name)| !is_place(name)).collect();
        let named = groups
            .iter()
            .filter_map(|&(at, name)| Some((at, name.filter(|name| *name != "value")?)));
        let mut wanted: Vec<(usize, &str)> = named.collect();
        let value = groups.iter().find(|(_, name)| *name == Some("value"));
        // Of alternatives, the one that took part.
        let mut unnamed = groups.iter().filter(|_| wanted.is_empty());
        let first = unnamed.find(|(at, _)| captures.get(*at).is_some());
        if let Some(&(at, _)) = value.or(first) {
            wanted.insert(0, (at, &self.name));
        }
        let number = |at: usize| -> Option<f64> {
            let group = captures.get(at)?;
            let text = std::str::from_utf8(group.as_bytes()).ok()?;
            text.trim().parse().ok()
        };
        let found = wanted
            .into_iter()
            .filter_map(|(at, name)| Some((name, number(at)?)));
        found
            .map(|(name, value)| Report {
                worker: None,
                step,
                name: name.to_owned(),
                kind: ReportKind::Metric(value),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(pattern: &str, line: &[u8]) -> Option<f64> {
        let found = MetricPattern::parse(pattern).unwrap().find(line);
        match found.first()?.kind {
            ReportKind::Metric(value) => Some(value),
            ReportKind::Phase | ReportKind::Notice(_) => None,
        }
    }

    #[test]
    fn a_group_is_the_value() {
        let pattern = "accuracy=test acc: ([0-9.]+)";
        assert_eq!(value(pattern, b"epoch 3, test acc: 0.981"), Some(0.981));
        assert_eq!(value(pattern, b"test acc: ..."), None);
        assert_eq!(value("x=a: (\\d+)|b: (\\d+)", b"b: 12"), Some(12.0));
        assert_eq!(value("x=(a|b)=(?<value>\\d+)", b"b=12"), Some(12.0));
    }

    #[test]
    fn the_line_gives_the_step_and_named_groups_several_metrics() {
        let pattern = MetricPattern::parse(r"acc=acc: ([0-9.]+)").unwrap();
        assert_eq!(pattern.find(b"epoch 3, acc: 0.98")[0].step, Some(3));
        let text = r"both=(?<epoch>\d+) \| (?<loss>[0-9.]+) \| (?<accuracy>[0-9.]+)";
        let found = MetricPattern::parse(text).unwrap().find(b"4 | 0.5 | 0.9");
        let said: Vec<_> = found
            .iter()
            .map(|report| (report.step, report.name.as_str()))
            .collect();
        assert_eq!(said, [(Some(4), "loss"), (Some(4), "accuracy")]);
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
