//! What a model is trained with if the user does not say.

use paceline_nets::ModelSpec;
use paceline_train::Optimizer;

/// Settings under which a model learns MNIST, or the tweets, to the accuracy
/// that the papers report. They are measured, not tuned to the last digit.
pub(super) struct Defaults {
    pub(super) batch_size: usize,
    pub(super) rate: f64,
    pub(super) optimizer: Optimizer,
    pub(super) epochs: u64,
}

impl Defaults {
    pub(super) fn of(model: &ModelSpec) -> Self {
        const MOMENTUM: Optimizer = Optimizer::Momentum { beta: 0.9 };
        const ADAM: Optimizer = Optimizer::Adam {
            beta1: 0.9,
            beta2: 0.999,
        };
        let (batch_size, rate, optimizer, epochs) = match model.family() {
            "softmax" => (128, 0.2, Optimizer::Sgd, 10),
            "mlp" | "simplenet" => (128, 0.1, MOMENTUM, 10),
            "lenet5" | "lenet5-bigdl" => (64, 0.02, MOMENTUM, 5),
            "lstm" | "birnn" | "bilstm" | "rnn" => (64, 0.002, ADAM, 5),
            // One row at a time, as PMLS and LIBLINEAR's peers do.
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
