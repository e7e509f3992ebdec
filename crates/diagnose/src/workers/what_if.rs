//! What a training would take if something were different, from what was measured.
//!
//! Blocked-time analysis (Ousterhout et al., NSDI 2015): the time that a change would
//! take away is taken out of every iteration, and what follows is worked out again. An
//! iteration of workers that wait for each other is as long as that of the slowest; where
//! nobody waits, each goes at its own pace. Several cells of iterations give the interval:
//! Student's, of their mean.

use super::course::{Cell, Part, WorkerCourses};
use super::straggler::{Straggler, median};
use paceline_dist::StudentT;
use paceline_model::WorkerId;

/// What could be different.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WhatIf {
    /// Updates and parameters travel so many times as fast.
    Network(f64),
    /// There are CPUs more, of so many now.
    OneMoreCpu {
        /// CPUs there are.
        cpus: usize,
    },
    /// Every worker computes so many times as fast.
    Compute(f64),
    /// The server answers at once.
    NoQueue,
    /// The straggler is like the others.
    NoStraggler(WorkerId),
}

impl WhatIf {
    /// As programs read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network(_) => "network",
            Self::OneMoreCpu { .. } => "one_more_cpu",
            Self::Compute(_) => "compute",
            Self::NoQueue => "no_queue",
            Self::NoStraggler(_) => "no_straggler",
        }
    }
}

/// What a change would do to the time of the training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The change.
    pub what_if: WhatIf,
    /// The relative change of the time: -0.11 is 11% less.
    pub change: f64,
    /// Half the width of a 95% interval around it.
    pub margin: f64,
}

/// What a training had at hand, apart from its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// CPUs of all its nodes.
    pub cpus: usize,
    /// Whether its updates passed a link between hosts, or one made slow. Between
    /// processes of one host, what passes until an answer is the CPUs' time, and no
    /// network would make it shorter.
    pub has_link: bool,
}

/// Blocks for the interval.
const BLOCKS: usize = 16;
/// Less than this is not worth a sentence.
const WORTH_SAYING: f64 = 0.005;

/// What would help, the most helpful first.
#[must_use]
pub fn gains(courses: &WorkerCourses, straggler: Option<&Straggler>, means: Means) -> Vec<Gain> {
    let cpus = means.cpus;
    let mut changes = vec![
        WhatIf::Compute(2.0),
        WhatIf::NoQueue,
        WhatIf::OneMoreCpu { cpus },
    ];
    changes.extend(means.has_link.then_some(WhatIf::Network(2.0)));
    changes.extend(straggler.map(|found| WhatIf::NoStraggler(found.worker)));
    let mut gains: Vec<Gain> = changes
        .into_iter()
        .filter_map(|what_if| gain(courses, what_if))
        .filter(|gain| -gain.change >= WORTH_SAYING)
        .collect();
    gains.sort_by(|one, other| one.change.total_cmp(&other.change));
    gains
}

/// What one change would do; none if the run is too short to tell.
#[must_use]
pub(super) fn gain(courses: &WorkerCourses, what_if: WhatIf) -> Option<Gain> {
    let workers: Vec<WorkerId> = courses.workers().collect();
    let waits = workers
        .iter()
        .any(|worker| courses.total(*worker).part(Part::Wait) > 0.0);
    // As fine as there are: the slowest is another one each time.
    let cells = courses.blocks(usize::MAX);
    if cells.len() < 2 * BLOCKS {
        return None;
    }
    let changes: Vec<(f64, f64)> = cells
        .iter()
        .map(|cell| change(cell, &workers, what_if, waits))
        .collect();
    let ratio = |part: &[(f64, f64)]| {
        let (before, after) = part
            .iter()
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        after / before - 1.0
    };
    let per_block = changes.len() / BLOCKS;
    let blocks: Vec<f64> = changes.chunks_exact(per_block).map(ratio).collect();
    let n = blocks.len() as f64;
    let mean = blocks.iter().sum::<f64>() / n;
    let variance = blocks.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentT::new(n - 1.0).ok()?.upper_quantile(0.025);
    let change = ratio(&changes);
    change.is_finite().then(|| Gain {
        what_if,
        change,
        margin: t * (variance / n).sqrt(),
    })
}

