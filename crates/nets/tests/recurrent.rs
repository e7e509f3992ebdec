//! Recurrent classifiers against a plain float64 implementation and the
//! gradient checker.

use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_nets::{
    Batch, Cell, Gradient, Inputs, Layout, Model, Reading, RecurrentClassifier, RecurrentShape,
    Sequence, Tally,
};
use paceline_testkit::gradient_check;

const TOKENS: Sequence = Sequence::Tokens {
    length: 6,
    vocabulary: 9,
    embedding: 5,
};
const STEPS: Sequence = Sequence::Steps { steps: 4, width: 3 };

fn shapes() -> impl Iterator<Item = RecurrentShape> {
    [TOKENS, STEPS].into_iter().flat_map(|sequence| {
        [Cell::Tanh, Cell::Lstm].into_iter().flat_map(move |cell| {
            [Reading::Forward, Reading::BothWays].map(|reading| RecurrentShape {
                sequence,
                cell,
                reading,
                hidden: 7,
                classes: 3,
            })
        })
    })
}

/// Rows for a model of either kind.
struct Rows {
    sequence: Sequence,
    ids: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<u32>,
}

impl Rows {
    fn new(sequence: Sequence, rows: usize, classes: u32) -> Self {
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
        let (ids, values) = match sequence {
            Sequence::Tokens {
                length, vocabulary, ..
            } => (
                (0..rows * length)
                    .map(|place| {
                        // The first places of each row are padding.
                        let padding = place % length < place / length % length;
                        if padding {
                            0
                        } else {
                            numbers.below(vocabulary) as u32
                        }
                    })
                    .collect(),
                Vec::new(),
            ),
            Sequence::Steps { steps, width } => (
                Vec::new(),
                (0..rows * steps * width).map(|_| numbers.next()).collect(),
            ),
        };
        let labels = (0..rows)
            .map(|_| numbers.below(classes as usize) as u32)
            .collect();
        Self {
            sequence,
            ids,
            values,
            labels,
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            inputs: match self.sequence {
                Sequence::Tokens { length, .. } => Inputs::Tokens {
                    ids: &self.ids,
                    length,
                },
                Sequence::Steps { steps, width } => Inputs::Dense {
                    values: &self.values,
                    width: steps * width,
                },
            },
            labels: &self.labels,
        }
    }
}

struct Numbers(u64);

impl Numbers {
    /// Even between -1 and 1.
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() + 1.0) / 2.0 * bound as f32) as usize
    }
}

fn some_parameters(layout: &Layout) -> AlignedBuffer {
    let mut parameters = AlignedBuffer::zeroed(layout.len());
    let mut numbers = Numbers(99);
    for segment in layout.segments() {
        for value in &mut parameters[segment.offset..][..segment.rows * segment.columns] {
            *value = 0.7 * numbers.next();
        }
    }
    parameters
}

fn gradient(model: &dyn Model, parameters: &[f32], batch: &Batch<'_>) -> (Tally, Gradient) {
    let mut gradient = Gradient::new(model.layout());
    let mut scratch = vec![f32::NAN; model.scratch_len(batch.rows())];
    gradient.begin();
    let scale = 1.0 / batch.rows() as f32;
    let tally = model.gradient(parameters, batch, scale, &mut gradient, &mut scratch);
    (tally, gradient)
}

/// The logits of one row, by the textbook, in float64.
fn reference_logits(
    shape: RecurrentShape,
    layout: &Layout,
    parameters: &[f64],
    row: usize,
    rows: &Rows,
) -> Vec<f64> {
    let find = |name: &str| {
        let segment = layout.segment(name).expect("the model has the segment");
        move |row: usize, column: usize| parameters[segment.offset + row * segment.stride + column]
    };
    let inputs: Vec<Vec<f64>> = match shape.sequence {
        Sequence::Tokens {
            length, embedding, ..
        } => {
            let table = find("embedding.weight");
            (0..length)
                .map(|step| rows.ids[row * length + step] as usize)
                .map(|token| (0..embedding).map(|column| table(token, column)).collect())
                .collect()
        }
        Sequence::Steps { steps, width } => (0..steps)
            .map(|step| {
                rows.values[(row * steps + step) * width..][..width]
                    .iter()
                    .map(|value| f64::from(*value))
                    .collect()
            })
            .collect(),
    };
    let names: &[&str] = match shape.reading {
        Reading::Forward => &["forward"],
        Reading::BothWays => &["forward", "backward"],
    };
    let mut last = Vec::new();
    for name in names {
        let mut ordered = inputs.clone();
        if *name == "backward" {
            ordered.reverse();
        }
        let bias = find(&format!("{name}.bias"));
        let input_weight = find(&format!("{name}.input.weight"));
        let recurrent_weight = find(&format!("{name}.recurrent.weight"));
        let (mut output, mut state) = (vec![0.0; shape.hidden], vec![0.0; shape.hidden]);
        for input in &ordered {
            let sum = |gate: usize, unit: usize| {
                let column = gate * shape.hidden + unit;
                let mut sum = bias(0, column);
                for (index, value) in input.iter().enumerate() {
                    sum += value * input_weight(index, column);
                }
                for (index, value) in output.iter().enumerate() {
                    sum += value * recurrent_weight(index, column);
                }
                sum
            };
            let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
            let next: Vec<(f64, f64)> = (0..shape.hidden)
                .map(|unit| match shape.cell {
                    Cell::Tanh => (0.0, sum(0, unit).tanh()),
                    Cell::Lstm => {
                        let state = logistic(sum(1, unit)) * state[unit]
                            + logistic(sum(0, unit)) * sum(2, unit).tanh();
                        (state, logistic(sum(3, unit)) * state.tanh())
                    }
                })
                .collect();
            (state, output) = next.into_iter().unzip();
        }
        last.extend(output);
    }
    let (head_weight, head_bias) = (find("head.weight"), find("head.bias"));
    (0..shape.classes)
        .map(|class| {
            let score: f64 = last
                .iter()
                .enumerate()
                .map(|(index, value)| value * head_weight(index, class))
                .sum();
            score + head_bias(0, class)
        })
        .collect()
}

