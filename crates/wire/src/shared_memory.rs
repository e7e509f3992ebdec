//! Payloads that stay in memory which two processes of one host share.
//!
//! A large payload sent through a socket is copied into the kernel and out
//! again, page by page, and waits whenever the socket's buffer is full. Between
//! processes of one host it need not travel: the sender lays it into a ring of
//! memory, and only its header and its place go through the socket, in their
//! order among all other frames.
//!
//! The sender owns the ring: an anonymous file that nobody can shrink, found by
//! the receiver through the sender's entry in `/proc`. The receiver says in the
//! ring itself that it has found it, and how far it has read. Until it has, and
//! whenever the ring is full, payloads go through the socket as ever: nobody
//! waits for memory, and a receiver that cannot open the file (another
//! namespace, no `/proc`) costs speed only.

#![expect(
    unsafe_code,
    reason = "memory shared with another process has no safe name"
)]

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::frame::{ENCODING_AT, HEADER_BYTES};
use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};

/// Smaller payloads go through the socket: a copy into the kernel costs less
/// there than fetching another core's cache lines one by one.
pub(crate) const SHARED_FROM: usize = 16 * 1024;

/// How many payloads of the first one's size a ring holds: one that is being
/// read, one that waits, one that is written, and the waste at the ring's end.
const PAYLOADS: usize = 4;
const LEAST_RING: usize = 1 << 20;
const LARGEST_RING: usize = 1 << 30;

/// Payloads begin on cache lines.
const LINE: usize = 64;

/// Before the ring lie two numbers, each on a line of its own.
const FOUND_AT: usize = 0;
const READ_AT: usize = LINE;
const RING_AT: usize = 2 * LINE;

/// Neither end can make the file shorter under the other's feet.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Memory that both ends see.
#[derive(Debug)]
struct Ring {
    memory: MmapRaw,
    /// Bytes of payload that it holds, a multiple of [`LINE`].
    size: usize,
}

impl Ring {
    fn map(file: &File, size: usize) -> io::Result<Self> {
        let memory = MmapRaw::map_raw(file)?;
        if memory.len() != RING_AT + size {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { memory, size })
    }

    /// One of the two numbers before the ring.
    fn number(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at == FOUND_AT || at == READ_AT);
        // SAFETY: both places lie within the mapping, which is aligned to pages
        // and lives as long as `self`; both ends use them as atomics only.
        unsafe { AtomicU64::from_ptr(self.memory.as_mut_ptr().add(at).cast()) }
    }

    /// Where `length` bytes from position `position` on lie.
    fn place(&self, position: u64, length: usize) -> Option<*mut u8> {
        let offset = usize::try_from(position % self.size as u64).ok()?;
        let fits = offset % LINE == 0 && length <= self.size && offset <= self.size - length;
        // SAFETY: `RING_AT + offset + length` is at most the mapping's length.
        fits.then(|| unsafe { self.memory.as_mut_ptr().add(RING_AT + offset) })
    }
}

/// The sender's end of a ring.
#[derive(Debug)]
pub(crate) struct Outbox {
    ring: Ring,
    /// Keeps the file's entry in `/proc` until the receiver has opened it.
    file: File,
    /// Bytes laid out since the beginning, skipped ones included.
    written: u64,
}

/// What the receiver must know to find a ring. It travels in the place of a
/// frame's header, which it is not:
///
/// ```text
///  0  zero        6 bytes
///  6  127         u8    in the place of an encoding
///  7  zero        u8
///  8  process     u32
/// 12  descriptor  u32
/// 16  size        u64   bytes of payload that the ring holds
/// 24  zero        8 bytes
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) process: u32,
    pub(crate) descriptor: u32,
    pub(crate) size: u64,
}

/// No encoding of a payload.
const ANNOUNCES: u8 = 127;

impl Announcement {
    pub(crate) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[ENCODING_AT] = ANNOUNCES;
        bytes[8..12].copy_from_slice(&self.process.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.descriptor.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.size.to_le_bytes());
        bytes
    }

    /// None if the bytes are another frame's header.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        if bytes[ENCODING_AT] != ANNOUNCES {
            return None;
        }
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        Some(Self {
            process: word(8),
            descriptor: word(12),
            size: u64::from(word(16)) | u64::from(word(20)) << 32,
        })
    }
}

