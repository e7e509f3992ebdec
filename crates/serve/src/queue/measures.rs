//! What is done for a promise that is threatened, and in which order.
//!
//! 1. *More CPUs*: free ones that nobody waits for go to the job, if its study says
//!    that it is faster with them.
//! 2. *Fewer neighbours*: a job that runs and can afford it is stopped for a while, and
//!    its CPUs go to the one that is threatened.
//! 3. *Fewer epochs*: a job that allows it ends after fewer.
//! 4. *Later start of others*: the threatened one is started before others that wait.
//! 5. If nothing of this helps, the new time is *announced*.
//!
//! A measure is taken only if the promise is safe with it, and no other one in danger.

use super::outlook::{End, Item, ends};

/// A job, with what may be done for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The job as it stands.
    pub item: Item,
    /// How many times as fast it is with so many CPUs instead of its own.
    pub faster: Vec<(u32, f64)>,
    /// Whether it was stopped for a while, and waits to go on.
    pub paused: bool,
    /// Epochs that are done, and all; only if the job allows fewer.
    pub epochs: Option<(u32, u32)>,
}

/// What is done for a threatened promise.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// The job gets so many CPUs.
    MoreCpus {
        /// The job.
        job: String,
        /// As many as it has then.
        cpus: u32,
    },
    /// A neighbour is stopped until CPUs are free again.
    FewerNeighbours {
        /// Who is threatened.
        job: String,
        /// Who is stopped.
        paused: String,
    },
    /// The job ends after so many epochs.
    FewerEpochs {
        /// The job.
        job: String,
        /// As many as it makes then.
        epochs: u32,
    },
    /// The job is started before all others that wait.
    LaterStart {
        /// The job.
        job: String,
        /// Who was before it.
        others: Vec<String>,
    },
    /// Nothing helps: it ends later than promised.
    Announced {
        /// The job.
        job: String,
        /// The probability of being in time that is left.
        chance: f64,
        /// At the promise's confidence it has ended by then, in seconds from now.
        latest_s: f64,
    },
}

impl Measure {
    /// Whose promise it is for.
    #[must_use]
    pub fn job(&self) -> &str {
        match self {
            Self::MoreCpus { job, .. }
            | Self::FewerNeighbours { job, .. }
            | Self::FewerEpochs { job, .. }
            | Self::LaterStart { job, .. }
            | Self::Announced { job, .. } => job,
        }
    }
}

/// A promise is threatened if its chance is below its confidence by more than this:
/// what was accepted at just its confidence must not be acted on for every draw.
const MARGIN: f64 = 0.05;

fn is_threatened(item: &Item, end: &End) -> bool {
    item.due_s.is_some() && end.chance < item.confidence - MARGIN
}

/// The measures for every threatened promise, the most urgent first, each judged with
/// those before it taken. `subjects` stand in the order of [`super::ends`].
#[must_use]
pub fn measures(subjects: &[Subject], cpus: u32) -> Vec<Measure> {
    let mut subjects = subjects.to_vec();
    let mut taken = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    loop {
        let before = outlook(&subjects, cpus);
        let threatened = (0..subjects.len()).filter(|&at| {
            is_threatened(&subjects[at].item, &before[at]) && !seen.contains(&subjects[at].item.id)
        });
        let due = |at: usize| subjects[at].item.due_s.unwrap_or(f64::INFINITY);
        let Some(at) = threatened.min_by(|&a, &b| due(a).total_cmp(&due(b))) else {
            return taken;
        };
        seen.push(subjects[at].item.id.clone());
        let tried = [more_cpus, fewer_neighbours, fewer_epochs, later_start];
        let found = tried.iter().find_map(|way| {
            let (measure, changed) = way(&subjects, at, cpus)?;
            helps(&before, &subjects, &changed, &subjects[at].item.id, cpus)
                .then_some((measure, changed))
        });
        match found {
            Some((measure, changed)) => {
                taken.push(measure);
                subjects = changed;
            }
            None => taken.push(Measure::Announced {
                job: subjects[at].item.id.clone(),
                chance: before[at].chance,
                latest_s: before[at].quantile(subjects[at].item.confidence),
            }),
        }
    }
}

