//! Effects of two-level factors in coded units, and what they are confused with.
//!
//! A factor with exactly two values is coded −1 at the lower and +1 at the higher
//! (categorical ones in level order). The effect of a term is the change of the
//! response from −1 to +1, twice its coefficient (G. E. P. Box, J. S. Hunter and
//! W. G. Hunter, *Statistics for Experimenters*, 2nd edition, chapter 5). Which
//! interactions share a column, up to sign, is read off the runs themselves, so
//! a fraction is recognised without being told its generators.

use std::collections::HashMap;

use paceline_dist::StudentT;

use crate::lstsq::{Triangle, eliminate, mean};
use crate::table::{Column, ColumnData, MISSING_CODE};

/// A factor coded −1 and +1 in every run.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedFactor {
    name: String,
    low: String,
    high: String,
    signs: Vec<i8>,
}

impl CodedFactor {
    /// Codes a column in the given rows; `None` if it does not take exactly two
    /// values there, or misses one.
    pub fn from_column(column: &Column, rows: &[u32]) -> Option<CodedFactor> {
        let (low, high, signs) = match column.data() {
            ColumnData::Numeric(values) => {
                let picked: Vec<f64> = rows.iter().map(|&row| values[row as usize]).collect();
                let low = picked.iter().copied().fold(f64::INFINITY, f64::min);
                let high = picked.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let two = picked.iter().all(|&value| value == low || value == high);
                if !two || low >= high {
                    return None;
                }
                let signs = picked.iter().map(|&v| if v == high { 1 } else { -1 });
                (low.to_string(), high.to_string(), signs.collect())
            }
            ColumnData::Categorical { levels, codes, .. } => {
                let picked: Vec<u32> = rows.iter().map(|&row| codes[row as usize]).collect();
                let low = *picked.iter().min()?;
                let high = *picked.iter().max()?;
                let two = picked.iter().all(|&code| code == low || code == high);
                if !two || low == high || high == MISSING_CODE {
                    return None;
                }
                let signs = picked.iter().map(|&c| if c == high { 1 } else { -1 });
                (
                    levels[low as usize].clone(),
                    levels[high as usize].clone(),
                    signs.collect(),
                )
            }
        };
        Some(CodedFactor {
            name: column.name().to_owned(),
            low,
            high,
            signs,
        })
    }

    /// The factor's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value coded −1.
    pub fn low(&self) -> &str {
        &self.low
    }

    /// The value coded +1.
    pub fn high(&self) -> &str {
        &self.high
    }
}

/// A main effect or interaction of coded factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its name, such as `learning_rate:batch_size`.
    pub term: String,
    /// The factors, by index.
    pub factors: Vec<usize>,
    /// Mean response at +1 minus mean response at −1, in the presence of the
    /// other effects.
    pub estimate: f64,
    /// Its standard error and interval; `None` where no degree of freedom is left
    /// for error.
    pub interval: Option<EffectInterval>,
    /// Other terms, up to the fourth order, that this design cannot tell from it.
    pub aliases: Vec<SignedTerm>,
}

/// How sure an effect is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectInterval {
    /// The standard error.
    pub standard_error: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// A term that equals another, or its negative, in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTerm {
    /// The term.
    pub term: String,
    /// Whether its column is the negative of the other's.
    pub negative: bool,
}

/// The effects of a two-level design.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// One per distinguishable term asked for: of several terms that share a
    /// column, the first stands for all.
    pub effects: Vec<Effect>,
    /// Terms of up to the fourth order whose column never varies: words of the
    /// defining relation of a fraction.
    pub defining: Vec<SignedTerm>,
    /// The mean response in the coded design.
    pub mean: f64,
    /// Degrees of freedom of error.
    pub residual_df: usize,
    /// Whether all columns are orthogonal, so that estimates are independent.
    pub orthogonal: bool,
}

/// Why effects cannot be estimated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectsError {
    /// There is no two-level factor.
    #[error("no factor has exactly two values")]
    NoFactors,
    /// More factors than words have bits for.
    #[error("effects of at most {limit} two-level factors can be listed, not of {factors}")]
    TooManyFactors {
        /// How many were given.
        factors: usize,
        /// How many are accepted.
        limit: usize,
    },
    /// The number of responses differs from that of the runs.
    #[error("there are {responses} responses for {runs} runs")]
    LengthMismatch {
        /// Responses given.
        responses: usize,
        /// Runs of the factors.
        runs: usize,
    },
}

