//! The two convolutional networks called LeNet-5.

mod support;

use paceline_kernels::Kernels;
use paceline_nets::{Batch, Gradient, Inputs, LeNet, LeNetVariant, Model};
use paceline_testkit::gradient_check;
use support::{Blobs, Net, descend, relative_difference, unpadded};

const VARIANTS: [LeNetVariant; 2] = [LeNetVariant::Classic, LeNetVariant::BigDl];

fn batch(blobs: &Blobs) -> Batch<'_> {
    Batch {
        inputs: Inputs::Dense {
            values: &blobs.values,
            width: blobs.width,
        },
        labels: &blobs.labels,
    }
}

#[test]
fn gradients_are_derivatives_of_the_loss_for_several_sizes_of_image() {
    for kernels in Kernels::available() {
        for variant in VARIANTS {
            check_gradient(kernels, variant, 16);
        }
    }
    for variant in VARIANTS {
        check_gradient(Kernels::detect(), variant, 29);
    }
}

fn check_gradient(kernels: Kernels, variant: LeNetVariant, side: usize) {
    let model = LeNet::new(variant, side, 10, kernels).expect("the images are large enough");
    let blobs = Blobs::new(1, 5, side * side, 10);
    let report = gradient_check(&model, &batch(&blobs), 2);
    assert!(
        report.passed(),
        "{variant:?} {side} {:?}: {report}",
        kernels.isa()
    );
}

#[test]
fn loss_and_gradient_agree_with_plain_loops_in_float64() {
    for kernels in Kernels::available() {
        for variant in VARIANTS {
            for (side, rows) in [(28, 6), (33, 3)] {
                check_against_reference(kernels, variant, side, rows);
            }
        }
    }
}

#[test]
fn descent_separates_classes_that_are_apart() {
    for variant in VARIANTS {
        let model = LeNet::new(variant, 28, 4, Kernels::detect()).expect("large enough");
        let blobs = Blobs::new(7, 40, 784, 4);
        let tally = descend(&model, &batch(&blobs), 25, 0.05);
        assert!(tally.accuracy() > 0.95, "{variant:?}: {tally:?}");
    }
}

#[test]
fn an_image_of_which_nothing_is_left_is_refused() {
    let error = LeNet::new(LeNetVariant::BigDl, 15, 10, Kernels::detect()).expect_err("too small");
    assert_eq!(
        error.to_string(),
        "an image of 15 x 15 is too small for LeNet-5"
    );
    assert!(LeNet::new(LeNetVariant::BigDl, 16, 10, Kernels::detect()).is_ok());
    assert!(LeNet::new(LeNetVariant::Classic, 0, 10, Kernels::detect()).is_err());
}

fn check_against_reference(kernels: Kernels, variant: LeNetVariant, side: usize, rows: usize) {
    let model = LeNet::new(variant, side, 10, kernels).expect("large enough");
    let layout = model.layout();
    let mut parameters = vec![0.0; layout.len()];
    model.initialize(4, &mut parameters);
    for segment in layout.segments() {
        if segment.name.ends_with("bias") {
            for (index, value) in parameters[segment.range()][..segment.columns]
                .iter_mut()
                .enumerate()
            {
                *value = 0.01 * index as f32;
            }
        }
    }
    let blobs = Blobs::new(3, rows, side * side, 10);
    let mut gradient = Gradient::new(layout);
    let mut scratch = vec![f32::NAN; model.scratch_len(rows)];
    let scale = 1.0 / rows as f32;
    let tally = model.gradient(
        &parameters,
        &batch(&blobs),
        scale,
        &mut gradient,
        &mut scratch,
    );

    let tanh = variant == LeNetVariant::BigDl;
    let heads: &[&str] = if tanh {
        &["fc1", "fc2"]
    } else {
        &["fc1", "fc2", "fc3"]
    };
    let mut head = Net::new(layout, &parameters, heads);
    head.tanh = tanh;
    let values = |name: &str| unpadded(layout.segment(name).expect("a segment"), &parameters);
    let (maps1, maps2) = (6, if tanh { 12 } else { 16 });
    let padding = if tanh { 0 } else { 2 };
    let mut first = PlainConv::new(
        1,
        maps1,
        side + 2 * padding,
        values("conv1.weight"),
        values("conv1.bias"),
        tanh,
    );
    // The second layer's weights lie with maps last.
    let turned = values("conv2.weight");
    let weights2 = (0..maps2 * maps1 * 25)
        .map(|i| turned[i % (maps1 * 25) * maps2 + i / (maps1 * 25)])
        .collect();
    let mut second = PlainConv::new(
        maps1,
        maps2,
        first.pooled_side(),
        weights2,
        values("conv2.bias"),
        tanh,
    );
    let mut loss = 0.0;
    for (row, label) in blobs.values.chunks_exact(side * side).zip(&blobs.labels) {
        let padded_side = side + 2 * padding;
        let mut image = vec![0.0; padded_side * padded_side];
        for (index, value) in row.iter().enumerate() {
            let (y, x) = (index / side + padding, index % side + padding);
            image[y * padded_side + x] = f64::from(*value);
        }
        let one = first.forward(&image);
        let two = second.forward(&one);
        // The head reads pixel by pixel.
        let area = second.pooled_side() * second.pooled_side();
        let features: Vec<f64> = (0..area * maps2)
            .map(|i| two[i % maps2 * area + i / maps2])
            .collect();
        let (row_loss, slope) = head.row(&features, *label, f64::from(scale));
        loss += row_loss;
        let slope: Vec<f64> = (0..area * maps2)
            .map(|i| slope[i % area * maps2 + i / area])
            .collect();
        let slope = second.backward(&one, &slope);
        first.backward(&image, &slope);
    }
    assert!((tally.loss - loss).abs() < 1e-5 * loss);
    let worst = head.relative_difference(layout, gradient.values());
    assert!(
        worst < 1e-4,
        "{variant:?} {side} {:?}: head {worst}",
        kernels.isa()
    );
    let got = |name: &str| unpadded(layout.segment(name).expect("a segment"), gradient.values());
    let turned: Vec<f64> = (0..maps2 * maps1 * 25)
        .map(|i| second.weight_gradient[i % maps2 * maps1 * 25 + i / maps2])
        .collect();
    for (name, want) in [
        ("conv1.weight", &first.weight_gradient),
        ("conv1.bias", &first.bias_gradient),
        ("conv2.weight", &turned),
        ("conv2.bias", &second.bias_gradient),
    ] {
        let difference = relative_difference(&got(name), want);
        assert!(
            difference < 1e-4,
            "{variant:?} {side} {:?}: {name} {difference}",
            kernels.isa()
        );
    }
}

