//! Which steps turn a text into features.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// How texts become labels and features. The default is the whole pipeline
/// with index sequences at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// Where the class of a text comes from.
    pub labels: LabelSource,
    /// What happens to texts that are neither positive nor negative.
    pub neutral: Neutral,
    /// Ratings of at most this size, either way, are neutral. Zero: only the
    /// rating 0.
    pub neutral_band: f64,
    /// Remove emoticons from the text. They still count for the label.
    pub strip_emoticons: bool,
    /// Keep letters and digits only. Apostrophes join, all else separates.
    pub strip_punctuation: bool,
    /// Make `Rain` and `rain` one word.
    pub lowercase: bool,
    /// Remove English words that carry no meaning of their own.
    pub strip_stop_words: bool,
    /// How words get their numbers.
    pub words: Words,
    /// Words per row: shorter texts are padded on the left with the null word,
    /// of longer ones the last words are kept. Without it, as many as the
    /// longest training text has.
    pub length: Option<NonZeroUsize>,
    /// What a row becomes.
    pub encoding: Encoding,
}

/// Where the class of a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelSource {
    /// The file's own rating.
    Rating,
    /// The text's emoticons, if they all show one mood; other texts are left
    /// out.
    Emoticon,
}

/// What happens to neutral texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neutral {
    /// They are left out: two classes, negative and positive.
    Drop,
    /// They are a class between the two.
    Keep,
}

/// How words get their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// The most frequent words of the training rows, at most this many, from
    /// number 2 in the order of their frequency. Number 1 stands for all other
    /// words, number 0 for the null word.
    Dictionary(NonZeroUsize),
    /// A hash of the word picks one of this many buckets, from number 1.
    /// Number 0 stands for the null word. Needs no training rows.
    Buckets(NonZeroUsize),
}

/// What a row of words becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The numbers of its words, for an embedding.
    Indexes,
    /// A one in the column of each word at each place: as wide as the length
    /// times the vocabulary.
    OneHot,
    /// How often each word occurs, wherever: as wide as the vocabulary.
    Bag,
}

/// Why a word for the text pipeline is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextOptionsError {
    /// No such word.
    #[error("`{0}` is no step of the text pipeline")]
    Unknown(String),
    /// The value of a word is not what it takes.
    #[error("`{word}` takes {expected}, not `{value}`")]
    Value {
        /// The word before the `=`.
        word: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        value: String,
    },
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            labels: LabelSource::Rating,
            neutral: Neutral::Drop,
            neutral_band: 0.0,
            strip_emoticons: true,
            strip_punctuation: true,
            lowercase: true,
            strip_stop_words: true,
            words: Words::Dictionary(NonZeroUsize::new(10_000).expect("ten thousand is not zero")),
            length: None,
            encoding: Encoding::Indexes,
        }
    }
}

/// As a user types it: words separated by commas that change the default, such
/// as `emoticon-labels,keep-case,words=5000,length=30,encoding=bag`.
impl FromStr for TextOptions {
    type Err = TextOptionsError;

    fn from_str(text: &str) -> Result<Self, TextOptionsError> {
        let mut options = Self::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (word, value) = match item.split_once('=') {
                Some((word, value)) => (word, Some(value)),
                None => (item, None),
            };
            match (word, value) {
                ("rating-labels", None) => options.labels = LabelSource::Rating,
                ("emoticon-labels", None) => options.labels = LabelSource::Emoticon,
                ("drop-neutral", None) => options.neutral = Neutral::Drop,
                ("keep-neutral", None) => options.neutral = Neutral::Keep,
                ("keep-emoticons", None) => options.strip_emoticons = false,
                ("keep-punctuation", None) => options.strip_punctuation = false,
                ("keep-case", None) => options.lowercase = false,
                ("keep-stop-words", None) => options.strip_stop_words = false,
                ("neutral-band", Some(value)) => {
                    options.neutral_band = value
                        .parse()
                        .ok()
                        .filter(|band: &f64| band.is_finite() && *band >= 0.0)
                        .ok_or_else(|| TextOptionsError::Value {
                            word: "neutral-band",
                            expected: "a rating from 0",
                            value: value.into(),
                        })?;
                }
                ("words", Some(value)) => {
                    options.words = Words::Dictionary(count("words", value)?);
                }
                ("buckets", Some(value)) => {
                    options.words = Words::Buckets(count("buckets", value)?);
                }
                ("length", Some(value)) => options.length = Some(count("length", value)?),
                ("encoding", Some(value)) => {
                    options.encoding = match value {
                        "indexes" => Encoding::Indexes,
                        "one-hot" => Encoding::OneHot,
                        "bag" => Encoding::Bag,
                        _ => {
                            return Err(TextOptionsError::Value {
                                word: "encoding",
                                expected: "`indexes`, `one-hot` or `bag`",
                                value: value.into(),
                            });
                        }
                    }
                }
                _ => return Err(TextOptionsError::Unknown(item.into())),
            }
        }
        Ok(options)
    }
}

/// All choices, in the words that [`FromStr`] reads. It names every choice,
/// so that it can be recorded and serve as a key.
impl fmt::Display for TextOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.labels {
            LabelSource::Rating => "rating-labels",
            LabelSource::Emoticon => "emoticon-labels",
        })?;
        f.write_str(match self.neutral {
            Neutral::Drop => ",drop-neutral",
            Neutral::Keep => ",keep-neutral",
        })?;
        write!(f, ",neutral-band={}", self.neutral_band)?;
        for (stripped, word) in [
            (self.strip_emoticons, ",keep-emoticons"),
            (self.strip_punctuation, ",keep-punctuation"),
            (self.lowercase, ",keep-case"),
            (self.strip_stop_words, ",keep-stop-words"),
        ] {
            if !stripped {
                f.write_str(word)?;
            }
        }
        match self.words {
            Words::Dictionary(words) => write!(f, ",words={words}")?,
            Words::Buckets(buckets) => write!(f, ",buckets={buckets}")?,
        }
        if let Some(length) = self.length {
            write!(f, ",length={length}")?;
        }
        f.write_str(match self.encoding {
            Encoding::Indexes => ",encoding=indexes",
            Encoding::OneHot => ",encoding=one-hot",
            Encoding::Bag => ",encoding=bag",
        })
    }
}

fn count(word: &'static str, value: &str) -> Result<NonZeroUsize, TextOptionsError> {
    // Columns are numbered with 32 bits, and so is every word.
    value
        .parse()
        .ok()
        .filter(|count: &NonZeroUsize| count.get() <= 1 << 30)
        .ok_or_else(|| TextOptionsError::Value {
            word,
            expected: "a whole number from 1 to 1073741824",
            value: value.into(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        for words in [
            "",
            "emoticon-labels,keep-neutral,neutral-band=0.5",
            "keep-emoticons,keep-punctuation,keep-case,keep-stop-words",
            "buckets=512,length=20,encoding=one-hot",
            "words=100,encoding=bag",
        ] {
            let options: TextOptions = words.parse().unwrap();
            assert_eq!(options.to_string().parse::<TextOptions>().unwrap(), options);
        }
    }

    #[test]
    fn unknown_words_and_wrong_values_are_named() {
        let error = |text: &str| text.parse::<TextOptions>().unwrap_err().to_string();
        assert_eq!(
            error("keep-all"),
            "`keep-all` is no step of the text pipeline"
        );
        assert_eq!(
            error("length=0"),
            "`length` takes a whole number from 1 to 1073741824, not `0`"
        );
        assert_eq!(
            error("encoding=hot"),
            "`encoding` takes `indexes`, `one-hot` or `bag`, not `hot`"
        );
    }
}
