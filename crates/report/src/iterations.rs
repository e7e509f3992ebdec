//! How the iterations of a training's workers went: how long they took, and what
//! the time was spent on over the course of the run.

use crate::number::{bytes, count, duration, percent, significant};
use crate::text::{Column, Style, Table};
use paceline_model::{Iteration, WorkerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The first stretches are this long.
const SHORTEST: Duration = Duration::from_millis(1);

/// What all workers did, collected row by row in one pass.
///
/// The run is cut into stretches of equal length, of which there are at most as
/// many as asked for and, but for a run of milliseconds, at least half as many.
#[derive(Debug, Clone)]
pub struct Course {
    most: usize,
    /// Where the first stretch begins.
    from: Option<Duration>,
    length: Duration,
    workers: BTreeMap<WorkerId, Worker>,
}

#[derive(Debug, Clone, Default)]
struct Worker {
    stretches: Vec<Stretch>,
    /// How long an iteration of each row took, and how many there were.
    lengths: Vec<(f32, u32)>,
    slowest: Option<Iteration>,
}

/// What one worker did in a stretch: the rows that began in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stretch {
    /// Iterations.
    pub iterations: u64,
    /// Computing.
    pub computing: Duration,
    /// Waiting.
    pub waiting: Duration,
    /// Compressing and handing over updates.
    pub sending: Duration,
    /// Fetching parameters.
    pub receiving: Duration,
    /// Updates and parameters on their way.
    pub on_wire: Duration,
    /// In the server's queue.
    pub queued: Duration,
    /// Bytes handed over.
    pub sent_bytes: u64,
    /// Clocks that the parameters lagged, summed over the iterations.
    pub staleness: u64,
    /// Updates that came too late to count.
    pub dropped: u64,
    /// Of the waiting, how much was for whom.
    pub waited_for: BTreeMap<WorkerId, Duration>,
}

/// How long the iterations of one worker took.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// The worker.
    pub worker: WorkerId,
    /// How many iterations there were.
    pub iterations: u64,
    /// Seconds that half of them did not exceed.
    pub median_s: f64,
    /// Seconds that all but a hundredth did not exceed.
    pub p99_s: f64,
    /// Seconds of the slowest, and when it began. Of a row that stands for
    /// several iterations, their mean.
    pub slowest_s: f64,
    /// When the slowest began, in seconds since the start of the run.
    pub slowest_at_s: f64,
}

