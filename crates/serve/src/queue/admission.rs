//! Whether a job is taken on: with which configuration, and with which promise.

use super::belief::Belief;
use super::outlook::{End, Item, ends};

/// What the newcomer could be.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// How good it would be; larger is better.
    pub objective: f64,
    /// How long it takes with its CPUs to itself.
    pub alone: Belief,
    /// How many CPUs it needs.
    pub cpus: u32,
}

/// What is asked of the newcomer.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Its name.
    pub id: String,
    /// When it must have ended, in seconds from now.
    pub due_s: f64,
    /// With which probability.
    pub confidence: f64,
    /// Objectives that differ by less are equally good: the one that takes the CPUs
    /// for less time is preferred.
    pub tolerance: f64,
}

/// The answer to a newcomer.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is taken on.
    Accepted(Accepted),
    /// It is not.
    Refused(Refused),
}

/// A newcomer that is taken on.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// Which of the candidates.
    pub candidate: usize,
    /// The probability of ending in time.
    pub probability: f64,
    /// Half of the futures have it ended by then, in seconds from now.
    pub expected_s: f64,
    /// At the asked confidence, it has ended by then.
    pub latest_s: f64,
}

/// A newcomer that is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The best probability of ending in time that any candidate has.
    pub best: f64,
    /// The nearest deadline that could be kept at the asked confidence without
    /// breaking another promise, in seconds from now.
    pub nearest_s: Option<f64>,
    /// Jobs without any one of which it could be taken on.
    pub in_the_way: Vec<String>,
}

/// Candidates beyond this many are not looked at; the best come first.
const MOST_CANDIDATES: usize = 256;
/// A promise that falls by less than the draws can tell is not harmed.
const NOISE: f64 = 0.005;

/// Decides on a newcomer. `present` are the jobs of the machine: those that run, then
/// those that wait in the order of their deadlines.
#[must_use]
pub fn admit(present: &[Item], candidates: &[Candidate], wish: &Wish, cpus: u32) -> Decision {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| candidates[b].objective.total_cmp(&candidates[a].objective));
    order.truncate(MOST_CANDIDATES);
    let without = ends(present, cpus);
    let mut best: Option<(f64, f64, Accepted)> = None;
    let mut nearest_miss = 0.0_f64;
    for &at in &order {
        let candidate = &candidates[at];
        if let Some((objective, ..)) = best
            && candidate.objective < objective - wish.tolerance
        {
            break;
        }
        // Not even the quickest of its futures is in time.
        if candidate.alone.quantile(1.0 - wish.confidence) > wish.due_s {
            continue;
        }
        let tried = beside(present, &without, candidate, wish, cpus);
        if !tried.harmed.is_empty() {
            continue;
        }
        nearest_miss = nearest_miss.max(tried.own.chance);
        if tried.own.chance < wish.confidence {
            continue;
        }
        let cost = candidate.alone.median() * f64::from(candidate.cpus);
        let top = best.as_ref().map_or(candidate.objective, |(top, ..)| *top);
        if best.as_ref().is_none_or(|(_, known, _)| cost < *known) {
            let accepted = Accepted {
                candidate: at,
                probability: tried.own.chance,
                expected_s: tried.own.quantile(0.5),
                latest_s: tried.own.quantile(wish.confidence),
            };
            best = Some((top, cost, accepted));
        }
    }
    match best {
        Some((.., accepted)) => Decision::Accepted(accepted),
        None => Decision::Refused(refuse(
            present,
            candidates,
            &order,
            wish,
            cpus,
            nearest_miss,
        )),
    }
}

/// Everybody's end with a newcomer.
struct Tried {
    own: End,
    /// Promises that it would break or endanger, by position among those present.
    harmed: Vec<usize>,
}

fn beside(
    present: &[Item],
    without: &[End],
    candidate: &Candidate,
    wish: &Wish,
    cpus: u32,
) -> Tried {
    let due = Some(wish.due_s);
    let place = place_of(present, due);
    let mut items = present.to_vec();
    items.insert(
        place,
        Item {
            id: wish.id.clone(),
            left: candidate.alone.clone(),
            cpus: candidate.cpus,
            active: false,
            due_s: due,
            confidence: wish.confidence,
        },
    );
    let mut found = ends(&items, cpus);
    let own = found.remove(place);
    let harmed = (0..present.len()).filter(|&at| {
        // A promise that is lost anyway is not the newcomer's to lose.
        let needed = present[at].confidence.min(without[at].chance - NOISE);
        present[at].due_s.is_some() && found[at].chance < needed
    });
    Tried {
        own,
        harmed: harmed.collect(),
    }
}

/// Where somebody with this deadline stands among those present: behind all that run,
/// and by deadline among those that wait. Who has none comes last.
#[must_use]
pub fn place_of(present: &[Item], due_s: Option<f64>) -> usize {
    let key = |due: Option<f64>| due.unwrap_or(f64::INFINITY);
    let behind = |item: &Item| item.active || key(item.due_s) <= key(due_s);
    present.iter().rposition(behind).map_or(0, |at| at + 1)
}

