//! Regular fractions of two-level factorials: generators, defining relation,
//! resolution, aliases.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::catalogue;
use crate::factor::Factors;
use crate::notation::Generator;
use crate::word::Word;

/// The most added factors whose products are listed: 65,535 words.
const MAX_LISTED: usize = 16;

/// How the fraction is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FractionBy {
    /// Generators; never empty, each over factors without one or generated before.
    Generators(Vec<Generator>),
    /// The minimum-aberration fraction with this number of runs.
    Runs(u32),
    /// The smallest minimum-aberration fraction of at least this resolution.
    Resolution(u32),
    /// The minimum-aberration fraction with this number of runs, if it reaches
    /// the resolution.
    RunsAndResolution {
        /// The number of runs.
        runs: u32,
        /// The least acceptable resolution.
        resolution: u32,
    },
}

/// A regular two-level design: 2^k, or a 2^(k−p) fraction of it.
///
/// The theory is that of Box and Hunter (1961), "The 2^(k−p) fractional
/// factorial designs", *Technometrics* 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fraction {
    /// Positions of the factors that run through all combinations.
    base: Vec<usize>,
    /// For each factor, the base factors whose product it is, as bits over
    /// `base`, with the sign.
    columns: Vec<(u32, bool)>,
}

/// Effects that one estimate cannot tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasSet {
    /// The effects, lowest order first. The first has a positive sign; the
    /// estimate is the first plus or minus the others as their signs say.
    pub effects: Vec<Word>,
    /// Whether the set is also confounded with blocks.
    pub with_blocks: bool,
}

/// Why a fraction cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FractionError {
    /// A generator was read over other factors.
    #[error("a generator refers to factor number {number}, but there are only {factors}")]
    UnknownFactor {
        /// Counted from one.
        number: usize,
        /// The number of factors.
        factors: usize,
    },
    /// A factor is generated twice, or from one that is generated later.
    #[error(
        "generator `{generator}` defines a factor that is already defined, or uses one that is not yet"
    )]
    Circular {
        /// The generator over factor names.
        generator: String,
    },
    /// Two main effects would be the same column.
    #[error(
        "generator `{generator}` makes two factors equal, so neither effect could be told from the other"
    )]
    EqualFactors {
        /// The generator over factor names.
        generator: String,
    },
    /// The number of runs is not a power of two that a fraction can have.
    #[error("{runs} runs cannot hold a two-level fraction of {factors} factors")]
    BadRuns {
        /// The number asked for.
        runs: u32,
        /// The number of factors.
        factors: usize,
        /// The numbers of runs that would do.
        possible: Vec<u32>,
    },
    /// No design of that size is so good.
    #[error(
        "no two-level fraction of {factors} factors in {runs} runs has resolution {wanted}; the best has resolution {best}"
    )]
    ResolutionImpossible {
        /// The number of factors.
        factors: usize,
        /// The number of runs.
        runs: u32,
        /// The resolution asked for.
        wanted: u32,
        /// The best resolution in so many runs.
        best: u32,
        /// The fewest runs that reach the wanted resolution, where known.
        enough: Option<u32>,
    },
    /// A resolution below III confounds main effects with each other.
    #[error(
        "resolution {resolution} is below III: main effects would be confounded with each other"
    )]
    ResolutionTooLow {
        /// The resolution asked for.
        resolution: u32,
    },
    /// The catalogue ends before this number of factors.
    #[error("there are {factors} factors, and the catalogue of fractions ends at {limit}", limit = catalogue::MAX_FACTORS)]
    BeyondCatalogue {
        /// The number of factors.
        factors: usize,
    },
}

impl FractionError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownFactor { .. } => {
                "read generators over the factors of the request".to_owned()
            }
            Self::Circular { .. } => {
                "each added factor needs one generator over the factors that have none".to_owned()
            }
            Self::EqualFactors { .. } => {
                "a generator needs a product of at least two factors, and a different one for each added factor".to_owned()
            }
            Self::BadRuns { possible, .. } => {
                let list: Vec<String> = possible.iter().map(u32::to_string).collect();
                format!("possible numbers of runs are {}; use replicates for more", list.join(", "))
            }
            Self::ResolutionImpossible { enough: Some(runs), .. } => {
                format!("{runs} runs are enough for that resolution")
            }
            Self::ResolutionImpossible { enough: None, best, .. } => format!(
                "ask for resolution {best}, drop factors, give generators, or use a full or an optimal design"
            ),
            Self::ResolutionTooLow { .. } => "ask for resolution 3 or more".to_owned(),
            Self::BeyondCatalogue { .. } => {
                "give generators, or screen with a Plackett–Burman design".to_owned()
            }
        }
    }
}

