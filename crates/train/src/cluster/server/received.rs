//! What a worker sent of an update.

use paceline_kernels::Kernels;
use paceline_nets::Tally;
use paceline_wire::{Held, Payload};

use crate::cluster::compress::unpack_dense;
use crate::cluster::protocol::{ProtocolError, TRAILER, tally_of};
use crate::cluster::shard::Gathered;
use crate::cluster::update::{Part, Span};

/// What a worker sent of an update.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The dense part and its trailer where they arrived, if nothing had to be
    /// decoded.
    pub(super) frame: Held,
    /// The dense part otherwise.
    dense: Vec<f32>,
    rows: Vec<u32>,
    cells: Vec<f32>,
    tally: Tally,
}

fn malformed(what: &'static str) -> ProtocolError {
    ProtocolError::Malformed { name: "push", what }
}

impl Received {
    /// What was found on its rows.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// The dense part and its trailer in the frame that is held.
    fn held(&self) -> Option<(&[f32], &[f32; TRAILER])> {
        match self.frame.frame()?.payload() {
            Ok(Payload::Dense(values)) => values.split_last_chunk(),
            _ => None,
        }
    }

    /// A frame was put into `frame`: whether it fits.
    pub(super) fn check_held(&mut self, span: &Span) -> Result<(), ProtocolError> {
        let tally = match self.held() {
            Some((dense, found)) if dense.len() == span.dense.len() => tally_of(found),
            _ => return Err(malformed("it is of another size")),
        };
        self.begin(tally);
        Ok(())
    }

    /// Keeps a part that has to be decoded or copied.
    pub(super) fn take(
        &mut self,
        kernels: Kernels,
        span: &Span,
        values: Payload<'_>,
    ) -> Result<(), ProtocolError> {
        match values {
            Payload::Rows {
                width,
                rows,
                values,
            } => {
                let fits = width as usize == span.stride
                    && rows.iter().all(|row| span.rows.contains(row))
                    && rows.is_sorted_by(|one, next| one < next);
                if !fits {
                    return Err(malformed("its rows are not this shard's"));
                }
                self.rows.clear();
                self.rows.extend_from_slice(rows);
                self.cells.clear();
                self.cells.extend_from_slice(values);
            }
            Payload::Dense(values) => {
                let (dense, found) = values
                    .split_last_chunk()
                    .filter(|(dense, _)| dense.len() == span.dense.len())
                    .ok_or(malformed("it is of another size"))?;
                self.frame.release();
                self.dense.clear();
                self.dense.extend_from_slice(dense);
                self.begin(tally_of(found));
            }
            dense => {
                let len = span.dense.len();
                let found = unpack_dense(kernels, dense, len, &mut self.dense)
                    .ok_or(malformed("it is of another size"))?;
                self.frame.release();
                self.begin(tally_of(&found));
            }
        }
        Ok(())
    }

    /// The dense part begins an update.
    fn begin(&mut self, tally: Tally) {
        self.tally = tally;
        self.rows.clear();
        self.cells.clear();
    }
}

impl Gathered for Received {
    fn part<'a>(&'a self, _: &Span) -> Part<'a> {
        Part {
            dense: self.held().map_or(&self.dense, |(dense, _)| dense),
            rows: &self.rows,
            cells: &self.cells,
        }
    }

    fn release(&mut self) {
        self.frame.release();
    }
}
