//! What varies: factors, their levels, and the way between coded and natural values.

use std::collections::BTreeSet;

use paceline_model::Level;
use thiserror::Error;

/// How the distance between two numeric levels is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences are equal steps.
    #[default]
    Linear,
    /// Equal ratios are equal steps: the middle of 1 and 100 is 10.
    Log,
}

/// A factor that has passed every check: at least two different levels, all of
/// them finite, and positive where the scale is logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    name: String,
    levels: Vec<Level>,
    nature: Nature,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Nature {
    Categorical,
    Numeric {
        scale: Scale,
        /// Middle and half width of the range on the factor's scale.
        middle: f64,
        half_width: f64,
        whole: bool,
    },
}

/// The value a trial gives to one factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// One of the factor's own levels, by position.
    Level(u32),
    /// A coded value of a numeric factor: −1 is its lowest level, +1 its highest.
    Coded(f64),
}

impl Setting {
    /// The setting as something to look up by: equal settings have equal keys.
    pub(crate) fn key(self) -> (bool, u64) {
        match self {
            Self::Level(i) => (false, u64::from(i)),
            // Zero has two signs but is one value.
            Self::Coded(x) => (true, (x + 0.0).to_bits()),
        }
    }
}

/// Why a factor cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FactorError {
    /// The name is empty or holds a character that generators use.
    #[error("factor name `{name}` is empty or holds a space or one of `* : =`")]
    BadName {
        /// The name as given.
        name: String,
    },
    /// Nothing varies.
    #[error("factor `{factor}` has {count} level(s); it needs at least two")]
    TooFewLevels {
        /// The factor.
        factor: String,
        /// How many levels it has.
        count: usize,
    },
    /// A level is listed twice.
    #[error("factor `{factor}` lists the level `{level}` twice")]
    RepeatedLevel {
        /// The factor.
        factor: String,
        /// The level that occurs again.
        level: String,
    },
    /// A level is infinite or not a number.
    #[error("factor `{factor}` has a level that is not a finite number")]
    NotFinite {
        /// The factor.
        factor: String,
    },
    /// A log scale needs positive numbers.
    #[error("factor `{factor}` has a log scale, so its level `{level}` must be a positive number")]
    NotPositive {
        /// The factor.
        factor: String,
        /// The offending level.
        level: String,
    },
    /// A numeric treatment was asked for words.
    #[error("factor `{factor}` is not numeric: level `{level}` is not a number")]
    NotNumeric {
        /// The factor.
        factor: String,
        /// The offending level.
        level: String,
    },
    /// Two factors share a name.
    #[error("two factors are named `{name}`")]
    RepeatedName {
        /// The shared name.
        name: String,
    },
    /// There is nothing to design.
    #[error("a design needs at least one factor")]
    NoFactors,
    /// More factors than effects can be written down for.
    #[error("{count} factors are more than the {limit} a design may have", limit = Factors::MAX)]
    TooManyFactors {
        /// How many were given.
        count: usize,
    },
}

impl Factor {
    /// A factor that is numeric, on a linear scale, when all its levels are
    /// numbers, and categorical otherwise.
    pub fn new(name: impl Into<String>, levels: Vec<Level>) -> Result<Self, FactorError> {
        let (name, levels) = Self::checked(name.into(), levels)?;
        if levels.iter().all(|level| level.as_number().is_some()) {
            Self::with_scale(name, levels, Scale::Linear)
        } else {
            Ok(Self {
                name,
                levels,
                nature: Nature::Categorical,
            })
        }
    }

    /// A numeric factor on the given scale.
    pub fn numeric(
        name: impl Into<String>,
        levels: Vec<Level>,
        scale: Scale,
    ) -> Result<Self, FactorError> {
        let (name, levels) = Self::checked(name.into(), levels)?;
        Self::with_scale(name, levels, scale)
    }

    /// A factor whose levels have no order, even if they are numbers.
    pub fn categorical(name: impl Into<String>, levels: Vec<Level>) -> Result<Self, FactorError> {
        let (name, levels) = Self::checked(name.into(), levels)?;
        Ok(Self {
            name,
            levels,
            nature: Nature::Categorical,
        })
    }

    fn checked(name: String, levels: Vec<Level>) -> Result<(String, Vec<Level>), FactorError> {
        let reserved = |c: char| c.is_whitespace() || "*:=".contains(c);
        if name.is_empty() || name.contains(reserved) {
            return Err(FactorError::BadName { name });
        }
        if levels.len() < 2 {
            return Err(FactorError::TooFewLevels {
                factor: name,
                count: levels.len(),
            });
        }
        if levels
            .iter()
            .any(|l| l.as_number().is_some_and(|x| !x.is_finite()))
        {
            return Err(FactorError::NotFinite { factor: name });
        }
        // Numbers are compared by value, so that 1 and 1.0 count as one level.
        let mut seen = BTreeSet::new();
        for level in &levels {
            let key = match level.as_number() {
                Some(x) => format!("n{:?}", x + 0.0),
                None => format!("w{level}"),
            };
            if !seen.insert(key) {
                return Err(FactorError::RepeatedLevel {
                    factor: name,
                    level: level.to_string(),
                });
            }
        }
        Ok((name, levels))
    }

