use paceline_kernels::{Finish, Kernels, Matrix, MatrixMut, Start};

use super::cell::Cell;
use super::direction::{Direction, Extent, Trace};
use super::lookups::{Lookups, most_lookups};
use super::memory::{Budget, Free, Memory};
use crate::draw::{Draw, glorot_bound};
use crate::{Batch, Gradient, Input, Inputs, Layout, Model, ModelBase, Tally};

/// Bound of a token's starting vector, as Keras draws it.
const EMBEDDING_BOUND: f32 = 0.05;

/// A recurrent classifier's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecurrentShape {
    /// What the steps of a sequence are.
    pub sequence: Sequence,
    /// How a state follows from the one before.
    pub cell: Cell,
    /// From which ends the sequence is read.
    pub reading: Reading,
    /// Hidden units of each direction, at least 1.
    pub hidden: usize,
    /// Classes to tell apart, at least 1.
    pub classes: usize,
}

/// What the steps of a sequence are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Tokens, each with a vector that is learned.
    ///
    /// Shorter texts are padded on the left with a null word, token 0, which
    /// has a vector like any other: the network learns to pass over it, as in
    /// the Keras network without masking that such texts are usually given to.
    Tokens {
        /// Tokens of a sequence.
        length: usize,
        /// One more than the largest token.
        vocabulary: usize,
        /// Values of a token's vector.
        embedding: usize,
    },
    /// A dense row, cut into steps: the lines of an image.
    Steps {
        /// Steps of a row.
        steps: usize,
        /// Values of a step.
        width: usize,
    },
}

/// From which ends a sequence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// From the start.
    Forward,
    /// From both ends, by separate weights (Schuster & Paliwal 1997).
    BothWays,
}

/// A recurrent network over a sequence, with a softmax of its last state.
#[derive(Clone, Debug)]
pub struct RecurrentClassifier {
    shape: RecurrentShape,
    base: ModelBase,
    directions: Vec<Direction>,
    head_weight: usize,
    head_bias: usize,
    table: usize,
    kernels: Kernels,
}

/// Everything that a call works with.
struct Workspace<Part> {
    traces: Vec<Trace<Part>>,
    /// What the steps read: vectors of the tokens looked up, or all steps.
    inputs: Part,
    logits: Part,
    tokens: TokenMemory<Part>,
}

/// What only tokens need.
struct TokenMemory<Part> {
    slots: Part,
    lookups: Part,
    places: Part,
    /// A shared lookup's share of the sums; backward, the gradient by it.
    shares: Part,
    /// The gradient by the tokens' vectors.
    input_slopes: Part,
}

impl Sequence {
    fn steps(self) -> usize {
        match self {
            Self::Tokens { length, .. } => length,
            Self::Steps { steps, .. } => steps,
        }
    }

    /// Values that a step gives to the cells.
    fn inputs(self) -> usize {
        match self {
            Self::Tokens { embedding, .. } => embedding,
            Self::Steps { width, .. } => width,
        }
    }

    /// The rows that hold such sequences.
    fn rows(self) -> Input {
        match self {
            Self::Tokens {
                length, vocabulary, ..
            } => Input::Tokens { length, vocabulary },
            Self::Steps { steps, width } => Input::Dense {
                width: steps * width,
            },
        }
    }

    /// Entries of the table.
    fn vocabulary(self) -> usize {
        match self {
            Self::Tokens { vocabulary, .. } => vocabulary,
            Self::Steps { .. } => 0,
        }
    }
}

