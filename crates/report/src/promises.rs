//! Promises for people: what was stated, what came, and how often it was kept.

use crate::number::{ABSENT, count, percent, plural, significant};
use crate::text::{Column, Page, Table, bar, columns, paragraph, track, wrap};
use paceline_answers::promises::{Bin, Held, PromisesAnswer, Verdict, is_within};
use paceline_records::study::{PromisedLimit, PromisedValue};

/// The latest promises are shown one by one, so many of them.
const SHOWN: usize = 20;
/// How wide what was stated and what came are drawn.
const TRACK: usize = 25;

/// The answer for people.
#[must_use]
pub fn text(answer: &PromisesAnswer, page: Page) -> String {
    let mut out = format!("Promises of {}\n\n", answer.source);
    let earlier = answer.promises.len().saturating_sub(SHOWN);
    if earlier > 0 {
        out += &format!(
            "{} earlier are left out; --format json has all\n\n",
            count(earlier as u64)
        );
    }
    let latest = &answer.promises[earlier..];
    out += &blocks(latest, page);
    if !answer.bins.is_empty() {
        out += "Stated against kept\n\n";
        out += &bins(&answer.bins).render(page.width, page.style);
        out.push('\n');
    }
    for sentence in answer.sentences() {
        out += &paragraph("", &sentence, page.width);
    }
    out
}

/// One promise with what came of it.
#[must_use]
pub fn outcome(held: &Held, page: Page) -> String {
    let text = blocks(std::slice::from_ref(held), page);
    format!("{}\n", text.trim_end())
}

/// One thing that was stated, in cells.
struct Line {
    response: String,
    stated: String,
    chance: String,
    track: String,
    came: String,
    verdict: &'static str,
}