    fn with_scale(name: String, levels: Vec<Level>, scale: Scale) -> Result<Self, FactorError> {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for level in &levels {
            let Some(value) = level.as_number() else {
                return Err(FactorError::NotNumeric {
                    factor: name,
                    level: level.to_string(),
                });
            };
            if scale == Scale::Log && value <= 0.0 {
                return Err(FactorError::NotPositive {
                    factor: name,
                    level: level.to_string(),
                });
            }
            let place = scale.place(value);
            low = low.min(place);
            high = high.max(place);
        }
        let half_width = high / 2.0 - low / 2.0;
        if half_width <= 0.0 {
            // Distinct integers beyond 2^53 can fall on one floating-point number.
            let level = levels[1].to_string();
            return Err(FactorError::RepeatedLevel {
                factor: name,
                level,
            });
        }
        let whole = levels
            .iter()
            .all(|level| matches!(level, Level::Integer(_)));
        let middle = low / 2.0 + high / 2.0;
        Ok(Self {
            name,
            levels,
            nature: Nature::Numeric {
                scale,
                middle,
                half_width,
                whole,
            },
        })
    }

    /// The factor's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The levels in the order given.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Whether the levels have no order.
    #[must_use]
    pub fn is_categorical(&self) -> bool {
        matches!(self.nature, Nature::Categorical)
    }

    /// The scale of a numeric factor.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        match self.nature {
            Nature::Categorical => None,
            Nature::Numeric { scale, .. } => Some(scale),
        }
    }

    /// The coded value of a setting.
    ///
    /// For a numeric factor −1 is the lowest level and +1 the highest, on the
    /// factor's scale. The levels of a categorical factor are spread evenly
    /// from −1 to +1 in the order given; with more than two levels that is a
    /// label, not a quantity.
    ///
    /// # Panics
    /// When the setting is a level that the factor does not have.
    #[must_use]
    pub fn coded(&self, setting: Setting) -> f64 {
        match (setting, self.nature) {
            (Setting::Coded(x), _) => x,
            (Setting::Level(i), Nature::Categorical) => {
                2.0 * f64::from(i) / (self.levels.len() - 1) as f64 - 1.0
            }
            (
                Setting::Level(i),
                Nature::Numeric {
                    scale,
                    middle,
                    half_width,
                    ..
                },
            ) => {
                let value = self.levels[i as usize]
                    .as_number()
                    .expect("a numeric factor's levels were checked to be numbers");
                (scale.place(value) - middle) / half_width
            }
        }
    }

    /// The level a setting stands for, as it is substituted into a command.
    ///
    /// A numeric factor whose levels are all whole takes whole values only.
    ///
    /// # Panics
    /// When the setting is a level that the factor does not have.
    #[must_use]
    pub fn natural(&self, setting: Setting) -> Level {
        match (setting, self.nature) {
            (Setting::Level(i), _) => self.levels[i as usize].clone(),
            (
                Setting::Coded(x),
                Nature::Numeric {
                    scale,
                    middle,
                    half_width,
                    whole,
                },
            ) => {
                let value = scale.value(middle + x * half_width);
                if whole {
                    Level::Integer(value.round() as i64)
                } else {
                    Level::Number(value)
                }
            }
            // Nothing in this crate makes one; the nearest level is the honest reading.
            (Setting::Coded(x), Nature::Categorical) => {
                let last = (self.levels.len() - 1) as f64;
                let index = ((x + 1.0) / 2.0 * last).round().clamp(0.0, last);
                self.levels[index as usize].clone()
            }
        }
    }

    /// The setting at a coded value: one of the levels where it coincides with
    /// one, and rounded to a whole value where the factor is whole.
    pub(crate) fn at(&self, coded: f64) -> Setting {
        let mut coded = coded;
        if let Nature::Numeric {
            scale,
            middle,
            half_width,
            whole: true,
        } = self.nature
        {
            let rounded = scale.value(middle + coded * half_width).round();
            if scale == Scale::Linear || rounded > 0.0 {
                coded = (scale.place(rounded) - middle) / half_width;
            }
        }
        let same = |i: &u32| (self.coded(Setting::Level(*i)) - coded).abs() < 1e-9;
        match (0..self.levels.len() as u32).find(same) {
            Some(i) => Setting::Level(i),
            None => Setting::Coded(coded),
        }
    }

    /// The level with the smallest or the greatest value; of a categorical
    /// factor the first or the last.
    pub(crate) fn end(&self, high: bool) -> Setting {
        let wanted = if high { 1.0 } else { -1.0 };
        let nearest = (0..self.levels.len() as u32)
            .min_by(|a, b| {
                let distance = |i: &u32| (self.coded(Setting::Level(*i)) - wanted).abs();
                distance(a).total_cmp(&distance(b))
            })
            .expect("a factor has at least two levels");
        Setting::Level(nearest)
    }

    /// The middle of the factor: the middle one of an odd number of levels,
    /// the middle of the range otherwise. Categorical factors have none, nor
    /// has a whole one with no whole value between its ends.
    pub(crate) fn centre(&self) -> Option<Setting> {
        if self.is_categorical() {
            return None;
        }
        let n = self.levels.len();
        if n.is_multiple_of(2) {
            let middle = self.at(0.0);
            return (middle != self.end(false) && middle != self.end(true)).then_some(middle);
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|a, b| {
            let coded = |i: &u32| self.coded(Setting::Level(*i));
            coded(a).total_cmp(&coded(b))
        });
        Some(Setting::Level(order[n / 2]))
    }

    /// Whether every level is a positive number.
    pub(crate) fn all_positive(&self) -> bool {
        self.levels
            .iter()
            .all(|level| level.as_number().is_some_and(|x| x > 0.0))
    }
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.ln(),
        }
    }

    fn value(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Log => place.exp(),
        }
    }
}

