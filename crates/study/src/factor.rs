//! `[factors]`: what varies.

use crate::builtin::BuiltInFactor;
use crate::document::{Entry, Value};
use crate::expression::is_reserved;
use crate::keys::FACTOR;
use crate::problem::{Place, Problem};
use crate::section::{Section, level, wrong};
use crate::spark_submit::{is_spark_key, unquoted};
use crate::template::is_name;
use crate::words::words;
use paceline_design::Scale;
use paceline_model::Level;

words! {
    /// Whether levels are quantities or names.
    pub enum FactorType {
        Numeric = "numeric", "Levels are quantities with an order and a distance.";
        Categorical = "categorical", "Levels are names, even if they are numbers.";
    }
}

/// A factor: at least two different levels, all numbers if it is numeric, all
/// positive if its scale is logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// The name: a letter, then letters, digits and `_`.
    pub name: String,
    /// The levels in the order typed; the two ends if this is a range.
    pub levels: Vec<Level>,
    /// True if everything between the two levels may be used as well.
    pub is_range: bool,
    /// Whether levels are quantities or names.
    pub kind: FactorType,
    /// How distance is measured; linear if categorical.
    pub scale: Scale,
}

/// The most levels of one factor.
const MAX_LEVELS: usize = 10_000;

impl Factor {
    /// Reads one entry of `[factors]`.
    pub(crate) fn check(entry: &Entry, problems: &mut Vec<Problem>) -> Option<Self> {
        let before = problems.len();
        let name = &entry.key;
        check_name(entry, "factor", problems);
        let title = format!("factor `{name}`");
        let factor = match &entry.node.value {
            Value::List(_) => Self::from_list(entry, &title, problems),
            Value::Table(_) => Self::from_table(entry, &title, problems),
            Value::Integer(_) | Value::Number(_) | Value::Text(_) | Value::Switch(_) => {
                problems.push(one_level(entry, &title));
                None
            }
            Value::Date(_) => wrong(entry, "a list of levels", problems),
        };
        let factor = factor?;
        factor.check_built_in(entry, problems);
        (problems.len() == before).then_some(factor)
    }

    fn from_list(entry: &Entry, title: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let levels = read_levels(entry, entry, title, problems)?;
        Some(Self {
            name: entry.key.clone(),
            kind: type_of(&levels),
            levels,
            is_range: false,
            scale: Scale::Linear,
        })
    }

    fn from_table(entry: &Entry, title: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let section = Section::open(Some(&entry.node), &FACTOR, problems);
        let scale = section.one_of("scale", problems).unwrap_or(Scale::Linear);
        let asked_type: Option<FactorType> = section.one_of("type", problems);
        let low = section.number("low", problems);
        let high = section.number("high", problems);
        let steps = section.whole("steps", problems);
        let typed = |key: &str| section.entry(key).is_some();
        let (levels, is_range) = if let Some(list) = section.entry("levels") {
            for key in ["low", "high", "steps"] {
                if let Some(other) = section.entry(key) {
                    problems.push(
                        Problem::new(
                            &other.place,
                            format!("{title} has both `levels` and `{key}`"),
                        )
                        .hint("give levels = […], or low and high"),
                    );
                }
            }
            (read_levels(list, entry, title, problems)?, false)
        } else if typed("low") && typed("high") {
            let (low, high) = (low?, high?);
            let steps = match section.entry("steps") {
                Some(_) => Some(steps?),
                None => None,
            };
            (
                range(entry, title, scale, &low, &high, steps, problems)?,
                steps.is_none(),
            )
        } else {
            problems.push(
                Problem::new(
                    &entry.place,
                    format!("{title} has neither levels nor a range"),
                )
                .hint("give levels = […], or low = … and high = …"),
            );
            return None;
        };
        let factor = Self {
            name: entry.key.clone(),
            kind: asked_type.unwrap_or_else(|| type_of(&levels)),
            levels,
            is_range,
            scale,
        };
        factor.check_type(entry, &section, title, problems);
        Some(factor)
    }

