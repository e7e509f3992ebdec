#[cfg(target_arch = "x86_64")]
mod direct;
mod product;

#[cfg(target_arch = "x86_64")]
use crate::Isa;
use crate::gemm::{Finish, Start};
use crate::{AlignedBuffer, Kernels, Matrix, MatrixMut};

/// A convolution with a square kernel, step one and no padding of its own,
/// followed by max-pooling of two by two.
///
/// An image is a sequence of planes, one for each channel, whose rows begin
/// [`ConvPool::input_stride`] values apart; what lies between the rows is zero.
/// Where the convolution's rows or columns are odd in number, the last is left
/// out, as pooling leaves it.
///
/// A bias is added and the activation applied after pooling: for a rising
/// activation that gives the same outputs and gradients as before it, with a
/// quarter of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvPool {
    channels: usize,
    maps: usize,
    kernel: usize,
    height: usize,
    width: usize,
    order: MapOrder,
}

/// How the pooled maps lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapOrder {
    /// Map after map: what another convolution reads. Rows are padded with
    /// zeros to whole registers. Weights are `maps × (channels · kernel²)`.
    Planes,
    /// Pixel after pixel, all maps of one together: what a fully connected
    /// layer reads. Weights are `(channels · kernel²) × maps`, rows padded to
    /// whole registers.
    Pixels,
}

/// A shape that no convolution with pooling has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvShapeError {
    /// Nothing to convolve.
    #[error("a convolution needs at least one channel, one map and a kernel of one pixel")]
    Empty,
    /// No pooled pixel is left.
    #[error(
        "an image of {height} x {width} is too small for a kernel of {kernel} x {kernel} and pooling"
    )]
    TooSmall {
        /// Rows of the image, padding included.
        height: usize,
        /// Columns of the image, padding included.
        width: usize,
        /// Rows and columns of the kernel.
        kernel: usize,
    },
}

/// The sizes of a [`ConvPool`].
#[derive(Clone, Copy)]
pub(crate) struct Geometry {
    pub(crate) channels: usize,
    pub(crate) maps: usize,
    pub(crate) kernel: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Of the image's rows.
    pub(crate) stride: usize,
    /// Weights of one map.
    pub(crate) taps: usize,
    /// Of a map before pooling, those left out not counted.
    pub(crate) rows: usize,
    /// Of a map before pooling, those left out not counted.
    pub(crate) columns: usize,
    /// Of the pooled maps' rows.
    pub(crate) pooled_stride: usize,
    pub(crate) weight_stride: usize,
    pub(crate) order: MapOrder,
}

/// Buffers of a batch on the way forward.
#[derive(Debug)]
pub struct ConvForward<'a> {
    /// The images.
    pub input: &'a [f32],
    /// The kernels, in the order that [`MapOrder`] says.
    pub weights: &'a [f32],
    /// One value for each map.
    pub bias: &'a [f32],
    /// Receives the pooled maps.
    pub pooled: &'a mut [f32],
    /// Receives which of its four pixels each pooled value is.
    pub choices: &'a mut [f32],
}

/// Buffers of a batch on the way back.
#[derive(Debug)]
pub struct ConvBackward<'a> {
    /// The images, as on the way forward.
    pub input: &'a [f32],
    /// The kernels, as on the way forward.
    pub weights: &'a [f32],
    /// What the way forward chose.
    pub choices: &'a [f32],
    /// The gradient at the pooled maps, before the activation; zero in padding.
    pub slope: &'a [f32],
    /// Receives the gradient of the kernels.
    pub weight_gradient: &'a mut [f32],
    /// Receives the gradient of the bias.
    pub bias_gradient: &'a mut [f32],
    /// Receives the gradient of the images, if wanted, laid out as they are.
    pub input_gradient: Option<&'a mut [f32]>,
}

