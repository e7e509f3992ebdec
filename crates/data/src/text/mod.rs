//! From short texts to features, by the steps of a study of tweet classifiers:
//! label from the emoticon, strip emoticons, punctuation and bad characters,
//! lowercase, strip stop words, tokenise, pad on the left, number the words,
//! encode. Each step can be switched off.

mod clean;
mod corpus;
mod emoticon;
mod encode;
mod options;
mod stop_words;

pub use emoticon::Mood;
pub use encode::{TextEncoder, TooWideError};
pub use options::{Encoding, LabelSource, Neutral, TextOptions, TextOptionsError, Words};

pub(crate) use clean::decode;
pub(crate) use corpus::{Corpus, Opinion};