fn reference_loss(shape: RecurrentShape, layout: &Layout, parameters: &[f64], rows: &Rows) -> f64 {
    (0..rows.labels.len())
        .map(|row| {
            let logits = reference_logits(shape, layout, parameters, row, rows);
            let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
            sum.ln() - logits[rows.labels[row] as usize]
        })
        .sum()
}

/// The gradient of the mean loss, by central differences in float64.
fn reference_gradient(
    shape: RecurrentShape,
    layout: &Layout,
    parameters: &[f64],
    rows: &Rows,
) -> Vec<f64> {
    let mut moved = parameters.to_vec();
    let mut slopes = vec![0.0; parameters.len()];
    for segment in layout.segments() {
        for index in segment.offset..segment.offset + segment.rows * segment.columns {
            let step = 1e-5;
            moved[index] = parameters[index] + step;
            let up = reference_loss(shape, layout, &moved, rows);
            moved[index] = parameters[index] - step;
            let down = reference_loss(shape, layout, &moved, rows);
            moved[index] = parameters[index];
            slopes[index] = (up - down) / (2.0 * step) / rows.labels.len() as f64;
        }
    }
    slopes
}

/// Compares loss, scores and gradient with float64 on every instruction set.
fn check_with_float64(shape: RecurrentShape, rows: &Rows) {
    let count = rows.labels.len();
    let model = RecurrentClassifier::new(shape, Kernels::detect());
    let layout = model.layout();
    let parameters = some_parameters(layout);
    let exact: Vec<f64> = parameters.iter().map(|v| f64::from(*v)).collect();
    let loss = reference_loss(shape, layout, &exact, rows);
    let slopes = reference_gradient(shape, layout, &exact, rows);
    for kernels in Kernels::available() {
        let model = RecurrentClassifier::new(shape, kernels);
        let what = format!("{shape:?} {:?}", kernels.isa());
        let (tally, gradient) = gradient(&model, &parameters, &rows.batch());
        assert!((tally.loss - loss).abs() < 1e-5, "{what}");
        for (got, expected) in gradient.values().iter().zip(&slopes) {
            assert!(
                (f64::from(*got) - expected).abs() < 2e-6,
                "{what}: {got} is not {expected}"
            );
        }
        let mut scores = vec![0.0; count * shape.classes];
        let mut scratch = vec![f32::NAN; model.scratch_len(count)];
        model.scores(&parameters, &rows.batch(), &mut scores, &mut scratch);
        for (row, scores) in scores.chunks(shape.classes).enumerate() {
            let expected = reference_logits(shape, layout, &exact, row, rows);
            for (score, expected) in scores.iter().zip(expected) {
                assert!((f64::from(*score) - expected).abs() < 1e-5, "{what}");
            }
        }
    }
}

#[test]
fn loss_scores_and_gradient_agree_with_float64_on_every_path() {
    for shape in shapes() {
        check_with_float64(shape, &Rows::new(shape.sequence, 5, 3));
    }
}

#[test]
fn tokens_that_hardly_repeat_agree_with_float64_too() {
    let shape = RecurrentShape {
        sequence: Sequence::Tokens {
            length: 4,
            vocabulary: 12,
            embedding: 3,
        },
        cell: Cell::Lstm,
        reading: Reading::BothWays,
        hidden: 5,
        classes: 3,
    };
    let rows = Rows {
        sequence: shape.sequence,
        ids: vec![1, 2, 3, 4, 5, 11, 7, 1],
        values: Vec::new(),
        labels: vec![0, 2],
    };
    check_with_float64(shape, &rows);
}

#[test]
fn every_recurrent_model_passes_the_gradient_checker() {
    for shape in shapes() {
        // More hidden units than a register, and not a multiple of it.
        let shape = RecurrentShape {
            hidden: 21,
            ..shape
        };
        let rows = Rows::new(shape.sequence, 12, 3);
        let model = RecurrentClassifier::new(shape, Kernels::detect());
        let report = gradient_check(&model, &rows.batch(), 5);
        assert!(report.passed(), "{shape:?}: {report}");
    }
}