impl RecurrentClassifier {
    /// A model of these sizes.
    ///
    /// # Panics
    ///
    /// If there are no hidden units or no classes.
    pub fn new(shape: RecurrentShape, kernels: Kernels) -> Self {
        assert!(shape.hidden > 0, "a recurrent network has hidden units");
        assert!(shape.classes > 0, "a classifier has classes");
        let mut layout = Layout::builder();
        let ends: &[bool] = match shape.reading {
            Reading::Forward => &[false],
            Reading::BothWays => &[false, true],
        };
        let directions: Vec<Direction> = ends
            .iter()
            .map(|from_end| {
                Direction::new(
                    shape.cell,
                    *from_end,
                    shape.sequence.inputs(),
                    shape.hidden,
                    &mut layout,
                )
            })
            .collect();
        let head_weight = layout.matrix(
            "head.weight",
            directions.len() * shape.hidden,
            shape.classes,
            shape.classes,
        );
        let head_bias = layout.vector("head.bias", shape.classes, shape.classes);
        let table = match shape.sequence {
            Sequence::Tokens {
                vocabulary,
                embedding,
                ..
            } => layout.table("embedding.weight", vocabulary, embedding, embedding),
            Sequence::Steps { .. } => 0,
        };
        Self {
            shape,
            base: ModelBase {
                layout: layout.build(),
                input: shape.sequence.rows(),
                classes: shape.classes,
            },
            directions,
            head_weight,
            head_bias,
            table,
            kernels,
        }
    }

    /// The sizes it was made with.
    pub fn shape(&self) -> RecurrentShape {
        self.shape
    }

    fn extent(&self, rows: usize) -> Extent {
        Extent {
            rows,
            steps: self.shape.sequence.steps(),
        }
    }

    fn workspace<M: Memory>(&self, rows: usize, memory: &mut M) -> Workspace<M::Part> {
        let extent = self.extent(rows);
        let sequence = self.shape.sequence;
        let places = extent.places();
        let (inputs, vocabulary) = (sequence.inputs(), sequence.vocabulary());
        let lookups = most_lookups(places, vocabulary);
        let gates = self.shape.cell.gates() * self.shape.hidden;
        Workspace {
            traces: self
                .directions
                .iter()
                .map(|direction| direction.trace(extent, memory))
                .collect(),
            inputs: memory.take(match sequence {
                Sequence::Tokens { .. } => lookups * inputs,
                Sequence::Steps { .. } => places * inputs,
            }),
            logits: memory.take(rows * self.shape.classes),
            tokens: TokenMemory {
                slots: memory.take(vocabulary),
                lookups: memory.take(lookups),
                places: memory.take(if vocabulary > 0 { places } else { 0 }),
                shares: memory.take(lookups * gates),
                input_slopes: memory.take(lookups * inputs),
            },
        }
    }