impl Course {
    /// Nothing yet, to be cut into at most `most` stretches (at least two).
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(2),
            from: None,
            length: SHORTEST,
            workers: BTreeMap::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, worker: WorkerId, row: &Iteration) {
        // Workers come one after the other: a later one may begin a little
        // before the first, and belongs to the first stretch.
        let from = *self.from.get_or_insert(row.began);
        let since = row.began.saturating_sub(from).as_nanos();
        while since / self.length.as_nanos() >= self.most as u128 {
            self.length *= 2;
            for worker in self.workers.values_mut() {
                worker.halve();
            }
        }
        let place = (since / self.length.as_nanos()) as usize;
        let worker = self.workers.entry(worker).or_default();
        if worker.stretches.len() <= place {
            worker.stretches.resize(place + 1, Stretch::default());
        }
        worker.stretches[place].add(row);
        let iterations = u32::try_from(row.iterations.max(1)).unwrap_or(u32::MAX);
        worker
            .lengths
            .push((row.length().as_secs_f32() / iterations as f32, iterations));
        let mean = |row: &Iteration| row.length().as_secs_f64() / row.iterations.max(1) as f64;
        if worker
            .slowest
            .is_none_or(|slowest| mean(row) > mean(&slowest))
        {
            worker.slowest = Some(*row);
        }
    }

    /// Whether no row was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// When the first stretch begins, in seconds since the start of the run.
    #[must_use]
    pub fn from_s(&self) -> f64 {
        self.from.unwrap_or_default().as_secs_f64()
    }

    /// How long a stretch is, in seconds.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.length.as_secs_f64()
    }

    /// The stretches of each worker, from the beginning; those after a worker's
    /// last iteration are not there.
    pub fn stretches(&self) -> impl Iterator<Item = (WorkerId, &[Stretch])> {
        self.workers
            .iter()
            .map(|(worker, found)| (*worker, &found.stretches[..]))
    }

    /// How long the iterations of each worker took.
    #[must_use]
    pub fn paces(&self) -> Vec<Pace> {
        let pace = |(worker, found): (&WorkerId, &Worker)| {
            let mut lengths = found.lengths.clone();
            lengths.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
            let iterations: u64 = lengths.iter().map(|(_, count)| u64::from(*count)).sum();
            let slowest = found.slowest.unwrap_or_default();
            Pace {
                worker: *worker,
                iterations,
                median_s: quantile(&lengths, iterations, 0.5),
                p99_s: quantile(&lengths, iterations, 0.99),
                slowest_s: slowest.length().as_secs_f64() / slowest.iterations.max(1) as f64,
                slowest_at_s: slowest.began.as_secs_f64(),
            }
        };
        self.workers.iter().map(pace).collect()
    }

    /// Two tables: how long the iterations took, and how the time was spent.
    #[must_use]
    pub fn tables(&self, width: usize, style: Style) -> String {
        let mut paces = Table::new(vec![
            Column::words("worker"),
            Column::amounts("iterations"),
            Column::amounts("median"),
            Column::amounts("99th percentile"),
            Column::amounts("slowest"),
            Column::amounts("at"),
        ]);
        for pace in self.paces() {
            paces.row(vec![
                pace.worker.to_string(),
                count(pace.iterations),
                duration(pace.median_s),
                duration(pace.p99_s),
                duration(pace.slowest_s),
                duration(pace.slowest_at_s),
            ]);
        }
        let moves = self
            .stretches()
            .any(|(_, stretches)| stretches.iter().any(|stretch| stretch.sent_bytes > 0));
        let mut columns = vec![
            Column::amounts("from"),
            Column::words("worker"),
            Column::amounts("iterations"),
            Column::amounts("computing"),
            Column::amounts("waiting"),
            Column::words("mostly for"),
            Column::amounts("sending"),
            Column::amounts("on wire"),
            Column::amounts("queued").optional(),
            Column::amounts("receiving"),
            Column::amounts("staleness").optional(),
        ];
        if moves {
            columns.push(Column::amounts("sent").optional());
        }
        let mut course = Table::new(columns);
        let longest = self.stretches().map(|(_, stretches)| stretches.len()).max();
        for place in 0..longest.unwrap_or(0) {
            let from = self.from_s() + place as f64 * self.length_s();
            for (worker, stretches) in self.stretches() {
                let Some(stretch) = stretches.get(place).filter(|s| s.iterations > 0) else {
                    continue;
                };
                let [computing, waiting, sending, on_wire, queued, receiving] =
                    stretch.shares().map(percent);
                let staleness = stretch.staleness as f64 / stretch.iterations as f64;
                let mut cells = vec![
                    duration(from),
                    worker.to_string(),
                    count(stretch.iterations),
                    computing,
                    waiting,
                    stretch
                        .straggler()
                        .map_or(String::new(), |other| other.to_string()),
                    sending,
                    on_wire,
                    queued,
                    receiving,
                    significant(staleness, 2),
                ];
                if moves {
                    cells.push(bytes(stretch.sent_bytes as f64));
                }
                course.row(cells);
            }
        }
        paces.render(width, style) + "\n" + &course.render(width, style)
    }
}

impl Worker {
    /// Two stretches become one.
    fn halve(&mut self) {
        let pairs = self.stretches.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            if let Some(second) = pair.get(1) {
                sum.join(second);
            }
            sum
        });
        self.stretches = pairs.collect();
    }
}

impl Stretch {
    fn add(&mut self, row: &Iteration) {
        self.iterations += row.iterations;
        self.computing += row.computing;
        self.waiting += row.waiting;
        self.sending += row.sending + row.serialising;
        self.receiving += row.receiving;
        self.on_wire += row.on_wire;
        self.queued += row.queued;
        self.sent_bytes += row.sent_bytes;
        self.staleness += row.staleness;
        self.dropped += row.dropped;
        if let Some(other) = row.waited_for {
            *self.waited_for.entry(other).or_default() += row.waiting;
        }
    }