/// Convolution, activation, pooling, in that order and in plain loops.
struct PlainConv {
    channels: usize,
    maps: usize,
    side: usize,
    weights: Vec<f64>,
    bias: Vec<f64>,
    tanh: bool,
    weight_gradient: Vec<f64>,
    bias_gradient: Vec<f64>,
    /// Of the last image: the activations before pooling.
    activations: Vec<f64>,
}

impl PlainConv {
    fn new(
        channels: usize,
        maps: usize,
        side: usize,
        weights: Vec<f64>,
        bias: Vec<f64>,
        tanh: bool,
    ) -> Self {
        Self {
            channels,
            maps,
            side,
            tanh,
            weight_gradient: vec![0.0; weights.len()],
            bias_gradient: vec![0.0; bias.len()],
            weights,
            bias,
            activations: Vec::new(),
        }
    }

    fn out_side(&self) -> usize {
        self.side - 4
    }

    fn pooled_side(&self) -> usize {
        self.out_side() / 2
    }

    fn taps(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let channels = self.channels;
        (0..channels).flat_map(|c| (0..5).flat_map(move |y| (0..5).map(move |x| (c, y, x))))
    }

    fn forward(&mut self, image: &[f64]) -> Vec<f64> {
        let out = self.out_side();
        let mut activations = Vec::new();
        for map in 0..self.maps {
            for y in 0..out {
                for x in 0..out {
                    let mut sum = self.bias[map];
                    for (tap, (c, ky, kx)) in self.taps().enumerate() {
                        sum += self.weights[map * self.channels * 25 + tap]
                            * image[(c * self.side + y + ky) * self.side + x + kx];
                    }
                    activations.push(if self.tanh { sum.tanh() } else { sum.max(0.0) });
                }
            }
        }
        self.activations = activations;
        self.pooled_places()
            .iter()
            .map(|place| self.activations[*place])
            .collect()
    }

    /// Where the largest of each four pixels lies.
    fn pooled_places(&self) -> Vec<usize> {
        let (out, pooled) = (self.out_side(), self.pooled_side());
        let mut places = Vec::new();
        for map in 0..self.maps {
            for y in 0..pooled {
                for x in 0..pooled {
                    let corner = (map * out + 2 * y) * out + 2 * x;
                    let best = [corner, corner + out, corner + 1, corner + out + 1]
                        .into_iter()
                        .reduce(|best, other| {
                            if self.activations[other] > self.activations[best] {
                                other
                            } else {
                                best
                            }
                        })
                        .expect("there are four");
                    places.push(best);
                }
            }
        }
        places
    }

    fn backward(&mut self, image: &[f64], slope: &[f64]) -> Vec<f64> {
        let out = self.out_side();
        let mut below = vec![0.0; image.len()];
        for (place, slope) in self.pooled_places().iter().zip(slope) {
            let output = self.activations[*place];
            let slope = slope
                * if self.tanh {
                    1.0 - output * output
                } else {
                    f64::from(u8::from(output > 0.0))
                };
            let (map, y, x) = (place / (out * out), place / out % out, place % out);
            self.bias_gradient[map] += slope;
            for (tap, (c, ky, kx)) in self.taps().enumerate() {
                let at = (c * self.side + y + ky) * self.side + x + kx;
                let weight = map * self.channels * 25 + tap;
                self.weight_gradient[weight] += slope * image[at];
                below[at] += slope * self.weights[weight];
            }
        }
        below
    }
}
