//! Whether a worker is a straggler, by a test against the others, and why.
//!
//! The run is cut into blocks of the same iterations for every worker. In each, what a
//! worker takes an iteration for computing, and what its link takes, is held against the
//! median of the others', as the logarithm of the ratio: `y`. Waiting for others and the
//! server's queue are nobody's fault here. A worker is a straggler if its mean `y` of
//! either exceeds `ln 1.1` by Student's t test, one-sided, at 1% divided by the number of
//! tests (Bonferroni), and if that is at least a twentieth of an iteration: a run of equal
//! workers names one in less than 1 of 100 cases, and also a run in which one is slower
//! by a tenth. Blocks that follow each other are alike; with `r` as the correlation of each
//! with the next (not below zero), `n` of them count as `n (1 - r) / (1 + r)`, as in a
//! process of order one (Law, Simulation Modeling and Analysis, 9.5.3). The first block is
//! left out: workers warm up.

use super::course::{Cell, Part, WorkerCourses};
use paceline_dist::StudentT;
use paceline_model::WorkerId;

/// The share by which a worker has to be slower than the others to be a straggler.
pub const SLOWER_BY: f64 = 0.10;
/// In how many runs one is named that is none, at most.
const FALSE_POSITIVES: f64 = 0.01;
/// The run is cut into so many blocks; with fewer than half as many nothing is said.
const BLOCKS: usize = 21;
const LEAST_BLOCKS: usize = 8;
/// What is less of an iteration than this does not hold anybody up.
const WORTH_NAMING: f64 = 0.05;

/// What the test says of one worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StragglerTest {
    /// How much slower it is than the median of the others: 0.5 is half as slow again.
    pub slower_by: f64,
    /// How many blocks count.
    pub effective_blocks: f64,
    /// The probability of such a ratio if it were slower by a tenth or less.
    pub p: f64,
}

/// A worker that holds the others up, as the test says.
#[derive(Debug, Clone, PartialEq)]
pub struct Straggler {
    /// Which.
    pub worker: WorkerId,
    /// Where it is slower.
    pub side: Side,
    /// The test.
    pub test: StragglerTest,
    /// What its time is more than the others', the longest first; what the others have
    /// more of is left out.
    pub excess: Vec<Excess>,
}

/// What of a worker is held against the others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What it does itself: computing, compressing and handing over updates.
    Computing,
    /// What its link does: updates and parameters on their way.
    Link,
}

impl Side {
    const ALL: [Self; 2] = [Self::Computing, Self::Link];

    /// In words, and as programs read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Link => "link",
        }
    }

    fn per_iteration(self, cell: &Cell) -> f64 {
        let parts = match self {
            Self::Computing => &[Part::Compute, Part::Serialise, Part::Send][..],
            Self::Link => &[Part::Wire, Part::Receive],
        };
        let seconds: f64 = parts.iter().map(|part| cell.part(*part)).sum();
        seconds / cell.iterations.max(1) as f64
    }
}

/// Time that a straggler has more than the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// On what.
    pub reason: Reason,
    /// Seconds an iteration.
    pub seconds: f64,
    /// The share of all excess.
    pub share: f64,
}

/// Why a worker is slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It computes on more rows.
    Data,
    /// It could have been executed, but no CPU was given to it.
    CpuShare,
    /// It is executed for longer on as many rows: its host is slower, or its rows are
    /// more work.
    Host,
    /// It neither was executed nor could have been: it slept, was stopped, or waited for
    /// a disk or its data.
    Asleep,
    /// Its updates and parameters take longer.
    Link,
    /// It computes for longer, and nobody counted on what.
    Computing,
}

impl Reason {
    /// As programs read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::CpuShare => "cpu_share",
            Self::Host => "host",
            Self::Asleep => "asleep",
            Self::Link => "link",
            Self::Computing => "computing",
        }
    }

    /// In words, after "because".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Data => "it computes on more rows",
            Self::CpuShare => "no CPU was given to it when it could have computed",
            Self::Host => "it needs more CPU time for as many rows",
            Self::Asleep => "it slept, was stopped or waited for a disk or its data",
            Self::Link => "its updates and parameters take longer",
            Self::Computing => "it computes for longer",
        }
    }
}

