//! Convolution with pooling against plain loops in float64, for shapes that the
//! direct kernels cut differently and for those they leave to matrix products.

use paceline_kernels::{ConvBackward, ConvForward, ConvPool, ConvShapeError, Kernels, MapOrder};

/// SplitMix64 (Steele, Lea and Flood 2014), even between -1 and 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    channels: usize,
    maps: usize,
    kernel: usize,
    height: usize,
    width: usize,
    order: MapOrder,
}

impl Case {
    fn shape(self) -> ConvPool {
        ConvPool::new(
            self.channels,
            self.maps,
            self.kernel,
            [self.height, self.width],
            self.order,
        )
        .expect("the case is a possible shape")
    }

    fn image_at(self, c: usize, y: usize, x: usize) -> usize {
        (c * self.height + y) * self.shape().input_stride() + x
    }

    fn weight_at(self, map: usize, tap: usize) -> usize {
        let stride = self.shape().weight_shape()[2];
        match self.order {
            MapOrder::Planes => map * stride + tap,
            MapOrder::Pixels => tap * stride + map,
        }
    }

    fn pooled_at(self, map: usize, y: usize, x: usize) -> usize {
        let shape = self.shape();
        match self.order {
            MapOrder::Planes => (map * shape.pooled_height() + y) * shape.pooled_stride() + x,
            MapOrder::Pixels => (y * shape.pooled_width() + x) * self.maps + map,
        }
    }
}

fn check(case: Case, images: usize, with_input_gradient: bool) {
    let shape = case.shape();
    let mut random = Random(11);
    let mut input = vec![0.0; images * shape.input_len()];
    for image in input.chunks_exact_mut(shape.input_len()) {
        for c in 0..case.channels {
            for y in 0..case.height {
                for x in 0..case.width {
                    image[case.image_at(c, y, x)] = random.next();
                }
            }
        }
    }
    let [rows, columns, stride] = shape.weight_shape();
    let mut weights = vec![0.0; rows * stride];
    for row in weights.chunks_exact_mut(stride) {
        row[..columns].fill_with(|| random.next());
    }
    let bias: Vec<f32> = (0..case.maps).map(|_| random.next()).collect();
    let (height, width) = (shape.pooled_height(), shape.pooled_width());
    let mut slope = vec![0.0; images * shape.pooled_len()];
    for image in slope.chunks_exact_mut(shape.pooled_len()) {
        for map in 0..case.maps {
            for y in 0..height {
                for x in 0..width {
                    image[case.pooled_at(map, y, x)] = random.next();
                }
            }
        }
    }

    // The plain loops.
    let mut pooled = vec![0.0f64; slope.len()];
    let mut weight_gradient = vec![0.0f64; weights.len()];
    let mut bias_gradient = vec![0.0f64; case.maps];
    let mut input_gradient = vec![0.0f64; input.len()];
    let square = case.kernel * case.kernel;
    for index in 0..images {
        let image = &input[index * shape.input_len()..];
        let taps = |y: usize, x: usize| {
            (0..case.channels * square).map(move |tap| {
                let (c, ky, kx) = (tap / square, tap % square / case.kernel, tap % case.kernel);
                (tap, case.image_at(c, y + ky, x + kx))
            })
        };
        for map in 0..case.maps {
            for y in 0..height {
                for x in 0..width {
                    let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dy, dx)| {
                        let (y, x) = (2 * y + dy, 2 * x + dx);
                        let sum: f64 = taps(y, x)
                            .map(|(tap, at)| {
                                f64::from(weights[case.weight_at(map, tap)]) * f64::from(image[at])
                            })
                            .sum();
                        (sum, y, x)
                    });
                    let (best, y_best, x_best) = four
                        .into_iter()
                        .reduce(|a, b| if b.0 > a.0 { b } else { a })
                        .expect("there are four");
                    let at = index * shape.pooled_len() + case.pooled_at(map, y, x);
                    pooled[at] = best + f64::from(bias[map]);
                    let slope = f64::from(slope[at]);
                    bias_gradient[map] += slope;
                    for (tap, at) in taps(y_best, x_best) {
                        let weight = case.weight_at(map, tap);
                        weight_gradient[weight] += slope * f64::from(image[at]);
                        input_gradient[index * shape.input_len() + at] +=
                            slope * f64::from(weights[weight]);
                    }
                }
            }
        }
    }

    for kernels in Kernels::available() {
        let name = format!("{case:?} {:?}", kernels.isa());
        let mut scratch = vec![f32::NAN; shape.scratch_len()];
        let mut got = vec![f32::NAN; slope.len()];
        let mut choices = vec![f32::NAN; slope.len()];
        kernels.conv_pool(
            &shape,
            ConvForward {
                input: &input,
                weights: &weights,
                bias: &bias,
                pooled: &mut got,
                choices: &mut choices,
            },
            &mut scratch,
        );
        compare(&got, &pooled, &format!("{name}: pooled"));
        let mut got_weights = vec![f32::NAN; weights.len()];
        let mut got_bias = vec![f32::NAN; bias.len()];
        let mut got_input = vec![f32::NAN; input.len()];
        scratch.fill(f32::NAN);
        kernels.conv_pool_backward(
            &shape,
            ConvBackward {
                input: &input,
                weights: &weights,
                choices: &choices,
                slope: &slope,
                weight_gradient: &mut got_weights,
                bias_gradient: &mut got_bias,
                input_gradient: with_input_gradient.then_some(&mut got_input),
            },
            &mut scratch,
        );
        compare(&got_weights, &weight_gradient, &format!("{name}: weights"));
        compare(&got_bias, &bias_gradient, &format!("{name}: bias"));
        if with_input_gradient {
            // Only the images' own pixels: between the rows is nobody's.
            let own = |flat: &[f64]| -> Vec<f64> {
                flat.chunks_exact(shape.input_stride())
                    .flat_map(|row| row[..case.width].to_vec())
                    .collect()
            };
            let got: Vec<f64> = got_input.iter().map(|x| f64::from(*x)).collect();
            let got: Vec<f32> = own(&got).iter().map(|x| *x as f32).collect();
            compare(&got, &own(&input_gradient), &format!("{name}: input"));
        }
    }
}

