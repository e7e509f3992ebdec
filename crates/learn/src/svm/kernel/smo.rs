//! Sequential minimal optimisation of one binary machine.

use super::cache::{BATCH, RowCache, Source};

/// The least curvature along a pair of variables, where rounding or equal rows
/// leave none.
const LEAST_CURVATURE: f64 = 1e-12;

/// How often an iteration looks for variables to set aside.
const SHRINK_EVERY: usize = 1000;

/// What bounds the work of the solver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) cost: f64,
    pub(super) tolerance: f64,
    pub(super) shrinking: bool,
    pub(super) cache_bytes: usize,
    pub(super) max_iterations: usize,
}

/// A solved machine: the decision is `Σ weight·kernel − threshold`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Solution {
    /// The label, ±1, times the dual variable of each row of the problem.
    pub(super) weights: Vec<f64>,
    pub(super) threshold: f64,
    pub(super) converged: bool,
}

/// Minimises `½ αᵀQα − Σα` subject to `0 ≤ α ≤ cost` and `Σ yα = 0`, where
/// `Q = yᵢyⱼKᵢⱼ`.
///
/// Pairs are selected by second-order information (Fan, Chen and Lin, "Working
/// set selection using second order information for training support vector
/// machines", 2005); variables that stay at a bound are set aside and their
/// gradient is computed anew before the end (Joachims 1998; Chang and Lin,
/// "LIBSVM", 2011, section 5). Instead of the gradient `G` the solver keeps
/// `F = yG = Σ yⱼαⱼKᵢⱼ − yᵢ`, in which labels drop out of every update.
pub(super) fn solve(source: Source<'_>, labels: &[f64], limits: &Limits) -> Solution {
    let mut smo = Smo::new(source, labels, limits);
    let converged = smo.run();
    Solution {
        threshold: smo.threshold(),
        weights: smo.alpha.iter().zip(labels).map(|(a, y)| a * y).collect(),
        converged,
    }
}

struct Smo<'a> {
    labels: &'a [f64],
    limits: &'a Limits,
    cache: RowCache<'a>,
    diagonal: Vec<f64>,
    alpha: Vec<f64>,
    /// `F` above; exact for active rows only.
    slopes: Vec<f64>,
    freedom: Vec<Freedom>,
    active: Vec<u32>,
}

/// Whether `yα` may rise and fall within the bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Freedom {
    up: bool,
    down: bool,
}

/// The row whose `yα` most wants to rise, and how much the most violating pair
/// violates optimality.
struct Violation {
    up: u32,
    /// The largest `−F` among rows that may rise.
    rise: f64,
    /// The largest `F` among rows that may fall.
    fall: f64,
}

impl<'a> Smo<'a> {
    fn new(source: Source<'a>, labels: &'a [f64], limits: &'a Limits) -> Self {
        let all = source.points.kernel_diagonal(source.kernel);
        let diagonal = source.members.iter();
        let diagonal = diagonal.map(|&point| f64::from(all[point as usize]));
        let count = labels.len() as u32;
        let freedom = labels.iter().map(|&label| Freedom {
            up: label > 0.0,
            down: label < 0.0,
        });
        Self {
            diagonal: diagonal.collect(),
            alpha: vec![0.0; labels.len()],
            slopes: labels.iter().map(|label| -label).collect(),
            freedom: freedom.collect(),
            active: (0..count).collect(),
            cache: RowCache::new(source, limits.cache_bytes),
            labels,
            limits,
        }
    }

