//! Words to numbers, and rows of numbers to features.

use std::cmp::Reverse;
use std::collections::HashMap;

use twox_hash::XxHash3_64;

use super::clean;
use super::corpus::Corpus;
use super::options::{Encoding, TextOptions, Words};
use crate::csr::Csr;
use crate::dataset::Features;

/// The number of the word that pads short texts.
const NULL: u32 = 0;
/// The number that stands for all words outside the dictionary.
const UNKNOWN: u32 = 1;

/// What the training texts taught: the dictionary and the length of a row.
/// It encodes other texts as the training texts were encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct TextEncoder {
    options: TextOptions,
    length: usize,
    /// The dictionary's words in the order of their numbers, from 2.
    dictionary: Vec<String>,
    numbers: HashMap<String, u32>,
}

/// Why encoded texts would not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{length} words of {vocabulary} are more than the 4,294,967,295 columns a row can have")]
pub struct TooWideError {
    length: usize,
    vocabulary: usize,
}

impl TextEncoder {
    /// Learns dictionary and length from the given rows only, so that nothing
    /// of the test rows leaks into the features.
    pub(crate) fn fit(
        corpus: &Corpus,
        train: &[u32],
        options: &TextOptions,
    ) -> Result<Self, TooWideError> {
        let longest = train.iter().map(|row| corpus.text(*row).len()).max();
        let length = match options.length {
            Some(length) => length.get(),
            None => longest.unwrap_or(0).max(1),
        };
        let dictionary = match options.words {
            Words::Buckets(_) => Vec::new(),
            Words::Dictionary(most) => {
                let mut counts = vec![0_u64; corpus.words.len()];
                for row in train {
                    for word in corpus.text(*row) {
                        counts[*word as usize] += 1;
                    }
                }
                let mut ranked: Vec<usize> =
                    (0..counts.len()).filter(|word| counts[*word] > 0).collect();
                // Equally frequent words in alphabetical order, so that the
                // order of the rows does not matter.
                ranked.sort_unstable_by_key(|word| (Reverse(counts[*word]), &corpus.words[*word]));
                ranked.truncate(most.get());
                ranked
                    .into_iter()
                    .map(|word| corpus.words[word].clone())
                    .collect()
            }
        };
        Self::new(options.clone(), length, dictionary)
    }

    pub(crate) fn new(
        options: TextOptions,
        length: usize,
        dictionary: Vec<String>,
    ) -> Result<Self, TooWideError> {
        let numbers = (UNKNOWN + 1..).zip(&dictionary);
        let numbers = numbers
            .map(|(number, word)| (word.clone(), number))
            .collect();
        let encoder = Self {
            options,
            length,
            dictionary,
            numbers,
        };
        let vocabulary = encoder.vocabulary();
        let places = match encoder.options.encoding {
            Encoding::OneHot => length,
            Encoding::Indexes | Encoding::Bag => 1,
        };
        match places.checked_mul(vocabulary) {
            Some(width) if u32::try_from(width).is_ok() => Ok(encoder),
            _ => Err(TooWideError { length, vocabulary }),
        }
    }

    /// The choices that this encoder follows.
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// Words per row.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The dictionary's words in the order of their numbers, the first of
    /// which is 2; empty if words are hashed.
    pub fn dictionary(&self) -> &[String] {
        &self.dictionary
    }

    /// How many numbers a word can have, the null word included.
    pub fn vocabulary(&self) -> usize {
        match self.options.words {
            Words::Dictionary(_) => self.dictionary.len() + UNKNOWN as usize + 1,
            Words::Buckets(buckets) => buckets.get() + 1,
        }
    }

    /// The number of a clean word.
    pub fn number(&self, word: &str) -> u32 {
        match self.options.words {
            Words::Dictionary(_) => self.numbers.get(word).copied().unwrap_or(UNKNOWN),
            Words::Buckets(buckets) => {
                let hash = XxHash3_64::oneshot(word.as_bytes());
                // Below 2³⁰ buckets, so the number fits.
                1 + (hash % buckets.get() as u64) as u32
            }
        }
    }

    /// The features of texts, one row each.
    pub fn encode<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Features {
        let mut numbers = Vec::new();
        let mut rows = Rows::new(self);
        for text in texts {
            numbers.clear();
            clean::words(text, &self.options, |word| numbers.push(self.number(word)));
            rows.push(&numbers);
        }
        rows.finish()
    }

    /// The features of some texts of a corpus.
    pub(crate) fn encode_rows(&self, corpus: &Corpus, rows: &[u32]) -> Features {
        let known: Vec<u32> = corpus.words.iter().map(|word| self.number(word)).collect();
        let mut numbers = Vec::new();
        let mut encoded = Rows::new(self);
        for row in rows {
            numbers.clear();
            numbers.extend(corpus.text(*row).iter().map(|word| known[*word as usize]));
            encoded.push(&numbers);
        }
        encoded.finish()
    }
}

/// Features in the making.
struct Rows<'a> {
    encoder: &'a TextEncoder,
    ids: Vec<u32>,
    indptr: Vec<u64>,
    values: Vec<f32>,
}

