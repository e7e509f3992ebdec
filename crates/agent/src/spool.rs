//! What an agent has to say and its controller has not got yet.
//!
//! While the line is there and the controller keeps up, messages wait in memory:
//! writing them to a disk would disturb what is measured. While the line is cut,
//! and beyond a few MiB, they wait in a file. Nothing is dropped: beyond the
//! file's limit whoever speaks has to wait.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How much waits in memory, and in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) memory_bytes: usize,
    pub(crate) file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 4 << 20,
            file_bytes: 1 << 30,
        }
    }
}

/// Numbered messages until their arrival is known.
#[derive(Debug)]
pub(crate) struct Spool {
    limits: Limits,
    file: File,
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// A message with its number, ready for its frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) kind: u16,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Entry>,
    /// The number of the first that waits; numbers begin at one.
    first: u64,
    /// The number of the next to be sent over this connection.
    next: u64,
    memory_bytes: usize,
    /// Where the next message is written; everything before may be waiting.
    file_end: u64,
    in_file: usize,
    is_connected: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    kind: u16,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(Vec<u8>),
    File { offset: u64, length: usize },
}

impl Spool {
    /// A spool whose file is `path`, which must not exist.
    pub(crate) fn create(path: &Path, limits: Limits) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        let inner = Inner {
            first: 1,
            next: 1,
            ..Inner::default()
        };
        Ok(Self {
            limits,
            file,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
        })
    }

    /// Adds a message; waits while there is no room. False if the spool is closed.
    pub(crate) fn append(&self, kind: u16, bytes: &[u8]) -> bool {
        let mut inner = self.inner.lock();
        loop {
            if inner.is_closed {
                return false;
            }
            if let Some(place) = self.place(&mut inner, bytes) {
                inner.waiting.push_back(Entry { kind, place });
                self.changed.notify_all();
                return true;
            }
            self.changed.wait(&mut inner);
        }
    }

    fn place(&self, inner: &mut Inner, bytes: &[u8]) -> Option<Place> {
        let in_memory = inner.memory_bytes + bytes.len();
        // Order among places does not matter: the queue has it.
        if inner.is_connected && (in_memory <= self.limits.memory_bytes || inner.memory_bytes == 0)
        {
            inner.memory_bytes = in_memory;
            return Some(Place::Memory(bytes.to_vec()));
        }
        let end = inner.file_end + bytes.len() as u64;
        if end > self.limits.file_bytes && inner.in_file > 0 {
            return None;
        }
        let offset = inner.file_end;
        if self.file.write_all_at(bytes, offset).is_err() {
            // A full disk: what little there is stays in memory, more has to wait.
            if in_memory > self.limits.memory_bytes && inner.memory_bytes > 0 {
                return None;
            }
            inner.memory_bytes = in_memory;
            return Some(Place::Memory(bytes.to_vec()));
        }
        inner.file_end = end;
        inner.in_file += 1;
        Some(Place::File {
            offset,
            length: bytes.len(),
        })
    }

    /// The next message that was not sent over this connection; waits up to
    /// `patience` for one.
    pub(crate) fn next(&self, patience: Duration) -> io::Result<Option<Numbered>> {
        let mut inner = self.inner.lock();
        let is_idle = |inner: &mut Inner| !inner.is_closed && inner.unsent().is_none();
        self.changed.wait_while_for(&mut inner, is_idle, patience);
        let Some(entry) = inner.unsent() else {
            return Ok(None);
        };
        let kind = entry.kind;
        let bytes = match &entry.place {
            Place::Memory(bytes) => bytes.clone(),
            Place::File { offset, length } => {
                let mut bytes = vec![0; *length];
                self.file.read_exact_at(&mut bytes, *offset)?;
                bytes
            }
        };
        let number = inner.next;
        inner.next += 1;
        Ok(Some(Numbered {
            number,
            kind,
            bytes,
        }))
    }

    /// Messages up to `number` have arrived.
    pub(crate) fn arrived(&self, number: u64) {
        let mut inner = self.inner.lock();
        self.forget(&mut inner, number);
    }

    fn forget(&self, inner: &mut MutexGuard<'_, Inner>, number: u64) {
        let mut freed = false;
        while inner.first <= number {
            let Some(entry) = inner.waiting.pop_front() else {
                break;
            };
            inner.first += 1;
            freed = true;
            match entry.place {
                Place::Memory(bytes) => inner.memory_bytes -= bytes.len(),
                Place::File { .. } => inner.in_file -= 1,
            }
        }
        if inner.in_file == 0 && inner.file_end > 0 {
            inner.file_end = 0;
            // The room is used again in any case.
            let _ = self.file.set_len(0);
        }
        inner.next = inner.next.max(inner.first);
        if freed {
            self.changed.notify_all();
        }
    }

    /// There is a connection, over which messages up to `received` need not go.
    pub(crate) fn connected(&self, received: u64) {
        let mut inner = self.inner.lock();
        self.forget(&mut inner, received);
        inner.next = inner.first;
        inner.is_connected = true;
        self.changed.notify_all();
    }

    /// There is no connection any more.
    pub(crate) fn disconnected(&self) {
        self.inner.lock().is_connected = false;
    }

    /// Whether everything has arrived.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.inner.lock().waiting.is_empty()
    }

    /// Nobody will fetch anything any more: whoever waits for room goes on.
    pub(crate) fn close(&self) {
        self.inner.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl Inner {
    fn unsent(&self) -> Option<&Entry> {
        let at = usize::try_from(self.next.checked_sub(self.first)?).ok()?;
        self.waiting.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const NOW: Duration = Duration::ZERO;

    fn spool(limits: Limits) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::create(&dir.path().join("spool"), limits).unwrap();
        (dir, spool)
    }

    fn sent(spool: &Spool) -> Vec<(u64, Vec<u8>)> {
        std::iter::from_fn(|| spool.next(NOW).unwrap())
            .map(|message| (message.number, message.bytes))
            .collect()
    }

    #[test]
    fn what_has_not_arrived_is_sent_again_over_the_next_connection() {
        let (_dir, spool) = spool(Limits::default());
        spool.connected(0);
        for word in ["one", "two", "three"] {
            assert!(spool.append(1, word.as_bytes()));
        }
        assert_eq!(sent(&spool).len(), 3);
        spool.disconnected();
        assert!(spool.append(1, b"four"));
        spool.connected(1);
        let again = [
            (2, b"two".to_vec()),
            (3, b"three".to_vec()),
            (4, b"four".to_vec()),
        ];
        assert_eq!(sent(&spool), again);
        spool.arrived(4);
        assert!(spool.is_empty());
    }

    #[test]
    fn while_the_line_is_cut_messages_are_on_the_disk() {
        let (dir, spool) = spool(Limits::default());
        let on_disk = || std::fs::metadata(dir.path().join("spool")).unwrap().len();
        spool.connected(0);
        spool.append(1, b"in memory");
        assert_eq!(on_disk(), 0);
        spool.disconnected();
        spool.append(1, b"on disk");
        assert_eq!(on_disk(), 7);
        spool.connected(1);
        assert_eq!(sent(&spool), [(2, b"on disk".to_vec())]);
        spool.arrived(2);
        assert_eq!(on_disk(), 0);
    }

    #[test]
    fn whoever_speaks_waits_for_room_and_loses_nothing() {
        let limits = Limits {
            memory_bytes: 16,
            file_bytes: 64,
        };
        let (_dir, spool) = spool(limits);
        let spool = Arc::new(spool);
        let writer = {
            let spool = Arc::clone(&spool);
            std::thread::spawn(move || (0..1000_u32).all(|i| spool.append(1, &i.to_le_bytes())))
        };
        spool.connected(0);
        let mut expected = 0_u32;
        while expected < 1000 {
            let Some(message) = spool.next(Duration::from_secs(30)).unwrap() else {
                panic!("message {expected} never came");
            };
            assert_eq!(message.bytes, expected.to_le_bytes());
            expected += 1;
            assert_eq!(message.number, u64::from(expected));
            spool.arrived(message.number);
        }
        assert!(writer.join().unwrap());
    }

    #[test]
    fn a_closed_spool_holds_nobody() {
        let limits = Limits {
            memory_bytes: 1,
            file_bytes: 1,
        };
        let (_dir, spool) = spool(limits);
        let spool = Arc::new(spool);
        assert!(spool.append(1, b"fills the file"));
        let writer = {
            let spool = Arc::clone(&spool);
            std::thread::spawn(move || spool.append(1, b"waits"))
        };
        spool.close();
        assert!(!writer.join().unwrap());
    }
}
