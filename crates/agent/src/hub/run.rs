//! A run that takes place on several nodes, as the controller follows it.

use super::clock::TimeMap;
use crate::protocol::NodeMessage;
use paceline_engine::{Ending, Message, NodeEvent, Tee};
use paceline_model::{ExitStatus, Micros, NodeName, Stream, WorkerId};
use paceline_probe::Cost;
use paceline_records::SampleBytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// What all nodes of a run have in common: how many have not ended, and what is
/// known of the end.
pub(crate) struct WholeRun {
    open: Mutex<(usize, Ending)>,
}

impl WholeRun {
    pub(crate) fn of(nodes: usize) -> Arc<Self> {
        let ending = Ending {
            leftovers: 0,
            memory_kills: 0,
            probe: None,
        };
        Arc::new(Self {
            open: Mutex::new((nodes, ending)),
        })
    }
}

/// The part of a run that takes place on one node.
pub(crate) struct NodeRun {
    pub(crate) number: u64,
    /// When the run's clock read zero, by the controller's clock.
    began: i64,
    node: NodeName,
    whole: Arc<WholeRun>,
    state: Mutex<State>,
}

struct State {
    /// Where everything goes; nowhere once the node has said its last word, so
    /// that the channel closes with the last node.
    messages: Option<SyncSender<Message>>,
    /// Absent until the node has begun.
    map: Option<TimeMap>,
    /// When the node's clock of the run read zero, by the agent's clock.
    zero: Option<u64>,
    /// Workers that have not exited.
    left: BTreeSet<WorkerId>,
    tees: BTreeMap<(WorkerId, bool), Tee>,
    samples: Option<SampleBytes>,
    /// Whether the node has said its last word.
    is_over: bool,
}