    /// A direction's rows of the head's weights.
    fn head<'a>(&self, index: usize, parameters: &'a [f32]) -> Matrix<'a> {
        let (hidden, classes) = (self.shape.hidden, self.shape.classes);
        let from = self.head_weight + index * hidden * classes;
        Matrix::new(&parameters[from..], hidden, classes, classes)
    }

    /// Fills the traces and the logits.
    fn forward<'a>(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        workspace: Workspace<&'a mut [f32]>,
    ) -> Passed<'a> {
        let kernels = self.kernels;
        let extent = self.extent(batch.rows());
        let width = self.shape.sequence.inputs();
        let Workspace {
            mut traces,
            inputs,
            logits,
            tokens,
        } = workspace;
        let (count, tokens) = match (self.shape.sequence, batch.inputs) {
            (Sequence::Tokens { length, .. }, Inputs::Tokens { ids, length: given }) => {
                assert_eq!(length, given, "sequences are as long as the model's");
                let in_time =
                    (0..length).flat_map(|step| ids.iter().skip(step).step_by(length).copied());
                let lookups = Lookups::find(in_time, tokens.slots, tokens.lookups, tokens.places);
                for (token, vector) in lookups.tokens().zip(inputs.chunks_exact_mut(width)) {
                    let from = self.table + token as usize * width;
                    vector.copy_from_slice(&parameters[from..from + width]);
                }
                let count = lookups.count();
                let tokens = PassedTokens {
                    lookups,
                    shares: tokens.shares,
                    input_slopes: tokens.input_slopes,
                };
                (count, Some(tokens))
            }
            (Sequence::Steps { steps, .. }, Inputs::Dense { values, width: row }) => {
                assert_eq!(row, steps * width, "rows are as wide as the model");
                for (place, to) in inputs.chunks_exact_mut(width).enumerate() {
                    let (step, index) = (place / extent.rows, place % extent.rows);
                    to.copy_from_slice(&values[index * row + step * width..][..width]);
                }
                (extent.places(), None)
            }
            _ => panic!("a model is given rows of the kind that its `input` says"),
        };
        let mut passed = Passed {
            traces: Vec::new(),
            inputs,
            count,
            logits,
            tokens,
        };
        for (index, (direction, trace)) in self.directions.iter().zip(&mut traces).enumerate() {
            self.input_shares(parameters, direction, &mut passed, trace);
            direction.forward(kernels, parameters, extent, trace);
            kernels.gemm(
                direction.last_outputs(extent, trace),
                self.head(index, parameters),
                MatrixMut::new(
                    passed.logits,
                    extent.rows,
                    self.shape.classes,
                    self.shape.classes,
                ),
                if index == 0 {
                    Start::Bias(&parameters[self.head_bias..])
                } else {
                    Start::Keep
                },
                Finish::Plain,
            );
        }
        passed.traces = traces;
        passed
    }

    /// Writes the inputs' share of the sums, bias included, to the gates.
    fn input_shares(
        &self,
        parameters: &[f32],
        direction: &Direction,
        passed: &mut Passed<'_>,
        trace: &mut Trace<&mut [f32]>,
    ) {
        let gates = direction.gates();
        let width = self.shape.sequence.inputs();
        let tokens = passed.tokens.as_mut();
        let mut spread =
            tokens.and_then(|tokens| Some((tokens.lookups.shared()?, &mut *tokens.shares)));
        let shares: &mut [f32] = match &mut spread {
            Some((_, shares)) => shares,
            None => trace.gates,
        };
        self.kernels.gemm(
            Matrix::new(passed.inputs, passed.count, width, width),
            direction.input_weight(parameters),
            MatrixMut::new(shares, passed.count, gates, gates),
            Start::Bias(direction.bias(parameters)),
            Finish::Plain,
        );
        if let Some((places, shares)) = spread {
            for (to, lookup) in trace.gates.chunks_exact_mut(gates).zip(places) {
                to.copy_from_slice(&shares[lookup * gates..][..gates]);
            }
        }
    }

    /// From the gradients by the sums to those of the inputs' weights, and of
    /// the tokens' vectors.
    fn input_gradients(
        &self,
        parameters: &[f32],
        index: usize,
        passed: &mut Passed<'_>,
        gradient: &mut [f32],
    ) {
        let kernels = self.kernels;
        let direction = &self.directions[index];
        let gates = direction.gates();
        let width = self.shape.sequence.inputs();
        let by_sums = &*passed.traces[index].gates;
        let (gathered, input_slopes) = match &mut passed.tokens {
            Some(tokens) => (
                tokens
                    .lookups
                    .shared()
                    .map(|places| (places, &mut *tokens.shares)),
                Some(&mut *tokens.input_slopes),
            ),
            None => (None, None),
        };
        let slopes: &[f32] = match gathered {
            None => by_sums,
            Some((places, shares)) => {
                shares[..passed.count * gates].fill(0.0);
                for (from, lookup) in by_sums.chunks_exact(gates).zip(places) {
                    kernels.axpy(1.0, from, &mut shares[lookup * gates..][..gates]);
                }
                shares
            }
        };
        let slopes = Matrix::new(slopes, passed.count, gates, gates);
        kernels.gemm(
            Matrix::new(passed.inputs, passed.count, width, width).transposed(),
            slopes,
            direction.input_weight_mut(gradient),
            Start::Zero,
            Finish::Plain,
        );
        kernels.column_sums(slopes, direction.bias_mut(gradient));
        if let Some(input_slopes) = input_slopes {
            kernels.gemm(
                slopes,
                direction.input_weight(parameters).transposed(),
                MatrixMut::new(input_slopes, passed.count, width, width),
                if index == 0 { Start::Zero } else { Start::Keep },
                Finish::Plain,
            );
        }
    }
}

/// What a forward pass leaves.
struct Passed<'a> {
    traces: Vec<Trace<&'a mut [f32]>>,
    inputs: &'a mut [f32],
    /// Rows of `inputs` in use.
    count: usize,
    logits: &'a mut [f32],
    tokens: Option<PassedTokens<'a>>,
}

struct PassedTokens<'a> {
    lookups: Lookups<'a>,
    shares: &'a mut [f32],
    input_slopes: &'a mut [f32],
}