    fn check_type(
        &self,
        own: &Entry,
        section: &Section<'_>,
        title: &str,
        problems: &mut Vec<Problem>,
    ) {
        // Levels from the command line may not fit what the file says of them:
        // then the argument is at fault.
        let at = |entry: &Entry| match own.place {
            Place::Argument { .. } => own.place.clone(),
            Place::File { .. } => entry.node.place.clone(),
        };
        let not_number = self.levels.iter().find(|level| level.as_number().is_none());
        if let (Some(entry), FactorType::Numeric, Some(level)) =
            (section.entry("type"), self.kind, not_number)
        {
            problems.push(Problem::new(
                &at(entry),
                format!("{title} cannot be numeric: the level `{level}` is not a number"),
            ));
        }
        if let (Some(entry), FactorType::Categorical, true) =
            (section.entry("type"), self.kind, self.is_range)
        {
            problems.push(
                Problem::new(
                    &at(entry),
                    format!("{title} is a range and cannot be categorical"),
                )
                .hint("give levels = […]"),
            );
        }
        let (Some(entry), Scale::Log) = (section.entry("scale"), self.scale) else {
            return;
        };
        if self.kind == FactorType::Categorical {
            problems.push(Problem::new(
                &at(entry),
                format!("{title} is categorical and has no scale"),
            ));
        } else if let Some(level) = self
            .levels
            .iter()
            .find(|level| level.as_number().is_none_or(|x| x <= 0.0))
        {
            problems.push(Problem::new(
                &at(entry),
                format!("{title} has a log scale, so its level `{level}` must be above zero"),
            ));
        }
    }

    fn check_built_in(&self, entry: &Entry, problems: &mut Vec<Problem>) {
        if let Some(built_in) = BuiltInFactor::from_name(&self.name)
            && let Some((level, expected)) = self
                .levels
                .iter()
                .find_map(|level| Some((level, built_in.rule.broken_by(level)?)))
        {
            problems.push(Problem::new(
                &entry.node.place,
                format!(
                    "levels of `{}` must be {expected}, found `{level}`",
                    self.name
                ),
            ));
        }
    }

    /// True if `level` is one of the levels, or within the range.
    #[must_use]
    pub fn admits(&self, level: &Level) -> bool {
        if self.is_range {
            let ends = (self.levels[0].as_number(), self.levels[1].as_number());
            let (Some(low), Some(high)) = ends else {
                return false;
            };
            return level.as_number().is_some_and(|x| low <= x && x <= high);
        }
        self.levels.iter().any(|own| same(own, level))
    }
}

/// True if both are the same level: by value if both are numbers, otherwise by
/// the text that a command or a table would hold.
pub(crate) fn same(a: &Level, b: &Level) -> bool {
    match (a.as_number(), b.as_number()) {
        (Some(x), Some(y)) => x == y,
        _ => a.to_string() == b.to_string(),
    }
}

/// Reports a name that expressions, placeholders or the environment cannot hold.
pub(crate) fn check_name(entry: &Entry, what: &str, problems: &mut Vec<Problem>) {
    let name = &entry.key;
    if name == "spark" && matches!(entry.node.value, Value::Table(_)) {
        problems.push(unquoted(entry));
    } else if is_spark_key(name) {
        // A setting of Spark keeps its name; whether the job knows it is checked later.
    } else if !is_name(name) {
        let fixed: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let problem = Problem::new(&entry.place, format!("`{name}` cannot name a {what}"));
        problems.push(if is_name(&fixed) {
            problem.hint(format!("use letters, digits and `_`, as in `{fixed}`"))
        } else {
            problem.hint("use a letter, then letters, digits and `_`, at most 64")
        });
    } else if is_reserved(name) {
        problems.push(Problem::new(
            &entry.place,
            format!("`{name}` is a word of the expression language and cannot name a {what}"),
        ));
    }
}

