//! What was promised of runs, held against what came.

use crate::chart::{Track, tracks};
use crate::number::{ABSENT, count, percent, plural, significant};
use crate::page::{Heading, HtmlTable, Section};
use crate::promises::{configuration, interval, limit_words, probability, stated};
use paceline_answers::promises::{Bin, Held, PromisesAnswer, Verdict, is_within};
use paceline_records::study::PromisedValue;

/// The latest promises are drawn, so many of them.
const DRAWN: usize = 20;
/// The latest promises are listed, so many of them.
const LISTED: usize = 200;

pub(super) fn section(answer: &PromisesAnswer) -> Section {
    let section = Section::new("promises", "Promises");
    if answer.promises.is_empty() {
        return section.paragraph(
            "Nothing has been promised yet. `paceline pick DIR --run` states a promise, makes the \
             run and holds the one against the other.",
        );
    }
    let section = section.list(false, answer.sentences());
    let latest = latest(&answer.promises, DRAWN);
    let rows: Vec<Track> = latest.iter().flat_map(drawn).collect();
    let section = match rows.is_empty() {
        true => section,
        false => section.figure(
            &tracks("Promised and came", &description(answer), &rows),
            "Every stated interval has the same place, whatever its unit. A dot is what came as it \
             was promised, a cross what did not, a thick line the limit.",
        ),
    };
    let section = match answer.bins.is_empty() {
        true => section,
        false => section.push(bins(&answer.bins)),
    };
    section.push(list(&answer.promises))
}

/// One line for the summary; nothing if nothing was promised.
pub(super) fn figure(answer: &PromisesAnswer) -> Option<(String, String)> {
    let ended = answer.promises.len() - answer.count(Verdict::Open);
    (ended > 0).then(|| {
        let kept = answer.count(Verdict::Kept);
        ("Promises kept".to_owned(), format!("{kept} of {ended}"))
    })
}

fn latest<T>(all: &[T], most: usize) -> &[T] {
    &all[all.len().saturating_sub(most)..]
}

fn description(answer: &PromisesAnswer) -> String {
    let shown = answer.promises.len().min(DRAWN);
    format!(
        "The stated intervals of the latest {}, with what came of each.",
        plural(shown, "promise")
    )
}

fn drawn(held: &Held) -> Vec<Track> {
    let Held { promise, outcome } = held;
    let each = promise.predictions.iter().map(|one| {
        let limit = promise
            .limits
            .iter()
            .find(|limit| limit.response == one.response);
        let value = outcome
            .as_ref()
            .and_then(|outcome| outcome.values.get(&one.response));
        let as_promised = outcome.as_ref().and_then(|outcome| match limit {
            Some(limit) => Some(limit.is_kept_by(outcome)),
            None => is_within(one, outcome),
        });
        Track {
            label: format!("{} {}", promise.id, one.response),
            stated: (one.low, one.value, one.high),
            limit: limit.map(|limit| limit.value),
            came: value.copied().zip(as_promised),
            note: note(held, one),
        }
    });
    each.collect()
}

fn note(held: &Held, one: &PromisedValue) -> String {
    let Some(outcome) = &held.outcome else {
        return "not run yet".to_owned();
    };
    let limits = held.promise.limits.iter();
    let limit = limits.clone().find(|limit| limit.response == one.response);
    let word = match (limit, is_within(one, outcome)) {
        (Some(limit), _) if limit.is_kept_by(outcome) => "kept",
        (Some(_), _) => "broken",
        (None, Some(true)) => "within",
        (None, Some(false)) => "outside",
        (None, None) => "no value",
    };
    let value = outcome.values.get(&one.response);
    let value = value.map_or(ABSENT.to_owned(), |value| significant(*value, 4));
    let beside = match limit {
        Some(limit) => format!(" {}", limit_words(limit)),
        None => String::new(),
    };
    format!("{value}{beside}: {word}")
}

fn bins(bins: &[Bin]) -> HtmlTable {
    let mut table = HtmlTable::new(
        "Promises with limits by their stated probability",
        [
            Heading::words("stated"),
            Heading::numbers("promises"),
            Heading::numbers("expected to be kept"),
            Heading::numbers("kept"),
            Heading::numbers("share"),
            Heading::words("95% interval"),
        ],
    );
    for bin in bins {
        let account = &bin.account;
        table.row([
            stated(bin),
            count(account.of as u64),
            format!("{:.1}", account.expected.0),
            count(account.kept as u64),
            percent(account.kept as f64 / account.of as f64),
            interval(account.interval),
        ]);
    }
    table
}

fn list(promises: &[Held]) -> HtmlTable {
    let shown = latest(promises, LISTED);
    let caption = match promises.len() - shown.len() {
        0 => "Every promise".to_owned(),
        earlier => format!(
            "The latest promises; {} earlier are in the ledger",
            count(earlier as u64)
        ),
    };
    let mut table = HtmlTable::new(
        &caption,
        [
            Heading::words("promise"),
            Heading::words("run"),
            Heading::words("configuration"),
            Heading::words("stated"),
            Heading::words("came"),
            Heading::words("verdict"),
            Heading::numbers("learned from"),
        ],
    );
    for held in shown {
        let Held { promise, outcome } = held;
        let limits = promise.limits.iter().map(|limit| {
            format!(
                "{} {} {}",
                limit.response,
                limit_words(limit),
                probability(limit.probability)
            )
        });
        let intervals = promise.predictions.iter().map(|one| {
            format!(
                "{} {} to {} {}",
                one.response,
                significant(one.low, 4),
                significant(one.high, 4),
                probability(one.coverage)
            )
        });
        let stated: Vec<String> = limits.chain(intervals).collect();
        let came = outcome.iter().flat_map(|outcome| &outcome.values);
        let came: Vec<String> = came
            .map(|(name, value)| format!("{name} {}", significant(*value, 4)))
            .collect();
        let mut verdict = held.verdict().word().to_owned();
        if let Some(outcome) = outcome.as_ref().filter(|outcome| !outcome.done) {
            verdict = format!("{verdict}: {}", outcome.outcome);
        }
        if held.is_disturbed() {
            verdict += ", disturbed by other work";
        }
        table.row([
            promise.id.clone(),
            outcome
                .as_ref()
                .map_or(ABSENT.to_owned(), |outcome| outcome.run.clone()),
            format!("`{}`", configuration(held)),
            stated.join("; "),
            came.join("; "),
            verdict,
            promise.learned_from.to_string(),
        ]);
    }
    table
}
