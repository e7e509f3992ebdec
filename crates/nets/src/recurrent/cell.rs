use paceline_kernels::{Kernels, LstmStep};

/// How a state follows from the sums of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// h = tanh(z): the simple recurrent network of Elman 1990.
    Tanh,
    /// Long short-term memory with a forget gate (Gers et al. 2000).
    Lstm,
}

/// What one step of one direction works on; slices are row-major, one row for
/// each sequence.
pub(super) struct StepForward<'a> {
    /// The sums z of the step, which become the gates.
    pub(super) gates: &'a mut [f32],
    pub(super) state_before: &'a [f32],
    pub(super) state: &'a mut [f32],
    pub(super) squashed: &'a mut [f32],
    pub(super) output: &'a mut [f32],
}

/// The same on the way back.
pub(super) struct StepBackward<'a> {
    /// The gates, which become the gradients by the sums.
    pub(super) gates: &'a mut [f32],
    pub(super) state_before: &'a [f32],
    pub(super) squashed: &'a [f32],
    pub(super) output: &'a [f32],
    /// The gradient by the output.
    pub(super) output_slopes: &'a [f32],
    /// The gradient by the state, which becomes that by the state before.
    pub(super) state_slopes: &'a mut [f32],
}

impl Cell {
    /// Sums that a hidden unit needs.
    pub(super) fn gates(self) -> usize {
        match self {
            Self::Tanh => 1,
            Self::Lstm => 4,
        }
    }

    /// Values that a hidden unit keeps besides its output: none, or a state
    /// and its hyperbolic tangent.
    pub(super) fn has_state(self) -> bool {
        self == Self::Lstm
    }

    pub(super) fn forward(self, kernels: Kernels, hidden: usize, step: StepForward<'_>) {
        match self {
            Self::Tanh => {
                step.output.copy_from_slice(step.gates);
                kernels.tanh(step.output);
            }
            Self::Lstm => kernels.lstm_forward(
                hidden,
                LstmStep {
                    gates: step.gates,
                    before: step.state_before,
                },
                step.state,
                step.squashed,
                step.output,
            ),
        }
    }

    pub(super) fn backward(self, kernels: Kernels, hidden: usize, step: StepBackward<'_>) {
        match self {
            Self::Tanh => {
                step.gates.copy_from_slice(step.output_slopes);
                kernels.tanh_backward(step.output, step.gates);
            }
            Self::Lstm => kernels.lstm_backward(
                hidden,
                LstmStep {
                    gates: step.gates,
                    before: step.state_before,
                },
                step.squashed,
                step.output_slopes,
                step.state_slopes,
            ),
        }
    }
}
