//! Versions of the parameters: how they are sent and put together.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use paceline_kernels::AlignedBuffer;
use paceline_nets::Tally;

use super::milestones::Due;
use super::protocol::{Buffer, Caption, ProtocolError, SnapshotPart};
use crate::optimizer::{Optimizer, OptimizerState};

/// The parameters as they stood after some step, consistent over all shards.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) steps: u64,
    pub(crate) parameters: Arc<AlignedBuffer>,
    pub(crate) optimizer: OptimizerState,
    /// The training rows since the last snapshot.
    pub(crate) tally: Tally,
    /// What is due.
    pub(crate) due: Due,
}

impl Snapshot {
    pub(crate) fn caption(&self) -> Caption {
        Caption {
            steps: self.steps,
            optimizer_steps: self.optimizer.steps,
            tally: self.tally,
            due: self.due,
        }
    }

    /// All of it, to be sent.
    pub(crate) fn view(&self) -> SnapshotView<'_> {
        SnapshotView {
            caption: self.caption(),
            parameters: &self.parameters,
            moments: self.optimizer.moments.iter().map(|all| &all[..]).collect(),
        }
    }
}

/// What of a snapshot is sent.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotView<'a> {
    pub(crate) caption: Caption,
    pub(crate) parameters: &'a [f32],
    pub(crate) moments: Vec<&'a [f32]>,
}

impl SnapshotView<'_> {
    /// Sends it, part by part.
    ///
    /// # Errors
    /// The first of `send`.
    pub(crate) fn send<E>(
        &self,
        mut send: impl FnMut(SnapshotPart<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        send(SnapshotPart::Caption(self.caption))?;
        let moments = (0..).map(Buffer::Moment).zip(self.moments.iter().copied());
        let buffers = [(Buffer::Parameters, self.parameters)]
            .into_iter()
            .chain(moments);
        for (number, (buffer, values)) in buffers.enumerate() {
            send(SnapshotPart::Values {
                steps: self.caption.steps,
                buffer,
                is_last: number == self.moments.len(),
                values,
            })?;
        }
        Ok(())
    }
}

/// More snapshots than any two shards can be apart.
const MOST_PARTIAL: usize = 8;

/// Puts snapshots together from what one or several members send of them.
#[derive(Debug)]
pub(crate) struct Assembler {
    optimizer: Optimizer,
    len: usize,
    /// By member: what of the parameters it sends.
    ranges: Vec<Range<usize>>,
    partial: BTreeMap<u64, Partial>,
}

/// A snapshot of which parts are still on their way.
#[derive(Debug)]
struct Partial {
    caption: Option<Caption>,
    parameters: AlignedBuffer,
    optimizer: OptimizerState,
    complete: Vec<bool>,
}

impl Assembler {
    /// Of snapshots of which each member sends a range.
    pub(crate) fn new(optimizer: Optimizer, ranges: Vec<Range<usize>>) -> Self {
        Self {
            optimizer,
            len: ranges.iter().map(|range| range.end).max().unwrap_or(0),
            ranges,
            partial: BTreeMap::new(),
        }
    }

    /// Of snapshots that one member sends whole.
    pub(crate) fn whole(optimizer: Optimizer, len: usize) -> Self {
        Self::new(optimizer, std::iter::once(0..len).collect())
    }

    /// Takes what member `from` sends; gives the snapshot when all have sent
    /// theirs. The first member's caption is that of the whole.
    ///
    /// # Errors
    /// If the part belongs to no snapshot of this model.
    pub(crate) fn take(
        &mut self,
        from: usize,
        part: SnapshotPart<'_>,
    ) -> Result<Option<Snapshot>, ProtocolError> {
        let malformed = |what| ProtocolError::Malformed {
            name: "snapshot",
            what,
        };
        let steps = match part {
            SnapshotPart::Caption(caption) => caption.steps,
            SnapshotPart::Values { steps, .. } => steps,
        };
        if self.partial.len() >= MOST_PARTIAL && !self.partial.contains_key(&steps) {
            return Err(malformed("too many before it are incomplete"));
        }
        let range = self.ranges[from].clone();
        let members = self.ranges.len();
        let partial = self.partial.entry(steps).or_insert_with(|| Partial {
            caption: None,
            parameters: AlignedBuffer::zeroed(self.len),
            optimizer: OptimizerState::new(self.optimizer, self.len),
            complete: vec![false; members],
        });
        match part {
            SnapshotPart::Caption(caption) => {
                if from == 0 {
                    partial.caption = Some(caption);
                }
                return Ok(None);
            }
            SnapshotPart::Values {
                buffer,
                is_last,
                values,
                ..
            } => {
                let whole = match buffer {
                    Buffer::Parameters => Some(&mut partial.parameters),
                    Buffer::Moment(number) => partial.optimizer.moments.get_mut(number as usize),
                };
                let whole = whole.ok_or(malformed("the optimizer has no such moment"))?;
                if values.len() != range.len() {
                    return Err(malformed("it is of another size"));
                }
                whole[range].copy_from_slice(values);
                partial.complete[from] |= is_last;
            }
        }
        if !partial.complete.iter().all(|part| *part) {
            return Ok(None);
        }
        let partial = self.partial.remove(&steps).expect("it was put there above");
        let caption = partial.caption.ok_or(malformed("it has no caption"))?;
        // What is older will not be completed any more.
        self.partial.retain(|step, _| *step > steps);
        Ok(Some(Snapshot {
            steps,
            parameters: Arc::new(partial.parameters),
            optimizer: OptimizerState {
                steps: caption.optimizer_steps,
                ..partial.optimizer
            },
            tally: caption.tally,
            due: caption.due,
        }))
    }

