//! The absolute-error criterion.

use super::criterion::{Best, Criterion, Cut};

/// Reduces the sum of absolute deviations from the median.
///
/// For each cut both sides need their deviation from their own median. Rows are
/// taken away one by one from a list of the node's targets in ascending order,
/// and the median moves by a step or two each time; so all cuts of a feature
/// cost time proportional to the rows, without a search tree or heaps.
pub(crate) struct Absolute {
    target: Vec<f64>,
    weights: Vec<f64>,
    /// Where each row of the node stands in its targets' order.
    position: Vec<u32>,
    /// The node's targets in ascending order with their weights.
    entries: Vec<Entry>,
    start: Shrinking,
    links: Links,
    left_loss: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    target: f64,
    weight: f64,
}

/// Which entries are still there, as a doubly linked list. Entry `i` of the
/// node is link `i + 1`; link 0 and the last one are the two ends.
#[derive(Default)]
struct Links {
    next: Vec<u32>,
    previous: Vec<u32>,
}

/// The median of the entries that are still there, and what lies below it.
#[derive(Debug, Clone, Copy, Default)]
struct Shrinking {
    /// The link at which the cumulated weight passes one half.
    median: usize,
    weight_below: f64,
    sum_below: f64,
    weight: f64,
    sum: f64,
}

impl Absolute {
    /// `weights` are zero for rows that take no part, else whole numbers.
    pub(crate) fn new(target: &[f64], weights: &[f64]) -> Self {
        Self {
            target: target.to_vec(),
            weights: weights.to_vec(),
            position: vec![0; target.len()],
            entries: Vec::new(),
            start: Shrinking::default(),
            links: Links::default(),
            left_loss: Vec::new(),
        }
    }
}

impl Criterion for Absolute {
    /// The rows come in ascending order of target.
    fn enter(&mut self, rows: &[u32]) -> bool {
        self.entries.clear();
        let mut start = Shrinking {
            median: 1,
            ..Shrinking::default()
        };
        for (&row, index) in rows.iter().zip(0..) {
            self.position[row as usize] = index;
            let entry = Entry {
                target: self.target[row as usize],
                weight: self.weights[row as usize],
            };
            start.weight += entry.weight;
            start.sum += entry.weight * entry.target;
            self.entries.push(entry);
        }
        debug_assert!(self.entries.is_sorted_by_key(|entry| entry.target));
        self.links.reset(rows.len());
        start.settle(&self.entries, &self.links);
        self.start = start;
        self.entries[0].target == self.entries[rows.len() - 1].target
    }

    fn best_cut(&mut self, ascending: &[u32], values: &[f64], min_leaf: usize) -> Option<Cut> {
        let rows = ascending.len();
        let whole = self.start.loss(&self.entries);
        self.left_loss.resize(rows, 0.0);
        self.links.reset(rows);
        let mut side = self.start;
        for index in (1..rows).rev() {
            let position = self.position[ascending[index] as usize] as usize;
            side.remove(position, &self.entries, &mut self.links);
            self.left_loss[index] = side.loss(&self.entries);
        }
        self.links.reset(rows);
        let mut side = self.start;
        let mut best = Best::none();
        for left in 1..rows {
            let removed = ascending[left - 1] as usize;
            let position = self.position[removed] as usize;
            side.remove(position, &self.entries, &mut self.links);
            let is_cut = values[ascending[left] as usize] > values[removed];
            if is_cut && left >= min_leaf && rows - left >= min_leaf {
                best.offer(
                    left,
                    whole - self.left_loss[left] - side.loss(&self.entries),
                );
            }
        }
        best.found()
    }
}

impl Links {
    fn reset(&mut self, entries: usize) {
        let ends = u32::try_from(entries + 2).expect("a table has at most u32::MAX rows");
        self.next.clear();
        self.next.extend(1..=ends);
        self.previous.clear();
        self.previous.push(0);
        self.previous.extend(0..ends - 1);
    }