impl Fraction {
    /// The most base factors: 2^20 runs.
    pub(crate) const MAX_POWER: usize = 20;
    /// The most factors a word can hold.
    pub(crate) const MAX_FACTORS: usize = 64;

    /// The full factorial 2^k.
    pub(crate) fn full(factors: usize) -> Self {
        Self {
            base: (0..factors).collect(),
            columns: (0..factors).map(|i| (1 << i, false)).collect(),
        }
    }

    pub(crate) fn choose(factors: &Factors, by: &FractionBy) -> Result<Self, FractionError> {
        match by {
            FractionBy::Generators(generators) => Self::generated(factors, generators),
            FractionBy::Runs(runs) => Self::of_size(factors.len(), *runs),
            FractionBy::Resolution(wanted) => Self::of_resolution(factors.len(), *wanted),
            FractionBy::RunsAndResolution { runs, resolution } => {
                let fraction = Self::of_size(factors.len(), *runs)?;
                match fraction.resolution() {
                    Some(best) if best < *resolution => {
                        let smallest = Self::of_resolution(factors.len(), *resolution);
                        Err(FractionError::ResolutionImpossible {
                            factors: factors.len(),
                            runs: *runs,
                            wanted: *resolution,
                            best,
                            enough: smallest.ok().map(|fraction| fraction.runs()),
                        })
                    }
                    _ => Ok(fraction),
                }
            }
        }
    }

    fn of_size(factors: usize, runs: u32) -> Result<Self, FractionError> {
        let power = runs.trailing_zeros();
        if runs.is_power_of_two() {
            if factors == power as usize {
                return Ok(Self::full(factors));
            }
            if let Some(columns) = catalogue::columns(factors, power) {
                return Ok(Self::from_columns(power, columns));
            }
        }
        if factors > catalogue::MAX_FACTORS {
            return Err(FractionError::BeyondCatalogue { factors });
        }
        let mut possible: Vec<u32> = (2..=catalogue::MAX_POWER)
            .filter(|power| catalogue::columns(factors, *power).is_some())
            .map(|power| 1 << power)
            .collect();
        if factors <= catalogue::MAX_POWER as usize {
            possible.push(1 << factors);
        }
        Err(FractionError::BadRuns {
            runs,
            factors,
            possible,
        })
    }

    pub(crate) fn of_resolution(factors: usize, wanted: u32) -> Result<Self, FractionError> {
        if wanted < 3 {
            return Err(FractionError::ResolutionTooLow { resolution: wanted });
        }
        if factors > catalogue::MAX_FACTORS {
            return Err(FractionError::BeyondCatalogue { factors });
        }
        let mut best = (0, 0);
        for power in 2..=catalogue::MAX_POWER {
            if let Some(columns) = catalogue::columns(factors, power) {
                let fraction = Self::from_columns(power, columns);
                let resolution = fraction.resolution().unwrap_or(0);
                if resolution >= wanted {
                    return Ok(fraction);
                }
                best = (resolution, fraction.runs());
            }
        }
        if factors <= catalogue::MAX_POWER as usize {
            return Ok(Self::full(factors));
        }
        Err(FractionError::ResolutionImpossible {
            factors,
            runs: best.1,
            wanted,
            best: best.0,
            enough: None,
        })
    }

    fn from_columns(power: u32, added: &[u32]) -> Self {
        let base = (0..power).map(|i| (1 << i, false));
        let added = added.iter().map(|column| (*column, false));
        Self {
            base: (0..power as usize).collect(),
            columns: base.chain(added).collect(),
        }
    }