impl ConvPool {
    /// The convolution of images of `channels` planes of `height × width`,
    /// padding included, with `maps` kernels of `kernel × kernel`.
    ///
    /// # Errors
    ///
    /// If nothing is left after it.
    pub fn new(
        channels: usize,
        maps: usize,
        kernel: usize,
        [height, width]: [usize; 2],
        order: MapOrder,
    ) -> Result<Self, ConvShapeError> {
        if channels == 0 || maps == 0 || kernel == 0 {
            return Err(ConvShapeError::Empty);
        }
        if height.min(width) < kernel + 1 {
            return Err(ConvShapeError::TooSmall {
                height,
                width,
                kernel,
            });
        }
        Ok(Self {
            channels,
            maps,
            kernel,
            height,
            width,
            order,
        })
    }

    /// Values from one row of an image to the next.
    pub fn input_stride(&self) -> usize {
        match self.order {
            // Whole registers of pixels are read, beginning at each pixel of
            // the kernel's row.
            MapOrder::Planes => {
                ((2 * self.pooled_width()).next_multiple_of(2 * AlignedBuffer::LANES) + self.kernel
                    - 1)
                .next_multiple_of(8)
                .max(self.width.next_multiple_of(8))
            }
            MapOrder::Pixels => AlignedBuffer::padded(self.width),
        }
    }

    /// Values of an image.
    pub fn input_len(&self) -> usize {
        self.channels * self.height * self.input_stride()
    }

    /// Rows of a pooled map.
    pub fn pooled_height(&self) -> usize {
        (self.height - self.kernel).div_ceil(2)
    }

    /// Columns of a pooled map.
    pub fn pooled_width(&self) -> usize {
        (self.width - self.kernel).div_ceil(2)
    }

    /// Values from one row of a pooled map to the next, or, by pixels, from one
    /// pixel to the next.
    pub fn pooled_stride(&self) -> usize {
        match self.order {
            MapOrder::Planes => AlignedBuffer::padded(self.pooled_width()),
            MapOrder::Pixels => self.maps,
        }
    }

    /// Values of an image's pooled maps, of their choices, and of their slopes.
    pub fn pooled_len(&self) -> usize {
        match self.order {
            MapOrder::Planes => self.maps * self.pooled_height() * self.pooled_stride(),
            MapOrder::Pixels => self.pooled_height() * self.pooled_width() * self.maps,
        }
    }

    /// Rows, columns and stride of the matrix of weights.
    pub fn weight_shape(&self) -> [usize; 3] {
        match self.order {
            MapOrder::Planes => [self.maps, self.taps(), self.taps()],
            MapOrder::Pixels => [self.taps(), self.maps, AlignedBuffer::padded(self.maps)],
        }
    }

    /// Multiplications and additions of one image on the way forward.
    pub fn flops(&self) -> usize {
        2 * self.pixels() * self.taps() * self.maps
    }

    /// Scratch values that a call needs, for any number of images.
    pub fn scratch_len(&self) -> usize {
        let columns = AlignedBuffer::padded(self.pixels() * self.taps());
        let maps = AlignedBuffer::padded(self.pixels() * AlignedBuffer::padded(self.maps));
        let by_product = 2 * columns + maps;
        #[cfg(target_arch = "x86_64")]
        return by_product.max(direct::scratch_len(self));
        #[cfg(not(target_arch = "x86_64"))]
        by_product
    }

    /// Whether the direct kernels compute this shape with these instructions.
    #[cfg(target_arch = "x86_64")]
    fn is_direct(&self, kernels: Kernels) -> bool {
        kernels.isa() == Isa::Avx512 && direct::covers(self)
    }

    /// The sizes that kernels loop over.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry {
            channels: self.channels,
            maps: self.maps,
            kernel: self.kernel,
            height: self.height,
            width: self.width,
            stride: self.input_stride(),
            taps: self.taps(),
            rows: 2 * self.pooled_height(),
            columns: 2 * self.pooled_width(),
            pooled_stride: self.pooled_stride(),
            weight_stride: self.weight_shape()[2],
            order: self.order,
        }
    }

    /// Weights of one map.
    pub(crate) fn taps(&self) -> usize {
        self.channels * self.kernel * self.kernel
    }

    /// Pixels of a map before pooling, those left out not counted.
    fn pixels(&self) -> usize {
        4 * self.pooled_height() * self.pooled_width()
    }

    /// Values that the weights take, padding included: the direct kernels read
    /// whole registers.
    fn weight_len(&self) -> usize {
        let [rows, _, stride] = self.weight_shape();
        rows * stride
    }
}