impl Outbox {
    /// A ring for payloads of about `length` bytes.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let size = length
            .saturating_mul(PAYLOADS)
            .clamp(LEAST_RING, LARGEST_RING)
            .next_multiple_of(LINE);
        let file = File::from(memfd_create(
            "paceline-wire",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?);
        file.set_len((RING_AT + size) as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(Self {
            ring: Ring::map(&file, size)?,
            file,
            written: 0,
        })
    }

    /// Whether a payload of `length` bytes may ever fit.
    pub(crate) fn suits(&self, length: usize) -> bool {
        length <= self.ring.size / 2
    }

    pub(crate) fn announcement(&self) -> Announcement {
        Announcement {
            process: std::process::id(),
            descriptor: u32::try_from(self.file.as_raw_fd()).expect("descriptors are not negative"),
            size: self.ring.size as u64,
        }
    }

    /// Lays the slices out one after the other and says where; nowhere if the
    /// receiver has not found the ring, or has not read enough of it.
    pub(crate) fn lay(&mut self, slices: &[&[u8]]) -> Option<u64> {
        if self.ring.number(FOUND_AT).load(Ordering::Acquire) == 0 {
            return None;
        }
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let size = self.ring.size as u64;
        let mut position = self.written;
        let left = size - position % size;
        if left < length as u64 {
            // What is left before the ring's end is too short: a payload lies
            // in one piece.
            position += left;
        }
        let end = position + length.next_multiple_of(LINE) as u64;
        let read = self.ring.number(READ_AT).load(Ordering::Acquire);
        if end.checked_sub(read)? > size {
            return None;
        }
        let mut to = self.ring.place(position, length)?;
        for slice in slices {
            // SAFETY: `place` vouches for `length` bytes in all. The receiver
            // has read everything that lay here before: what it has not read
            // begins at `read`, within `size` bytes before `end`.
            unsafe {
                std::ptr::copy_nonoverlapping(slice.as_ptr(), to, slice.len());
                to = to.add(slice.len());
            }
        }
        self.written = end;
        Some(position)
    }
}

/// The receiver's end of a ring.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    ring: Arc<Ring>,
    /// Where each payload that has been taken ends, and whether it has been
    /// released: they are released in any order, but the sender may use the
    /// memory again only from the oldest on.
    taken: Arc<Mutex<VecDeque<(u64, bool)>>>,
}

/// A payload in the ring; dropping it lets the sender use its memory again.
#[derive(Debug)]
pub(crate) struct Lease {
    inbox: Inbox,
    position: u64,
    length: usize,
}

impl Lease {
    /// The payload's words.
    pub(crate) fn words(&self) -> &[u32] {
        let words = self.inbox.words(self.position, self.length);
        words.expect("its place was checked when it was taken")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.inbox.release(end_of(self.position, self.length));
    }
}

/// Where the memory of a payload ends.
fn end_of(position: u64, length: usize) -> u64 {
    position + length.next_multiple_of(LINE) as u64
}

impl Inbox {
    /// Opens the ring that a peer announced.
    ///
    /// # Errors
    /// If it cannot be opened, or is not what was announced.
    pub(crate) fn open(announced: Announcement) -> io::Result<Self> {
        let size = usize::try_from(announced.size)
            .ok()
            .filter(|size| *size <= LARGEST_RING && size % LINE == 0 && *size > 0)
            .ok_or(io::ErrorKind::InvalidData)?;
        let path = format!("/proc/{}/fd/{}", announced.process, announced.descriptor);
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        // Without these seals the peer could make reading fault.
        if !fcntl_get_seals(&file)?.contains(SEALS) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let ring = Ring::map(&file, size)?;
        ring.number(FOUND_AT).store(1, Ordering::Release);
        Ok(Self {
            ring: Arc::new(ring),
            taken: Arc::default(),
        })
    }

    /// The payload of `length` bytes at `position`; none if no payload can lie
    /// there.
    pub(crate) fn take(&self, position: u64, length: usize) -> Option<Lease> {
        self.words(position, length)?;
        self.taken().push_back((end_of(position, length), false));
        Some(Lease {
            inbox: self.clone(),
            position,
            length,
        })
    }

    fn words(&self, position: u64, length: usize) -> Option<&[u32]> {
        let place = self.ring.place(position, length.next_multiple_of(4))?;
        // SAFETY: the words lie within the mapping, on a cache line. The sender
        // does not write there before `release` says that they are read, and
        // any bits are numbers.
        Some(unsafe { std::slice::from_raw_parts(place.cast(), length.div_ceil(4)) })
    }

    fn release(&self, end: u64) {
        let mut taken = self.taken();
        if let Some(own) = taken.iter_mut().find(|own| **own == (end, false)) {
            own.1 = true;
        }
        let mut read = None;
        while let Some((end, _)) = taken.pop_front_if(|(_, is_released)| *is_released) {
            read = Some(end);
        }
        if let Some(read) = read {
            self.ring.number(READ_AT).store(read, Ordering::Release);
        }
    }