fn one_level(entry: &Entry, title: &str) -> Problem {
    let problem = Problem::new(&entry.place, format!("{title} has one level"));
    match entry.place {
        Place::File { .. } => {
            problem.hint("a factor needs at least two; put constants under [fixed]")
        }
        Place::Argument { .. } => problem.hint(format!(
            "a factor needs at least two; write fixed.{}=… for a constant",
            entry.key
        )),
    }
}

/// Reads `list`, which belongs to the factor at `entry`.
fn read_levels(
    list: &Entry,
    entry: &Entry,
    title: &str,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Level>> {
    let Value::List(items) = &list.node.value else {
        return wrong(list, "a list of levels", problems);
    };
    match items.len() {
        0 => {
            problems.push(
                Problem::new(&entry.place, format!("{title} has no levels"))
                    .hint("a factor needs at least two"),
            );
            return None;
        }
        1 => {
            problems.push(one_level(entry, title));
            return None;
        }
        count if count > MAX_LEVELS => {
            problems.push(Problem::new(
                &entry.place,
                format!("{title} has {count} levels, more than {MAX_LEVELS}"),
            ));
            return None;
        }
        _ => {}
    }
    let before = problems.len();
    let mut levels = Vec::with_capacity(items.len());
    let mut seen = std::collections::HashSet::new();
    for item in items {
        let Some(level) = level(item, title, problems) else {
            continue;
        };
        // Adding zero makes −0 and 0 one level.
        let key = match level.as_number() {
            Some(x) => format!("{:?}", x + 0.0),
            None => level.to_string(),
        };
        let text = level.to_string();
        if !seen.insert(key.clone()) || (key != text && !seen.insert(text)) {
            problems.push(Problem::new(
                &item.place,
                format!("{title} has the level `{level}` twice"),
            ));
        }
        levels.push(level);
    }
    (problems.len() == before).then_some(levels)
}

fn type_of(levels: &[Level]) -> FactorType {
    if levels.iter().all(|level| level.as_number().is_some()) {
        FactorType::Numeric
    } else {
        FactorType::Categorical
    }
}

/// The ends of a range, or its steps. Whole ends give whole steps.
fn range(
    entry: &Entry,
    title: &str,
    scale: Scale,
    low: &Level,
    high: &Level,
    steps: Option<u64>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Level>> {
    let ends = low.as_number().zip(high.as_number());
    let (a, b) = ends.expect("the section read two numbers");
    if a >= b {
        problems.push(Problem::new(
            &entry.place,
            format!("{title} has a range from {low} to {high}, which is empty"),
        ));
        return None;
    }
    let Some(steps) = steps else {
        return Some(vec![low.clone(), high.clone()]);
    };
    if scale == Scale::Log && a <= 0.0 {
        // The check of the scale reports it with its place.
        return Some(vec![low.clone(), high.clone()]);
    }
    let whole = matches!((low, high), (Level::Integer(_), Level::Integer(_)));
    let last = (steps - 1) as f64;
    let levels: Vec<Level> = (0..steps)
        .map(|step| {
            let share = step as f64 / last;
            let value = match scale {
                Scale::Linear => a + (b - a) * share,
                Scale::Log => (a.ln() + (b.ln() - a.ln()) * share).exp(),
            };
            match (step, whole) {
                // The ends are exactly what was typed.
                (0, _) => low.clone(),
                _ if step == steps - 1 => high.clone(),
                (_, true) => Level::Integer(value.round() as i64),
                (_, false) => Level::Number(value),
            }
        })
        .collect();
    if levels.windows(2).any(|pair| same(&pair[0], &pair[1])) {
        problems.push(
            Problem::new(
                &entry.place,
                format!("{title} has no {steps} different levels from {low} to {high}"),
            )
            .hint("give fewer steps; whole ends give whole levels, so write 1.0 for fractions"),
        );
        return None;
    }
    Some(levels)
}
