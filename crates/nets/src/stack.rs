use paceline_kernels::{AlignedBuffer, Finish, Kernels, Matrix, MatrixMut, Start};

use crate::draw::{Draw, glorot_bound, he_bound};
use crate::{LayoutBuilder, Segment, SegmentKind, Tally};

/// What follows a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(0, x)`.
    Relu,
    /// `tanh(x)`.
    Tanh,
}

impl Activation {
    /// How far from zero a layer's weights may start.
    pub(crate) fn bound(self, inputs: usize, outputs: usize) -> f32 {
        match self {
            Self::Relu => he_bound(inputs),
            Self::Tanh => glorot_bound(inputs, outputs),
        }
    }
}

/// Fully connected layers that end in a softmax: the whole of a multilayer
/// network, the head of a convolutional one.
///
/// Every layer's weights are `inputs × outputs`, rows padded to whole
/// registers, so that each product reads them in the order they lie.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    layers: Vec<Layer>,
    activation: Activation,
    kernels: Kernels,
}

#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// Of the weights' rows and of the outputs' rows.
    stride: usize,
    weight: Segment,
    bias: Segment,
}

impl Layer {
    fn weights<'a>(&self, parameters: &'a [f32]) -> Matrix<'a> {
        Matrix::new(
            &parameters[self.weight.range()],
            self.inputs,
            self.stride,
            self.stride,
        )
    }

    fn transposed_len(&self) -> usize {
        self.stride * AlignedBuffer::padded(self.inputs)
    }
}

impl Stack {
    /// Appends layers of these sizes to a layout. `sizes` begins with the
    /// inputs and ends with the classes; the layers are called `names`.
    pub(crate) fn new(
        layout: &mut LayoutBuilder,
        sizes: &[usize],
        names: &[String],
        activation: Activation,
        kernels: Kernels,
    ) -> Self {
        assert_eq!(sizes.len(), names.len() + 1, "a name for every layer");
        assert!(!names.is_empty(), "a network has at least one layer");
        let mut segment = |name: String, rows, columns| {
            let stride = AlignedBuffer::padded(columns);
            let offset = layout.matrix(&name, rows, columns, stride);
            Segment {
                name,
                offset,
                rows,
                columns,
                stride,
                kind: SegmentKind::Dense,
            }
        };
        let layers = sizes
            .windows(2)
            .zip(names)
            .map(|(pair, name)| Layer {
                inputs: pair[0],
                outputs: pair[1],
                stride: AlignedBuffer::padded(pair[1]),
                weight: segment(format!("{name}.weight"), pair[0], pair[1]),
                bias: segment(format!("{name}.bias"), 1, pair[1]),
            })
            .collect();
        Self {
            layers,
            activation,
            kernels,
        }
    }

    fn last(&self) -> &Layer {
        self.layers.last().expect("a stack has a layer")
    }

    /// Where its parameters begin.
    pub(crate) fn start(&self) -> usize {
        self.layers[0].weight.offset
    }

    pub(crate) fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Draws the weights; biases stay zero. The output layer has no ReLU behind
    /// it.
    pub(crate) fn initialize(&self, draw: &mut Draw, parameters: &mut [f32]) {
        for (index, layer) in self.layers.iter().enumerate() {
            let bound = if index + 1 < self.layers.len() {
                self.activation.bound(layer.inputs, layer.outputs)
            } else {
                glorot_bound(layer.inputs, layer.outputs)
            };
            draw.fill(&layer.weight, bound, parameters);
        }
    }

    pub(crate) fn scratch_len(&self, rows: usize) -> usize {
        let outputs: usize = self
            .layers
            .iter()
            .map(|layer| AlignedBuffer::padded(rows * layer.stride))
            .sum();
        let transposed = self.layers.iter().map(Layer::transposed_len).max();
        2 * outputs + transposed.unwrap_or(0)
    }

