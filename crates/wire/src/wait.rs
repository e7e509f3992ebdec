//! Waiting for several connections at once.

use std::io;
use std::os::fd::AsFd;

use crate::deadline::Deadline;
use crate::read_half::ReadHalf;
use crate::socket::{self, Ready};
use crate::write_half::WriteHalf;

/// Waits until one of `readers` may have something to receive, or one of
/// `writers` that has a backlog may have room; returns false when the deadline
/// passes first. Spins first, as long as the most patient of them is set to.
///
/// What has arrived is then taken by [`ReadHalf::try_receive`] on each, and
/// what was posted is sent by [`WriteHalf::drain`]. A connection whose last
/// `try_receive` brought a frame counts as having more. One that is closed is
/// always ready: take it off the lists.
///
/// # Errors
///
/// The system cannot wait.
pub fn wait_any(
    readers: &[&ReadHalf],
    writers: &[&WriteHalf],
    deadline: Deadline,
) -> io::Result<bool> {
    if readers.iter().any(|reader| !reader.drained) {
        return Ok(true);
    }
    let reads = readers
        .iter()
        .map(|reader| (reader.stream.as_fd(), Ready::Read));
    let writes = writers
        .iter()
        .filter(|writer| writer.is_behind())
        .map(|writer| (writer.stream.as_fd(), Ready::Write));
    let waits: Vec<_> = reads.chain(writes).collect();
    let spin = readers.iter().map(|reader| reader.stream.spin()).max();
    let spin = Deadline::after(spin.unwrap_or_default()).or_sooner(deadline);
    while !spin.has_passed() {
        if socket::wait(&waits, Deadline::PASSED)? {
            return Ok(true);
        }
        std::thread::yield_now();
    }
    socket::wait(&waits, deadline)
}