/// A heading and a few lines for each promise, columns below each other throughout.
fn blocks(promises: &[Held], page: Page) -> String {
    let blocks: Vec<(String, Vec<Line>)> = promises
        .iter()
        .map(|held| (heading(held), lines(held)))
        .collect();
    let widest = |cell: fn(&Line) -> &str| {
        let lines = blocks.iter().flat_map(|(_, lines)| lines);
        lines.map(|line| columns(cell(line))).max().unwrap_or(0)
    };
    let response = widest(|line| &line.response);
    let stated = widest(|line| &line.stated);
    let chance = widest(|line| &line.chance);
    let came = widest(|line| &line.came);
    let left = |text: &str, width: usize| text.to_owned() + &" ".repeat(width - columns(text));
    let right = |text: &str, width: usize| " ".repeat(width - columns(text)) + text;
    let mut out = String::new();
    for (heading, lines) in &blocks {
        for (i, line) in wrap(heading, page.width.saturating_sub(6))
            .iter()
            .enumerate()
        {
            out += if i == 0 { "" } else { "      " };
            out += &page.style.strong(line);
            out.push('\n');
        }
        for line in lines {
            let fixed = 2 + response + 2 + stated + 2 + chance + 2 + 2 + came + 2 + 7;
            let drawn = match fixed + TRACK + 2 <= page.width {
                true => format!("{}  ", line.track),
                false => String::new(),
            };
            let text = format!(
                "  {}  {}  {}  {drawn}{}  {}",
                left(&line.response, response),
                left(&line.stated, stated),
                left(&line.chance, chance),
                right(&line.came, came),
                line.verdict
            );
            out += text.trim_end();
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// `p0001 kept: batch_size=128, sync=bsp (run r25, learned from 24 runs)`.
fn heading(held: &Held) -> String {
    let Held { promise, outcome } = held;
    let verdict = match held.verdict() {
        Verdict::Open => "not run yet".to_owned(),
        verdict => verdict.word().to_owned(),
    };
    let mut beside = Vec::new();
    if let Some(outcome) = outcome {
        beside.push(format!("run {}", outcome.run));
        if !outcome.done {
            beside.push(outcome.outcome.clone());
        }
    }
    beside.push(format!(
        "learned from {}",
        plural(promise.learned_from, "run")
    ));
    if held.is_disturbed() {
        beside.push("disturbed by other work".to_owned());
    }
    format!(
        "{} {verdict}: {} ({})",
        promise.id,
        configuration(held),
        beside.join(", ")
    )
}

/// The configuration of a promise as people write it.
pub(crate) fn configuration(held: &Held) -> String {
    let settings = held.promise.configuration.iter();
    let settings: Vec<String> = settings
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    settings.join(", ")
}

fn lines(held: &Held) -> Vec<Line> {
    let Held { promise, outcome } = held;
    let value_of = |response: &str| outcome.as_ref()?.values.get(response).copied();
    let came = |response: &str| match (value_of(response), outcome) {
        (Some(value), _) => significant(value, 4),
        (None, Some(_)) => ABSENT.to_owned(),
        (None, None) => String::new(),
    };
    let predicted = |response: &str| {
        let mut all = promise.predictions.iter();
        all.find(|one| one.response == response)
    };
    let drawn = |one: Option<&PromisedValue>, limit: Option<f64>| match one {
        Some(one) => {
            let came = value_of(&one.response);
            track((one.low, one.value, one.high), limit, came, TRACK)
        }
        None => " ".repeat(TRACK),
    };
    let limit_line = |limit: &PromisedLimit| Line {
        response: limit.response.clone(),
        stated: limit_words(limit),
        chance: probability(limit.probability),
        track: drawn(predicted(&limit.response), Some(limit.value)),
        came: came(&limit.response),
        verdict: match outcome {
            None => "",
            Some(outcome) if limit.is_kept_by(outcome) => "kept",
            Some(_) => "broken",
        },
    };
    let interval_line = |one: &PromisedValue| Line {
        response: one.response.clone(),
        stated: format!(
            "{} to {}",
            significant(one.low, 4),
            significant(one.high, 4)
        ),
        chance: probability(one.coverage),
        // Below its limit the same is not drawn twice.
        track: match promise
            .limits
            .iter()
            .any(|own| own.response == one.response)
        {
            true => " ".repeat(TRACK),
            false => drawn(Some(one), None),
        },
        came: came(&one.response),
        verdict: match outcome.as_ref().and_then(|outcome| is_within(one, outcome)) {
            None => "",
            Some(true) => "within",
            Some(false) => "outside",
        },
    };
    let mut lines = Vec::new();
    for response in promise.responses() {
        let limits = promise.limits.iter();
        let limits = limits.filter(|limit| limit.response == response);
        lines.extend(limits.map(limit_line));
        lines.extend(predicted(response).map(interval_line));
    }
    // What was limited comes first.
    lines.sort_by_key(|line| {
        let mut limits = promise.limits.iter();
        !limits.any(|limit| limit.response == line.response)
    });
    lines
}

/// `<= 3.000`.
pub(crate) fn limit_words(limit: &PromisedLimit) -> String {
    let sign = if limit.at_most { "<=" } else { ">=" };
    format!("{sign} {}", significant(limit.value, 4))
}

/// A probability that is not quite one does not read as one.
pub(crate) fn probability(chance: f64) -> String {
    if chance > 0.999 && chance < 1.0 {
        "with >0.999".to_owned()
    } else {
        format!("with {}", trimmed(chance))
    }
}

/// Three decimals without zeros at their end.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn bins(bins: &[Bin]) -> Table {
    let mut table = Table::new([
        Column::words("stated"),
        Column::amounts("promises"),
        Column::decimals("expected"),
        Column::amounts("kept"),
        Column::amounts("share"),
        Column::words("95% interval"),
        Column::words("").optional(),
    ]);
    for bin in bins {
        let account = &bin.account;
        let share = account.kept as f64 / account.of as f64;
        table.row([
            stated(bin),
            account.of.to_string(),
            format!("{:.1}", account.expected.0),
            account.kept.to_string(),
            percent(share),
            interval(account.interval),
            bar(share, 20),
        ]);
    }
    table
}

/// The stated probabilities of a bin.
pub(crate) fn stated(bin: &Bin) -> String {
    format!("{} to {}", trimmed(bin.from), trimmed(bin.to))
}

/// An interval of shares.
pub(crate) fn interval((low, high): (f64, f64)) -> String {
    format!("{} to {}", percent(low), percent(high))
}
