use paceline_kernels::{
    AlignedBuffer, ConvBackward, ConvForward, ConvPool, ConvShapeError, Kernels, MapOrder, Matrix,
    MatrixMut,
};

use crate::draw::Draw;
use crate::mlp::dense_rows;
use crate::stack::{Activation, Carver, Stack};
use crate::{
    Batch, Gradient, Input, Layout, LayoutBuilder, Model, ModelBase, Segment, SegmentKind, Tally,
};

/// LeNet-5: two convolutions of 5 × 5 with max-pooling and a fully connected
/// head, over square images of one channel.
#[derive(Clone, Debug)]
pub struct LeNet {
    base: ModelBase,
    side: usize,
    padding: usize,
    activation: Activation,
    first: Convolution,
    second: Convolution,
    head: Stack,
    kernels: Kernels,
}

/// Which of the networks called LeNet-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeNetVariant {
    /// 6 maps over the padded image, 16 maps, a head of 120 and 84 units; ReLU.
    /// The sizes of LeCun et al., "Gradient-based learning applied to document
    /// recognition" (1998), with the pooling and activation of today.
    Classic,
    /// 6 maps, 12 maps, a head of 100 units; tanh. BigDL's `LeNet5`.
    BigDl,
}

impl LeNetVariant {
    fn padding(self) -> usize {
        match self {
            Self::Classic => 2,
            Self::BigDl => 0,
        }
    }

    fn maps(self) -> [usize; 2] {
        match self {
            Self::Classic => [6, 16],
            Self::BigDl => [6, 12],
        }
    }

    fn head(self) -> &'static [usize] {
        match self {
            Self::Classic => &[120, 84],
            Self::BigDl => &[100],
        }
    }

    fn activation(self) -> Activation {
        match self {
            Self::Classic => Activation::Relu,
            Self::BigDl => Activation::Tanh,
        }
    }
}

/// Why there is no LeNet for a size of image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an image of {side} x {side} is too small for LeNet-5")]
pub struct LeNetSizeError {
    side: usize,
    source: ConvShapeError,
}

/// Rows and columns of both kernels.
const KERNEL: usize = 5;

#[derive(Clone, Debug)]
struct Convolution {
    shape: ConvPool,
    weight: Segment,
    bias: Segment,
    /// Values that one output depends on.
    inputs: usize,
}

impl Convolution {
    fn new(layout: &mut LayoutBuilder, name: &str, maps: usize, shape: ConvPool) -> Self {
        let mut segment = |name: String, [rows, columns, stride]: [usize; 3]| Segment {
            offset: layout.matrix(&name, rows, columns, stride),
            name,
            rows,
            columns,
            stride,
            kind: SegmentKind::Dense,
        };
        let [rows, columns, _] = shape.weight_shape();
        Self {
            shape,
            weight: segment(format!("{name}.weight"), shape.weight_shape()),
            bias: segment(format!("{name}.bias"), [1, maps, maps]),
            inputs: rows * columns / maps,
        }
    }

    fn initialize(&self, activation: Activation, draw: &mut Draw, parameters: &mut [f32]) {
        let outputs = self.weight.rows * self.weight.columns / self.inputs * KERNEL * KERNEL;
        draw.fill(
            &self.weight,
            activation.bound(self.inputs, outputs),
            parameters,
        );
    }
}

/// What the way forward leaves for the way back.
struct Features<'a> {
    images: &'a mut [f32],
    first: Pooled<'a>,
    second: Pooled<'a>,
}

struct Pooled<'a> {
    values: &'a mut [f32],
    choices: &'a mut [f32],
}

/// The buffers of one convolution on the way back.
struct Backward<'a> {
    input: &'a [f32],
    choices: &'a [f32],
    slope: &'a [f32],
    input_gradient: Option<&'a mut [f32]>,
}