/// The straggler of a run, if there is one; nothing is said of a run with one worker, or
/// one too short.
#[must_use]
pub fn find_straggler(courses: &WorkerCourses) -> Option<Straggler> {
    let blocks = courses.blocks(BLOCKS);
    let blocks = blocks.get(1..)?;
    let workers = courses.len();
    let level = FALSE_POSITIVES / (workers * Side::ALL.len()) as f64;
    let cells = blocks.iter().flatten();
    let (seconds, iterations) = cells.fold((0.0, 0), |(seconds, iterations), cell| {
        (seconds + cell.total(), iterations + cell.iterations)
    });
    let iteration = seconds / iterations as f64;
    let mut worst: Option<(f64, Straggler)> = None;
    for side in Side::ALL {
        let times: Vec<Vec<f64>> = blocks
            .iter()
            .map(|block| block.iter().map(|cell| side.per_iteration(cell)).collect())
            .collect();
        for (place, worker) in courses.workers().enumerate() {
            let Some(test) = test(&times, place).filter(|test| test.p < level) else {
                continue;
            };
            let mean = times.iter().map(|block| block[place]).sum::<f64>() / times.len() as f64;
            let more = mean - mean / (1.0 + test.slower_by);
            let is_worse = worst.as_ref().is_none_or(|(most, _)| more > *most);
            if more >= WORTH_NAMING * iteration && is_worse {
                let excess = excess(courses, worker);
                let found = Straggler {
                    worker,
                    side,
                    test,
                    excess,
                };
                worst = Some((more, found));
            }
        }
    }
    worst.map(|(_, found)| found)
}

/// Holds `worker` against the others; `times` has a row for each block and in it a time
/// for each worker. None if nothing can be said.
fn test(times: &[Vec<f64>], worker: usize) -> Option<StragglerTest> {
    if times.len() < LEAST_BLOCKS || times[0].len() < 2 {
        return None;
    }
    let y: Vec<f64> = times
        .iter()
        .map(|block| {
            let others = block.iter().enumerate().filter(|(at, _)| *at != worker);
            let others = median(others.map(|(_, time)| *time).collect());
            (block[worker] / others).ln()
        })
        .collect();
    if y.iter().any(|y| !y.is_finite()) {
        return None;
    }
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n;
    let squares: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let lagged: f64 = y.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let alike = if squares > 0.0 {
        (lagged / squares).clamp(0.0, 0.9)
    } else {
        0.0
    };
    let effective = (n * (1.0 - alike) / (1.0 + alike)).max(2.0);
    let error = (squares / (n - 1.0) / effective).sqrt();
    // Times that never differ leave no doubt, apart from rounding.
    let t = (mean - SLOWER_BY.ln_1p()) / error.max(1e-12);
    let p = StudentT::new(effective - 1.0).ok()?.sf(t);
    Some(StragglerTest {
        slower_by: mean.exp() - 1.0,
        effective_blocks: effective,
        p,
    })
}

/// On what `worker` spends more time an iteration than the others do.
fn excess(courses: &WorkerCourses, worker: WorkerId) -> Vec<Excess> {
    let own = courses.total(worker);
    let others: Vec<Cell> = courses
        .workers()
        .filter(|other| *other != worker)
        .map(|other| courses.total(other))
        .collect();
    let more = |of: &dyn Fn(&Cell) -> f64| {
        let per_iteration = |cell: &Cell| of(cell) / cell.iterations.max(1) as f64;
        let usual = median(others.iter().map(per_iteration).collect());
        (per_iteration(&own) - usual, usual)
    };
    let (computing, usual) = more(&|cell| cell.part(Part::Compute));
    let (rows, usual_rows) = more(&|cell| cell.rows as f64);
    // More rows take longer in proportion.
    let of_data = match usual_rows > 0.0 {
        true => (usual * rows / usual_rows).clamp(0.0, computing.max(0.0)),
        false => 0.0,
    };
    let link = [Part::Serialise, Part::Send, Part::Wire, Part::Receive];
    let (of_link, _) = more(&|cell| link.iter().map(|part| cell.part(*part)).sum());
    let rest = computing - of_data;
    let mut found = vec![(Reason::Data, of_data), (Reason::Link, of_link)];
    if own.on_cpu_s > 0.0 && others.iter().all(|other| other.on_cpu_s > 0.0) {
        let of_share = more(&|cell| cell.runnable_s).0.clamp(0.0, rest.max(0.0));
        let of_host =
            (more(&|cell| cell.on_cpu_s).0 - of_data).clamp(0.0, (rest - of_share).max(0.0));
        found.extend([
            (Reason::CpuShare, of_share),
            (Reason::Host, of_host),
            (Reason::Asleep, rest - of_share - of_host),
        ]);
    } else {
        found.push((Reason::Computing, rest));
    }
    found.retain(|(_, seconds)| *seconds > 0.0);
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = found.iter().map(|(_, seconds)| seconds).sum();
    let excess = |(reason, seconds)| Excess {
        reason,
        seconds,
        share: seconds / all,
    };
    found.into_iter().map(excess).collect()
}

/// The middle one, or the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        len if len % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests;