    fn join(&mut self, other: &Self) {
        self.iterations += other.iterations;
        self.computing += other.computing;
        self.waiting += other.waiting;
        self.sending += other.sending;
        self.receiving += other.receiving;
        self.on_wire += other.on_wire;
        self.queued += other.queued;
        self.sent_bytes += other.sent_bytes;
        self.staleness += other.staleness;
        self.dropped += other.dropped;
        for (worker, waited) in &other.waited_for {
            *self.waited_for.entry(*worker).or_default() += *waited;
        }
    }

    /// The shares of its time: computing, waiting for others, sending, on the wire,
    /// queued at the server, receiving.
    #[must_use]
    pub fn shares(&self) -> [f64; 6] {
        let times = [
            self.computing,
            self.waiting,
            self.sending,
            self.on_wire,
            self.queued,
            self.receiving,
        ];
        let all: Duration = times.iter().sum();
        let all = all.as_secs_f64();
        times.map(|time| {
            if all > 0.0 {
                time.as_secs_f64() / all
            } else {
                0.0
            }
        })
    }

    /// For whom the worker waited longest.
    #[must_use]
    pub fn straggler(&self) -> Option<WorkerId> {
        let longest = self.waited_for.iter().max_by_key(|(_, waited)| **waited)?;
        (!longest.1.is_zero()).then_some(*longest.0)
    }
}

/// The least length that a share of the iterations does not exceed.
fn quantile(sorted: &[(f32, u32)], iterations: u64, share: f64) -> f64 {
    let wanted = (share * iterations as f64).ceil() as u64;
    let mut passed = 0;
    for (length, count) in sorted {
        passed += u64::from(*count);
        if passed >= wanted {
            return f64::from(*length);
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(began_ms: u64, waiting_ms: u64, computing_ms: u64) -> Iteration {
        Iteration {
            iterations: 1,
            began: Duration::from_millis(began_ms),
            waiting: Duration::from_millis(waiting_ms),
            waited_for: (waiting_ms > 0).then_some(WorkerId(1)),
            computing: Duration::from_millis(computing_ms),
            ..Iteration::default()
        }
    }

    #[test]
    fn stretches_grow_until_they_hold_the_run_and_lose_nothing() {
        let mut course = Course::new(8);
        for worker in [0, 1] {
            for i in 0..1_000 {
                course.add(WorkerId(worker), &row(5_000 + 10 * i, 3, 7));
            }
        }
        assert_eq!((course.from_s(), course.length_s()), (5.0, 2.048));
        for (_, stretches) in course.stretches() {
            assert!((4..=8).contains(&stretches.len()), "{}", stretches.len());
            let sum = |of: fn(&Stretch) -> u64| stretches.iter().map(of).sum::<u64>();
            assert_eq!(sum(|stretch| stretch.iterations), 1_000);
            assert_eq!(sum(|stretch| stretch.waiting.as_millis() as u64), 3_000);
            assert_eq!(stretches[1].straggler(), Some(WorkerId(1)));
            assert!((stretches[1].shares()[1] - 0.3).abs() < 1e-9);
        }
    }

    #[test]
    fn the_slowest_iteration_is_named() {
        let mut course = Course::new(10);
        for i in 0..99 {
            course.add(WorkerId(0), &row(10 * i, 0, 10));
        }
        course.add(WorkerId(0), &row(990, 500, 10));
        // A row for a hundred iterations weighs as much as it stands for.
        course.add(
            WorkerId(0),
            &Iteration {
                iterations: 100,
                ..row(1_500, 0, 400)
            },
        );
        let pace = &course.paces()[0];
        assert_eq!(pace.iterations, 200);
        assert!((pace.median_s - 0.004).abs() < 1e-6, "{pace:?}");
        assert!((pace.p99_s - 0.010).abs() < 1e-6, "{pace:?}");
        assert_eq!((pace.slowest_s, pace.slowest_at_s), (0.51, 0.99));
        let text = course.tables(100, Style::default());
        assert!(
            text.contains("510 ms") && text.contains("worker1"),
            "{text}"
        );
    }
}