const MOST_FACTORS: usize = 24;
/// Aliases of higher order than this are not worth naming beside lower ones.
const HIGHEST_ALIAS: usize = 4;

impl Effects {
    /// Estimates all effects up to `order` (1 for main effects, 2 to add
    /// two-factor interactions, and so on).
    ///
    /// # Errors
    ///
    /// When there is no factor, there are too many, or lengths differ.
    pub fn estimate(
        factors: &[CodedFactor],
        response: &[f64],
        order: usize,
        confidence: f64,
    ) -> Result<Effects, EffectsError> {
        let terms = match factors.len() <= MOST_FACTORS {
            true => terms_up_to(factors.len(), order),
            false => Vec::new(),
        };
        Effects::of_terms(factors, &terms, response, confidence)
    }

    /// Estimates the effects of these terms, each a set of factor indices.
    ///
    /// # Errors
    ///
    /// As [`Effects::estimate`].
    pub fn of_terms(
        factors: &[CodedFactor],
        terms: &[Vec<usize>],
        response: &[f64],
        confidence: f64,
    ) -> Result<Effects, EffectsError> {
        if factors.is_empty() {
            return Err(EffectsError::NoFactors);
        }
        if factors.len() > MOST_FACTORS {
            return Err(EffectsError::TooManyFactors {
                factors: factors.len(),
                limit: MOST_FACTORS,
            });
        }
        if let Some(factor) = factors.iter().find(|f| f.signs.len() != response.len()) {
            return Err(EffectsError::LengthMismatch {
                responses: response.len(),
                runs: factor.signs.len(),
            });
        }
        let settings = Settings::of(factors, response);
        let structure = settings.alias_structure(factors.len(), terms);
        Ok(settings.solve(factors, structure, confidence))
    }
}

/// The distinct settings of a design, with the responses at each.
struct Settings {
    /// One bit per factor, set at +1.
    settings: Vec<u32>,
    counts: Vec<f64>,
    means: Vec<f64>,
    within: f64,
    runs: usize,
}

/// A set of terms with one column.
struct AliasSet {
    factors: Vec<usize>,
    column: Vec<f64>,
    aliases: Vec<(Vec<usize>, bool)>,
}

struct Structure {
    sets: Vec<AliasSet>,
    defining: Vec<(Vec<usize>, bool)>,
}

impl Settings {
    fn of(factors: &[CodedFactor], response: &[f64]) -> Settings {
        let mut groups: HashMap<u32, Vec<f64>> = HashMap::new();
        let mut order = Vec::new();
        for (run, &value) in response.iter().enumerate() {
            let setting = factors.iter().enumerate().fold(0, |bits, (index, factor)| {
                bits | u32::from(factor.signs[run] > 0) << index
            });
            let group = groups.entry(setting).or_insert_with(|| {
                order.push(setting);
                Vec::new()
            });
            group.push(value);
        }
        order.sort_unstable();
        let means: Vec<f64> = order.iter().map(|setting| mean(&groups[setting])).collect();
        let within = order
            .iter()
            .zip(&means)
            .map(|(setting, centre)| {
                let group = &groups[setting];
                group
                    .iter()
                    .map(|value| (value - centre).powi(2))
                    .sum::<f64>()
            })
            .sum();
        Settings {
            counts: order.iter().map(|s| groups[s].len() as f64).collect(),
            settings: order,
            means,
            within,
            runs: response.len(),
        }
    }

    fn column(&self, term: &[usize]) -> Vec<f64> {
        let mask = term.iter().fold(0_u32, |mask, &factor| mask | 1 << factor);
        self.settings
            .iter()
            .map(|setting| {
                let minus = term.len() as u32 - (setting & mask).count_ones();
                if minus.is_multiple_of(2) { 1.0 } else { -1.0 }
            })
            .collect()
    }