fn refuse(
    present: &[Item],
    candidates: &[Candidate],
    order: &[usize],
    wish: &Wish,
    cpus: u32,
    best: f64,
) -> Refused {
    let without = ends(present, cpus);
    let last = Wish {
        due_s: f64::INFINITY,
        ..wish.clone()
    };
    let nearest = order.iter().filter_map(|&at| {
        let tried = beside(present, &without, &candidates[at], &last, cpus);
        let end = tried.own.quantile(wish.confidence);
        (tried.harmed.is_empty() && end.is_finite()).then_some(end)
    });
    let nearest = nearest.reduce(f64::min);
    let in_the_way = (0..present.len()).filter(|&gone| {
        let mut others = present.to_vec();
        others.remove(gone);
        let without = ends(&others, cpus);
        order.iter().any(|&at| {
            let tried = beside(&others, &without, &candidates[at], wish, cpus);
            tried.harmed.is_empty() && tried.own.chance >= wish.confidence
        })
    });
    Refused {
        best,
        nearest_s: nearest,
        in_the_way: in_the_way.map(|at| present[at].id.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(seconds: f64) -> Belief {
        Belief::new((0..40).map(|part| seconds * (0.9 + 0.2 * (f64::from(part) + 0.5) / 40.0)))
    }

    fn candidate(objective: f64, seconds: f64, cpus: u32) -> Candidate {
        Candidate {
            objective,
            alone: around(seconds),
            cpus,
        }
    }

    fn wish(due_s: f64) -> Wish {
        Wish {
            id: "new".to_owned(),
            due_s,
            confidence: 0.95,
            tolerance: 0.0,
        }
    }

    fn running(id: &str, left: f64, cpus: u32, due_s: f64) -> Item {
        Item {
            id: id.to_owned(),
            left: around(left),
            cpus,
            active: true,
            due_s: Some(due_s),
            confidence: 0.95,
        }
    }

    fn accepted(decision: Decision) -> Accepted {
        match decision {
            Decision::Accepted(accepted) => accepted,
            Decision::Refused(refused) => panic!("refused: {refused:?}"),
        }
    }

    fn refused(decision: Decision) -> Refused {
        match decision {
            Decision::Refused(refused) => refused,
            Decision::Accepted(accepted) => panic!("accepted: {accepted:?}"),
        }
    }

    #[test]
    fn the_best_that_keeps_its_deadline_is_taken() {
        let candidates = [
            candidate(0.9, 50.0, 2),
            candidate(0.95, 100.0, 2),
            candidate(0.99, 300.0, 2),
        ];
        let found = accepted(admit(&[], &candidates, &wish(120.0), 2));
        assert_eq!(found.candidate, 1);
        assert!(
            found.probability >= 0.95 && found.latest_s <= 120.0,
            "{found:?}"
        );
        // Behind another job there is time for less.
        let present = [running("a", 60.0, 2, 100.0)];
        assert_eq!(
            accepted(admit(&present, &candidates, &wish(120.0), 2)).candidate,
            0
        );
        // On CPUs of its own it need not wait.
        let present = [running("a", 60.0, 1, 100.0)];
        let narrow = [candidate(0.95, 100.0, 1)];
        assert_eq!(
            accepted(admit(&present, &narrow, &wish(120.0), 2)).candidate,
            0
        );
    }

    #[test]
    fn who_cannot_be_in_time_is_told_when_and_who_is_in_the_way() {
        let present = [running("a", 60.0, 2, 100.0)];
        let found = refused(admit(&present, &[candidate(0.9, 50.0, 2)], &wish(80.0), 2));
        assert_eq!(found.in_the_way, ["a"]);
        let nearest = found.nearest_s.unwrap();
        assert!((105.0..125.0).contains(&nearest), "{nearest}");
        // That deadline is really kept.
        accepted(admit(
            &present,
            &[candidate(0.9, 50.0, 2)],
            &wish(nearest + 0.1),
            2,
        ));
        // Alone it would not do either: nobody is in the way.
        let found = refused(admit(&present, &[candidate(0.9, 500.0, 2)], &wish(80.0), 2));
        assert!(
            found.in_the_way.is_empty() && found.best == 0.0,
            "{found:?}"
        );
    }

    #[test]
    fn an_earlier_promise_is_never_broken_for_a_newcomer() {
        // It waits, due at 100, and needs 60 of it: nobody fits before.
        let mut waits = running("w", 60.0, 2, 150.0);
        waits.active = false;
        let present = [running("a", 50.0, 2, 80.0), waits];
        let found = refused(admit(&present, &[candidate(0.9, 40.0, 2)], &wish(120.0), 2));
        assert!(found.nearest_s.unwrap() > 140.0, "{found:?}");
        assert!(found.in_the_way.contains(&"w".to_owned()), "{found:?}");
        // A promise that is lost anyway binds nobody.
        let mut lost = running("l", 60.0, 2, 1.0);
        lost.active = false;
        accepted(admit(&[lost], &[candidate(0.9, 40.0, 2)], &wish(200.0), 2));
    }

    #[test]
    fn among_equals_the_one_that_takes_less_is_taken() {
        let candidates = [candidate(0.951, 100.0, 2), candidate(0.95, 20.0, 1)];
        let mut wish = wish(300.0);
        assert_eq!(accepted(admit(&[], &candidates, &wish, 2)).candidate, 0);
        wish.tolerance = 0.002;
        assert_eq!(accepted(admit(&[], &candidates, &wish, 2)).candidate, 1);
    }

    #[test]
    fn nothing_to_choose_from_is_refused_without_a_time() {
        let found = refused(admit(&[], &[], &wish(10.0), 2));
        assert_eq!((found.nearest_s, found.best), (None, 0.0));
    }
}
