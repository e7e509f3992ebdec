use paceline_kernels::{Kernels, Matrix};

use crate::draw::Draw;
use crate::stack::{Activation, Stack};
use crate::{Batch, Gradient, Input, Inputs, Layout, Model, ModelBase, Tally};

/// A network of fully connected layers with ReLU between them and a softmax at
/// the end. Without hidden layers it is softmax regression.
///
/// The segments are called `hidden1.weight`, `hidden1.bias`, …,
/// `output.weight`, `output.bias`; a weight has one row for each input.
#[derive(Clone, Debug)]
pub struct Mlp {
    base: ModelBase,
    stack: Stack,
}

impl Mlp {
    /// A network of rows of `width` values with hidden layers of these sizes.
    ///
    /// # Panics
    ///
    /// If there is no class.
    pub fn new(width: usize, hidden: &[usize], classes: usize, kernels: Kernels) -> Self {
        assert!(classes > 0, "a classifier has at least one class");
        let sizes: Vec<usize> = [width]
            .into_iter()
            .chain(hidden.iter().copied())
            .chain([classes])
            .collect();
        let names: Vec<String> = (1..=hidden.len())
            .map(|layer| format!("hidden{layer}"))
            .chain(["output".to_owned()])
            .collect();
        let mut layout = Layout::builder();
        let stack = Stack::new(&mut layout, &sizes, &names, Activation::Relu, kernels);
        Self {
            base: ModelBase {
                layout: layout.build(),
                input: Input::Dense { width },
                classes,
            },
            stack,
        }
    }

    /// Softmax (multinomial logistic) regression.
    ///
    /// # Panics
    ///
    /// If there is no class.
    pub fn softmax(width: usize, classes: usize, kernels: Kernels) -> Self {
        Self::new(width, &[], classes, kernels)
    }

    /// One hidden layer of 128 units for images of 28 × 28 pixels in ten
    /// classes.
    pub fn simplenet(kernels: Kernels) -> Self {
        Self::new(784, &[128], 10, kernels)
    }

    fn rows<'a>(&self, batch: &Batch<'a>) -> Matrix<'a> {
        dense_rows(batch, self.stack.inputs())
    }
}

/// The rows of a dense batch.
pub(crate) fn dense_rows<'a>(batch: &Batch<'a>, expected: usize) -> Matrix<'a> {
    let Inputs::Dense { values, width } = batch.inputs else {
        panic!("a model of dense rows is given dense rows, as its `input` says");
    };
    assert_eq!(width, expected, "rows are as wide as the model");
    Matrix::new(values, batch.rows(), width, width)
}

impl Model for Mlp {
    fn base(&self) -> &ModelBase {
        &self.base
    }

    fn initialize(&self, seed: u64, parameters: &mut [f32]) {
        self.stack.initialize(&mut Draw::new(seed), parameters);
    }

    fn scratch_len(&self, rows: usize) -> usize {
        self.stack.scratch_len(rows)
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
        self.stack.gradient(
            parameters,
            self.rows(batch),
            batch.labels,
            scale,
            gradient.dense_mut(),
            None,
            scratch,
            part,
        )
    }

    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, scratch: &mut [f32]) -> Tally {
        self.stack
            .evaluate(parameters, self.rows(batch), batch.labels, scratch)
    }

    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.stack
            .scores(parameters, self.rows(batch), scores, scratch);
    }

    fn flops_per_row(&self) -> f64 {
        self.stack.flops_per_row(false)
    }
}
