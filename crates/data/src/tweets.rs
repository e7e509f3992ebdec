//! Files of short texts with an opinion each.

use crate::csv::field;
use crate::error::{OpenDataError, Unexpected, excerpt};
use crate::lines::Lines;
use crate::source::Source;
use crate::text::{Corpus, Opinion, TextOptions, decode};

/// Number, rating, text; separated by tabs. The text is the rest of the line.
pub(crate) fn read_rated(
    source: Source<'_>,
    options: &TextOptions,
    corpus: &mut Corpus,
) -> Result<(), OpenDataError> {
    let mut lines = Lines::new(source);
    let path = lines.path();
    while let Some(line) = lines.next()? {
        if line.bytes.is_empty() {
            continue;
        }
        let mut fields = line.bytes.splitn(3, |byte| *byte == b'\t');
        let number = fields.next().unwrap_or_default();
        let (Some(rating), Some(text)) = (fields.next(), fields.next()) else {
            let what = Unexpected::new(
                "three fields separated by tabs: number, rating, text",
                excerpt(line.bytes),
            );
            return Err(line.malformed(&path, line.bytes.len(), what));
        };
        let rating = std::str::from_utf8(rating)
            .ok()
            .and_then(|rating| rating.trim().parse::<f64>().ok())
            .filter(|rating| rating.is_finite())
            .ok_or_else(|| {
                let what = Unexpected::new("a rating, negative or positive", excerpt(rating));
                line.malformed(&path, number.len() + 1, what)
            })?;
        corpus.push(&decode(text), Opinion { rating }, options);
    }
    Ok(())
}

/// Sentiment140 (Go, Bhayani and Huang 2009): polarity (0 negative, 2 neutral,
/// 4 positive), id, date, query, user and text, quoted, separated by commas.
pub(crate) fn read_sentiment140(
    source: Source<'_>,
    options: &TextOptions,
    corpus: &mut Corpus,
) -> Result<(), OpenDataError> {
    let mut lines = Lines::new(source);
    let path = lines.path();
    while let Some(line) = lines.next()? {
        if line.bytes.is_empty() {
            continue;
        }
        let fields =
            quoted_fields(line.bytes).map_err(|(at, what)| line.malformed(&path, at, what))?;
        let [polarity, _, _, _, _, text] = &fields[..] else {
            let what = Unexpected::new(
                "six fields: polarity, id, date, query, user, text",
                format!("{}", fields.len()),
            );
            return Err(line.malformed(&path, line.bytes.len(), what));
        };
        let rating = match &polarity[..] {
            b"0" => -1.0,
            b"2" => 0.0,
            b"4" => 1.0,
            other => {
                let what = Unexpected::new(
                    "the polarity 0 (negative), 2 (neutral) or 4 (positive)",
                    excerpt(other),
                );
                return Err(line.malformed(&path, 0, what));
            }
        };
        corpus.push(&decode(text), Opinion { rating }, options);
    }
    Ok(())
}

/// Whether a line looks like one of Sentiment140.
pub(crate) fn is_sentiment140(line: &[u8]) -> bool {
    let polarity = matches!(line, [b'"', b'0' | b'2' | b'4', b'"', b',', b'"', ..]);
    polarity && quoted_fields(line).is_ok_and(|fields| fields.len() == 6)
}

/// Whether a line looks like a number, a rating and a text.
pub(crate) fn is_rated(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.splitn(3, |byte| *byte == b'\t').collect();
    let number = |field: &[u8]| {
        std::str::from_utf8(field).is_ok_and(|field| field.trim().parse::<f64>().is_ok())
    };
    matches!(fields[..], [id, rating, text] if number(id) && number(rating) && !number(text))
}