impl<'a> Rows<'a> {
    fn new(encoder: &'a TextEncoder) -> Self {
        Self {
            encoder,
            ids: Vec::new(),
            indptr: vec![0],
            values: Vec::new(),
        }
    }

    fn push(&mut self, numbers: &[u32]) {
        let length = self.encoder.length;
        let kept = &numbers[numbers.len().saturating_sub(length)..];
        let padding = length - kept.len();
        match self.encoder.options.encoding {
            Encoding::Indexes => {
                self.ids.extend(std::iter::repeat_n(NULL, padding));
                self.ids.extend_from_slice(kept);
                return;
            }
            // The null word gets no entry: a constant one at every padded
            // place would say nothing but the length, at most of the cost.
            Encoding::OneHot => {
                let vocabulary = self.encoder.vocabulary();
                for (place, number) in (padding..).zip(kept) {
                    self.ids.push((place * vocabulary) as u32 + number);
                    self.values.push(1.0);
                }
            }
            Encoding::Bag => {
                let mut sorted = kept.to_vec();
                sorted.sort_unstable();
                for same in sorted.chunk_by(|a, b| a == b) {
                    self.ids.push(same[0]);
                    self.values.push(same.len() as f32);
                }
            }
        }
        self.indptr.push(self.ids.len() as u64);
    }

    fn finish(self) -> Features {
        let vocabulary = self.encoder.vocabulary();
        let length = self.encoder.length;
        let width = match self.encoder.options.encoding {
            Encoding::Indexes => {
                return Features::Tokens {
                    ids: self.ids.into(),
                    length,
                    vocabulary,
                };
            }
            Encoding::OneHot => length * vocabulary,
            Encoding::Bag => vocabulary,
        };
        let csr = Csr::new(self.indptr, self.ids, self.values, width)
            .expect("places ascend, words are sorted, numbers are below the vocabulary");
        Features::Sparse(csr)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::super::corpus::Opinion;
    use super::*;

    const TEXTS: [&str; 4] = [
        "sun sun rain",
        "rain again sun",
        "wind wind wind wind sun",
        "snow",
    ];

    fn fitted(words: &str) -> (Corpus, TextEncoder) {
        let options: TextOptions = words.parse().unwrap();
        let mut corpus = Corpus::new(&options);
        for text in TEXTS {
            corpus.push(text, Opinion { rating: 1.0 }, &options);
        }
        let encoder = TextEncoder::fit(&corpus, &[0, 1], &options).unwrap();
        (corpus, encoder)
    }

    #[test]
    fn the_dictionary_ranks_the_words_of_the_training_rows_only() {
        let (_, encoder) = fitted("");
        assert_eq!(encoder.dictionary(), ["sun", "rain"]);
        assert_eq!(encoder.length(), 3);
        assert_eq!(encoder.vocabulary(), 4);
        assert_eq!(encoder.number("snow"), UNKNOWN);
    }

    #[test]
    fn short_rows_are_padded_on_the_left_and_long_ones_keep_their_end() {
        let (corpus, encoder) = fitted("length=3");
        let expected = Features::Tokens {
            ids: vec![0, 3, 2, 1, 1, 2, 0, 0, 1].into(),
            length: 3,
            vocabulary: 4,
        };
        assert_eq!(encoder.encode_rows(&corpus, &[1, 2, 3]), expected);
        assert_eq!(encoder.encode(TEXTS[1..].iter().copied()), expected);
    }

    #[test]
    fn one_hot_has_a_column_per_place_and_word() {
        let (corpus, encoder) = fitted("length=2,encoding=one-hot");
        let Features::Sparse(csr) = encoder.encode_rows(&corpus, &[0, 3]) else {
            panic!("one-hot rows are sparse");
        };
        assert_eq!(csr.width(), 8);
        assert_eq!(csr.row(0), (&[2, 4 + 3][..], &[1.0, 1.0][..]));
        assert_eq!(csr.row(1), (&[4 + UNKNOWN][..], &[1.0][..]));
    }

    #[test]
    fn a_bag_counts_words() {
        let (corpus, encoder) = fitted("length=10,encoding=bag");
        let Features::Sparse(csr) = encoder.encode_rows(&corpus, &[2]) else {
            panic!("bags are sparse");
        };
        assert_eq!(csr.row(0), (&[1, 2][..], &[4.0, 1.0][..]));
    }

    #[test]
    fn hashed_words_need_no_dictionary_and_stay_below_their_bound() {
        let (_, encoder) = fitted("buckets=7");
        assert_eq!(encoder.vocabulary(), 8);
        for word in ["sun", "snow", "anything"] {
            assert!((1..8).contains(&encoder.number(word)));
        }
    }

    #[test]
    fn a_dictionary_can_be_cut_to_the_most_frequent_words() {
        let (_, encoder) = fitted("words=1");
        assert_eq!(encoder.dictionary(), ["sun"]);
    }

    #[test]
    fn rows_that_would_be_too_wide_are_refused() {
        let options = TextOptions {
            words: Words::Buckets(NonZeroUsize::new(1 << 30).unwrap()),
            encoding: Encoding::OneHot,
            ..TextOptions::default()
        };
        assert!(TextEncoder::new(options, 8, Vec::new()).is_err());
    }
}