/// The factors of one design, in order, with different names.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors(Vec<Factor>);

impl Factors {
    /// The most factors a design may have.
    pub const MAX: usize = 128;

    /// Checks that there is at least one factor and no two share a name.
    pub fn new(factors: Vec<Factor>) -> Result<Self, FactorError> {
        if factors.is_empty() {
            return Err(FactorError::NoFactors);
        }
        if factors.len() > Self::MAX {
            return Err(FactorError::TooManyFactors {
                count: factors.len(),
            });
        }
        let mut seen = BTreeSet::new();
        for factor in &factors {
            if !seen.insert(factor.name()) {
                return Err(FactorError::RepeatedName {
                    name: factor.name.clone(),
                });
            }
        }
        Ok(Self(factors))
    }

    /// The factors as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[Factor] {
        &self.0
    }

    /// The position of the factor with this name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|factor| factor.name == name)
    }

    /// The name of the factor at a position.
    #[must_use]
    pub fn name(&self, position: usize) -> &str {
        &self.0[position].name
    }

    /// The letter that stands for a factor in words and generators: A to Z
    /// without I, which is the identity. Beyond 25 factors there are none.
    #[must_use]
    pub fn letter(position: usize) -> Option<char> {
        "ABCDEFGHJKLMNOPQRSTUVWXYZ".chars().nth(position)
    }
}

impl std::ops::Deref for Factors {
    type Target = [Factor];

    fn deref(&self) -> &[Factor] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(values: &[i64]) -> Vec<Level> {
        values.iter().copied().map(Level::Integer).collect()
    }

    #[test]
    fn the_middle_of_a_log_scale_is_the_geometric_mean() {
        let rate = Factor::numeric(
            "learning_rate",
            vec![Level::Number(0.001), Level::Number(0.1)],
            Scale::Log,
        )
        .unwrap();
        let Level::Number(middle) = rate.natural(Setting::Coded(0.0)) else {
            panic!("a number scale yields numbers")
        };
        assert!((middle - 0.01).abs() < 1e-15);
    }

    #[test]
    fn a_whole_factor_takes_whole_values_and_reports_the_code_it_really_has() {
        let batch = Factor::new("batch_size", whole(&[64, 256])).unwrap();
        assert_eq!(batch.centre(), Some(Setting::Coded(0.0)));
        let nodes = Factor::new("nodes", whole(&[1, 4])).unwrap();
        let centre = nodes.centre().unwrap();
        assert_eq!(nodes.natural(centre), Level::Integer(3));
        assert!((nodes.coded(centre) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn levels_out_of_order_are_coded_by_value_and_categories_by_position() {
        let batch = Factor::new("batch_size", whole(&[256, 64])).unwrap();
        assert_eq!(batch.coded(Setting::Level(0)), 1.0);
        assert_eq!(batch.end(false), Setting::Level(1));
        let sync = Factor::categorical("sync", whole(&[256, 64])).unwrap();
        assert_eq!(sync.coded(Setting::Level(0)), -1.0);
    }

    #[test]
    fn impossible_factors_are_refused_with_their_reason() {
        let check = |result: Result<Factor, FactorError>, text: &str| {
            assert_eq!(result.unwrap_err().to_string(), text);
        };
        check(
            Factor::new("a", whole(&[1])),
            "factor `a` has 1 level(s); it needs at least two",
        );
        check(
            Factor::new("a", vec![Level::Integer(1), Level::Number(1.0)]),
            "factor `a` lists the level `1` twice",
        );
        check(
            Factor::new("a", vec![Level::Integer(1), Level::Number(f64::NAN)]),
            "factor `a` has a level that is not a finite number",
        );
        check(
            Factor::numeric("a", whole(&[0, 1]), Scale::Log),
            "factor `a` has a log scale, so its level `0` must be a positive number",
        );
        check(
            Factor::numeric(
                "a",
                vec![Level::Integer(1), Level::Word("x".into())],
                Scale::Linear,
            ),
            "factor `a` is not numeric: level `x` is not a number",
        );
        assert!(matches!(
            Factor::new("a b", whole(&[0, 1])),
            Err(FactorError::BadName { .. })
        ));
    }
}
