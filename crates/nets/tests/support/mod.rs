//! Data and float64 references that the models' tests share.
#![allow(dead_code, reason = "each test binary uses a part")]

use paceline_nets::{Batch, Gradient, Layout, Model, Segment, Tally};

/// Rows around one random centre for each class.
pub(crate) struct Blobs {
    pub(crate) values: Vec<f32>,
    pub(crate) labels: Vec<u32>,
    pub(crate) width: usize,
}

impl Blobs {
    pub(crate) fn new(seed: u64, rows: usize, width: usize, classes: usize) -> Self {
        let mut random = Random(seed);
        let centres: Vec<f32> = (0..classes * width).map(|_| random.even()).collect();
        let labels: Vec<u32> = (0..rows).map(|_| random.below(classes) as u32).collect();
        let values = labels
            .iter()
            .flat_map(|label| {
                let start = *label as usize * width;
                centres[start..start + width].to_vec()
            })
            .map(|centre| centre + 0.3 * random.even())
            .collect();
        Self {
            values,
            labels,
            width,
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Even between -1 and 1.
    pub(crate) fn even(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}

/// So many full-batch steps of plain descent; what is found after them.
pub(crate) fn descend(model: &dyn Model, batch: &Batch<'_>, steps: usize, rate: f32) -> Tally {
    let mut parameters = vec![0.0; model.layout().len()];
    model.initialize(1, &mut parameters);
    let mut gradient = Gradient::new(model.layout());
    let mut scratch = vec![0.0; model.scratch_len(batch.rows())];
    let scale = 1.0 / batch.rows() as f32;
    for _ in 0..steps {
        gradient.begin();
        model.gradient(&parameters, batch, scale, &mut gradient, &mut scratch);
        for (parameter, slope) in parameters.iter_mut().zip(gradient.values()) {
            *parameter -= rate * slope;
        }
    }
    model.evaluate(&parameters, batch, &mut scratch)
}

/// Values of a segment, row-major without padding, in float64.
pub(crate) fn unpadded(segment: &Segment, flat: &[f32]) -> Vec<f64> {
    (0..segment.rows)
        .flat_map(|row| flat[segment.offset + row * segment.stride..][..segment.columns].iter())
        .map(|value| f64::from(*value))
        .collect()
}

/// The length of the difference relative to the length of `want`.
pub(crate) fn relative_difference(got: &[f64], want: &[f64]) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let difference = square(&mut got.iter().zip(want).map(|(a, b)| a - b));
    (difference / square(&mut want.iter().copied()).max(1e-30)).sqrt()
}

/// Fully connected layers with ReLU or tanh between them, in plain loops.
pub(crate) struct Net {
    pub(crate) layers: Vec<NetLayer>,
    pub(crate) tanh: bool,
}

pub(crate) struct NetLayer {
    name: String,
    inputs: usize,
    outputs: usize,
    weight: Vec<f64>,
    bias: Vec<f64>,
    weight_gradient: Vec<f64>,
    bias_gradient: Vec<f64>,
}

impl Net {
    pub(crate) fn new(layout: &Layout, parameters: &[f32], names: &[&str]) -> Self {
        let layers = names
            .iter()
            .map(|name| {
                let part = |suffix: &str| {
                    layout
                        .segment(&format!("{name}.{suffix}"))
                        .expect("the layer is in the layout")
                };
                let weight = part("weight");
                NetLayer {
                    name: (*name).to_owned(),
                    inputs: weight.rows,
                    outputs: weight.columns,
                    weight: unpadded(weight, parameters),
                    bias: unpadded(part("bias"), parameters),
                    weight_gradient: vec![0.0; weight.rows * weight.columns],
                    bias_gradient: vec![0.0; weight.columns],
                }
            })
            .collect();
        Self {
            layers,
            tanh: false,
        }
    }

    /// The summed loss; adds `scale` times the gradient of every layer.
    pub(crate) fn loss_and_gradient(
        &mut self,
        rows: &[Vec<f64>],
        labels: &[u32],
        scale: f64,
    ) -> f64 {
        rows.iter()
            .zip(labels)
            .map(|(row, label)| self.row(row, *label, scale).0)
            .sum()
    }

    /// The loss of one row and the gradient of its inputs; adds the layers'.
    pub(crate) fn row(&mut self, row: &[f64], label: u32, scale: f64) -> (f64, Vec<f64>) {
        let count = self.layers.len();
        let mut outputs: Vec<Vec<f64>> = vec![row.to_vec()];
        for (index, layer) in self.layers.iter().enumerate() {
            let input = &outputs[index];
            let output = (0..layer.outputs)
                .map(|j| {
                    let sum: f64 = (0..layer.inputs)
                        .map(|i| input[i] * layer.weight[i * layer.outputs + j])
                        .sum();
                    let z = sum + layer.bias[j];
                    match (index + 1 < count, self.tanh) {
                        (true, true) => z.tanh(),
                        (true, false) => z.max(0.0),
                        (false, _) => z,
                    }
                })
                .collect();
            outputs.push(output);
        }
        let logits = &outputs[count];
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logits.iter().map(|z| (z - largest).exp()).sum();
        let loss = total.ln() + largest - logits[label as usize];
        let mut slope: Vec<f64> = logits
            .iter()
            .map(|z| scale * (z - largest).exp() / total)
            .collect();
        slope[label as usize] -= scale;
        for index in (0..count).rev() {
            let layer = &mut self.layers[index];
            let input = &outputs[index];
            let mut below = vec![0.0; layer.inputs];
            for i in 0..layer.inputs {
                for (j, slope) in slope.iter().enumerate() {
                    layer.weight_gradient[i * layer.outputs + j] += input[i] * slope;
                    below[i] += slope * layer.weight[i * layer.outputs + j];
                }
                if index > 0 {
                    below[i] *= match self.tanh {
                        true => 1.0 - input[i] * input[i],
                        false => f64::from(u8::from(input[i] > 0.0)),
                    };
                }
            }
            for (sum, slope) in layer.bias_gradient.iter_mut().zip(&slope) {
                *sum += slope;
            }
            slope = below;
        }
        (loss, slope)
    }

    /// The largest relative difference of a layer's gradient from `flat`.
    pub(crate) fn relative_difference(&self, layout: &Layout, flat: &[f32]) -> f64 {
        self.layers
            .iter()
            .flat_map(|layer| {
                [
                    ("weight", &layer.weight_gradient),
                    ("bias", &layer.bias_gradient),
                ]
                .map(|(suffix, want)| {
                    let segment = layout
                        .segment(&format!("{}.{suffix}", layer.name))
                        .expect("the layer is in the layout");
                    relative_difference(&unpadded(segment, flat), want)
                })
            })
            .fold(0.0, f64::max)
    }
}