/// How long an iteration takes, and how long it would.
fn change(cell: &[Cell], workers: &[WorkerId], what_if: WhatIf, waits: bool) -> (f64, f64) {
    let per = |cell: &Cell, seconds: f64| seconds / cell.iterations.max(1) as f64;
    // What does not depend on the other workers.
    let lone = |cell: &Cell| per(cell, cell.total() - cell.part(Part::Wait));
    let before: Vec<f64> = cell.iter().map(lone).collect();
    let after: Vec<f64> = (0..cell.len())
        .map(|at| {
            let one = &cell[at];
            let saved = match what_if {
                WhatIf::Network(times) => {
                    (one.part(Part::Wire) + one.part(Part::Receive)) * (1.0 - 1.0 / times)
                }
                WhatIf::Compute(times) => one.part(Part::Compute) * (1.0 - 1.0 / times),
                WhatIf::NoQueue => one.part(Part::Queue),
                WhatIf::OneMoreCpu { cpus } => saved_by_cpu(one, cpus),
                WhatIf::NoStraggler(worker) if workers[at] == worker => {
                    let others = cell.iter().enumerate().filter(|(other, _)| *other != at);
                    let usual = median(others.map(|(_, other)| lone(other)).collect());
                    return before[at].min(usual);
                }
                WhatIf::NoStraggler(_) => 0.0,
            };
            (before[at] - per(one, saved)).max(0.0)
        })
        .collect();
    if waits {
        let longest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        // The iteration as it was, shorter by what the slowest would be.
        let whole = cell.iter().map(|cell| per(cell, cell.total()));
        let whole = median(whole.collect()).max(longest(&before));
        (whole, whole - longest(&before) + longest(&after))
    } else {
        let pace = |times: &[f64]| times.iter().map(|time| 1.0 / time).sum::<f64>();
        (1.0 / pace(&before), 1.0 / pace(&after))
    }
}

/// Threads that share CPUs evenly are executed for `1/s` of the time that they could be;
/// with one CPU more, `s` shrinks in proportion, to one at least.
fn saved_by_cpu(cell: &Cell, cpus: usize) -> f64 {
    if cell.on_cpu_s <= 0.0 {
        return 0.0;
    }
    let stretch = (cell.on_cpu_s + cell.runnable_s) / cell.on_cpu_s;
    let with_more = (stretch * cpus as f64 / (cpus as f64 + 1.0)).max(1.0);
    (cell.on_cpu_s * (stretch - with_more)).clamp(0.0, cell.total())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Iteration;
    use std::time::Duration;

    fn courses(rows: [Iteration; 2]) -> WorkerCourses {
        let mut courses = WorkerCourses::default();
        for clock in 0..320 {
            for (worker, row) in (0..).zip(rows) {
                let row = Iteration {
                    clock,
                    iterations: 1,
                    ..row
                };
                courses.add(WorkerId(worker), &row);
            }
        }
        courses
    }

    fn check(rows: [Iteration; 2], what_if: WhatIf, expected: f64) {
        let found = gain(&courses(rows), what_if).unwrap();
        let error = (found.change - expected).abs();
        assert!(error < 1e-9, "{what_if:?}: {} {expected}", found.change);
        assert!(found.margin < 1e-9);
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn an_iteration_is_as_long_as_that_of_the_slowest() {
        let fast = Iteration {
            computing: 6 * MS,
            on_wire: 4 * MS,
            waiting: 10 * MS,
            ..Iteration::default()
        };
        let slow = Iteration {
            computing: 16 * MS,
            on_wire: 4 * MS,
            ..Iteration::default()
        };
        // Of 20 ms, the wire's four become two.
        check([fast, slow], WhatIf::Network(2.0), -0.1);
        check([fast, slow], WhatIf::Compute(2.0), -0.4);
        check([fast, slow], WhatIf::NoStraggler(WorkerId(1)), -0.5);
        check([fast, slow], WhatIf::NoQueue, 0.0);
    }

    #[test]
    fn where_nobody_waits_paces_add_up() {
        let row = |ms| Iteration {
            computing: ms * MS,
            ..Iteration::default()
        };
        // One update in 10 ms and one in 30 ms; then two in 10 ms.
        let expected = (4.0 / 30.0) / (6.0 / 30.0) - 1.0;
        check(
            [row(10), row(30)],
            WhatIf::NoStraggler(WorkerId(1)),
            expected,
        );
    }

    #[test]
    fn another_cpu_helps_those_who_queue_for_one() {
        let row = Iteration {
            computing: 10 * MS,
            on_cpu: 5 * MS,
            runnable: 5 * MS,
            waiting: MS,
            ..Iteration::default()
        };
        // Twice as many threads as CPUs: three CPUs for four threads are 4/3.
        let saved = 5.0 * (2.0 - 4.0 / 3.0);
        check([row, row], WhatIf::OneMoreCpu { cpus: 2 }, -saved / 11.0);
    }
}
