//! `[responses]`: what is measured.

use crate::document::{Entry, Value};
use crate::expression::Expression;
use crate::factor::check_name;
use crate::keys::RESPONSE;
use crate::problem::{Place, Problem};
use crate::section::{Section, expression, wrong};
use crate::words::words;
use paceline_model::RunValue;
use regex::Regex;
use std::collections::BTreeMap;

words! {
    /// Which of several reported values counts.
    pub enum Take {
        Last = "last", "The last one.";
        First = "first", "The first one.";
        Max = "max", "The largest one.";
        Min = "min", "The smallest one.";
        Mean = "mean", "The mean of all.";
    }
}

/// One thing that is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The name, which is also the column of the study's table.
    pub name: String,
    /// Where its value comes from.
    pub source: ResponseSource,
    /// The unit of its values, if the study says it.
    pub unit: Option<String>,
}

/// Where a response's value comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseSource {
    /// A formula. Its own name stands for the metric of that name; any other
    /// name is a response, a built-in value, a factor, a constant or a metric,
    /// in this order.
    Expression(Expression),
    /// Numbers in the lines of the log.
    Log(LogPattern, Take),
    /// A metric that the run reports.
    Metric(String, Take),
}

/// A regular expression over one line. Two are equal if their texts are.
#[derive(Debug, Clone)]
pub struct LogPattern(Regex);

impl LogPattern {
    /// The text as typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The number in `line`: the first group that took part in the match, or
    /// the whole match if there are no groups. A match that is not a number
    /// counts as none.
    #[must_use]
    pub fn number_in(&self, line: &str) -> Option<f64> {
        let captures = self.0.captures(line)?;
        let text = captures
            .iter()
            .skip(1)
            .flatten()
            .next()
            .or_else(|| captures.get(0))?;
        text.as_str().trim().parse().ok()
    }
}

impl PartialEq for LogPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A response with the place of its text, for the checks between responses.
pub(crate) struct ReadResponse {
    pub(crate) response: Response,
    pub(crate) place: Place,
    /// The expression as typed, for excerpts.
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn read(entry: &Entry, problems: &mut Vec<Problem>) -> Option<ReadResponse> {
        let before = problems.len();
        check_name(entry, "response", problems);
        if RunValue::from_name(&entry.key).is_some() {
            problems.push(
                Problem::new(
                    &entry.place,
                    format!(
                        "`{}` is measured for every run and cannot name a response",
                        entry.key
                    ),
                )
                .hint("it is a column of the table already; choose another name"),
            );
        }
        let title = format!("response `{}`", entry.key);
        let (source, place, text, unit) = match &entry.node.value {
            Value::Table(_) => {
                let section = Section::open(Some(&entry.node), &RESPONSE, problems);
                let unit = section.text("unit", problems).map(str::to_owned);
                let (source, place, text) = Self::read_table(entry, &section, &title, problems)?;
                (source, place, text, unit)
            }
            Value::Text(_) | Value::Integer(_) | Value::Number(_) => (
                ResponseSource::Expression(expression(&entry.node, &title, problems)?),
                entry.node.place.clone(),
                text_of(&entry.node.value),
                None,
            ),
            _ => return wrong(entry, "an expression in quotes or a table", problems),
        };
        (problems.len() == before).then(|| ReadResponse {
            response: Self {
                name: entry.key.clone(),
                source,
                unit,
            },
            place,
            text,
        })
    }

    fn read_table(
        entry: &Entry,
        section: &Section<'_>,
        title: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<(ResponseSource, Place, String)> {
        let take = section.one_of("take", problems);
        let given: Vec<_> = ["expression", "regex", "metric"]
            .into_iter()
            .filter_map(|key| section.entry(key))
            .collect();
        let [source] = given[..] else {
            let what = match given[..] {
                [] => format!("{title} says nothing about where its value comes from"),
                _ => format!("{title} has more than one source"),
            };
            problems.push(
                Problem::new(&entry.place, what)
                    .hint("give one of `expression`, `regex` and `metric`"),
            );
            return None;
        };
        let place = source.node.place.clone();
        let text = text_of(&source.node.value);
        let take_or_last = take.unwrap_or(Take::Last);
        let found = match source.key.as_str() {
            "expression" => {
                if let Some(take) = section.entry("take") {
                    problems.push(
                        Problem::new(
                            &take.place,
                            format!("{title}: `take` has no meaning in an expression"),
                        )
                        .hint("`take` chooses among the values of a `regex` or a `metric`"),
                    );
                }
                ResponseSource::Expression(section.expression("expression", problems)?.0)
            }
            "regex" => {
                let text = section.text("regex", problems)?;
                match Regex::new(text) {
                    Ok(regex) => ResponseSource::Log(LogPattern(regex), take_or_last),
                    Err(error) => {
                        problems.push(
                            Problem::new(
                                &place,
                                format!(
                                    "{title}: the regular expression does not compile: {}",
                                    last_line(&error)
                                ),
                            )
                            .excerpt(text, &(0..text.len())),
                        );
                        return None;
                    }
                }
            }
            _ => ResponseSource::Metric(section.text("metric", problems)?.to_owned(), take_or_last),
        };
        Some((found, place, text))
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(i) => i.to_string(),
        Value::Number(x) => format!("{x:?}"),
        _ => String::new(),
    }
}

/// The compiler's message without its drawing, which our excerpt replaces.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The order in which responses can be evaluated, each after those it uses.
///
/// # Errors
/// The positions of responses that use each other in a circle, in that order.
pub(crate) fn evaluation_order(responses: &[Response]) -> Result<Vec<usize>, Vec<usize>> {
    let position: BTreeMap<&str, usize> = responses
        .iter()
        .enumerate()
        .map(|(index, response)| (response.name.as_str(), index))
        .collect();
    let uses: Vec<Vec<usize>> = responses
        .iter()
        .enumerate()
        .map(|(own, response)| match &response.source {
            ResponseSource::Expression(expression) => expression
                .names()
                .iter()
                .filter_map(|(name, _)| position.get(name).copied())
                .filter(|&other| other != own)
                .collect(),
            ResponseSource::Log(..) | ResponseSource::Metric(..) => Vec::new(),
        })
        .collect();
    let mut order = Vec::with_capacity(responses.len());
    let mut done = vec![false; responses.len()];
    // Each round takes every response whose uses are done; a round that takes
    // none leaves only circles and what hangs on them.
    while order.len() < responses.len() {
        let ready: Vec<usize> = (0..responses.len())
            .filter(|&i| !done[i] && uses[i].iter().all(|&used| done[used]))
            .collect();
        if ready.is_empty() {
            return Err(circle(&uses, &done));
        }
        for index in ready {
            done[index] = true;
            order.push(index);
        }
    }
    Ok(order)
}

/// Follows uses that are not done until one comes again.
fn circle(uses: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let start = done
        .iter()
        .position(|done| !done)
        .expect("something is not done");
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let next = *uses[last]
            .iter()
            .find(|&&used| !done[used])
            .expect("a response that is not done uses another that is not");
        if let Some(begin) = path.iter().position(|&visited| visited == next) {
            return path.split_off(begin);
        }
        path.push(next);
    }
}
