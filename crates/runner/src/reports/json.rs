//! JSON objects, one a line.

use super::{Report, ReportKind};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A name longer than this is not a metric's.
const LONGEST_NAME: usize = 100;
/// Nested deeper than this is data, not metrics.
const DEEPEST: usize = 3;
/// Stands for a number that JSON cannot write, inside a string.
const MARK: &str = "\u{1}";

/// Reads one line. Anything but an object is no report: an empty list.
#[must_use]
pub fn parse_line(line: &[u8]) -> Vec<Report> {
    let line = line.trim_ascii();
    if !(line.starts_with(b"{") && line.ends_with(b"}")) {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return Vec::new();
    };
    let parsed =
        serde_json::from_str(text).or_else(|_| serde_json::from_str(&mark_non_finite(text)));
    let Ok(Value::Object(object)) = parsed else {
        return Vec::new();
    };

    let whole = |key: &str| object.get(key).and_then(whole_number);
    let step = whole("step").or_else(|| whole("epoch"));
    let worker = whole("rank")
        .or_else(|| whole("worker"))
        .and_then(|n| u32::try_from(n).ok());
    let mut reports = Vec::new();
    let mut report = |name: &str, kind| {
        reports.push(Report {
            worker,
            step,
            name: name.to_owned(),
            kind,
        });
    };
    if let Some(name) = object
        .get("phase")
        .and_then(Value::as_str)
        .filter(|name| is_name(name))
    {
        report(name, ReportKind::Phase);
    }
    let word = |key: &str| object.get(key).and_then(Value::as_str);
    if let (Some(name), Some(text)) = (word("notice").filter(|name| is_name(name)), word("text")) {
        report(name, ReportKind::Notice(text.to_owned()));
    }
    collect(&object, "", 1, &mut |name, value| {
        report(name, ReportKind::Metric(value))
    });
    reports
}

fn collect(
    object: &Map<String, Value>,
    prefix: &str,
    depth: usize,
    found: &mut impl FnMut(&str, f64),
) {
    for (key, value) in object {
        let is_place = depth == 1 && matches!(key.as_str(), "step" | "rank" | "worker");
        let name = format!("{prefix}{key}");
        if is_place || !is_name(&name) {
            continue;
        }
        match value {
            Value::Object(inner) if depth < DEEPEST => {
                collect(inner, &format!("{name}."), depth + 1, found);
            }
            _ => {
                if let Some(number) = number(value) {
                    found(&name, number);
                }
            }
        }
    }
}

/// Whether a metric, phase or notice may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(char::is_control)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.strip_prefix(MARK)? {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// A step may be written as `3` or `3.0`.
fn whole_number(value: &Value) -> Option<u64> {
    let as_float = || {
        value
            .as_f64()
            .filter(|x| x.fract() == 0.0 && (0.0..9e15).contains(x))
    };
    value.as_u64().or_else(|| as_float().map(|x| x as u64))
}

/// Puts `NaN`, `Infinity` and `-Infinity` into marked strings, so that JSON as
/// Python writes it can be read.
fn mark_non_finite(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    if !WORDS.iter().any(|word| text.contains(word)) {
        return text.into();
    }
    let mut marked = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let word = WORDS
            .iter()
            .find(|word| !quoted && rest.starts_with(**word));
        let taken = match (word, c) {
            (Some(word), _) => {
                // A raw control character is not allowed in JSON; its escape is.
                marked.push_str(&format!("\"\\u0001{word}\""));
                word.len()
            }
            (None, '\\') if quoted => {
                let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
                marked.push_str(&rest[..1 + escaped]);
                1 + escaped
            }
            (None, c) => {
                quoted ^= c == '"';
                marked.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    marked.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn metric(step: Option<u64>, name: &str, value: f64) -> Report {
        Report {
            worker: None,
            step,
            name: name.into(),
            kind: ReportKind::Metric(value),
        }
    }

    fn check(line: &str, expected: &[Report]) {
        assert_eq!(parse_line(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn numbers_become_metrics_at_the_lines_step() {
        check(
            r#"{"step": 7, "loss": 0.25, "lr": 1e-3, "note": "fine", "ok": true}"#,
            &[metric(Some(7), "loss", 0.25), metric(Some(7), "lr", 0.001)],
        );
        check(
            r#"{"epoch": 2.0, "accuracy": 0.9}"#,
            &[
                metric(Some(2), "epoch", 2.0),
                metric(Some(2), "accuracy", 0.9),
            ],
        );
    }

    #[test]
    fn nested_objects_are_flattened_and_ranks_kept() {
        let expected = Report {
            worker: Some(1),
            ..metric(None, "train.loss", 2.0)
        };
        check(r#"{"rank": 1, "train": {"loss": 2}}"#, &[expected]);
    }

    #[test]
    fn a_phase_is_a_phase() {
        let expected = Report {
            worker: None,
            step: None,
            name: "eval".into(),
            kind: ReportKind::Phase,
        };
        check(r#"{"phase": "eval"}"#, &[expected]);
    }

    #[test]
    fn a_notice_has_a_name_and_words() {
        let expected = Report {
            worker: Some(1),
            step: Some(20),
            name: "worker_lost".into(),
            kind: ReportKind::Notice("worker 1 is lost".into()),
        };
        check(
            r#"{"notice": "worker_lost", "text": "worker 1 is lost", "worker": 1, "step": 20}"#,
            &[expected],
        );
        check(r#"{"notice": "worker_lost"}"#, &[]);
    }

    #[test]
    fn python_s_nan_is_read_and_a_quoted_one_is_text() {
        let found = parse_line(br#"{"loss": NaN, "note": "NaN \" Infinity", "x": -Infinity}"#);
        assert_eq!(found.len(), 2);
        assert!(matches!(found[0].kind, ReportKind::Metric(value) if value.is_nan()));
        assert_eq!(found[1], metric(None, "x", f64::NEG_INFINITY));
    }

    #[test]
    fn anything_else_is_just_log() {
        let deep = r#"{"a": {"b": {"c": {"d": 1}}}}"#;
        for line in [
            "",
            "{",
            "}{",
            "[1,2]",
            "loss: 0.1",
            r#"{"a": }"#,
            r#"{"": 1}"#,
            deep,
        ] {
            check(line, &[]);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_can_break_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut line = b"{".to_vec();
            line.extend(&bytes);
            line.push(b'}');
            prop_assert!(parse_line(&line).iter().all(|report| is_name(&report.name)));
        }

        #[test]
        fn the_words_of_python_cannot_break_it(text in r#"[\{\}",:\\NaInfity\- u0-9é]{0,60}"#) {
            let line = format!("{{\"a\":{text}}}");
            prop_assert!(parse_line(line.as_bytes()).iter().all(|report| is_name(&report.name)));
        }
    }
}
