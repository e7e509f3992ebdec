use paceline_nets::ModelSpec;

use crate::optimizer::Optimizer;
use crate::schedule::{Schedule, Shape};

/// What a model is trained with where the user does not say: settings under
/// which it learns MNIST, or the tweets, to the accuracy that the papers
/// report. They are measured, not tuned to the last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Rows per step.
    pub batch_size: usize,
    /// The learning rate.
    pub rate: f64,
    /// How the rate changes.
    pub schedule: Schedule,
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
        // A rate that falls settles; one that falls as 1/t still moves in a
        // training that is longer than usual.
        let falling = |decay| Schedule {
            shape: Shape::Inverse { decay },
            ..Schedule::CONSTANT
        };
        let still = Schedule::CONSTANT;
        let (batch_size, rate, schedule, optimizer, epochs) = match model.family() {
            "softmax" => (128, 0.5, still, Optimizer::Sgd, 10),
            "mlp" | "simplenet" => (128, 0.1, still, MOMENTUM, 10),
            "lenet5" | "lenet5-bigdl" => (64, 0.02, falling(0.5), MOMENTUM, 7),
            "lstm" | "bilstm" => (64, 0.002, still, ADAM, 5),
            "rnn" | "birnn" => (64, 0.001, falling(0.3), ADAM, 10),
            // Linear models of two classes: few rows per step, because rows may
            // be few and wide.
            _ => (32, 0.05, still, Optimizer::Sgd, 10),
        };
        Self {
            batch_size,
            rate,
            schedule,
            optimizer,
            epochs,
        }
    }
}
