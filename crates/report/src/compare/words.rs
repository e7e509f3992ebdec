//! Quantities and their differences in words.

use crate::number;
use paceline_answers::compare::{CompareAnswer, Compared, Finding, Unit};

pub(super) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Seconds => number::duration(value),
        Unit::Bytes => number::bytes(value),
        Unit::Joules => format!("{} J", number::significant(value, 3)),
        Unit::Cpus => number::significant(value, 2),
        Unit::Number => number::significant(value, 4),
    }
}

fn signed(share: f64) -> String {
    match share.abs() < 9.995 {
        true => format!("{:+.1}%", 100.0 * share),
        false => format!("×{}", number::significant(1.0 + share, 3)),
    }
}

/// `+12.3%`; the difference itself where a share means nothing.
pub(super) fn change(one: &Compared) -> String {
    match one.change() {
        Some(share) => signed(share),
        None => {
            let difference = one.means.1 - one.means.0;
            let sign = if difference < 0.0 { "−" } else { "+" };
            format!("{sign}{}", value(one.quantity.unit, difference.abs()))
        }
    }
}

/// `+8.1% to +16.6%`. What cannot be negative does not fall by more than all of it.
pub(super) fn interval(one: &Compared) -> String {
    let ratio = one.welch.and_then(|welch| welch.ratio);
    ratio.map_or(String::new(), |ratio| {
        let lower = match one.quantity.unit {
            Unit::Number => ratio.lower,
            Unit::Seconds | Unit::Bytes | Unit::Joules | Unit::Cpus => ratio.lower.max(0.0),
        };
        format!("{} to {}", signed(lower - 1.0), signed(ratio.upper - 1.0))
    })
}

pub(super) fn p_value(one: &Compared) -> String {
    one.p_adjusted.map_or(String::new(), number::p_value)
}

fn percent_of(level: f64) -> String {
    let text = format!("{:.1}", 100.0 * level);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How long a group's runs took beside the first's.
pub(super) fn time_sentence(answer: &CompareAnswer, time: &Compared) -> String {
    let (first, other) = (&answer.groups[0].label, &answer.groups[time.other].label);
    let both = format!(
        "{} instead of {}",
        value(time.quantity.unit, time.means.1),
        value(time.quantity.unit, time.means.0)
    );
    let longer = |share: f64| match share < 0.0 {
        true => format!("{} less time", number::percent(-share)),
        false => format!("{} more time", number::percent(share)),
    };
    let share = time.change().unwrap_or(0.0);
    let bounds = match interval(time) {
        interval if interval.is_empty() => String::new(),
        interval => format!(", {} interval {interval}", percent_of(answer.level)),
    };
    let tests = match (time.p_adjusted, time.ranks) {
        (Some(p), Some(ranks)) => {
            let several = match answer.times.len() {
                1 => String::new(),
                n => format!(" adjusted by Holm for {n} comparisons"),
            };
            format!(
                "Welch's t test: p {}{several}; rank sum test: p {}",
                equation(p),
                equation(ranks.p)
            )
        }
        _ => String::new(),
    };
    match time.finding {
        Finding::Differs => format!(
            "{other} takes {} than {first}: {both}{bounds}. {tests}.",
            longer(share)
        ),
        Finding::NotShown => format!(
            "No difference in time is shown between {other} and {first}: {both}{bounds}. {tests}."
        ),
        Finding::Disagree => format!(
            "Whether {other} takes another time than {first} is open: {both}{bounds}, but the two \
             tests disagree. {tests}. More runs would tell."
        ),
        Finding::Equal => format!("{other} and {first} took exactly the same time."),
        Finding::Unknown => {
            let runs = match time.counts {
                (1, 1) => "one run each".to_owned(),
                (a, b) => format!("{a} and {b} runs"),
            };
            format!(
                "{other} took {} than {first} in {runs}: {both}. Whether that is more than chance \
                 cannot be known.",
                longer(share)
            )
        }
    }
}

fn equation(p: f64) -> String {
    let text = number::p_value(p);
    match text.starts_with('<') {
        true => text,
        false => format!("= {text}"),
    }
}

/// What moved with the time, and what did not.
pub(super) fn moved(answer: &CompareAnswer, other: usize) -> Option<String> {
    let of = |finding: Finding| {
        let all = answer.others.iter();
        all.filter(move |one| one.other == other && one.finding == finding)
    };
    let name = &answer.groups[other].label;
    let differs: Vec<String> = of(Finding::Differs)
        .map(|one| format!("{} {}", one.quantity.name, change(one)))
        .collect();
    if answer
        .others
        .iter()
        .all(|one| one.finding == Finding::Unknown)
    {
        return None;
    }
    let compared = answer.others.iter().filter(|one| one.p_adjusted.is_some());
    let compared = compared.count();
    Some(match differs.is_empty() {
        true => format!(
            "Of what else was measured of {name}, nothing is shown to differ (Holm, {compared} \
             comparisons)."
        ),
        false => format!(
            "What differs of {name} beside the time (Holm, {compared} comparisons): {}.",
            differs.join(", ")
        ),
    })
}
