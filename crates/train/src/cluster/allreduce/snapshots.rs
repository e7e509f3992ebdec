//! A whole snapshot over one connection.

use std::sync::Arc;

use paceline_kernels::AlignedBuffer;
use paceline_nets::Layout;
use paceline_wire::{Flags, Frame, Header, Kind, Payload, SendError, WriteHalf};

use crate::cluster::evaluator::Snapshot;
use crate::cluster::frames::Caption;
use crate::optimizer::{Optimizer, OptimizerState};

/// Sends a snapshot: what is said of it, then its numbers.
pub(super) fn send(writer: &mut WriteHalf, snapshot: &Snapshot) -> Result<(), SendError> {
    let header = |kind| Header::new(kind).clock(snapshot.steps);
    let caption = Caption {
        tally: snapshot.tally,
        optimizer_steps: snapshot.optimizer.steps,
        due: snapshot.due,
    };
    writer.send(&header(Kind::Saved), Payload::Bytes(&caption.pack()))?;
    let moments = &snapshot.optimizer.moments;
    let flag = |is_last: bool| if is_last { Flags::LAST } else { Flags::NONE };
    let first = header(Kind::Parameters).flags(flag(moments.is_empty()));
    writer.send(&first, Payload::Dense(&snapshot.parameters))?;
    for (number, moment) in (1..).zip(moments) {
        let header = header(Kind::Checkpoint)
            .at(0, number)
            .flags(flag(number as usize == moments.len()));
        writer.send(&header, Payload::Dense(moment))?;
    }
    Ok(())
}

/// A snapshot on its way here.
pub(super) struct Arriving {
    len: usize,
    optimizer: Optimizer,
    part: Option<Snapshot>,
}

impl Arriving {
    /// Nothing yet, of a model with this layout.
    pub(super) fn new(layout: &Layout, optimizer: Optimizer) -> Self {
        Self {
            len: layout.len(),
            optimizer,
            part: None,
        }
    }

    /// Takes a frame; gives the snapshot when it is complete. What does not
    /// belong to one is passed over.
    pub(super) fn take(&mut self, frame: &Frame<'_>) -> Option<Snapshot> {
        let header = frame.header;
        match (header.kind, frame.payload().ok()?) {
            (Kind::Saved, Payload::Bytes(bytes)) => {
                let caption = Caption::unpack(bytes)?;
                let mut optimizer = OptimizerState::new(self.optimizer, self.len);
                optimizer.steps = caption.optimizer_steps;
                self.part = Some(Snapshot {
                    steps: header.clock,
                    parameters: Arc::new(AlignedBuffer::zeroed(self.len)),
                    optimizer,
                    tally: caption.tally,
                    due: caption.due,
                });
                return None;
            }
            (Kind::Parameters | Kind::Checkpoint, Payload::Dense(values)) => {
                let part = self
                    .part
                    .as_mut()
                    .filter(|part| part.steps == header.clock)?;
                let place = match (header.kind, header.start.checked_sub(1)) {
                    (Kind::Parameters, _) => Arc::get_mut(&mut part.parameters)?,
                    (_, moment) => part
                        .optimizer
                        .moments
                        .get_mut(usize::try_from(moment?).ok()?)?,
                };
                if place.len() != values.len() {
                    self.part = None;
                    return None;
                }
                place.copy_from_slice(values);
            }
            _ => return None,
        }
        if header.flags.has(Flags::LAST) {
            self.part.take()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::evaluator::Due;
    use paceline_nets::Tally;
    use paceline_wire::{Connection, Deadline, Member, Role, Settings};

    #[test]
    fn a_snapshot_survives_its_way() {
        let mut builder = Layout::builder();
        builder.matrix("weight", 3, 5, 16);
        let layout = builder.build();
        for rule in ["sgd", "momentum", "adam"] {
            let rule: Optimizer = rule.parse().unwrap();
            let mut optimizer = OptimizerState::new(rule, layout.len());
            optimizer.steps = 7;
            for (number, moment) in optimizer.moments.iter_mut().enumerate() {
                moment.fill(number as f32 + 0.5);
            }
            let mut parameters = AlignedBuffer::zeroed(layout.len());
            parameters.fill(-0.0);
            let sent = Snapshot {
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
            };
            let member = |rank| Member {
                role: Role::Worker,
                rank,
                incarnation: 0,
            };
            let (a, b) = Connection::pair(member(0), member(1), &Settings::default()).unwrap();
            let (_reader, mut writer) = a.split();
            let (mut reader, _writer) = b.split();
            send(&mut writer, &sent).unwrap();
            let mut arriving = Arriving::new(&layout, rule);
            let found = loop {
                let frame = reader.receive(Deadline::NEVER).unwrap();
                if let Some(found) = arriving.take(&frame) {
                    break found;
                }
            };
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(
                (found.steps, found.tally, found.due),
                (9, sent.tally, sent.due)
            );
            assert_eq!(found.optimizer.steps, 7);
            assert_eq!(bits(&found.parameters), bits(&sent.parameters));
            for (one, other) in found.optimizer.moments.iter().zip(&sent.optimizer.moments) {
                assert_eq!(bits(one), bits(other));
            }
        }
    }
}