    /// True if the optimum was reached within the iterations allowed.
    fn run(&mut self) -> bool {
        let every = SHRINK_EVERY.min(self.labels.len());
        let mut until_shrink = every;
        let mut restored = false;
        for _ in 0..self.limits.max_iterations {
            until_shrink -= 1;
            if until_shrink == 0 {
                until_shrink = every;
                if self.limits.shrinking {
                    self.shrink(&mut restored);
                }
            }
            let mut violation = self.most_violating();
            if violation.rise + violation.fall < self.limits.tolerance {
                if self.active.len() == self.labels.len() {
                    return true;
                }
                self.reactivate();
                until_shrink = 1;
                violation = self.most_violating();
                if violation.rise + violation.fall < self.limits.tolerance {
                    return true;
                }
            }
            let down = self.second_of_pair(&violation);
            self.step(violation.up, down);
        }
        self.reactivate();
        false
    }

    fn most_violating(&self) -> Violation {
        let mut found = Violation {
            up: 0,
            rise: f64::NEG_INFINITY,
            fall: f64::NEG_INFINITY,
        };
        for &row in &self.active {
            let slope = self.slopes[row as usize];
            let freedom = self.freedom[row as usize];
            if freedom.up && -slope > found.rise {
                found.rise = -slope;
                found.up = row;
            }
            if freedom.down && slope > found.fall {
                found.fall = slope;
            }
        }
        found
    }

    /// The row whose `yα` falls when that of `up` rises: the one that promises
    /// the largest decrease `b²/a` of the objective (equation 3 of the paper).
    fn second_of_pair(&mut self, violation: &Violation) -> u32 {
        self.fetch(violation.up, violation);
        let row = self.cache.row(violation.up);
        let own = self.diagonal[violation.up as usize];
        let mut best = 0;
        let mut best_decrease = f64::NEG_INFINITY;
        for &other in &self.active {
            let at = other as usize;
            let slope = violation.rise + self.slopes[at];
            if !self.freedom[at].down || slope <= 0.0 {
                continue;
            }
            let curvature = own + self.diagonal[at] - 2.0 * f64::from(row[at]);
            let decrease = slope * slope / curvature.max(LEAST_CURVATURE);
            if decrease > best_decrease {
                best_decrease = decrease;
                best = other;
            }
        }
        self.fetch(best, violation);
        best
    }

    /// Sees to it that a row of the kernel matrix is there. If it has to be
    /// computed, the rows that violate most are computed with it.
    fn fetch(&mut self, row: u32, violation: &Violation) {
        if self.cache.has(row) {
            self.cache.touch(row);
            return;
        }
        let mut batch = [row; BATCH];
        let wanted = self.cache.batch() - 1;
        let mut count = 1;
        if wanted > 0 {
            let middle = 0.5 * (violation.rise - violation.fall);
            let mut others: Vec<(f64, u32)> = Vec::new();
            for &other in &self.active {
                let slope = self.slopes[other as usize];
                let freedom = self.freedom[other as usize];
                let rise = if freedom.up { -slope - middle } else { 0.0 };
                let fall = if freedom.down { slope + middle } else { 0.0 };
                let size = rise.max(fall);
                if size > 0.0 && other != row && !self.cache.has(other) {
                    others.push((size, other));
                }
            }
            let largest = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            if others.len() > wanted {
                others.select_nth_unstable_by(wanted - 1, largest);
                others.truncate(wanted);
            }
            for (_, other) in others {
                batch[count] = other;
                count += 1;
            }
        }
        // The row asked for comes last, so that it is the most recently used.
        batch[..count].reverse();
        self.cache.compute(&batch[..count], &self.active);
    }

    /// Moves along the pair to the minimum or to the nearest bound.
    fn step(&mut self, up: u32, down: u32) {
        let (i, j) = (up as usize, down as usize);
        let cost = self.limits.cost;
        let (rising, falling) = (self.cache.row(up), self.cache.row(down));
        let curvature = self.diagonal[i] + self.diagonal[j] - 2.0 * f64::from(rising[j]);
        let slope = self.slopes[j] - self.slopes[i];
        let room = |row: usize, direction: f64| {
            if self.labels[row] * direction > 0.0 {
                cost - self.alpha[row]
            } else {
                self.alpha[row]
            }
        };
        let (room_up, room_down) = (room(i, 1.0), room(j, -1.0));
        let wanted = slope / curvature.max(LEAST_CURVATURE);
        let moved = wanted.min(room_up).min(room_down);
        for &row in &self.active {
            let at = row as usize;
            self.slopes[at] += moved * (f64::from(rising[at]) - f64::from(falling[at]));
        }
        self.advance(i, 1.0, moved, moved == room_up);
        self.advance(j, -1.0, moved, moved == room_down);
    }