impl LeNet {
    /// The network for images of `side × side` pixels.
    ///
    /// # Errors
    ///
    /// If the image is so small that nothing is left after the second pooling.
    ///
    /// # Panics
    ///
    /// If there is no class.
    pub fn new(
        variant: LeNetVariant,
        side: usize,
        classes: usize,
        kernels: Kernels,
    ) -> Result<Self, LeNetSizeError> {
        assert!(classes > 0, "a classifier has at least one class");
        let too_small = |source| LeNetSizeError { side, source };
        let padding = variant.padding();
        let [first_maps, second_maps] = variant.maps();
        let padded = side + 2 * padding;
        let first = ConvPool::new(1, first_maps, KERNEL, [padded; 2], MapOrder::Planes)
            .map_err(too_small)?;
        let between = [first.pooled_height(), first.pooled_width()];
        let second = ConvPool::new(first_maps, second_maps, KERNEL, between, MapOrder::Pixels)
            .map_err(too_small)?;
        assert_eq!(
            first.pooled_len(),
            second.input_len(),
            "the second convolution reads what the first writes"
        );
        let mut layout = Layout::builder();
        let first = Convolution::new(&mut layout, "conv1", first_maps, first);
        let second = Convolution::new(&mut layout, "conv2", second_maps, second);
        let sizes: Vec<usize> = [second.shape.pooled_len()]
            .into_iter()
            .chain(variant.head().iter().copied())
            .chain([classes])
            .collect();
        let names: Vec<String> = (1..sizes.len()).map(|layer| format!("fc{layer}")).collect();
        let head = Stack::new(&mut layout, &sizes, &names, variant.activation(), kernels);
        Ok(Self {
            base: ModelBase {
                layout: layout.build(),
                input: Input::Dense { width: side * side },
                classes,
            },
            side,
            padding,
            activation: variant.activation(),
            first,
            second,
            head,
            kernels,
        })
    }

    fn images<'a>(&self, batch: &Batch<'a>) -> &'a [f32] {
        dense_rows(batch, self.side * self.side).values()
    }

    fn conv_scratch_len(&self) -> usize {
        let (first, second) = (&self.first.shape, &self.second.shape);
        AlignedBuffer::padded(first.scratch_len().max(second.scratch_len()))
    }

    fn features<'a>(
        &self,
        parameters: &[f32],
        pixels: &[f32],
        rows: usize,
        scratch: &mut Carver<'a>,
        conv_scratch: &mut [f32],
    ) -> Features<'a> {
        let images = scratch.take(rows * self.first.shape.input_len());
        self.place(pixels, images);
        let first = self.convolve(parameters, &self.first, images, scratch, conv_scratch);
        let second = self.convolve(
            parameters,
            &self.second,
            first.values,
            scratch,
            conv_scratch,
        );
        Features {
            images,
            first,
            second,
        }
    }

    fn convolve<'a>(
        &self,
        parameters: &[f32],
        layer: &Convolution,
        input: &[f32],
        scratch: &mut Carver<'a>,
        conv_scratch: &mut [f32],
    ) -> Pooled<'a> {
        let len = input.len() / layer.shape.input_len() * layer.shape.pooled_len();
        let (values, choices) = (scratch.take(len), scratch.take(len));
        self.kernels.conv_pool(
            &layer.shape,
            ConvForward {
                input,
                weights: &parameters[layer.weight.range()],
                bias: &parameters[layer.bias.range()],
                pooled: values,
                choices,
            },
            conv_scratch,
        );
        match self.activation {
            Activation::Relu => self.kernels.relu(values),
            Activation::Tanh => self.kernels.tanh(values),
        }
        Pooled { values, choices }
    }

    /// Copies images into the middle of zeroed planes.
    fn place(&self, pixels: &[f32], images: &mut [f32]) {
        let stride = self.first.shape.input_stride();
        let planes = images.chunks_exact_mut(self.first.shape.input_len());
        for (from, to) in pixels.chunks_exact(self.side * self.side).zip(planes) {
            to.fill(0.0);
            let to = to[self.padding * stride..].chunks_exact_mut(stride);
            for (from, to) in from.chunks_exact(self.side).zip(to) {
                to[self.padding..self.padding + self.side].copy_from_slice(from);
            }
        }
    }

    fn convolve_backward(
        &self,
        parameters: &[f32],
        layer: &Convolution,
        backward: Backward<'_>,
        gradient: &mut [f32],
        conv_scratch: &mut [f32],
    ) {
        let (before, from_bias) = gradient.split_at_mut(layer.bias.offset);
        self.kernels.conv_pool_backward(
            &layer.shape,
            ConvBackward {
                input: backward.input,
                weights: &parameters[layer.weight.range()],
                choices: backward.choices,
                slope: backward.slope,
                weight_gradient: &mut before[layer.weight.range()],
                bias_gradient: &mut from_bias[..layer.bias.len()],
                input_gradient: backward.input_gradient,
            },
            conv_scratch,
        );
    }

    fn activation_backward(&self, output: &[f32], slope: &mut [f32]) {
        match self.activation {
            Activation::Relu => self.kernels.relu_backward(output, slope),
            Activation::Tanh => self.kernels.tanh_backward(output, slope),
        }
    }

    /// The second layer's outputs as rows for the head.
    fn head_rows<'a>(&self, values: &'a [f32], rows: usize) -> Matrix<'a> {
        let width = self.second.shape.pooled_len();
        Matrix::new(values, rows, width, width)
    }
}