fn outlook(subjects: &[Subject], cpus: u32) -> Vec<End> {
    let items: Vec<Item> = subjects.iter().map(|one| one.item.clone()).collect();
    ends(&items, cpus)
}

/// Whether the promise is safe afterwards, and every other as safe as before or safe
/// enough.
fn helps(before: &[End], subjects: &[Subject], changed: &[Subject], job: &str, cpus: u32) -> bool {
    let after = outlook(changed, cpus);
    changed.iter().zip(&after).all(|(one, end)| {
        let known = subjects.iter().position(|old| old.item.id == one.item.id);
        let known = known.map_or(1.0, |at| before[at].chance);
        let is_safe = !is_threatened(&one.item, end);
        is_safe || (one.item.id != job && end.chance >= known)
    })
}

type Tried = Option<(Measure, Vec<Subject>)>;

fn free(subjects: &[Subject], cpus: u32) -> u32 {
    let active = subjects.iter().filter(|one| one.item.active);
    cpus.saturating_sub(active.map(|one| one.item.cpus).sum())
}

fn widened(subjects: &[Subject], at: usize, free: u32) -> Option<(u32, Vec<Subject>)> {
    let one = &subjects[at];
    let own = one.item.cpus;
    let wider = one
        .faster
        .iter()
        .filter(|(cpus, times)| *cpus > own && *cpus <= own + free && *times > 1.0);
    let &(cpus, times) = wider.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut changed = subjects.to_vec();
    changed[at].item.cpus = cpus;
    changed[at].item.left = one.item.left.faster(times);
    changed[at].faster.clear();
    Some((cpus, changed))
}

fn more_cpus(subjects: &[Subject], at: usize, cpus: u32) -> Tried {
    if !subjects[at].item.active || subjects.iter().any(|one| !one.item.active) {
        return None;
    }
    let (cpus, changed) = widened(subjects, at, free(subjects, cpus))?;
    let job = subjects[at].item.id.clone();
    Some((Measure::MoreCpus { job, cpus }, changed))
}

fn fewer_neighbours(subjects: &[Subject], at: usize, cpus: u32) -> Tried {
    let job = subjects[at].item.id.clone();
    let slack = |one: &Subject| {
        let due = one.item.due_s.unwrap_or(f64::INFINITY);
        due - one.item.left.median()
    };
    let neighbours =
        (0..subjects.len()).filter(|&other| other != at && subjects[other].item.active);
    let other = neighbours.max_by(|&a, &b| slack(&subjects[a]).total_cmp(&slack(&subjects[b])))?;
    let mut changed = subjects.to_vec();
    changed[other].item.active = false;
    changed[other].paused = true;
    let room = free(&changed, cpus);
    let changed = if subjects[at].item.active {
        widened(&changed, at, room)?.1
    } else if subjects[at].item.cpus <= room {
        changed[at].item.active = true;
        changed
    } else {
        return None;
    };
    let paused = subjects[other].item.id.clone();
    Some((Measure::FewerNeighbours { job, paused }, changed))
}

fn fewer_epochs(subjects: &[Subject], at: usize, cpus: u32) -> Tried {
    let one = &subjects[at];
    let (done, all) = one.epochs?;
    // As many as are safe: each one less takes its share of what is left.
    let to_do = all.checked_sub(done).filter(|to_do| *to_do > 1)?;
    for epochs in (done.max(1)..all).rev() {
        let share = f64::from(epochs - done.min(epochs)) / f64::from(to_do);
        let mut changed = subjects.to_vec();
        let parts = one.item.left.parts().iter().map(|part| part * share);
        changed[at].item.left = super::Belief::new(parts);
        if !is_threatened(&changed[at].item, &outlook(&changed, cpus)[at]) {
            let job = one.item.id.clone();
            return Some((Measure::FewerEpochs { job, epochs }, changed));
        }
    }
    None
}