    /// Multiplications and additions of one row, forward and backward.
    pub(crate) fn flops_per_row(&self, gradient_of_inputs: bool) -> f64 {
        self.layers
            .iter()
            .enumerate()
            .map(|(index, layer)| {
                let products = if index > 0 || gradient_of_inputs {
                    3
                } else {
                    2
                };
                (2 * products * layer.inputs * layer.outputs) as f64
            })
            .sum()
    }

    /// Loss and hits of rows of inputs; writes the gradient of every layer, and
    /// that of the inputs if wanted. The stack ends where `gradient` does; a
    /// layer's part of it is handed over before the layer below is begun.
    #[expect(clippy::too_many_arguments, reason = "one buffer each, all distinct")]
    pub(crate) fn gradient(
        &self,
        parameters: &[f32],
        inputs: Matrix<'_>,
        labels: &[u32],
        scale: f32,
        gradient: &mut [f32],
        input_gradient: Option<MatrixMut<'_>>,
        scratch: &mut [f32],
        part: &mut dyn FnMut(usize, &[f32]),
    ) -> Tally {
        let rows = inputs.rows();
        let mut scratch = Carver(scratch);
        let mut outputs = self.outputs(rows, &mut scratch);
        self.forward(parameters, inputs, &mut outputs);
        let last = self.last();
        let (logits, hidden) = outputs.split_last_mut().expect("a stack has a layer");
        let found =
            self.kernels
                .softmax_cross_entropy(logits, last.stride, last.outputs, labels, scale);
        let mut slopes = self.outputs(rows, &mut scratch);
        slopes.pop();
        let transposed = scratch.rest();
        let mut slope: &[f32] = logits;
        let mut end = gradient.len();
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let before = match index {
                0 => inputs,
                _ => self.output_of(index - 1, rows, hidden[index - 1]),
            };
            let outer = Matrix::new(slope, rows, layer.stride, layer.stride);
            self.kernels.gemm(
                before.transposed(),
                outer,
                MatrixMut::new(
                    &mut gradient[layer.weight.range()],
                    layer.inputs,
                    layer.stride,
                    layer.stride,
                ),
                Start::Zero,
                Finish::Plain,
            );
            self.kernels
                .column_sums(outer, &mut gradient[layer.bias.range()]);
            let start = layer.weight.offset;
            part(start, &gradient[start..end]);
            end = start;
            if index == 0 {
                break;
            }
            let next = slopes.pop().expect("a buffer for every hidden layer");
            self.backward(
                parameters,
                index,
                outer,
                hidden[index - 1],
                next,
                transposed,
            );
            slope = next;
        }
        if let Some(input_gradient) = input_gradient {
            let layer = &self.layers[0];
            let outer = Matrix::new(slope, rows, layer.outputs, layer.stride);
            let columns = input_gradient.columns();
            let weights = self.transpose(parameters, layer, columns, transposed);
            self.kernels
                .gemm(outer, weights, input_gradient, Start::Zero, Finish::Plain);
        }
        Tally::of(found, rows)
    }

    /// Loss and hits of rows of inputs.
    pub(crate) fn evaluate(
        &self,
        parameters: &[f32],
        inputs: Matrix<'_>,
        labels: &[u32],
        scratch: &mut [f32],
    ) -> Tally {
        let mut outputs = self.outputs(inputs.rows(), &mut Carver(scratch));
        self.forward(parameters, inputs, &mut outputs);
        let last = self.last();
        let logits = outputs.last_mut().expect("a stack has a layer");
        let found = self
            .kernels
            .cross_entropy(logits, last.stride, last.outputs, labels);
        Tally::of(found, inputs.rows())
    }

    /// Writes the logits, without padding.
    pub(crate) fn scores(
        &self,
        parameters: &[f32],
        inputs: Matrix<'_>,
        scores: &mut [f32],
        scratch: &mut [f32],
    ) {
        let mut outputs = self.outputs(inputs.rows(), &mut Carver(scratch));
        self.forward(parameters, inputs, &mut outputs);
        let last = self.last();
        let logits = outputs.last().expect("a stack has a layer");
        for (scores, logits) in scores
            .chunks_exact_mut(last.outputs)
            .zip(logits.chunks_exact(last.stride))
        {
            scores.copy_from_slice(&logits[..last.outputs]);
        }
    }

    fn forward(&self, parameters: &[f32], inputs: Matrix<'_>, outputs: &mut [&mut [f32]]) {
        let rows = inputs.rows();
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, rest) = outputs.split_at_mut(index);
            let input = match before.last() {
                None => inputs,
                Some(before) => self.output_of(index - 1, rows, before),
            };
            let hidden = index + 1 < self.layers.len();
            self.kernels.gemm(
                input,
                layer.weights(parameters),
                MatrixMut::new(rest[0], rows, layer.stride, layer.stride),
                Start::Bias(&parameters[layer.bias.range()]),
                if hidden && self.activation == Activation::Relu {
                    Finish::Relu
                } else {
                    Finish::Plain
                },
            );
            if hidden && self.activation == Activation::Tanh {
                self.kernels.tanh(rest[0]);
            }
        }
    }

    /// The slope at the outputs of layer `index - 1`, from that at the outputs
    /// of layer `index`.
    fn backward(
        &self,
        parameters: &[f32],
        index: usize,
        outer: Matrix<'_>,
        before: &[f32],
        slope: &mut [f32],
        transposed: &mut [f32],
    ) {
        let (layer, below) = (&self.layers[index], &self.layers[index - 1]);
        let weights = self.transpose(parameters, layer, below.stride, transposed);
        let (rows, stride) = (outer.rows(), below.stride);
        self.kernels.gemm(
            outer.narrowed(layer.outputs),
            weights,
            MatrixMut::new(slope, rows, stride, stride),
            Start::Zero,
            match self.activation {
                Activation::Relu => {
                    Finish::WherePositive(Matrix::new(before, rows, stride, stride))
                }
                Activation::Tanh => Finish::Plain,
            },
        );
        if self.activation == Activation::Tanh {
            self.kernels.tanh_backward(before, slope);
        }
    }

    /// A layer's weights as `outputs` rows of `columns`, of which those beyond
    /// the inputs are zero.
    fn transpose<'a>(
        &self,
        parameters: &[f32],
        layer: &Layer,
        columns: usize,
        to: &'a mut [f32],
    ) -> Matrix<'a> {
        if columns > layer.inputs {
            for row in to.chunks_exact_mut(columns).take(layer.outputs) {
                row[layer.inputs..].fill(0.0);
            }
        }
        // Padding and all, which is whole registers.
        self.kernels.transpose(
            layer.weights(parameters),
            MatrixMut::new(to, layer.stride, layer.inputs, columns),
        );
        Matrix::new(to, layer.outputs, columns, columns)
    }

    /// The outputs of layer `index`, without padding.
    fn output_of<'a>(&self, index: usize, rows: usize, values: &'a [f32]) -> Matrix<'a> {
        let layer = &self.layers[index];
        Matrix::new(values, rows, layer.outputs, layer.stride)
    }

    /// A buffer for the outputs of each layer.
    fn outputs<'a>(&self, rows: usize, scratch: &mut Carver<'a>) -> Vec<&'a mut [f32]> {
        self.layers
            .iter()
            .map(|layer| scratch.take(rows * layer.stride))
            .collect()
    }
}

/// Cuts scratch space into buffers that begin on register boundaries.
pub(crate) struct Carver<'a>(pub(crate) &'a mut [f32]);

impl<'a> Carver<'a> {
    pub(crate) fn take(&mut self, len: usize) -> &'a mut [f32] {
        let (buffer, rest) = std::mem::take(&mut self.0).split_at_mut(AlignedBuffer::padded(len));
        self.0 = rest;
        &mut buffer[..len]
    }

    pub(crate) fn rest(self) -> &'a mut [f32] {
        self.0
    }
}