impl Kernels {
    /// Convolves and pools a batch of images. Scratch holds at least
    /// [`ConvPool::scratch_len`] values.
    ///
    /// # Panics
    ///
    /// If a buffer is too short.
    pub fn conv_pool(self, shape: &ConvPool, batch: ConvForward<'_>, scratch: &mut [f32]) {
        let images = batch.input.len() / shape.input_len();
        assert!(
            batch.pooled.len() >= images * shape.pooled_len()
                && batch.choices.len() >= images * shape.pooled_len(),
            "room for every pooled image"
        );
        assert!(
            batch.weights.len() >= shape.weight_len() && batch.bias.len() >= shape.maps,
            "weights and a bias for every map"
        );
        assert!(scratch.len() >= shape.scratch_len(), "enough scratch");
        let pooled = batch.pooled.chunks_exact_mut(shape.pooled_len());
        let choices = batch.choices.chunks_exact_mut(shape.pooled_len());
        for ((image, pooled), choices) in batch
            .input
            .chunks_exact(shape.input_len())
            .zip(pooled)
            .zip(choices)
        {
            #[cfg(target_arch = "x86_64")]
            if shape.is_direct(self) {
                #[expect(unsafe_code, reason = "calls the kernels for AVX-512")]
                // SAFETY: `self` proves the instructions, the lengths are
                // asserted above.
                unsafe {
                    direct::forward(shape, image, batch.weights, batch.bias, pooled, choices);
                }
                continue;
            }
            self.forward_by_product(shape, image, batch.weights, scratch);
            let maps = &scratch[2 * AlignedBuffer::padded(shape.pixels() * shape.taps())..];
            self.pool(shape, maps, batch.bias, pooled, choices);
        }
    }

    /// The gradients of a batch of images. Scratch holds at least
    /// [`ConvPool::scratch_len`] values.
    ///
    /// # Panics
    ///
    /// If a buffer is too short.
    pub fn conv_pool_backward(
        self,
        shape: &ConvPool,
        batch: ConvBackward<'_>,
        scratch: &mut [f32],
    ) {
        let images = batch.input.len() / shape.input_len();
        assert!(
            batch.slope.len() >= images * shape.pooled_len()
                && batch.choices.len() >= images * shape.pooled_len(),
            "a slope for every pooled image"
        );
        assert!(
            batch.weights.len() >= shape.weight_len()
                && batch.weight_gradient.len() >= shape.weight_len()
                && batch.bias_gradient.len() >= shape.maps,
            "weights and a bias for every map"
        );
        assert!(scratch.len() >= shape.scratch_len(), "enough scratch");
        let ConvBackward {
            input,
            weights,
            choices,
            slope,
            weight_gradient,
            bias_gradient,
            mut input_gradient,
        } = batch;
        weight_gradient.fill(0.0);
        bias_gradient.fill(0.0);
        #[cfg(target_arch = "x86_64")]
        let direct =
            shape.is_direct(self) && (input_gradient.is_none() || shape.order == MapOrder::Pixels);
        #[cfg(target_arch = "x86_64")]
        if direct {
            direct::begin(shape, weights, scratch);
        }
        for index in 0..images {
            let pooled = index * shape.pooled_len()..(index + 1) * shape.pooled_len();
            let image = index * shape.input_len()..(index + 1) * shape.input_len();
            let one = OneBackward {
                image: &input[image.clone()],
                weights,
                choices: &choices[pooled.clone()],
                slope: &slope[pooled],
                weight_gradient,
                bias_gradient,
                image_gradient: input_gradient.as_deref_mut().map(|all| &mut all[image]),
                scratch,
            };
            #[cfg(target_arch = "x86_64")]
            if direct {
                #[expect(unsafe_code, reason = "calls the kernels for AVX-512")]
                // SAFETY: `self` proves the instructions, the lengths are
                // asserted above.
                unsafe {
                    direct::backward(shape, one);
                }
                continue;
            }
            self.backward_by_product(shape, one);
        }
        #[cfg(target_arch = "x86_64")]
        if direct {
            direct::finish(shape, weight_gradient, bias_gradient, scratch);
        }
    }

