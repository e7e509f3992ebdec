//! One text, cleaned and cut into words.

use std::borrow::Cow;

use super::emoticon::{self, Mood};
use super::options::TextOptions;
use super::stop_words::is_stop_word;

/// Bytes as text: UTF-8 where they are valid UTF-8, else Latin-1, in which
/// every byte is the character of its number. Sentiment140 is Latin-1.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// The words of a text, as the options want them, and the moods of its
/// emoticons, whether they are stripped or not.
pub(crate) fn words(text: &str, options: &TextOptions, mut word: impl FnMut(&str)) -> Moods {
    let text = without_entities(text);
    let emoticons = emoticon::find(&text);
    let mut moods = Moods::default();
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for (range, mood) in emoticons {
        match mood {
            Mood::Happy => moods.happy += 1,
            Mood::Sad => moods.sad += 1,
        }
        push_words(&text[end..range.start], options, &mut kept);
        kept.push(' ');
        if !options.strip_emoticons {
            kept.push_str(&text[range.clone()]);
            kept.push(' ');
        }
        end = range.end;
    }
    push_words(&text[end..], options, &mut kept);
    let mut plain = String::new();
    for token in kept.split_whitespace() {
        if options.strip_stop_words {
            plain.clear();
            plain.extend(
                token
                    .chars()
                    .filter(|character| character.is_alphanumeric())
                    .flat_map(char::to_lowercase),
            );
            if is_stop_word(&plain) {
                continue;
            }
        }
        word(token);
    }
    moods
}

/// How many emoticons of each mood a text has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moods {
    happy: usize,
    sad: usize,
}

impl Moods {
    /// The mood, if all emoticons share it and there is one.
    pub(crate) fn only(self) -> Option<Mood> {
        match self {
            Self { happy: 1.., sad: 0 } => Some(Mood::Happy),
            Self { happy: 0, sad: 1.. } => Some(Mood::Sad),
            _ => None,
        }
    }
}

fn push_words(text: &str, options: &TextOptions, kept: &mut String) {
    for character in text.chars() {
        if !options.strip_punctuation || character.is_alphanumeric() {
            if options.lowercase {
                kept.extend(character.to_lowercase());
            } else {
                kept.push(character);
            }
        } else if !matches!(character, '\'' | '’') {
            // An apostrophe joins (`don't` is one word), all else separates.
            kept.push(' ');
        }
    }
}

/// The five characters that web pages must escape, unescaped; tweets come from
/// one. `&lt;3` is a heart.
fn without_entities(text: &str) -> Cow<'_, str> {
    const ENTITIES: [(&str, char); 6] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&#39;", '\''),
        ("&apos;", '\''),
    ];
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, character) = ENTITIES
            .iter()
            .find(|(entity, _)| rest.starts_with(entity))
            .map_or((1, '&'), |(entity, character)| (entity.len(), *character));
        plain.push(character);
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, change: impl FnOnce(&mut TextOptions), expected: &[&str]) {
        let mut options = TextOptions::default();
        change(&mut options);
        let mut found = Vec::new();
        words(text, &options, |word| found.push(word.to_owned()));
        assert_eq!(found, expected);
    }

    const TWEET: &str = "I DON'T like the #Rain &amp; you? :( &lt;3 café";

    #[test]
    fn all_steps_leave_the_bare_words() {
        check(TWEET, |_| (), &["dont", "like", "rain", "café"]);
    }

    #[test]
    fn each_step_can_be_switched_off() {
        check(
            TWEET,
            |options| options.strip_emoticons = false,
            &["dont", "like", "rain", ":(", "<3", "café"],
        );
        check(
            TWEET,
            |options| options.strip_punctuation = false,
            &["don't", "like", "#rain", "&", "café"],
        );
        check(
            TWEET,
            |options| options.lowercase = false,
            &["DONT", "like", "Rain", "café"],
        );
        check(
            TWEET,
            |options| options.strip_stop_words = false,
            &["i", "dont", "like", "the", "rain", "you", "café"],
        );
    }

    #[test]
    fn latin_1_is_read_where_bytes_are_not_utf_8() {
        assert_eq!(decode(b"caf\xe9"), "café");
        assert_eq!(decode("café".as_bytes()), "café");
    }

    #[test]
    fn a_mood_needs_agreement() {
        let mood = |text| words(text, &TextOptions::default(), |_| ()).only();
        assert_eq!(mood("yes :) :D"), Some(Mood::Happy));
        assert_eq!(mood("no :("), Some(Mood::Sad));
        assert_eq!(mood("well :) :("), None);
        assert_eq!(mood("plain"), None);
    }
}
