//! A group's connections, seen from beside it.

use std::sync::Arc;

use super::Group;
use crate::stream::Stream;
use crate::traffic::{Counters, Traffic};

/// A group's connections, for a thread beside the one that reduces: what they
/// carried, and how to break them.
#[derive(Clone, Debug)]
pub struct Links(Vec<(Arc<Stream>, Arc<Counters>)>);

impl Links {
    /// Breaks the group: whoever of its members waits for another is told at
    /// once, on this host and on others.
    pub fn cut(&self) {
        for (stream, _) in &self.0 {
            stream.shut_down();
        }
    }

    /// Bytes that all connections together have sent and received.
    pub fn bytes(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(sent, received), (_, link)| {
            let Traffic {
                bytes_sent,
                bytes_received,
                ..
            } = link.snapshot();
            (sent + bytes_sent, received + bytes_received)
        })
    }
}

impl Group {
    /// The group's connections, for another thread.
    pub fn links(&self) -> Links {
        let readers = self.readers.iter().flatten();
        Links(
            readers
                .map(|reader| (Arc::clone(&reader.stream), Arc::clone(&reader.counters)))
                .collect(),
        )
    }
}