    fn generated(factors: &Factors, generators: &[Generator]) -> Result<Self, FractionError> {
        let names: Vec<&str> = factors.iter().map(|factor| factor.name()).collect();
        let mut generated = vec![false; names.len()];
        for generator in generators {
            let used = generator.product().iter().copied();
            if let Some(unknown) = used.chain([generator.target()]).find(|i| *i >= names.len()) {
                let (number, factors) = (unknown + 1, names.len());
                return Err(FractionError::UnknownFactor { number, factors });
            }
            if std::mem::replace(&mut generated[generator.target()], true) {
                let generator = generator.text(&names);
                return Err(FractionError::Circular { generator });
            }
        }
        let base: Vec<usize> = (0..names.len()).filter(|&i| !generated[i]).collect();
        if base.len() > Self::MAX_POWER {
            let (runs, factors) = (u32::MAX, names.len());
            return Err(FractionError::BadRuns {
                runs,
                factors,
                possible: Vec::new(),
            });
        }
        let mut columns: Vec<Option<(u32, bool)>> = vec![None; names.len()];
        for (bit, position) in base.iter().enumerate() {
            columns[*position] = Some((1 << bit, false));
        }
        for generator in generators {
            let mut column = (0_u32, generator.is_negative());
            for &position in generator.product() {
                let Some((bits, negative)) = columns[position] else {
                    let generator = generator.text(&names);
                    return Err(FractionError::Circular { generator });
                };
                column = (column.0 ^ bits, column.1 != negative);
            }
            let taken = columns.iter().flatten().any(|(bits, _)| *bits == column.0);
            if column.0 == 0 || taken {
                let generator = generator.text(&names);
                return Err(FractionError::EqualFactors { generator });
            }
            columns[generator.target()] = Some(column);
        }
        let columns = columns
            .into_iter()
            .map(|column| column.expect("a factor is a base factor or has a generator"))
            .collect();
        Ok(Self { base, columns })
    }

    /// The number of runs of one replicate.
    #[must_use]
    pub fn runs(&self) -> u32 {
        1 << self.base.len()
    }

    /// The number of factors.
    #[must_use]
    pub fn factors(&self) -> usize {
        self.columns.len()
    }

    /// How many factors are generated from others: p of 2^(k−p).
    #[must_use]
    pub fn added(&self) -> usize {
        self.columns.len() - self.base.len()
    }

    pub(crate) fn power(&self) -> u32 {
        self.base.len() as u32
    }

    /// The factors' columns as bits over the base factors, without signs.
    pub(crate) fn column_bits(&self) -> impl Iterator<Item = u32> {
        self.columns.iter().map(|(bits, _)| *bits)
    }

    /// Whether a factor is at its high level in a row of the standard order,
    /// in which the first base factor changes fastest.
    pub(crate) fn is_high(&self, row: u32, factor: usize) -> bool {
        let (bits, negative) = self.columns[factor];
        // A product is positive when an even number of its factors is low.
        let low = (bits & !row).count_ones();
        low.is_multiple_of(2) != negative
    }

    /// The generators, one per added factor: the added factor times its
    /// product, as a word equal to the identity.
    #[must_use]
    pub fn generators(&self) -> Vec<Word> {
        (0..self.columns.len())
            .filter(|position| !self.base.contains(position))
            .map(|position| Word::of(position).times(self.in_base_factors(position)))
            .collect()
    }

    fn in_base_factors(&self, position: usize) -> Word {
        let (bits, negative) = self.columns[position];
        Word {
            negative,
            ..self.base_word(bits)
        }
    }

    /// The product of the base factors that the bits name.
    pub(crate) fn base_word(&self, bits: u32) -> Word {
        (0..self.base.len())
            .filter(|bit| bits >> bit & 1 == 1)
            .fold(
                Word {
                    factors: 0,
                    negative: false,
                },
                |word, bit| word.times(Word::of(self.base[bit])),
            )
    }

    /// Every word of the defining relation but the identity: shortest first,
    /// then in alphabetical order. A full factorial has none. `None` when the
    /// words are too many to list, with more than 16 added factors.
    #[must_use]
    pub fn words(&self) -> Option<Vec<Word>> {
        if self.added() > MAX_LISTED {
            return None;
        }
        let mut words = vec![Word {
            factors: 0,
            negative: false,
        }];
        for generator in self.generators() {
            for i in 0..words.len() {
                words.push(words[i].times(generator));
            }
        }
        words.remove(0);
        words.sort_by_key(|word| (word.order(), word.factors.reverse_bits() ^ u64::MAX));
        Some(words)
    }

