//! What members say to each other, as frames.

use std::time::Duration;

use paceline_nets::Tally;
use paceline_wire::{Address, Credentials, Member, Role, Security, Token};

use super::evaluator::Due;
use super::totals::WorkerTotals;

/// Where the members of a training find each other, and what they know.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// Where each server listens, by number.
    pub servers: Vec<Address>,
    /// What every member knows.
    pub token: Token,
    /// How bytes are protected.
    pub security: Security,
    /// Limits, and a slower network than there is.
    pub wire: paceline_wire::Settings,
    /// How long a member waits for another that is away before it gives up.
    pub patience: Duration,
}

impl Rendezvous {
    /// How long members of one host wait for each other: one that dies is
    /// started again at once.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    pub(crate) fn credentials(&self, role: Role, rank: u32, incarnation: u32) -> Credentials {
        Credentials {
            me: Member {
                role,
                rank,
                incarnation,
            },
            token: self.token.clone(),
            security: self.security,
        }
    }
}

/// In a frame of parameters, the place of "nobody was waited for".
pub(crate) const NOBODY: u32 = u32::MAX;

/// Marks a frame of kind `Record` as words for the user.
pub(crate) const NOTICE: u64 = 1;

/// Marks a frame of kind `Record` as words about a worker that waits for long.
pub(crate) const WAITS: u64 = 2;

/// Marks a frame of kind `Record` as words about a worker of another training.
pub(crate) const ABOUT_OTHER_TRAINING: u64 = 3;

/// Marks a frame of kind `Leave`: the worker may still run and say nothing.
pub(crate) const SILENT: u64 = 1;

/// Marks a frame of kind `Fault`: the members' options differ.
pub(crate) const OTHER_TRAINING: u64 = 1;

/// In a frame of kind `Checkpoint`: at the end of the open iteration.
pub(crate) const AT_NEXT_STEP: u64 = u64::MAX;

/// Numbers at the end of an update: what was found on its rows.
pub(crate) const TRAILER: usize = 5;

/// A tally as numbers whose bits carry it.
pub(crate) fn trailer(tally: Tally) -> [f32; TRAILER] {
    let loss = tally.loss.to_bits();
    [
        f32::from_bits(loss as u32),
        f32::from_bits((loss >> 32) as u32),
        f32::from_bits(tally.hits as u32),
        f32::from_bits(tally.rows as u32),
        f32::from_bits((tally.rows >> 32) as u32),
    ]
}

/// The tally that [`trailer`] carries.
pub(crate) fn tally(words: &[f32; TRAILER]) -> Tally {
    let word = |place: usize| u64::from(words[place].to_bits());
    Tally {
        loss: f64::from_bits(word(0) | word(1) << 32),
        hits: word(2),
        rows: word(3) | word(4) << 32,
    }
}

/// Whole numbers as bytes.
pub(crate) fn pack(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The numbers in `bytes`; what is too short for one is passed over.
pub(crate) fn unpack(bytes: &[u8]) -> Vec<u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|n| u64::from_le_bytes(*n)).collect()
}

/// How many numbers an totals takes, besides one per worker.
const FIXED: usize = 12;

/// An totals as numbers.
pub(crate) fn pack_account(totals: &WorkerTotals, numbers: &mut Vec<u64>) {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    numbers.extend([
        totals.iterations,
        totals.rows,
        nanos(totals.computing),
        nanos(totals.waiting),
        nanos(totals.sending),
        nanos(totals.receiving),
        totals.bytes_sent,
        totals.bytes_received,
        totals.staleness_sum,
        totals.staleness_most,
        totals.dropped,
        u64::from(totals.restarts),
    ]);
    numbers.extend(totals.waited_for.iter().map(|time| nanos(*time)));
}

/// The totals of `workers` workers, as far as the numbers reach.
pub(crate) fn unpack_accounts(numbers: &[u64], workers: usize) -> Vec<WorkerTotals> {
    numbers
        .chunks_exact(FIXED + workers)
        .map(|numbers| WorkerTotals {
            iterations: numbers[0],
            rows: numbers[1],
            computing: Duration::from_nanos(numbers[2]),
            waiting: Duration::from_nanos(numbers[3]),
            sending: Duration::from_nanos(numbers[4]),
            receiving: Duration::from_nanos(numbers[5]),
            bytes_sent: numbers[6],
            bytes_received: numbers[7],
            staleness_sum: numbers[8],
            staleness_most: numbers[9],
            dropped: numbers[10],
            restarts: u32::try_from(numbers[11]).unwrap_or(u32::MAX),
            waited_for: numbers[FIXED..]
                .iter()
                .map(|n| Duration::from_nanos(*n))
                .collect(),
        })
        .collect()
}

/// What is said of a snapshot before its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Caption {
    pub(crate) tally: Tally,
    pub(crate) optimizer_steps: u64,
    pub(crate) due: Due,
}

impl Caption {
    /// How many bytes it takes.
    pub(crate) const BYTES: usize = 5 * size_of::<u64>();

    pub(crate) fn pack(self) -> Vec<u8> {
        let Due {
            evaluation,
            checkpoint,
            end,
        } = self.due;
        let bits = u64::from(evaluation) | u64::from(checkpoint) << 1 | u64::from(end) << 2;
        pack(&[
            self.tally.loss.to_bits(),
            self.tally.hits,
            self.tally.rows,
            self.optimizer_steps,
            bits,
        ])
    }

    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let [loss, hits, rows, optimizer_steps, bits] = unpack(bytes)[..] else {
            return None;
        };
        Some(Self {
            tally: Tally {
                loss: f64::from_bits(loss),
                hits,
                rows,
            },
            optimizer_steps,
            due: Due {
                evaluation: bits & 1 != 0,
                checkpoint: bits & 2 != 0,
                end: bits & 4 != 0,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_survives_its_trailer() {
        let found = Tally {
            loss: 0.1 + 0.2,
            hits: 7,
            rows: 1 << 33,
        };
        assert_eq!(tally(&trailer(found)), found);
    }

    #[test]
    fn accounts_and_captions_survive_their_bytes() {
        let totals: Vec<WorkerTotals> = (0..3)
            .map(|n| WorkerTotals {
                iterations: n,
                waiting: Duration::from_nanos(17),
                restarts: 2,
                ..WorkerTotals::new(3)
            })
            .collect();
        let mut numbers = Vec::new();
        for totals in &totals {
            pack_account(totals, &mut numbers);
        }
        assert_eq!(unpack_accounts(&unpack(&pack(&numbers)), 3), totals);
        let caption = Caption {
            tally: Tally {
                loss: -0.5,
                hits: 1,
                rows: 2,
            },
            optimizer_steps: 9,
            due: Due {
                evaluation: true,
                checkpoint: false,
                end: true,
            },
        };
        assert_eq!(Caption::unpack(&caption.pack()), Some(caption));
        assert_eq!(Caption::unpack(&[0; 39]), None);
    }
}