    /// The maps before pooling, behind two buffers for columns.
    fn forward_by_product(
        self,
        shape: &ConvPool,
        image: &[f32],
        weights: &[f32],
        scratch: &mut [f32],
    ) {
        let (pixels, taps) = (shape.pixels(), shape.taps());
        let (columns, maps) = scratch.split_at_mut(2 * AlignedBuffer::padded(pixels * taps));
        let [rows, used, stride] = shape.weight_shape();
        let weights = Matrix::new(weights, rows, used, stride);
        self.gather(shape, image, columns);
        match shape.order {
            MapOrder::Planes => self.gemm(
                weights,
                Matrix::new(columns, taps, pixels, pixels),
                MatrixMut::new(maps, shape.maps, pixels, pixels),
                Start::Zero,
                Finish::Plain,
            ),
            MapOrder::Pixels => self.gemm(
                Matrix::new(columns, pixels, taps, taps),
                weights,
                MatrixMut::new(maps, pixels, shape.maps, stride),
                Start::Zero,
                Finish::Plain,
            ),
        }
    }

    fn backward_by_product(self, shape: &ConvPool, one: OneBackward<'_>) {
        let (pixels, taps) = (shape.pixels(), shape.taps());
        let (columns, rest) = one
            .scratch
            .split_at_mut(AlignedBuffer::padded(pixels * taps));
        let (column_slopes, slopes) = rest.split_at_mut(columns.len());
        let [rows, used, stride] = shape.weight_shape();
        let weights = Matrix::new(one.weights, rows, used, stride);
        let weight_gradient = MatrixMut::new(one.weight_gradient, rows, used, stride);
        self.unpool(shape, one.slope, one.choices, one.bias_gradient, slopes);
        self.gather(shape, one.image, columns);
        match shape.order {
            MapOrder::Planes => {
                let slopes = Matrix::new(slopes, shape.maps, pixels, pixels);
                let columns = Matrix::new(columns, taps, pixels, pixels).transposed();
                self.gemm(slopes, columns, weight_gradient, Start::Keep, Finish::Plain);
                if let Some(image_gradient) = one.image_gradient {
                    self.gemm(
                        weights.transposed(),
                        slopes,
                        MatrixMut::new(column_slopes, taps, pixels, pixels),
                        Start::Zero,
                        Finish::Plain,
                    );
                    self.scatter(shape, column_slopes, image_gradient);
                }
            }
            MapOrder::Pixels => {
                let slopes = Matrix::new(slopes, pixels, shape.maps, stride);
                let columns = Matrix::new(columns, pixels, taps, taps).transposed();
                self.gemm(columns, slopes, weight_gradient, Start::Keep, Finish::Plain);
                if let Some(image_gradient) = one.image_gradient {
                    self.gemm(
                        slopes,
                        weights.transposed(),
                        MatrixMut::new(column_slopes, pixels, taps, taps),
                        Start::Zero,
                        Finish::Plain,
                    );
                    self.scatter(shape, column_slopes, image_gradient);
                }
            }
        }
    }
}

/// [`ConvBackward`] for one image; gradients of weights are added to.
pub(crate) struct OneBackward<'a> {
    pub(crate) image: &'a [f32],
    pub(crate) weights: &'a [f32],
    pub(crate) choices: &'a [f32],
    pub(crate) slope: &'a [f32],
    pub(crate) weight_gradient: &'a mut [f32],
    pub(crate) bias_gradient: &'a mut [f32],
    pub(crate) image_gradient: Option<&'a mut [f32]>,
    pub(crate) scratch: &'a mut [f32],
}
