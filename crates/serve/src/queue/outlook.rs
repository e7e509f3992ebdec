//! When jobs end that share a machine's CPUs, and with which probability in time.
//!
//! Every job has CPUs of its own as long as it runs. Those that wait are looked at in
//! their order whenever CPUs become free, and each that fits is started: the scheduler
//! does the same. How long jobs take is drawn from what is believed of them, many
//! times; a job's probability is the share of draws in which it ends in time.

use super::belief::Belief;
use paceline_dist::Normal;

/// A job on the machine, or waiting for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its name: the same name is drawn the same way wherever it is looked at.
    pub id: String,
    /// What it still needs with its CPUs to itself.
    pub left: Belief,
    /// How many CPUs it needs.
    pub cpus: u32,
    /// Whether it holds them now.
    pub active: bool,
    /// When it must have ended, in seconds from now.
    pub due_s: Option<f64>,
    /// With which probability.
    pub confidence: f64,
}

/// When a job ends, over all draws.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// In seconds from now, ascending.
    draws: Vec<f64>,
    /// The probability of ending in time; 1 without a deadline.
    pub chance: f64,
}

impl End {
    /// Not passed with that probability.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let last = self.draws.len().saturating_sub(1);
        let at = (p * self.draws.len() as f64).ceil() as usize;
        self.draws
            .get(at.saturating_sub(1).min(last))
            .copied()
            .unwrap_or(0.0)
    }
}

/// How often the future is drawn. A probability is known to about a hundredth.
const DRAWS: usize = 400;
/// So much of the scatter of two jobs is common to both: the same machine is slow for
/// both, and the same predictor errs for both.
const COMMON: f64 = 0.3;
/// No more is ever stated: draws end where the belief does.
const MOST: f64 = 0.995;

/// When each job ends, in the order given: those that wait are started in it.
#[must_use]
pub fn ends(items: &[Item], cpus: u32) -> Vec<End> {
    let mut draws = vec![Vec::with_capacity(DRAWS); items.len()];
    let common: Vec<f64> = (0..DRAWS).map(|draw| deviation(0, draw)).collect();
    let names: Vec<u64> = items.iter().map(|item| name_hash(&item.id)).collect();
    let mut times = vec![0.0; items.len()];
    for (draw, shared) in common.iter().enumerate() {
        for ((time, item), name) in times.iter_mut().zip(items).zip(&names) {
            let own = deviation(*name, draw);
            let z = COMMON.sqrt() * shared + (1.0 - COMMON).sqrt() * own;
            *time = item.left.quantile(Normal.cdf(z));
        }
        for (ends, end) in draws.iter_mut().zip(simulate(items, &times, cpus)) {
            ends.push(end);
        }
    }
    let pairs = items.iter().zip(draws);
    pairs
        .map(|(item, mut draws)| {
            draws.sort_by(f64::total_cmp);
            let in_time = |due: f64| draws.partition_point(|end| *end <= due) as f64;
            let share = item.due_s.map(|due| in_time(due) / draws.len() as f64);
            End {
                chance: share.map_or(1.0, |share| share.min(MOST)),
                draws,
            }
        })
        .collect()
}

/// When each ends, if each needs exactly `times`.
fn simulate(items: &[Item], times: &[f64], cpus: u32) -> Vec<f64> {
    let mut ends: Vec<Option<f64>> = vec![None; items.len()];
    let mut free = i64::from(cpus);
    let need = |item: &Item| i64::from(item.cpus.min(cpus));
    for (at, item) in items.iter().enumerate() {
        if item.active {
            ends[at] = Some(times[at]);
            free -= need(item);
        }
    }
    let mut waiting: Vec<usize> = (0..items.len()).filter(|&at| !items[at].active).collect();
    let mut now = 0.0;
    loop {
        waiting.retain(|&at| {
            let fits = need(&items[at]) <= free;
            if fits {
                free -= need(&items[at]);
                ends[at] = Some(now + times[at]);
            }
            !fits
        });
        if waiting.is_empty() {
            break;
        }
        let later = ends.iter().flatten().filter(|end| **end > now);
        let next = later.copied().fold(f64::INFINITY, f64::min);
        if next == f64::INFINITY {
            // More is held than there is; whoever waits does so for ever.
            break;
        }
        now = next;
        for (at, item) in items.iter().enumerate() {
            if ends[at] == Some(now) {
                free += need(item);
            }
        }
    }
    ends.into_iter()
        .map(|end| end.unwrap_or(f64::INFINITY))
        .collect()
}

/// A standard normal deviation that is the same for the same name and draw.
fn deviation(name: u64, draw: usize) -> f64 {
    // splitmix64 (Steele, Lea and Flood 2014).
    let mut z = name ^ (draw as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    Normal.quantile(unit.clamp(1e-9, 1.0 - 1e-9))
}

/// FNV-1a, which is the same in every version.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, seconds: f64, cpus: u32, active: bool, due_s: Option<f64>) -> Item {
        Item {
            id: id.to_owned(),
            left: Belief::new([seconds]),
            cpus,
            active,
            due_s,
            confidence: 0.95,
        }
    }

    fn check(items: &[Item], cpus: u32, expected: &[f64]) {
        let found: Vec<f64> = ends(items, cpus)
            .iter()
            .map(|end| end.quantile(0.5))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn who_waits_starts_in_order_when_cpus_are_free() {
        let two = |id, seconds, active| item(id, seconds, 2, active, None);
        check(
            &[
                two("a", 5.0, true),
                two("b", 3.0, false),
                two("c", 1.0, false),
            ],
            2,
            &[5.0, 8.0, 9.0],
        );
        // A small one passes a large one that does not fit.
        let items = [
            item("a", 5.0, 1, true, None),
            item("b", 3.0, 2, false, None),
            item("c", 1.0, 1, false, None),
        ];
        check(&items, 2, &[5.0, 8.0, 1.0]);
        // More than the machine has is all of it.
        check(&[item("a", 1.0, 9, false, None)], 2, &[1.0]);
    }

    #[test]
    fn the_chance_is_the_share_in_time() {
        let mut one = item("a", 0.0, 1, true, Some(0.9));
        one.left = Belief::new((0..40).map(|part| (f64::from(part) + 0.5) / 40.0));
        let found = ends(&[one.clone()], 1)[0].chance;
        assert!((found - 0.9).abs() < 0.04, "{found}");
        one.due_s = Some(2.0);
        assert_eq!(ends(&[one.clone()], 1)[0].chance, MOST);
        one.due_s = Some(-1.0);
        assert_eq!(ends(&[one], 1)[0].chance, 0.0);
    }
}