impl Model for RecurrentClassifier {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn initialize(&self, seed: u64, parameters: &mut [f32]) {
        let mut draw = Draw::new(seed);
        for direction in &self.directions {
            direction.initialize(&self.base.layout, &mut draw, parameters);
        }
        for segment in self.base.layout.segments() {
            if segment.offset == self.head_weight {
                let bound = glorot_bound(segment.rows, segment.columns);
                draw.fill(segment, bound, parameters);
            }
        }
        if let Some(table) = self.base.layout.table() {
            draw.fill(table, EMBEDDING_BOUND, parameters);
        }
    }

    fn scratch_len(&self, rows: usize) -> usize {
        let mut budget = Budget::default();
        self.workspace(rows, &mut budget);
        budget.0
    }

    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
    ) -> Tally {
        let kernels = self.kernels;
        let extent = self.extent(batch.rows());
        let (hidden, classes) = (self.shape.hidden, self.shape.classes);
        let workspace = self.workspace(extent.rows, &mut Free(scratch));
        let mut passed = self.forward(parameters, batch, workspace);
        let found =
            kernels.softmax_cross_entropy(passed.logits, classes, classes, batch.labels, scale);
        let dense = gradient.dense_mut();
        // Rows have no padding, so that all of it is at the segments' ends.
        for segment in self.base.layout.segments() {
            let end = segment.range().end.min(dense.len());
            dense[(segment.offset + segment.rows * segment.stride).min(end)..end].fill(0.0);
        }
        kernels.column_sums(
            Matrix::new(passed.logits, extent.rows, classes, classes),
            &mut dense[self.head_bias..][..classes],
        );
        for (index, direction) in self.directions.iter().enumerate() {
            let trace = &mut passed.traces[index];
            let logits = Matrix::new(passed.logits, extent.rows, classes, classes);
            let from = self.head_weight + index * hidden * classes;
            kernels.gemm(
                direction.last_outputs(extent, trace).transposed(),
                logits,
                MatrixMut::new(&mut dense[from..], hidden, classes, classes),
                Start::Zero,
                Finish::Plain,
            );
            kernels.gemm(
                logits,
                self.head(index, parameters).transposed(),
                MatrixMut::new(trace.output_slopes, extent.rows, hidden, hidden),
                Start::Zero,
                Finish::Plain,
            );
            direction.backward(kernels, parameters, extent, trace, dense);
            self.input_gradients(parameters, index, &mut passed, dense);
        }
        if let Some(tokens) = &passed.tokens {
            let width = self.shape.sequence.inputs();
            for (token, slopes) in tokens
                .lookups
                .tokens()
                .zip(tokens.input_slopes.chunks_exact(width))
            {
                kernels.axpy(1.0, slopes, gradient.row_mut(token));
            }
        }
        Tally::of(found, extent.rows)
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, scratch: &mut [f32]) -> Tally {
        let classes = self.shape.classes;
        let workspace = self.workspace(batch.rows(), &mut Free(scratch));
        let passed = self.forward(parameters, batch, workspace);
        let found = self
            .kernels
            .cross_entropy(passed.logits, classes, classes, batch.labels);
        Tally::of(found, batch.rows())
    }

    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        scratch: &mut [f32],
    ) {
        let workspace = self.workspace(batch.rows(), &mut Free(scratch));
        let passed = self.forward(parameters, batch, workspace);
        scores[..passed.logits.len()].copy_from_slice(passed.logits);
    }

    /// Of the products; for tokens as if each were looked up.
    fn flops_per_row(&self) -> f64 {
        let sequence = self.shape.sequence;
        let gates = (self.shape.cell.gates() * self.shape.hidden) as f64;
        // Forward, weights backward and, but for given values, inputs backward.
        let input_products = match sequence {
            Sequence::Tokens { .. } => 3.0,
            Sequence::Steps { .. } => 2.0,
        };
        let step = 2.0
            * gates
            * (input_products * sequence.inputs() as f64 + 3.0 * self.shape.hidden as f64);
        let head = 6.0 * (self.shape.hidden * self.shape.classes) as f64;
        self.directions.len() as f64 * (sequence.steps() as f64 * step + head)
    }
}