    /// What has not been completed will not be.
    pub(crate) fn clear(&mut self) {
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(rule: &str, len: usize) -> Snapshot {
        let mut optimizer = OptimizerState::new(rule.parse().unwrap(), len);
        optimizer.steps = 7;
        for (number, moment) in optimizer.moments.iter_mut().enumerate() {
            moment.fill(number as f32 + 0.5);
        }
        let mut parameters = AlignedBuffer::zeroed(len);
        for (at, value) in parameters.iter_mut().enumerate() {
            *value = -(at as f32);
        }
        Snapshot {
            steps: 9,
            parameters: Arc::new(parameters),
            optimizer,
            tally: Tally {
                loss: 0.25,
                hits: 1,
                rows: 2,
            },
            due: Due {
                evaluation: true,
                ..Due::default()
            },
        }
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    fn check_same(found: &Snapshot, sent: &Snapshot) {
        assert_eq!(found.caption(), sent.caption());
        assert_eq!(bits(&found.parameters), bits(&sent.parameters));
        for (one, other) in found.optimizer.moments.iter().zip(&sent.optimizer.moments) {
            assert_eq!(bits(one), bits(other));
        }
    }

    #[test]
    fn a_snapshot_is_put_together_from_its_parts() {
        for rule in ["sgd", "momentum", "adam"] {
            let sent = snapshot(rule, 48);
            let mut assembler = Assembler::whole(rule.parse().unwrap(), 48);
            let mut found = None;
            sent.view()
                .send(|part| {
                    assert!(found.is_none(), "it was complete before its last part");
                    found = assembler.take(0, part)?;
                    Ok::<_, ProtocolError>(())
                })
                .unwrap();
            check_same(&found.unwrap(), &sent);
        }
    }

    #[test]
    fn shards_make_a_whole_in_any_order_and_the_first_speaks_for_all() {
        let sent = snapshot("adam", 48);
        let ranges = vec![0..16, 16..32, 32..48];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut assembler = Assembler::new("adam".parse().unwrap(), ranges.clone());
            let mut found = None;
            for shard in order {
                let range = ranges[shard].clone();
                let mut caption = sent.caption();
                caption.tally.rows += shard as u64;
                let view = SnapshotView {
                    caption,
                    parameters: &sent.parameters[range.clone()],
                    moments: sent
                        .optimizer
                        .moments
                        .iter()
                        .map(|all| &all[range.clone()])
                        .collect(),
                };
                view.send(|part| {
                    found = assembler.take(shard, part)?;
                    Ok::<_, ProtocolError>(())
                })
                .unwrap();
            }
            check_same(&found.unwrap(), &sent);
        }
    }

    #[test]
    fn what_is_no_snapshot_of_the_model_is_refused() {
        let mut assembler = Assembler::whole("sgd".parse().unwrap(), 4);
        let values = |buffer, values| SnapshotPart::Values {
            steps: 1,
            buffer,
            is_last: true,
            values,
        };
        let short = assembler.take(0, values(Buffer::Parameters, &[0.0; 3]));
        assert!(short.unwrap_err().to_string().contains("another size"));
        let moment = assembler.take(0, values(Buffer::Moment(0), &[0.0; 4]));
        assert!(moment.unwrap_err().to_string().contains("no such moment"));
        let bare = assembler.take(0, values(Buffer::Parameters, &[0.0; 4]));
        assert!(bare.unwrap_err().to_string().contains("no caption"));
    }

    #[test]
    fn incomplete_snapshots_are_bounded() {
        let mut assembler = Assembler::whole("sgd".parse().unwrap(), 4);
        let caption = |steps| {
            SnapshotPart::Caption(Caption {
                steps,
                ..snapshot("sgd", 4).caption()
            })
        };
        for steps in 0..MOST_PARTIAL as u64 {
            assert!(assembler.take(0, caption(steps)).is_ok());
        }
        assert!(assembler.take(0, caption(100)).is_err());
        assembler.clear();
        assert!(assembler.take(0, caption(100)).is_ok());
    }
}