    /// Changes one variable; at a bound it is exactly the bound.
    fn advance(&mut self, row: usize, direction: f64, moved: f64, at_bound: bool) {
        let label = self.labels[row];
        let grows = label * direction > 0.0;
        let alpha = match (at_bound, grows) {
            (true, true) => self.limits.cost,
            (true, false) => 0.0,
            (false, true) => self.alpha[row] + moved,
            (false, false) => self.alpha[row] - moved,
        };
        self.alpha[row] = alpha;
        let (below, above) = (alpha < self.limits.cost, alpha > 0.0);
        self.freedom[row] = if label > 0.0 {
            Freedom {
                up: below,
                down: above,
            }
        } else {
            Freedom {
                up: above,
                down: below,
            }
        };
    }

    /// Sets aside the variables at a bound that no pair would move away from it.
    /// Near the end all come back once, in case one was set aside too early.
    fn shrink(&mut self, restored: &mut bool) {
        let mut violation = self.most_violating();
        if !*restored && violation.rise + violation.fall <= 10.0 * self.limits.tolerance {
            *restored = true;
            self.reactivate();
            violation = self.most_violating();
        }
        let (slopes, freedom) = (&self.slopes, &self.freedom);
        self.active.retain(|&row| {
            let slope = slopes[row as usize];
            match freedom[row as usize] {
                Freedom {
                    up: true,
                    down: true,
                } => true,
                Freedom { up: true, .. } => slope <= violation.fall,
                Freedom { .. } => -slope <= violation.rise,
            }
        });
    }

    /// Makes every variable active, with slopes computed from the definition.
    fn reactivate(&mut self) {
        let count = self.labels.len();
        if self.active.len() == count {
            return;
        }
        let mut is_active = vec![false; count];
        for &row in &self.active {
            is_active[row as usize] = true;
        }
        let all = 0..count as u32;
        let asleep: Vec<u32> = all
            .clone()
            .filter(|&row| !is_active[row as usize])
            .collect();
        for &row in &asleep {
            self.slopes[row as usize] = -self.labels[row as usize];
        }
        let support: Vec<u32> = all
            .clone()
            .filter(|&row| self.alpha[row as usize] > 0.0)
            .collect();
        for rows in support.chunks(BATCH) {
            let block = self.cache.source().block(rows, &asleep);
            for (&row, values) in rows.iter().zip(block.chunks_exact(asleep.len())) {
                let weight = self.labels[row as usize] * self.alpha[row as usize];
                for (&other, &value) in asleep.iter().zip(values) {
                    self.slopes[other as usize] += weight * f64::from(value);
                }
            }
        }
        self.active = all.collect();
        self.cache.reactivate();
    }

    /// The mean slope of the free variables, or the middle of what the bounded
    /// ones allow (LIBSVM, section 4.1.5).
    fn threshold(&self) -> f64 {
        let mut free = (0.0, 0_usize);
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for (&slope, &freedom) in self.slopes.iter().zip(&self.freedom) {
            match freedom {
                Freedom {
                    up: true,
                    down: true,
                } => free = (free.0 + slope, free.1 + 1),
                Freedom { up: true, .. } => most = most.min(slope),
                Freedom { .. } => least = least.max(slope),
            }
        }
        if free.1 > 0 {
            free.0 / free.1 as f64
        } else {
            0.5 * (least + most)
        }
    }
}
