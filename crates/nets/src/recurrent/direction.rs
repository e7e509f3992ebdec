use paceline_kernels::{Finish, Kernels, Matrix, MatrixMut, Start};

use super::cell::{Cell, StepBackward, StepForward};
use super::memory::Memory;
use super::panels::Panels;
use crate::draw::{Draw, glorot_bound};
use crate::{Layout, LayoutBuilder};

/// One way through the sequences, with its own weights.
///
/// Everything that a pass keeps is in the order of the sequence's positions,
/// also when it reads from the end: the states stand between the positions, so
/// that position `t` lies between slots `t` and `t + 1`, and only which of the
/// two comes first depends on the direction.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    cell: Cell,
    from_end: bool,
    inputs: usize,
    hidden: usize,
    input_weight: usize,
    recurrent_weight: usize,
    bias: usize,
}

/// How many sequences there are, and of how many steps.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) steps: usize,
}

impl Extent {
    /// Positions of all sequences.
    pub(super) fn places(self) -> usize {
        self.rows * self.steps
    }
}

/// What a pass keeps, for the way back.
pub(super) struct Trace<Part> {
    /// At each place, step after step and within a step row after row: the
    /// sums, then the gates, then the gradients by the sums.
    pub(super) gates: Part,
    outputs: Part,
    states: Part,
    squashed: Part,
    panels: Part,
    /// The gradient by the last output, to be set before the way back.
    pub(super) output_slopes: Part,
    state_slopes: Part,
}

impl Direction {
    /// Adds the weights to a layout.
    pub(super) fn new(
        cell: Cell,
        from_end: bool,
        inputs: usize,
        hidden: usize,
        layout: &mut LayoutBuilder,
    ) -> Self {
        let name = if from_end { "backward" } else { "forward" };
        let gates = cell.gates() * hidden;
        Self {
            cell,
            from_end,
            inputs,
            hidden,
            input_weight: layout.matrix(&format!("{name}.input.weight"), inputs, gates, gates),
            recurrent_weight: layout.matrix(
                &format!("{name}.recurrent.weight"),
                hidden,
                gates,
                gates,
            ),
            bias: layout.vector(&format!("{name}.bias"), gates, gates),
        }
    }

    /// Sums for each place: one for each gate of each hidden unit.
    pub(super) fn gates(&self) -> usize {
        self.cell.gates() * self.hidden
    }

    pub(super) fn trace<M: Memory>(&self, extent: Extent, memory: &mut M) -> Trace<M::Part> {
        let (row, places) = (extent.rows * self.hidden, extent.places());
        let kept = usize::from(self.cell.has_state());
        Trace {
            gates: memory.take(places * self.gates()),
            outputs: memory.take(places * self.hidden + row),
            states: memory.take(kept * (places * self.hidden + row)),
            squashed: memory.take(kept * places * self.hidden),
            panels: memory.take(self.hidden * self.gates()),
            output_slopes: memory.take(row),
            state_slopes: memory.take(kept * row),
        }
    }