    /// The defining relation as text, `I = ABCE = BCDF = ADEF`. Where the words
    /// are too many to list, the generators stand for them.
    #[must_use]
    pub fn defining_relation(&self) -> String {
        let listed = self.words();
        let complete = listed.is_some();
        let words = listed.unwrap_or_else(|| self.generators());
        let texts = std::iter::once("I".to_owned()).chain(words.into_iter().map(Word::letters));
        let text = texts.collect::<Vec<_>>().join(" = ");
        if complete {
            text
        } else {
            format!("{text} and all products of these words")
        }
    }

    /// How many words of each length the defining relation has; the index is
    /// the length, so the first entries are zero.
    ///
    /// Counted from the rows by MacWilliams's identity (1963), so the time
    /// depends on the runs and not on the number of words.
    #[must_use]
    pub fn word_length_pattern(&self) -> Vec<u64> {
        let k = self.columns.len();
        let mut weights = vec![0_i128; k + 1];
        for row in 0..self.runs() {
            let odd = |bits: &u32| (bits & row).count_ones() % 2 == 1;
            weights[self.column_bits().filter(odd).count()] += 1;
        }
        // A row of weight w contributes the coefficients of (1 − z)^w (1 + z)^(k − w).
        let mut pattern = vec![0_i128; k + 1];
        for (weight, count) in weights
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0)
        {
            let mut polynomial = vec![0_i128; k + 1];
            polynomial[0] = 1;
            for factor in 0..k {
                let sign = if factor < weight { -1 } else { 1 };
                for power in (1..=factor + 1).rev() {
                    polynomial[power] += sign * polynomial[power - 1];
                }
            }
            for (sum, coefficient) in pattern.iter_mut().zip(polynomial) {
                *sum += count * coefficient;
            }
        }
        let runs = i128::from(self.runs());
        let mut pattern: Vec<u64> = pattern.into_iter().map(|sum| (sum / runs) as u64).collect();
        // The identity is no word.
        pattern[0] = 0;
        pattern
    }

    /// The length of the shortest word. A full factorial has none.
    #[must_use]
    pub fn resolution(&self) -> Option<u32> {
        let pattern = self.word_length_pattern();
        pattern
            .iter()
            .position(|count| *count > 0)
            .map(|length| length as u32)
    }

    /// Which effects of up to `order` factors one estimate cannot tell apart;
    /// every effect of that order is in exactly one set. `blocks` are the block
    /// generators as bits over the base factors.
    pub(crate) fn aliases(&self, order: u32, blocks: &[u32]) -> Vec<AliasSet> {
        let confounded = span(blocks);
        let mut sets: BTreeMap<u32, Vec<Word>> = BTreeMap::new();
        for word in effects_up_to(self.columns.len(), order) {
            let column = word.positions().fold((0, false), |column, position| {
                let (bits, negative) = self.columns[position];
                (column.0 ^ bits, column.1 != negative)
            });
            let signed = Word {
                factors: word.factors,
                negative: column.1,
            };
            sets.entry(column.0).or_default().push(signed);
        }
        let mut sets: Vec<AliasSet> = sets
            .into_iter()
            .map(|(column, mut effects)| {
                // The identity's own set keeps its signs: they are relative to I.
                let sign = column != 0 && effects[0].negative;
                for effect in &mut effects {
                    effect.negative = effect.negative != sign;
                }
                AliasSet {
                    effects,
                    with_blocks: confounded.contains(&column) && column != 0,
                }
            })
            .collect();
        sets.sort_by_key(|set| {
            let first = set.effects[0];
            (first.order(), first.factors.reverse_bits() ^ u64::MAX)
        });
        sets
    }
}

/// All products of some of the given columns, the empty one included.
pub(crate) fn span(columns: &[u32]) -> Vec<u32> {
    let mut span = vec![0];
    for column in columns {
        for i in 0..span.len() {
            span.push(span[i] ^ column);
        }
    }
    span
}

/// Main effects first, then two-factor interactions, and so on, each in
/// alphabetical order.
pub(crate) fn effects_up_to(factors: usize, order: u32) -> Vec<Word> {
    fn extend(prefix: u64, from: usize, left: u32, factors: usize, out: &mut Vec<Word>) {
        if left == 0 {
            out.push(Word {
                factors: prefix,
                negative: false,
            });
            return;
        }
        for next in from..factors {
            extend(prefix | 1 << next, next + 1, left - 1, factors, out);
        }
    }
    let mut out = Vec::new();
    for size in 1..=order.min(factors as u32) {
        extend(0, 0, size, factors, &mut out);
    }
    out
}
