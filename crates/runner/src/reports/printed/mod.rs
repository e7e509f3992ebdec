//! Metrics in what programs print for people.
//!
//! Known are the lines of Hugging Face's Trainer (a Python dictionary), Keras,
//! Lightning and tqdm (a bar that is full), XGBoost and LightGBM (`[12]` and
//! tab-separated values), scikit-learn's estimators with `verbose`, and any line
//! that gives a number to a well-known word (`val_loss: 0.31`, `Accuracy:
//! 9847/10000 (98%)`). Shares written in percent become shares.

use super::step::{epoch_in, step_in};
use super::{Report, ReportKind, parse_line};
use regex::Regex;
use std::sync::LazyLock;

/// Longer lines are data.
const LONGEST: usize = 2_000;
/// After so many lines without a metric there is none to expect.
const PATIENCE: u32 = 200_000;

macro_rules! expressions {
    ($($(#[$about:meta])* $name:ident = $text:expr;)*) => {$(
        $(#[$about])*
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the expression is constant"));
    )*};
}

expressions! {
    /// Colours and movements of the cursor.
    ESCAPES = r"\x1b\[[0-9;?]*[A-Za-z]";
    /// `Epoch 3/10`, alone, before Keras' bar.
    EPOCH_LINE = r"^\s*Epoch (\d{1,9})/\d+\s*$";
    /// `1875/1875 ━━━ 3s 1ms/step - accuracy: 0.9 - loss: 0.3`.
    KERAS = r"^\s*(\d+)/(\d+)\s.*?\s-\s(\w[^:]*: .*)$";
    /// `Epoch 3: 100%|███| 10/10 [00:01<00:00, 9.5it/s, loss=0.3]`.
    BAR = r"^(.*?)(\d{1,3})%\|.*\|[^\[\]]*\[([^\[\]]*)\]\s*$";
    /// `[12]	train-rmse:0.48	eval-rmse:0.51`.
    ROUND = r"^\[(\d{1,15})\]\s+(\S.*)$";
    /// `      Iter       Train Loss   Remaining Time`.
    BOOSTING_HEAD = r"^\s*Iter\s+Train Loss\s+(OOB Improve\s+)?Remaining Time\s*$";
    BOOSTING_ROW = r"^\s*(\d{1,15})\s+(\S+)\s+(?:(\S+)\s+)?[0-9.]+[ms]\s*$";
    /// A well-known word, whose it is, and its number.
    KNOWN = concat!(
        r"(?i)(?:\b|_)(?:(training|train|validation|valid|val|testing|test|eval|evaluation)[ _/.-]{1,2})?",
        r"(?:(?:average|avg\.?|mean|total)[ _])?",
        r"(loss|accuracy|acc|top1|top5|f1|auc|rmse|mae|mse|logloss|perplexity|ppl|bleu|inertia|grad_norm|learning_rate|validation score)",
        r"(\s*[:=]\s*|\s+(?:is\s+|of\s+)?)",
        r"(-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?\.\d+|-?nan|-?inf)\b",
        r"(?:\s*/\s*(\d+))?(\s*%)?"
    );
    /// What a line speaks of as a whole: `Test set: …`.
    SUBJECT = r"(?i)^\W*(training|train|validation|valid|val|testing|test|eval|evaluation)\b";
}

/// Reads one stream of a command.
#[derive(Debug, Default)]
pub struct Printed {
    /// The epoch, or the iteration, that was named last.
    epoch: Option<u64>,
    /// Whether rows of scikit-learn's boosting follow, and with how many values.
    boosting: Option<usize>,
    fruitless: u32,
}

impl Printed {
    /// The metrics that `line` shows, if any.
    pub fn read(&mut self, line: &[u8]) -> Vec<Report> {
        let wanted = self.fruitless < PATIENCE
            && line.len() <= LONGEST
            && (line.iter().any(u8::is_ascii_digit)
                || line.trim_ascii_start().starts_with(b"Iter"));
        let Some(text) = wanted
            .then(|| std::str::from_utf8(line).ok())
            .flatten()
            .map(shown)
        else {
            return Vec::new();
        };
        let found = self.find(&text);
        match found.is_empty() {
            true => self.fruitless += 1,
            false => self.fruitless = 0,
        }
        found
    }

    fn find(&mut self, text: &str) -> Vec<Report> {
        if text.trim_start().starts_with('{') {
            return dictionary(text);
        }
        if let Some(found) = EPOCH_LINE.captures(text) {
            self.epoch = found[1].parse().ok();
            return Vec::new();
        }
        if let Some(found) = KERAS.captures(text) {
            let whole = found[1] == found[2];
            let pairs = found[3]
                .split(" - ")
                .filter_map(|pair| pair.split_once(':'));
            let values = pairs.filter(|_| whole);
            return reports(self.epoch, values.map(|(name, value)| (name.trim(), value)));
        }
        if let Some(found) = BAR.captures(text) {
            let whole = &found[2] == "100";
            self.epoch = epoch_in(&found[1]).or(self.epoch);
            let pairs = found[3].split(", ").filter_map(|pair| pair.split_once('='));
            // Lightning's number of the run is no metric.
            let values = pairs.filter(|(name, _)| whole && *name != "v_num");
            return reports(self.epoch, values);
        }
        if let Some(found) = ROUND.captures(text) {
            let round = found[1].parse().ok();
            let values = found[2]
                .split('\t')
                .filter_map(|pair| pair.rsplit_once(':'));
            let named: Vec<(String, &str)> = values
                .map(|(name, value)| (name.trim().replace("'s ", "."), value))
                .collect();
            let values = named.iter().map(|(name, value)| (name.as_str(), *value));
            return reports(round, values);
        }
        if let Some(found) = BOOSTING_HEAD.captures(text) {
            self.boosting = Some(1 + usize::from(found.get(1).is_some()));
            return Vec::new();
        }
        if let (Some(values), Some(found)) = (self.boosting, BOOSTING_ROW.captures(text)) {
            let names = ["train_loss", "oob_improve"];
            let cells = [found.get(2), found.get(3)];
            let cells = cells.iter().flatten().map(|cell| cell.as_str());
            let pairs = names.into_iter().zip(cells).take(values);
            return reports(found[1].parse().ok(), pairs);
        }
        self.known(text)
    }

    /// Numbers of well-known words.
    fn known(&mut self, text: &str) -> Vec<Report> {
        let place = epoch_in(text).or_else(|| step_in(text));
        self.epoch = place.or(self.epoch);
        let mut found = Vec::new();
        let mut words = KNOWN.captures_iter(text).peekable();
        if words.peek().is_none() {
            return found;
        }
        let subject = SUBJECT.captures(text).map(|subject| subject[1].to_owned());
        let step = step_in(text).or(self.epoch);
        for word in words {
            let number = &word[4];
            // Between word and number stands a sign, or the number has a fraction:
            // "loss 3 packets" is no metric.
            let is_given = word[3].contains([':', '=']) || number.contains(['.', 'n', 'N']);
            let Some(value) = value(number).filter(|_| is_given) else {
                continue;
            };
            let over: Option<f64> = word.get(5).and_then(|over| over.as_str().parse().ok());
            let value = match (over, word.get(6)) {
                (Some(over), _) if over > 0.0 => value / over,
                (_, Some(_)) => value / 100.0,
                _ => value,
            };
            let of = word.get(1).map(|of| of.as_str()).or(subject.as_deref());
            let name = word[2].to_ascii_lowercase().replace(' ', "_");
            let name = match of.map(str::to_ascii_lowercase).as_deref() {
                _ if name.starts_with("validation") => name,
                Some("training" | "train") => format!("train_{name}"),
                Some("validation" | "valid" | "val") => format!("val_{name}"),
                Some("testing" | "test") => format!("test_{name}"),
                Some(_) => format!("eval_{name}"),
                None => name,
            };
            found.push(metric(step, name, value));
        }
        found
    }
}

/// The line as a terminal shows it at last: without colours, and without what
/// backspaces took back.
fn shown(line: &str) -> String {
    let line = ESCAPES.replace_all(line, "");
    let last = line.rsplit('\u{8}').find(|part| !part.trim().is_empty());
    last.unwrap_or_default().to_owned()
}

/// A dictionary as Python prints it: JSON but for its quotes and words.
fn dictionary(text: &str) -> Vec<Report> {
    let json = text
        .replace('\'', "\"")
        .replace(": nan", ": NaN")
        .replace(": -inf", ": -Infinity")
        .replace(": inf", ": Infinity")
        .replace(": True", ": true")
        .replace(": False", ": false")
        .replace(": None", ": null");
    let mut found = parse_line(json.as_bytes());
    // Phases and notices are said by programs that know of Paceline, in JSON.
    found.retain(|report| matches!(report.kind, ReportKind::Metric(_)));
    found
}

fn reports<'a>(step: Option<u64>, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Report> {
    let numbers = pairs.filter_map(|(name, text)| Some((name, value(text.trim())?)));
    let named = numbers.filter(|(name, _)| is_name(name));
    named
        .map(|(name, value)| metric(step, name.to_owned(), value))
        .collect()
}

fn metric(step: Option<u64>, name: String, value: f64) -> Report {
    Report {
        worker: None,
        step,
        name,
        kind: ReportKind::Metric(value),
    }
}

/// A short word or a few, as people name metrics.
fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(char::is_alphabetic)
        && name.len() <= 60
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-./@ ".contains(c))
}

fn value(text: &str) -> Option<f64> {
    match text.trim_start_matches('-') {
        // `infinity` and `nan` as words of a sentence would be read by `parse` too.
        rest if rest.eq_ignore_ascii_case("nan") => Some(f64::NAN),
        rest if rest.eq_ignore_ascii_case("inf") => text.parse().ok(),
        rest if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