impl NodeRun {
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them are one thing: the run"
    )]
    pub(crate) fn new(
        number: u64,
        began: i64,
        node: NodeName,
        whole: Arc<WholeRun>,
        messages: SyncSender<Message>,
        left: BTreeSet<WorkerId>,
        tees: BTreeMap<(WorkerId, bool), Tee>,
        dictionary: &[u8],
    ) -> Self {
        Self {
            number,
            began,
            node,
            whole,
            state: Mutex::new(State {
                messages: Some(messages),
                map: None,
                zero: None,
                left,
                tees,
                samples: SampleBytes::reader(dictionary).ok(),
                is_over: false,
            }),
        }
    }

    /// The node has begun when the agent's clock read `zero`; the agent's clock is
    /// ahead by `offset`.
    pub(crate) fn begin(&self, zero: u64, offset: i64) {
        let mut state = self.state.lock();
        state.zero = Some(zero);
        state.map = Some(TimeMap::new(zero, self.began, offset));
    }

    /// How the node's times are to be read, if its clock is ahead by `offset`.
    pub(crate) fn time_map(&self, offset: i64) -> Option<TimeMap> {
        let zero = self.state.lock().zero?;
        Some(TimeMap::new(zero, self.began, offset))
    }

    /// A time of the controller's clock as a time of the run.
    pub(crate) fn run_time(&self, at: Micros) -> Micros {
        let at = i64::try_from(at.0).unwrap_or(i64::MAX) - self.began;
        Micros(u64::try_from(at).unwrap_or(0))
    }

    /// Passes on what the node says. `target` is how its times would be read if it
    /// began now.
    pub(crate) fn take(&self, message: NodeMessage, target: Option<TimeMap>) {
        let messages = self.state.lock().messages.clone();
        if let Some(messages) = messages
            && let Some(message) = self.translate(message, target)
        {
            // Outside of the lock: a full record holds this node back, not us. If
            // nobody listens any more, the run is being torn down.
            let _ = messages.send(message);
        }
    }

    fn translate(&self, message: NodeMessage, target: Option<TimeMap>) -> Option<Message> {
        let mut state = self.state.lock();
        if state.is_over {
            return None;
        }
        let map = state.map?;
        Some(match message {
            NodeMessage::Begun { .. } | NodeMessage::Refused { .. } => return None,
            NodeMessage::Started { worker, at, pid } => Message::Started {
                worker: WorkerId(worker),
                at: map.map(at),
                pid,
            },
            NodeMessage::Output {
                worker,
                stream,
                at,
                bytes,
            } => {
                let worker = WorkerId(worker);
                let place = (worker, stream == Stream::Err);
                if let Some(tee) = state.tees.get_mut(&place)
                    && tee.0.write_all(&bytes).is_err()
                {
                    // Whoever reads our own output has gone; the record goes on.
                    state.tees.remove(&place);
                }
                Message::Output {
                    worker,
                    stream,
                    at: map.map(at),
                    bytes,
                }
            }
            NodeMessage::Sample { bytes } => {
                let mut sample = state.samples.as_ref()?.decode(&bytes)?;
                let at = sample.at.0;
                if let (Some(map), Some(target)) = (&mut state.map, &target) {
                    map.follow(at, target);
                }
                sample.at = state.map?.map(at);
                Message::Sample {
                    node: self.node.clone(),
                    sample: Box::new(sample),
                }
            }
            NodeMessage::Suspended {
                worker,
                stopped,
                at,
            } => Message::Suspended {
                worker: WorkerId(worker),
                stopped,
                at: map.map(at),
            },
            NodeMessage::Reports { at, bytes } => Message::Reports {
                node: self.node.clone(),
                at: map.map(at),
                bytes,
            },
            NodeMessage::Exited {
                worker,
                at,
                status,
                usage,
            } => {
                let worker = WorkerId(worker);
                // An exit that nobody waits for is not of this run.
                if !state.left.remove(&worker) {
                    return None;
                }
                Message::Exited {
                    worker,
                    at: map.map(at),
                    status,
                    usage,
                }
            }
            NodeMessage::Ended {
                run,
                leftovers,
                memory_kills,
                probe,
            } => {
                if run != self.number {
                    return None;
                }
                state.is_over = true;
                state.messages = None;
                drop(state);
                return self.close(leftovers, memory_kills, probe);
            }
        })
    }

    /// One node less; the last one gives the end of the run.
    fn close(
        &self,
        leftovers: u32,
        memory_kills: u64,
        probe: Option<(f64, u64)>,
    ) -> Option<Message> {
        let mut open = self.whole.open.lock();
        let (left, ending) = &mut *open;
        ending.leftovers = ending.leftovers.saturating_add(leftovers);
        ending.memory_kills += memory_kills;
        if let Some((cpu_s, samples)) = probe {
            let so_far = ending.probe.get_or_insert(Cost {
                cpu_s: 0.0,
                samples: 0,
                rss_bytes: None,
            });
            so_far.cpu_s += cpu_s;
            so_far.samples += samples;
        }
        *left -= 1;
        (*left == 0).then(|| Message::Ended(ending.clone()))
    }

    /// Says what happened to the node or to the line.
    pub(crate) fn notice(&self, at: Micros, what: NodeEvent) {
        let messages = self.state.lock().messages.clone();
        if let Some(messages) = messages {
            let _ = messages.send(Message::Noticed {
                node: self.node.clone(),
                at,
                what,
            });
        }
    }

    /// Gives the node up: what ran on it is lost.
    pub(crate) fn lose(&self, at: Micros) {
        let (left, messages) = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.is_over, true) {
                return;
            }
            let Some(messages) = state.messages.take() else {
                return;
            };
            (std::mem::take(&mut state.left), messages)
        };
        let _ = messages.send(Message::Noticed {
            node: self.node.clone(),
            at,
            what: NodeEvent::Lost,
        });
        for worker in left {
            let _ = messages.send(Message::Exited {
                worker,
                at,
                status: ExitStatus::Lost,
                usage: paceline_engine::Usage::default(),
            });
        }
        if let Some(end) = self.close(0, 0, None) {
            let _ = messages.send(end);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }
}