/// Equal to what sums of some hundred products of values up to 1 lose.
fn compare(got: &[f32], want: &[f64], name: &str) {
    let scale = want.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (f64::from(*got) - want).abs() < 2e-6 * scale,
            "{name}: {got} at {at}, not {want}"
        );
    }
}

#[test]
fn maps_as_planes_agree_with_plain_loops() {
    for (channels, maps, kernel, height, width) in [
        (1, 6, 5, 32, 32),
        (1, 6, 5, 28, 28),
        (2, 7, 5, 9, 40),
        (1, 1, 5, 6, 6),
        (3, 4, 5, 8, 75),
        (2, 3, 3, 9, 11),
    ] {
        let case = Case {
            channels,
            maps,
            kernel,
            height,
            width,
            order: MapOrder::Planes,
        };
        check(case, 3, false);
        check(case, 1, true);
    }
}

#[test]
fn maps_by_pixels_agree_with_plain_loops() {
    for (channels, maps, kernel, height, width) in [
        (6, 16, 5, 14, 14),
        (6, 12, 5, 12, 12),
        (7, 20, 5, 9, 23),
        (1, 1, 5, 6, 6),
        (13, 33, 5, 7, 18),
        (2, 3, 3, 9, 11),
    ] {
        let case = Case {
            channels,
            maps,
            kernel,
            height,
            width,
            order: MapOrder::Pixels,
        };
        check(case, 3, true);
        check(case, 1, false);
    }
}

#[test]
fn shapes_without_a_pooled_pixel_are_refused() {
    let error = ConvPool::new(1, 1, 5, [5, 9], MapOrder::Planes).expect_err("no pixel is left");
    assert_eq!(
        error.to_string(),
        "an image of 5 x 9 is too small for a kernel of 5 x 5 and pooling"
    );
    assert_eq!(
        ConvPool::new(0, 1, 5, [9, 9], MapOrder::Planes),
        Err(ConvShapeError::Empty)
    );
}