/// The fields of a line, separated by commas.
fn quoted_fields(line: &[u8]) -> Result<Vec<Vec<u8>>, (usize, Unexpected)> {
    let mut fields = Vec::with_capacity(6);
    let mut next = Some(0);
    while let Some(start) = next {
        let (field, after) = field(line, start, b',')?;
        fields.push(field);
        next = after;
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rated(text: &[u8], words: &str) -> Result<Corpus, OpenDataError> {
        let options: TextOptions = words.parse().unwrap();
        let mut corpus = Corpus::new(&options);
        read_rated(Source::embedded("tweets.txt", text), &options, &mut corpus)?;
        Ok(corpus)
    }

    fn sentiment140(text: &[u8]) -> Result<Corpus, OpenDataError> {
        let options = TextOptions::default();
        let mut corpus = Corpus::new(&options);
        read_sentiment140(Source::embedded("tweets.txt", text), &options, &mut corpus)?;
        Ok(corpus)
    }

    const SENTIMENT140: &[u8] = b"\"0\",\"1\",\"Mon Apr 06 22:19:45 PDT 2009\",\"NO_QUERY\",\"someone\",\"sad, \"\"very\"\" sad caf\xe9 :(\"\r\n\"4\",\"2\",\"d\",\"q\",\"u\",\"happy day :)\"\n\"2\",\"3\",\"d\",\"q\",\"u\",\"it is a day\"\n";

    #[test]
    fn sentiment140_is_read_with_its_quotes_and_its_latin_1() {
        let corpus = sentiment140(SENTIMENT140).unwrap();
        assert_eq!(corpus.labels, [0, 1]);
        // `very` is a stop word.
        assert_eq!(corpus.words, ["sad", "café", "happy", "day"]);
        assert_eq!(corpus.text(0), [0, 0, 1]);
    }

    #[test]
    fn labels_can_come_from_emoticons() {
        let text = b"1\t3\tbad :(\n2\t-3\tgood :)\n3\t1\tplain\n";
        let corpus = rated(text, "emoticon-labels").unwrap();
        assert_eq!(corpus.labels, [0, 1]);
    }

    #[test]
    fn neutral_texts_are_dropped_or_a_class_of_their_own() {
        let text = b"1\t-2\tbad\n2\t0.3\tso\n3\t0\tso\n4\t2\tgood\n";
        let labels = |words: &str| rated(text, words).unwrap().labels;
        assert_eq!(labels(""), [0, 1, 1]);
        assert_eq!(labels("neutral-band=0.5"), [0, 1]);
        assert_eq!(labels("neutral-band=0.5,keep-neutral"), [0, 1, 1, 2]);
    }

    fn message(text: &[u8], is_sentiment140: bool) -> String {
        let read = if is_sentiment140 {
            sentiment140(text)
        } else {
            rated(text, "")
        };
        read.unwrap_err().to_string()
    }

    #[test]
    fn malformed_lines_are_named_with_their_place() {
        assert_eq!(
            message(b"1\t2\tfine\n2\tgood\tday\n", false),
            "tweets.txt:2:3: expected a rating, negative or positive, found `good`"
        );
        assert_eq!(
            message(b"1\t2\n", false),
            "tweets.txt:1:4: expected three fields separated by tabs: number, rating, text, found `1\\t2`"
        );
        assert_eq!(
            message(b"\"0\",\"1\",\"d\",\"q\",\"u\",\"open\n", true),
            "tweets.txt:1:21: expected a closing quote, found the end of the line"
        );
        assert_eq!(
            message(b"\"3\",\"1\",\"d\",\"q\",\"u\",\"t\"\n", true),
            "tweets.txt:1:1: expected the polarity 0 (negative), 2 (neutral) or 4 (positive), found `3`"
        );
    }

    #[test]
    fn each_form_is_recognised_by_a_line() {
        assert!(is_sentiment140(b"\"0\",\"1\",\"d\",\"q\",\"u\",\"t\""));
        assert!(!is_sentiment140(b"0,1,2"));
        assert!(is_rated(b"1\t-2.5\tbad day"));
        assert!(!is_rated(b"1\t2\t3"));
    }
}