    fn unlink(&mut self, link: usize) {
        let (previous, next) = (self.previous[link], self.next[link]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }
}

impl Shrinking {
    /// The weighted sum of absolute deviations from the median. Any point
    /// between the two middle targets gives the same sum.
    fn loss(&self, entries: &[Entry]) -> f64 {
        let Entry { target, .. } = entries[self.median - 1];
        // Below: target·w − s. From the median up: (S − s) − target·(W − w).
        target * (2.0 * self.weight_below - self.weight) + self.sum - 2.0 * self.sum_below
    }

    /// Takes one entry away; at least one other must remain.
    fn remove(&mut self, position: usize, entries: &[Entry], links: &mut Links) {
        let link = position + 1;
        let Entry { target, weight } = entries[position];
        self.weight -= weight;
        self.sum -= weight * target;
        links.unlink(link);
        if link < self.median {
            self.weight_below -= weight;
            self.sum_below -= weight * target;
        } else if link == self.median {
            let next = links.next[link] as usize;
            if next <= entries.len() {
                self.median = next;
            } else {
                self.step_down(links.previous[link] as usize, entries);
            }
        }
        self.settle(entries, links);
    }

    fn step_down(&mut self, to: usize, entries: &[Entry]) {
        let Entry { target, weight } = entries[to - 1];
        self.median = to;
        self.weight_below -= weight;
        self.sum_below -= weight * target;
    }

    /// Moves to the entry where the cumulated weight passes one half.
    fn settle(&mut self, entries: &[Entry], links: &Links) {
        let half = 0.5 * self.weight;
        while self.weight_below > half {
            self.step_down(links.previous[self.median] as usize, entries);
        }
        loop {
            let Entry { target, weight } = entries[self.median - 1];
            if self.weight_below + weight >= half {
                return;
            }
            self.weight_below += weight;
            self.sum_below += weight * target;
            self.median = links.next[self.median] as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_statistics::sorted_weighted_median;
    use paceline_numeric::Chance;

    /// The definition, in quadratic time.
    fn deviation(rows: &[u32], target: &[f64], weights: &[f64]) -> f64 {
        let mut pairs: Vec<(f64, f64)> = rows
            .iter()
            .map(|&row| (target[row as usize], weights[row as usize]))
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let median = sorted_weighted_median(pairs.iter().copied());
        pairs.iter().map(|(y, w)| w * (y - median).abs()).sum()
    }

    #[test]
    fn cuts_agree_with_the_definition_on_random_nodes() {
        for seed in 0..50 {
            let mut draws = Chance::of_learner(seed, 0);
            let count = 2 + draws.below(40);
            // Few distinct values, so that ties in target and feature occur.
            let target: Vec<f64> = (0..count).map(|_| draws.below(9) as f64 / 4.0).collect();
            let weights: Vec<f64> = (0..count).map(|_| 1.0 + draws.below(3) as f64).collect();
            let values: Vec<f64> = (0..count).map(|_| draws.below(12) as f64).collect();
            let mut by_target: Vec<u32> = (0..count as u32).collect();
            let mut ascending = by_target.clone();
            by_target.sort_by(|&a, &b| target[a as usize].total_cmp(&target[b as usize]));
            ascending.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
            let mut criterion = Absolute::new(&target, &weights);
            criterion.enter(&by_target);
            let found = criterion.best_cut(&ascending, &values, 2);

            let whole = deviation(&by_target, &target, &weights);
            let mut best: Option<Cut> = None;
            for left in 2..count.saturating_sub(1) {
                if values[ascending[left] as usize] == values[ascending[left - 1] as usize] {
                    continue;
                }
                let (low, high) = ascending.split_at(left);
                let gain =
                    whole - deviation(low, &target, &weights) - deviation(high, &target, &weights);
                if best.is_none_or(|best| gain > best.gain) {
                    best = Some(Cut { left, gain });
                }
            }
            assert_eq!(found, best, "seed {seed}");
        }
    }
}