    fn alias_structure(&self, factors: usize, terms: &[Vec<usize>]) -> Structure {
        // The wanted terms come first, so that each alias set is named by one of
        // them; the others only join sets.
        let wanted: Vec<Vec<usize>> = terms
            .iter()
            .map(|term| {
                let mut term = term.clone();
                term.sort_unstable();
                term
            })
            .collect();
        let others = terms_up_to(factors, HIGHEST_ALIAS)
            .into_iter()
            .filter(|term| !wanted.contains(term));
        let all: Vec<(Vec<usize>, bool)> = wanted
            .iter()
            .map(|term| (term.clone(), true))
            .chain(others.map(|term| (term, false)))
            .collect();
        let mut sets: Vec<AliasSet> = Vec::new();
        let mut defining = Vec::new();
        // Columns are compared up to sign: the first run's sign is divided out.
        let mut known: HashMap<Vec<bool>, usize> = HashMap::new();
        for (term, estimated) in all {
            let column = self.column(&term);
            let first = column[0];
            let key: Vec<bool> = column.iter().map(|value| value * first > 0.0).collect();
            if key.iter().all(|&same| same) {
                defining.push((term, first < 0.0));
                continue;
            }
            match known.get(&key) {
                Some(&index) => {
                    let set = &mut sets[index];
                    let negative = set.column[0] * first < 0.0;
                    set.aliases.push((term, negative));
                }
                None if estimated => {
                    known.insert(key, sets.len());
                    sets.push(AliasSet {
                        factors: term,
                        column,
                        aliases: Vec::new(),
                    });
                }
                None => {}
            }
        }
        Structure { sets, defining }
    }

    fn solve(&self, factors: &[CodedFactor], structure: Structure, confidence: f64) -> Effects {
        // Householder on the few distinct settings, weighted by their runs.
        let rows = self.settings.len();
        let width = structure.sets.len() + 2;
        let roots: Vec<f64> = self.counts.iter().map(|count| count.sqrt()).collect();
        let mut block = Vec::with_capacity(rows * width);
        block.extend_from_slice(&roots);
        for set in &structure.sets {
            block.extend(
                set.column
                    .iter()
                    .zip(&roots)
                    .map(|(value, root)| value * root),
            );
        }
        block.extend(
            self.means
                .iter()
                .zip(&roots)
                .map(|(mean, root)| mean * root),
        );
        let mut triangle = Triangle::<f64>::new(width);
        triangle.absorb(&mut block, rows);
        let order: Vec<usize> = (0..width - 1).collect();
        let solved = eliminate(&triangle, &order);
        let coefficients = solved.coefficients();
        let inverse = solved.inverse();
        let residual_df = self.runs - solved.rank();
        let residual = self.within + solved.residual_square();
        let error = (residual_df > 0).then(|| {
            let student = StudentT::new(residual_df as f64)
                .expect("checked to be at least one degree of freedom");
            let sd = (residual / residual_df as f64).sqrt();
            (sd, student.quantile(0.5 + confidence / 2.0), student)
        });
        let orthogonal = self.orthogonal(&structure);
        let position: HashMap<usize, usize> = solved
            .independent
            .iter()
            .enumerate()
            .map(|(position, &column)| (column, position))
            .collect();
        let label = |term: &[usize]| -> String {
            let names: Vec<&str> = term.iter().map(|&factor| factors[factor].name()).collect();
            names.join(":")
        };
        let signed = |(term, negative): (Vec<usize>, bool)| SignedTerm {
            term: label(&term),
            negative,
        };
        let effects = structure
            .sets
            .into_iter()
            .enumerate()
            .filter_map(|(index, set)| {
                let k = *position.get(&(index + 1))?;
                let estimate = 2.0 * coefficients[k];
                let interval = error.as_ref().map(|(sd, reach, student)| {
                    let variance: f64 = inverse.iter().map(|column| column[k].powi(2)).sum();
                    let standard_error = 2.0 * sd * variance.sqrt();
                    EffectInterval {
                        standard_error,
                        lower: estimate - reach * standard_error,
                        upper: estimate + reach * standard_error,
                        p: student.two_sided(estimate / standard_error),
                    }
                });
                Some(Effect {
                    term: label(&set.factors),
                    factors: set.factors,
                    estimate,
                    interval,
                    aliases: set.aliases.into_iter().map(signed).collect(),
                })
            })
            .collect();
        Effects {
            effects,
            defining: structure.defining.into_iter().map(signed).collect(),
            mean: coefficients.first().copied().unwrap_or(f64::NAN),
            residual_df,
            orthogonal,
        }
    }

    fn orthogonal(&self, structure: &Structure) -> bool {
        let product = |a: &[f64], b: &[f64]| -> f64 {
            let pairs = a.iter().zip(b).zip(&self.counts);
            pairs.map(|((a, b), count)| a * b * count).sum()
        };
        let ones = vec![1.0; self.settings.len()];
        let sets = &structure.sets;
        sets.iter().enumerate().all(|(index, set)| {
            product(&set.column, &ones) == 0.0
                && sets[..index]
                    .iter()
                    .all(|other| product(&set.column, &other.column) == 0.0)
        })
    }
}