fn later_start(subjects: &[Subject], at: usize, _cpus: u32) -> Tried {
    if subjects[at].item.active {
        return None;
    }
    let first = subjects.iter().position(|one| !one.item.active)?;
    let others: Vec<String> = subjects[first..at]
        .iter()
        .filter(|one| !one.item.active)
        .map(|one| one.item.id.clone())
        .collect();
    if others.is_empty() {
        return None;
    }
    let mut changed = subjects.to_vec();
    let one = changed.remove(at);
    let job = one.item.id.clone();
    changed.insert(first, one);
    Some((Measure::LaterStart { job, others }, changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Belief;

    fn subject(id: &str, left: f64, cpus: u32, active: bool, due_s: Option<f64>) -> Subject {
        Subject {
            item: Item {
                id: id.to_owned(),
                left: Belief::new([left]),
                cpus,
                active,
                due_s,
                confidence: 0.95,
            },
            faster: Vec::new(),
            paused: false,
            epochs: None,
        }
    }

    #[test]
    fn a_promise_that_is_safe_is_left_alone() {
        assert_eq!(measures(&[subject("a", 5.0, 1, true, Some(9.0))], 2), []);
        assert_eq!(measures(&[subject("a", 5.0, 1, true, None)], 2), []);
        assert_eq!(measures(&[], 2), []);
    }

    #[test]
    fn the_measures_are_tried_in_their_order() {
        // Everything would help; free CPUs come first.
        let mut one = subject("a", 10.0, 1, true, Some(7.0));
        one.faster = vec![(2, 1.8)];
        one.epochs = Some((2, 12));
        let more = Measure::MoreCpus {
            job: "a".to_owned(),
            cpus: 2,
        };
        assert_eq!(measures(std::slice::from_ref(&one), 2), [more]);
        // A neighbour has the other CPU, and time: it is stopped.
        let neighbour = subject("b", 5.0, 1, true, Some(60.0));
        let stopped = Measure::FewerNeighbours {
            job: "a".to_owned(),
            paused: "b".to_owned(),
        };
        assert_eq!(measures(&[one.clone(), neighbour], 2), [stopped]);
        // It has none to spare: fewer epochs.
        let neighbour = subject("b", 5.0, 1, true, Some(6.0));
        let fewer = Measure::FewerEpochs {
            job: "a".to_owned(),
            epochs: 9,
        };
        assert_eq!(measures(&[one.clone(), neighbour.clone()], 2), [fewer]);
        // Not even that: the new time is said at once.
        one.epochs = None;
        let found = measures(&[one, neighbour], 2);
        assert!(
            matches!(&found[..], [Measure::Announced { latest_s, .. }] if *latest_s == 10.0),
            "{found:?}"
        );
    }

    #[test]
    fn who_waits_is_started_first_or_in_a_neighbour_s_place() {
        let runs = subject("r", 5.0, 2, true, Some(5.5));
        let first = subject("f", 4.0, 2, false, Some(60.0));
        let late = subject("l", 3.0, 2, false, Some(9.0));
        let found = measures(&[runs.clone(), first, late.clone()], 2);
        let later = Measure::LaterStart {
            job: "l".to_owned(),
            others: vec!["f".to_owned()],
        };
        assert_eq!(found, [later]);
        // Whoever runs can wait: it is stopped.
        let mut idle = runs;
        idle.item.due_s = None;
        let mut urgent = late;
        urgent.item.due_s = Some(4.0);
        let stopped = Measure::FewerNeighbours {
            job: "l".to_owned(),
            paused: "r".to_owned(),
        };
        assert_eq!(measures(&[idle, urgent], 2), [stopped]);
    }

    #[test]
    fn no_promise_is_broken_for_another() {
        // Both are due, and only one can be: the other is not sacrificed.
        let runs = subject("r", 5.0, 2, true, Some(5.5));
        let waits = subject("w", 5.0, 2, false, Some(5.5));
        let found = measures(&[runs, waits], 2);
        assert!(
            matches!(&found[..], [Measure::Announced { job, .. }] if job == "w"),
            "{found:?}"
        );
    }
}
