//! Emoticons: where they are in a text and what mood they show.

use std::ops::Range;

/// What an emoticon says of its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Such as `:)`, `=D`, `;-)`, `(:`, `<3`.
    Happy,
    /// Such as `:(`, `:'(`, `=/`, `):`, `</3`.
    Sad,
}

/// All emoticons of a text, in order.
///
/// An emoticon is eyes (`:`, `;`, `=`), a tear (`'`) or not, a nose (`-`, `^`)
/// or not, and a mouth, which may repeat; or the mirror image with round
/// mouth; or `XD`; or a heart. No letter or digit may follow it, and none may
/// precede one that begins with a mouth or a letter, so that neither
/// `http://…` nor `(as above):` has one.
pub(crate) fn find(text: &str) -> Vec<(Range<usize>, Mood)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let starts = matches!(
            bytes[at],
            b':' | b';' | b'=' | b'<' | b'(' | b')' | b'x' | b'X'
        );
        match starts.then(|| emoticon_at(bytes, at)).flatten() {
            Some((length, mood)) => {
                found.push((at..at + length, mood));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

fn emoticon_at(bytes: &[u8], start: usize) -> Option<(usize, Mood)> {
    let rest = &bytes[start..];
    let follows_word = start > 0 && is_word(bytes[start - 1]);
    let (length, mood) = match rest[0] {
        b':' | b';' | b'=' => face(rest)?,
        b'<' if rest.starts_with(b"<3") => (2, Mood::Happy),
        b'<' if rest.starts_with(b"</3") => (3, Mood::Sad),
        b'x' | b'X' if !follows_word => (1 + run(&rest[1..], b'D')?, Mood::Happy),
        b'(' | b')' if !follows_word => mirrored(rest)?,
        _ => return None,
    };
    let ends = rest.get(length).is_none_or(|next| !is_word(*next));
    ends.then_some((length, mood))
}

fn face(rest: &[u8]) -> Option<(usize, Mood)> {
    let mut length = 1;
    for part in [&b"'"[..], b"-^"] {
        length += usize::from(rest.get(length).is_some_and(|byte| part.contains(byte)));
    }
    let mouth = *rest.get(length)?;
    let mood = match mouth {
        b')' | b']' | b'D' | b'p' | b'P' => Mood::Happy,
        b'(' | b'[' | b'/' | b'\\' => Mood::Sad,
        _ => return None,
    };
    let repeats = run(&rest[length..], mouth)?;
    // `://` belongs to an address.
    (mouth != b'/' || repeats == 1).then_some((length + repeats, mood))
}

fn mirrored(rest: &[u8]) -> Option<(usize, Mood)> {
    let mood = match rest[0] {
        b'(' => Mood::Happy,
        _ => Mood::Sad,
    };
    let mut length = run(rest, rest[0])?;
    length += usize::from(matches!(rest.get(length), Some(b'-' | b'^')));
    matches!(rest.get(length), Some(b':' | b'=')).then_some((length + 1, mood))
}

/// How often a byte stands at the beginning, if at all.
fn run(bytes: &[u8], byte: u8) -> Option<usize> {
    let length = bytes.iter().take_while(|next| **next == byte).count();
    (length > 0).then_some(length)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moods(text: &str) -> Vec<(&str, Mood)> {
        find(text)
            .into_iter()
            .map(|(range, mood)| (&text[range], mood))
            .collect()
    }

    #[test]
    fn faces_and_hearts_show_their_mood() {
        for happy in [
            ":)", ":-)", ":^)", ":]", ":D", "=)", "=D", ";)", ":P", ":'-)", ":)))", "(:", "((-:",
            "(=", "XD", "xDD", "<3",
        ] {
            assert_eq!(moods(happy), [(happy, Mood::Happy)]);
        }
        for sad in [
            ":(", ":-(", ":[", ":'(", "=/", ":\\", ":((", "):", ")-:", ")=", "</3",
        ] {
            assert_eq!(moods(sad), [(sad, Mood::Sad)]);
        }
    }

    #[test]
    fn an_emoticon_may_touch_the_word_before_it() {
        assert_eq!(moods("nice:) thanks"), [(":)", Mood::Happy)]);
        assert_eq!(
            moods("hm :/, well :D!"),
            [(":/", Mood::Sad), (":D", Mood::Happy)]
        );
    }

    #[test]
    fn addresses_times_and_brackets_are_no_emoticons() {
        for plain in [
            "http://example.org",
            "at 10:30",
            "(as above): yes",
            "a=p3",
            "xDrive",
            "maxD",
            ":Dear",
            "if x <30",
            ":",
            "=",
            "<",
            "(",
        ] {
            assert_eq!(moods(plain), [], "{plain}");
        }
    }
}
