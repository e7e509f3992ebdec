//! Where and how eagerly this process runs.

use super::ask::usable_cpus;
use super::kernel;
use std::io;

/// Takes share `rank` of this process's CPUs, `count` of them, for the calling
/// thread and those it starts; takes none if `members` such shares do not fit.
/// Says whether it did.
///
/// A process that is woken through a socket is placed on the core of the one
/// that woke it, which the kernel expects to sleep at once. Members of a
/// training wake each other all the time, and would end up on one core while
/// the others idle.
///
/// # Errors
/// If the kernel refuses.
pub fn take_share_of_cpus(rank: usize, members: usize, count: usize) -> io::Result<bool> {
    let usable = usable_cpus()?;
    if members.saturating_mul(count) > usable.cores().len() {
        return Ok(false);
    }
    let mut own = rustix::thread::CpuSet::new();
    for core in usable.cores().iter().skip(rank * count).take(count) {
        own.set(*core as usize);
    }
    rustix::thread::sched_setaffinity(None, &own)?;
    Ok(true)
}

/// Lets whoever wakes the calling thread, or a thread that it starts, go on
/// with what it is doing.
///
/// A server answers its workers one after the other. By default the first one
/// that it wakes on its own core interrupts it, and the others wait for their
/// answers until that one has computed.
///
/// # Errors
/// If the kernel refuses.
pub fn use_batch_scheduling() -> io::Result<()> {
    kernel::schedule_as_batch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_too_many_are_none() {
        // On threads of their own: the mask is the thread's.
        let all = usable_cpus().unwrap().cores().len();
        let share = |rank, members| {
            std::thread::spawn(move || {
                let taken = take_share_of_cpus(rank, members, 1).unwrap();
                (taken, usable_cpus().unwrap())
            })
            .join()
            .unwrap()
        };
        let mut seen = Vec::new();
        for rank in 0..all {
            let (taken, cpus) = share(rank, all);
            assert!(taken);
            seen.extend_from_slice(cpus.cores());
        }
        assert_eq!(seen, usable_cpus().unwrap().cores());
        let (taken, cpus) = share(0, all + 1);
        assert!(!taken);
        assert_eq!(cpus.cores().len(), all);
    }

    #[test]
    fn a_thread_may_become_modest() {
        std::thread::spawn(|| use_batch_scheduling().unwrap())
            .join()
            .unwrap();
    }
}
