//! The iterations of all workers, in cells of equally many.

use paceline_model::{Iteration, WorkerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// A part of a worker's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Computing.
    Compute,
    /// Compressing updates.
    Serialise,
    /// Handing them over.
    Send,
    /// Updates and answers on their way.
    Wire,
    /// In the server's queue.
    Queue,
    /// Waiting for the other workers.
    Wait,
    /// Fetching parameters.
    Receive,
    /// Between iterations.
    Idle,
}

impl Part {
    /// Every part, in the order of an iteration.
    pub const ALL: [Self; 8] = [
        Self::Compute,
        Self::Serialise,
        Self::Send,
        Self::Wire,
        Self::Queue,
        Self::Wait,
        Self::Receive,
        Self::Idle,
    ];

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Compute => "computing",
            Self::Serialise => "serialising",
            Self::Send => "sending",
            Self::Wire => "on the wire",
            Self::Queue => "queued at the server",
            Self::Wait => "waiting for others",
            Self::Receive => "receiving",
            Self::Idle => "idle",
        }
    }

    /// As programs read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Serialise => "serialise",
            Self::Send => "send",
            Self::Wire => "wire",
            Self::Queue => "queue",
            Self::Wait => "wait",
            Self::Receive => "receive",
            Self::Idle => "idle",
        }
    }
}

/// What a worker did in some consecutive iterations, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cell {
    /// When the first began, since the start of the run.
    pub began_s: f64,
    /// How many there were.
    pub iterations: u64,
    /// By [`Part::ALL`].
    pub parts: [f64; 8],
    /// Rows computed on.
    pub rows: u64,
    /// The worker's thread was executed.
    pub on_cpu_s: f64,
    /// It could have been, had a CPU been free.
    pub runnable_s: f64,
}

impl Cell {
    /// The seconds of a part.
    #[must_use]
    pub fn part(&self, part: Part) -> f64 {
        self.parts[part as usize]
    }

    /// All seconds.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.parts.iter().sum()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if self.iterations == 0 {
            self.began_s = other.began_s;
        }
        self.iterations += other.iterations;
        for (own, more) in self.parts.iter_mut().zip(other.parts) {
            *own += more;
        }
        self.rows += other.rows;
        self.on_cpu_s += other.on_cpu_s;
        self.runnable_s += other.runnable_s;
    }

    fn of(row: &Iteration, idle: Duration) -> Self {
        Self {
            began_s: row.began.as_secs_f64(),
            iterations: row.iterations,
            parts: [
                row.computing,
                row.serialising,
                row.sending,
                row.on_wire,
                row.queued,
                row.waiting,
                row.receiving,
                idle,
            ]
            .map(|time| time.as_secs_f64()),
            rows: row.rows,
            on_cpu_s: row.on_cpu.as_secs_f64(),
            runnable_s: row.runnable.as_secs_f64(),
        }
    }
}

/// More cells of a worker than this are never kept.
const MOST_CELLS: u64 = 2_048;

/// What all workers did, collected row by row in one pass. All cells but a worker's last
/// are of the same iterations for every worker.
#[derive(Debug, Clone)]
pub struct WorkerCourses {
    per_cell: u64,
    workers: BTreeMap<WorkerId, (BTreeMap<u64, Cell>, Option<Duration>)>,
}

impl Default for WorkerCourses {
    fn default() -> Self {
        Self {
            per_cell: 1,
            workers: BTreeMap::new(),
        }
    }
}

impl WorkerCourses {
    /// Adds a row; those of a worker come in order.
    pub fn add(&mut self, worker: WorkerId, row: &Iteration) {
        while row.clock / self.per_cell >= MOST_CELLS {
            self.per_cell *= 2;
            for (cells, _) in self.workers.values_mut() {
                let mut joined: BTreeMap<u64, Cell> = BTreeMap::new();
                for (place, cell) in std::mem::take(cells) {
                    joined.entry(place / 2).or_default().add(&cell);
                }
                *cells = joined;
            }
        }
        let (cells, ended) = self.workers.entry(worker).or_default();
        let idle = ended.map_or(Duration::ZERO, |ended| row.began.saturating_sub(ended));
        *ended = Some(row.ended());
        let place = row.clock / self.per_cell;
        cells.entry(place).or_default().add(&Cell::of(row, idle));
    }

    /// The workers, by number.
    pub fn workers(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.workers.keys().copied()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether no iteration is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// A worker's cells, by the iterations that they hold.
    pub fn cells(&self, worker: WorkerId) -> impl Iterator<Item = (u64, &Cell)> + '_ {
        let cells = self.workers.get(&worker).into_iter();
        cells.flat_map(|(cells, _)| cells.iter().map(|(place, cell)| (*place, cell)))
    }

    /// All that a worker did.
    #[must_use]
    pub fn total(&self, worker: WorkerId) -> Cell {
        let mut total = Cell::default();
        for (_, cell) in self.cells(worker) {
            total.add(cell);
        }
        total
    }

    /// Seconds of the training for each iteration of any worker; none if there is none.
    #[must_use]
    pub fn pace(&self) -> Option<f64> {
        let totals: Vec<Cell> = self.workers().map(|worker| self.total(worker)).collect();
        let seconds = totals.iter().map(Cell::total).sum::<f64>() / totals.len() as f64;
        let iterations: u64 = totals.iter().map(|total| total.iterations).sum();
        (iterations > 0).then(|| seconds / iterations as f64)
    }

    /// The iterations that all workers took part in, in at most `most` blocks of equally
    /// many, one after the other; of each, what every worker did in it.
    #[must_use]
    pub fn blocks(&self, most: usize) -> Vec<Vec<Cell>> {
        let places = |cells: &BTreeMap<u64, Cell>| cells.keys().copied().collect::<Vec<_>>();
        let mut common: Option<Vec<u64>> = None;
        for (cells, _) in self.workers.values() {
            common = Some(match common {
                None => places(cells),
                Some(common) => common
                    .into_iter()
                    .filter(|place| cells.contains_key(place))
                    .collect(),
            });
        }
        let common = common.unwrap_or_default();
        let per_block = common.len().div_ceil(most.max(1)).max(1);
        let blocks = common.chunks_exact(per_block);
        let block_of = |places: &[u64], cells: &BTreeMap<u64, Cell>| {
            let mut block = Cell::default();
            places.iter().for_each(|place| block.add(&cells[place]));
            block
        };
        blocks
            .map(|places| {
                let workers = self.workers.values();
                workers.map(|(cells, _)| block_of(places, cells)).collect()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_however_many_iterations_there_are() {
        let mut courses = WorkerCourses::default();
        for clock in 0..10_000_u64 {
            for worker in [0, 1] {
                let row = Iteration {
                    clock,
                    iterations: 1,
                    began: Duration::from_millis(10 * clock),
                    computing: Duration::from_millis(6),
                    waiting: Duration::from_millis(3),
                    rows: 8,
                    ..Iteration::default()
                };
                courses.add(WorkerId(worker), &row);
            }
        }
        let total = courses.total(WorkerId(1));
        assert_eq!((total.iterations, total.rows), (10_000, 80_000));
        assert!((total.part(Part::Compute) - 60.0).abs() < 1e-6);
        // A millisecond between any two.
        assert!((total.part(Part::Idle) - 9.999).abs() < 1e-6);
        let blocks = courses.blocks(16);
        assert!(blocks.len() >= 15 && blocks.iter().all(|block| block.len() == 2));
        let cell = &blocks[3][0];
        assert!((cell.part(Part::Compute) / cell.iterations as f64 - 0.006).abs() < 1e-9);
    }
}