    /// The weights of the inputs, `inputs × gates`.
    pub(super) fn input_weight<'a>(&self, parameters: &'a [f32]) -> Matrix<'a> {
        let gates = self.gates();
        Matrix::new(&parameters[self.input_weight..], self.inputs, gates, gates)
    }

    /// The same part of a gradient.
    pub(super) fn input_weight_mut<'a>(&self, gradient: &'a mut [f32]) -> MatrixMut<'a> {
        let gates = self.gates();
        MatrixMut::new(
            &mut gradient[self.input_weight..],
            self.inputs,
            gates,
            gates,
        )
    }

    pub(super) fn bias<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.bias..][..self.gates()]
    }

    pub(super) fn bias_mut<'a>(&self, gradient: &'a mut [f32]) -> &'a mut [f32] {
        &mut gradient[self.bias..][..self.gates()]
    }

    /// Starting values. The forget gates' bias is 1, so that a cell remembers
    /// at first (Jozefowicz et al. 2015).
    pub(super) fn initialize(&self, layout: &Layout, draw: &mut Draw, parameters: &mut [f32]) {
        for segment in layout.segments() {
            if segment.offset == self.input_weight {
                draw.fill(segment, glorot_bound(self.inputs, self.hidden), parameters);
            } else if segment.offset == self.recurrent_weight {
                draw.fill(segment, 1.0 / (self.hidden as f32).sqrt(), parameters);
            }
        }
        if self.cell == Cell::Lstm {
            parameters[self.bias + self.hidden..][..self.hidden].fill(1.0);
        }
    }

    /// The slot of the states after the last step.
    fn last_slot(&self, steps: usize) -> usize {
        if self.from_end { 0 } else { steps }
    }

    /// The slots before and after the step at a position.
    fn slots(&self, position: usize) -> (usize, usize) {
        if self.from_end {
            (position + 1, position)
        } else {
            (position, position + 1)
        }
    }

    /// The outputs after the last step, a row for each sequence.
    pub(super) fn last_outputs<'a>(
        &self,
        extent: Extent,
        trace: &'a Trace<&mut [f32]>,
    ) -> Matrix<'a> {
        let row = extent.rows * self.hidden;
        Matrix::new(
            &trace.outputs[self.last_slot(extent.steps) * row..][..row],
            extent.rows,
            self.hidden,
            self.hidden,
        )
    }

    /// Runs through the sequences. `trace.gates` holds the inputs' share of the
    /// sums, bias included.
    pub(super) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        extent: Extent,
        trace: &mut Trace<&mut [f32]>,
    ) {
        let Extent { rows, steps } = extent;
        let (row, gates) = (rows * self.hidden, rows * self.gates());
        let first_slot = steps - self.last_slot(steps);
        trace.outputs[first_slot * row..][..row].fill(0.0);
        if self.cell.has_state() {
            trace.states[first_slot * row..][..row].fill(0.0);
        }
        let weight = Panels::of(
            &parameters[self.recurrent_weight..],
            self.hidden,
            self.gates(),
            rows,
            trace.panels,
        );
        for number in 0..steps {
            let position = if self.from_end {
                steps - 1 - number
            } else {
                number
            };
            let slots = self.slots(position);
            let gates = &mut trace.gates[position * gates..][..gates];
            let (output_before, output) = neighbours(trace.outputs, slots, row);
            // The first state is zero and adds nothing.
            if number > 0 {
                weight.multiply(kernels, output_before, rows, gates, Start::Keep);
            }
            let (state_before, state, squashed) = if self.cell.has_state() {
                let (before, state) = neighbours(trace.states, slots, row);
                (before, state, &mut trace.squashed[position * row..][..row])
            } else {
                (&[][..], &mut [][..], &mut [][..])
            };
            self.cell.forward(
                kernels,
                self.hidden,
                StepForward {
                    gates,
                    state_before,
                    state,
                    squashed,
                    output,
                },
            );
        }
    }

    /// Runs back from the gradient by the last output, turns `trace.gates` into
    /// the gradients by the sums, and writes that of the recurrent weights.
    pub(super) fn backward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        extent: Extent,
        trace: &mut Trace<&mut [f32]>,
        gradient: &mut [f32],
    ) {
        let Extent { rows, steps } = extent;
        let (row, gates) = (rows * self.hidden, rows * self.gates());
        trace.state_slopes.fill(0.0);
        let weight = Panels::transposed(
            kernels,
            &parameters[self.recurrent_weight..],
            self.gates(),
            self.hidden,
            rows,
            trace.panels,
        );
        for number in (0..steps).rev() {
            let position = if self.from_end {
                steps - 1 - number
            } else {
                number
            };
            let (before, after) = self.slots(position);
            let gates = &mut trace.gates[position * gates..][..gates];
            let (state_before, squashed) = if self.cell.has_state() {
                (
                    &trace.states[before * row..][..row],
                    &trace.squashed[position * row..][..row],
                )
            } else {
                (&[][..], &[][..])
            };
            self.cell.backward(
                kernels,
                self.hidden,
                StepBackward {
                    gates,
                    state_before,
                    squashed,
                    output: &trace.outputs[after * row..][..row],
                    output_slopes: trace.output_slopes,
                    state_slopes: trace.state_slopes,
                },
            );
            if number > 0 {
                weight.multiply(kernels, gates, rows, trace.output_slopes, Start::Zero);
            }
        }
        // The outputs before each step, in the order of the positions.
        let outputs_before = &trace.outputs[usize::from(self.from_end) * row..];
        kernels.gemm(
            Matrix::new(outputs_before, extent.places(), self.hidden, self.hidden).transposed(),
            Matrix::new(trace.gates, extent.places(), self.gates(), self.gates()),
            MatrixMut::new(
                &mut gradient[self.recurrent_weight..],
                self.hidden,
                self.gates(),
                self.gates(),
            ),
            Start::Zero,
            Finish::Plain,
        );
    }
}

/// Two neighbouring slots of `len` values: the first to be read, the second to
/// be written.
fn neighbours(
    values: &mut [f32],
    (read, write): (usize, usize),
    len: usize,
) -> (&[f32], &mut [f32]) {
    let (lower, upper) = values.split_at_mut(read.max(write) * len);
    let lower = &mut lower[read.min(write) * len..][..len];
    let upper = &mut upper[..len];
    if read < write {
        (lower, upper)
    } else {
        (upper, lower)
    }
}
