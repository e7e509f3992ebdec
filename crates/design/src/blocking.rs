//! Blocks of two-level designs that confound no main effect.

use std::collections::BTreeSet;

use crate::fraction::{Fraction, effects_up_to, span};

/// The base factors of a design that is searched broadly.
const SMALL: u32 = 10;

/// Block generators, as bits over the base factors, that split a replicate
/// into `2^power` blocks of equal size.
///
/// No main effect is confounded with blocks, and as few two-factor
/// interactions as a beam search finds; among those, as few three-factor
/// interactions. `None` when it finds none that keeps the main effects clear.
pub(crate) fn generators(fraction: &Fraction, power: u32) -> Option<Vec<u32>> {
    let base = fraction.power();
    // The search doubles with each generator; large designs are split into at
    // most 64 blocks per replicate.
    if power > base || (base > SMALL && power > 6) {
        return None;
    }
    let costs = column_costs(fraction);
    search(base, power, &costs, |_| true).or_else(|| {
        // The search can run into a dead end when the blocks are very small.
        // Columns with an even overlap with `mask` never multiply to a main
        // effect if every main effect's overlap is odd: within these it cannot.
        let odd = |column: u32, mask: u32| (column & mask).count_ones() % 2 == 1;
        let mask = (1..1_u32 << base).find(|mask| fraction.column_bits().all(|c| odd(c, *mask)))?;
        search(base, power, &costs, |column| !odd(column, mask))
    })
}

fn search(
    base: u32,
    power: u32,
    costs: &[Option<[u64; 2]>],
    eligible: impl Fn(u32) -> bool,
) -> Option<Vec<u32>> {
    // Beyond small designs the candidates are plenty and one path suffices.
    let width = if base <= SMALL { 64 } else { 1 };
    let mut beam = vec![Partial {
        cost: [0; 2],
        generators: Vec::new(),
    }];
    for _ in 0..power {
        let mut next: Vec<Partial> = Vec::new();
        let mut seen: BTreeSet<Vec<u32>> = BTreeSet::new();
        for partial in &beam {
            let old = span(&partial.generators);
            for candidate in (1..1_u32 << base).filter(|column| eligible(*column)) {
                if old.contains(&candidate) {
                    continue;
                }
                let Some(cost) = joined_cost(costs, &old, candidate, partial.cost) else {
                    continue;
                };
                if next.len() >= width && cost >= next[width - 1].cost {
                    continue;
                }
                let mut generators = partial.generators.clone();
                generators.push(candidate);
                let mut key = span(&generators);
                key.sort_unstable();
                if seen.insert(key) {
                    let place = next.partition_point(|other| other.cost <= cost);
                    next.insert(place, Partial { cost, generators });
                    next.truncate(width);
                }
            }
        }
        beam = next;
    }
    beam.into_iter().next().map(|best| best.generators)
}

struct Partial {
    /// Confounded two-factor and three-factor interactions.
    cost: [u64; 2],
    generators: Vec<u32>,
}

/// Per column: `None` where a main effect lives, otherwise how many
/// interactions of two and of three factors.
fn column_costs(fraction: &Fraction) -> Vec<Option<[u64; 2]>> {
    let columns: Vec<u32> = fraction.column_bits().collect();
    let mut costs = vec![Some([0, 0]); 1 << fraction.power()];
    for word in effects_up_to(columns.len(), 3) {
        let column = word.positions().fold(0, |column, i| column ^ columns[i]) as usize;
        match (word.order(), &mut costs[column]) {
            (1, cost) => *cost = None,
            (order, Some(cost)) => cost[order as usize - 2] += 1,
            (_, None) => {}
        }
    }
    costs
}

fn joined_cost(
    costs: &[Option<[u64; 2]>],
    old: &[u32],
    candidate: u32,
    start: [u64; 2],
) -> Option<[u64; 2]> {
    old.iter().try_fold(start, |sum, column| {
        let cost = costs[(column ^ candidate) as usize]?;
        Some([sum[0] + cost[0], sum[1] + cost[1]])
    })
}
