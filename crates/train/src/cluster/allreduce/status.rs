//! SharedStatus between a worker and those around it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What others tell a worker, and what it lets them see, while it works.
#[derive(Debug, Default)]
pub(super) struct SharedStatus {
    stops: AtomicBool,
    doing: AtomicU64,
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits until all are there, or it connects to them.
    Gathering,
    /// It computes this step.
    Computing(u64),
    /// It sums this step with the others.
    Summing(u64),
}

impl SharedStatus {
    /// Asks all to stop as soon as they can agree to.
    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    pub(super) fn does(&self, doing: Doing) {
        self.doing.store(doing.code(), Ordering::Relaxed);
    }

    pub(super) fn doing(&self) -> Doing {
        Doing::from_code(self.doing.load(Ordering::Relaxed))
    }
}

impl Doing {
    /// As a number, for a frame.
    pub(super) fn code(self) -> u64 {
        match self {
            Self::Gathering => 0,
            Self::Computing(step) => step << 2 | 1,
            Self::Summing(step) => step << 2 | 2,
        }
    }

    pub(super) fn from_code(code: u64) -> Self {
        match code & 3 {
            1 => Self::Computing(code >> 2),
            2 => Self::Summing(code >> 2),
            _ => Self::Gathering,
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gathering => f.write_str("joining the others"),
            Self::Computing(step) => write!(f, "computing step {step}"),
            Self::Summing(step) => write!(f, "summing step {step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_does_survives_its_number() {
        for doing in [
            Doing::Gathering,
            Doing::Computing(7),
            Doing::Summing(1 << 40),
        ] {
            assert_eq!(Doing::from_code(doing.code()), doing);
        }
    }
}
