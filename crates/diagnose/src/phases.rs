//! The stretches of a run.

use crate::bottleneck::Class;
use paceline_model::Event;
use paceline_model::{EventKind, Micros, Sample};

/// A stretch of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// The name the job gave it, or what held it back.
    pub name: String,
    /// True if the job named it.
    pub named: bool,
    /// Its beginning.
    pub from: Micros,
    /// Its end.
    pub to: Micros,
}

/// No more phases than this are kept: a verdict has few lines.
const MOST: usize = 64;

/// The phases that the job reported; without any, the stretches in which one
/// thing held the run back.
pub(crate) fn find(samples: &[Sample], classes: &[Class], events: &[Event]) -> Vec<Phase> {
    let end = samples.last().map_or(Micros::ZERO, |sample| sample.at);
    let named: Vec<&Event> = events
        .iter()
        .filter(|event| event.kind == EventKind::Phase)
        .take(MOST)
        .collect();
    if named.is_empty() {
        return seen(samples, classes);
    }
    let ends = named.iter().skip(1).map(|event| event.at).chain([end]);
    named
        .iter()
        .zip(ends)
        .map(|(event, to)| Phase {
            name: event.name.clone(),
            named: true,
            from: event.at,
            to: to.max(event.at),
        })
        .collect()
}

/// Stretches of one holder. Stretches shorter than a twentieth of the run (and
/// never shorter than three samples) are noise: each joins its longer neighbour.
fn seen(samples: &[Sample], classes: &[Class]) -> Vec<Phase> {
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for (i, class) in classes.iter().enumerate() {
        match stretches.last_mut() {
            Some((first, end)) if classes[*first].holder == class.holder => *end = i + 1,
            _ => stretches.push((i, i + 1)),
        }
    }
    let short = (samples.len() / 20).max(3);
    while stretches.len() > 1 {
        let length = |&(first, end): &(usize, usize)| end - first;
        let (i, shortest) = stretches
            .iter()
            .map(length)
            .enumerate()
            .min_by_key(|&(_, length)| length)
            .expect("there are at least two stretches");
        if shortest >= short && stretches.len() <= MOST {
            break;
        }
        merge(&mut stretches, i, classes);
    }
    stretches
        .iter()
        .map(|&(first, end)| Phase {
            name: majority(first, end, classes),
            named: false,
            from: if first == 0 {
                Micros::ZERO
            } else {
                samples[first - 1].at
            },
            to: samples[end - 1].at,
        })
        .collect()
}

/// Joins stretch `i` to its longer neighbour, and neighbours that then say the
/// same to each other.
fn merge(stretches: &mut Vec<(usize, usize)>, i: usize, classes: &[Class]) {
    let length = |(first, end): (usize, usize)| end - first;
    let left = i.checked_sub(1).map_or(0, |left| length(stretches[left]));
    let right = stretches.get(i + 1).map_or(0, |&right| length(right));
    let at = if left >= right { i - 1 } else { i };
    let joined = (stretches[at].0, stretches[at + 1].1);
    stretches.splice(at..at + 2, [joined]);
    let same = |a: (usize, usize), b: (usize, usize)| {
        majority(a.0, a.1, classes) == majority(b.0, b.1, classes)
    };
    if at + 1 < stretches.len() && same(stretches[at], stretches[at + 1]) {
        let joined = (stretches[at].0, stretches[at + 1].1);
        stretches.splice(at..at + 2, [joined]);
    }
    if at > 0 && same(stretches[at - 1], stretches[at]) {
        let joined = (stretches[at - 1].0, stretches[at].1);
        stretches.splice(at - 1..=at, [joined]);
    }
}

/// What most samples of a stretch say.
fn majority(first: usize, end: usize, classes: &[Class]) -> String {
    let count = |holder| {
        classes[first..end]
            .iter()
            .filter(|class| class.holder == holder)
            .count()
    };
    crate::Holder::ALL
        .into_iter()
        .max_by_key(|&holder| count(holder))
        .expect("the list of holders is not empty")
        .to_string()
}
