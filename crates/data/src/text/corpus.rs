//! Many texts, cut into words, before the words have their final numbers.

use std::collections::HashMap;

use super::clean;
use super::emoticon::Mood;
use super::options::{LabelSource, Neutral, TextOptions};

/// Texts as sequences of words and a class for each.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Each distinct word, in the order of first appearance.
    pub(crate) words: Vec<String>,
    /// The words of all texts, one text after the other, as places in `words`.
    pub(crate) tokens: Vec<u32>,
    /// Where each text ends in `tokens`.
    pub(crate) ends: Vec<usize>,
    pub(crate) labels: Vec<u32>,
    pub(crate) names: Vec<String>,
    places: HashMap<String, u32>,
}

/// What a file says of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Opinion {
    /// Negative below zero, positive above.
    pub(crate) rating: f64,
}

impl Corpus {
    pub(crate) fn new(options: &TextOptions) -> Self {
        let names: &[&str] = match (options.labels, options.neutral) {
            (LabelSource::Rating, Neutral::Keep) => &["negative", "neutral", "positive"],
            _ => &["negative", "positive"],
        };
        Self {
            words: Vec::new(),
            tokens: Vec::new(),
            ends: Vec::new(),
            labels: Vec::new(),
            names: names.iter().map(ToString::to_string).collect(),
            places: HashMap::new(),
        }
    }

    /// Adds a text, unless the options leave it out.
    pub(crate) fn push(&mut self, text: &str, opinion: Opinion, options: &TextOptions) {
        let start = self.tokens.len();
        let moods = clean::words(text, options, |word| {
            let place = match self.places.get(word) {
                Some(place) => *place,
                None => {
                    let place = u32::try_from(self.words.len())
                        .expect("four billion distinct words do not fit in memory");
                    self.words.push(word.to_owned());
                    self.places.insert(word.to_owned(), place);
                    place
                }
            };
            self.tokens.push(place);
        });
        let class = match options.labels {
            LabelSource::Emoticon => match moods.only() {
                Some(Mood::Sad) => Some(0),
                Some(Mood::Happy) => Some(1),
                None => None,
            },
            LabelSource::Rating if opinion.rating.abs() <= options.neutral_band => {
                match options.neutral {
                    Neutral::Drop => None,
                    Neutral::Keep => Some(1),
                }
            }
            LabelSource::Rating if opinion.rating > 0.0 => Some(self.names.len() as u32 - 1),
            LabelSource::Rating => Some(0),
        };
        match class {
            Some(class) => {
                self.ends.push(self.tokens.len());
                self.labels.push(class);
            }
            None => self.tokens.truncate(start),
        }
    }

    /// The words of one text, as places in `words`.
    pub(crate) fn text(&self, row: u32) -> &[u32] {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tokens[start..self.ends[row]]
    }
}
