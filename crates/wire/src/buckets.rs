//! All-reduce by buckets, while the backward pass goes on.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::group::{Group, ReduceError};

/// Reduces buckets of a gradient on a thread of its own, in the order in which
/// they are started, while the caller computes the next ones.
///
/// All members start the same buckets in the same order. A bucket is copied
/// when it is started, while the caller's cache still holds it, and its sums
/// are copied back at the end; the buffers are used again.
#[derive(Debug)]
pub struct Buckets {
    requests: Option<SyncSender<Bucket>>,
    results: Receiver<Result<Bucket, ReduceError>>,
    thread: Option<JoinHandle<Group>>,
    /// Buffers to be used again.
    spare: Vec<Vec<f32>>,
    /// Sums that were taken off the thread's hands before the end.
    reduced: Vec<Bucket>,
    /// How many buckets the thread has and has not handed back.
    outstanding: usize,
    failure: Option<ReduceError>,
}

#[derive(Debug)]
struct Bucket {
    start: usize,
    values: Vec<f32>,
}

/// How many buckets the thread may have; beyond it the backward pass waits for
/// the network.
const OUTSTANDING: usize = 256;

impl Buckets {
    /// Hands `group` to a thread.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
    pub fn new(mut group: Group) -> std::io::Result<Self> {
        // Neither channel ever holds more than what is outstanding: the thread
        // never waits for the caller.
        let (requests, incoming) = sync_channel::<Bucket>(OUTSTANDING);
        let (outgoing, results) = sync_channel(OUTSTANDING);
        let thread = std::thread::Builder::new()
            .name("wire-buckets".to_owned())
            .spawn(move || {
                for mut bucket in incoming {
                    let reduced = group.all_reduce(&mut bucket.values);
                    if outgoing.send(reduced.map(|()| bucket)).is_err() {
                        break;
                    }
                }
                group
            })?;
        Ok(Self {
            requests: Some(requests),
            results,
            thread: Some(thread),
            spare: Vec::new(),
            reduced: Vec::new(),
            outstanding: 0,
            failure: None,
        })
    }

    /// Starts to reduce `values`, which lie at `start` in the gradient. Returns
    /// at once; a failure is reported by [`Buckets::finish`].
    pub fn start(&mut self, start: usize, values: &[f32]) {
        if self.outstanding == OUTSTANDING {
            self.take_one();
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(values);
        let bucket = Bucket {
            start,
            values: copy,
        };
        let requests = self
            .requests
            .as_ref()
            .expect("only dropping ends the requests");
        match requests.send(bucket) {
            Ok(()) => self.outstanding += 1,
            // The thread ends early only by a panic.
            Err(_) => self.fail(ReduceError::Broken),
        }
    }

    /// Waits for all buckets that were started, and puts their sums where they
    /// lie in `gradient`.
    ///
    /// # Errors
    ///
    /// The first failure of a bucket; see [`ReduceError`].
    ///
    /// # Panics
    ///
    /// A bucket lies beyond the end of `gradient`.
    pub fn finish(&mut self, gradient: &mut [f32]) -> Result<(), ReduceError> {
        while self.outstanding > 0 {
            self.take_one();
        }
        if let Some(failure) = self.failure.take() {
            self.reduced.clear();
            return Err(failure);
        }
        for Bucket { start, values } in self.reduced.drain(..) {
            gradient[start..start + values.len()].copy_from_slice(&values);
            self.spare.push(values);
        }
        Ok(())
    }

    /// Waits for all buckets that were started, and gives the group back;
    /// `None` if its thread panicked.
    pub fn into_group(mut self) -> Option<Group> {
        self.requests = None;
        self.thread.take().and_then(|thread| thread.join().ok())
    }

    fn take_one(&mut self) {
        match self.results.recv() {
            Ok(Ok(bucket)) => {
                self.reduced.push(bucket);
                self.outstanding -= 1;
            }
            Ok(Err(failure)) => {
                self.fail(failure);
                self.outstanding -= 1;
            }
            Err(_) => {
                self.fail(ReduceError::Broken);
                self.outstanding = 0;
            }
        }
    }

    fn fail(&mut self, failure: ReduceError) {
        self.failure.get_or_insert(failure);
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported as a failure already.
            let _ = thread.join();
        }
    }
}
