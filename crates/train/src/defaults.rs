use paceline_nets::ModelSpec;

use crate::optimizer::Optimizer;

/// What a model is trained with where the user does not say: settings under
/// which it learns MNIST, or the tweets, to the accuracy that the papers
/// report. They are measured, not tuned to the last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Rows per step.
    pub batch_size: usize,
    /// The learning rate.
    pub rate: f64,
    /// What a gradient does.
    pub optimizer: Optimizer,
    /// Passes over the training rows.
    pub epochs: u64,
}

impl Defaults {
    /// The settings for a model.
    pub fn of(model: &ModelSpec) -> Self {
        const MOMENTUM: Optimizer = Optimizer::Momentum { beta: 0.9 };
        const ADAM: Optimizer = Optimizer::Adam {
            beta1: 0.9,
            beta2: 0.999,
        };
        let (batch_size, rate, optimizer, epochs) = match model.family() {
            "softmax" => (128, 0.5, Optimizer::Sgd, 10),
            "mlp" | "simplenet" => (128, 0.1, MOMENTUM, 10),
            "lenet5" | "lenet5-bigdl" => (64, 0.02, MOMENTUM, 5),
            "lstm" | "birnn" | "bilstm" | "rnn" => (64, 0.002, ADAM, 5),
            // Linear models of two classes: few rows per step, because rows may
            // be few and wide.
            _ => (32, 0.05, Optimizer::Sgd, 10),
        };
        Self {
            batch_size,
            rate,
            optimizer,
            epochs,
        }
    }
}