#[test]
fn only_the_vectors_of_tokens_that_occur_are_touched() {
    let shape = shapes().next().expect("there are shapes");
    let rows = Rows::new(shape.sequence, 2, 3);
    let model = RecurrentClassifier::new(shape, Kernels::detect());
    let (_, gradient) = gradient(&model, &some_parameters(model.layout()), &rows.batch());
    let mut touched = gradient.touched().to_vec();
    touched.sort_unstable();
    let mut tokens = rows.ids.clone();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(touched, tokens);
}

#[test]
fn reading_from_the_end_is_reading_the_mirrored_sequence_from_the_start() {
    // A head that looks at one direction only, on rows and on mirrored rows.
    let shape = RecurrentShape {
        sequence: TOKENS,
        cell: Cell::Lstm,
        reading: Reading::BothWays,
        hidden: 4,
        classes: 2,
    };
    let model = RecurrentClassifier::new(shape, Kernels::detect());
    let layout = model.layout();
    let mut parameters = some_parameters(layout);
    for part in ["input.weight", "recurrent.weight", "bias"] {
        let range = |way: &str| {
            layout
                .segment(&format!("{way}.{part}"))
                .expect("both ways have it")
                .range()
        };
        parameters.copy_within(range("forward"), range("backward").start);
    }
    let head = layout.segment("head.weight").expect("a head").offset;
    let scores = |parameters: &[f32], rows: &Rows| {
        let mut scores = vec![0.0; 6];
        let mut scratch = vec![0.0; model.scratch_len(3)];
        model.scores(parameters, &rows.batch(), &mut scores, &mut scratch);
        scores
    };
    let rows = Rows::new(TOKENS, 3, 2);
    let mut mirrored = Rows::new(TOKENS, 3, 2);
    mirrored.ids.chunks_mut(6).for_each(<[u32]>::reverse);
    let mut swapped = parameters.clone();
    swapped[head..head + 16].rotate_left(8);
    // The head's sums run in another order.
    for (a, b) in scores(&parameters, &rows)
        .iter()
        .zip(scores(&swapped, &mirrored))
    {
        assert!((a - b).abs() < 1e-6);
    }
}

#[test]
fn single_steps_single_rows_and_extreme_weights_yield_numbers() {
    for shape in shapes() {
        let shape = RecurrentShape {
            sequence: match shape.sequence {
                Sequence::Tokens { .. } => Sequence::Tokens {
                    length: 1,
                    vocabulary: 1,
                    embedding: 1,
                },
                Sequence::Steps { .. } => Sequence::Steps { steps: 1, width: 1 },
            },
            hidden: 1,
            ..shape
        };
        let rows = Rows::new(shape.sequence, 1, 3);
        let model = RecurrentClassifier::new(shape, Kernels::detect());
        let mut parameters = some_parameters(model.layout());
        for factor in [1.0, 1e15] {
            parameters.iter_mut().for_each(|value| *value *= factor);
            let (tally, gradient) = gradient(&model, &parameters, &rows.batch());
            assert!(tally.loss.is_finite() && tally.rows == 1, "{shape:?}");
            assert!(gradient.values().iter().all(|value| value.is_finite()));
        }
    }
}

#[test]
fn no_rows_are_no_findings() {
    for shape in shapes() {
        let rows = Rows::new(shape.sequence, 0, 3);
        let model = RecurrentClassifier::new(shape, Kernels::detect());
        let parameters = some_parameters(model.layout());
        let mut gradient = Gradient::new(model.layout());
        let mut scratch = vec![f32::NAN; model.scratch_len(0)];
        let tally = model.gradient(&parameters, &rows.batch(), 1.0, &mut gradient, &mut scratch);
        assert_eq!(tally, Tally::default());
        assert!(gradient.values().iter().all(|value| *value == 0.0));
    }
}

#[test]
fn an_lstm_learns_to_remember_the_first_word() {
    // The class is in the first of eight tokens; the others are noise.
    let shape = RecurrentShape {
        sequence: Sequence::Tokens {
            length: 8,
            vocabulary: 10,
            embedding: 8,
        },
        cell: Cell::Lstm,
        reading: Reading::Forward,
        hidden: 16,
        classes: 2,
    };
    let mut numbers = Numbers(4242);
    let mut rows = Rows::new(shape.sequence, 128, 2);
    rows.ids = (0..128 * 8).map(|_| numbers.below(10) as u32).collect();
    rows.labels = rows.ids.iter().step_by(8).map(|first| first % 2).collect();
    let model = RecurrentClassifier::new(shape, Kernels::detect());
    let mut parameters = AlignedBuffer::zeroed(model.layout().len());
    model.initialize(1, &mut parameters);
    let mut hits = 0;
    for _ in 0..250 {
        let (tally, gradient) = gradient(&model, &parameters, &rows.batch());
        hits = tally.hits;
        for (weight, slope) in parameters.iter_mut().zip(gradient.values()) {
            *weight -= 2.0 * slope;
        }
    }
    assert!(hits >= 125, "{hits} of 128");
}