    fn taken(&self) -> MutexGuard<'_, VecDeque<(u64, bool)>> {
        self.taken.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Encoding, Header, Kind};

    fn ends(length: usize) -> (Outbox, Inbox) {
        let outbox = Outbox::new(length).unwrap();
        let inbox = Inbox::open(outbox.announcement()).unwrap();
        (outbox, inbox)
    }

    fn bytes(lease: &Lease) -> Vec<u8> {
        bytemuck::cast_slice::<u32, u8>(lease.words())[..lease.length].to_vec()
    }

    #[test]
    fn an_announcement_survives_its_bytes_and_is_no_header() {
        let announced = Announcement {
            process: 0x0403_0201,
            descriptor: 7,
            size: 1 << 40 | 64,
        };
        let bytes = announced.encode();
        assert_eq!(Announcement::decode(&bytes), Some(announced));
        assert!(Header::decode(&bytes).is_err());
        let frame = Header::new(Kind(1)).encode(Encoding::Bytes, 0);
        assert_eq!(Announcement::decode(&frame), None);
    }

    #[test]
    fn payloads_arrive_in_order_round_after_round() {
        let (mut outbox, inbox) = ends(LEAST_RING / PAYLOADS);
        for round in 0..50_usize {
            let length = 100_000 + 777 * round;
            let payload: Vec<u8> = (0..length).map(|at| (at * 31 + round) as u8).collect();
            let (front, back) = payload.split_at(length / 3);
            let position = outbox.lay(&[front, back]).expect("the ring is empty");
            let lease = inbox.take(position, length).unwrap();
            assert_eq!(bytes(&lease), payload);
        }
    }

    #[test]
    fn memory_is_used_again_from_the_oldest_payload_on() {
        let (mut outbox, inbox) = ends(LEAST_RING / PAYLOADS);
        let payload = vec![7; LEAST_RING / PAYLOADS];
        let mut leases: Vec<Lease> = (0..PAYLOADS)
            .map(|_| {
                let position = outbox.lay(&[&payload]).expect("there is room");
                inbox.take(position, payload.len()).unwrap()
            })
            .collect();
        drop(leases.remove(1));
        assert_eq!(outbox.lay(&[&payload]), None, "the first is still read");
        drop(leases.remove(0));
        assert!(outbox.lay(&[&payload]).is_some());
        assert!(outbox.lay(&[&payload]).is_some());
        assert_eq!(outbox.lay(&[&payload]), None);
    }

    #[test]
    fn a_full_ring_takes_nothing_until_something_is_read() {
        let (mut outbox, inbox) = ends(LEAST_RING / PAYLOADS);
        let payload = vec![7; LEAST_RING / PAYLOADS];
        let positions: Vec<u64> = (0..PAYLOADS)
            .map(|_| outbox.lay(&[&payload]).expect("there is room"))
            .collect();
        assert_eq!(outbox.lay(&[&payload]), None);
        assert_eq!(outbox.lay(&[&[1]]), None);
        drop(inbox.take(positions[0], payload.len()).unwrap());
        assert!(outbox.lay(&[&payload]).is_some());
        assert_eq!(outbox.lay(&[&payload]), None);
    }

    #[test]
    fn nothing_is_laid_out_before_the_ring_is_found() {
        let mut outbox = Outbox::new(1).unwrap();
        assert_eq!(outbox.lay(&[&[1, 2, 3]]), None);
        let _inbox = Inbox::open(outbox.announcement()).unwrap();
        assert_eq!(outbox.lay(&[&[1, 2, 3]]), Some(0));
    }

    #[test]
    fn a_file_that_is_no_ring_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len((RING_AT + LEAST_RING) as u64).unwrap();
        let announced = Announcement {
            process: std::process::id(),
            descriptor: u32::try_from(file.as_raw_fd()).unwrap(),
            size: LEAST_RING as u64,
        };
        assert!(Inbox::open(announced).is_err());
        let outbox = Outbox::new(1).unwrap();
        for size in [0, 1, u64::MAX, LEAST_RING as u64 + 64] {
            let wrong = Announcement {
                size,
                ..outbox.announcement()
            };
            assert!(Inbox::open(wrong).is_err(), "{size}");
        }
    }

    #[test]
    fn a_place_outside_the_ring_is_none() {
        let (_outbox, inbox) = ends(1);
        assert!(inbox.take(1, 4).is_none());
        assert!(inbox.take(0, LEAST_RING + 4).is_none());
        assert!(inbox.take((LEAST_RING - LINE) as u64, 2 * LINE).is_none());
        assert!(inbox.take((LEAST_RING - LINE) as u64, LINE).is_some());
    }
}