/// All non-empty sets of factors up to a size, small sets first.
fn terms_up_to(factors: usize, order: usize) -> Vec<Vec<usize>> {
    let mut terms: Vec<Vec<usize>> = Vec::new();
    let mut last: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..order.min(factors) {
        last = last
            .iter()
            .flat_map(|term| {
                let from = term.last().map_or(0, |&factor| factor + 1);
                (from..factors).map(|factor| term.iter().copied().chain([factor]).collect())
            })
            .collect();
        terms.extend(last.iter().cloned());
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(columns: &[(&str, Vec<f64>)]) -> Vec<CodedFactor> {
        columns
            .iter()
            .map(|(name, values)| {
                let rows: Vec<u32> = (0..values.len() as u32).collect();
                CodedFactor::from_column(&Column::numeric(*name, values.clone()), &rows).unwrap()
            })
            .collect()
    }

    /// A 2^(4-1) design with D = ABC.
    fn half_fraction() -> Vec<CodedFactor> {
        let bit = |run: usize, k: usize| if run >> k & 1 == 1 { 1.0 } else { -1.0 };
        let column = |k: usize| (0..8).map(|run| bit(run, k)).collect::<Vec<f64>>();
        let d = (0..8).map(|run| bit(run, 0) * bit(run, 1) * bit(run, 2));
        coded(&[
            ("A", column(0)),
            ("B", column(1)),
            ("C", column(2)),
            ("D", d.collect()),
        ])
    }

    #[test]
    fn a_half_fraction_names_its_aliases_and_defining_relation() {
        let response = [45.0, 71.0, 48.0, 65.0, 68.0, 60.0, 80.0, 65.0];
        let effects = Effects::estimate(&half_fraction(), &response, 2, 0.95).unwrap();
        assert!(effects.orthogonal);
        assert_eq!(
            effects.defining,
            [SignedTerm {
                term: "A:B:C:D".into(),
                negative: false
            }]
        );
        let ab = effects.effects.iter().find(|e| e.term == "A:B").unwrap();
        assert_eq!(ab.aliases[0].term, "C:D");
        let a = effects.effects.iter().find(|e| e.term == "A").unwrap();
        assert_eq!(a.aliases[0].term, "B:C:D");
        // Seven distinguishable effects and the mean use up eight runs.
        assert_eq!(effects.effects.len(), 7);
        assert_eq!(effects.residual_df, 0);
        assert!(effects.effects.iter().all(|e| e.interval.is_none()));
    }

    #[test]
    fn an_effect_is_the_difference_of_two_means() {
        let response = [45.0, 71.0, 48.0, 65.0, 68.0, 60.0, 80.0, 65.0];
        let effects = Effects::estimate(&half_fraction(), &response, 2, 0.95).unwrap();
        let high = (71.0 + 65.0 + 60.0 + 65.0) / 4.0;
        let low = (45.0 + 48.0 + 68.0 + 80.0) / 4.0;
        let a = &effects.effects[0];
        assert!((a.estimate - (high - low)).abs() < 1e-12);
    }

    #[test]
    fn a_negative_generator_gives_negative_aliases() {
        let bit = |run: usize, k: usize| if run >> k & 1 == 1 { 1.0 } else { -1.0 };
        let c = (0..4).map(|run| -bit(run, 0) * bit(run, 1));
        let factors = coded(&[
            ("A", (0..4).map(|run| bit(run, 0)).collect()),
            ("B", (0..4).map(|run| bit(run, 1)).collect()),
            ("C", c.collect()),
        ]);
        let effects = Effects::estimate(&factors, &[1.0, 2.0, 3.0, 5.0], 1, 0.95).unwrap();
        let a = &effects.effects[0];
        assert_eq!(
            a.aliases,
            [SignedTerm {
                term: "B:C".into(),
                negative: true
            }]
        );
    }

    #[test]
    fn a_three_level_column_is_not_coded() {
        let column = Column::numeric("x", vec![1.0, 2.0, 3.0]);
        assert_eq!(CodedFactor::from_column(&column, &[0, 1, 2]), None);
        assert!(CodedFactor::from_column(&column, &[0, 1]).is_some());
    }
}