impl Model for LeNet {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn initialize(&self, seed: u64, parameters: &mut [f32]) {
        let mut draw = Draw::new(seed);
        self.first
            .initialize(self.activation, &mut draw, parameters);
        self.second
            .initialize(self.activation, &mut draw, parameters);
        self.head.initialize(&mut draw, parameters);
    }

    fn scratch_len(&self, rows: usize) -> usize {
        let padded = |len: usize| AlignedBuffer::padded(rows * len);
        let (first, second) = (&self.first.shape, &self.second.shape);
        self.conv_scratch_len()
            + padded(first.input_len())
            + 3 * padded(first.pooled_len())
            + 3 * padded(second.pooled_len())
            + self.head.scratch_len(rows)
    }

    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
    ) -> Tally {
        self.gradient_in_parts(parameters, batch, scale, gradient, scratch, &mut |_, _| {})
    }

    fn gradient_in_parts(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
        part: &mut dyn FnMut(usize, &[f32]),
    ) -> Tally {
        let rows = batch.rows();
        let mut scratch = Carver(scratch);
        let conv_scratch = scratch.take(self.conv_scratch_len());
        let pixels = self.images(batch);
        let features = self.features(parameters, pixels, rows, &mut scratch, conv_scratch);
        let second_slope = scratch.take(features.second.values.len());
        let first_slope = scratch.take(features.first.values.len());
        let gradient = gradient.dense_mut();
        let width = self.second.shape.pooled_len();
        let tally = self.head.gradient(
            parameters,
            self.head_rows(features.second.values, rows),
            batch.labels,
            scale,
            gradient,
            Some(MatrixMut::new(second_slope, rows, width, width)),
            scratch.rest(),
            part,
        );
        self.activation_backward(features.second.values, second_slope);
        self.convolve_backward(
            parameters,
            &self.second,
            Backward {
                input: features.first.values,
                choices: features.second.choices,
                slope: second_slope,
                input_gradient: Some(first_slope),
            },
            gradient,
            conv_scratch,
        );
        let second = self.second.weight.offset;
        part(second, &gradient[second..self.head.start()]);
        self.activation_backward(features.first.values, first_slope);
        self.convolve_backward(
            parameters,
            &self.first,
            Backward {
                input: features.images,
                choices: features.first.choices,
                slope: first_slope,
                input_gradient: None,
            },
            gradient,
            conv_scratch,
        );
        part(0, &gradient[..second]);
        tally
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, scratch: &mut [f32]) -> Tally {
        let rows = batch.rows();
        let mut scratch = Carver(scratch);
        let conv_scratch = scratch.take(self.conv_scratch_len());
        let pixels = self.images(batch);
        let features = self.features(parameters, pixels, rows, &mut scratch, conv_scratch);
        self.head.evaluate(
            parameters,
            self.head_rows(features.second.values, rows),
            batch.labels,
            scratch.rest(),
        )
    }

    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        scratch: &mut [f32],
    ) {
        let rows = batch.rows();
        let mut scratch = Carver(scratch);
        let conv_scratch = scratch.take(self.conv_scratch_len());
        let pixels = self.images(batch);
        let features = self.features(parameters, pixels, rows, &mut scratch, conv_scratch);
        self.head.scores(
            parameters,
            self.head_rows(features.second.values, rows),
            scores,
            scratch.rest(),
        );
    }

    fn flops_per_row(&self) -> f64 {
        // The first convolution's images need no gradient.
        (2 * self.first.shape.flops() + 3 * self.second.shape.flops()) as f64
            + self.head.flops_per_row(true)
    }
}
